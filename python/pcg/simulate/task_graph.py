"""A program as the simulator runs it: tasks on streams, and the values that pass between them.  No MLIR here.

A task is a fused kernel, a collective, a message, a loop or a conditional.  It names the values that it reads and
writes; from these follow what it waits for, and which memory is alive when.  A stream does one task at a time:
a device has one that computes and one that communicates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: Streams of the first device; those of the next are 2 and 3, and so on.
COMPUTE, COMMUNICATION = 0, 1


@dataclass(slots=True)
class Task:
    """One thing that takes time on its streams.

    `reads` and `writes` are numbers of values.  `over` maps a written value to the read ones whose memory it may take
    over when nothing reads them later; with `must` it is written into that memory in any case, and what is still
    needed of the old content is copied first (updates in place, loop carries).
    `passed` maps a written value to the read one that it is: what a loop carries unchanged.
    `after` are earlier tasks that it waits for besides the writers of what it reads.
    `bodies` are the program of a loop, run `iterations` times, or the branches of a conditional, of which the
    slowest counts.  `grows` marks a collective whose result is larger than its operand: it
    is not started long before its result is read.
    """

    name: str
    kind: str
    seconds: float
    streams: tuple[int, ...] = (COMPUTE,)
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    over: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    must: bool = False
    passed: Mapping[int, int] = field(default_factory=dict)
    after: tuple[int, ...] = ()
    bodies: tuple[TaskGraph, ...] = ()
    iterations: int = 1
    grows: bool = False
    where: str = ""
    flops: float = 0.0
    bytes: float = 0.0
    """Bytes through memory; of a collective those that one device sends."""
    detail: Mapping[str, object] = field(default_factory=dict)

    @property
    def communicates(self) -> bool:
        """Whether the task is a collective or a transfer."""
        return self.kind in ("collective", "transfer")


@dataclass
class TaskGraph:
    """Tasks in program order, and the sizes of their values in bytes.

    `arguments` are there from the start and stay, but for the `donated` ones, which may be written over after their
    last use.  `results` stay to the end; `aliases` says which argument's memory a result goes to.  Of a body of
    a loop, result `i` goes to the memory of argument `i`, which belongs to the loop; of a branch (`branch`) to
    memory that belongs to the conditional.
    """

    tasks: list[Task] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    arguments: tuple[int, ...] = ()
    donated: frozenset[int] = frozenset()
    results: tuple[int, ...] = ()
    aliases: Mapping[int, int] = field(default_factory=dict)
    inner: str = ""
    """`loop` or `branch` for a body, whose arguments and results belong to the task that it is the body of."""
    names: dict[int, str] = field(default_factory=dict)
    """What values are called, where they have a name."""
    constants: float = 0.0
    """Bytes of constants, which are there from beginning to end (not of a body: those are its program's)."""

    def value(self, size: float, name: str = "") -> int:
        """A new value of that many bytes."""
        self.sizes.append(size)
        if name:
            self.names[len(self.sizes) - 1] = name
        return len(self.sizes) - 1

    def writers(self) -> dict[int, int]:
        """Value -> the last task that writes it; without arguments and constants."""
        return {v: t for t, task in enumerate(self.tasks) for v in task.writes}

    def readers(self) -> dict[int, list[int]]:
        """Value -> the tasks that read it, in program order, once per operand."""
        found: dict[int, list[int]] = {}
        for t, task in enumerate(self.tasks):
            for v in task.reads:
                found.setdefault(v, []).append(t)
        return found

    def __len__(self) -> int:
        return len(self.tasks) + sum(len(b) for t in self.tasks for b in t.bodies)
