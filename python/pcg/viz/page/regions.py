"""Where two programs differ: regions, each a part of the one that is replaced by a part of the other."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from pcg.viz.page.graph import OP, Edge, Graph, Node
from pcg.viz.page.layered import import_igraph


@dataclass(frozen=True)
class Part:
    """Nodes of a graph that are drawn, by number in program order; `changed` are those that the other has not."""

    graph: Graph
    nodes: tuple[int, ...]
    changed: frozenset[int]

    @property
    def edges(self) -> list[Edge]:
        """The values between them."""
        drawn = set(self.nodes)
        return [e for e in self.graph.edges if e.source in drawn and e.target in drawn]

    def signature(self) -> object:
        """Equal for parts that look the same, wherever they are and whatever their arguments are called."""
        at = {n: i for i, n in enumerate(self.nodes)}
        nodes = [_looks(self.graph.nodes[n], n in self.changed) for n in self.nodes]
        edges = [
            (at[e.source], at[e.target], e.redistribution and (e.redistribution.steps, e.redistribution.layout))
            for e in self.edges
        ]
        return tuple(nodes), tuple(edges)


@dataclass(frozen=True)
class Region:
    """The same part of two programs, one or more times: ops that differ, and those next to them."""

    before: Part
    after: Part
    times: int = 1
    where: tuple[str, ...] = ()
    """The user's lines of ops that differ, of all times."""


def regions(before: Graph, after: Graph) -> list[Region]:
    """The regions in which two programs differ, in program order; those that look the same are one.

    Raises:
      NoIgraph: igraph is not installed.
    """
    pairs = _matched(before, after)
    other = dict(pairs)
    back = {b: a for a, b in pairs}
    old = [n for n in range(len(before.nodes)) if n not in other]
    new = [n for n in range(len(after.nodes)) if n not in back]
    number = {**{(0, n): i for i, n in enumerate(old)}, **{(1, n): len(old) + i for i, n in enumerate(new)}}
    joined: list[tuple[int, int]] = []
    for side, graph in enumerate((before, after)):
        for e in graph.edges:
            if (side, e.source) in number and (side, e.target) in number:
                joined.append((number[side, e.source], number[side, e.target]))
    for a, b in pairs:
        # What reads two ops at the same place is what one was replaced by the other for.
        for x, y in zip(before.operands[a], after.operands[b], strict=False):
            if (0, x.source) in number and (1, y.source) in number:
                joined.append((number[0, x.source], number[1, y.source]))
    found: dict[object, Region] = {}
    for members in import_igraph().Graph(len(number), joined).connected_components():
        mine = frozenset(old[i] for i in members if i < len(old))
        theirs = frozenset(new[i - len(old)] for i in members if i >= len(old))
        near, far = _around(before, mine) - mine, _around(after, theirs) - theirs
        # Both sides show the same surroundings.
        near, far = near | {back[n] for n in far if n in back}, far | {other[n] for n in near if n in other}
        one = Part(before, tuple(sorted(mine | near)), mine), Part(after, tuple(sorted(theirs | far)), theirs)
        lines = [*(before.nodes[n].where for n in sorted(mine)), *(after.nodes[n].where for n in sorted(theirs))]
        key = one[0].signature(), one[1].signature()
        same = found.get(key)
        where = tuple(dict.fromkeys([*(same.where if same is not None else ()), *filter(None, lines)]))
        first = (same.before, same.after) if same is not None else one
        found[key] = Region(*first, 1 if same is None else same.times + 1, where)
    return list(found.values())


def _matched(before: Graph, after: Graph) -> list[tuple[int, int]]:
    """Nodes that both have, by their numbers: of those that look the same, the ones that read the same."""
    found: dict[int, int] = {}
    taken: set[int] = set()
    for a, b in _aligned(before, after):
        sources = [[e.source for e in graph.operands[n]] for graph, n in ((before, a), (after, b))]
        # What replaces an operand counts as the same.
        same = (found.get(x, -1) == y if x in found or y in taken else True for x, y in zip(*sources, strict=False))
        if len(sources[0]) == len(sources[1]) and all(same):
            found[a] = b
            taken.add(b)
    return list(found.items())


def _aligned(before: Graph, after: Graph) -> list[tuple[int, int]]:
    """Nodes that look the same in the same order, by their numbers."""
    mine, theirs = ([n.key for n in graph.nodes] for graph in (before, after))
    first = 0
    while first < min(len(mine), len(theirs)) and mine[first] == theirs[first]:
        first += 1
    last = 0
    while last < min(len(mine), len(theirs)) - first and mine[-1 - last] == theirs[-1 - last]:
        last += 1
    ends = [(i, i) for i in range(first)] + [(len(mine) - i, len(theirs) - i) for i in range(last, 0, -1)]
    middle = mine[first : len(mine) - last], theirs[first : len(theirs) - last]
    blocks = difflib.SequenceMatcher(None, *middle, autojunk=False).get_matching_blocks()
    return [*ends, *((first + b.a + i, first + b.b + i) for b in blocks for i in range(b.size))]


def _around(graph: Graph, nodes: Iterable[int]) -> set[int]:
    """What these read and what reads them."""
    chosen = set(nodes)
    found = {e.source for e in graph.edges if e.target in chosen}
    return found | {e.target for e in graph.edges if e.source in chosen}


def _looks(node: Node, changed: bool) -> tuple[object, ...]:
    return node.kind, node.name if node.kind == OP else "", node.type, node.layout, changed
