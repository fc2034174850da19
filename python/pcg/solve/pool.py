"""Work in processes of their own: those of loky (https://loky.readthedocs.io), which Ctrl-C does not reach."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from multiprocessing.resource_tracker import ensure_running
from typing import Any, TypeVar

from pcg.solve.beside import can_start, without_ctrl_c

R = TypeVar("R")
Task = TypeVar("Task")
#: Seconds after which a process that has nothing to do ends.
IDLE = 20.0


def submit(executor: Any, function: Callable[..., R], *arguments: object) -> Future[R]:
    """As the executor's own, which may start processes."""
    ensure_running()  # loky starts it as well, and to start it unblocks Ctrl-C
    with without_ctrl_c():
        future: Future[R] = executor.submit(function, *arguments)
    return future


def each(function: Callable[[Task], R], tasks: Iterable[Task], jobs: int) -> Iterator[R]:
    """What a function returns for each task, in order, from `jobs` processes; from this one if that is 1, or if it may
    start none."""
    if jobs == 1 or not can_start():
        yield from map(function, tasks)
        return
    from loky import get_reusable_executor

    executor = get_reusable_executor(max_workers=jobs, timeout=IDLE)
    try:
        pending = [submit(executor, function, task) for task in tasks]
        for future in pending:
            yield future.result()
    except BaseException:  # nobody waits for the rest
        executor.shutdown(wait=False, kill_workers=True)
        raise
