"""Compiled steps of schedules in rounds, and what they begin with: F, until the first B come."""

from __future__ import annotations

from pcg.kernels.native import Floats, Ints, kernel
from pcg.pipeline.timing_kernels import NEVER, SLACK


@kernel
def input_at(row: int, i: int, device: Ints, hop: float, m: int, end: Floats) -> float:
    """When microbatch i can begin a row of F or B, as far as that is known: negative where it is not."""
    stages = len(device)
    if row == 0:
        return 0.0
    before = row - 1 if row < stages else row + 1
    if row == 2 * stages - 1:
        before = stages - 1
    found = end[before * m + i]
    if found >= 0.0 and row != 2 * stages - 1:
        a = before if before < stages else before - stages
        b = row if row < stages else row - stages
        if device[a] != device[b]:
            found += hop
    return found


@kernel
def append(
    d: int, row: int, at: float, m: int, duration: Floats, change: Floats, order: Ints, offset: Ints, done: Ints,
    pending: Ints, place: Ints, free: Floats, idle: Floats, used: Floats, end: Floats,
) -> None:  # fmt: skip
    """Device d does the next microbatch of a row, at `at` or when it is free."""
    devices, stages = len(offset) - 1, len(duration) // 4
    task = row * m + done[row]
    if row >= 2 * stages:
        task = pending[offset[d] + place[d]]
        place[d] += 1
    elif row >= stages:
        pending[offset[d] + place[devices + d]] = task + stages * m
        place[devices + d] += 1
    done[row] += 1
    start = max(at, free[d])
    if done[3 * stages + d] > 0:
        idle[d] += start - free[d]
    order[offset[d] + done[3 * stages + d]] = task
    done[3 * stages + d] += 1
    free[d] = start + duration[row]
    end[task] = free[d]
    used[d] += change[row]


@kernel
def _first(
    d: int, device: Ints, own: Ints, first: Ints, duration: Floats, change: Floats, wanted: Floats, limit: float,
    hop: float, m: int, begin: float, done: Ints, free: float, used: float, end: Floats,
) -> int:  # fmt: skip
    """The stage whose F device d does next in the warm-up, or -1."""
    best, at = -1, NEVER
    for k in range(first[d], first[d + 1]):
        s = own[k]
        i = done[s]
        if i >= m:
            continue
        ready = input_at(s, i, device, hop, m, end)
        if ready < 0.0:
            continue
        start = max(ready, free)
        if start > at or (i > 0 and start + duration[s] > begin * (1.0 + SLACK)):
            continue
        need = used + change[s]
        for n in range(k + 1, first[d + 1]):
            need += max(wanted[own[n]] - done[own[n]], 0.0) * change[own[n]]
        if i > 0 and need > limit * (1.0 + SLACK):
            continue
        # An F of the first microbatch that is on its way is waited for.
        coming = NEVER
        for n in range(first[d], first[d + 1]):
            t = own[n]
            if done[t] == 0 and t != s:
                soon = input_at(t, 0, device, hop, m, end)
                coming = min(coming, soon if soon >= 0.0 else NEVER)
        if i == 0 or start + duration[s] <= coming * (1.0 + SLACK):
            best, at = s, start
    return best


@kernel
def warm_up(
    device: Ints, own: Ints, first: Ints, duration: Floats, change: Floats, wanted: Floats, limit: Floats, hop: float,
    m: int, begin: Floats, order: Ints, offset: Ints, done: Ints, pending: Ints, place: Ints, free: Floats,
    idle: Floats, used: Floats, end: Floats, chosen: Ints,
) -> None:  # fmt: skip
    """F of every device until its first B can begin, of the last stage whose input is there; that of the first
    microbatch goes before all others, and an F leaves room for as many of later stages as are `wanted`."""
    stages, devices = len(device), len(offset) - 1
    for d in range(devices):
        chosen[d] = _first(
            d, device, own, first, duration, change, wanted, limit[d], hop, m, begin[d], done, free[d], used[d], end
        )  # fmt: skip
    while True:
        best, at, row = -1, NEVER, -1
        for d in range(devices):
            s = chosen[d]
            if s >= 0:
                start = max(input_at(s, done[s], device, hop, m, end), free[d])
                if start < at:
                    best, at, row = d, start, s
        if best < 0:
            return
        append(
            best, row, at, m, duration, change, order, offset, done, pending, place, free, idle, used, end
        )  # fmt: skip
        # What the others do next is as before, but where this is the input of the next stage.
        for n in range(2):
            d = best if n == 0 or row == stages - 1 else device[row + 1]
            chosen[d] = _first(
                d, device, own, first, duration, change, wanted, limit[d], hop, m, begin[d], done, free[d], used[d],
                end,
            )  # fmt: skip


@kernel
def _fits(
    s: int, device: Ints, change: Floats, limit: Floats, hop: float, m: int, done: Ints, used: Floats, end: Floats
) -> bool:  # fmt: skip
    """Whether the input of the next F of a stage is there, and memory for it."""
    d = device[s]
    short = used[d] + change[s] > limit[d] * (1.0 + SLACK)
    return done[s] < m and not short and input_at(s, done[s], device, hop, m, end) >= 0.0


@kernel
def warm_up_in_columns(
    device: Ints, duration: Floats, change: Floats, limit: Floats, hop: float, m: int, order: Ints, offset: Ints,
    done: Ints, pending: Ints, place: Ints, free: Floats, idle: Floats, used: Floats, end: Floats,
) -> None:  # fmt: skip
    """Of a V of two chunks, as ZB-V begins (Qi et al., 2024).

    While the first microbatch is on its way, every device that has time for one more F of the first chunk does it, and
    so do all before it; as much memory is left as the devices behind need for as many F.  Then F of both chunks in
    turn, on a device and all behind it, until it has as many as the one before it, and is one F of the second chunk
    ahead of it.
    """
    stages, devices = len(device), len(offset) - 1
    for s in range(devices):
        append(
            device[s], s, input_at(s, 0, device, hop, m, end), m, duration, change, order, offset, done, pending, place,
            free, idle, used, end,
        )  # fmt: skip
    for n in range(devices):
        d, last = devices - 1 - n, devices + n
        at = input_at(last, 0, device, hop, m, end)
        going = n > 0
        while going:
            room = used[d] + (1 + d) * (change[d] + change[last]) <= limit[d] * (1.0 + SLACK)
            going = room and free[d] + duration[d] <= at
            for s in range(d + 1):
                going = going and _fits(s, device, change, limit, hop, m, done, used, end)
                if going:
                    append(
                        s, s, input_at(s, done[s], device, hop, m, end), m, duration, change, order, offset, done,
                        pending, place, free, idle, used, end,
                    )  # fmt: skip
        append(
            d, last, at, m, duration, change, order, offset, done, pending, place, free, idle, used, end
        )  # fmt: skip
    chunk = 0
    for d in range(1, devices):
        last = stages - 1 - d
        while done[d] + done[last] < done[d - 1] + done[last + 1] or done[last] <= done[last + 1] < m:
            for n in range(devices - d):
                e = devices - 1 - n
                s = e if chunk == 0 else stages - 1 - e
                if done[s] == m:
                    continue
                if not _fits(s, device, change, limit, hop, m, done, used, end):
                    return
                append(
                    e, s, input_at(s, done[s], device, hop, m, end), m, duration, change, order, offset, done, pending,
                    place, free, idle, used, end,
                )  # fmt: skip
            chunk = 1 - chunk
