"""Which annotation to change first: single changes by what they gain, and changes that only gain together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from pcg.layout import ShardSpec
from pcg.lint.space import Figures, Space

#: Relative gain below which a change is not worth a word.  Chosen: the solver's own tolerance (`Space`) is a fifth of
#: it.
WORTH = 5e-3
#: Relative difference below which two plans cost the same: the solver's tolerance (`patience` in `Space`).
_SAME = 1e-3
#: Share of what is left to gain that a single change must bring, or several together are looked for.  Chosen: ten
#: single changes would be too many to make one by one.
_ENOUGH = 0.1
#: What a set of changes together may leave of what is to gain, as a share of that and of a step.  Chosen: the price of
#: taking annotations back, so that a set is small.
_LEFT, _MOST = 0.1, 0.02


@dataclass(frozen=True)
class Change:
    """Annotations to change together, or one alone.

    `to` are their new layouts, in order; `again` those of annotations changed before that are best changed once more
    with them.  `after` is what the program costs then, all earlier changes included.
    """

    annotations: tuple[int, ...]
    to: tuple[tuple[ShardSpec, ...], ...]
    before: Figures
    after: Figures
    again: tuple[tuple[int, tuple[ShardSpec, ...]], ...] = ()


@dataclass
class Advice:
    """What the annotations cost and how to change them.

    `alone[a]` is the best plan when annotation `a` alone is dropped, with `alone_to[a]` in its places; None where the
    budget did not suffice.  `complete` is False if the budget ran out before nothing more helped.
    """

    given: Figures
    free: Figures
    alone: list[Figures | None]
    alone_to: list[tuple[ShardSpec, ...]]
    changes: list[Change] = field(default_factory=list)
    complete: bool = True

    @property
    def excess(self) -> float:
        """By how much, relative to a plan without annotations, the given ones make a step longer.

        Infinite where no plan has them all, or none that has them fits although one without does.
        """
        if self.free.fits and not self.given.fits:
            return math.inf
        return self.given.seconds / self.free.seconds - 1 if self.free.seconds else 0.0

    @property
    def final(self) -> Figures:
        """After all changes."""
        return self.changes[-1].after if self.changes else self.given

    def needless(self) -> list[int]:
        """Annotations that no change concerns, and without which the given plan is no better."""
        changed = {a for c in self.changes for a in c.annotations}
        return [
            a for a, f in enumerate(self.alone)
            if f is not None and a not in changed and not _gains(self.given, f)
        ]  # fmt: skip


def advise(space: Space, budget: int = 300) -> Advice:
    """Price all annotations, none, all but each, and find a sequence of changes, best first.

    A change replaces one annotation by the layout that the plan without any has there, or, if that is dearer as
    long as the others stay, by the one that is best beside them.  Where no single change gains enough, a small set of
    annotations that must go together is found: all are dropped, and taken back one by one as long as that costs little.
    What is changed stays free for later changes to change again.

    Args:
      budget: variants that may be priced; the same input gives the same advice.
    """
    every = range(len(space.annotations))
    free = space.price(())
    given = space.price(every, near=[free])
    advice = Advice(given, free, [None] * len(every), [()] * len(every))
    kept, now, placed = list(every), given, dict[int, tuple[ShardSpec, ...]]()
    first = True
    while kept and (first or now.seconds > free.seconds * (1 + WORTH) or now.fits < free.fits):
        found: list[tuple[float, int, Figures]] = []
        for a in kept:
            if space.solved >= budget:
                advice.complete = False
                break
            f = space.price([k for k in kept if k != a], near=[now, free], cutoff=now.seconds * (1 - WORTH))
            if first:
                advice.alone[a], advice.alone_to[a] = f, space.specs(a, f)
            if f.fits or not now.fits:
                found.append((f.seconds, a, f))
        first = False
        change = _single(space, kept, now, free, found)
        left = now.seconds - free.seconds
        small = change is None or now.seconds - change[1].seconds < _ENOUGH * left
        if (small and now.fits) or (free.fits and not (change is not None and change[1].fits)):
            together = _bundle(space, kept, now, free, budget)
            if together is None:
                advice.complete = False
            elif _gains(now, together[1]):
                change = together
        if change is None:
            break
        which, after = change
        to = tuple(space.specs(a, after) for a in which)
        again = tuple((a, new) for a, old in placed.items() if (new := space.specs(a, after)) != old)
        advice.changes.append(Change(tuple(which), to, now, after, again))
        placed.update(zip(which, to, strict=True))
        placed.update(again)
        kept = [k for k in kept if k not in which]
        now = after
    if now.seconds < free.seconds:  # a better plan than the search met without annotations: it needs none either
        advice.free = now
    return advice


def _gains(before: Figures, after: Figures) -> bool:
    if before.fits != after.fits:
        return after.fits
    return after.seconds < before.seconds * (1 - WORTH)


def _single(
    space: Space, kept: Sequence[int], now: Figures, free: Figures,
    found: list[tuple[float, int, Figures]],
) -> tuple[list[int], Figures] | None:  # fmt: skip
    """The single change that gains most, if one does."""
    if not found:
        return None
    _, a, best = min(found, key=lambda f: (not f[2].fits, *f[:2]))
    if not _gains(now, best):
        return None
    others = [k for k in kept if k != a]
    final = space.price(others, {a: space.layouts(a, free)}, near=[best, free])
    if final.seconds <= best.seconds * (1 + _SAME) and final.fits >= best.fits:
        best = final
    return [a], best


def _bundle(
    space: Space, kept: Sequence[int], now: Figures, free: Figures, budget: int
) -> tuple[list[int], Figures] | None:
    """A small set of annotations whose change gains nearly all there is to gain; None if the budget does not suffice.

    All are dropped, and taken back, first those that cost least, as long as all that are taken back cost little.
    """
    least, most = free.seconds * (1 + _SAME), free.seconds * (1 + _MOST)
    limit = max(least, min(free.seconds + _LEFT * (now.seconds - free.seconds), most))
    alone: list[tuple[float, int]] = []
    for a in kept:
        if space.solved >= budget:
            return None
        alone.append((space.price([a], near=[free], cutoff=limit).seconds, a))
    out, best = list(kept), free
    for seconds, a in sorted(alone):
        if seconds > limit:
            break
        if space.solved >= budget:
            return None
        back = [k for k in kept if k == a or k not in out]
        f = space.price(back, near=[best, free], cutoff=limit)
        if f.seconds <= limit and f.fits >= free.fits:
            out.remove(a)
            best = f
    return out, best
