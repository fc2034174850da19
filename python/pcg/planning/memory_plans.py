"""Plans within a memory limit: programs in microbatches, with layouts, and their peak with values recomputed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.clone import clone_module, take_contents
from pcg.ir.parse import parse_written
from pcg.ir.walk import entry_of, walk
from pcg.machine.units import bytes_text
from pcg.planning.evaluate import Context, lowered, memory_of, resharded
from pcg.rewrite.accumulate import MICROBATCHES
from pcg.rewrite.recompute import LIMIT, read_placed
from pcg.search.built import Built
from pcg.search.commit import commit
from pcg.search.frontier import Frontier, Point
from pcg.search.outcome import Outcome
from pcg.search.recompute import Recomputation, Recomputer
from pcg.search.table import Tables

#: A limit in bytes that every plan fits in: pcg-recompute then only sinks redistributions to their first use.
UNLIMITED = float(1 << 62)
#: On a `dist.reshard` that the program had before the search, which adds others.
OWN_RESHARD = "pcg.own_reshard"
#: Buffers at the peak that an error names, the largest first.
_SHOWN = 3


@dataclass
class Microbatched:
    """The step in `count` microbatches: its program without layouts, and what the search finds for it."""

    count: int
    base: ir.Operation
    built: Built
    outcome: Outcome
    """The plan that ignores memory."""
    frontier: Frontier


class Sharded:
    """A step in microbatches with the layouts of one plan, and its peak as it is and with values recomputed."""

    def __init__(self, variant: Microbatched, point: Point, model: CostModel, context: Context) -> None:
        self.variant, self.point = variant, point
        self._model, self._context = model, context
        self._simulated: dict[frozenset[int] | None, tuple[float, float]] = {}
        self.largest: list[str] = []
        """The largest buffers at the least peak found."""

    @cached_property
    def module(self) -> ir.Operation:
        """The program with layouts."""
        v = self.variant
        copy = clone_module(v.base).operation
        func = entry_of(copy)
        choice = v.frontier.quotient.per_node(self.point.choice)
        commit(func, v.built.of_copy(v.base, copy), choice, Tables.on(self._model.mesh))
        return copy

    @cached_property
    def placed(self) -> ir.Operation:
        """The program with its redistributions."""
        return resharded(self.module, self._context)

    @cached_property
    def solver(self) -> Recomputer:
        """What may be recomputed."""
        copy = clone_module(self.placed).operation
        return Recomputer(read_placed(entry_of(copy), self._model).schedule)

    def peak(self, known: Recomputation | None = None) -> float:
        """Bytes at the peak of the lowered program, by simulation: as it is, or with what is to be recomputed in it."""
        return self._step(known)[0]

    def seconds(self, known: Recomputation | None = None) -> float:
        """Seconds of that program, by the same simulation; of one for processors that is tried on the costs of others,
        the search's estimate, as simulation then is about memory alone."""
        if self._context.backend == "accelerator" or self._context.shares_processors:
            return self._step(known)[1]
        return self.point.seconds + (known.seconds if known is not None else 0.0)

    def _step(self, known: Recomputation | None) -> tuple[float, float]:
        key = known.recomputed if known is not None else None
        if key not in self._simulated:
            found = memory_of(lowered(self.placed, self._context, known), self._model, self._context)
            self._simulated[key] = float(found.peak_bytes), found.seconds
            if found.peak_bytes <= min(p for p, _ in self._simulated.values()):
                self.largest = [f"{bytes_text(h.bytes)} of {h}" for h in found.peak_values[:_SHOWN]]
        return self._simulated[key]


@dataclass(frozen=True)
class MemoryPlan:
    """Layouts, and the limit in bytes that pcg-recompute shall bring the program to (None: it has nothing to do).

    `seconds` are by the search's estimate, `simulated` those of the lowered program; `recomputes`: whether values are
    recomputed.
    """

    sharded: Sharded
    seconds: float
    peak: float
    simulated: float
    recompute: float | None = None
    recomputes: bool = False

    @property
    def microbatches(self) -> int:
        """Into how many the batch is split."""
        return self.sharded.variant.count

    def __str__(self) -> str:
        parts = ["sharding"]
        if self.recomputes:
            parts.append("recomputation")
        if self.microbatches > 1:
            parts.append(f"{self.microbatches} microbatches")
        return ", ".join(parts)


def mark_own_reshards(module: ir.Operation) -> None:
    """Mark the `dist.reshard` ops of the program itself: the search adds its own."""
    for op in walk(module):
        if op.name == "dist.reshard":
            with op.context:
                op.attributes[OWN_RESHARD] = ir.UnitAttr.get()


def write_plan(module: ir.Operation, chosen: MemoryPlan) -> None:
    """Make `module` the program of `chosen`, and note what is to be recomputed."""
    other = chosen.sharded.module
    if other.context == module.context:
        other = clone_module(other).operation
    else:  # planned for an earlier limit, in another context
        text = other.get_asm(print_generic_op_form=True, enable_debug_info=True, assume_verified=True)
        with module.context:
            other = parse_written(text).operation
    take_contents(module, other)
    if chosen.recompute is not None:
        with module.context, ir.Location.unknown():
            entry_of(module).attributes[LIMIT] = ir.FloatAttr.get(ir.F64Type.get(), chosen.recompute)


def microbatches_of(func: ir.Operation) -> int:
    """Into how many microbatches the step of a function was split."""
    attrs = func.operation.attributes
    return int(ir.IntegerAttr(attrs[MICROBATCHES]).value) if MICROBATCHES in attrs else 1
