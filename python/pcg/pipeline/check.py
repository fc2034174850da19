"""Whether instructions of devices do a step, without waiting for ever, and in how much memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NoReturn

from pcg.pipeline.errors import MemoryLimitError, PipelineError
from pcg.pipeline.instructions import Instance, Instruction, Instructions, Receive, Run, Send, Verdict
from pcg.pipeline.progress import Progress, memory
from pcg.pipeline.step import DEFERRED, PREPARE, UPDATE


def check(instructions: Instructions, memory_limit: int | Sequence[int] | None = None) -> None:
    """Raises PipelineError, with device, place in its list and instruction, unless

    - each fragment runs once per microbatch, or once: prepare fragments before all others of their device, update
      fragments after them, deferred fragments before the first B or W;
    - the verdict on the step before is once on each device that has something of it, before the first B or W;
    - what an instruction uses is there, in the slot that it names, and what it writes goes to an empty slot, once;
    - sums are read when all microbatches are in them;
    - two devices do the transfers between them in one order, and no device waits for ever;
    - after the step results and arguments that are not donated are there, in their slots, and nothing else;
    - `order` has a device per instruction, and none waits in it;
    - no device has more bytes than `memory_limit` (of all, or of each one), at any speed of the others (`peaks`).
    """
    step = instructions.step
    for name in ("lists", "slots", "places", "results"):
        if len(getattr(instructions, name)) != step.devices:
            raise PipelineError(
                f"{name} of {len(getattr(instructions, name))} devices; allowed: as the step, {step.devices}"
            )
    _check_transfers(instructions)
    _check_pairs(instructions)
    devices = [_Values(instructions, d) for d in range(step.devices)]
    progress = Progress(instructions)
    for d, place, what in progress.rest():
        devices[d].do(place, what)
    stuck = [d for d, found in enumerate(instructions.lists) if progress.at[d] < len(found)]
    if stuck:
        waiting = "; ".join(_where(d, progress.at[d], instructions.lists[d][progress.at[d]]) for d in stuck)
        raise PipelineError(f"devices wait for each other: {waiting}")
    for values in devices:
        values.end()
    _check_order(instructions)
    if memory_limit is not None:
        _check_memory(instructions, memory_limit)


def _where(device: int, place: int, what: Instruction) -> str:
    return f"device {device}, instruction {place} ({what})"


def _check_transfers(instructions: Instructions) -> None:
    """Sends and receives name transfers of the step."""
    step = instructions.step
    for d, found in enumerate(instructions.lists):
        for place, what in enumerate(found):
            if not isinstance(what, Send | Receive):
                continue
            number, i = divmod(what.tag, step.microbatches)
            expected: Send | Receive | None = None
            if 0 <= number < len(step.transfers):
                transfer = step.transfers[number]
                source, target = step.buffer[transfer.source], step.buffer[transfer.target]
                microbatch = i if source.varying else None
                if isinstance(what, Send) and source.device == d:
                    expected = Send(source.name, microbatch, target.device, what.tag, what.slot)
                elif isinstance(what, Receive) and target.device == d:
                    expected = Receive(target.name, microbatch, source.device, what.tag, what.slot)
            if what != expected:
                raise PipelineError(f"{_where(d, place, what)}: tag {what.tag} is no such transfer of the step")


def _check_pairs(instructions: Instructions) -> None:
    """Two devices do the transfers between them in one order."""
    between: dict[tuple[int, int], list[tuple[int, int, Send | Receive]]] = {}
    for d, found in enumerate(instructions.lists):
        for place, what in enumerate(found):
            if isinstance(what, Send | Receive):
                between.setdefault((d, what.peer), []).append((what.tag, place, what))
    for (d, peer), mine in between.items():
        theirs = between.get((peer, d), [])
        for n, (tag, place, what) in enumerate(mine):
            if n == len(theirs):
                raise PipelineError(f"{_where(d, place, what)}: device {peer} has no instruction for it")
            other_tag, other_place, other = theirs[n]
            if tag != other_tag or isinstance(what, Send) == isinstance(other, Send):
                raise PipelineError(
                    f"{_where(d, place, what)}: of transfers between the two, number {n} on the other side is"
                    f" {_where(peer, other_place, other)}"
                )


def _check_order(instructions: Instructions) -> None:
    progress = Progress(instructions)
    count = Counter(instructions.order)
    for d in {*count, *range(len(instructions.lists))}:
        has = len(instructions.lists[d]) if 0 <= d < len(instructions.lists) else 0
        if count[d] != has:
            raise PipelineError(f"order has {count[d]} instructions of device {d}; allowed: as its list, {has}")
    for d in instructions.order:
        if not progress.may(d):
            place = progress.at[d]
            raise PipelineError(f"{_where(d, place, instructions.lists[d][place])} waits where order has it")
        progress.advance(d)


def _check_memory(instructions: Instructions, memory_limit: int | Sequence[int]) -> None:
    devices = instructions.step.devices
    limits = (memory_limit,) * devices if isinstance(memory_limit, int) else memory_limit
    if len(limits) != devices:
        raise PipelineError(f"memory limits of {len(limits)} devices; allowed: one, or one per device, {devices}")
    for d, limit in enumerate(limits):
        needed = memory(instructions, d)
        if max(needed) > limit:
            place = next(n for n, bytes_ in enumerate(needed) if bytes_ > limit)
            found = instructions.lists[d]
            at = _where(d, place, found[place]) if place < len(found) else f"device {d}, after its last instruction"
            raise MemoryLimitError(f"{at}: {needed[place]} bytes, of {max(needed)} at most; the limit is {limit}")


class _Values:
    """What is where on a device, while it does its instructions."""

    def __init__(self, instructions: Instructions, device: int) -> None:
        self.instructions, self.step, self.device = instructions, instructions.step, device
        self.slot: dict[Instance, int] = {}
        self.content: dict[int, Instance] = {}
        self.gone: set[Instance] = set()
        self.runs: Counter[tuple[str, int | None]] = Counter()
        self.terms: Counter[str] = Counter()
        self.phase = PREPARE
        self.verdict = tuple(n for n in self.step.verdict if self.step.buffer[n].device == device)
        self.decided = self.backward = False
        self.at = f"device {device}, before its first instruction"
        step = self.step
        for name in step.arguments:
            if step.buffer[name].device == device:
                for i in step.instances(name):
                    if (name, i) not in instructions.places[device]:
                        self._fail(f"{_text((name, i))}, an argument, has no slot")
        for instance, slot in instructions.places[device].items():
            if instance[0] not in step.arguments:
                self._fail(f"{_text(instance)} has a slot and is no argument")
            self._define(instance, slot)
        kept = {*step.results, *(n for n in step.arguments if n not in step.donated)}
        self.kept = {(n, i) for n in kept if step.buffer[n].device == device for i in step.instances(n)}

    def _fail(self, what: str) -> NoReturn:
        raise PipelineError(f"{self.at}: {what}")

    def do(self, place: int, what: Instruction) -> None:
        self.at = _where(self.device, place, what)
        if isinstance(what, Run):
            self._run(what)
        elif isinstance(what, Verdict):
            self._verdict(what)
        elif isinstance(what, Send):
            self._use((what.buffer, what.microbatch), what.slot)
        elif isinstance(what, Receive):
            self._define((what.buffer, what.microbatch), what.slot)
        else:
            instance = (what.buffer, what.microbatch)
            self._use(instance, what.slot, complete=False)
            if instance in self.kept:
                self._fail(f"{_text(instance)} is there after the step, so it is not freed")
            if instance[0] in self.verdict and not self.decided:
                self._fail(f"{_text(instance)} is there until the verdict on the step before, so it is not freed")
            self._remove(instance)

    def _verdict(self, what: Verdict) -> None:
        if self.decided or what.buffers != self.verdict:
            allowed = ", ".join(self.verdict) or "none"
            self._fail(f"a verdict with {', '.join(what.buffers)}; allowed: one with {allowed}")
        if self.backward:
            self._fail("a verdict after the first B or W")
        if len(what.slots) != len(what.buffers):
            self._fail(f"{len(what.slots)} slots for {', '.join(what.buffers)}")
        for name, slot in zip(what.buffers, what.slots, strict=True):
            self._use((name, None), slot)
        self.decided = True

    def _run(self, what: Run) -> None:
        f = self.step.fragment.get(what.fragment)
        if f is None or f.device != self.device:
            own = ", ".join(g.name for g in self.step.fragments if g.device == self.device)
            self._fail(f"no fragment of this device; allowed: {own}")
        phase = f.kind if f.kind in (PREPARE, UPDATE) else "microbatches"
        if self.phase != phase and (phase == PREPARE or self.phase == UPDATE):
            self._fail(f"a fragment of kind {f.kind} after one of {self.phase}")
        if f.kind == DEFERRED and self.backward:
            self._fail("a deferred fragment after the first B or W")
        if f.kind in ("B", "W", "BW", UPDATE):
            if self.verdict and not self.decided:
                self._fail("it runs before the verdict on the step before")
            self.backward = True
        self.phase = phase
        if what.microbatch not in (range(self.step.microbatches) if f.varying else (None,)):
            self._fail(f"it runs once per {'microbatch' if f.varying else 'step'}")
        self.runs[f.name, what.microbatch] += 1
        if self.runs[f.name, what.microbatch] > 1:
            self._fail("it has run before")
        for names, slots in ((f.reads, what.reads), (f.writes, what.writes), (f.accumulates, what.accumulates)):
            if len(names) != len(slots):
                self._fail(f"{len(slots)} slots for {', '.join(names)}")
        for name, slot in zip(f.reads, what.reads, strict=True):
            self._use(self.step.instance(name, what.microbatch), slot)
        for old, _ in f.aliases:
            self._remove(self.step.instance(old, what.microbatch))
        for name, slot in zip(f.writes, what.writes, strict=True):
            for old in (old for old, new in f.aliases if new == name):
                if what.reads[f.reads.index(old)] != slot:
                    self._fail(f"{name} goes to slot {slot}, and is written over {old}")
            self._define(self.step.instance(name, what.microbatch), slot)
        for name, slot in zip(f.accumulates, what.accumulates, strict=True):
            self.terms[name] += 1
            if what.begins:
                self._define((name, None), slot)
            else:
                self._use((name, None), slot, complete=False)

    def _use(self, instance: Instance, slot: int, complete: bool = True) -> None:
        if instance not in self.slot:
            gone = "was freed or written over" if instance in self.gone else "is not there yet"
            self._fail(f"{_text(instance)} {gone}")
        if self.slot[instance] != slot:
            self._fail(f"{_text(instance)} is in slot {self.slot[instance]}, not in slot {slot}")
        name = instance[0]
        if complete and name in self.step.sums and self.terms[name] < self.step.microbatches:
            self._fail(f"{name} has {self.terms[name]} microbatches of {self.step.microbatches}")

    def _define(self, instance: Instance, slot: int) -> None:
        if instance in self.slot or instance in self.gone:
            self._fail(f"{_text(instance)} was written before")
        if not 0 <= slot < self.instructions.slots[self.device]:
            self._fail(f"slot {slot} of {_text(instance)}; allowed: 0 to {self.instructions.slots[self.device] - 1}")
        if slot in self.content:
            self._fail(f"{_text(instance)} goes to slot {slot}, which has {_text(self.content[slot])}")
        self.slot[instance] = slot
        self.content[slot] = instance

    def _remove(self, instance: Instance) -> None:
        del self.content[self.slot.pop(instance)]
        self.gone.add(instance)

    def end(self) -> None:
        """Everything has run, and what is there is what should be."""
        self.at = f"device {self.device}, after its last instruction"
        if self.verdict and not self.decided:
            self._fail("the verdict on the step before is not there")
        for f in self.step.fragments:
            for i in range(self.step.microbatches) if f.varying else (None,):
                if f.device == self.device and not self.runs[f.name, i]:
                    self._fail(f"{Run(f.name, i)} is not there")
        for b in self.step.buffers:
            for i in self.step.instances(b.name):
                if b.device == self.device and (b.name, i) not in self.gone and (b.name, i) not in self.slot:
                    self._fail(f"{_text((b.name, i))} was never there")
        if lost := [i for i in self.kept if i not in self.slot]:
            self._fail(f"{_text(lost[0])} is not there any more")
        if left := [i for i in self.slot if i not in self.kept]:
            self._fail(f"{_text(left[0])} was not freed")
        if self.slot != self.instructions.results[self.device]:
            self._fail(f"results are in slots {self.slot}; allowed: {self.instructions.results[self.device]}")


def _text(instance: Instance) -> str:
    name, i = instance
    return name if i is None else f"{name} of microbatch {i}"
