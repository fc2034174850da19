"""Choosing a strategy for every op at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from pcg.search.axis_groups import grouped
from pcg.search.fit import fit
from pcg.search.outcome import Alternative, Outcome
from pcg.search.pure_plans import around_arguments, pure_plans, pure_plans_of_groups, replication
from pcg.search.quotient import Quotient
from pcg.solve.beside import Beside
from pcg.solve.effort import DEFAULT, Effort
from pcg.solve.ilp import Solution, solve
from pcg.solve.network import Network
from pcg.solve.stop import NEVER, Stop

#: Costs of a network without all but arguments from which pure plans are completed beside the search.  Measured: with
#: 0.8e6 that takes 0.07 s and a copy costs as much, with 3.5e6 0.19 s, and planning takes 0.02 to 0.08 s less with it.
_LONG = 2_000_000


def optimize(
    quotient: Quotient, *, limit: float | None = None, plans: Sequence[tuple[str, Sequence[int]]] = (),
    progress: Callable[[str], None] = lambda _: None, cutoff: float = np.inf, effort: Effort = DEFAULT,
    stop: Stop = NEVER, fastest: Outcome | None = None,
) -> Outcome:  # fmt: skip
    """The cheapest plan found, never worse than data parallelism, tensor parallelism or replication.

    Args:
      quotient: the decisions.
      limit: bytes per device that a plan may need.
      plans: plans to start from besides, a name and a choice per node each.
      cutoff: seconds that a plan must beat to be of use: one that is proved to take longer is not looked for to the
        end.
      effort: if quick, of the pure plans only replication is tried, and plans are not mixed to fit `limit`.
      stop: asked now and then whether the best so far is to be returned.
      fastest: the plan that ignores memory, if it is known: then it is only made to fit `limit`.

    Raises:
      DoesNotFit: no plan that was found fits in `limit`.
    """
    phases: dict[str, float] = {}
    start = time.perf_counter()
    classes = quotient.classes
    phases["classes"] = time.perf_counter() - start
    progress(f"{len(quotient.graph.nodes)} decisions, {classes} after merging repeated structure")
    start = time.perf_counter()
    network = quotient.network()
    phases["costs"] = time.perf_counter() - start
    start = time.perf_counter()
    known = [(name, quotient.per_class(x)) for name, x in plans]
    if fastest is not None:
        known.append(("replication", replication(quotient)))
        solution = Solution(quotient.per_class(fastest.choice), fastest.seconds, fastest.bound, 0)
    else:
        solution = _solve(quotient, network, known, progress, cutoff, effort, stop)
    chosen, bound = solution.x, solution.bound
    phases["solve"] = time.perf_counter() - start
    possible = network.seconds(chosen) < np.inf
    if limit is not None and quotient.peak(chosen) > limit and bound <= cutoff and possible:
        start = time.perf_counter()
        pool = [chosen, *(x for _, x in known)]
        known.append(("fastest, ignoring memory", chosen))
        chosen = fit(quotient, limit, network, pool, quick=effort.quick, progress=progress)
        phases["memory"] = time.perf_counter() - start
    alternatives, named = [], ""
    for name, x in known:
        if x == chosen:
            named = named or name
            continue
        peak = quotient.peak(x)
        fits = limit is None or peak <= limit
        alternatives.append(Alternative(name, network.seconds(x), peak, fits, quotient.per_node(x)))
    return Outcome(
        quotient.per_node(chosen), network.seconds(chosen), bound, quotient.peak(chosen), alternatives, classes,
        solution.variables, phases, named,
    )


def _solve(
    quotient: Quotient, network: Network, known: list[tuple[str, list[int]]], progress: Callable[[str], None],
    cutoff: float, effort: Effort, stop: Stop,
) -> Solution:  # fmt: skip
    """A good plan by class and a bound, memory aside; pure plans join the `known` ones."""
    reduction = None
    groups = grouped(network, [quotient.tables[c] for c in range(quotient.classes)], quotient.model)
    pure: Beside[list[tuple[str, list[int]]]] | None = None
    if effort.quick:
        known.append(("replication", replication(quotient)))
    elif groups is None:
        reduction = around_arguments(quotient, network)
        long = reduction.core.flat.entries > _LONG
        pure = Beside(partial(pure_plans, quotient, network, reduction), long)
    else:
        pure = Beside(partial(pure_plans_of_groups, quotient, groups))

    def starts() -> Iterator[list[int]]:
        known.extend(pure.result() if pure is not None else ())
        yield from (x for _, x in known)

    if groups is None:
        return solve(
            network, starts(), reduction=reduction, effort=effort, progress=progress, cutoff=cutoff, stop=stop
        )
    return groups.solve(starts, effort=effort, progress=progress, cutoff=cutoff, stop=stop)
