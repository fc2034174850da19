"""How long devices that share the processors of a host wait for each other at collectives.  No MLIR here.

Eight devices on two cores do not reach a collective at the same time: while the first goes ahead the last has not
started.  What is lost depends on how long they have computed since they last synchronised, and on how many of them
synchronise: pairs find each other while others compute, all at once leave cores idle.  The profile of a host has the
measurements.
"""

from __future__ import annotations

from pcg.cost import CostModel
from pcg.simulate.task_graph import Task, TaskGraph

#: Collectives for which XLA's CPU backend synchronises all devices, however small their groups.
_ALL_DEVICES = frozenset({"permute"})
#: Size of a group -> seconds of work since the devices of such a group last synchronised.
_Since = dict[int, float]


def add_waits(graph: TaskGraph, model: CostModel) -> None:
    """Make every collective of `graph`, whose tasks run one after another, longer by what devices wait there."""
    if model.wait(model.mesh.size, 1.0) > 0.0:
        _add(graph, model, {})


def _add(graph: TaskGraph, model: CostModel, since: _Since, count: bool = True) -> _Since:
    """`since` after the graph; with `count` its collectives are made longer."""
    sizes = _groups(graph, model) | set(since)
    since = {n: since.get(n, 0.0) for n in sizes}
    for task in graph.tasks:
        if task.bodies:
            for body in task.bodies:
                before = since
                if body.inner == "loop":  # an iteration begins where the one before has ended
                    before = _add(body, model, _add(body, model, since, count=False), count=False)
                after = _add(body, model, before, count)
                largest = max(_groups(body, model), default=0)
                # Larger groups do not synchronise in the body: they have all of its iterations behind them.
                after |= {n: s + task.iterations * (after[n] - before[n]) for n, s in since.items() if n > largest}
            since = {n: after[n] for n in since}
        elif task.kind != "collective":
            since = {n: s + task.seconds for n, s in since.items()}
        elif n := _group(task, model):
            if count:
                task.seconds += model.wait(n, since[n])
            since = {m: 0.0 if m <= n else s for m, s in since.items()}
    return since


def _group(task: Task, model: CostModel) -> int:
    """How many devices a collective synchronises; 0 if it is over no axis."""
    axes = task.detail.get("axes")
    if not axes:
        return 0
    return model.mesh.size if task.name in _ALL_DEVICES else model.mesh.axes_size(axes)  # type: ignore[arg-type]


def _groups(graph: TaskGraph, model: CostModel) -> set[int]:
    """How many devices each of the collectives synchronises, inside of loops too."""
    found = {n for t in graph.tasks if t.kind == "collective" and (n := _group(t, model))}
    for task in graph.tasks:
        for body in task.bodies:
            found |= _groups(body, model)
    return found
