"""What XLA's CPU backend makes of a program, as far as it decides memory.  No MLIR here.

It runs the kernels of a computation breadth first: one becomes ready when the last of its operands is done, and they
run in the order in which they became ready, from the users of the first argument on.  So everything that can
be done early is, and weight gradients of all layers are alive at once.  Before there is an order it decides what may be
written over: the memory of a donated argument, or of what a loop carries, may be taken by its new value only if every
other reader of the old value must run before the new one is made; else the old value is copied first.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from pcg.simulate.program import Program, Task


def for_cpu(program: Program, copy: float) -> None:
    """Copies where XLA puts them, and its order, in place; `copy` is in seconds per byte copied."""
    for task in program.tasks:
        for body in task.bodies:
            for_cpu(body, copy)
    _insert_copies(program, copy)
    _breadth_first(program)


def _insert_copies(program: Program, copy: float) -> None:
    """Copy arguments whose memory a result takes before all readers of the argument are known to be done."""
    p = program
    pairs = dict(enumerate(p.arguments)) if p.inner == "loop" else {r: p.arguments[a] for r, a in p.aliases.items()}
    writer = {w: t for t, task in enumerate(p.tasks) for w in task.writes}
    readers: dict[int, list[int]] = {}
    for t, task in enumerate(p.tasks):
        for v in task.reads:
            readers.setdefault(v, []).append(t)
    before: list[int] = []
    """Of each task a set of the tasks that it depends on, as bits."""
    for task in p.tasks:
        bits = 0
        for v in task.reads:
            if v in writer:
                bits |= before[writer[v]] | 1 << writer[v]
        before.append(bits)
    copies: list[Task] = []
    for r, argument in pairs.items():
        made = writer.get(p.results[r])
        if made is None or not p.sizes[argument]:
            continue
        late = [t for t in readers.get(argument, ()) if t != made and not before[made] >> t & 1]
        if not late:
            continue
        size = p.sizes[argument]
        new = p.value(size, p.names.get(argument, ""))
        copies.append(Task("copy", "compute", copy * size, reads=(argument,), writes=(new,), bytes=2 * size))
        for t in readers[argument]:
            p.tasks[t] = _reading(p.tasks[t], argument, new)
    p.tasks[:0] = copies


def _reading(task: Task, old: int, new: int) -> Task:
    over = {w: tuple(new if v == old else v for v in vs) for w, vs in task.over.items()}
    return replace(task, reads=tuple(new if v == old else v for v in task.reads), over=over)


def _breadth_first(program: Program) -> None:
    p = program
    writer = {w: t for t, task in enumerate(p.tasks) for w in task.writes}
    users: dict[int, list[int]] = {}
    waits = []
    for t, task in enumerate(p.tasks):
        for v in task.reads:
            users.setdefault(v, []).append(t)
        waits.append(len(task.reads))
    loose = set(range(len(p.sizes))) - set(writer)
    first = [v for v in p.arguments if v in loose]
    order: list[int] = []
    ready: deque[int] = deque()

    def done(value: int) -> None:
        for t in users.get(value, ()):
            waits[t] -= 1
            if not waits[t]:
                ready.append(t)

    for v in first + sorted(loose - set(first)):
        done(v)
    ready.extend(t for t, task in enumerate(p.tasks) if not task.reads)
    while ready:
        t = ready.popleft()
        order.append(t)
        for w in p.tasks[t].writes:
            done(w)
    p.tasks[:] = [p.tasks[t] for t in order]
