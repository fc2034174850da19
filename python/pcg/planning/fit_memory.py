"""Buying memory with time: sharded state, recomputation and microbatches, whichever combination is fastest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.clone import clone_module
from pcg.ir.errors import PcgError
from pcg.ir.walk import entry
from pcg.planning.evaluate import Context
from pcg.planning.memory_plans import UNLIMITED, Candidate, Sharded, Variant, moved
from pcg.rewrite.accumulate import Accumulate
from pcg.rewrite.microbatches import is_placed
from pcg.rewrite.temporal import CannotSplit, batch_arguments
from pcg.search.build import Builder, Built
from pcg.search.frontier import NEAR, Frontier, Point
from pcg.search.optimize import optimize
from pcg.search.outcome import Alternative, DoesNotFit, Outcome
from pcg.search.quotient import Quotient
from pcg.search.recompute import Recomputation
from pcg.search.roles import data_of, state_of
from pcg.search.table import Tables

_NOTHING = Recomputation(0, frozenset(), 0.0, 0.0)
#: Most microbatches that are tried.
_MOST = 64
#: How much slower (relative) than the fastest plan that ignores memory one may be for the search to end.
_GOOD = 0.05
#: Limits for the sharding alone, over the given one, that are tried where nothing fits: recomputation does the rest.
_LOOSER = (2.0, 1.4)
#: Rounds of asking for less where the lowered program needs more than the placed one, or the search, seemed to.
_ROUNDS = 3
#: How far (times) above the limit the least that recomputation can come to must be for it to be left out.
_HOPELESS = 1.1
#: How much less memory (relative) twice as many microbatches must need, for as many again to be of interest.
_LESS = 0.01
#: Plans with the least memory by the search's count that the simulator is asked about.
_LOW = 3


@dataclass
class MemoryPlanner:
    """Finds the fastest plan for one program within limits on the bytes per device, by the means that are allowed.

    `recompute` and `accumulate`: whether values may be recomputed, and the batch split into microbatches.
    `whole` is the program as it is, with the plan that ignores memory.  What is found for one limit (searches,
    programs with layouts, what can be recomputed in them, peaks) is kept for the next.
    """

    context: Context
    recompute: bool
    accumulate: bool
    model: CostModel
    whole: Variant
    tried: list[Candidate] = field(default_factory=list)
    why_whole: str = ""
    """Why the batch was not split, if it could not be."""
    progress: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        self._variants: dict[int, Variant | None] = {1: self.whole}
        self._splits: dict[int, ir.Operation | None] = {}
        self._sharded: dict[tuple[ir.Operation, tuple[int, ...]], Sharded] = {}
        # Compute and memory are those of the lowered program, in which nothing of an exchange is taken to be hidden.
        self._exact = CostModel(self.context.machine, self.model.mesh)

    @property
    def fastest(self) -> float:
        """Seconds per step of the plan that ignores memory."""
        return self.whole.outcome.seconds

    @property
    def free(self) -> Sharded:
        """The plan that ignores memory."""
        return self._at(self.whole, self.whole.frontier.fastest)

    def run(self, limit: float) -> Candidate:
        """Raises PcgError, which names the smallest limit that would work, where no plan fits."""
        best = min((c for c in self.tried if c.peak <= limit), key=lambda c: c.seconds, default=None)
        if best is not None and limit <= min(c.peak for c in self.tried):
            return best
        free = self._as_it_is(self.free, limit)
        if best is None and free.peak <= limit:
            return free
        hopeless = self.whole.frontier.floor() > limit
        for count in () if hopeless else self._counts():
            variant = self._variant(count)
            if best is not None and variant is not None and variant.outcome.seconds >= best.seconds:
                break
            found = self._within(count, limit, best)
            if found is not None:
                if best is not None and count > 1 and found.seconds >= best.seconds:
                    break
                best = found if best is None or found.seconds < best.seconds else best
                if not best.again or best.seconds <= self.fastest * (1 + _GOOD):
                    break
        if best is None:
            self._least()
            best = min((c for c in self.tried if c.peak <= limit), key=lambda c: c.seconds, default=None)
        if best is None:
            least = min(self.tried, key=lambda c: c.peak)
            needed = least.peak
            most = max(c.microbatches for c in self.tried)
            means = ["sharding"] + ["recomputation"] * self.recompute
            means += [f"{most} microbatches"] if most > 1 else []
            details = f" ({math.ceil(needed)} bytes, by {', '.join(means)})"
            details += f", where it holds {', '.join(least.sharded.largest)}" if least.sharded.largest else ""
            details += f"; {self.why_whole}" if self.why_whole else ""
            raise DoesNotFit(limit, needed, details).at(entry(self.whole.base))
        return best

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
        counts = numbers(self._batch)
        return counts if len(counts) == 1 or self._split(counts[1]) is not None else counts[:1]

    @cached_property
    def _batch(self) -> int:
        """Examples in the batch; 1 if nothing has a batch dimension."""
        func = entry(self.whole.base)
        assert func is not None
        try:
            return batch_arguments(func, data_of(func, state_of(func)), 1)[1]
        except CannotSplit as error:
            self.why_whole = f"the batch cannot be split into microbatches: {error.message}"
            return 1

    def _variant(self, count: int) -> Variant | None:
        if count not in self._variants:
            self._variants[count] = self._made(count)
        return self._variants[count]

    def _made(self, count: int) -> Variant | None:
        base = self._split(count)
        func = entry(base) if base is not None else None
        return None if base is None or func is None else self._searched(count, base, func)

    def _searched(self, count: int, base: ir.Operation, func: ir.Operation) -> Variant:
        """A program, and the plan of it that ignores memory."""
        state = state_of(func)
        built = Builder(self.model, Tables.on(self.model.mesh)).build(func, state)
        quotient = built.quotient(self.model)
        outcome = optimize(quotient, progress=self.progress, quick=True)
        return Variant(count, base, built, outcome, Frontier.of(quotient, outcome, self.progress))

    def _split(self, count: int) -> ir.Operation | None:
        """The program in `count` microbatches, without layouts; None if it cannot be split so."""
        if count not in self._splits:
            self._splits[count] = self._splitted(count)
        return self._splits[count]

    def _splitted(self, count: int) -> ir.Operation | None:
        copy = clone_module(self.whole.base).operation
        func = entry(copy)
        if not self.accumulate or func is None or is_placed(func):
            return None
        try:
            batch_arguments(func, data_of(func, state_of(func)), count)
            Accumulate(count).run(copy)
        except PcgError as error:
            if not self.why_whole:
                self.why_whole = f"the batch cannot be split into microbatches: {error.message}"
            return None
        return copy

    def _at(self, variant: Variant, point: Point) -> Sharded:
        key = variant.base, point.choice
        if key not in self._sharded:
            self._sharded[key] = Sharded(variant, point, self._exact, self.context)
        return self._sharded[key]

    # -- candidates ----------------------------------------------------------------------------

    def _within(self, count: int, limit: float, known: Candidate | None) -> Candidate | None:
        """The fastest plan found for one number of microbatches; if one is `known`, only where that is quick."""
        variant = self._variant(count)
        assert variant is not None
        self.progress(f"fitting memory: {count} microbatches, {len(self.tried)} plans so far")
        quick = known is not None and known.microbatches < count
        if count > 1 and not quick and not self._can_be(variant, limit):
            return None
        free = self._at(variant, variant.frontier.fastest)
        best = self._fitted(free, limit)
        if quick:
            return best
        if best is None or best.seconds > self.fastest * (1 + _GOOD):
            best = min(
                (c for c in (best, self._sharding(variant, free, limit)) if c), key=lambda c: c.seconds, default=None
            )
        return best

    def _sharding(self, variant: Variant, free: Sharded, limit: float) -> Candidate | None:
        """The fastest plan found by cutting state and activations into smaller pieces, recomputed if that is needed."""
        # The search counts memory its own way: what it is asked for is corrected by how far off it was.
        aim = first = limit * free.point.peak / free.peak(_NOTHING)
        best: Candidate | None = None
        for _ in range(_ROUNDS):
            point = variant.frontier.fit(aim, fine=False)
            if point is None:
                break
            sharded = self._at(variant, point)
            found = self._fitted(sharded, limit)
            if found is not None and (best is None or found.seconds < best.seconds):
                best = found
            if sharded.peak(_NOTHING) <= limit:
                break
            aim = min(aim, point.peak) * 0.98 * limit / sharded.peak(_NOTHING)
        if best is None:
            least = self._fitted(self._at(variant, variant.frontier.least()), limit)
            if least is None:
                return None
            for factor in _LOOSER if self.recompute else ():
                point = variant.frontier.fit(factor * first, fine=False)
                if point is not None and (best := self._fitted(self._at(variant, point), limit)) is not None:
                    break
            best = best or least
        if best is not None and (point := variant.frontier.fit(max(aim, best.sharded.point.peak))) is not None:
            found = self._fitted(self._at(variant, point), limit)
            best = min((c for c in (best, found) if c is not None), key=lambda c: c.seconds)
        return best

    def _fitted(self, sharded: Sharded, limit: float) -> Candidate | None:
        """A plan brought to the limit; None if that takes more than recomputation."""
        made = self._as_it_is(sharded, limit)
        if made.peak <= limit or not self.recompute:
            return made if made.peak <= limit else None
        solver = sharded.solver
        before = float(solver.alive.max())
        # What is fused, or copied, differs in the lowered program: where that decides, ask for less from the start.
        target = limit if before > limit else 0.98 * before * limit / made.peak
        if solver.floor() > _HOPELESS * max(limit, target):
            return None
        for _ in range(_ROUNDS):
            known = solver.fit(target)
            if known is None:
                break
            found = self._recomputed(sharded, known, target)
            if found.peak <= limit:
                return found
            target *= 0.98 * limit / found.peak
        found = self._recomputed(sharded, solver.least(), 0.0)
        return found if found.peak <= limit else None

    def _as_it_is(self, sharded: Sharded, limit: float) -> Candidate:
        """Nothing done again; where memory decides, redistributions are where they are first needed."""
        if sharded is self.free:
            made = self._note(Candidate(sharded, sharded.point.seconds, sharded.peak()))
            if made.peak <= limit:
                return made
        return self._note(Candidate(sharded, sharded.point.seconds, sharded.peak(_NOTHING), UNLIMITED))

    def _recomputed(self, sharded: Sharded, known: Recomputation, target: float) -> Candidate:
        seconds = sharded.point.seconds + known.seconds
        return self._note(Candidate(sharded, seconds, sharded.peak(known), target, bool(known.redo)))

    def _note(self, candidate: Candidate) -> Candidate:
        if candidate not in self.tried:
            self.tried.append(candidate)
        return candidate

    def _least(self) -> None:
        """Try what needs the least memory: as many microbatches as there can be, then fewer as long as that helps.

        One alone is always tried: it has no sums of gradients beside the gradients.
        """
        least = counted = math.inf
        counts = self._divisors[::-1]
        while counts:
            count = counts.pop(0)
            variant = self._variant(count)
            if variant is None:
                continue
            found = math.inf
            if variant.frontier.least().peak <= counted * (1 + NEAR):
                counted = min(counted, variant.frontier.least().peak)
                found = self._least_of(variant)
                if variant.frontier.held() < least:
                    found = min(found, self._again(self._at(variant, variant.frontier.fastest)))
            if found > least * (1 - _LESS):
                counts = counts[-1:]
            least = min(least, found)

    def _least_of(self, variant: Variant) -> float:
        """Peak of the plan found for a number of microbatches that needs the least memory."""
        self.progress(f"least memory: {variant.count} microbatches")
        plans = [self._at(variant, point) for point in variant.frontier.low(_LOW)]
        return self._again(min(plans, key=lambda s: s.peak(_NOTHING)))

    def _can_be(self, variant: Variant, limit: float) -> bool:
        """Whether a number of microbatches has a plan within the limit."""
        return self._as_it_is(self._at(variant, variant.frontier.least()), limit).peak <= limit or (
            self._least_of(variant) <= limit
        )

    def _again(self, sharded: Sharded) -> float:
        """Peak of a plan with as much done again as saves memory."""
        peak = self._as_it_is(sharded, 0.0).peak
        if self.recompute and sharded.solver.floor() < min(peak, _HOPELESS * min(c.peak for c in self.tried)):
            peak = min(peak, self._recomputed(sharded, sharded.solver.least(), 0.0).peak)
        return peak


def numbers(batch: int) -> list[int]:
    """Numbers of microbatches that a batch divides into, each the least that is at least twice the last one."""
    counts = [1]
    while (n := next((n for n in range(2 * counts[-1], _MOST + 1) if batch % n == 0), None)) is not None:
        counts.append(n)
    return counts


@dataclass
class Remembered:
    """What a search leaves for the next one of the same program, for another limit."""

    planner: MemoryPlanner | None = None
    text: str = ""

    def of(self, text: str) -> MemoryPlanner | None:
        """The planner of the program with this text."""
        return self.planner if text == self.text else None


def planner_of(
    context: Context, recompute: bool, accumulate: bool, module: ir.Operation, built: Built, quotient: Quotient,
    outcome: Outcome, progress: Callable[[str], None],
) -> MemoryPlanner:
    """For the program `module`, which has no layouts yet, and the plan of it that ignores memory."""
    base = clone_module(module).operation
    whole = Variant(1, base, moved(built, module, base), outcome, Frontier.of(quotient, outcome, progress))
    return MemoryPlanner(context, recompute, accumulate, quotient.model, whole)


def alternatives(planner: MemoryPlanner, chosen: Candidate, limit: float) -> list[Alternative]:
    """What else was tried, for the report."""
    return [Alternative(str(c), c.seconds, c.peak, c.peak <= limit) for c in planner.tried if c != chosen]
