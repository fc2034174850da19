"""One order of the runs and transfers of all devices, from the times of a schedule.

Every wait of a device for another one goes back in this order, so the lists of devices that are taken out of it cannot
wait for each other in a circle.
"""

from __future__ import annotations

import bisect
import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pcg.pipeline.errors import PipelineError
from pcg.pipeline.instructions import Instance, Receive, Run, Send, Verdict
from pcg.pipeline.schedule import Schedule
from pcg.pipeline.step import DEFERRED, PREPARE, UPDATE, Fragment, Step

Placed = tuple[int, Run | Send | Receive | Verdict]
#: Phases of a step, and (phase, time); before and after the microbatches time is a number of the fragment.
BEFORE, DURING, AFTER = 0, 1, 2
Time = tuple[int, float]


@dataclass(frozen=True)
class Timed:
    """A run or a send of a device, and when the schedule has it."""

    at: Time
    what: Run | Send | Verdict


def ordered(step: Step, schedule: Schedule, capacity: int) -> list[Placed]:
    """Runs, sends and receives with their devices.

    A send is next after the run that writes its buffer, one of an argument that is one per step comes first, one of a
    microbatch's argument when the schedule first needs it elsewhere.  Receives are as near to the first reader as the
    order of transfers of two devices and the room of their channels allow.

    Raises PipelineError where the schedule has not what the step needs, or runs it before what it reads.
    """
    runs = [timed_runs(step, schedule, d) for d in range(step.devices)]
    chains = [_with_verdict(step, d, _with_sends(step, found)) for d, found in enumerate(runs)]
    _add_arguments(step, schedule, chains, runs)
    return _with_receives(step, _merged(step, chains), capacity)


def timed_runs(step: Step, schedule: Schedule, device: int) -> list[tuple[Time, Time, Run]]:
    """(start, end, run) of a device, in order; runs have no slots.

    Raises PipelineError where the schedule splits a backward pass that the step does not.
    """
    p = schedule.pipeline
    found: list[tuple[Time, Time, Run]] = []
    numbered = [(n, f) for n, f in enumerate(step.sequence) if f.device == device]
    for n, f in numbered:
        if f.kind == PREPARE:
            found.append(((BEFORE, n), (BEFORE, n), Run(f.name, None)))
    stages = {(f.stage, f.kind): f for f in step.fragments if f.varying}
    begun: set[str] = set()

    def add(f: Fragment | None, microbatch: int, start: float, end: float) -> None:
        if f is not None:
            begins = bool(f.accumulates) and f.name not in begun
            begun.add(f.name)
            found.append(((DURING, start), (DURING, end), Run(f.name, microbatch, begins=begins)))

    tasks = [schedule.task(t) for t in schedule.order[device]]
    times = [(float(schedule.start[t]), float(schedule.end[t])) for t in schedule.order[device]]
    skip = False
    for at, (task, (start, end)) in enumerate(zip(tasks, times, strict=True)):
        kind, i, s = task
        merged = stages.get((s, "BW"))
        if skip:
            skip = False
        elif kind == "BW" and merged is None:
            between = start + p.backward[s]
            add(stages.get((s, "B")), i, start, between)
            add(stages.get((s, "W")), i, between, end)
        elif kind == "B" and merged is not None:
            if at + 1 == len(tasks) or tasks[at + 1] != ("W", i, s):
                raise PipelineError(
                    f"stage {s} has BW ({merged.name}), and the schedule does something else between B and W of"
                    f" microbatch {i}; allowed: one with BW, or a fragment each for B and W"
                )
            add(merged, i, start, times[at + 1][1])
            skip = True
        else:
            add(stages.get((s, kind)), i, start, end)
    behind = next((n for n, (_, _, run) in enumerate(found) if _is_behind(step, run)), len(found))
    then = found[behind][0] if behind < len(found) else (AFTER, -1.0)
    found[behind:behind] = [(then, then, Run(f.name, None)) for _, f in numbered if f.kind == DEFERRED]
    depth = _depths(step)
    updates = [(depth[f.name], n, f) for n, f in numbered if f.kind == UPDATE]
    for hops, n, f in sorted(updates, key=lambda u: u[:2]):
        time = hops + n / len(step.fragments)
        found.append(((AFTER, time), (AFTER, time), Run(f.name, None)))
    return found


