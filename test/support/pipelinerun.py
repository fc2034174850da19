"""Steps of pipelines with symbolic values: a value is a hash of what it is computed from, a sum that of its terms."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence

from pcg.pipeline.instructions import (
    Free,
    Instance,
    Instruction,
    Instructions,
    Receive,
    Run,
    Send,
    Verdict,
    global_order,
)
from pcg.pipeline.step import Step

Results = dict[Instance, int]


def _value(fragment: str, name: str, inputs: Sequence[int]) -> int:
    return hash((fragment, name, *inputs))


def reference(step: Step) -> Results:
    """What is there after the step, from its data flow alone."""
    values: Results = {(n, i): hash(("argument", n, i)) for n in step.arguments for i in step.instances(n)}
    source = {t.target: t.source for t in step.transfers}
    for f in step.sequence:
        for i in range(step.microbatches) if f.varying else (None,):
            inputs = [values[step.instance(source.get(n, n), i)] for n in f.reads]
            for n in f.writes:
                values[n, i] = _value(f.name, n, inputs)
            for n in f.accumulates:
                values[n, None] = values.get((n, None), 0) + _value(f.name, n, inputs)
    kept = {*step.results, *(n for n in step.arguments if n not in step.donated)}
    return {(n, i): values[step.instance(source.get(n, n), i)] for n in kept for i in step.instances(n)}


class Devices:
    """Devices with slots and channels, which do instructions."""

    def __init__(self, instructions: Instructions) -> None:
        self.instructions, self.step = instructions, instructions.step
        self.slots: list[dict[int, int]] = [{} for _ in instructions.lists]
        for slots, places in zip(self.slots, instructions.places, strict=True):
            slots |= {slot: hash(("argument", *instance)) for instance, slot in places.items()}
        self.channels: dict[tuple[int, int], deque[tuple[int, int]]] = {}

    def blocked(self, device: int, what: Instruction) -> bool:
        if isinstance(what, Send):
            return len(self.channels.get((device, what.peer), ())) >= self.instructions.capacity
        return isinstance(what, Receive) and not self.channels.get((what.peer, device))

    def do(self, device: int, what: Instruction) -> None:
        """Raises AssertionError or KeyError for what no device can do."""
        assert not self.blocked(device, what)
        slots = self.slots[device]
        if isinstance(what, Run):
            f = self.step.fragment[what.fragment]
            inputs = [slots[s] for s in what.reads]
            for old, _ in f.aliases:
                del slots[what.reads[f.reads.index(old)]]
            for name, slot in zip(f.writes, what.writes, strict=True):
                assert slot not in slots
                slots[slot] = _value(f.name, name, inputs)
            for name, slot in zip(f.accumulates, what.accumulates, strict=True):
                assert what.begins == (slot not in slots)
                slots[slot] = slots.get(slot, 0) + _value(f.name, name, inputs)
        elif isinstance(what, Verdict):
            assert all(slot in slots for slot in what.slots)
        elif isinstance(what, Send):
            self.channels.setdefault((device, what.peer), deque()).append((what.tag, slots[what.slot]))
        elif isinstance(what, Receive):
            tag, value = self.channels[what.peer, device].popleft()
            assert tag == what.tag and what.slot not in slots
            slots[what.slot] = value
        else:
            assert isinstance(what, Free)
            del slots[what.slot]

    def results(self) -> Results:
        assert not any(self.channels.values())
        found: Results = {}
        for slots, places in zip(self.slots, self.instructions.results, strict=True):
            assert slots.keys() == set(places.values())
            found |= {instance: slots[slot] for instance, slot in places.items()}
        return found


def planned(instructions: Instructions) -> Results:
    """By one thread, in the planned order."""
    devices = Devices(instructions)
    for device, what in global_order(instructions):
        devices.do(device, what)
    return devices.results()


def interleaved(instructions: Instructions, seed: int) -> Results:
    """By devices of any speed: of those that are not blocked one after another is chosen at random, some more often."""
    chance, devices = random.Random(seed), Devices(instructions)
    speed = [chance.choice((1, 1, 5, 50)) for _ in instructions.lists]
    left = [deque(found) for found in instructions.lists]
    while any(left):
        ready = [d for d, found in enumerate(left) if found and not devices.blocked(d, found[0])]
        assert ready, "all devices wait"
        d = chance.choices(ready, [speed[d] for d in ready])[0]
        devices.do(d, left[d].popleft())
    return devices.results()
