"""Compiled loops that make schedules: what each device does next is chosen when it is free."""

from __future__ import annotations

from pcg.kernels.native import Floats, Ints, kernel
from pcg.pipeline.random_kernels import drawn, next_state
from pcg.pipeline.timing_kernels import NEVER, OTHERS, SLACK, time_orders, value


@kernel
def _begin(
    device: Ints, microbatches: int, known: Ints, done: Ints, place: Ints, arrival: Floats, free: Floats, wake: Floats,
    used: Floats,
) -> None:  # fmt: skip
    """Nothing is done, and all microbatches are there for the first stage."""
    known[:] = 0
    done[:] = 0
    place[:] = 0
    free[:] = 0.0
    used[:] = 0.0
    wake[:] = NEVER
    wake[device[0]] = 0.0
    known[0] = microbatches
    for i in range(microbatches):
        arrival[i] = 0.0


@kernel
def _next(wake: Floats) -> int:
    """The device that is the first to choose."""
    d = 0
    for e in range(1, len(wake)):
        if wake[e] < wake[d]:
            d = e
    return d


@kernel
def _do(
    d: int, row: int, now: float, device: Ints, duration: Floats, change: Floats, hop: float, m: int, order: Ints,
    offset: Ints, arrival: Floats, known: Ints, done: Ints, pending: Ints, place: Ints, free: Floats, wake: Floats,
    used: Floats,
) -> None:  # fmt: skip
    """Device d does the next task of a kind and stage, `row`, and those that wait for it learn when it is done."""
    devices, stages = len(offset) - 1, len(device)
    kind = row // stages
    stage = row - kind * stages
    i = done[row]
    task = row * m + i
    if kind == 2:
        task = pending[offset[d] + place[d]]
        place[d] += 1
    done[row] += 1
    order[offset[d] + done[3 * stages + d]] = task
    done[3 * stages + d] += 1
    used[d] += change[row]
    free[d] = now + duration[row]
    wake[d] = free[d]
    to = -1
    if kind == 0:
        to = stage + 1 if stage < stages - 1 else stages + stage
    elif kind == 1:
        pending[offset[d] + place[devices + d]] = (2 * stages + stage) * m + i
        place[devices + d] += 1
        to = stages + stage - 1 if stage > 0 else -1
    if to >= 0:
        e = device[to if to < stages else to - stages]
        a = free[d] + (hop if e != d else 0.0)
        arrival[to * m + known[to]] = a
        known[to] += 1
        if e != d and wake[e] > max(a, free[e]):
            wake[e] = max(a, free[e])


@kernel
def _with_w(
    d: int, row: int, gap: float, share: float, backlog: int, slack: float, m: int, duration: Floats, offset: Ints,
    pending: Ints, place: Ints,
) -> int:  # fmt: skip
    """What device d does next: its oldest W where `backlog` wait, or where it has nothing else (`row` -1) and `share`
    times the W fits into the gap; else `row`."""
    waiting = place[len(offset) - 1 + d] - place[d]
    if waiting == 0:
        return row
    w = pending[offset[d] + place[d]] // m
    if waiting >= backlog or (row < 0 and gap >= share * duration[w] - slack):
        return w
    return row


@kernel
def list_schedule(
    device: Ints, own: Ints, first: Ints, duration: Floats, change: Floats, reserve: Floats, limit: Floats, hop: float,
    microbatches: int, alternate: int, later_first: int, patience: float, fill: float, squeeze: float, backlog: int,
    order: Ints, offset: Ints, arrival: Floats, known: Ints, done: Ints, pending: Ints, place: Ints, free: Floats,
    wake: Floats, used: Floats, last: Ints,
) -> int:  # fmt: skip
    """An order by rules that each device follows when it is free, from what has started anywhere by then.

    It does a B that is there, else an F that is there and fits, or (`alternate`) first the one of these that it did not
    do last; of several stages the last one, of an F the first one unless `later_first`.  It waits for a B that is on
    its way if an F would delay it and the wait is at most `patience` times the F.  A W is done meanwhile where `fill`
    times it, or `squeeze` times where an F does not fit, is over before what comes next; and where `backlog` W wait.
    An F fits where `reserve` of its stage, which its microbatch needs later on this device, remains below `limit`.

    `order[offset[d]:]` gets the tasks of device d.  Work space: `arrival` two entries per stage and microbatch, `known`
    three per stage, `done` as many and one per device, `pending` one per task, `place` two per device, `free`, `wake`,
    `used`, `last` one per device.  Returns how many tasks were put in order.
    """
    stages, m = len(device), microbatches
    _begin(device, m, known, done, place, arrival, free, wake, used)
    last[:] = 0
    total = 0
    while True:
        d = _next(wake)
        now = wake[d]
        if now >= NEVER:
            return total
        slack = SLACK * (1.0 + now)
        soon = now + slack
        f, f_at, b, b_at, blocked = -1, NEVER, -1, NEVER, False
        for k in range(first[d], first[d + 1]):
            s = own[k]
            i = done[s]
            if i < known[s]:
                if used[d] + change[s] + reserve[s] > limit[d] * (1.0 + SLACK):
                    blocked = True
                else:
                    a = max(arrival[s * m + i], now)
                    if f < 0 or (a <= soon and (f_at > soon or later_first > 0)) or (a > soon and a < f_at):
                        f, f_at = s, a
            i = done[stages + s]
            if i < known[stages + s]:
                a = max(arrival[(stages + s) * m + i], now)
                if b < 0 or a <= soon or a < b_at:
                    b, b_at = s, a
        row = -1
        gap = min(f_at, b_at) - now
        if b_at <= soon and not (alternate > 0 and last[d] == 1 and f_at <= soon):
            row = stages + b
        elif f_at <= soon:
            row = f
            if b_at < now + duration[f] and b_at - now <= patience * duration[f]:
                row = -1
                gap = b_at - now
        share = squeeze if blocked and f_at >= NEVER else fill
        row = _with_w(d, row, gap, share, backlog, slack, m, duration, offset, pending, place)
        if row < 0:
            wake[d] = b_at if f_at <= soon else min(f_at, b_at)
            if wake[d] <= soon:
                wake[d] = NEVER
            continue
        if row < 2 * stages:
            last[d] = row // stages
        _do(
            d, row, now, device, duration, change, hop, m, order, offset, arrival, known, done, pending, place, free,
            wake, used,
        )  # fmt: skip
        total += 1


