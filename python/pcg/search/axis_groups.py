"""Choices that differ by the names of interchangeable axes alone, as groups for the coarse network of a search."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pcg.cost import CostModel, Timing
from pcg.rules.distinct import distinct
from pcg.search.assignments import Assignments
from pcg.search.table import Table
from pcg.solve.coarse_to_fine import Grouped
from pcg.solve.network import Network

#: Choices of a network from which groups of them are chosen first, and how many of these there may be, as a share.
#: Chosen: below, the exact search ends with the ILP, in about a second.  Two axes of two leave 0.6, three 0.28.
_MANY, _SHARE = 40_000, 0.7
#: Collectives, and bytes sent in them, by which axes are compared.
_KINDS, _BYTES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute"), (0.0, 1e6, 1e9)


def interchangeable(model: CostModel) -> tuple[int, ...]:
    """Per axis of the mesh the number of its class: axes of a class have one size, and links that take as long."""
    link = model.link_at(Timing.CRITICAL)
    seen: dict[tuple[float, ...], int] = {}
    return tuple(
        seen.setdefault((size, *(link([axis], n, kind) for kind in _KINDS for n in _BYTES)), len(seen))
        for axis, size in model.mesh.axes
    )


def groups(table: Table, names: Sequence[str], classes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Per choice the number of its group, and whether axes of one class do the same in it.

    A group is what becomes the same when axes of one class exchange their names.
    """
    found = table.groups.get(classes)
    if found is None:
        does = table.assignments.choices if isinstance(table.assignments, Assignments) else _numbered(table, names)
        like, uniform = does - does.min(initial=0), np.ones(len(does), dtype=bool)
        for c in set(classes):
            columns = [x for x, own in enumerate(classes) if own == c]
            like[:, columns] = np.sort(like[:, columns], axis=1)
            uniform &= like[:, columns[0]] == like[:, columns[-1]]
        found = table.groups[classes] = distinct(like, 1 + int(like.max(initial=0)))[1], uniform
    return found


def grouped(network: Network, tables: Sequence[Table], model: CostModel) -> Grouped | None:
    """The network with its choices in groups, `tables[i]` being those of node i; None where that is not worth it."""
    classes = interchangeable(model)
    if len(set(classes)) == len(classes) or sum(map(len, network.unary)) < _MANY:
        return None
    numbers, uniform = zip(*(groups(t, model.mesh.names, classes) for t in tables), strict=True)
    found = Grouped(network, numbers, uniform)
    sizes = {key: int(g.max()) + 1 for key, g in {id(g): g for g in numbers}.items()}
    count = sum(sizes[id(g)] for g in numbers)
    return found if count <= _SHARE * sum(map(len, network.unary)) else None


#: An axis, and what it does: a factor that it splits or passes through, or a dimension or a reduction.
_Use = tuple[str, object]


def _uses(table: Table) -> list[list[_Use]]:
    """Per choice what each axis does."""
    if table.assignments is not None:
        return [
            [(x, f) for f, axes in enumerate(a.axes) for x in axes] + [(x, ("partial", i)) for x, i in a.linear]
            for a in table.assignments
        ]
    (port,) = table.outs
    specs = [port[k] for k in range(len(table))]
    return [
        [(x, d) for d, axes in enumerate(s.dims) for x in axes] + [(x, ("partial", kind)) for x, kind in s.partial]
        for s in specs
    ]


def _numbered(table: Table, names: Sequence[str]) -> np.ndarray:
    """Per choice and axis the number of what it does."""
    numbers: dict[tuple[object, ...], int] = {}
    rows = []
    for use in _uses(table):
        by_axis: dict[str, tuple[object, ...]] = dict.fromkeys(names, ())
        for axis, what in use:
            by_axis[axis] += (what,)
        rows.append([numbers.setdefault(whats, len(numbers)) for whats in by_axis.values()])
    return np.array(rows, np.int64)
