"""Instructions of every device for a step: what to run, send, receive and free, and where each value is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pcg.pipeline.step import Step

#: (buffer, microbatch): a value; None of a buffer that is one per step.
Instance = tuple[str, int | None]


@dataclass(frozen=True, slots=True)
class Run:
    """Run a fragment; sums are part of it."""

    fragment: str
    microbatch: int | None
    reads: tuple[int, ...] = ()
    """Slots of `Fragment.reads`, in their order."""
    writes: tuple[int, ...] = ()
    """Slots of `Fragment.writes`; of one that writes over what it reads the slot of that."""
    accumulates: tuple[int, ...] = ()
    """Slots of `Fragment.accumulates`, read and replaced."""
    begins: bool = False
    """It is the first run of a fragment that accumulates: those slots are empty before it."""

    def __str__(self) -> str:
        return f"Run {self.fragment}{_of(self.microbatch)}"


@dataclass(frozen=True, slots=True)
class Send:
    """Put a value into the channel to another device; blocks while the channel is full."""

    buffer: str
    microbatch: int | None
    peer: int
    tag: int
    """The number of the transfer times microbatches, plus the microbatch: unique, the same on both ends."""
    slot: int = -1

    def __str__(self) -> str:
        return f"Send {self.buffer}{_of(self.microbatch)} to device {self.peer}"


@dataclass(frozen=True, slots=True)
class Receive:
    """Take the next value out of the channel from another device; blocks while the channel is empty."""

    buffer: str
    """The target of the transfer."""
    microbatch: int | None
    peer: int
    tag: int
    slot: int = -1

    def __str__(self) -> str:
        return f"Receive {self.buffer}{_of(self.microbatch)} from device {self.peer}"


@dataclass(frozen=True, slots=True)
class Free:
    """Nothing reads this value any more."""

    buffer: str
    microbatch: int | None
    slot: int = -1

    def __str__(self) -> str:
        return f"Free {self.buffer}{_of(self.microbatch)}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Find out whether the update of the step before was right: its numbers are those that were predicted.

    If not, all devices drop what they have done of this step, restore what was there before that update, run it with
    the right numbers, and begin this step again.
    """

    buffers: tuple[str, ...]
    """The numbers, and all that the update of the step before has read."""
    slots: tuple[int, ...] = ()

    def __str__(self) -> str:
        return "Verdict on the step before"


Instruction = Run | Send | Receive | Free | Verdict


@dataclass(frozen=True)
class Instructions:
    """A list of instructions per device, which does them one after another.

    There is a channel from each device to each other one.  It is first in, first out, and has room for `capacity`
    values, on the device that receives them.  Two devices do the transfers between them, in both directions, in the
    same order.
    """

    step: Step
    lists: tuple[tuple[Instruction, ...], ...]
    """By device."""
    order: tuple[int, ...]
    """A device per instruction: whose next one is next where one thread does those of all."""
    slots: tuple[int, ...]
    """How many slots each device has; a slot has one value at a time."""
    places: tuple[dict[Instance, int], ...]
    """By device: the slots of arguments before the step."""
    results: tuple[dict[Instance, int], ...]
    """By device: the slots of what is there after the step: results, and arguments that are not donated."""
    capacity: int


def global_order(instructions: Instructions) -> Iterator[tuple[int, Instruction]]:
    """(device, instruction) of all devices as one thread does them: by the schedule's times, and nothing before what it
    waits for."""
    left = [iter(found) for found in instructions.lists]
    for device in instructions.order:
        yield device, next(left[device])


def _of(microbatch: int | None) -> str:
    return "" if microbatch is None else f" of microbatch {microbatch}"
