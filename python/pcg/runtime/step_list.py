"""The instructions of a step between others, as one thread dispatches them.  Imports jax."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pcg.pipeline.instructions import Instance, Instruction, Instructions, Receive, Run, Send, Verdict, global_order
from pcg.pipeline.step import DEFERRED
from pcg.runtime.pipeline import PipelineExecutable, there_after


class StepList:
    """The instructions of a step, in two parts: what needs no verdict on the step before, and the others.

    On each device the second part begins with the verdict, or with what waits for something behind that of another one.
    """

    def __init__(self, executable: PipelineExecutable, instructions: Instructions) -> None:
        self.executable, self.instructions = executable, instructions
        self.parts: tuple[list[Any], list[Any]] = ([], [])
        waiting, gone = set[int](), set[int]()
        channels: Counter[tuple[int, int]] = Counter()
        for device, what in global_order(instructions):
            if isinstance(what, Verdict):
                waiting.add(device)
            elif isinstance(what, Receive) and what.tag not in gone:
                waiting.add(device)
            elif isinstance(what, Send) and channels[device, what.peer] == instructions.capacity:
                waiting.add(device)
            if device not in waiting:
                if isinstance(what, Send):
                    gone.add(what.tag)
                    channels[device, what.peer] += 1
                elif isinstance(what, Receive):
                    channels[what.peer, device] -= 1
            if not isinstance(what, Verdict):
                act = executable.action(instructions.step, what, deletes=False)
                self.parts[device in waiting].append((device, what, act))

    def run(
        self, part: int, slots: list[list[Any]], channels: dict[Any, Any], done: Mapping[str, Any] | None = None,
        peaks: list[int] | None = None,
    ) -> None:  # fmt: skip
        """Dispatch a part.

        Args:
          part: 0 or 1.
          slots: of all groups.
          channels: what is sent and not received.
          done: what deferred fragments would write, where they have run.
          peaks: raised to the bytes that are there.
        """
        for device, what, act in self.parts[part]:
            own = slots[device]
            if done is not None and self._is_deferred(what):
                for name, slot in zip(self.instructions.step.fragment[what.fragment].writes, what.writes, strict=True):
                    own[slot] = done.get(name)
            elif isinstance(what, Send) and own[what.slot] is None:
                channels[what.tag] = None
            else:
                act(own, channels)
            if peaks is not None:
                self.executable.count(device, what, slots, channels, peaks)

    def after(self, slots: list[list[Any]]) -> dict[Instance, Any]:
        """What is there after the step."""
        return there_after(self.instructions, slots)

    def filled(self, values: Mapping[str, Any]) -> list[list[Any]]:
        """Slots with values."""
        return self.executable.filled(self.instructions, values)

    def _is_deferred(self, what: Instruction) -> bool:
        return isinstance(what, Run) and self.instructions.step.fragment[what.fragment].kind == DEFERRED
