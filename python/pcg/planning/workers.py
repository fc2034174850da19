"""Candidates for a large program are evaluated side by side, in processes of their own.

The processes are those of loky (https://loky.readthedocs.io).  A task is sent to one with the program as bytecode, from
which the process makes its own workspace; what a task finds does not depend on where it runs, so a plan does not depend
on how many processes there are.
"""

from __future__ import annotations

import gc
import hashlib
import io
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from functools import cached_property
from types import TracebackType
from typing import Any, Generic, TypeVar

from torch_mlir import ir

from pcg.ir.clone import clone_module
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import parse_written
from pcg.ir.transformation import option
from pcg.ir.walk import body, walk
from pcg.planning.workspace import Workspace
from pcg.solve import beside, pool

R = TypeVar("R")
Key = TypeVar("Key")
#: What is to be done for a program.  It is pickled.
Task = Callable[[Workspace], R]

#: The option of what has tasks.
JOBS = option(0, "processes that evaluate candidates for a large program; 0: as many as there are cores")
#: Ops of a program for which processes are started.  Measured: one takes 1.2 s to start, a candidate for so many ops
#: 0.3 s, and there are 20 to 50 of them.
_LARGE = 500
#: loky ends a process that has grown by 300 MB since its first task, taking what it keeps of a program for a leak.
_ENVIRONMENT = {"LOKY_MAX_MEMORY_LEAK_SIZE": "1e15"}


class Workers:
    """Runs tasks for one program: in up to `jobs` processes (0: as many as there are cores) if it is large, else here.

    Tasks that run here do so when their result is asked for, in the order in which that is.

    Raises:
      PcgError: `jobs` is no such number.
    """

    def __init__(self, module: ir.Operation, jobs: int = 0) -> None:
        if not isinstance(jobs, int) or jobs < 0:
            raise PcgError(f"option 'jobs' is {jobs!r}; allowed: 0 or more", module)
        self.workspace = Workspace(module)
        self.ops = sum(1 for _ in walk(module))
        """How many ops the program has."""
        self._jobs = _available(jobs) if self.ops >= _LARGE and beside.can_start() else 1
        self._pending: list[Pending] = []
        self._starting = False
        self._program = b"", b""
        self._lenient = module.context.allow_unregistered_dialects

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for p in self._pending:
            p.cancel()
        # Of one whose start was interrupted nobody knows whether it runs.
        if self._starting or any(p.running for p in self._pending):  # the end of the program would wait for it
            self._executor().shutdown(wait=False, kill_workers=True)

    def start(self, task: Task[R]) -> Pending[R]:
        """Begin with a task, if not at once then when its result is asked for."""
        future = None
        if self._jobs > 1:
            if not any(self._program):
                self._program = _bytecode(self.workspace.module), _without_mesh(self.workspace.module)
            self._starting = True
            try:
                future = pool.submit(self._executor(), _run, *self._program, self._lenient, task)
            except (OSError, BrokenProcessPool):  # no shared memory here, or a process was killed
                self._jobs = 1
            self._starting = False
        found = Pending(self.workspace, task, future)
        self._pending.append(found)
        return found

    def each(self, tasks: Iterable[tuple[Key, Task[R]]]) -> Iterator[tuple[Key, R]]:
        """Run as many at a time as there are processes; the key of each and what it returns, in the order they end.

        The next of `tasks` is taken when it can begin, so that what makes it knows what was found by then.
        """
        running: dict[Future[R], tuple[Key, Pending[R]]] = {}
        for key, task in tasks:
            pending = self.start(task)
            if pending.future is None:
                yield key, pending.result()
                continue
            running[pending.future] = key, pending
            if len(running) == self._jobs:
                yield self._ended(running)
        while running:
            yield self._ended(running)

    @staticmethod
    def _ended(running: dict[Future[R], tuple[Key, Pending[R]]]) -> tuple[Key, R]:
        """Take one that has ended out of those that run."""
        ended = next(iter(wait(running, return_when=FIRST_COMPLETED).done))
        key, pending = running.pop(ended)
        return key, pending.result()

    def _executor(self) -> Any:
        from loky import get_reusable_executor

        # Killing: if the processes before are being ended, loky else takes that back and lets them go on.
        return get_reusable_executor(
            max_workers=self._jobs, timeout=pool.IDLE, kill_workers=True, initializer=_initialize, env=_ENVIRONMENT
        )


class Pending(Generic[R]):
    """A task that was started."""

    def __init__(self, workspace: Workspace, task: Task[R], future: Future[R] | None) -> None:
        self._workspace, self._task, self.future = workspace, task, future

    def result(self) -> R:
        """What the task returns, or raises."""
        if self.future is not None:
            try:
                return self.future.result()
            except BrokenProcessPool:  # as where memory is short: then one after another, here
                self.future = None
        return self._here

    @cached_property
    def _here(self) -> R:
        """What the task returns that is done in this process, once."""
        return self._task(self._workspace)

    @property
    def running(self) -> bool:
        """Whether a process works on it."""
        return self.future is not None and self.future.running()

    def cancel(self) -> None:
        """Do not begin, if nothing was done yet."""
        if self.future is not None:
            self.future.cancel()


def _available(jobs: int) -> int:
    """How many processes there may be."""
    from loky import cpu_count

    return jobs or cpu_count()


def _bytecode(module: ir.Operation) -> bytes:
    text = io.BytesIO()
    module.write_bytecode(text)
    return text.getvalue()


def _without_mesh(module: ir.Operation) -> bytes:
    """What is the same for programs that differ in their meshes only."""
    copy = clone_module(module).operation
    for op in [o.operation for o in body(copy).operations]:
        if op.name == "dist.mesh":
            op.erase()
    return hashlib.sha256(_bytecode(copy)).digest()


#: In a process of `Workers`: the program that the last task was for, what it is but for its mesh, and its workspace.
_current: tuple[bytes, bytes, Workspace] | None = None


def _initialize() -> None:
    # Measured: a tenth of the time goes to looking for cycles, and no less memory is needed for that.
    gc.disable()
    beside.forbid()


def _run(program: bytes, unmeshed: bytes, lenient: bool, task: Task[R]) -> R:
    gc.unfreeze()
    try:
        return _on_current(program, unmeshed, lenient, task)
    finally:
        gc.freeze()  # loky collects garbage between tasks: to look at all of a U-Net's graph takes 0.3 s


def _on_current(program: bytes, unmeshed: bytes, lenient: bool, task: Task[R]) -> R:
    global _current
    if _current is None or _current[0] != program:
        if _current is not None and _current[1] != unmeshed:
            _current = None
            gc.collect()  # of the program before, which nothing needs any more
        with make_context(allow_unregistered=lenient):
            workspace = Workspace(parse_written(program).operation)
        if _current is not None:
            workspace.adopt(_current[2])
        _current = program, unmeshed, workspace
    workspace = _current[2]
    with workspace.module.context, ir.Location.unknown():
        return task(workspace)
