"""Tasks for `pcg.planning.workers`, importable in its processes."""

from __future__ import annotations

import gc
import os
import signal
import time
import weakref
from dataclasses import dataclass

from pcg.ir.errors import PcgError
from pcg.ir.walk import walk
from pcg.planning.workspace import Workspace
from pcg.search.outcome import DoesNotFit


@dataclass(frozen=True)
class Look:
    """A task: where it runs, and the names of the ops it sees."""

    def __call__(self, workspace: Workspace) -> tuple[int, list[str]]:
        return os.getpid(), [op.name for op in walk(workspace.module)]


@dataclass(frozen=True)
class Blocked:
    """A task: where it runs, and which signals do not reach that process."""

    def __call__(self, workspace: Workspace) -> tuple[int, set[int]]:
        return os.getpid(), set(signal.pthread_sigmask(signal.SIG_BLOCK, []))


@dataclass(frozen=True)
class Fail:
    """A task that refuses the first op of the program."""

    needed: float = 0.0

    def __call__(self, workspace: Workspace) -> None:
        op = next(op for op in walk(workspace.module) if op.name == "stablehlo.dot_general")
        raise DoesNotFit(1.0, self.needed).at(op) if self.needed else PcgError("is refused", op)


@dataclass(frozen=True)
class EndsOther:
    """A task that ends the process it runs in, if that is not `here`."""

    here: int

    def __call__(self, workspace: Workspace) -> int:
        if os.getpid() != self.here:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.here


@dataclass(frozen=True)
class Sleep:
    """A task that takes some seconds."""

    seconds: float

    def __call__(self, workspace: Workspace) -> None:
        time.sleep(self.seconds)


#: What tasks of `Grow` keep.
_kept: list[bytes] = []


@dataclass(frozen=True)
class Grow:
    """A task that keeps some bytes and takes some seconds: where it runs, and how many objects are never collected."""

    size: int
    seconds: float = 0.0

    def __call__(self, workspace: Workspace) -> tuple[int, int]:
        _kept.append(b"x" * self.size)
        time.sleep(self.seconds)
        return os.getpid(), gc.get_freeze_count()


@dataclass
class _Cycle:
    """Refers to itself."""

    own: _Cycle | None = None


#: What tasks of `Leak` have left behind.
leaked: list[weakref.ref[_Cycle]] = []


@dataclass(frozen=True)
class Leak:
    """A task that leaves a cycle of objects behind."""

    def __call__(self, workspace: Workspace) -> None:
        found = _Cycle()
        found.own = found
        leaked.append(weakref.ref(found))
