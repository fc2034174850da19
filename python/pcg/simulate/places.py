"""The place of a mesh on a cluster in which a lowered program is fastest."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from pcg.cost import COMBINED, CostModel
from pcg.simulate.combine import combine
from pcg.simulate.program import Program
from pcg.simulate.result import Simulation, of_run
from pcg.simulate.run import read
from pcg.simulate.schedule import Options, run

#: Relative error that adding up in another order may have.  Chosen: a million roundings of a double.
_ROUNDING = 1e-9


def fastest(
    module_or_func: Any, models: Sequence[CostModel], *, donated: Collection[int] = (), cutoff: float = math.inf
) -> tuple[int, Simulation] | None:
    """Of several places of one mesh that in which a step is shortest, by number, and the step there.

    As `simulate` in every place, but the program is read once: between places on like devices only collectives differ.
    A place in which the work of one stream alone takes as long as the best step so far is not simulated.

    Args:
      models: of meshes with the same axes, one per place; of equals the first counts.
      cutoff: seconds; None is returned where no step is shorter.
    """
    known: list[tuple[CostModel, Program, str]] = []
    best: tuple[int, Simulation] | None = None
    for n, model in enumerate(models):
        found = next((k for k in known if k[0].machine.device == model.machine.device), None)
        if found is None:
            program, name = read(module_or_func, model, donated)
            known.append((model, program, name))
        else:
            _, program, name = found
        # Combining writes into a program, so each place has a copy.
        there = repriced(program, model)
        combine(there, COMBINED, model)
        least = best[1].seconds if best is not None else cutoff
        if at_least(there) >= least * (1 + _ROUNDING):
            continue
        made = of_run(run(there, Options(copy=model.copy)), name)
        if made.seconds < least:
            best = n, made
    return best


def repriced(program: Program, model: CostModel) -> Program:
    """A copy of a program, its collectives priced by `model`."""
    tasks = [
        replace(
            t, bodies=tuple(repriced(b, model) for b in t.bodies),
            seconds=model.link(t.detail["axes"], t.bytes, t.name) if t.kind == "collective" else t.seconds,  # type: ignore[arg-type]
        )
        for t in program.tasks
    ]  # fmt: skip
    return replace(program, tasks=tasks)


def at_least(program: Program) -> float:
    """Seconds that no order of the tasks can undercut: the work of the stream that has more of it."""
    return max(_work(program))


def _work(program: Program) -> tuple[float, float]:
    """Seconds of compute and of communication; a loop that communicates holds both streams while it runs."""
    compute = communication = 0.0
    for task in program.tasks:
        if task.kind in ("collective", "transfer"):
            communication += task.seconds
        elif task.bodies:
            inside = [_work(b) for b in task.bodies]
            longest = task.trips * max(max(w) for w in inside)
            compute += task.seconds + longest
            communication += longest if any(m for _, m in inside) else 0.0
        else:
            compute += task.seconds
    return compute, communication
