"""Series-parallel structure: bottlenecks and branches of a segment, and the part of a graph that has them.

Nodes are numbers in topological order, and an edge goes from the smaller to the larger. A *segment* is what lies
between two nodes, its source and its sink, which are below and above all of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np

Edges = Mapping[int, Iterable[int]]


def bottlenecks(source: int, sink: int, inner: Sequence[int], succ: Edges) -> list[int]:
    """Nodes of a segment that every path from `source` to `sink` goes through: the post-dominators of the source.

    `inner` is sorted, and every node of it lies on such a path; an edge from source to sink does not count. In
    topological order a node is one if and only if no edge passes over it.
    """
    inside = set(inner)
    found = []
    reach = -1  # the farthest end, within the segment, of the edges that start before
    for at in (source, *inner):
        if at != source and reach <= at:
            found.append(at)
        for j in succ.get(at, ()):
            if j in inside or (j == sink and at != source):
                reach = max(reach, j)
    return found


def branches(inner: Sequence[int], succ: Edges) -> list[tuple[int, ...]]:
    """Weakly connected components of `inner`, each sorted, in the order of their first nodes."""
    root = {i: i for i in inner}

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    apart = len(root)
    for i in inner:
        a = find(i)
        for j in succ.get(i, ()):
            if j in root and (b := find(j)) != a:
                a, b = min(a, b), max(a, b)
                root[b] = a
                apart -= 1
        if apart == 1:
            return [tuple(inner)]
    groups: dict[int, list[int]] = {}
    for i in inner:
        groups.setdefault(find(i), []).append(i)
    return [tuple(g) for _, g in sorted(groups.items())]


def backbone(
    count: int, edges: Mapping[tuple[int, int], float], extras: Iterable[tuple[int, int]]
) -> tuple[dict[int, list[int]], list[tuple[int, int]]]:
    """A series-parallel graph over `count` nodes and two more: -1, the source of all, and `count`, the sink.

    Args:
      edges: those of the graph, with how much each matters. Where the graph is not series-parallel, the least are
        left out.
      extras: further edges that are taken where they keep the structure: between the ends of a segment.

    Returns:
      Successors of every node, and the edges that are left out.
    """
    graph = _Thinned(count, edges)
    succ, left = graph.succ, graph.left
    ends: set[tuple[int, int]] = set()
    stack: list[tuple[int, int, tuple[int, ...]]] = [(-1, count, tuple(range(count)))]
    while stack:
        source, sink, inner = stack.pop()
        ends.add((source, sink))
        if not inner:
            continue
        graph.tie_up(source, sink, inner)
        splits = bottlenecks(source, sink, inner, succ)
        if splits:
            stack += _pieces(source, sink, inner, splits)
            continue
        parts = branches(inner, succ)
        if len(parts) > 1:
            stack += [(source, sink, part) for part in parts]
            continue
        graph.thin(source, sink, inner)
        stack.append((source, sink, inner))
    for i, j in sorted(extras):
        if j in succ[i]:
            continue
        if (i, j) in ends:
            succ[i].add(j)
        else:
            left.append((i, j))
    # One that was left out may have come back: to tie a node to the end of a smaller segment.
    left = [(i, j) for i, j in left if j not in succ[i]]
    return {i: sorted(js) for i, js in succ.items()}, left


class _Thinned:
    """A graph of which the edges that keep it from being series-parallel are left out."""

    def __init__(self, count: int, edges: Mapping[tuple[int, int], float]) -> None:
        self.edges = edges
        self.left: list[tuple[int, int]] = []
        self.succ: dict[int, set[int]] = {i: set() for i in range(-1, count)}
        self._pred: dict[int, set[int]] = {i: set() for i in range(count + 1)}
        for i, j in edges:
            self._add(i, j)

    def _add(self, i: int, j: int) -> None:
        self.succ[i].add(j)
        self._pred[j].add(i)

    def tie_up(self, source: int, sink: int, inner: Iterable[int]) -> None:
        """Every node must lie on a path from source to sink."""
        inside = {source, sink, *inner}
        for i in inner:
            if self._pred[i].isdisjoint(inside):
                self._add(source, i)
            if self.succ[i].isdisjoint(inside):
                self._add(i, sink)

    def thin(self, source: int, sink: int, inner: Sequence[int]) -> None:
        """Leave out the least edges of a segment until it has bottlenecks or branches."""
        succ, pred, inside = self.succ, self._pred, set(inner)
        place = {source: -1, **{i: p for p, i in enumerate(inner)}, sink: len(inner)}
        here = [(i, j) for i in (source, *inner) for j in succ[i] if j in place and (i != source or j != sink)]
        change = [0] * (len(inner) + 1)
        for i, j in here:
            change[place[i] + 1] += 1
            change[place[j]] -= 1
        over = np.cumsum(change)[:-1]  # how many edges pass over each node

        def pass_over(i: int, j: int, more: int) -> None:
            over[place[i] + 1 : place[j]] += more

        for i, j in sorted((e for e in here if e in self.edges), key=lambda e: (self.edges[e], e)):
            # An edge at an end of the segment must not be its node's last: it would be put back.
            if (i == source and pred[j].isdisjoint(inside)) or (j == sink and succ[i].isdisjoint(inside)):
                continue
            succ[i].discard(j)
            pred[j].discard(i)
            self.left.append((i, j))
            pass_over(i, j, -1)
            if j != sink and source not in pred[j] and pred[j].isdisjoint(inside):
                self._add(source, j)
                pass_over(source, j, 1)
            if i != source and sink not in succ[i] and succ[i].isdisjoint(inside):
                self._add(i, sink)
                pass_over(i, sink, 1)
            if not over.all() or (i != source and j != sink and not self._joined(i, j, inside)):
                return
        raise AssertionError("a segment of at least one node has an end")

    def _joined(self, a: int, b: int, inside: Collection[int]) -> bool:
        """Whether two nodes are in one component of `inside`."""
        seen, stack = {a}, [a]
        while stack:
            i = stack.pop()
            for j in (*self.succ[i], *self._pred[i]):
                if j == b:
                    return True
                if j in inside and j not in seen:
                    seen.add(j)
                    stack.append(j)
        return False


def _pieces(
    source: int, sink: int, inner: Sequence[int], splits: Sequence[int]
) -> list[tuple[int, int, tuple[int, ...]]]:
    ends = [source, *splits, sink]
    at = [-1, *(bisect_left(inner, c) for c in splits), len(inner)]
    return [(a, b, tuple(inner[p + 1 : q])) for a, b, p, q in zip(ends, ends[1:], at, at[1:], strict=False)]


def nearest(splits: Sequence[int], inner: Sequence[int], size: int, usable: Callable[[int], bool]) -> int | None:
    """The usable split with the number of nodes before it nearest to `size`; the first of equals. None if none is."""
    good = [c for c in splits if usable(c)]
    return min(good, key=lambda c: (abs(bisect_left(inner, c) - size), c)) if good else None
