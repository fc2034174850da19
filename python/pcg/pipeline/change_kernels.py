"""Compiled changes to the orders of a schedule: what is timed again is only what a change reaches."""

from __future__ import annotations

from pcg.kernels.native import FloatRows, Floats, IntRows, Ints, kernel
from pcg.pipeline.timing_kernels import SLACK

#: Rows of the tables of integers of a search, an entry per task: its row of F, B or W of a stage, its device, the
#: task that it waits for, those that wait for it, its position in the orders, tasks in an order in which each comes
#: behind all that it waits for, its position there, when it was marked, tasks that were timed again, a longest path,
#: tasks to be put back, the best orders.
ROW, OWNER, BEFORE, AFTER, NEXT, WHERE, QUEUE, PLACE, MARK, CHANGED, PATH, KEPT, BEST = range(13)
#: Rows of the tables of floats: duration, latency after the task before, start, start before the change.
LENGTH, LAG, START, WAS = range(4)
INTEGERS, FLOATS = 13, 4


@kernel
def set_up(
    device: Ints, duration: Floats, hop: float, microbatches: int, ints: IntRows, floats: FloatRows
) -> None:  # fmt: skip
    """The rows that do not depend on the orders."""
    stages, m = len(device), microbatches
    for row in range(3 * stages):
        kind = row // stages
        stage = row - kind * stages
        for i in range(m):
            t = row * m + i
            before, after, following, lag = -1, -1, -1, 0.0
            if kind == 0:
                if stage > 0:
                    before = t - m
                    lag = hop if device[stage - 1] != device[stage] else 0.0
                after = t + m if stage < stages - 1 else (stages + stage) * m + i
            elif kind == 1:
                if stage < stages - 1:
                    before = t + m
                    lag = hop if device[stage + 1] != device[stage] else 0.0
                else:
                    before = stage * m + i
                if stage > 0:
                    after = t - m
                following = (2 * stages + stage) * m + i
            else:
                before = (stages + stage) * m + i
            ints[ROW, t] = row
            ints[OWNER, t] = device[stage]
            ints[BEFORE, t] = before
            ints[AFTER, t] = after
            ints[NEXT, t] = following
            floats[LENGTH, t] = duration[row]
            floats[LAG, t] = lag


@kernel
def line_up(order: Ints, offset: Ints, at: Ints, ints: IntRows, floats: FloatRows) -> int:
    """Time orders; QUEUE gets the tasks, each behind all that it waits for.  Returns how many get there."""
    devices = len(offset) - 1
    for t in range(len(order)):
        floats[START, t] = -1.0
        ints[MARK, t] = -1
    for k in range(len(order)):
        ints[WHERE, order[k]] = k
    for d in range(devices):
        at[d] = offset[d]
    done, before = 0, -1
    while done > before:
        before = done
        for d in range(devices):
            while at[d] < offset[d + 1]:
                t = order[at[d]]
                start = 0.0
                u = ints[BEFORE, t]
                if u >= 0:
                    if floats[START, u] < 0.0:
                        break
                    start = floats[START, u] + floats[LENGTH, u] + floats[LAG, t]
                if at[d] > offset[d]:
                    u = order[at[d] - 1]
                    start = max(start, floats[START, u] + floats[LENGTH, u])
                floats[START, t] = start
                ints[QUEUE, done] = t
                ints[PLACE, t] = done
                at[d] += 1
                done += 1
    return done


@kernel
def insert(order: Ints, a: int, b: int, ints: IntRows) -> None:
    """Take the task at a to b; those between them go one place on."""
    t = order[a]
    step = 1 if b > a else -1
    while a != b:
        order[a] = order[a + step]
        ints[WHERE, order[a]] = a
        a += step
    order[b] = t
    ints[WHERE, t] = b


@kernel
def allowed(
    order: Ints, begin: int, a: int, b: int, change: Floats, limit: float, memory: Floats, ints: IntRows
) -> bool:  # fmt: skip
    """Whether the task at a may go to b: past none of its own row and none that it waits for or that waits for it, and
    within the memory.  `memory` is what is used after each position; `begin` is the first one of the device."""
    t = order[a]
    own = change[ints[ROW, t]]
    most = limit * (1.0 + SLACK)
    if b > a:
        for k in range(a + 1, b + 1):
            u = order[k]
            if ints[ROW, u] == ints[ROW, t] or ints[BEFORE, u] == t or (own < 0.0 and memory[k] - own > most):
                return False
        return True
    if own > 0.0 and (memory[b - 1] if b > begin else 0.0) + own > most:
        return False
    for k in range(b, a):
        u = order[k]
        if ints[ROW, u] == ints[ROW, t] or ints[BEFORE, t] == u or (own > 0.0 and memory[k] + own > most):
            return False
    return True


