"""Which annotation to change first: single changes by what they gain, and changes that only gain together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from pcg.layout import ShardSpec
from pcg.lint.space import Figures, Space

#: Relative gain below which a change is not reported.  A choice: five times the tolerance of the solver (`Space`).
WORTH = 5e-3
#: Relative difference below which two plans cost the same: the tolerance of the solver (`patience` in `Space`).
_SAME = 1e-3
#: Share of what is left to gain that a single change must bring, or several together are looked for.  A choice: ten
#: single changes would be too many to make one by one.
_ENOUGH = 0.1
#: What a set of changes together may leave of what is to gain, as a share of that and of a step.  A choice: it is what
#: a smaller set may cost.
_LEFT, _MOST = 0.1, 0.02


@dataclass(frozen=True)
class Change:
    """Annotations to change together, or one alone.

    `to` are their new layouts, in order; `revised` those of annotations changed before that are best changed once more
    with them.  `after` is what the program costs then, all earlier changes included.
    """

    annotations: tuple[int, ...]
    to: tuple[tuple[ShardSpec, ...], ...]
    before: Figures
    after: Figures
    revised: tuple[tuple[int, tuple[ShardSpec, ...]], ...] = ()


@dataclass
class Advice:
    """What the annotations cost and how to change them.

    `annotated` is the best plan with all annotations, `free` without any.  `alone[a]` is the best plan when annotation
    `a` alone is dropped, with `alone_to[a]` in its places; None where the budget did not suffice.  `complete` is False
    if the budget ran out before nothing more helped.
    """

    annotated: Figures
    free: Figures
    alone: list[Figures | None]
    alone_to: list[tuple[ShardSpec, ...]]
    changes: list[Change] = field(default_factory=list)
    complete: bool = True

    @property
    def excess(self) -> float:
        """By how much, relative to a plan without annotations, the annotations make a step longer.

        Infinite where no plan has them all, or none that has them fits although one without does.
        """
        if self.free.fits and not self.annotated.fits:
            return math.inf
        return self.annotated.seconds / self.free.seconds - 1 if self.free.seconds else 0.0

    @property
    def final(self) -> Figures:
        """After all changes."""
        return self.changes[-1].after if self.changes else self.annotated

    def needless(self) -> list[int]:
        """Annotations that no change concerns, and without which the annotated plan is no better."""
        changed = {a for c in self.changes for a in c.annotations}
        return [
            a for a, f in enumerate(self.alone)
            if f is not None and a not in changed and not _gains(self.annotated, f)
        ]  # fmt: skip


def advise(space: Space, budget: int = 300) -> Advice:
    """Estimate the program with all annotations, none, all but each, and find a sequence of changes, best first.

    This is greedy descent: a change replaces one annotation by the layout that the plan without any has there, or, if
    that costs more as long as the others stay, by the one that is best beside them.  Where no single change gains
    enough, a small set of annotations that must change together is found.  What is changed stays free for later changes
    to change again.

    Args:
      budget: variants that may be estimated; the same input gives the same advice.
    """
    every = range(len(space.annotations))
    free = space.best(())
    now = space.best(every, near=[free])
    advice = Advice(now, free, [None] * len(every), [()] * len(every))
    kept, placed = list(every), dict[int, tuple[ShardSpec, ...]]()
    while kept and (not advice.changes or now.seconds > free.seconds * (1 + WORTH) or now.fits < free.fits):
        without = _without_each(space, kept, now, free, budget)
        advice.complete &= len(without) == len(kept)
        if not advice.changes:
            for a, f in without:
                advice.alone[a], advice.alone_to[a] = f, space.specs(a, f)
        change = _single(space, kept, now, free, without)
        small = change is None or now.seconds - change[1].seconds < _ENOUGH * (now.seconds - free.seconds)
        if (small and now.fits) or (free.fits and not (change is not None and change[1].fits)):
            together = _together(space, kept, now, free, budget)
            if together is None:
                advice.complete = False
            elif _gains(now, together[1]):
                change = together
        if change is None:
            break
        which, after = change
        to = tuple(space.specs(a, after) for a in which)
        revised = tuple((a, new) for a, old in placed.items() if (new := space.specs(a, after)) != old)
        advice.changes.append(Change(tuple(which), to, now, after, revised))
        placed.update(zip(which, to, strict=True))
        placed.update(revised)
        kept = [k for k in kept if k not in which]
        now = after
    if now.seconds < free.seconds:  # better than the plan found without annotations, and possible without them
        advice.free = now
    return advice


def _gains(before: Figures, after: Figures) -> bool:
    if before.fits != after.fits:
        return after.fits
    return after.seconds < before.seconds * (1 - WORTH)


def _without_each(
    space: Space, kept: Sequence[int], now: Figures, free: Figures, budget: int
) -> list[tuple[int, Figures]]:
    """The best plan without each of the annotations `kept`; of the first of them where the budget does not suffice."""
    found: list[tuple[int, Figures]] = []
    for a in kept:
        if space.solved >= budget:
            break
        others = [k for k in kept if k != a]
        found.append((a, space.best(others, near=[now, free], cutoff=now.seconds * (1 - WORTH))))
    return found


def _single(
    space: Space, kept: Sequence[int], now: Figures, free: Figures, without: Sequence[tuple[int, Figures]]
) -> tuple[list[int], Figures] | None:
    """The single change that gains most, if one does."""
    found = [(not f.fits, f.seconds, a, f) for a, f in without if f.fits or not now.fits]
    if not found:
        return None
    _, _, a, best = min(found, key=lambda x: x[:3])
    if not _gains(now, best):
        return None
    others = [k for k in kept if k != a]
    as_free = space.best(others, space.layouts(a, free), near=[best, free])
    if as_free.seconds <= best.seconds * (1 + _SAME) and as_free.fits >= best.fits:
        best = as_free
    return [a], best


def _together(
    space: Space, kept: Sequence[int], now: Figures, free: Figures, budget: int
) -> tuple[list[int], Figures] | None:
    """A small set of annotations whose change gains nearly all there is to gain; None if the budget does not suffice.

    All are dropped, and restored, first those that cost least, as long as all that are restored cost little.
    """
    least, most = free.seconds * (1 + _SAME), free.seconds * (1 + _MOST)
    limit = max(least, min(free.seconds + _LEFT * (now.seconds - free.seconds), most))
    alone: list[tuple[float, int]] = []
    for a in kept:
        if space.solved >= budget:
            return None
        alone.append((space.best([a], near=[free], cutoff=limit).seconds, a))
    dropped, best = list(kept), free
    for seconds, a in sorted(alone):
        if seconds > limit:
            break
        if space.solved >= budget:
            return None
        restored = [k for k in kept if k == a or k not in dropped]
        f = space.best(restored, near=[best, free], cutoff=limit)
        if f.seconds <= limit and f.fits >= free.fits:
            dropped.remove(a)
            best = f
    return dropped, best
