"""A compiled local search over the orders of a schedule."""

from __future__ import annotations

from pcg.kernels.native import Floats, Ints, kernel
from pcg.pipeline.random_kernels import drawn, next_state
from pcg.pipeline.timing_kernels import OTHERS, SLACK, fits, time_orders, value


@kernel
def _path(
    order: Ints, offset: Ints, device: Ints, start: Floats, end: Floats, microbatches: int, barrier: int, where: Ints,
    found: Ints,
) -> int:  # fmt: skip
    """Positions on a longest path of tasks that start when the one before them on their device ends."""
    devices, stages, m = len(offset) - 1, len(device), microbatches
    for a in range(len(order)):
        where[order[a]] = a
    d, most = 0, -1.0
    for e in range(devices):
        length = end[order[offset[e + 1] - 1]]
        if not barrier:
            length -= start[order[offset[e]]]
        if length > most:
            d, most = e, length
    n = 0
    a = offset[d + 1] - 1
    while True:
        task = order[a]
        row = task // m
        kind = row // stages
        stage = row - kind * stages
        i = task - row * m
        slack = SLACK * (1.0 + start[task])
        if a > offset[device[stage]] and end[order[a - 1]] >= start[task] - slack:
            found[n] = a
            n += 1
            a -= 1
            continue
        before = -1
        if kind == 0:
            if stage > 0:
                before = (stage - 1) * m + i
        elif kind == 2:
            before = (stages + stage) * m + i
        elif stage == stages - 1:
            before = stage * m + i
        else:
            before = (stages + stage + 1) * m + i
        if before < 0:
            return n
        a = where[before]


@kernel
def _take(order: Ints, a: int, b: int) -> None:
    """Take the task at a to b; those between them go one place on."""
    task = order[a]
    step = 1 if b > a else -1
    while a != b:
        order[a] = order[a + step]
        a += step
    order[b] = task


@kernel
def improve(
    order: Ints, offset: Ints, device: Ints, duration: Floats, change: Floats, limit: Floats, hop: float,
    microbatches: int, barrier: int, steps: int, temperature: float, seed: int, start: Floats, end: Floats, at: Ints,
    free: Floats, where: Ints, found: Ints, best: Ints,
) -> float:  # fmt: skip
    """Threshold accepting over orders: a task of the longest path changes places with others of its device.

    `order` begins as a schedule of split backward passes within `limit` and ends as the best one found.  `temperature`
    is the share of its length by which the first steps may be worse; it falls linearly.  Returns the best value.
    """
    m, total = microbatches, len(order)
    time_orders(order, offset, device, duration, hop, m, start, end, at, free)
    now = value(order, offset, start, end, barrier, OTHERS)
    first, least = now, now
    for k in range(total):
        best[k] = order[k]
    n = _path(order, offset, device, start, end, m, barrier, where, found)
    state = next_state(seed)
    for step in range(steps):
        if n == 0:
            break
        state = next_state(state)
        a = found[drawn(state) % n]
        d = device[(order[a] // m) % len(device)]
        state = next_state(state)
        draw = drawn(state)
        # Mostly neighbours, one time in four up to six places.
        reach = 1 + (draw >> 8) % 6 if draw % 4 == 0 else 1
        b = max(a - reach, offset[d])
        if (draw >> 4) % 2 == 0:
            a, b = b, a
        _take(order, a, b)
        good = fits(order, offset[d], offset[d + 1], change, m, limit[d]) > 0
        if good:
            good = time_orders(order, offset, device, duration, hop, m, start, end, at, free) == total
        if good:
            state = next_state(state)
            share = drawn(state) / 2147483648.0
            after = value(order, offset, start, end, barrier, OTHERS)
            good = after <= now + share * temperature * first * (1.0 - step / steps)
        if not good:
            _take(order, b, a)
            continue
        now = after
        n = _path(order, offset, device, start, end, m, barrier, where, found)
        if now < least * (1.0 - 1e-12):
            least = now
            for k in range(total):
                best[k] = order[k]
    for k in range(total):
        order[k] = best[k]
    time_orders(order, offset, device, duration, hop, m, start, end, at, free)
    return least
