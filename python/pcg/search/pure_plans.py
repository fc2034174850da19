"""Plans that are always considered: replication, pure data parallelism and pure tensor parallelism."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from pcg.search.quotient import Quotient
from pcg.solve.coarse_to_fine import Grouped
from pcg.solve.ilp import completed
from pcg.solve.network import Network
from pcg.solve.reduce import Reduction, reduce


def replication(quotient: Quotient) -> list[int]:
    """The plan, by class, in which every device does everything, as far as that can be."""
    return [_replicated(quotient, c) for c in range(quotient.classes)]


def around_arguments(quotient: Quotient, network: Network) -> Reduction:
    """The network without what can be eliminated but for arguments, which is what pure plans have in common."""
    return reduce(network, {quotient.class_of[n] for n in quotient.arguments})


def pure_plans(
    quotient: Quotient, network: Network, reduction: Reduction | None = None
) -> list[tuple[str, list[int]]]:  # fmt: skip
    """Name and choice per class of each, completed as well as possible; `reduction`: of `around_arguments`."""
    return _plans(quotient, partial(_complete, network, reduction or around_arguments(quotient, network)))


def pure_plans_of_groups(quotient: Quotient, grouped: Grouped) -> list[tuple[str, list[int]]]:
    """Name and choice per class of each, where choices are in groups.

    Such plans are made of choices in which interchangeable axes do the same, which are few.
    """
    return _plans(quotient, grouped.complete)


def _plans(quotient: Quotient, complete: Callable[[dict[int, int]], list[int]]) -> list[tuple[str, list[int]]]:
    replicated = replication(quotient)
    plans = [("replication", replicated)]
    data = {quotient.class_of[n] for n in quotient.data}
    arguments = {quotient.class_of[n] for n in quotient.arguments}
    if data:
        split = {c: _batch(quotient, c) if c in data else replicated[c] for c in arguments}
        plans.append(("data parallelism", complete(split)))
        plans.append(("tensor parallelism", complete({c: replicated[c] for c in data})))
    return plans


def _replicated(quotient: Quotient, c: int) -> int:
    return quotient.tables[c].wholest(quotient.model.mesh)


def _batch(quotient: Quotient, c: int) -> int:
    """The choice that splits the first dimension (the only one split) as far as possible."""
    port, mesh = quotient.tables[c].outs[0], quotient.model.mesh
    best, most = _replicated(quotient, c), 1
    for k in range(len(port.ids)):
        s = port[k].shards(mesh)
        if s and s[0] > most and all(n == 1 for n in s[1:]) and not port[k].partial:
            best, most = k, int(s[0])
    return best


def _complete(network: Network, reduction: Reduction, fixed: dict[int, int]) -> list[int]:
    """A good solution with some choices fixed: exact elimination, then greedy on the core."""
    known = {
        p: int(np.flatnonzero(reduction.choices[c] == fixed[c])[0]) for p, c in enumerate(reduction.kept) if c in fixed
    }
    x = reduction.expand(completed(reduction.core, known))
    return network.icm(x, fixed)
