"""Combining independent all-reduces into one, as XLA does: their latency is paid once.  No MLIR here."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pcg.cost import CostModel
from pcg.simulate.program import Program, Task


@dataclass
class _Open:
    """All-reduces that are collected: their tasks, and the first task that reads one of their results."""

    tasks: list[int]
    bytes: float
    reader: int


def combine(program: Program, limit: float, model: CostModel, cpu: bool = False) -> None:
    """Merge all-reduces over the same axes into one, at the place of the last, as long as none of their results is read
    before and they hold no more than `limit` bytes; inside of loops and branches too.

    XLA's CPU backend (`cpu`) puts them into one op too, and then adds up one array after the other: nothing is saved.
    """
    for task in program.tasks:
        for body in task.bodies:
            combine(body, limit, model, cpu)
    first: dict[int, int] = {}
    for t, task in enumerate(program.tasks):
        for v in task.reads:
            first.setdefault(v, t)
    end = len(program.tasks)
    merged: dict[int, list[int]] = {}
    open_: dict[object, _Open] = {}

    def close(key: object) -> None:
        found = open_.pop(key)
        if len(found.tasks) > 1:
            merged[found.tasks[-1]] = found.tasks

    for t, task in enumerate(program.tasks):
        if task.name != "all_reduce":
            continue
        key = task.detail["axes"]
        size = sum(program.sizes[v] for v in task.writes)
        reader = min((first.get(v, end) for v in task.writes), default=end)
        have = open_.get(key)
        if have is not None and (have.reader <= t or have.bytes + size > limit):
            close(key)
            have = None
        if have is None:
            open_[key] = _Open([t], size, reader)
        else:
            have.tasks.append(t)
            have.bytes, have.reader = have.bytes + size, min(have.reader, reader)
    for key in list(open_):
        close(key)
    if merged:
        _rewrite(program, merged, model, cpu)


def _rewrite(program: Program, merged: dict[int, list[int]], model: CostModel, cpu: bool) -> None:
    into = {t: last for last, tasks in merged.items() for t in tasks}
    number: dict[int, int] = {}
    out: list[Task] = []
    for t, task in enumerate(program.tasks):
        if t in merged:
            parts = [program.tasks[k] for k in merged[t]]
            sent = sum(p.bytes for p in parts)
            axes = task.detail["axes"]
            seconds = sum(p.seconds for p in parts) if cpu else model.link(axes, sent, "all_reduce")  # type: ignore[arg-type]
            task = replace(
                task, seconds=seconds, bytes=sent,
                reads=tuple(dict.fromkeys(v for p in parts for v in p.reads)),
                writes=tuple(v for p in parts for v in p.writes),
                detail={**task.detail, "type": f"{len(parts)} arrays", "combined": len(parts)},
            )  # fmt: skip
        if into.get(t, t) == t:
            number[t] = len(out)
            out.append(task)
    for task in out:
        task.after = tuple(number[into.get(a, a)] for a in task.after)
    program.tasks[:] = out
