"""A compiled local search over the orders of a schedule."""

from __future__ import annotations

from pcg.kernels.native import FloatRows, Floats, IntRows, Ints, kernel
from pcg.pipeline.change_kernels import (
    BEFORE,
    BEST,
    LAG,
    LENGTH,
    OWNER,
    PATH,
    PLACE,
    START,
    WHERE,
    add_up,
    allowed,
    insert,
    line_up,
    requeue,
    retime,
    set_up,
    take_back,
)  # fmt: skip
from pcg.pipeline.random_kernels import drawn, next_state
from pcg.pipeline.timing_kernels import OTHERS, SLACK


@kernel
def _length(order: Ints, offset: Ints, floats: FloatRows, barrier: int, others: float) -> float:
    """The value of the schedule, as `value` has it."""
    devices = len(offset) - 1
    span, makespan, total = 0.0, 0.0, 0.0
    for d in range(devices):
        t = order[offset[d + 1] - 1]
        last = floats[START, t] + floats[LENGTH, t]
        span = max(span, last - floats[START, order[offset[d]]])
        makespan = max(makespan, last)
        total += last
    if barrier:
        return makespan + others * (span + total / devices)
    return span + others * (makespan + total / devices)


@kernel
def _path(order: Ints, offset: Ints, barrier: int, draw: int, ints: IntRows, floats: FloatRows) -> int:
    """PATH gets positions on a longest path, from its end on; where there are several, one by `draw`."""
    devices = len(offset) - 1
    d, most = 0, -1.0
    for n in range(devices):
        e = (n + draw) % devices
        t = order[offset[e + 1] - 1]
        length = floats[START, t] + floats[LENGTH, t]
        if not barrier:
            length -= floats[START, order[offset[e]]]
        if length > most * (1.0 + SLACK):
            d, most = e, length
    n = 0
    a = offset[d + 1] - 1
    while True:
        t = order[a]
        ints[PATH, n] = a
        n += 1
        start = floats[START, t]
        near = start - SLACK * (1.0 + start)
        own = -1
        if a > offset[ints[OWNER, t]]:
            u = order[a - 1]
            if floats[START, u] + floats[LENGTH, u] >= near:
                own = a - 1
        other = -1
        u = ints[BEFORE, t]
        if u >= 0 and floats[START, u] + floats[LENGTH, u] + floats[LAG, t] >= near:
            other = ints[WHERE, u]
        if own < 0 and other < 0:
            return n
        if own >= 0 and (other < 0 or (draw >> (n % 31)) % 2 == 0):
            a = own
        else:
            a = other


@kernel
def _proposal(order: Ints, offset: Ints, n: int, draw: int, more: int, ints: IntRows) -> int:
    """A task and where it goes, as two positions in one number: mostly one of the n of PATH, to a place beside it."""
    total = len(order)
    j = (draw >> 12) % n
    a = ints[PATH, j] if draw % 8 else more % total
    d = ints[OWNER, order[a]]
    reach = 1
    if (draw >> 3) % 4 == 0:
        reach = 1 + (draw >> 5) % 12
    earlier = (draw >> 10) % 2
    if (draw >> 11) % 8 == 7 and draw % 8:
        # To the beginning or the end of what the device does without a pause.
        b = a
        if earlier:
            while j + 1 < n and ints[PATH, j + 1] == b - 1:
                b -= 1
                j += 1
        else:
            while j > 0 and ints[PATH, j - 1] == b + 1:
                b += 1
                j -= 1
        reach = max(abs(b - a), 1)
    b = max(a - reach, offset[d]) if earlier else min(a + reach, offset[d + 1] - 1)
    return a * total + b


@kernel
def improve(
    order: Ints, offset: Ints, device: Ints, duration: Floats, change: Floats, limit: Floats, hop: float,
    microbatches: int, barrier: int, budget: int, temperature: float, seed: int, at: Ints, memory: Floats,
    ints: IntRows, floats: FloatRows, seen: Ints,
) -> float:  # fmt: skip
    """Threshold accepting over orders: a task goes to another place in the order of its device.

    `order` begins as a schedule of split backward passes within `limit` and ends as the best one found.  Tasks of one
    row stay in order.  `temperature` is the share of its length by which the first steps may be worse; it falls
    linearly.  `budget` is how many tasks are looked at.  Returns the best value.
    """
    total = len(order)
    set_up(device, duration, hop, microbatches, ints, floats)
    line_up(order, offset, at, ints, floats)
    for d in range(len(offset) - 1):
        add_up(order, offset[d], offset[d + 1], change, memory, offset[d], ints)
    for k in range(total):
        ints[BEST, k] = order[k]
    now = _length(order, offset, floats, barrier, OTHERS)
    first, least = now, now
    state = next_state(seed)
    n = _path(order, offset, barrier, drawn(state), ints, floats)
    seen[0] = 0
    stamp = 0
    while seen[0] < budget:
        stamp += 2
        seen[0] += 4
        state = next_state(state)
        draw = drawn(state)
        state = next_state(state)
        pair = _proposal(order, offset, n, draw, drawn(state), ints)
        a, b = pair // total, pair % total
        if a == b:
            continue
        d = ints[OWNER, order[a]]
        if not allowed(order, offset[d], a, b, change, limit[d], memory, ints):
            continue
        t, u = order[a], order[b]
        later = 1 if b > a else 0
        low = ints[PLACE, t] if later else ints[PLACE, u]
        insert(order, a, b, ints)
        length = requeue(order, offset, t, u, later, stamp, ints)
        seen[0] += abs(length)
        if length < 0:
            insert(order, b, a, ints)
            continue
        count = retime(order, offset, min(a, b), max(a, b), stamp + 1, ints, floats, seen)
        after = _length(order, offset, floats, barrier, OTHERS)
        state = next_state(state)
        share = drawn(state) / 2147483648.0
        if after > now + share * temperature * first * (1.0 - seen[0] / budget):
            take_back(order, a, b, low, length, count, ints, floats)
            continue
        now = after
        add_up(order, min(a, b), max(a, b) + 1, change, memory, offset[d], ints)
        n = _path(order, offset, barrier, drawn(state), ints, floats)
        seen[0] += n
        if now < least * (1.0 - 1e-12):
            least = now
            for k in range(total):
                ints[BEST, k] = order[k]
            seen[0] += total // 4
    for k in range(total):
        order[k] = ints[BEST, k]
    return least
