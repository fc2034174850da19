"""When the collectives of a step run: what waits for them, and what they can run beside."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pcg.cost import Timing
from pcg.rules import traits
from pcg.rules.traits import Trait
from pcg.search.graph import Edge

#: Share of the time of all contractions that must lie behind a value for its collective to run beside them.  A choice.
_BESIDE = 0.02
#: The share that other branches must have for a collective that something waits for to run beside them.  A choice.
_BRANCHES = 0.03
#: Pairs of nodes whose contractions are added up at a time.  Chosen: a few MiB.
_AT_ONCE = 2048


class _Named(Protocol):
    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...


@dataclass(frozen=True)
class EdgeTimings:
    """The timing of all edges, but for how long contractions take.

    Critical is what goes, sooner or later, into a contraction; it is a branch's if there are contractions that neither
    lead to it nor wait for it: those of another part of the model, or those of gradients of weights.  Behind the last
    contraction of a training step come the gradients, which are computed from nothing but what the backward pass
    leaves, and the update of state, which reads the state, too.  What is sent for a gradient is deferred, if enough of
    the backward pass is left when the gradient is there; what is sent later is final.  In a loop it is looped, critical
    or a branch's.
    """

    contractions: np.ndarray
    """Their nodes."""
    _ends: np.ndarray
    """Per edge the pair of nodes it is of, among those whose edges go into contractions; -1: it goes into none."""
    _beside: np.ndarray
    """Per pair, as bits, which contractions neither lead to what is sent between them nor wait for it."""
    _at: np.ndarray
    """Per edge the first node that it may run beside."""
    _open: tuple[tuple[Timing, Timing], ...]
    """Per edge into no contraction its timing if enough contractions are behind it, and if not."""

    @classmethod
    def of(
        cls, nodes: Sequence[_Named], edges: Sequence[Edge], arguments: Collection[int], loop_ends: Mapping[int, int]
    ) -> EdgeTimings:
        """Those of a graph.

        Args:
          nodes: in program order.
          arguments: nodes of arguments.  An edge into one brings its next value.
          loop_ends: of nodes of values that a loop carries the first node behind the loop.
        """
        arguments = set(arguments)
        early = _early(nodes, edges, arguments)
        updates = _updates(nodes, edges, arguments, early)
        contractions = np.array([n for n in sorted(early) if traits.has(nodes[n].name, Trait.CONTRACTION)], np.int64)
        pairs: dict[tuple[int, int], int] = {}
        ends, at = [], []
        open_: list[tuple[Timing, Timing]] = []
        for e in edges:
            # A value that a loop returns is there when the loop has ended; in the loop the next iteration follows.
            at.append(min(loop_ends.get(e.src, e.src if e.times > 1 else e.src + 1), e.dst))
            into = e.dst in early and e.dst not in arguments
            ends.append(pairs.setdefault((e.src, e.dst), len(pairs)) if into else -1)
            if e.times > 1:
                open_.append((Timing.LOOPED, Timing.CRITICAL))
            else:
                last = e.src in updates or e.dst in arguments
                open_.append((Timing.FINAL if last else Timing.DEFERRED, Timing.FINAL))
        before, after = _orders(len(nodes), edges, contractions)
        src, dst = np.array(list(pairs), np.int64).reshape(-1, 2).T
        beside = ~(before[src] | after[dst])
        return cls(contractions, np.array(ends, np.int64), beside, np.array(at, np.int64), tuple(open_))

    def __call__(self, seconds: np.ndarray, nodes: int) -> list[Timing]:
        """The timing of every edge of a graph with so many nodes; `seconds` are those of the contractions."""
        total = seconds.sum()
        shares = seconds / total if total else seconds
        every = np.zeros(nodes)
        every[self.contractions] = shares
        # Per node, and behind all of them, the share that is spent on it and on those behind it.
        behind = np.append(every[::-1].cumsum()[::-1], 0.0)[self._at] >= _BESIDE
        found = [some if enough else few for (some, few), enough in zip(self._open, behind.tolist(), strict=True)]
        branches = self._shares_beside(shares) >= _BRANCHES
        for i in np.flatnonzero(self._ends >= 0).tolist():
            found[i] = Timing.BRANCH if branches[self._ends[i]] else Timing.CRITICAL
        return found

    def _shares_beside(self, shares: np.ndarray) -> np.ndarray:
        """Per pair of nodes the share of contractions that neither lead to what is sent between them nor wait."""
        rows = (self._beside[i : i + _AT_ONCE] for i in range(0, len(self._beside), _AT_ONCE))
        return np.concatenate([np.zeros(0), *(np.unpackbits(r, axis=1, count=len(shares)) @ shares for r in rows)])


def update_nodes(nodes: Sequence[_Named], edges: Sequence[Edge], arguments: Collection[int]) -> set[int]:
    """Nodes of the update of state: computed from state, `arguments` of the step, and into no contraction."""
    return _updates(nodes, edges, arguments, _early(nodes, edges, arguments))


def _reached(starts: Collection[int], edges: Iterable[tuple[int, int]], ends: Collection[int] = ()) -> set[int]:
    """Nodes to which edges lead from `starts`; none is followed from `ends`."""
    out: dict[int, list[int]] = {}
    for a, b in edges:
        out.setdefault(a, []).append(b)
    found: set[int] = set()
    stack = list(starts)
    while stack:
        for n in out.get(stack.pop(), ()):
            if n not in found:
                found.add(n)
                if n not in ends:
                    stack.append(n)
    return found


def _early(nodes: Sequence[_Named], edges: Sequence[Edge], arguments: Collection[int]) -> set[int]:
    """Contractions and what goes into them, through loops, too, but not from one step to the next."""
    contractions = {n for n, node in enumerate(nodes) if traits.has(node.name, Trait.CONTRACTION)}
    return contractions | _reached(contractions, ((e.dst, e.src) for e in edges), ends=arguments)


def _updates(
    nodes: Sequence[_Named], edges: Sequence[Edge], arguments: Collection[int], early: Collection[int]
) -> set[int]:
    """What is computed from state and goes into no contraction."""
    copies = {e.dst for e in edges if e.src in arguments and nodes[e.dst].kind == "layout"}
    return _reached({*arguments, *copies}, ((e.src, e.dst) for e in edges if e.dst not in early))


def _orders(nodes: int, edges: Iterable[Edge], contractions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which contractions come before and which behind each node, as bits; from one step to the next nothing leads."""
    before = np.zeros((nodes, -(-len(contractions) // 8)), np.uint8)
    before[contractions] = np.packbits(np.eye(len(contractions), dtype=bool), axis=1)
    after = before.copy()
    forward = [(e.src, e.dst) for e in edges if e.src < e.dst]
    for src, dst in sorted(forward, key=lambda ends: ends[1]):
        before[dst] |= before[src]
    for src, dst in sorted(forward, reverse=True):
        after[src] |= after[dst]
    return before, after
