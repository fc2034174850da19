"""The stage of every op of a step that runs in microbatches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import emit
from pcg.ir.errors import PcgError
from pcg.ir.pipeline_choice import pipeline_choice
from pcg.ir.stages import STAGE
from pcg.ir.transformation import Transformation, option
from pcg.ir.types import tensor_bytes
from pcg.ir.walk import entry_of
from pcg.layout import Mesh
from pcg.machine import Machine
from pcg.pipeline.partition import partition
from pcg.rewrite.layers.unroll import SKIPPED
from pcg.rewrite.microbatch_loop import has_microbatches, number
from pcg.rewrite.staging.positions import Positions
from pcg.rules.custom_call import STAGE_BOUNDARY, target
from pcg.search.read_schedule import ScheduleReader

#: On a function whose loops are shortened: by stage, how many like it the program has, one behind the other.
REPEATS = "pcg.repeats"


def stage_number(op: ir.Operation) -> int | None:
    """The stage of an op; None where it has none."""
    return number(op.attributes[STAGE]) if STAGE in op.attributes else None


@dataclass
class AssignStages(Transformation):
    """Divide a step that runs in microbatches into the stages of a pipeline."""

    stages: int = option(
        2, "number of stages; with `pcg.stage_boundary` in the program, one more than there are of it; 0: what "
        "pcg-choose-pipeline has chosen"
    )  # fmt: skip
    machine: Machine = field(default_factory=Machine.default)

    def run(self, module: ir.Operation) -> None:
        func = entry_of(module)
        choice = pipeline_choice(module)
        if not self.stages and choice is None:
            raise PcgError("the number of stages is not chosen; run pcg-choose-pipeline first", func)
        stages = self.stages or (choice.stages if choice is not None else 0)
        if stages < 1:
            raise PcgError(f"{stages} stages; allowed: 1 or more", func)
        if not has_microbatches(func):
            raise PcgError("the program has no microbatches; run pcg-microbatch first", func)
        positions = Positions(func)
        if not 1 <= stages <= len(positions.forward):
            text = f"{stages} stages for {len(positions.forward)} ops of the forward pass"
            raise PcgError(f"{text}; allowed: 1 to {len(positions.forward)}", func)
        seconds = self._seconds(func, positions)
        first = self._boundaries(func, positions, seconds, stages)
        crossing = _crossing(positions)
        with module.context:
            # The hash of an op changes with its attributes: nothing is looked up by an op that has its stage.
            for op in positions.ops:
                op.attributes[STAGE] = emit.i64(sum(b <= (positions.of[op] or 0) for b in first))
            sums = [op for op in positions.ops if op.name == "pcg.batch" and "kind" in op.attributes]
            self._repeats(func, positions)
            for op in [op for op in positions.ops if is_boundary(op)]:
                op.results[0].replace_all_uses_with(op.operands[0])
                op.erase()
            _split(sums)
            _add_by_stage(func)
            _merge_numbers(func)
            _follow(func)
        ends = [0, *first, len(seconds)]
        each = [sum(seconds[a:b]) for a, b in zip(ends, ends[1:], strict=False)]
        self.statistics["stages"] += stages
        moved = sum(crossing[b] for b in first)
        total = sum(each)
        shares = ", ".join(f"{t / total:.1%}" if total else "0%" for t in each)
        self.remark(
            func,
            f"{stages} stages with {shares} of the work of a microbatch; {moved / 2**20:.2f} MiB of a microbatch"
            " cross their boundaries forward",
        )

    def _seconds(self, func: ir.Operation, positions: Positions) -> list[float]:
        """Seconds of each position on one device: of its op, and of those of the backward pass that belong to it."""
        reader = ScheduleReader(CostModel(self.machine, Mesh.of({"one": 1})), func)
        seconds = [0.0] * len(positions.forward)
        for op in positions.inside:
            at = positions.of.get(op)
            if at is not None and op.name != "pcg.pipeline":
                seconds[at] += reader.seconds(op)
        return seconds

    @staticmethod
    def _repeats(func: ir.Operation, positions: Positions) -> None:
        """Of a program with fewer layers than it had: write how many each stage stands for."""
        marks = [op for op in positions.forward if is_boundary(op)]
        if any(SKIPPED in op.attributes for op in marks):
            skipped = [number(op.attributes[SKIPPED]) if SKIPPED in op.attributes else 0 for op in marks]
            func.attributes[REPEATS] = emit.i64s([1 + n for n in (*skipped, 0)])

    def _boundaries(
        self, func: ir.Operation, positions: Positions, seconds: Sequence[float], stages: int
    ) -> tuple[int, ...]:
        """The first position of each stage but the first."""
        marked = [i for i, op in enumerate(positions.forward) if is_boundary(op)]
        if not marked:
            return partition(seconds, _crossing(positions), stages)
        if len(marked) + 1 != stages:
            text = f"{stages} stages, but {len(marked)} pcg.stage_boundary"
            raise PcgError(f"{text}; allowed: {len(marked) + 1} stages", positions.forward[marked[0]])
        # The mark itself belongs to the stage that ends there.
        first = tuple(i + 1 for i in marked)
        if first[-1] == len(seconds):
            raise PcgError("nothing of the forward pass comes after this pcg.stage_boundary", positions.forward[-1])
        return first


def is_boundary(op: ir.Operation) -> bool:
    """Whether an op is a `pcg.stage_boundary`."""
    return op.name == "stablehlo.custom_call" and target(op) == STAGE_BOUNDARY


def _crossing(positions: Positions) -> list[float]:
    """By position: bytes of the forward pass that are computed before it, and read there or after it."""
    change = [0.0] * (len(positions.forward) + 1)
    last: dict[ir.Value, int] = {}
    made: dict[ir.Value, int] = {}
    for i, op in enumerate(positions.forward):
        made.update(dict.fromkeys(op.results, i))
        last.update((v, i) for v in positions.reads(op) if v in made)
    for v, i in last.items():
        change[made[v] + 1] += tensor_bytes(v.type)
        change[i + 1] -= tensor_bytes(v.type)
    crossing, total = [], 0.0
    for c in change[:-1]:
        total += c
        crossing.append(total)
    return crossing


def _split(work: list[ir.Operation]) -> None:
    """Accumulate the terms of a gradient on the stages that compute them, and add them once: those of tied weights.

    `work`: the `pcg.batch` ops that accumulate.
    """
    while work:
        op = work.pop()
        if ir.StringAttr(op.attributes["kind"]).value != "sum" or isinstance(op.operands[0], ir.BlockArgument):
            continue
        add = op.operands[0].owner.operation
        if add.name != "stablehlo.add" or len(list(add.results[0].uses)) != 1:
            continue
        terms = [None if isinstance(v, ir.BlockArgument) else v.owner.operation for v in add.operands]
        stages = [None if t is None else stage_number(t) for t in terms]
        if None in stages or stages[0] == stages[1]:
            continue
        with ir.InsertionPoint(op), op.location:
            parts = []
            for v, stage in zip(add.operands, stages, strict=True):
                assert stage is not None
                attributes = {n: op.attributes[n] for n in op.attributes} | {STAGE: emit.i64(stage)}
                parts.append(emit.create("pcg.batch", [v], op.results[0].type, **attributes))
            total = emit.create("stablehlo.add", parts, op.results[0].type, **{STAGE: op.attributes[STAGE]})
        op.results[0].replace_all_uses_with(total)
        op.erase()
        add.erase()
        work += [p.owner.operation for p in parts]


def _add_by_stage(func: ir.Operation) -> None:
    """Add the numbers of each stage first, then those of all stages: a norm of all gradients crosses stages once each.

    Only numbers of the update, because other sums are added in the order of the program.
    """
    for root in [op.operation for op in func.regions[0].blocks[0].operations]:
        if not _adds_numbers(root) or any(_adds_numbers(use.owner.operation) for use in root.results[0].uses):
            continue
        terms, adds, work = [], [], [root]
        while work:
            op = work.pop()
            if isinstance(op, ir.Value):
                terms.append(op)
                continue
            adds.append(op)
            for v in reversed(op.operands):
                source = None if isinstance(v, ir.BlockArgument) else v.owner.operation
                inner = source is not None and _adds_numbers(source) and len(list(v.uses)) == 1
                work.append(source if inner else v)
        stages: dict[int, list[ir.Value]] = {}
        for v in terms:
            source = None if isinstance(v, ir.BlockArgument) else v.owner.operation
            stage = stage_number(source) if source is not None and len(source.operands) else None
            # A constant that the sum begins with is added on the first stage.
            stages.setdefault(min(stages, default=0) if stage is None else stage, []).append(v)
        if len(stages) < 2 or all(len(own) == 1 for own in stages.values()):
            continue
        with ir.InsertionPoint(root), root.location:
            total: ir.Value | None = None
            for stage, own in sorted(stages.items()):
                at = {STAGE: emit.i64(stage)}
                part = own[0]
                for v in own[1:]:
                    part = emit.create("stablehlo.add", [part, v], v.type, **at)
                total = part if total is None else emit.create("stablehlo.add", [total, part], part.type, **at)
        assert total is not None
        root.results[0].replace_all_uses_with(total)
        for op in adds:
            op.erase()


def _follow(func: ir.Operation) -> None:
    """Compute numbers of the update from other ones on the last stage that has one of those.

    A sum over all stages goes from the first one to the last one, where the next step begins last as well.
    """
    stages: dict[ir.Value, int] = {}  # of numbers of the update
    updates: set[ir.Value] = set()
    for op in [op.operation for op in func.regions[0].blocks[0].operations]:
        if op.name != "pcg.batch" and not any(v in updates for v in op.operands):
            continue
        updates.update(op.results)
        stage = stage_number(op)
        if stage is None or len(op.results) != 1 or op.results[0].type.rank:
            continue
        read = [stages[v] for v in op.operands if v in stages]
        if read and op.name.startswith("stablehlo.") and not len(op.regions):
            stage = max(read)
            op.attributes[STAGE] = emit.i64(stage)
        stages[op.results[0]] = stage


def _merge_numbers(func: ir.Operation) -> None:
    """Compute equal numbers of the update once: a comparison of the norm that is written for every parameter."""
    updates: set[ir.Value] = set()
    equal: dict[ir.Value, ir.Value] = {}
    seen: dict[tuple[object, ...], ir.Value] = {}
    for op in [op.operation for op in func.regions[0].blocks[0].operations]:
        if op.name == "pcg.batch":
            updates.update(op.results)
        reads = list(op.operands)
        is_update = any(v in updates for v in reads)
        if is_update:
            updates.update(op.results)
        if not op.name.startswith("stablehlo.") or len(op.regions) or len(op.results) != 1 or op.results[0].type.rank:
            continue
        if not is_update and op.name != "stablehlo.constant":
            continue
        attributes = tuple(sorted((n, str(op.attributes[n])) for n in op.attributes if n != STAGE))
        key = (op.name, *(equal.get(v, v) for v in reads), attributes, str(op.results[0].type))
        first = seen.setdefault(key, op.results[0])
        if first == op.results[0]:
            continue
        if is_update:
            op.results[0].replace_all_uses_with(first)
            updates.discard(op.results[0])
            op.erase()
        else:
            equal[op.results[0]] = first


def _adds_numbers(op: ir.Operation) -> bool:
    """Whether an op adds two numbers of the update."""
    if op.name != "stablehlo.add" or op.results[0].type.rank:
        return False
    return any(_reads_a_sum(v) for v in op.operands)


def _reads_a_sum(value: ir.Value, depth: int = 6) -> bool:
    """Whether a number is computed from a `pcg.batch` in a few steps."""
    if isinstance(value, ir.BlockArgument) or not depth:
        return False
    op = value.owner.operation
    return op.name == "pcg.batch" or any(_reads_a_sum(v, depth - 1) for v in op.operands)
