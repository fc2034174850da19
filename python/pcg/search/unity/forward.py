"""The forward half of a step: which nodes are decisions of Unity's graph, and which of them are neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pcg.rules import traits
from pcg.rules.traits import Trait
from pcg.search.graph import Graph


@dataclass(frozen=True)
class Forward:
    """The forward half.

    `trunk` is what depends on data and what the loss depends on; `principals` are its anchors and the values that are
    kept in a layout of their own; `near` are pairs (i < j) of principals with only other nodes of the trunk between.
    """

    trunk: frozenset[int]
    principals: list[int]
    near: frozenset[tuple[int, int]]


def forward(graph: Graph, arguments: Iterable[int], data: Sequence[int]) -> Forward:
    """The forward half of `graph`; all of it where there is no result but state, or no argument that is data."""
    nodes = graph.nodes
    held = set(arguments)
    into: list[list[int]] = [[] for _ in nodes]
    out: list[list[int]] = [[] for _ in nodes]
    for e in graph.edges:
        # What is written to an argument is the next step's.
        if e.dst in held:
            continue
        into[e.dst].append(e.src)
        if len(e.shape):  # a scalar carries no layout
            out[e.src].append(e.dst)
    results = [n for n, x in enumerate(nodes) if x.kind == "result"]
    ancestors = _reach(results, into) if results else set(range(len(nodes)))
    descendants = _reach(data, out) if data else set(range(len(nodes)))
    trunk = {n for n in ancestors & descendants if len(nodes[n].table) > 1} or set(range(len(nodes)))
    principals = sorted(
        n for n in trunk
        if nodes[n].kind != "op" and nodes[n].kind != "sink" or traits.has(nodes[n].name, Trait.ANCHOR)
    ) or sorted(trunk)  # fmt: skip
    return Forward(frozenset(trunk), principals, frozenset(_near(trunk, set(principals), out)))


def _reach(starts: Iterable[int], step: list[list[int]]) -> set[int]:
    seen = set(starts)
    stack = list(seen)
    while stack:
        for j in step[stack.pop()]:
            if j not in seen:
                seen.add(j)
                stack.append(j)
    return seen


def _near(trunk: set[int], principals: set[int], out: list[list[int]]) -> set[tuple[int, int]]:
    """Pairs of principals joined by a path through the trunk with no principal inside; and those that meet there."""
    pairs: set[tuple[int, int]] = set()
    for p in sorted(principals):
        seen: set[int] = set()
        stack = [p]
        while stack:
            for j in out[stack.pop()]:
                if j not in trunk or j in seen:
                    continue
                seen.add(j)
                if j in principals:
                    if j != p:
                        pairs.add((min(p, j), max(p, j)))
                else:
                    stack.append(j)
    return pairs
