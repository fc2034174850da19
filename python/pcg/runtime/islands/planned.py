"""When the runs that were recorded would have been, by what pcg estimates of their nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pcg.runtime.islands.backend import Function, Loaded
from pcg.runtime.islands.simulated import SimulatedBackend, SimulatedProgram, SimulatedValue
from pcg.viz.runs import IslandRun


def with_plan(
    runs: Sequence[IslandRun], programs: Mapping[int, tuple[Loaded, list[tuple[int, int]]]],
    function: Callable[[str, str], Function | None],
) -> list[IslandRun]:  # fmt: skip
    """Runs, with their planned times: those of a simulated machine that was called when this one was.

    Runs begin when they were submitted, in the order in which they began here, once their arguments are there; nodes
    take what pcg estimates for the machine that they were planned for.

    Args:
      programs: by number of run, its program, and which of its arguments are results of which runs.
      function: of a client and a name, what it calls; None if it is gone.
    """
    backend = SimulatedBackend()
    for island in sorted({r.island for r in runs}):
        backend.add_island(island, [])
    ends: dict[int, float] = {}
    planned: dict[tuple[int, str], tuple[float, float]] = {}
    simulated: dict[int, SimulatedProgram | None] = {}
    for run in sorted({r.number: r for r in reversed(runs)}.values(), key=lambda r: (r.start, r.number)):
        if run.number not in programs:
            continue
        loaded, sources = programs[run.number]
        if id(loaded) not in simulated:
            simulated[id(loaded)] = _simulated(backend, loaded, run.client, function)
        program = simulated[id(loaded)]
        if program is None or not set(program.islands) <= backend.islands.keys():
            continue
        arguments: list[Any] = [None] * len(program.program.arguments)
        for i, number in sources:
            arguments[i] = SimulatedValue(backend, ends.get(number, 0.0))
        backend.now = max(run.submitted, 0.0)
        _, tokens = program.launch(arguments)
        ends[run.number] = max((t.ready_at for t in tokens.values()), default=backend.now)
        for island, begin in program.began.items():
            planned[run.number, island] = begin, tokens[island].ready_at
    return [dataclasses.replace(r, planned=planned.get((r.number, r.island))) for r in runs]


def _simulated(
    backend: SimulatedBackend, loaded: Loaded, client: str, function: Callable[[str, str], Function | None]
) -> SimulatedProgram | None:
    program = loaded.program
    called = {what.function for s in program.streams.values() for what in s.instructions if hasattr(what, "function")}
    found = {name: function(client, name) for name in called}
    if any(f is None for f in found.values()):
        return None
    return SimulatedProgram(backend, program, found, [out[0] for out in loaded.outputs])  # type: ignore[arg-type]