@kernel
def add_up(order: Ints, begin: int, until: int, change: Floats, memory: Floats, first: int, ints: IntRows) -> None:
    """What is used after each position from `begin` to `until`, on the device whose first one is `first`."""
    now = memory[begin - 1] if begin > first else 0.0
    for k in range(begin, until):
        now += change[ints[ROW, order[k]]]
        memory[k] = now


@kernel
def requeue(order: Ints, offset: Ints, t: int, u: int, later: int, stamp: int, ints: IntRows) -> int:
    """Take t behind u (`later`) or before it in QUEUE, with what has to go with it.

    KEPT gets the part of QUEUE that this changes.  Returns how long that is, negative if t and u wait for each other.
    """
    low, high = (ints[PLACE, t], ints[PLACE, u]) if later else (ints[PLACE, u], ints[PLACE, t])
    ints[MARK, t] = stamp
    for n in range(high - low):
        x = ints[QUEUE, low + 1 + n] if later else ints[QUEUE, high - 1 - n]
        tied = False
        if later:
            y = ints[BEFORE, x]
            tied = y >= 0 and ints[MARK, y] == stamp
            k = ints[WHERE, x]
            if not tied and k > offset[ints[OWNER, x]]:
                tied = ints[MARK, order[k - 1]] == stamp
        else:
            y = ints[AFTER, x]
            tied = y >= 0 and ints[MARK, y] == stamp
            y = ints[NEXT, x]
            tied = tied or (y >= 0 and ints[MARK, y] == stamp)
            k = ints[WHERE, x]
            if not tied and k + 1 < offset[ints[OWNER, x] + 1]:
                tied = ints[MARK, order[k + 1]] == stamp
        if tied:
            if x == u:
                return -1 - n
            ints[MARK, x] = stamp
    for k in range(low, high + 1):
        ints[KEPT, k - low] = ints[QUEUE, k]
    # Those that are tied to t are the last of the part (`later`) or its first, in the order in which they were.
    k = low
    for passed in range(2):
        for n in range(high - low + 1):
            x = ints[KEPT, n]
            if (ints[MARK, x] == stamp) == (passed == later):
                ints[QUEUE, k] = x
                ints[PLACE, x] = k
                k += 1
    return high - low + 1


@kernel
def retime(
    order: Ints, offset: Ints, a: int, b: int, stamp: int, ints: IntRows, floats: FloatRows, seen: Ints
) -> int:  # fmt: skip
    """Start times after the order has changed from position a to b, and of all that this delays or no longer does.

    CHANGED gets the tasks whose time is another, WAS what it was.  Returns how many; `seen` counts the positions of
    QUEUE that were looked at.
    """
    until = offset[ints[OWNER, order[a]] + 1]
    first, last = len(order), -1
    for n in range(4):
        w = (a, a + 1, b, b + 1)[n]
        if w < until:
            t = order[w]
            ints[MARK, t] = stamp
            first, last = min(first, ints[PLACE, t]), max(last, ints[PLACE, t])
    count, k = 0, first
    while k <= last:
        t = ints[QUEUE, k]
        k += 1
        if ints[MARK, t] != stamp:
            continue
        start = 0.0
        u = ints[BEFORE, t]
        if u >= 0:
            start = floats[START, u] + floats[LENGTH, u] + floats[LAG, t]
        w, d = ints[WHERE, t], ints[OWNER, t]
        if w > offset[d]:
            u = order[w - 1]
            start = max(start, floats[START, u] + floats[LENGTH, u])
        if start == floats[START, t]:
            continue
        ints[CHANGED, count] = t
        floats[WAS, count] = floats[START, t]
        count += 1
        floats[START, t] = start
        for n in range(3):
            if n == 2:
                u = order[w + 1] if w + 1 < offset[d + 1] else -1
            else:
                u = ints[NEXT if n else AFTER, t]
            if u >= 0:
                ints[MARK, u] = stamp
                last = max(last, ints[PLACE, u])
    seen[0] += k - first
    return count


@kernel
def take_back(
    order: Ints, a: int, b: int, low: int, length: int, count: int, ints: IntRows, floats: FloatRows
) -> None:  # fmt: skip
    """Undo a change: the task at b goes back to a, and KEPT and WAS have what else there was."""
    for n in range(count):
        floats[START, ints[CHANGED, n]] = floats[WAS, n]
    for n in range(length):
        t = ints[KEPT, n]
        ints[QUEUE, low + n] = t
        ints[PLACE, t] = low + n
    insert(order, b, a, ints)
