"""Propagation: from a few annotated layouts to the layout of every value and the strategy of every op."""

from __future__ import annotations

from pcg.layout import ShardSpec
from pcg.propagate.choose import choose
from pcg.propagate.delay import delay
from pcg.propagate.engine import Engine
from pcg.propagate.problem import Node, Problem, Solution, Value
from pcg.rules.factor import Assignment

__all__ = ["Node", "Problem", "Solution", "Value", "propagate"]


def propagate(problem: Problem, merge_reductions: bool = True) -> Solution:
    """Solve `problem`.  With `merge_reductions` partial sums are added before they are reduced where that helps."""
    engine = Engine(problem)
    specs = engine.run()
    assignments: list[Assignment | None] = []
    for node in problem.nodes:
        if node.structural:
            assignments.append(None)
            continue
        sizes = [problem.values[v].size for v in (*node.operands, *node.results)]
        operands, results = [specs[v] for v in node.operands], [specs[v] for v in node.results]
        assignments.append(choose(node.rule, operands, results, sizes, problem.mesh))
    delayed = delay(problem, assignments) if merge_reductions else 0
    natives: list[ShardSpec] = list(specs)
    for node, a in zip(problem.nodes, assignments, strict=True):
        if a is not None:
            for i, v in enumerate(node.results):
                natives[v] = node.rule.result_spec(i, a)
    return Solution(specs, assignments, natives, engine.origins, delayed)