def _is_behind(step: Step, run: Run) -> bool:
    """Whether it comes behind what is left to do of the step before."""
    return step.fragment[run.fragment].kind in ("B", "W", "BW", UPDATE)


def _depths(step: Step) -> dict[str, int]:
    """Of each update fragment: how many transfers, one behind another, it waits for after the microbatches.

    A device first runs what waits for few.
    """
    source = {t.target: t.source for t in step.transfers}
    depth: dict[str, int] = {}
    there: dict[str, int] = dict.fromkeys(step.sums, 0)
    for f in step.sequence:
        if f.kind == UPDATE:
            hops = (there[source.get(n, n)] + (n in source) for n in f.reads if source.get(n, n) in there)
            depth[f.name] = max(hops, default=0)
            there.update(dict.fromkeys(f.writes, depth[f.name]))
    return depth


def _sends(step: Step, name: str, microbatch: int | None) -> Iterator[Send]:
    for n in step.copies.get(name, ()):
        peer = step.buffer[step.transfers[n].target].device
        yield Send(name, microbatch, peer, n * step.microbatches + (microbatch or 0))


def _with_sends(step: Step, runs: Sequence[tuple[Time, Time, Run]]) -> list[Timed]:
    """Each run of a device, and behind it the sends of what it writes, or has added up."""
    last = {run.fragment: n for n, (_, _, run) in enumerate(runs)}
    found = []
    for n, (start, end, run) in enumerate(runs):
        f = step.fragment[run.fragment]
        found.append(Timed(start, run))
        sums = f.accumulates if last[f.name] == n else ()
        instances = [(w, run.microbatch) for w in f.writes] + [(w, None) for w in sums]
        found += (Timed(end, send) for name, i in instances for send in _sends(step, name, i))
    return found


def _with_verdict(step: Step, device: int, chain: list[Timed]) -> list[Timed]:
    """With the verdict on the step before, behind the forward passes that the device begins with."""
    buffers = tuple(n for n in step.verdict if step.buffer[n].device == device)
    if not buffers:
        return chain
    place = next(
        (n for n, t in enumerate(chain) if isinstance(t.what, Run) and _is_behind(step, t.what)), len(chain)
    )  # fmt: skip
    at = chain[place].at if place < len(chain) else (AFTER, math.inf)
    return [*chain[:place], Timed(at, Verdict(buffers)), *chain[place:]]


def _add_arguments(
    step: Step, schedule: Schedule, chains: list[list[Timed]], runs: Sequence[Sequence[tuple[Time, Time, Run]]]
) -> None:
    """Sends of arguments: of those that are one per step with the first microbatch, unless they are needed before it.

    Others are before the last run that the schedule starts no later than the value has to leave, and before all to the
    same device that are needed there after it: they would be received before it.
    """
    needed: dict[Instance, Time] = {}
    for found in runs:
        for start, _, run in found:
            for instance in _reads(step, run):
                needed.setdefault(instance, start)
    for chain in chains:
        for timed in chain:
            if isinstance(timed.what, Verdict):
                for instance in _reads(step, timed.what):
                    needed[instance] = min(needed.get(instance, timed.at), timed.at)

    def need(send: Send) -> Time:
        phase, time = needed.get((_target(step, send), send.microbatch), (DURING, math.inf))
        return phase, time - schedule.pipeline.transfer

    first = [min((start for start, _, _ in found if start[0] == DURING), default=(DURING, 0.0)) for found in runs]
    sends: list[list[Timed]] = [[] for _ in chains]
    for name in step.arguments:
        for i in step.instances(name):
            for send in _sends(step, name, i):
                device = step.buffer[name].device
                at = need(send) if i is not None else min(need(send), first[device])
                sends[device].append(Timed(at, send))
    for device, chain in enumerate(chains):
        places = [n for n, timed in enumerate(chain) if isinstance(timed.what, Run)]
        starts = [chain[n].at for n in places]
        others = [(n, t.what.peer, need(t.what)) for n, t in enumerate(chain) if isinstance(t.what, Send)]
        before: dict[int, list[Timed]] = {}
        for timed in sorted(sends[device], key=lambda s: s.at):
            assert isinstance(timed.what, Send)
            behind = bisect.bisect_right(starts, timed.at) - 1
            place = places[behind] if behind >= 0 else 0
            peer = timed.what.peer
            place = min(place, next((n for n, p, at in others if p == peer and at >= timed.at), place))
            # As soon as what is behind it: that must not wait for its time.
            at = min(timed.at, chain[place].at) if chain else timed.at
            before.setdefault(place, []).append(Timed(at, timed.what))
        chains[device] = [t for n in range(len(chain) + 1) for t in (*before.get(n, ()), *chain[n : n + 1])]


