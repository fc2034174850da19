"""Series-parallel structure: bottlenecks and branches of a segment, and the part of a graph that has them.

Nodes are numbers in topological order, and an edge goes from the smaller to the larger. A *segment* is what lies
between two nodes, its source and its sink, which are below and above all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

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

    for i in inner:
        for j in succ.get(i, ()):
            if j in root:
                a, b = find(i), find(j)
                root[max(a, b)] = min(a, b)
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
    succ: dict[int, set[int]] = {i: set() for i in range(-1, count)}
    pred: dict[int, set[int]] = {i: set() for i in range(count + 1)}
    for i, j in edges:
        succ[i].add(j)
        pred[j].add(i)
    left: list[tuple[int, int]] = []
    ends: set[tuple[int, int]] = set()

    def tie_up(source: int, sink: int, inner: Sequence[int]) -> None:
        """Every node must lie on a path from source to sink."""
        inside = {source, sink, *inner}
        for i in inner:
            if not pred[i] & inside:
                succ[source].add(i)
                pred[i].add(source)
            if not succ[i] & inside:
                succ[i].add(sink)
                pred[sink].add(i)

    stack: list[tuple[int, int, tuple[int, ...]]] = [(-1, count, tuple(range(count)))]
    while stack:
        source, sink, inner = stack.pop()
        ends.add((source, sink))
        if not inner:
            continue
        tie_up(source, sink, inner)
        splits = bottlenecks(source, sink, inner, succ)
        if splits:
            stack += _pieces(source, sink, inner, splits)
            continue
        parts = branches(inner, succ)
        if len(parts) > 1:
            stack += [(source, sink, part) for part in parts]
            continue
        # An edge at an end of the segment must not be its node's last: it would be put back.
        inside = set(inner)
        here = [(i, j) for i in inner for j in succ[i] if j in inside]
        here += [(source, j) for j in succ[source] & inside if len(pred[j] & inside)]
        here += [(i, sink) for i in pred[sink] & inside if len(succ[i] & inside)]
        i, j = min((e for e in here if e in edges), key=lambda e: (edges[e], e))
        succ[i].discard(j)
        pred[j].discard(i)
        left.append((i, j))
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


def _pieces(
    source: int, sink: int, inner: Sequence[int], splits: Sequence[int]
) -> list[tuple[int, int, tuple[int, ...]]]:
    ends = [source, *splits, sink]
    return [(a, b, tuple(i for i in inner if a < i < b)) for a, b in zip(ends, ends[1:], strict=False)]


def nearest(splits: Sequence[int], inner: Sequence[int], size: int, usable: Callable[[int], bool]) -> int | None:
    """The usable split with the number of nodes before it nearest to `size`; the first of equals. None if none is."""
    before = {n: k for k, n in enumerate(inner)}
    good = [c for c in splits if usable(c)]
    return min(good, key=lambda c: (abs(before[c] - size), c)) if good else None
