"""Simulating programs of several processes, each with a compute and a communication stream of its own.

What `pcg-lower-processes` leaves has one module per process.  A message takes the communication streams of its sender
and its receiver at the same time, a collective those of all its members; everything else is each process's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch_mlir import ir

from pcg.cost import CostModel, slowest_copy
from pcg.cost.transfers import collective_seconds, messages_seconds, wire_bytes
from pcg.ir.errors import PcgError
from pcg.ir.walk import entry
from pcg.layout import Mesh
from pcg.lower.processes import MEMBERS, process_modules
from pcg.machine import Machine
from pcg.machine.units import bytes_text, time_text
from pcg.rules.collectives import STEP_KINDS
from pcg.simulate.collectives import CollectiveCost, CollectiveCosts, channel_of, collective_bytes, groups_of
from pcg.simulate.memory import assign_buffers
from pcg.simulate.read import TaskReader
from pcg.simulate.result import Simulation, of_run
from pcg.simulate.schedule import Run, ScheduleOptions, run, run_at
from pcg.simulate.task_graph import Task, TaskGraph
from pcg.simulate.trace import write_trace


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
        write_trace(path, {s.name: s.run for s in self.processes.values()})

    def __str__(self) -> str:
        lines = [f"step            {time_text(self.seconds)}"]
        for n, s in self.processes.items():
            lines.append(
                f"  process {n:3d}   computes {time_text(s.compute)}, sends {time_text(s.communication)} of which "
                f"{time_text(s.exposed)} exposed, {bytes_text(s.peak_bytes)} at the peak"
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
    devices = dict(devices) if devices is not None else _in_order(machine, numbers)
    graphs: dict[int, TaskGraph] = {}
    keys: dict[int, dict[int, tuple[Any, ...]]] = {}
    models: dict[int, CostModel] = {}
    for n, inner in found:
        models[n] = _model(machine, devices[n])
        reader = TaskReader(models[n], inner)
        reader.collective_cost = _ProcessCollectiveCosts(models[n], machine, devices, n)
        main = entry(inner)
        if main is None:
            raise PcgError(f"process {n} has no function to simulate", inner.location)
        graphs[n] = reader.function(main)
        keys[n] = _joint(graphs[n], n)
    merged, where = _merge(graphs, keys, machine, devices, module)
    options = ScheduleOptions(overlap=overlap, ahead=ahead, copy=slowest_copy(models.values()))
    done = run(merged, options)
    simulations = {n: of_run(_part(done, graphs[n], where[n], options), f"process {n}") for n in numbers}
    return ProcessSimulation(done.seconds, simulations)


def _in_order(machine: Machine, numbers: Sequence[int]) -> dict[int, int]:
    if machine.cluster is None:
        return {n: n for n in numbers}
    usable = machine.cluster.device_of(Mesh.of({"process": max(numbers) + 1}))
    return {n: usable[n] for n in numbers}


def _model(machine: Machine, device: int) -> CostModel:
    """The cost model of what one process computes."""
    if machine.cluster is None:
        return CostModel(machine, Mesh.of({"process": 1}))
    return CostModel(Machine.of(machine.cluster), Mesh.of({"process": 1}, [device]))


class _ProcessCollectiveCosts(CollectiveCosts):
    """Costs of collectives whose groups are processes; in place of mesh axes they name the members."""

    def __init__(self, model: CostModel, machine: Machine, devices: Mapping[int, int], process: int) -> None:
        super().__init__(model)
        self.machine, self.devices, self.process = machine, devices, process

    def __call__(self, op: ir.Operation) -> CollectiveCost:
        kind = STEP_KINDS[op.name]
        attr = op.attributes["source_target_pairs" if op.name.endswith("permute") else "replica_groups"]
        members = list(ir.DenseI64ArrayAttr(op.attributes[MEMBERS]))
        groups = [[members[p] for p in g] for g in groups_of(attr)]
        bytes_ = collective_bytes(op)
        wire = wire_bytes(kind, max(map(len, groups), default=1), bytes_)
        if kind == "permute":
            ends = [(self.devices[a], self.devices[b], bytes_) for a, b in groups if a != b]
            seconds = messages_seconds(self.machine, ends)
            mine = tuple(sorted({p for g in groups for p in g}))
        else:
            seconds = collective_seconds(self.machine, [[self.devices[p] for p in g] for g in groups], kind, bytes_)
            mine = next((tuple(g) for g in groups if self.process in g), (self.process,))
        return CollectiveCost(kind, tuple(f"process {p}" for p in mine), wire, seconds, (channel_of(op), *mine))


def _joint(graph: TaskGraph, process: int) -> dict[int, tuple[Any, ...]]:
    """Task -> the message or collective that it is one process's part of: its name, and the processes."""
    found: dict[int, tuple[Any, ...]] = {}
    for t, task in enumerate(graph.tasks):
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
    graphs: Mapping[int, TaskGraph], keys: Mapping[int, dict[int, tuple[Any, ...]]], machine: Machine,
    devices: Mapping[int, int], module: Any,
) -> tuple[TaskGraph, dict[int, list[int]]]:  # fmt: skip
    """All graphs as one, and per process the numbers there of its tasks."""
    out = TaskGraph()
    first = {}
    for k, (n, p) in enumerate(graphs.items()):
        first[n] = len(out.sizes)
        arguments, results, shift = len(out.arguments), len(out.results), first[n]
        out.sizes += p.sizes
        out.donated |= {arguments + a for a in p.donated}
        out.aliases = {**out.aliases, **{results + r: arguments + a for r, a in p.aliases.items()}}
        out.arguments += tuple(shift + v for v in p.arguments)
        out.results += tuple(shift + v for v in p.results)
        p.tasks[:] = [replace(t, streams=tuple(2 * k + s for s in t.streams)) for t in p.tasks]
    at = dict.fromkeys(graphs, 0)
    where: dict[int, list[int]] = {n: [] for n in graphs}
    while any(at[n] < len(p.tasks) for n, p in graphs.items()):
        before = len(out.tasks)
        for n, p in graphs.items():
            while at[n] < len(p.tasks):
                key = keys[n].get(at[n])
                if key is None:
                    parts = {n: p.tasks[at[n]]}
                else:
                    ready = {m: at[m] for m in key[2] if at[m] < len(graphs[m].tasks)}
                    if any(m not in ready or keys[m].get(ready[m]) != key for m in key[2]):
                        break
                    parts = {m: graphs[m].tasks[t] for m, t in ready.items()}
                task = _shifted(parts, first)
                if key is not None and task.kind == "transfer":
                    sender, receiver = key[2]
                    task.name = f"{sender} to {receiver}"
                    task.seconds = messages_seconds(machine, [(devices[sender], devices[receiver], task.bytes)])
                for m, part in parts.items():
                    if part.kind == "transfer":
                        part.seconds = task.seconds
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


def _part(done: Run, graph: TaskGraph, where: Sequence[int], options: ScheduleOptions) -> Run:
    """What one process does in a run of all; `where` are the numbers there of its tasks."""
    start, finish = [done.start[m] for m in where], [done.finish[m] for m in where]
    return run_at(
        graph, assign_buffers(graph), options, {t: done.bodies[m] for t, m in enumerate(where) if m in done.bodies},
        seconds=[b - a for a, b in zip(start, finish, strict=True)], start=start, finish=finish,
        started=[done.started[m] for m in where], finished=[done.finished[m] for m in where],
        event_times=done.event_times,
    )  # fmt: skip
