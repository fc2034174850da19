"""Ops that run replicated over axes by which an operand was split: every device along them does the same work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.loops import assumed_iterations
from pcg.layout import Mesh, ShardSpec
from pcg.lower.redistribution_ops import REDISTRIBUTION_OPS, itemsize
from pcg.machine import Machine
from pcg.rules import CONTROL_FLOW, TERMINATORS, RuleError, rule_for
from pcg.rules.factor import FactorRule
from pcg.rules.manual import is_manual
from pcg.rules.registry import shape
from pcg.search.fusion import Fusion
from pcg.search.read_work import WorkReader
from pcg.search.terms import ReshardCosts
from pcg.search.work import WorkCosts


@dataclass(frozen=True)
class Replicated:
    """One op that runs replicated over `axes` although its operand `operand` is computed split by them, as `have`.

    `seconds` is the estimated time of the op as it runs, `gather_seconds` that of gathering its operands, one after
    another; both are by the cost model of the search, per execution, of which there are `times` per step.
    """

    op: ir.Operation
    operand: int
    have: ShardSpec
    axes: tuple[str, ...]
    reason: str
    seconds: float
    gather_seconds: float
    times: int

    def __str__(self) -> str:
        cost = f"{1e6 * self.seconds:.1f} us, and {1e6 * self.gather_seconds:.1f} us to gather"
        return (
            f"'{self.op.name}' op runs replicated over {'+'.join(self.axes)}: operand {self.operand} is split as "
            f"{self.have}, but {self.reason} ({cost})"
        )


def replicated(func: ir.Operation, mesh: Mesh, machine: Machine) -> list[Replicated]:
    """All such ops of a function whose ops have `dist.operand_specs`, as a plan leaves them, in program order."""
    model = CostModel(machine, mesh)
    costs = Costs(func, WorkCosts(model), ReshardCosts(model))
    return [found for block in func.regions[0].blocks for found in _block(block, 1, costs, mesh, {})]


Specs = dict[ir.Value, ShardSpec]


@dataclass
class Costs:
    """What computing ops of a function takes, and what redistributions take."""

    func: ir.Operation
    compute: WorkCosts
    reshard: ReshardCosts

    @cached_property
    def works(self) -> WorkReader:
        """What says what an op does; read where the first one is replicated."""
        return WorkReader(Fusion(self.func))


def _block(block: ir.Block, times: int, costs: Costs, mesh: Mesh, known: Specs) -> Iterator[Replicated]:
    """`known` are the layouts in which values are computed, before the plan redistributes them."""
    for argument in block.arguments:
        known[argument] = shardings.get(argument) or ShardSpec.replicated(len(shape(argument)))
    for op in block.operations:
        op = op.operation
        if op.name in CONTROL_FLOW:
            iterations = assumed_iterations(op, times) if op.name == "stablehlo.while" else 1
            _add_results(op, known)
            for region in op.regions:
                yield from _block(region.blocks[0], times * iterations, costs, mesh, known)
        elif op.name == "dist.reshard":
            known[op.results[0]] = known[op.operands[0]]
        elif op.name not in TERMINATORS:
            outs = _add_results(op, known)
            if op.name not in REDISTRIBUTION_OPS and (found := _replicated(op, outs, times, costs, mesh, known)):
                yield found


def _add_results(op: ir.Operation, known: Specs) -> list[ShardSpec]:
    """Add the layouts of the results of `op` to `known`, and return them."""
    results = list(op.results)
    found = shardings.result_specs(op)
    outs = [s or ShardSpec.replicated(len(shape(r))) for r, s in zip(results, found, strict=True)]
    known.update(zip(results, outs, strict=True))
    return outs


def _replicated(
    op: ir.Operation, outs: list[ShardSpec], times: int, costs: Costs, mesh: Mesh, known: Specs
) -> Replicated | None:
    needs = shardings.operand_specs(op)
    if needs is None:
        return None
    sources = [known[v] for v in op.operands]
    if sources == needs or not any(any(s.dims) for s in sources) or is_manual(op):
        return None
    wants = [s or ShardSpec.replicated(len(shape(v))) for v, s in zip(op.operands, needs, strict=True)]
    used = {a for s in (*wants, *outs) for a in s.used_axes}
    wasted = [[a for d in s.dims for a in d if a not in used and mesh.axis_size(a) > 1] for s in sources]
    worst = max(range(len(wasted)), key=lambda i: (mesh.axes_size(wasted[i]), -i), default=None)
    if worst is None or not wasted[worst]:
        return None
    rule = rule_for(op)
    try:
        seconds = costs.compute.seconds(costs.works.work(op, rule), rule.infer(wants, outs, mesh))
    except RuleError:
        return None  # dist-verify says what is wrong with these layouts
    gathered = (x for x, lost in zip(zip(op.operands, sources, wants, strict=True), wasted, strict=True) if lost)
    gather = sum(costs.reshard(have, want, shape(v), itemsize(v))[0] for v, have, want in gathered)
    axes = mesh.order({a for lost in wasted for a in lost})
    reason = _reason(rule, worst, sources[worst], wants, set(wasted[worst]), mesh)
    return Replicated(op, worst, sources[worst], axes, reason, seconds, gather, times)


def _reason(
    rule: FactorRule, operand: int, have: ShardSpec, wants: Sequence[ShardSpec], lost: set[str], mesh: Mesh
) -> str:
    """Why an operand that comes as `have` is not taken split over `lost`."""
    if rule.reason:
        return rule.reason
    for d, (axes, factors) in enumerate(zip(have.dims, rule.operands[operand], strict=True)):
        for f in factors:
            if lost & set(axes) and not rule.factors[f].splittable:
                return f"dimension {d} stays unsplit: {rule.factors[f].reason}"
            n = mesh.axes_size(a for a in axes if a in lost) if len(factors) == 1 else 1
            if n > 1 and rule.factors[f].size % n and not rule.may_pad(f):
                return f"dimension {d} cannot be split in {n} here"
    d = next(d for d, axes in enumerate(have.dims) if lost & set(axes))
    if wants[operand].dims[d]:
        return f"the plan splits dimension {d} over {'+'.join(wants[operand].dims[d])} here"
    if any(rule.factors[f].reduce for f in rule.operands[operand][d]):
        return f"the plan keeps dimension {d} unsplit here (split, the results would be partial)"
    return f"the plan keeps dimension {d} unsplit here"
