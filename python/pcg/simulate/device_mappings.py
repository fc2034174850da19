"""A lowered program in several device mappings of its mesh."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from pcg.cost import COMBINED, CostModel
from pcg.simulate.combine_all_reduces import combine_all_reduces
from pcg.simulate.kernels import OpWorks
from pcg.simulate.result import Simulation, of_run
from pcg.simulate.run import read
from pcg.simulate.schedule import ScheduleOptions, run
from pcg.simulate.task_graph import Task, TaskGraph

#: Relative error of a sum taken in another order.  A choice: some million roundings of a double (2.2e-16 each).
_ROUNDING = 1e-9


def simulate_mappings(
    module_or_func: Any, models: Sequence[CostModel], *, donated: Collection[int] = (), works: OpWorks | None = None
) -> dict[int, Simulation]:
    """Steps in several device mappings, by number: the first, and all that may be faster than those before.

    As `simulate` for every mapping, but the program is read once per kind of device: otherwise only collectives differ.
    A mapping in which the work of one stream alone takes as long as the best step so far is not simulated.

    Args:
      models: of meshes with the same axes, one per mapping.
    """
    known: list[tuple[CostModel, TaskGraph, str]] = []
    steps: dict[int, Simulation] = {}
    least = math.inf
    for n, model in enumerate(models):
        found = next((k for k in known if k[0].machine.device == model.machine.device), None)
        if found is None:
            graph, name = read(module_or_func, model, donated, works=works)
            known.append((model, graph, name))
        else:
            _, graph, name = found
        # `combine_all_reduces` changes the graph, so that each mapping has a copy.
        mapped = with_collective_costs(graph, model)
        combine_all_reduces(mapped, COMBINED, model)
        if lower_bound(mapped) < least * (1 + _ROUNDING):
            steps[n] = of_run(run(mapped, ScheduleOptions(copy=model.copy)), name)
            least = min(least, steps[n].seconds)
    return steps


def with_collective_costs(graph: TaskGraph, model: CostModel) -> TaskGraph:
    """A copy of a graph in which collectives take what `model` says; tasks that take no other time are the same."""

    def at(task: Task) -> Task:
        if task.kind == "collective":
            return replace(task, seconds=model.link(task.detail["axes"], task.bytes, task.name))  # type: ignore[arg-type]
        if task.bodies:
            return replace(task, bodies=tuple(with_collective_costs(b, model) for b in task.bodies))
        return task

    return replace(graph, tasks=list(map(at, graph.tasks)))


def lower_bound(graph: TaskGraph) -> float:
    """Seconds that no order of the tasks can undercut: the work of the stream that has more of it."""
    return max(_work(graph))


def _work(graph: TaskGraph) -> tuple[float, float]:
    """Seconds of compute and of communication; a loop that communicates holds both streams while it runs."""
    compute = communication = 0.0
    for task in graph.tasks:
        if task.communicates:
            communication += task.seconds
        elif task.bodies:
            inside = [_work(b) for b in task.bodies]
            longest = task.iterations * max(max(w) for w in inside)
            compute += task.seconds + longest
            communication += longest if any(m for _, m in inside) else 0.0
        else:
            compute += task.seconds
    return compute, communication
