"""Trading time for memory: sharded state, recomputation and microbatches, whichever combination is fastest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.clone import clone_module
from pcg.ir.errors import PcgError
from pcg.ir.walk import entry_of
from pcg.planning.evaluate import Context
from pcg.planning.fill_memory import fill
from pcg.planning.memory_plans import UNLIMITED, MemoryPlan, Microbatched, Sharded
from pcg.rewrite.accumulate import Accumulate
from pcg.rewrite.microbatches import is_placed
from pcg.rewrite.temporal import CannotSplit, batch_arguments
from pcg.search.build import Builder
from pcg.search.frontier import NEAR, Frontier, Point
from pcg.search.optimize import optimize
from pcg.search.outcome import Alternative, DoesNotFit
from pcg.search.recompute import Recomputation
from pcg.search.roles import data_of, state_of
from pcg.search.table import Tables
from pcg.solve.effort import QUICK

_NOTHING = Recomputation(0, frozenset(), 0.0, 0.0)
#: Most microbatches that are tried.  A choice: each doubling costs a search.
_MOST = 64
#: How much slower (relative) than the fastest plan that ignores memory one may be for the search to end.  A choice:
#: it is the most that further searches could gain.
_GOOD = 0.05
#: Limits for the sharding alone, times the limit, that are tried where nothing fits: recomputation has to save the
#: rest.  A choice: each costs a search and a simulation.
_LOOSER = (2.0, 1.4)
#: Rounds of lowering the target where the simulated peak exceeds the limit.  A choice: each is a simulation.
_ROUNDS = 3
#: What a target is multiplied by beside the ratio of limit and peak, so that the next peak is lower.  A choice.
_MARGIN = 0.98
#: Times the limit that the lower bound on memory with recomputation must exceed for it to be left out.  A choice: the
#: bound counts the program before fusion, which may need less.
_FLOOR_SLACK = 1.1
#: Times the limit that the least plan found may need for more to be looked for.  A choice: that of Llama-3 8B on 192
#: V100 in two microbatches needs 1.01 times as much, and one that the sweep finds 0.83.
_NEARLY_FITS = 1.1
#: How much less memory (relative) twice as many microbatches must need, for as many again to be tried.  A choice.
_LESS = 0.01
#: Plans with the least memory by the search's count that are simulated.  A choice: the order by simulation may differ.
_LOW = 3


@dataclass
class MemoryPlanner:
    """Finds the fastest plan for one program within limits on the bytes per device, by the means that are allowed.

    `recompute` and `accumulate`: whether values may be recomputed, and the batch split into microbatches.
    `unsplit` is the program without microbatches, with the plan that ignores memory.  What is found for one limit
    (searches, programs with layouts, what can be recomputed in them, peaks) is kept for the next.
    """

    context: Context
    recompute: bool
    accumulate: bool
    model: CostModel
    unsplit: Microbatched
    tried: list[MemoryPlan] = field(default_factory=list)
    why_unsplit: str = ""
    """Why the batch was not split, if it could not be."""
    progress: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        self._variants: dict[int, Microbatched | None] = {1: self.unsplit}
        self._splits: dict[int, ir.Operation | None] = {}
        self._sharded: dict[tuple[ir.Operation, tuple[int, ...]], Sharded] = {}
        # Compute and memory are those of the lowered program, without any overlap fraction.
        self._exact = CostModel(self.context.machine, self.model.mesh)

    @property
    def fastest(self) -> float:
        """Seconds per step of the plan that ignores memory."""
        return self.unsplit.outcome.seconds

    @property
    def free(self) -> Sharded:
        """The plan that ignores memory."""
        return self._at(self.unsplit, self.unsplit.frontier.fastest)

    def run(self, limit: float) -> MemoryPlan:
        """Raises PcgError, which names the smallest limit that would work, where no plan fits."""
        best = self._fastest_within(limit)
        if best is not None and limit <= min(c.peak for c in self.tried):
            return best
        free = self._as_it_is(self.free, limit)
        if best is None and free.peak <= limit:
            return free
        for count in () if self.unsplit.frontier.floor() > limit else self._counts():
            variant = self._variant(count)
            if best is not None and variant is not None and variant.outcome.seconds >= best.seconds:
                break
            found = self._within(count, limit, best)
            if found is not None:
                if best is not None and count > 1 and found.seconds >= best.seconds:
                    break
                best = found if best is None or found.seconds < best.seconds else best
                if not best.recomputes or best.seconds <= self.fastest * (1 + _GOOD):
                    break
        if best is None:
            self._least()
            best = self._fastest_within(limit)
        if best is None:
            raise self._error(limit)
        if not best.recomputes:
            variant = best.sharded.variant
            fill(best, limit, lambda point: self._as_it_is(self._at(variant, point), limit), self.progress)
        return self._fastest_within(limit) or best

    def alternatives(self, chosen: MemoryPlan, limit: float) -> list[Alternative]:
        """What else was tried, for the report."""
        return [Alternative(str(c), c.seconds, c.peak, c.peak <= limit) for c in self.tried if c != chosen]

    def _fastest_within(self, limit: float) -> MemoryPlan | None:
        """Of the plans tried so far, the one within the limit whose simulated step is shortest."""
        return min((c for c in self.tried if c.peak <= limit), key=lambda c: c.simulated, default=None)

    def _error(self, limit: float) -> DoesNotFit:
        least = min(self.tried, key=lambda c: c.peak)
        most = max(c.microbatches for c in self.tried)
        means = ["sharding"] + ["recomputation"] * self.recompute
        means += [f"{most} microbatches"] if most > 1 else []
        details = f" ({math.ceil(least.peak)} bytes, by {', '.join(means)})"
        details += f", where it holds {', '.join(least.sharded.largest)}" if least.sharded.largest else ""
        details += f"; {self.why_unsplit}" if self.why_unsplit else ""
        return DoesNotFit(limit, least.peak, details).at(entry_of(self.unsplit.base))

    # -- programs ------------------------------------------------------------------------------

    def _counts(self) -> Iterator[int]:
        """Numbers of microbatches that the program can be split into, each at least twice the last one."""
        for count in self._divisors:
            if self._variant(count) is None:
                break
            yield count

    @cached_property
    def _divisors(self) -> list[int]:
        """Numbers of microbatches to try, if the batch can be split at all."""
        counts = microbatch_counts(self._batch)
        return counts if len(counts) == 1 or self._split(counts[1]) is not None else counts[:1]

    @cached_property
    def _batch(self) -> int:
        """Examples in the batch; 1 if nothing has a batch dimension."""
        func = entry_of(self.unsplit.base)
        try:
            return batch_arguments(func, data_of(func, state_of(func)), 1)[1]
        except CannotSplit as error:
            self.why_unsplit = f"the batch cannot be split into microbatches: {error.message}"
            return 1

    def _variant(self, count: int) -> Microbatched | None:
        """The program in `count` microbatches and the plan of it that ignores memory; None if it cannot be split so."""
        if count not in self._variants:
            base = self._split(count)
            self._variants[count] = None if base is None else self._searched(count, base)
        return self._variants[count]

    def _searched(self, count: int, base: ir.Operation) -> Microbatched:
        func = entry_of(base)
        built = Builder(self.model, Tables.on(self.model.mesh)).build(func, state_of(func))
        quotient = built.quotient(self.model, cautious=True)
        outcome = optimize(quotient, progress=self.progress, effort=QUICK)
        return Microbatched(count, base, built, outcome, Frontier.of(quotient, outcome, self.progress))

    def _split(self, count: int) -> ir.Operation | None:
        """The program in `count` microbatches, without layouts; None if it cannot be split so."""
        if count not in self._splits:
            self._splits[count] = self._accumulated(count)
        return self._splits[count]

    def _accumulated(self, count: int) -> ir.Operation | None:
        copy = clone_module(self.unsplit.base).operation
        func = entry_of(copy)
        if not self.accumulate or is_placed(func):
            return None
        try:
            batch_arguments(func, data_of(func, state_of(func)), count)
            Accumulate(count).run(copy)
        except PcgError as error:
            self.why_unsplit = self.why_unsplit or f"the batch cannot be split into microbatches: {error.message}"
            return None
        return copy

    def _at(self, variant: Microbatched, point: Point) -> Sharded:
        key = variant.base, point.choice
        if key not in self._sharded:
            self._sharded[key] = Sharded(variant, point, self._exact, self.context)
        return self._sharded[key]

    # -- candidates ----------------------------------------------------------------------------

    def _within(self, count: int, limit: float, known: MemoryPlan | None) -> MemoryPlan | None:
        """The fastest plan found for one number of microbatches; if one is `known`, only where that is quick."""
        variant = self._variant(count)
        assert variant is not None
        self.progress(f"fitting memory: {count} microbatches, {len(self.tried)} plans so far")
        quick = known is not None and known.microbatches < count
        if count > 1 and not quick and not self._can_be(variant, limit):
            return None
        free = self._at(variant, variant.frontier.fastest)
        best = self._fitted(free, limit)
        if quick or (best is not None and best.seconds <= self.fastest * (1 + _GOOD)):
            return best
        return _faster(best, self._sharding(variant, free, limit))

    def _sharding(self, variant: Microbatched, free: Sharded, limit: float) -> MemoryPlan | None:
        """The fastest plan found by splitting state and activations further, recomputed if that is needed."""
        # The search's count of bytes differs from the simulated peak: its limit is scaled by their ratio.
        aim = first = limit * free.point.peak / free.peak(_NOTHING)
        best: MemoryPlan | None = None
        for _ in range(_ROUNDS):
            point = variant.frontier.fit(aim, fine=False)
            if point is None:
                break
            sharded = self._at(variant, point)
            best = _faster(best, self._fitted(sharded, limit))
            if sharded.peak(_NOTHING) <= limit:
                break
            aim = min(aim, point.peak) * _MARGIN * limit / sharded.peak(_NOTHING)
        if best is None:
            least = self._fitted(self._lowest(variant), limit)
            if least is None:
                return None
            for factor in _LOOSER if self.recompute else ():
                point = variant.frontier.fit(factor * first, fine=False)
                if point is not None and (best := self._fitted(self._at(variant, point), limit)) is not None:
                    break
            best = best or least
        aim = max(aim, best.sharded.point.peak)
        for _ in range(_ROUNDS):
            if (point := variant.frontier.fit(aim)) is not None:
                found = self._fitted(self._at(variant, point), limit)
                best = found if found is not None and found.seconds < best.seconds else best
            # What is left of the limit may be used, too.
            more = _MARGIN * best.sharded.point.peak * limit / best.peak
            if best.recomputes or more <= aim:
                break
            aim = more
        return best

    def _fitted(self, sharded: Sharded, limit: float) -> MemoryPlan | None:
        """A sharded program within the limit, recomputed if that is needed; None if recomputation is not enough."""
        plain = self._as_it_is(sharded, limit)
        if plain.peak <= limit:
            return plain
        if not self.recompute:
            return None
        solver = sharded.solver
        before = float(solver.alive.max())
        # Fusion and copies in the lowered program change its peak: where that decides, the first target is lower.
        target = limit if before > limit else _MARGIN * before * limit / plain.peak
        if solver.floor() > _FLOOR_SLACK * max(limit, target):
            return None
        for _ in range(_ROUNDS):
            known = solver.fit(target)
            if known is None:
                break
            found = self._recomputed(sharded, known, target)
            if found.peak <= limit:
                return found
            target *= _MARGIN * limit / found.peak
        found = self._recomputed(sharded, solver.least(), 0.0)
        return found if found.peak <= limit else None

    def _as_it_is(self, sharded: Sharded, limit: float) -> MemoryPlan:
        """Nothing recomputed; where memory decides, redistributions are where they are first needed."""
        if sharded is self.free:
            plain = self._note(MemoryPlan(sharded, sharded.point.seconds, sharded.peak(), sharded.seconds()))
            if plain.peak <= limit:
                return plain
        peak, simulated = sharded.peak(_NOTHING), sharded.seconds(_NOTHING)
        return self._note(MemoryPlan(sharded, sharded.point.seconds, peak, simulated, UNLIMITED))

    def _recomputed(self, sharded: Sharded, known: Recomputation, target: float) -> MemoryPlan:
        seconds = sharded.point.seconds + known.seconds
        peak, simulated = sharded.peak(known), sharded.seconds(known)
        return self._note(MemoryPlan(sharded, seconds, peak, simulated, target, bool(known.recomputed)))

    def _note(self, plan: MemoryPlan) -> MemoryPlan:
        if plan not in self.tried:
            self.tried.append(plan)
        return plan

    def _least(self) -> None:
        """Try what needs the least memory: as many microbatches as there can be, then fewer as long as that helps.

        One alone is always tried: it has no sums of gradients beside the gradients.
        """
        least = counted = math.inf
        counts = self._divisors[::-1]
        while counts:
            variant = self._variant(counts.pop(0))
            if variant is None:
                continue
            found = math.inf
            if variant.frontier.least().peak <= counted * (1 + NEAR):
                counted = min(counted, variant.frontier.least().peak)
                found = self._least_of(variant)
                if variant.frontier.resident() < least:
                    found = min(found, self._least_recomputed(self._at(variant, variant.frontier.fastest)))
            if found > least * (1 - _LESS):
                counts = counts[-1:]
            least = min(least, found)

    def _least_of(self, variant: Microbatched) -> float:
        """Peak of the plan found for a number of microbatches that needs the least memory."""
        return self._least_recomputed(self._lowest(variant))

    def _lowest(self, variant: Microbatched) -> Sharded:
        """Of the plans of a number of microbatches that need little memory by the search's count, the simulated least.
        """
        self.progress(f"least memory: {variant.count} microbatches")
        plans = [self._at(variant, point) for point in variant.frontier.low(_LOW)]
        return min(plans, key=lambda s: s.peak(_NOTHING))

    def _can_be(self, variant: Microbatched, limit: float) -> bool:
        """Whether a number of microbatches has a plan within the limit."""
        least = self._at(variant, variant.frontier.least())
        if self._as_it_is(least, limit).peak <= limit:
            return True
        if limit < (found := self._least_of(variant)) <= _NEARLY_FITS * limit:
            variant.frontier.fit(least.point.peak, fine=False)  # finds more plans, some of which may need less
            found = self._least_of(variant)
        return found <= limit

    def _least_recomputed(self, sharded: Sharded) -> float:
        """Peak of a plan with as much recomputed as saves memory."""
        peak = self._as_it_is(sharded, 0.0).peak
        if self.recompute and sharded.solver.floor() < min(peak, _FLOOR_SLACK * min(c.peak for c in self.tried)):
            peak = min(peak, self._recomputed(sharded, sharded.solver.least(), 0.0).peak)
        return peak


def _faster(a: MemoryPlan | None, b: MemoryPlan | None) -> MemoryPlan | None:
    """The faster of two plans, the first of equals."""
    return min((c for c in (a, b) if c is not None), key=lambda c: c.seconds, default=None)


def microbatch_counts(batch: int) -> list[int]:
    """Numbers of microbatches that a batch divides into, each the least that is at least twice the last one."""
    counts = [1]
    while (n := next((n for n in range(2 * counts[-1], _MOST + 1) if batch % n == 0), None)) is not None:
        counts.append(n)
    return counts


@dataclass
class PlannerCache:
    """The planner that a search leaves for the next one of the same program, for another limit."""

    planner: MemoryPlanner | None = None
    text: str = ""
    """The program, before it has layouts."""

    def of(self, text: str) -> MemoryPlanner | None:
        """The planner of the program with this text."""
        return self.planner if text == self.text else None
