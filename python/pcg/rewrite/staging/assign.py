"""The stage of every op of a step that runs in microbatches."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

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
from pcg.pipeline.placement import FORMS
from pcg.rewrite.layers.unroll import SKIPPED
from pcg.rewrite.microbatch_loop import has_microbatches, number
from pcg.rewrite.staging.groups import group_meshes, placed_on
from pcg.rewrite.staging.positions import Positions
from pcg.rewrite.staging.sums import add_by_stage, follow, merge_numbers, split_sums
from pcg.rules.custom_call import STAGE_BOUNDARY, target
from pcg.search.read_schedule import ScheduleReader

#: On a function whose loops are shortened: by stage, how many like it the program has, one behind the other.
REPEATS = "pcg.repeats"


@dataclass
class AssignStages(Transformation):
    """Divide a step that runs in microbatches into the stages of a pipeline."""

    stages: int = option(
        2, "number of stages; with `pcg.stage_boundary` in the program, one more than there are of it; 0: what "
        "pcg-choose-pipeline has chosen"
    )  # fmt: skip
    placement: str = option(
        "", "which group of devices has which stages, as in pcg-outline-stages: stages of groups that are smaller or "
        "slower get less work", ("", *FORMS),
    )  # fmt: skip
    axis: str = option("stage", "axis of the mesh along which the groups lie")
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
        rows = self._seconds(module, func, positions, stages)
        first = self._boundaries(func, positions, rows, stages)
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
            split_sums(sums)
            add_by_stage(func)
            merge_numbers(func)
            follow(func)
        ends = [0, *first, len(positions.forward)]
        # As work on the devices of the first stage, whatever others take for it.
        each = [sum(rows[0][a:b]) for a, b in itertools.pairwise(ends)]
        self.statistics["stages"] += stages
        moved = sum(crossing[b] for b in first)
        total = sum(each)
        shares = ", ".join(f"{t / total:.1%}" if total else "0%" for t in each)
        self.remark(
            func,
            f"{stages} stages with {shares} of the work of a microbatch; {moved / 2**20:.2f} MiB of a microbatch"
            " cross their boundaries forward",
        )

    def _seconds(
        self, module: ir.Operation, func: ir.Operation, positions: Positions, stages: int
    ) -> list[list[float]]:
        """By stage, seconds of each position on the devices of its group, divided evenly among them."""
        meshes = group_meshes(module, self.axis)
        if not meshes:
            return [self._on_one(func, positions, self.machine)] * stages
        rows: dict[tuple[str, int], list[float]] = {}
        found = []
        for group in placed_on(module, func, self.placement, stages, len(meshes)):
            mesh, cluster = meshes[group], self.machine.cluster
            machine = self.machine if cluster is None else Machine.of(cluster, mesh)
            key = machine.device.name, mesh.size
            if key not in rows:
                rows[key] = [t / mesh.size for t in self._on_one(func, positions, machine)]
            found.append(rows[key])
        return found

    @staticmethod
    def _on_one(func: ir.Operation, positions: Positions, machine: Machine) -> list[float]:
        """Seconds of each position on one device: of its op, and of those of the backward pass that belong to it."""
        reader = ScheduleReader(CostModel(replace(machine, cluster=None), Mesh.of({"one": 1})), func)
        seconds = [0.0] * len(positions.forward)
        for op in positions.ops:  # a set's order, and with it the rounding of sums, differs from run to run
            at = positions.of.get(op)
            if at is not None and op in positions.inside and op.name != "pcg.pipeline":
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
        self, func: ir.Operation, positions: Positions, seconds: Sequence[Sequence[float]], stages: int
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
        if first[-1] == len(positions.forward):
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
