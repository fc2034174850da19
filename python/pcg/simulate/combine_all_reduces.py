"""Combining independent all-reduces into one, as XLA does: their latency is paid once.  No MLIR here."""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass, replace

from pcg.cost import CostModel
from pcg.simulate.task_graph import Task, TaskGraph


@dataclass
class _Combined:
    """All-reduces that become one: their tasks and bytes, the other combined ones that must be done before (as bits),
    and the first task that reads one of their results."""

    tasks: list[int]
    bytes: float
    needs: int
    reader: int


def combine_all_reduces(graph: TaskGraph, limit: float, model: CostModel, cpu: bool = False) -> None:
    """Merge independent all-reduces of one reduction over the same axes into one in the position of the last, up to
    `limit` bytes; inside of loops and branches too.

    Only where nothing reads a result before the last of them has run, so that no compute waits longer than it would.
    XLA's CPU backend (`cpu`) has no order yet when it does this: tasks that read a result earlier go behind.  It then
    reduces one array after the other, so that only synchronisation is saved.
    """
    for task in graph.tasks:
        for body in task.bodies:
            combine_all_reduces(body, limit, model, cpu)
    end = len(graph.tasks)
    first = {v: tasks[0] for v, tasks in graph.readers().items()}
    groups: list[_Combined] = []
    open_: dict[object, int] = {}
    #: Of each value the groups that it depends on, as bits.
    needs: defaultdict[int, int] = defaultdict(int)
    done: list[int] = []
    for t, task in enumerate(graph.tasks):
        before = 0
        for v in task.reads:
            before |= needs[v]
        for a in task.after:
            before |= done[a]
        if task.name == "all_reduce":
            size = sum(graph.sizes[v] for v in task.writes)
            g = open_.get(_key(task))
            if (
                g is None or groups[g].bytes + size > limit or _closure(groups, before) >> g & 1
                or not cpu and groups[g].reader < t
            ):  # fmt: skip
                g = open_[_key(task)] = len(groups)
                groups.append(_Combined([], 0.0, 0, end))
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
        _rewrite(graph, merged, model, cpu)


def _key(task: Task) -> tuple[object, ...]:
    """What XLA only combines all-reduces with the same of: axes, element type and reduction."""
    return task.detail["axes"], str(task.detail["type"]).partition("[")[0], task.detail.get("by")


def _closure(groups: list[_Combined], needs: int) -> int:
    """The groups of `needs` and all that these need."""
    found, new = needs, needs
    while new:
        g = new.bit_length() - 1
        new ^= 1 << g
        more = groups[g].needs & ~found
        found, new = found | more, new | more
    return found


def _rewrite(graph: TaskGraph, merged: dict[int, list[int]], model: CostModel, cpu: bool) -> None:
    """Put each merged task in the position of its last, and tasks that read a result earlier behind it."""
    into = {t: last for last, tasks in merged.items() for t in tasks}
    for last, tasks in merged.items():
        parts = [graph.tasks[k] for k in tasks]
        wire_bytes = sum(p.bytes for p in parts)
        axes = parts[-1].detail["axes"]
        seconds = sum(p.seconds for p in parts) if cpu else model.link(axes, wire_bytes, "all_reduce")  # type: ignore[arg-type]
        graph.tasks[last] = replace(
            parts[-1], seconds=seconds, bytes=wire_bytes,
            reads=tuple(dict.fromkeys(v for p in parts for v in p.reads)),
            writes=tuple(v for p in parts for v in p.writes),
            after=tuple({into.get(a, a) for p in parts for a in p.after}),
            detail={**parts[-1].detail, "type": f"{len(parts)} arrays", "combined": len(parts)},
        )  # fmt: skip
    kept = [t for t in range(len(graph.tasks)) if into.get(t, t) == t]
    writer = {v: t for t in kept for v in graph.tasks[t].writes}
    waits: dict[int, int] = {}
    users: defaultdict[int, list[int]] = defaultdict(list)
    for t in kept:
        task = graph.tasks[t]
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
        task = graph.tasks[t]
        if task.after:
            graph.tasks[t] = replace(task, after=tuple(number[into.get(a, a)] for a in task.after))
    graph.tasks[:] = [graph.tasks[t] for t in order]
