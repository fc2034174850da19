"""Propagation in order of priority, as Shardy documents it.

Four levels, one inside the other:
- *User priorities.*  Round p lets the annotated dimensions of priority p or less be seen; those of
  later rounds are hidden from the neighbours but keep their axes, so nothing overrides them.
- *Priorities of ops.*  In each round ops that pass their operands through come first, then those that move
  data about (broadcasts, slices, gathers), then those that contract.
- *Conflicts between factors* that claim one axis of a tensor: the factor whose layout comes from the
  larger tensor wins (it is the smaller one that had better be redistributed), then the first tensor,
  then the first factor.
- *Basic.*  Along one factor only the axes on which all tensors agree spread, major to minor.

Dimensions that an annotation closes are never split further, open ones may be.
"""

from __future__ import annotations

from pcg.layout import ShardSpec
from pcg.propagate.engine import Axes, Engine, passes_through
from pcg.propagate.problem import OpNode, PropagationProblem


class PriorityEngine(Engine):
    """State of one propagation; `round` is the user priority that it has come to."""

    def __init__(self, problem: PropagationProblem) -> None:
        super().__init__(problem)
        self.rounds = sorted({0, *(p for v in problem.values for p in v.priorities)})
        self.round = 0
        cache: dict[int, int] = {}
        for node in problem.nodes:
            if id(node.rule) not in cache:
                cache[id(node.rule)] = op_priority(node)
        self.order = [0 if node.structural else cache[id(node.rule)] for node in problem.nodes]

    def run(self) -> list[ShardSpec]:
        """Layouts at the fixpoint of the last round."""
        for now in self.rounds:
            self.round, self.hides = now, now < self.rounds[-1]
            for stage in sorted(set(self.order)):
                self.sweep(lambda n, stage=stage: self.order[n] <= stage, lambda n: True)  # type: ignore[misc]
        return [ShardSpec(d) for d in self.dims]

    def visible(self, v: int) -> tuple[Axes, ...]:
        """The layout of value `v` without the dimensions of later rounds."""
        dims, priorities = self.dims[v], self.problem.values[v].priorities
        if not priorities:
            return dims
        return tuple(axes if p <= self.round else () for axes, p in zip(dims, priorities, strict=True))

    def _best(
        self, f: int, who: list[int], have: list[dict[int, Axes]], values: tuple[int, ...]
    ) -> tuple[tuple[int, float, int], Axes, int]:
        """The axes of factor `f` on which its tensors agree, and the largest tensor that has them all."""
        agreed: list[str] = []
        while True:
            at = len(agreed)
            heads = {have[t][f][at] for t in who if len(have[t][f]) > at}
            if len(heads) != 1:
                break
            agreed += heads
        source = min(
            (t for t in who if have[t][f][: len(agreed)] == tuple(agreed)),
            key=lambda t: (-self.problem.values[values[t]].size, t),
        )
        return (0, -self.problem.values[values[source]].size, source), tuple(agreed), source


def op_priority(node: OpNode) -> int:
    """Priority, lowest first: 0 if an op passes its operands through, 1 if it moves data, 2 if it contracts."""
    rule = node.rule
    if any(f.reduce for f in rule.factors):
        return 2
    read = {f for t in rule.operands for d in t for f in d}
    written = {f for t in rule.results for d in t for f in d}
    return 0 if passes_through(rule) and written <= read else 1
