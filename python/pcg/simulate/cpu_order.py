"""The order and the copies of XLA's CPU backend, which decide how much memory a program takes.  No MLIR here.

It runs the kernels of a computation breadth first: one becomes ready when the last of its operands is done, and they
run in the order in which they became ready, from the users of the first argument on.  So everything that can
be done early is, and weight gradients of all layers are alive at once.  Before there is an order it decides what may be
written over: the memory of a donated argument, or of what a loop carries, may be taken by its new value only if every
other reader of the old value must run before the new one is made; else the old value is copied first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from pcg.simulate.task_graph import Task, TaskGraph


def reorder_for_cpu(graph: TaskGraph, copy: Callable[[float], float]) -> None:
    """Insert copies where XLA does and put tasks into its order; `copy`: seconds of so many bytes."""
    for task in graph.tasks:
        for body in task.bodies:
            reorder_for_cpu(body, copy)
    _insert_copies(graph, copy)
    _breadth_first(graph)


def _insert_copies(graph: TaskGraph, copy: Callable[[float], float]) -> None:
    """Copy arguments whose memory a result takes before all readers of the argument are known to be done."""
    p = graph
    pairs = dict(enumerate(p.arguments)) if p.inner == "loop" else {r: p.arguments[a] for r, a in p.aliases.items()}
    writer, readers = p.writers(), p.readers()
    #: Of each task a set of the tasks that it depends on, as bits.
    before: list[int] = []
    for task in p.tasks:
        bits = 0
        for v in task.reads:
            if v in writer:
                bits |= before[writer[v]] | 1 << writer[v]
        before.append(bits)
    copies: list[Task] = []
    for r, argument in pairs.items():
        last = writer.get(p.results[r])
        if last is None or not p.sizes[argument]:
            continue
        if all(t == last or before[last] >> t & 1 for t in readers.get(argument, ())):
            continue
        size = p.sizes[argument]
        new = p.value(size, p.names.get(argument, ""))
        copies.append(Task("copy", "compute", copy(size), reads=(argument,), writes=(new,), bytes=2 * size))
        for t in readers[argument]:
            p.tasks[t] = _reading(p.tasks[t], argument, new)
    p.tasks[:0] = copies


def _reading(task: Task, old: int, new: int) -> Task:
    over = {w: tuple(new if v == old else v for v in vs) for w, vs in task.over.items()}
    return replace(task, reads=tuple(new if v == old else v for v in task.reads), over=over)


def _breadth_first(graph: TaskGraph) -> None:
    p = graph
    users, waits = p.readers(), [len(task.reads) for task in p.tasks]
    unwritten = set(range(len(p.sizes))) - set(p.writers())
    first = [v for v in p.arguments if v in unwritten]
    order: list[int] = []
    ready: deque[int] = deque()

    def done(value: int) -> None:
        for t in users.get(value, ()):
            waits[t] -= 1
            if not waits[t]:
                ready.append(t)

    for v in first + sorted(unwritten - set(first)):
        done(v)
    ready.extend(t for t, task in enumerate(p.tasks) if not task.reads)
    while ready:
        t = ready.popleft()
        order.append(t)
        for w in p.tasks[t].writes:
            done(w)
    p.tasks[:] = [p.tasks[t] for t in order]
