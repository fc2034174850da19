"""Programs on islands: their streams, whether they can run, and in which order one thread runs them."""

from __future__ import annotations

from dataclasses import dataclass

from pcg.controller.check_streams import check, peak_bytes
from pcg.controller.instructions import (
    Call,
    Collect,
    Copy,
    Dispatch,
    Free,
    Instruction,
    Receive,
    Send,
    Stream,
    StreamError,
    Streams,
    Value,
    nbytes,
)
from pcg.controller.progress import order

__all__ = [
    "Call", "Collect", "Copy", "Dispatch", "Free", "Instruction", "IslandProgram", "Receive", "Send", "Stream",
    "StreamError", "Value", "nbytes", "order", "peak_bytes",
]  # fmt: skip


@dataclass(frozen=True)
class IslandProgram(Streams):
    """A program on islands as the runtime takes it; see `Streams` for its fields."""

    def check(self, memory: int | None = None) -> None:
        """Whether the streams run the program, without waiting for ever, and in `memory` bytes per device.

        Raises:
          StreamError: see `pcg.controller.check_streams.check`.
        """
        check(self, memory)

    def __str__(self) -> str:
        """The streams in text, one instruction a line."""
        lines = [f"program {self.name}"]
        for island, stream in self.streams.items():
            arguments, results = (
                ", ".join(f"{n} in slot {s}" for n, s in at) for at in (stream.arguments, stream.results)
            )
            lines.append(f"{island}: arguments ({arguments}), results ({results}), {stream.slots} slots")
            lines += [f"  {instruction}" for instruction in stream.instructions]
        return "\n".join(lines)
