"""Chains of PCG operators become single collectives."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.stages import has_stages
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import walk
from pcg.layout import Mesh, ShardSpec
from pcg.lower.redistribution_ops import PCG_OPERATORS, emit_dist, itemsize
from pcg.machine import Machine
from pcg.reshard import ReshardError, at_once, plan
from pcg.reshard.planner import LinkCost
from pcg.rules.registry import shape


@dataclass
class FuseCollectives(Transformation):
    """Replace every chain of PCG operators by the cheapest collectives with the same effect."""

    reduce_scatter: bool = option(True, "Use reduce_scatter where a reduced value is split at once.")

    machine: Machine = field(default_factory=Machine.default)

    def run(self, module: ir.Operation) -> None:
        if has_stages(module):
            raise PcgError("the program is in stages on several meshes; lower it with --lower-processes", module)
        mesh = shardings.mesh_of(module)
        if mesh is None:
            return
        with module.context:
            chains = [op for op in walk(module) if op.name in PCG_OPERATORS]
            for op in chains:
                if next(iter(op.results[0].uses), None) is None:
                    continue  # no use; removed with its chain, or below
                if self.next(op) is None:
                    self.fuse(op, mesh)
            for op in reversed(chains):
                if next(iter(op.results[0].uses), None) is None:
                    op.erase()

    @staticmethod
    def next(op: ir.Operation) -> ir.Operation | None:
        """The operator that continues the chain of `op`, if `op` has no other use."""
        uses = list(op.results[0].uses)
        if len(uses) != 1:
            return None
        user = uses[0].owner.operation
        return user if user.name in PCG_OPERATORS and user.block == op.block else None

    def fuse(self, last: ir.Operation, mesh: Mesh) -> None:
        """Replace the chain that ends in `last`."""
        first = last
        while True:
            value = first.operands[0]
            before = None if isinstance(value, ir.BlockArgument) else value.owner.operation
            if before is None or before.name not in PCG_OPERATORS or self.next(before) is None:
                break
            first = before
        value, result = first.operands[0], last.results[0]
        src, dst = _spec(value), _spec(result)
        model = CostModel(self.machine, mesh)
        link: LinkCost = model.link
        if not self.reduce_scatter:
            link = _NoReduceScatter(link)
        try:
            steps = plan(src, dst, shape(value), itemsize(value), mesh, link)
        except ReshardError as error:
            raise PcgError(f"'{last.name}' op: {error}", last) from None
        # Devices that share processors all meet each other in two collectives as they do in one.  Measured by itself a
        # small group computes while others wait, so that two seem to take less.
        if model.wait(mesh.size, 1.0) > 0.0:
            steps = at_once(steps)
        result.replace_all_uses_with(emit_dist(steps, value, src, last.location, ir.InsertionPoint(first)))
        for step in steps:
            self.statistics[step.name] += 1


@dataclass(frozen=True)
class _NoReduceScatter:
    """Costs of a machine without reduce_scatter."""

    link: LinkCost

    def __call__(self, axes: tuple[str, ...], wire_bytes: float, kind: str) -> float:
        return math.inf if kind == "reduce_scatter" else self.link(axes, wire_bytes, kind)


def _spec(value: ir.Value) -> ShardSpec:
    return shardings.get(value) or ShardSpec.replicated(len(shape(value)))
