"""Plans for a limit on memory: programs in microbatches, with layouts, and what they need with values recomputed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.clone import clone_module, take_contents
from pcg.ir.walk import entry, walk
from pcg.machine.units import bytes_text
from pcg.planning.evaluate import Context, lowered, memory_of, resharded
from pcg.rewrite.accumulate import MICROBATCHES
from pcg.rewrite.recompute import LIMIT, read_placed
from pcg.search.build import Built
from pcg.search.commit import commit
from pcg.search.frontier import Frontier, Point
from pcg.search.outcome import Outcome
from pcg.search.recompute import Recomputation, Recomputer
from pcg.search.table import Tables

#: A limit that every plan fits in: pcg-recompute then only puts redistributions where they are first needed.
UNLIMITED = float(1 << 62)
#: What was given in the program before the search, on `dist.reshard`.
GIVEN = "pcg.given"
#: Of what a plan that does not fit holds at its peak, so many are named.
_SHOWN = 3


@dataclass
class Variant:
    """The step in `count` microbatches: its program without layouts, and what the search finds for it."""

    count: int
    base: ir.Operation
    built: Built
    outcome: Outcome
    """The plan that ignores memory."""
    frontier: Frontier


class Sharded:
    """One plan of a variant: the program with its layouts, and what it needs as it is and with values recomputed."""

    def __init__(self, variant: Variant, point: Point, model: CostModel, context: Context) -> None:
        self.variant, self.point = variant, point
        self._model, self._context = model, context
        self._peaks: dict[frozenset[int] | None, float] = {}
        self.largest: list[str] = []
        """What takes most at the least peak found."""

    @cached_property
    def module(self) -> ir.Operation:
        """The program with layouts."""
        v = self.variant
        copy = clone_module(v.base).operation
        func = entry(copy)
        assert func is not None
        choice = v.frontier.quotient.per_node(self.point.choice)
        commit(func, moved(v.built, v.base, copy), choice, Tables.on(self._model.mesh))
        return copy

    @cached_property
    def placed(self) -> ir.Operation:
        """The program with its redistributions."""
        return resharded(self.module, self._context)

    @cached_property
    def solver(self) -> Recomputer:
        """What may be recomputed."""
        copy = clone_module(self.placed).operation
        func = entry(copy)
        assert func is not None
        return Recomputer(read_placed(func, self._model).line)

    def peak(self, known: Recomputation | None = None) -> float:
        """Peak of the lowered program, by simulation: as it is, or by what pcg-recompute is to do with it."""
        key = known.redo if known is not None else None
        if key not in self._peaks:
            found = memory_of(lowered(self.placed, self._context, known), self._model, self._context)
            self._peaks[key] = float(found.peak_bytes)
            if found.peak_bytes <= min(self._peaks.values()):
                self.largest = [f"{bytes_text(h.bytes)} of {h}" for h in found.peak_values[:_SHOWN]]
        return self._peaks[key]


@dataclass(frozen=True)
class Candidate:
    """A plan: a sharding, and the limit in bytes that pcg-recompute shall bring it to (None: it has nothing to do).

    `again`: whether values are computed again.
    """

    sharded: Sharded
    seconds: float
    peak: float
    recompute: float | None = None
    again: bool = False

    @property
    def microbatches(self) -> int:
        """Into how many the batch is split."""
        return self.sharded.variant.count

    def __str__(self) -> str:
        parts = ["sharding"]
        if self.again:
            parts.append("recomputation")
        if self.microbatches > 1:
            parts.append(f"{self.microbatches} microbatches")
        return ", ".join(parts)


def moved(built: Built, old: ir.Operation, new: ir.Operation) -> Built:
    """`built`, a graph of the program `old`, as one of its copy `new`."""
    ops: dict[ir.Operation, ir.Operation] = {}
    values: dict[ir.Value, ir.Value] = {}
    for a, b in zip(walk(old), walk(new), strict=True):
        ops[a] = b
        values.update(zip(a.results, b.results, strict=True))
        for r, s in zip(a.regions, b.regions, strict=True):
            for x, y in zip(r.blocks, s.blocks, strict=True):
                values.update(zip(x.arguments, y.arguments, strict=True))
    return replace(
        built, ops=[(ops[o], n) for o, n in built.ops], free=[ops[o] for o in built.free],
        hubs=[(values[v], n) for v, n in built.hubs], carries=[(ops[o], n) for o, n in built.carries],
        barriers=[(ops[o], n) for o, n in built.barriers], constraints=[(ops[o], n) for o, n in built.constraints],
        values={}, exchanging=[],
    )  # fmt: skip


def mark_given(module: ir.Operation) -> None:
    """Mark the `dist.reshard` ops of the program itself: the search adds its own."""
    for op in walk(module):
        if op.name == "dist.reshard":
            with op.context:
                op.attributes[GIVEN] = ir.UnitAttr.get()


def take(module: ir.Operation, chosen: Candidate) -> None:
    """Make `module` the program of `chosen`, and note what is to be recomputed."""
    other = chosen.sharded.module
    if other.context == module.context:
        other = clone_module(other).operation
    else:  # planned for an earlier limit, in another context
        text = other.get_asm(print_generic_op_form=True, enable_debug_info=True, assume_verified=True)
        with module.context:
            other = ir.Module.parse(text).operation
    take_contents(module, other)
    func = entry(module)
    assert func is not None
    if chosen.recompute is not None:
        with module.context, ir.Location.unknown():
            func.attributes[LIMIT] = ir.FloatAttr.get(ir.F64Type.get(), chosen.recompute)


def microbatches_of(func: ir.Operation) -> int:
    """Into how many microbatches the step of a function was split."""
    attrs = func.operation.attributes
    return int(ir.IntegerAttr(attrs[MICROBATCHES]).value) if MICROBATCHES in attrs else 1
