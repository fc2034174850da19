"""The cheapest plan within a limit on memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pcg.search.frontier import Frontier, Point
from pcg.search.outcome import DoesNotFit
from pcg.search.quotient import Quotient
from pcg.solve.ilp import Limit, merge
from pcg.solve.network import Network

#: Rounds of mixing plans, each under the limits at the peaks found before.  Chosen: a budget of ILPs.
_ROUNDS = 6


def fit(
    quotient: Quotient, limit: float, network: Network, starts: Sequence[Sequence[int]], *, quick: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> list[int]:  # fmt: skip
    """The cheapest plan found, by class, that needs at most `limit` bytes per device.

    A cost of the bytes alive at the peak gives plans that need ever less memory (`Frontier`); an ILP with the
    limit as a constraint then picks, decision by decision, the best mixture of them and of `starts`, of which the first
    is the fastest plan.  `quick`: the best of them, without mixing.

    Raises:
      DoesNotFit: no plan that was found fits.
    """
    points = [Point(tuple(x), network.cost(x), quotient.peak(x)) for x in starts]
    frontier = Frontier(quotient, points[0], network, progress)
    frontier.points += points[1:]
    found = frontier.fit(limit)
    if found is None:
        raise DoesNotFit(limit, frontier.least().peak)
    best = list(found.choice)
    if quick:
        return best
    pool = [list(p.choice) for p in dict.fromkeys(frontier.points)]
    limits = [_limit_at(quotient, limit, quotient.position(x)) for x in pool]
    for _ in range(_ROUNDS):
        progress(f"mixing {len(pool)} plans under the memory limit")
        mixed = merge(network, pool, limits, best)
        if mixed is None or network.cost(mixed) >= network.cost(best) * (1 - 1e-9):
            break
        if quotient.peak(mixed) <= limit:
            return mixed
        limits.append(_limit_at(quotient, limit, quotient.position(mixed)))
    return best


def _limit_at(quotient: Quotient, limit: float, position: int) -> Limit:
    """What is alive at `position` must fit."""
    alive = quotient.lifetimes.alive(position)
    return Limit(quotient.local_bytes(alive), limit - quotient.lifetimes.constants)
