"""Propagation: from a few annotated layouts to the layout of every value and the strategy of every op."""

from __future__ import annotations

from pcg.layout import ShardSpec
from pcg.propagate.breadth import BreadthFirst
from pcg.propagate.choose import choose
from pcg.propagate.delay import delay
from pcg.propagate.engine import Engine
from pcg.propagate.priority import PriorityEngine
from pcg.propagate.problem import Node, Problem, Solution, Value
from pcg.reshard.planner import DEFAULT_LINK, LinkCost
from pcg.rules.factor import Assignment

__all__ = ["ENGINES", "Node", "Problem", "Solution", "Value", "propagate"]

#: Ways to propagate: a fixpoint of what layouts imply, op by op from the annotations outwards, and in order
#: of priority.  The fourth, the assignment that costs least, needs strategies and costs: `pcg.search.assign`.
ENGINES = ("dataflow", "bfs", "priority")


def propagate(
    problem: Problem, merge_reductions: bool = True, engine: str = "dataflow", link: LinkCost = DEFAULT_LINK
) -> Solution:
    """Solve `problem` with one of `ENGINES`; `link` prices redistribution, which only `bfs` asks for.

    With `merge_reductions` partial sums are added before they are reduced where that helps.

    Raises:
      ValueError: no such engine.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine {engine!r}; expected one of {', '.join(ENGINES)}")
    if engine == "bfs":
        specs, assignments, origins = BreadthFirst(problem, link).run()
    else:
        fixpoint = Engine(problem) if engine == "dataflow" else PriorityEngine(problem)
        specs, origins = fixpoint.run(), fixpoint.origins
        assignments = _choose(problem, specs)
    delayed = delay(problem, assignments) if merge_reductions else 0
    natives: list[ShardSpec] = list(specs)
    for node, a in zip(problem.nodes, assignments, strict=True):
        if a is not None:
            for i, v in enumerate(node.results):
                natives[v] = node.rule.result_spec(i, a)
    return Solution(specs, assignments, natives, origins, delayed)


def _choose(problem: Problem, specs: list[ShardSpec]) -> list[Assignment | None]:
    """A strategy for each node from the layouts around it; None for structural ones."""
    assignments: list[Assignment | None] = []
    for node in problem.nodes:
        if node.structural:
            assignments.append(None)
            continue
        sizes = [problem.values[v].size for v in (*node.operands, *node.results)]
        operands, results = [specs[v] for v in node.operands], [specs[v] for v in node.results]
        assignments.append(choose(node.rule, operands, results, sizes, problem.mesh))
    return assignments