def _merged(step: Step, chains: Sequence[Sequence[Timed]]) -> list[tuple[int, Run | Send | Verdict]]:
    """All by time, but none before what it reads is there."""
    there: set[Instance] = {(n, i) for n in step.arguments for i in step.instances(n)}
    waiting: dict[Instance, list[int]] = {}
    at = [0] * len(chains)
    heap: list[tuple[Time, int]] = []
    found: list[tuple[int, Run | Send | Verdict]] = []

    def missing(what: Run | Verdict) -> Instance | None:
        return next((instance for instance in _reads(step, what) if instance not in there), None)

    def look(d: int) -> None:
        """Add what a device does next to what may be next, if all that it reads is there."""
        if at[d] < len(chains[d]):
            timed = chains[d][at[d]]
            absent = None if isinstance(timed.what, Send) else missing(timed.what)
            if absent is None:
                heapq.heappush(heap, (timed.at, d))
            else:
                waiting.setdefault(absent, []).append(d)

    for d in range(len(chains)):
        look(d)
    while heap:
        _, d = heapq.heappop(heap)
        what = chains[d][at[d]].what
        found.append((d, what))
        if isinstance(what, Run):
            f = step.fragment[what.fragment]
            new = [(n, what.microbatch) for n in f.writes] + [(n, None) for n in f.accumulates]
        elif isinstance(what, Verdict):
            new = []
        else:
            new = [(_target(step, what), what.microbatch)]
        there.update(new)
        at[d] += 1
        look(d)
        for instance in new:
            for other in waiting.pop(instance, ()):
                look(other)
    for d, chain in enumerate(chains):
        if at[d] < len(chain):
            what = chain[at[d]].what
            assert not isinstance(what, Send)
            absent = missing(what)
            assert absent is not None
            name, i = absent
            of = "" if i is None else f" of microbatch {i}"
            raise PipelineError(f"device {d} never does {what}: {name}{of}, which it reads, is not there before")
    return found


def _with_receives(step: Step, merged: Sequence[tuple[int, Run | Send | Verdict]], capacity: int) -> list[Placed]:
    """The order with a receive for every send, each as far back as it may be.

    Where the channel would be full, that is before what the device runs at that time.
    """
    reader: dict[Instance, int] = {}
    running: list[list[int]] = [[] for _ in range(step.devices)]  # places of runs
    for place, (device, what) in enumerate(merged):
        if not isinstance(what, Send):
            running[device].append(place)
            for instance in _reads(step, what):
                reader.setdefault(instance, place)
    #: By two devices: of the transfer after this one the sender, its place, and the place that its receive is before.
    following: dict[frozenset[int], tuple[int, int, int]] = {}
    channels: dict[tuple[int, int], list[int]] = {}
    before: dict[int, list[Placed]] = {}
    for place in reversed(range(len(merged))):
        device, what = merged[place]
        if not isinstance(what, Send):
            continue
        name = _target(step, what)
        bounds = [reader.get((name, what.microbatch), len(merged))]
        pair = frozenset((device, what.peer))
        if pair in following:
            sender, there, bound = following[pair]
            bounds.append(bound if sender == device else there)
        channel = channels.setdefault((device, what.peer), [])
        if len(channel) >= capacity:
            full = channel[-capacity]
            behind = bisect.bisect_left(running[what.peer], full) - 1
            begin = running[what.peer][behind] if behind >= 0 else -1
            bounds.append(begin if begin > place else full)
        channel.append(place)
        following[pair] = (device, place, min(bounds))
        receive = Receive(name, what.microbatch, device, what.tag)
        before.setdefault(min(bounds), []).append((what.peer, receive))
    return [
        placed for n in range(len(merged) + 1) for placed in (*reversed(before.get(n, ())), *merged[n : n + 1])
    ]


def _reads(step: Step, what: Run | Verdict) -> Iterator[Instance]:
    if isinstance(what, Verdict):
        return ((name, None) for name in what.buffers)
    return (step.instance(name, what.microbatch) for name in step.fragment[what.fragment].reads)


def _target(step: Step, send: Send) -> str:
    return step.transfers[send.tag // step.microbatches].target
