"""From a step and a schedule to instructions of every device."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from pcg.pipeline.errors import PipelineError
from pcg.pipeline.instructions import Free, Instance, Instruction, Instructions, Receive, Run, Send, Verdict
from pcg.pipeline.ordering import Placed, ordered
from pcg.pipeline.schedule import Schedule
from pcg.pipeline.step import Step

#: Values in flight from a device to another one.  A test's steps by named schedules take no longer than planned with
#: 2, which one does with 1.
CAPACITY = 2


def lower(step: Step, schedule: Schedule, capacity: int = CAPACITY) -> Instructions:
    """The instructions of a step by a schedule.

    Each device does F, B and W in the order of the schedule, prepare fragments before them and update fragments after
    them; deferred fragments, and the verdict on the step before, come before its first B.  What the schedule has and
    the step has not (W of a stage without parameters) is left out; BW of a stage with a fragment each for B and W are
    both.  Values are freed after their last reader, kept arguments and results never.

    Raises PipelineError where the schedule is one of other microbatches, devices or stages, splits what the step does
    not, or runs something before what it reads; and where something writes over what is read after it.
    """
    p = schedule.pipeline
    if (p.microbatches, p.devices) != (step.microbatches, step.devices):
        raise PipelineError(
            f"a step of {step.microbatches} microbatches on {step.devices} devices; allowed: as the schedule,"
            f" {p.microbatches} on {p.devices}"
        )
    if capacity < 1:
        raise PipelineError(f"channels of capacity {capacity}; allowed: 1 or more")
    for f in step.fragments:
        if f.varying and not (0 <= f.stage < p.stages and p.device[f.stage] == f.device):
            own = p.stages_of(f.device)
            raise PipelineError(f"fragment {f.name} of stage {f.stage} on device {f.device}; its stages: {own}")
    return _slotted(step, _with_frees(step, ordered(step, schedule, capacity)), capacity)


def _with_frees(step: Step, order: Sequence[Placed]) -> Iterator[tuple[int, Instruction]]:
    """The order with what is freed, behind the last reader, or what writes it where nothing reads it."""
    kept = {(n, i) for n in step.results for i in step.instances(n)}
    kept |= {(n, i) for n in step.arguments if n not in step.donated for i in step.instances(n)}
    over: dict[Instance, int] = {}  # written over at a place of the order
    last: dict[Instance, int] = {}
    for place, (_, what) in enumerate(order):
        for instance in _uses(step, what):
            last[instance] = place
        if isinstance(what, Run):
            over |= {step.instance(old, what.microbatch): place for old, _ in step.fragment[what.fragment].aliases}
    for instance, place in over.items():
        if last[instance] > place:
            (_, writer), (_, reader) = order[place], order[last[instance]]
            raise PipelineError(f"{writer} writes over {instance[0]}, and {reader} is after it on the same device")
    for name in step.donated:
        for i in step.instances(name):
            if (name, i) not in last and (name, i) not in kept:
                yield step.buffer[name].device, Free(name, i)
    for place, (device, what) in enumerate(order):
        yield device, what
        for instance in _uses(step, what):
            if last[instance] == place and instance not in kept and instance not in over:
                yield device, Free(*instance)


def _uses(step: Step, what: Instruction) -> Iterator[Instance]:
    """Values that an instruction reads or writes, on its device."""
    if isinstance(what, Run):
        f = step.fragment[what.fragment]
        yield from (step.instance(n, what.microbatch) for n in (*f.reads, *f.writes, *f.accumulates))
    elif isinstance(what, Verdict):
        yield from ((n, None) for n in what.buffers)
    else:
        yield what.buffer, what.microbatch


def _slotted(step: Step, order: Iterator[tuple[int, Instruction]], capacity: int) -> Instructions:
    """With slots: of each device the lowest one that is free."""
    free: list[list[int]] = [[] for _ in range(step.devices)]
    count = [0] * step.devices
    slots: list[dict[Instance, int]] = [{} for _ in range(step.devices)]

    def take(device: int, instance: Instance) -> int:
        if not free[device]:
            heapq.heappush(free[device], count[device])
            count[device] += 1
        slots[device][instance] = heapq.heappop(free[device])
        return slots[device][instance]

    def run(device: int, what: Run) -> Run:
        f, own = step.fragment[what.fragment], slots[device]
        reads = tuple(own[step.instance(n, what.microbatch)] for n in f.reads)
        over = {new: own.pop(step.instance(old, what.microbatch)) for old, new in f.aliases}
        own |= {step.instance(new, what.microbatch): slot for new, slot in over.items()}
        writes = tuple(over[n] if n in over else take(device, step.instance(n, what.microbatch)) for n in f.writes)
        sums = tuple(take(device, (n, None)) if what.begins else own[n, None] for n in f.accumulates)
        return Run(what.fragment, what.microbatch, reads, writes, sums, what.begins)

    for name in step.arguments:
        for i in step.instances(name):
            take(step.buffer[name].device, (name, i))
    places = tuple(dict(found) for found in slots)
    lists: list[list[Instruction]] = [[] for _ in range(step.devices)]
    devices = []
    for device, what in order:
        devices.append(device)
        if isinstance(what, Run):
            lists[device].append(run(device, what))
        elif isinstance(what, Receive):
            slot = take(device, (what.buffer, what.microbatch))
            lists[device].append(Receive(what.buffer, what.microbatch, what.peer, what.tag, slot))
        elif isinstance(what, Send):
            slot = slots[device][what.buffer, what.microbatch]
            lists[device].append(Send(what.buffer, what.microbatch, what.peer, what.tag, slot))
        elif isinstance(what, Verdict):
            found_slots = tuple(slots[device][n, None] for n in what.buffers)
            lists[device].append(Verdict(what.buffers, found_slots))
        else:
            slot = slots[device].pop((what.buffer, what.microbatch))
            heapq.heappush(free[device], slot)
            lists[device].append(Free(what.buffer, what.microbatch, slot))
    found = tuple(tuple(instructions) for instructions in lists)
    return Instructions(step, found, tuple(devices), tuple(count), places, tuple(slots), capacity)
