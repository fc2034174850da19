"""Propagation: from a few annotated layouts to the layout of every value and the strategy of every op."""

from __future__ import annotations

from pcg.layout import ShardSpec
from pcg.propagate.breadth import BreadthFirst
from pcg.propagate.choose import choose_strategy
from pcg.propagate.delay import delay_reductions
from pcg.propagate.engine import Engine
from pcg.propagate.priority import PriorityEngine
from pcg.propagate.problem import LayoutVariable, OpNode, PropagationProblem, PropagationResult
from pcg.reshard.planner import DEFAULT_LINK, LinkCost
from pcg.rules.factor import Assignment

__all__ = ["ENGINES", "OpNode", "PropagationProblem", "PropagationResult", "LayoutVariable", "propagate"]

#: Algorithms: a dataflow fixpoint, breadth first from the annotations, and a fixpoint in order of priority.  A fourth,
#: the assignment of least cost, needs strategies and costs: `pcg.search.assign`.
ENGINES = ("dataflow", "bfs", "priority")


def propagate(
    problem: PropagationProblem, merge_reductions: bool = True, engine: str = "dataflow", link: LinkCost = DEFAULT_LINK
) -> PropagationResult:
    """Solve `problem` with one of `ENGINES`; `link` is the cost of collectives, which only `bfs` needs.

    With `merge_reductions` partial sums are added before they are reduced where that saves bytes.

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
    delayed = delay_reductions(problem, assignments) if merge_reductions else 0
    natives: list[ShardSpec] = list(specs)
    for node, a in zip(problem.nodes, assignments, strict=True):
        if a is not None:
            for i, v in enumerate(node.results):
                natives[v] = node.rule.result_spec(i, a)
    return PropagationResult(specs, assignments, natives, origins, delayed)


def _choose(problem: PropagationProblem, specs: list[ShardSpec]) -> list[Assignment | None]:
    """A strategy for each node from the layouts around it; None for structural ones."""
    assignments: list[Assignment | None] = []
    for node in problem.nodes:
        if node.structural:
            assignments.append(None)
            continue
        sizes = [problem.values[v].size for v in (*node.operands, *node.results)]
        operands, results = [specs[v] for v in node.operands], [specs[v] for v in node.results]
        assignments.append(choose_strategy(node.rule, operands, results, sizes, problem.mesh))
    return assignments
