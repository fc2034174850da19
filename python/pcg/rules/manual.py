"""The rule of per-device programs inside a global one (JAX's `shard_map`): one strategy, the user's.

`stablehlo.custom_call @dist.manual(...) {called_computations = [@body], in_specs, out_specs}`: `@body` is
what one device runs, on the shards that `in_specs` give it; its results are shards laid out by `out_specs`.
Along axes that it leaves automatic (`axis_names` of `jax.shard_map`) devices do the same: `repeats` says how many.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.walk import walk
from pcg.layout import Mesh, ShardSpec
from pcg.rules.custom_call import target
from pcg.rules.factor import Assignment, Factor, FactorRule, RuleError
from pcg.rules.values import optional

MANUAL = "dist.manual"
REPEATS = "repeats"


@dataclass(frozen=True)
class ManualRule(FactorRule):
    """A rule with a single strategy: these operand and result specs.  Its one factor is the device."""

    operand_specs: tuple[ShardSpec, ...] = ()
    result_specs: tuple[ShardSpec, ...] = ()
    by_axis: ClassVar[bool] = False

    def choices(self, mesh: Mesh, uneven: bool = False) -> np.ndarray:
        """The one strategy; its work is spread over the whole mesh."""
        return np.zeros((1, len(mesh.axes)), np.int64)

    def legality(self, mesh: Mesh) -> Hashable:
        return self.operand_specs, self.result_specs

    def specs(self, a: Assignment) -> tuple[list[ShardSpec], list[ShardSpec]]:
        return [*self.operand_specs], [*self.result_specs]

    def why_illegal(self, a: Assignment, mesh: Mesh) -> str:
        return "" if a == Assignment((mesh.names,)) else "the layouts of a manual computation are fixed"

    def assignment(self, choices: Sequence[int], mesh: Mesh) -> Assignment:
        return Assignment((mesh.names,))

    def infer(self, operands: Sequence[ShardSpec], results: Sequence[ShardSpec], mesh: Mesh) -> Assignment:
        for what, have, want in (("operand", operands, self.operand_specs), ("result", results, self.result_specs)):
            for i, (h, w) in enumerate(zip(have, want, strict=True)):
                if h != w:
                    raise RuleError(f"{what} {i} is {h}; allowed: {w}, as the manual computation fixes it")
        return Assignment((mesh.names,))


def is_manual(op: ir.Operation) -> bool:
    """Whether an op is a manual computation."""
    return op.name == "stablehlo.custom_call" and target(op) == MANUAL


def manual_bodies(root: ir.Operation) -> set[str]:
    """Symbols of the functions that manual computations inside `root` run."""
    return _called(filter(is_manual, walk(root)))


def computations(root: ir.Operation) -> set[str]:
    """Symbols of the functions that custom calls inside `root` are given, manual computations or others.

    They are part of what their op means (the comparison of an `ApproxTopK`): nothing in them has a layout.
    """
    return _called(
        op for op in walk(root) if op.name == "stablehlo.custom_call" and "called_computations" in op.attributes
    )


def _called(calls: Iterable[ir.Operation]) -> set[str]:
    return {ir.FlatSymbolRefAttr(a).value for op in calls for a in op.attributes["called_computations"]}


def manual_rule(op: ir.Operation) -> ManualRule:
    """The rule of a manual computation."""
    ins, outs = ([shardings.from_attr(a) for a in op.attributes[n]] for n in (shardings.IN_SPECS, shardings.OUT_SPECS))
    work = sum(float(v.type.get_dim_size(d)) for v in op.operands for d in range(v.type.rank)) or 1.0
    work *= optional(op, REPEATS, 1)
    return ManualRule(
        (Factor(1 << 62),), tuple(((),) * s.rank for s in ins), tuple(((),) * s.rank for s in outs),
        flops=work, operand_specs=tuple(ins), result_specs=tuple(outs),
    )
