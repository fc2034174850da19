"""Rematerialise values in the backward part instead of keeping them, as far as memory needs it; its barriers."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import emit, shardings
from pcg.ir.clone import remap
from pcg.ir.errors import PcgError
from pcg.ir.locations import place
from pcg.ir.transformation import Bytes, Transformation, option
from pcg.ir.types import number_attr
from pcg.ir.walk import defining_op, entry, in_block, walk
from pcg.layout import Mesh
from pcg.machine import ClusterError, Machine
from pcg.rules.values import is_zero
from pcg.search.outcome import DoesNotFit
from pcg.search.read_schedule import PlacedSchedule, ScheduleReader
from pcg.search.recompute import Recomputation, Recomputer
from pcg.search.roles import donated_of
from pcg.search.schedule import Replay

#: On a rematerialisation barrier: the ops behind it must not be merged with those that they recompute.
REMAT = "pcg.remat"
#: On the entry function: bytes per device that recomputation has to bring it to.
LIMIT = "pcg.memory_limit"


@dataclass
class Recompute(Transformation):
    """Rematerialise values where they are next needed instead of keeping them, to fit a memory limit."""

    memory_limit: Bytes | None = option(None, "bytes per device that the step may need, as 16GiB")
    planned: bool = option(False, "do what pcg-search decided, whatever the limit; nothing if it decided nothing")
    machine: Machine = field(default_factory=Machine.default)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.found: Recomputation | None = None
        self.known: Recomputation | None = None
        """What to recompute, if that is known already for the program as `read_placed` reads it."""

    def run(self, module: ir.Operation) -> None:
        func = entry(module)
        if func is None:
            return
        limit: float | None = None if self.planned else self.memory_limit
        if LIMIT in func.attributes:
            limit = ir.FloatAttr(func.attributes[LIMIT]).value
            del func.attributes[LIMIT]
        if limit is None and self.known is None:
            return
        if self.known is not None and not self.known.recomputed:
            sink_reshards(func)
            return
        mesh = shardings.mesh_of(module) or Mesh.of({"devices": 1})
        try:
            model = CostModel(self.machine, mesh)
        except ClusterError as error:
            raise PcgError(str(error), module) from None
        read = read_placed(func, model)
        before = read.schedule.peak()
        found = self.known
        if found is None and limit is not None:
            solver = Recomputer(read.schedule)
            found = solver.fit(limit) if limit else solver.least()
            if found is None:
                raise DoesNotFit(limit, solver.least().peak).at(func)
        assert found is not None
        self.found = found
        if not found.recomputed:
            return
        count = write_copies(read, Replay(read.schedule, found.split, found.recomputed))
        self.statistics["ops recomputed"] = count
        places = dict.fromkeys(x for i in sorted(found.recomputed) if (x := place(read.ops[i].location)))
        at = ", ".join(list(places)[:3]) + (f" and {len(places) - 3} more lines" if len(places) > 3 else "")
        self.remark(
            func,
            f"{count} ops are recomputed in the backward part: {before / 2**20:.4g} MiB become "
            f"{found.peak / 2**20:.4g} MiB per device, the step takes {1e6 * found.seconds:.1f} us longer by estimate"
            + (f"; from {at}" if at else ""),
        )


def read_placed(func: ir.Operation, model: CostModel) -> PlacedSchedule:
    """The steps of a function; redistributions are put first where they are needed."""
    sink_reshards(func)
    return ScheduleReader(model, func).read(donated_of(func))


def sink_reshards(func: ir.Operation) -> None:
    """Move PCG operators that gather a value, or redistribute an argument, right before the first use of the result.

    They are inserted behind the value that they redistribute: for an argument at the start of the program, for a value
    of the forward part that the backward part reads in the forward part.
    """
    block = func.regions[0].blocks[0]
    ops = [op.operation for op in block.operations]
    at = {op: i for i, op in enumerate(ops)}
    for op in reversed(ops):
        if op.name in ("pcg.combine", "pcg.replicate") or (op.name == "pcg.partition" and _of_gathered(op)):
            readers = [in_block(use.owner.operation, func) for use in op.results[0].uses]
            first = min(readers, key=lambda o: at[o], default=None)
            if first is not None:
                op.move_before(first)
                at[op] = at[first]


def _of_gathered(op: ir.Operation) -> bool:
    """Whether an operator redistributes an argument, or what was just gathered."""
    source = defining_op(op.operands[0])
    return source is None or source.name in ("pcg.combine", "pcg.replicate")


def write_copies(read: PlacedSchedule, replay: Replay) -> int:
    """Write the copies of `replay` into the program that was read; returns how many ops are recomputed."""
    copies: dict[ir.Value, ir.Value] = {}
    behind: dict[ir.Value, ir.Value] = {}
    opened: set[int] = set()
    count = 0
    for item in replay.items:
        op, target = read.ops[item.op], read.ops[item.before]
        if item.before not in opened and item.before in replay.barriers:
            opened.add(item.before)
            _barrier([read.values[v] for v in replay.barriers[item.before]], target, read, replay.split, behind)
        numbers = replay.schedule.ops[item.op].reads
        copied = {read.values[v] for v, is_copy in zip(numbers, item.reads, strict=True) if is_copy}
        if not item.is_copy:
            if copied:
                remap(op, {v: copies[v] for v in copied})
            continue
        new = op.clone(ip=ir.InsertionPoint(target))
        remap(new, {v: copies[v] for v in copied} if copied else behind)
        copies.update(zip(op.results, new.results, strict=True))
        count += 1
    return count


def _barrier(
    values: list[ir.Value], reader: ir.Operation, read: PlacedSchedule, split: int, behind: dict[ir.Value, ir.Value]
) -> None:
    """A rematerialisation barrier before `reader`, with `values` and a gradient that it reads as operands.

    Zeros stay as they are, as the rules of their readers look at them.
    """
    values = [v for v in values if not is_zero(v)]
    gradient = _gradient(reader, read, split)
    operands = values + ([gradient] if gradient is not None and gradient not in values else [])
    specs = [shardings.get(v) for v in operands]
    with reader.context:
        op = ir.Operation.create(
            "stablehlo.optimization_barrier", results=[v.type for v in operands], operands=operands,
            attributes={REMAT: ir.UnitAttr.get()}, loc=reader.location, ip=ir.InsertionPoint(reader),
        )
        shardings.set_result_specs(op, specs)
    behind.update(zip(values, op.results, strict=False))
    if len(operands) > len(values):
        for i, v in enumerate(reader.operands):
            if v == gradient:
                reader.operands[i] = op.results[len(values)]


def _gradient(reader: ir.Operation, read: PlacedSchedule, split: int) -> ir.Value | None:
    """The operand of `reader` that is computed last behind the split; else the last result before it."""
    at = {op: i for i, op in enumerate(read.ops)}
    found = [v for v in reader.operands if not isinstance(v, ir.BlockArgument) and _is_gradient(v)]
    found = [v for v in found if at.get(v.owner.operation, -1) > split]
    if found:
        return max(found, key=lambda v: at[v.owner.operation])
    before = reversed(read.ops[split + 1 : at[reader]])
    return next((r for op in before for r in op.results if _is_gradient(r)), None)


def _is_gradient(value: ir.Value) -> bool:
    """Whether a value is a tensor of floats that may be an operand of a barrier: computed, and not partial."""
    if not _is_float(value) or value.owner.operation.name == "stablehlo.constant" or is_zero(value):
        return False
    spec = shardings.get(value)
    return spec is None or not spec.partial


# -- barriers for backends that drop them ---------------------------------------------------------


@dataclass
class InsertRematBarriers(Transformation):
    """Replace the barriers of pcg-recompute by selects that XLA's CPU backend cannot remove."""

    def run(self, module: ir.Operation) -> None:
        barriers = [op for op in walk(module) if op.name == "stablehlo.optimization_barrier"]
        for op in [op for op in barriers if REMAT in op.attributes]:
            flag_of = op.operands[-1]
            if not _is_float(flag_of) or 0 in flag_of.type.shape:
                del op.attributes[REMAT]
                continue
            last = len(op.operands) - 1
            with module.context, op.location, ir.InsertionPoint(op):
                flag = _always_true(flag_of)
                for i, (value, result) in enumerate(zip(op.operands, op.results, strict=True)):
                    new = _select(flag, value) if i < last or last == 0 else value
                    result.replace_all_uses_with(new)
            op.erase()
            self.statistics["barriers"] += 1


def _is_float(value: ir.Value) -> bool:
    kind = value.type
    return isinstance(kind, ir.RankedTensorType) and isinstance(kind.element_type, ir.FloatType)


def _always_true(value: ir.Value) -> ir.Value:
    """A flag computed from the first element of `value`: it equals itself, or (NaN) does not."""
    if rank := value.type.rank:
        value = emit.reshape(emit.slice_box(value, [0] * rank, [1] * rank), [])
    return emit.binary("or", emit.compare(value, value, "EQ"), emit.compare(value, value, "NE"))


def _select(flag: ir.Value, value: ir.Value) -> ir.Value:
    """`value` where `flag` is true, which it is; another value else."""
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType):
        return value
    if isinstance(kind.element_type, ir.ComplexType):  # the bindings have no attribute of complex numbers
        return emit.select(flag, value, emit.create("stablehlo.negate", [value], kind))
    zero = ir.DenseElementsAttr.get_splat(kind, number_attr(0, kind.element_type))
    return emit.select(flag, value, emit.create("stablehlo.constant", [], kind, value=zero))
