"""Simulating programs of several processes, each with a compute and a communication stream of its own.

What `pcg-lower-processes` leaves has one module per process.  A message takes the communication streams of its sender
and its receiver at the same time, a collective those of all its members; everything else is each process's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.cost.transfers import collective, messages, wire_bytes
from pcg.ir.errors import PcgError
from pcg.ir.walk import entry
from pcg.layout import Mesh
from pcg.lower.processes import MEMBERS, process_modules
from pcg.machine import Machine
from pcg.machine.units import bytes_text, time_text
from pcg.rules.collectives import KINDS
from pcg.simulate.collectives import Pricer, Sent, channel_of, groups_of, held_bytes
from pcg.simulate.memory import alive, place
from pcg.simulate.program import Program, Task
from pcg.simulate.read import Reader
from pcg.simulate.result import Simulation, of_run, write
from pcg.simulate.schedule import Options, Run, exposed, run, totals


@dataclass(frozen=True)
class ProcessSimulation:
    """One step of all processes: `seconds` until the last is done, and the simulation of each by its number."""

    seconds: float
    processes: Mapping[int, Simulation]

    @property
    def peak_bytes(self) -> float:
        """The most memory that a process needs."""
        return max((s.peak_bytes for s in self.processes.values()), default=0.0)

    def write_trace(self, path: str | Path) -> None:
        """Write the step as a Chrome trace (JSON), with a row of streams per process."""
        write(path, {s.name: s.run for s in self.processes.values()})

    def __str__(self) -> str:
        lines = [f"step            {time_text(self.seconds)}"]
        for n, s in self.processes.items():
            lines.append(
                f"  process {n:3d}   computes {time_text(s.compute)}, sends {time_text(s.communication)} of which "
                f"{time_text(s.exposed)} not hidden, {bytes_text(s.peak_bytes)} at the peak"
            )
        return "\n".join(lines)


def simulate_processes(
    module: Any, machine: Machine, *, devices: Mapping[int, int] | None = None, overlap: bool = True, ahead: int = 4
) -> ProcessSimulation:
    """One step of the processes of `module`, which `pcg-lower-processes` made.

    Args:
      machine: what computes and communicates.  With a cluster, each process runs at the pace of its own device.
      devices: process -> device of the cluster; default: process n on its n-th usable device.
      overlap, ahead: as for `pcg.simulate.simulate`.

    Raises:
      PcgError: the module has no processes, or they wait for each other in a circle.
      ClusterError: there are more processes than devices.
    """
    found = list(process_modules(module))
    numbers = [n for n, _ in found]
    places = dict(devices) if devices is not None else _in_order(machine, numbers)
    programs: dict[int, Program] = {}
    keys: dict[int, dict[int, tuple[Any, ...]]] = {}
    models: dict[int, CostModel] = {}
    for n, inner in found:
        models[n] = _model(machine, places[n])
        reader = Reader(models[n], inner)
        pricer = _Pricer(models[n], machine, places, n)
        reader.price = pricer
        main = entry(inner)
        if main is None:
            raise PcgError(f"process {n} has no function to simulate", inner.location)
        programs[n] = reader.function(main)
        keys[n] = _joint(programs[n], n)
    merged, where = _merge(programs, keys, machine, places, module)
    copy = max(m.copy for m in models.values())
    options = Options(overlap=overlap, ahead=ahead, copy=copy)
    done = run(merged, options)
    simulations = {n: of_run(_part(done, programs[n], where[n], options), f"process {n}") for n in numbers}
    return ProcessSimulation(done.seconds, simulations)


def _in_order(machine: Machine, numbers: Sequence[int]) -> dict[int, int]:
    if machine.cluster is None:
        return {n: n for n in numbers}
    usable = machine.cluster.device_of(Mesh.of({"process": max(numbers) + 1}))
    return {n: usable[n] for n in numbers}


def _model(machine: Machine, device: int) -> CostModel:
    """Prices what one process computes."""
    if machine.cluster is None:
        return CostModel(machine, Mesh.of({"process": 1}))
    return CostModel(Machine.of(machine.cluster), Mesh.of({"process": 1}, [device]))


@dataclass
class _Pricer(Pricer):
    """Prices collectives whose groups are processes; what it says of the axes are the members."""

    machine: Machine = field(default_factory=Machine.default)
    places: Mapping[int, int] = field(default_factory=dict)
    process: int = 0

    def __init__(self, model: CostModel, machine: Machine, places: Mapping[int, int], process: int) -> None:
        super().__init__(model)
        self.machine, self.places, self.process = machine, places, process

    def __call__(self, op: ir.Operation) -> Sent:
        kind = KINDS[op.name]
        attr = op.attributes["source_target_pairs" if op.name.endswith("permute") else "replica_groups"]
        members = list(ir.DenseI64ArrayAttr(op.attributes[MEMBERS]))
        groups = [[members[p] for p in g] for g in groups_of(attr)]
        held = held_bytes(op)
        wire = wire_bytes(kind, max(map(len, groups), default=1), held)
        if kind == "permute":
            places = self.places
            seconds = messages(self.machine, [(places[a], places[b], held) for a, b in groups if a != b])
            mine = tuple(sorted({p for g in groups for p in g}))
        else:
            seconds = collective(self.machine, [[self.places[p] for p in g] for g in groups], kind, held)
            mine = next((tuple(g) for g in groups if self.process in g), (self.process,))
        return Sent(kind, tuple(f"process {p}" for p in mine), wire, seconds, (channel_of(op), *mine))


def _joint(program: Program, process: int) -> dict[int, tuple[Any, ...]]:
    """Task -> what it is part of together with tasks of other processes: its name, and who takes part."""
    found: dict[int, tuple[Any, ...]] = {}
    for t, task in enumerate(program.tasks):
        if task.kind == "collective":
            joint = task.detail["joint"]
            assert isinstance(joint, tuple)
            found[t] = ("collective", joint, tuple(sorted(joint[1:])))
        elif task.kind == "transfer":
            peer = int(task.detail["peer"])  # type: ignore[call-overload]
            ends = (process, peer) if task.name == "send" else (peer, process)
            found[t] = ("message", task.detail["tag"], ends)
    return found


def _merge(
    programs: Mapping[int, Program], keys: Mapping[int, dict[int, tuple[Any, ...]]], machine: Machine,
    places: Mapping[int, int], module: Any,
) -> tuple[Program, dict[int, list[int]]]:  # fmt: skip
    """All programs as one, and per process the number in it of each of its tasks."""
    out = Program()
    first = {}
    for k, (n, p) in enumerate(programs.items()):
        first[n] = len(out.sizes)
        arguments, results, shift = len(out.arguments), len(out.results), first[n]
        out.sizes += p.sizes
        out.donated |= {arguments + a for a in p.donated}
        out.aliases = {**out.aliases, **{results + r: arguments + a for r, a in p.aliases.items()}}
        out.arguments += tuple(shift + v for v in p.arguments)
        out.results += tuple(shift + v for v in p.results)
        programs[n].tasks[:] = [
            replace(t, streams=tuple(2 * k + s for s in t.streams)) for t in p.tasks
        ]
    at = dict.fromkeys(programs, 0)
    where: dict[int, list[int]] = {n: [] for n in programs}
    while any(at[n] < len(p.tasks) for n, p in programs.items()):
        before = len(out.tasks)
        for n, p in programs.items():
            while at[n] < len(p.tasks):
                key = keys[n].get(at[n])
                if key is None:
                    parts = {n: p.tasks[at[n]]}
                else:
                    ready = {m: at[m] for m in key[2] if at[m] < len(programs[m].tasks)}
                    if any(m not in ready or keys[m].get(ready[m]) != key for m in key[2]):
                        break
                    parts = {m: programs[m].tasks[t] for m, t in ready.items()}
                task = _shifted(parts, first)
                if task.kind == "transfer":
                    ends = [(places[key[2][0]], places[key[2][1]], task.bytes)] if key is not None else []
                    task.seconds = messages(machine, ends)
                    task.name = f"{key[2][0]} to {key[2][1]}" if key is not None else task.name
                for m in parts:
                    if parts[m].kind == "transfer":
                        parts[m].seconds = task.seconds
                    where[m].append(len(out.tasks))
                    at[m] += 1
                out.tasks.append(task)
        if len(out.tasks) == before:
            raise PcgError("the processes wait for each other in a circle", module.operation.location)
    return out, where


def _shifted(parts: Mapping[int, Task], first: Mapping[int, int]) -> Task:
    """Tasks of several processes as one, on the streams of all."""
    one = next(iter(parts.values()))
    return replace(
        one,
        streams=tuple(s for t in parts.values() for s in t.streams),
        reads=tuple(first[n] + v for n, t in parts.items() for v in t.reads),
        writes=tuple(first[n] + v for n, t in parts.items() for v in t.writes),
        over={first[n] + w: tuple(first[n] + v for v in vs) for n, t in parts.items() for w, vs in t.over.items()},
    )


def _part(done: Run, program: Program, where: Sequence[int], options: Options) -> Run:
    """What one process does in a run of all."""
    placed = place(program)
    start, finish = ([times[m] for m in where] for times in (done.start, done.finish))
    started, finished = ([events[m] for m in where] for events in (done.started, done.finished))
    bodies = {t: done.bodies[m] for t, m in enumerate(where) if m in done.bodies}
    inside = [max((b.peak for b in bodies.get(t, ())), default=0.0) for t in range(len(where))]
    memory = alive(program, placed, started, finished, len(done.event_times), inside)
    seconds = [b - a for a, b in zip(start, finish, strict=True)]
    compute, communication = totals(program, placed, seconds, bodies, options)
    end = max(finish, default=0.0) + placed.left * options.copy
    hidden = exposed(program.tasks, start, finish, bodies)
    return Run(
        program, placed, start, finish, end, compute, communication, hidden, memory, memory.peak, done.event_times,
        started, finished, bodies,
    )  # fmt: skip