@kernel
def keyed_schedule(
    device: Ints, own: Ints, first: Ints, duration: Floats, change: Floats, reserve: Floats, limit: Floats, hop: float,
    microbatches: int, key: Floats, group: int, period: float, spacing: float, backfill: int, fill: float,
    squeeze: float, order: Ints, offset: Ints, arrival: Floats, known: Ints, done: Ints, pending: Ints,
    place: Ints, free: Floats, wake: Floats, used: Floats,
) -> int:  # fmt: skip
    """An order in which every device does its F and B by keys, and W between them: a building block, repeated.

    The key of an F or B is `key` of its kind and stage, `period` more for each microbatch, in groups of `group`
    microbatches whose members are `spacing` apart.  A device waits for the F or B of the least key, but (`backfill`)
    does another one that is over before it comes.  W, memory, results and work space as in `list_schedule`.
    """
    stages, m = len(device), microbatches
    _begin(device, m, known, done, place, arrival, free, wake, used)
    total = 0
    while True:
        d = _next(wake)
        now = wake[d]
        if now >= NEVER:
            return total
        slack = SLACK * (1.0 + now)
        soon = now + slack
        row, at, least, blocked = -1, NEVER, NEVER, False
        other, other_key = -1, NEVER
        for k in range(first[d], first[d + 1]):
            s = own[k]
            for r in range(s, 2 * stages, stages):
                i = done[r]
                if i >= m:
                    continue
                if r < stages and used[d] + change[s] + reserve[s] > limit[d] * (1.0 + SLACK):
                    blocked = True
                    continue
                when = key[r] + i * period
                if group > 1:
                    g = i // group
                    when = key[r] + g * (group * period) + (i - g * group) * spacing
                there = max(now, arrival[r * m + i]) if i < known[r] else NEVER
                if when < least:
                    least, row, at = when, r, there
                if there <= soon and when < other_key:
                    other_key, other = when, r
        gap = at - now
        if at > soon and other >= 0 and backfill > 0 and duration[other] <= gap + slack:
            row, at, gap = other, now, 0.0
        if at > soon:
            row = -1
        share = squeeze if blocked else fill
        row = _with_w(d, row, gap, share, len(order), slack, m, duration, offset, pending, place)
        if row < 0:
            wake[d] = at if at > soon else NEVER
            continue
        _do(
            d, row, now, device, duration, change, hop, m, order, offset, arrival, known, done, pending, place, free,
            wake, used,
        )  # fmt: skip
        total += 1


@kernel
def search_keys(
    device: Ints, own: Ints, first: Ints, duration: Floats, change: Floats, reserve: Floats, limit: Floats, hop: float,
    microbatches: int, key: Floats, group: int, period: float, spacing: float, backfill: int, fill: float,
    squeeze: float, order: Ints, offset: Ints, arrival: Floats, known: Ints, done: Ints, pending: Ints,
    place: Ints, free: Floats, wake: Floats, used: Floats, actual: Floats, actual_hop: float, barrier: int,
    steps: int, seed: int, start: Floats, end: Floats, at: Ints, tried: Floats,
) -> float:  # fmt: skip
    """Local search over the keys of `keyed_schedule`: `key` becomes the best, whose value is returned.

    Schedules are made with `duration` and `hop`, and timed with `actual` and `actual_hop`.  `tried` is work space as
    large as `key`.
    """
    rows = 2 * len(device)
    least = NEVER
    state = next_state(seed)
    for step in range(steps + 1):
        for r in range(rows):
            tried[r] = key[r]
        if step > 0:
            state = next_state(state)
            draw = drawn(state)
            change_by = duration[0] * 0.25 * (1 << (draw % 5))
            if (draw >> 3) % 2 == 0:
                change_by = -change_by
            begin = (draw >> 8) % rows
            until = begin + 1
            if (draw >> 4) % 4 == 2:
                until = rows
            elif (draw >> 4) % 4 == 3:
                until = begin + 1 + (draw >> 20) % (rows - begin)
            for r in range(begin, until):
                tried[r] += change_by
        n = keyed_schedule(
            device, own, first, duration, change, reserve, limit, hop, microbatches, tried, group, period, spacing,
            backfill, fill, squeeze, order, offset, arrival, known, done, pending, place, free, wake, used,
        )  # fmt: skip
        if n < len(order):
            continue
        time_orders(order, offset, device, actual, actual_hop, microbatches, start, end, at, free)
        found = value(order, offset, start, end, barrier, OTHERS)
        if found <= least:
            least = found
            for r in range(rows):
                key[r] = tried[r]
    return least
