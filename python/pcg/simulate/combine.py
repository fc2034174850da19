"""Combining independent all-reduces into one, as XLA does: their latency is paid once.  No MLIR here."""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass, replace

from pcg.cost import CostModel
from pcg.simulate.program import Program, Task


@dataclass
class _Group:
    """All-reduces that become one: their tasks, bytes, the groups that must be done before, as bits, and the first task
    that reads one of their results."""

    tasks: list[int]
    bytes: float
    needs: int
    reader: int


def combine(program: Program, limit: float, model: CostModel, cpu: bool = False) -> None:
    """Merge all-reduces that add up alike over the same axes, none of which depends on another, into one at the place
    of the last, as long as they hold no more than `limit` bytes; inside of loops and branches too.

    Only where nothing reads a result before the last is made, so that no compute waits for it longer than it would.
    XLA's CPU backend (`cpu`) knows no order yet when it does this: what reads a result too early moves behind.  And
    then it adds up one array after the other, so nothing is saved but meetings.
    """
    for task in program.tasks:
        for body in task.bodies:
            combine(body, limit, model, cpu)
    end = len(program.tasks)
    first: dict[int, int] = {}
    for t, task in enumerate(program.tasks):
        for v in task.reads:
            first.setdefault(v, t)
    groups: list[_Group] = []
    open_: dict[object, int] = {}
    needs: defaultdict[int, int] = defaultdict(int)
    """Of each value the groups that it is made of, as bits."""
    done: list[int] = []
    for t, task in enumerate(program.tasks):
        before = 0
        for v in task.reads:
            before |= needs[v]
        for a in task.after:
            before |= done[a]
        if task.name == "all_reduce":
            size = sum(program.sizes[v] for v in task.writes)
            g = open_.get(_like(task))
            if (
                g is None or groups[g].bytes + size > limit or _closure(groups, before) >> g & 1
                or not cpu and groups[g].reader < t
            ):  # fmt: skip
                g = open_[_like(task)] = len(groups)
                groups.append(_Group([], 0.0, 0, end))
            group = groups[g]
            group.tasks.append(t)
            group.bytes, group.needs = group.bytes + size, group.needs | before
            group.reader = min(group.reader, *(first.get(v, end) for v in task.writes), end)
            before |= 1 << g
        done.append(before)
        if before:
            for v in task.writes:
                needs[v] = before
    merged = {g.tasks[-1]: g.tasks for g in groups if len(g.tasks) > 1}
    if merged:
        _rewrite(program, merged, model, cpu)


def _like(task: Task) -> tuple[object, ...]:
    """What all-reduces have in common that XLA combines: who takes part, the type of element, and what adds up."""
    return task.detail["axes"], str(task.detail["type"]).partition("[")[0], task.detail.get("by")


def _closure(groups: list[_Group], needs: int) -> int:
    """The groups of `needs` and all that these need."""
    found, new = needs, needs
    while new:
        g = new.bit_length() - 1
        new ^= 1 << g
        more = groups[g].needs & ~found
        found, new = found | more, new | more
    return found


def _rewrite(program: Program, merged: dict[int, list[int]], model: CostModel, cpu: bool) -> None:
    """Put each merged task at the place of its last, and what then reads a result too early behind it."""
    into = {t: last for last, tasks in merged.items() for t in tasks}
    for last, tasks in merged.items():
        parts = [program.tasks[k] for k in tasks]
        sent = sum(p.bytes for p in parts)
        axes = parts[-1].detail["axes"]
        seconds = sum(p.seconds for p in parts) if cpu else model.link(axes, sent, "all_reduce")  # type: ignore[arg-type]
        program.tasks[last] = replace(
            parts[-1], seconds=seconds, bytes=sent,
            reads=tuple(dict.fromkeys(v for p in parts for v in p.reads)),
            writes=tuple(v for p in parts for v in p.writes),
            after=tuple({into.get(a, a) for p in parts for a in p.after}),
            detail={**parts[-1].detail, "type": f"{len(parts)} arrays", "combined": len(parts)},
        )  # fmt: skip
    kept = [t for t in range(len(program.tasks)) if into.get(t, t) == t]
    writer = {v: t for t in kept for v in program.tasks[t].writes}
    waits: dict[int, int] = {}
    users: defaultdict[int, list[int]] = defaultdict(list)
    for t in kept:
        task = program.tasks[t]
        before = {writer[v] for v in task.reads if v in writer} | {into.get(a, a) for a in task.after}
        waits[t] = len(before)
        for b in before:
            users[b].append(t)
    ready = [t for t in kept if not waits[t]]
    order: list[int] = []
    while ready:
        t = heapq.heappop(ready)
        order.append(t)
        for u in users[t]:
            waits[u] -= 1
            if not waits[u]:
                heapq.heappush(ready, u)
    number = {t: n for n, t in enumerate(order)}
    for t in order:
        task = program.tasks[t]
        if task.after:
            program.tasks[t] = replace(task, after=tuple(number[into.get(a, a)] for a in task.after))
    program.tasks[:] = [program.tasks[t] for t in order]
