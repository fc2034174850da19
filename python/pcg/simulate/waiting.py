"""How long devices that share the processors of a host wait for each other at collectives.  No MLIR here.

Eight devices on two cores do not reach a collective at the same time: the last of them was not even run while the
first went ahead.  What is lost depends on how much they have computed since they last met, and on how many have to
meet: pairs find each other while others compute, all at once leave cores idle.  The profile of a host has the
measurements.
"""

from __future__ import annotations

from pcg.cost import CostModel
from pcg.simulate.program import Program, Task

#: Collectives for which XLA's CPU backend lets all devices meet, however small their groups.
_ALL_MEET = frozenset({"permute"})
#: Seconds of work since the devices of a group of each size last met.
_Since = dict[int, float]


def add_waits(program: Program, model: CostModel) -> None:
    """Make every collective of `program`, whose tasks run one after another, longer by what devices wait there."""
    if model.wait(model.mesh.size, 1.0) > 0.0:
        _through(program, model, {})


def _through(program: Program, model: CostModel, since: _Since, count: bool = True) -> _Since:
    """`since` after the program; with `count` its collectives take longer."""
    sizes = _groups(program, model) | set(since)
    since = {n: since.get(n, 0.0) for n in sizes}
    for task in program.tasks:
        if task.bodies:
            for body in task.bodies:
                before = since
                if body.inner == "loop":  # an iteration begins where the one before has ended
                    before = _through(body, model, _through(body, model, since, count=False), count=False)
                after = _through(body, model, before, count)
                met = max(_groups(body, model), default=0)
                # Those that do not meet in the body have all of its turns behind them.
                after |= {n: s + task.trips * (after[n] - before[n]) for n, s in since.items() if n > met}
            since = {n: after[n] for n in since}
        elif task.kind != "collective":
            since = {n: s + task.seconds for n, s in since.items()}
        elif n := _group(task, model):
            if count:
                task.seconds += model.wait(n, since[n])
            since = {m: 0.0 if m <= n else s for m, s in since.items()}
    return since


def _group(task: Task, model: CostModel) -> int:
    """How many devices meet for a collective; 0 if it is over no axis."""
    axes = task.detail.get("axes")
    if not axes:
        return 0
    return model.mesh.size if task.name in _ALL_MEET else model.mesh.axes_size(axes)  # type: ignore[arg-type]


def _groups(program: Program, model: CostModel) -> set[int]:
    """How many devices meet at any of the collectives, inside of loops too."""
    found = {n for t in program.tasks if t.kind == "collective" and (n := _group(t, model))}
    for task in program.tasks:
        for body in task.bodies:
            found |= _groups(body, model)
    return found
