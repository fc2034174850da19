"""The schedule of a placed function: bytes and seconds on one device."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.constants import constant_bytes
from pcg.ir.loops import assumed_iterations
from pcg.ir.types import element_bytes, tensor_bytes
from pcg.ir.walk import walk
from pcg.layout import Mesh, ShardSpec
from pcg.reshard import ReshardError
from pcg.reshard.planner import cost as reshard_cost
from pcg.rules import CONTROL_FLOW, RuleError, rule_for, traits
from pcg.rules.factor import Assignment
from pcg.rules.registry import shape
from pcg.rules.traits import Trait
from pcg.search.fusion import Fusion
from pcg.search.read_work import WorkReader
from pcg.search.schedule import Schedule, ScheduledOp
from pcg.search.work import WorkCosts

#: Prefix of PCG operators; several in a row become one collective.
_OPERATOR = "pcg."


@dataclass
class PlacedSchedule:
    """`schedule` is the function's; `ops[i]` is its op `i`, `values[v]` the value of number `v`."""

    schedule: Schedule
    ops: list[ir.Operation]
    values: list[ir.Value]


@dataclass
class ScheduleReader:
    """Reads functions placed on `mesh` (their layouts say how; a value without one is replicated)."""

    model: CostModel
    func: ir.Operation
    fusion: Fusion = field(init=False)
    works: WorkReader = field(init=False)
    costs: WorkCosts = field(init=False)
    _sizes: dict[tuple[ir.Type, ShardSpec | None], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.fusion = Fusion(self.func)
        self.works, self.costs = WorkReader(self.fusion), WorkCosts(self.model)

    @property
    def mesh(self) -> Mesh:
        return self.model.mesh

    def read(self, donated: Collection[int] = ()) -> PlacedSchedule:
        """The entry block of the function; `donated` are numbers of arguments whose memory may be used again."""
        block = self.func.regions[0].blocks[0]
        arguments = list(block.arguments)
        sizes = [self.bytes(a) for a in arguments]
        read = self._block(block, arguments, sizes)
        resident = [i for i in range(len(arguments)) if i not in donated]
        read.schedule.constants = constant_bytes(self.func)
        read.schedule.resident, read.schedule.donated = resident, [i for i in range(len(arguments)) if i in donated]
        return read

    def bytes(self, value: ir.Value) -> float:
        """Bytes of a value on one device."""
        kind = value.type
        if not isinstance(kind, ir.RankedTensorType):
            return 0.0
        spec = shardings.get(value)
        found = self._sizes.get((kind, spec))
        if found is None:
            dims = kind.shape if spec is None else spec.local_shape(kind.shape, self.mesh)
            found = self._sizes[kind, spec] = tensor_bytes(kind, dims)
        return found

    def _block(self, block: ir.Block, known: Sequence[ir.Value], sizes: Sequence[float]) -> PlacedSchedule:
        values, size = list(known), list(sizes)
        full = list(sizes)
        number = {v: i for i, v in enumerate(values)}
        scheduled: list[ScheduledOp] = []
        ops = [op.operation for op in block.operations]
        for op in ops[:-1]:
            for v in self._reads(op):
                if v not in number:  # captured from outside: its memory is counted there
                    number[v] = len(values)
                    values.append(v)
                    size.append(0.0)
                    full.append(0.0)
            reads = tuple(dict.fromkeys(number[v] for v in self._reads(op)))
            backed_by = tuple(dict.fromkeys(number[v] for v in self._backed_by(op)))
            defines, generated = [], traits.has(op.name, Trait.GENERATOR)
            for r in op.results:
                number[r] = len(values)
                defines.append(len(values))
                values.append(r)
                full.append(0.0 if generated else self.bytes(r))
                size.append(0.0 if backed_by or generated or self._passed(op, r) else self.bytes(r))
            region_bytes = max(map(self._region_bytes, _bodies(op)), default=0.0)
            repeatable = not generated and not any(traits.has(o.name, traits.ONCE) for o in walk(op))
            scheduled.append(
                ScheduledOp(reads, tuple(defines), self.seconds(op), repeatable, backed_by, region_bytes)
            )
        returned = [number[v] for v in ops[-1].operands if v in number]
        schedule = Schedule(scheduled, size, results=list(dict.fromkeys(returned)), full=full)
        return PlacedSchedule(schedule, ops[:-1], values)

    @staticmethod
    def _reads(op: ir.Operation) -> list[ir.Value]:
        """Values from outside of the op that it reads."""
        found = list(op.operands)
        if len(op.regions) and not _is_reduction(op):
            inner: set[ir.Value] = set()
            for region in op.regions:
                for b in region.blocks:
                    inner.update(b.arguments)
                    for o in b.operations:
                        found += [v for v in ScheduleReader._reads(o.operation) if v not in inner]
                        inner.update(o.operation.results)
        return found

    def _backed_by(self, op: ir.Operation) -> list[ir.Value]:
        """What must be alive for the results of `op` to be read, if they have no memory of their own."""
        if op.name.startswith(_OPERATOR):
            if len(op.results) != 1 or not len(op.operands):
                return []
            users = [use.owner.operation for use in op.results[0].uses]
            joined = len(users) == 1 and users[0].name.startswith(_OPERATOR)
            same = self.bytes(op.results[0]) == self.bytes(op.operands[0]) and op.name == "pcg.replicate"
            return list(op.operands) if joined or same else []
        return list(self.fusion.backing(op) or ())

    def _passed(self, op: ir.Operation, result: ir.OpResult) -> bool:
        """Whether a result of a loop is its initial value: the body hands it on as it is."""
        if op.name != "stablehlo.while":
            return False
        body = op.regions[1].blocks[0]
        i = result.result_number
        return body.operations[-1].operation.operands[i] == body.arguments[i]

    def _region_bytes(self, block: ir.Block) -> float:
        """Most bytes alive inside of a region beyond those of its arguments."""
        arguments = list(block.arguments)
        read = self._block(block, arguments, [0.0] * len(arguments))
        size = read.schedule.size
        for i, value in enumerate(block.operations[-1].operation.operands):
            # The next value of a carry is written over the last one where it is computed from it element by element.
            source = None if isinstance(value, ir.BlockArgument) else value.owner.operation
            if source is not None and i < len(arguments) and arguments[i] in source.operands and value in read.values:
                size[read.values.index(value)] = 0.0
        return read.schedule.peak() if read.schedule.ops else 0.0

    # -- time ----------------------------------------------------------------------------------

    def seconds(self, op: ir.Operation, runs: float = 1) -> float:
        """Seconds of `op` on one device, with all iterations, where it runs `runs` times (which are not in them)."""
        if traits.has(op.name, Trait.GENERATOR) or op.name in ("stablehlo.reshape", "stablehlo.optimization_barrier"):
            return 0.0
        if op.name.startswith((_OPERATOR, "dist.")):
            return self._reshard(op)
        if op.name in CONTROL_FLOW:
            iterations = assumed_iterations(op, runs) if op.name == "stablehlo.while" else 1
            around = runs * max(1, iterations)
            inner = [sum(self.seconds(o.operation, around) for o in list(b.operations)[:-1]) for b in _bodies(op)]
            return iterations * (sum(inner) if op.name == "stablehlo.while" else max(inner, default=0.0))
        return self._work(op)

    def _work(self, op: ir.Operation) -> float:
        rule = rule_for(op)
        try:
            a = rule.infer([self._spec(v) for v in op.operands], [self._spec(r) for r in op.results], self.mesh)
        except RuleError:  # it runs replicated
            a = Assignment(((),) * len(rule.factors))
        return self.costs.seconds(self.works.work(op, rule), a)

    def _reshard(self, op: ir.Operation) -> float:
        """A redistribution: of several PCG operators in a row the last one has the cost."""
        users = [use.owner.operation for use in op.results[0].uses]
        if op.name.startswith(_OPERATOR) and len(users) == 1 and users[0].name.startswith(_OPERATOR):
            return 0.0
        first = op
        while op.name.startswith(_OPERATOR) and not isinstance(first.operands[0], ir.BlockArgument):
            before = first.operands[0].owner.operation
            if not before.name.startswith(_OPERATOR) or len(list(before.results[0].uses)) != 1:
                break
            first = before
        value = first.operands[0]
        try:
            return reshard_cost(
                self._spec(value), self._spec(op.results[0]), shape(value), _itemsize(value), self.mesh,
                self.model.link,
            )[0]  # fmt: skip
        except ReshardError:
            return 0.0

    def _spec(self, value: ir.Value) -> ShardSpec:
        return shardings.get(value) or ShardSpec.replicated(len(shape(value)))


def _is_reduction(op: ir.Operation) -> bool:
    """Whether the regions of an op are functions of scalars, as those of reductions, sorts and scatters."""
    return len(op.regions) > 0 and op.name not in CONTROL_FLOW and op.name.startswith("stablehlo.")


def _bodies(op: ir.Operation) -> list[ir.Block]:
    """The blocks of the regions of control flow; of a loop its condition and its body."""
    return [r.blocks[0] for r in op.regions] if op.name in CONTROL_FLOW else []


def _itemsize(value: ir.Value) -> float:
    return element_bytes(value.type.element_type) if isinstance(value.type, ir.RankedTensorType) else 0.0
