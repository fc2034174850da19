"""Breadth-first propagation, as MindSpore describes it.

From the annotated values layouts spread op by op, nearest first.  An op that is reached takes, once
and for all, the strategy for which the least has to be redistributed between it and the neighbours
that are decided already; what is annotated stops the spreading.  As in MindSpore an op that computes
takes only strategies that use as many devices as it can, and its results are never partial: partial sums
are reduced at once, at a cost that only decides between strategies that are otherwise equal.

Between strategies that are equal in that, the one with the fewest redistributed neighbours wins, then
the one that reduces least, then the one with the fewest slices in any one dimension (square shards
have the least to gather, whatever follows), then the smallest shards, then the first.
"""

from __future__ import annotations

import math
from collections import deque

from pcg.layout import ShardSpec
from pcg.propagate.choose import choose_strategy
from pcg.propagate.problem import OpNode, PropagationProblem
from pcg.reshard import ReshardError, cost
from pcg.reshard.planner import LinkCost
from pcg.rules.factor import Assignment, FactorRule


class BreadthFirst:
    """State of one propagation: `specs` of values, `assignments` of nodes, `origins` of layouts."""

    def __init__(self, problem: PropagationProblem, link: LinkCost) -> None:
        self.problem, self.link = problem, link
        self.specs: list[ShardSpec | None] = [v.fixed for v in problem.values]
        self.assignments: list[Assignment | None] = [None] * len(problem.nodes)
        self.origin: list[int | None] = [v if x.fixed else None for v, x in enumerate(problem.values)]
        self.users = problem.nodes_of_values()
        self._candidates: dict[int, list[Assignment]] = {}
        self._decided: dict[tuple, Assignment] = {}

    def run(self) -> tuple[list[ShardSpec], list[Assignment | None], list[dict[str, int]]]:
        """Layouts of all values, strategies of all nodes (None for structural ones), and origins by axis."""
        problem = self.problem
        queue = deque(v for v, spec in enumerate(self.specs) if spec is not None)
        while queue:
            v = queue.popleft()
            for n in self.users[v]:
                queue.extend(self.tie(problem.nodes[n], v) if problem.nodes[n].structural else self.decide(n, v))
        specs = [s or ShardSpec.replicated(len(x.shape)) for s, x in zip(self.specs, problem.values, strict=True)]
        for n, node in enumerate(problem.nodes):
            if self.assignments[n] is None and not node.structural:
                self.assignments[n] = Assignment(((),) * len(node.rule.factors))
        origins = [
            {} if o is None else {a: o for axes in s.dims for a in axes}
            for s, o in zip(specs, self.origin, strict=True)
        ]
        return specs, self.assignments, origins

    def tie(self, node: OpNode, v: int) -> list[int]:
        """Hand the layout of `v` to the other end of a tie, if that is open; returns what was decided."""
        (a,), (b,) = node.operands, node.results
        other = b if v == a else a
        return self.settle(other, self.specs[v], v)

    def settle(self, v: int, spec: ShardSpec | None, source: int, final: bool = False) -> list[int]:
        """Decide value `v`, unless it is annotated or decided; `final` (from its defining op) decides again."""
        if self.problem.values[v].fixed is not None:
            return []
        new = self.specs[v] is None
        if new or final:
            self.specs[v], self.origin[v] = spec, self.origin[source]
        return [v] if new else []

    def decide(self, n: int, source: int) -> list[int]:
        """Give node `n`, reached from value `source`, its strategy; returns the values decided by that."""
        if self.assignments[n] is not None:
            return []
        node = self.problem.nodes[n]
        values = (*node.operands, *node.results)
        # Layers repeat: equal ops between equal neighbours get the same strategy.
        key = (id(node.rule), *((self.specs[v], self.problem.values[v].size) for v in values))
        best = self._decided.get(key)
        if best is None:
            best = min(enumerate(self.candidates(node)), key=lambda ka: (*self.cost_of(node, ka[1]), ka[0]))[1]
            self._decided[key] = best
        self.assignments[n] = best
        changed: list[int] = []
        for i, v in enumerate(node.results):
            changed += self.settle(v, node.rule.result_spec(i, best).without_partial(), source, final=True)
        for i, v in enumerate(node.operands):
            changed += self.settle(v, node.rule.operand_spec(i, best), source)
        return changed

    def candidates(self, node: OpNode) -> list[Assignment]:
        """Strategies of a node, those on most devices if it computes, and the one that its tensors suggest."""
        rule, mesh = node.rule, self.problem.mesh
        found = self._candidates.get(id(rule))
        if found is None:
            found = [a for a in rule.strategies(mesh) if not a.linear]
            if not is_data_movement(rule):
                most = max(self.parts(a) for a in found)
                found = [a for a in found if self.parts(a) == most]
            self._candidates[id(rule)] = found
        values = (*node.operands, *node.results)
        specs = [self.specs[v] or ShardSpec.replicated(len(self.problem.values[v].shape)) for v in values]
        k = len(node.operands)
        follows = choose_strategy(rule, specs[:k], specs[k:], [self.problem.values[v].size for v in values], mesh)
        if follows not in found and self.parts(follows) == max(map(self.parts, found)):
            return [*found, follows]
        return found

    def parts(self, a: Assignment) -> int:
        """How many devices share the work."""
        return self.problem.mesh.axes_size(x for axes in a.axes for x in axes)

    def cost_of(self, node: OpNode, a: Assignment) -> tuple[float, int, float, int, float]:
        """The criteria by which a strategy is chosen, as the top of this file lists them."""
        rule, mesh = node.rule, self.problem.mesh
        resharding, changes, reduced, most, local = 0.0, 0, 0.0, 1, 0.0
        operands = [(v, rule.operand_spec(i, a), True) for i, v in enumerate(node.operands)]
        results = [(v, rule.result_spec(i, a), False) for i, v in enumerate(node.results)]
        for v, spec, into in (*operands, *results):
            full, have = spec.without_partial(), self.specs[v]
            if have is not None and have != full:
                resharding += self.seconds(v, have, full) if into else self.seconds(v, full, have)
                changes += 1
            if spec.partial and not into:
                reduced += self.seconds(v, spec, full)
            shards = full.shards(mesh)
            most = max(most, *shards, 1)
            local += self.problem.values[v].size / math.prod(shards)
        return resharding, changes, reduced, most, local

    def seconds(self, v: int, src: ShardSpec, dst: ShardSpec) -> float:
        """Time to redistribute value `v`; a local slice is free."""
        value = self.problem.values[v]
        itemsize = value.size / max(math.prod(value.shape), 1)
        try:
            seconds, wire = cost(src, dst, value.shape, itemsize, self.problem.mesh, self.link)
        except ReshardError:
            return math.inf
        return seconds if wire else 0.0


def is_data_movement(rule: FactorRule) -> bool:
    """Whether an op only moves elements: one operand, and dimensions that are not those of the result.

    Such ops (broadcasts of a bias, transposes, reshapes) are part of others in MindSpore, so they follow
    their neighbours and need not use all devices.
    """
    return len(rule.operands) == 1 and not any(f.reduce for f in rule.factors) and rule.operands != rule.results
