"""Work that is done more than once: ops that run replicated over axes by which an operand was split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.loops import counted_trips
from pcg.ir.types import tensor_bytes
from pcg.layout import Mesh, ShardSpec
from pcg.lower.moves import MOVES, itemsize
from pcg.machine import Machine
from pcg.reshard import ReshardError, cost
from pcg.rules import CONTROL_FLOW, TERMINATORS, rule_for
from pcg.rules.factor import FactorRule
from pcg.rules.manual import is_manual
from pcg.rules.registry import shape


@dataclass(frozen=True)
class Replicated:
    """One op that runs replicated over `axes` although operand `operand` is made in layout `have`, split by them.

    `seconds` is the estimated time of the op as it runs, `gather_seconds` that of bringing its
    operands together; both are per execution, of which there are `times` per step.
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
    return [found for block in func.regions[0].blocks for found in _block(block, 1, model, mesh, {})]


Specs = dict[ir.Value, ShardSpec]


def _block(block: ir.Block, times: int, model: CostModel, mesh: Mesh, known: Specs) -> Iterator[Replicated]:
    """`known` are the layouts in which values are made, before the plan keeps them in others."""
    for argument in block.arguments:
        known[argument] = shardings.get(argument) or ShardSpec.replicated(len(shape(argument)))
    for op in block.operations:
        op = op.operation
        if op.name in CONTROL_FLOW:
            trips = 1
            if op.name == "stablehlo.while":
                trips = counted_trips(op, times)
            _made(op, known)
            for region in op.regions:
                yield from _block(region.blocks[0], times * trips, model, mesh, known)
        elif op.name == "dist.reshard":
            known[op.results[0]] = known[op.operands[0]]
        elif op.name not in TERMINATORS:
            outs = _made(op, known)
            if op.name not in MOVES and (found := _look(op, outs, times, model, mesh, known)):
                yield found


def _made(op: ir.Operation, known: Specs) -> list[ShardSpec]:
    """Note the layouts of the results of `op`."""
    results = list(op.results)
    found = shardings.result_specs(op)
    outs = [s or ShardSpec.replicated(len(shape(r))) for r, s in zip(results, found, strict=True)]
    known.update(zip(results, outs, strict=True))
    return outs


def _look(
    op: ir.Operation, outs: list[ShardSpec], times: int, model: CostModel, mesh: Mesh, known: Specs
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
    gather = sum(
        _gather(v, s, w, model, mesh) for v, s, w, lost in zip(op.operands, sources, wants, wasted, strict=True) if lost
    )
    seconds = op_seconds(op, rule, wants, outs, model)
    axes = mesh.order({a for lost in wasted for a in lost})
    reason = _reason(rule, worst, sources[worst], wants, set(wasted[worst]), mesh)
    return Replicated(op, worst, sources[worst], axes, reason, seconds, gather, times)


def op_seconds(
    op: ir.Operation, rule: FactorRule, ins: Sequence[ShardSpec], outs: Sequence[ShardSpec], model: CostModel
) -> float:
    """Estimated seconds of one op as a device runs it, with operands and results in these layouts."""
    mesh, touched = model.mesh, 0.0
    used = {a for s in (*ins, *outs) for a in s.used_axes}
    for kind, values, specs in (("operand", op.operands, ins), ("result", op.results, outs)):
        for i, (value, spec) in enumerate(zip(values, specs, strict=True)):
            if model.touches(op.name, kind, i) and isinstance(value.type, ir.RankedTensorType):
                touched += tensor_bytes(value.type, spec.local_shape(shape(value), mesh))
    element = next((str(r.type.element_type) for r in op.results if isinstance(r.type, ir.RankedTensorType)), "f32")
    return model.compute(op.name, element, rule.flops / mesh.axes_size(mesh.order(used)), touched)


def _reason(
    rule: FactorRule, operand: int, have: ShardSpec, wants: Sequence[ShardSpec], lost: set[str], mesh: Mesh
) -> str:
    """Why an operand that comes as `have` is not taken split over `lost`."""
    if rule.reason:
        return rule.reason
    for d, (axes, factors) in enumerate(zip(have.dims, rule.operands[operand], strict=True)):
        for f in factors:
            if lost & set(axes) and not rule.factors[f].splittable:
                return f"dimension {d} stays whole: {rule.factors[f].reason}"
            n = mesh.axes_size(a for a in axes if a in lost) if len(factors) == 1 else 1
            if n > 1 and rule.factors[f].size % n and not rule.may_pad(f):
                return f"dimension {d} cannot be cut in {n} here"
    d = next(d for d, axes in enumerate(have.dims) if lost & set(axes))
    if wants[operand].dims[d]:
        return f"the plan splits dimension {d} over {'+'.join(wants[operand].dims[d])} here"
    if any(rule.factors[f].reduce for f in rule.operands[operand][d]):
        return f"the plan keeps dimension {d} whole here (split, the results would be partial)"
    return f"the plan keeps dimension {d} whole here"


def _gather(value: ir.Value, have: ShardSpec, want: ShardSpec, model: CostModel, mesh: Mesh) -> float:
    try:
        return cost(have, want, shape(value), itemsize(value), mesh, model.link)[0]
    except ReshardError:
        return 0.0
