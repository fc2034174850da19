"""A compiled loop that moves tasks into gaps in front of them."""

from __future__ import annotations

from pcg.kernels.native import Floats, Ints, kernel
from pcg.pipeline.timing_kernels import SLACK


@kernel
def _there(task: int, device: Ints, hop: float, m: int, backward: int, end: Floats) -> float:
    """When all that F, B or W waits for is there (`backward`: all that waits for it, counted from the end); negative if
    that has not been done."""
    stages = len(device)
    row = task // m
    kind = row // stages
    stage = row - kind * stages
    one, two, lag = -1, -1, 0.0
    forward = (kind == 0) != (backward > 0)
    if kind == 2:
        one = -1 if backward else task - stages * m
    else:
        if kind == 1 and backward:
            two = task + stages * m
        # The stage that it comes from.
        s = stage - 1 if forward else stage + 1
        if 0 <= s < stages:
            one = task - m if forward else task + m
            lag = hop if device[s] != device[stage] else 0.0
        elif s == stages:
            one = task + stages * m if backward else task - stages * m
    found = 0.0
    if one >= 0:
        if end[one] < 0.0:
            return -1.0
        found = end[one] + lag
    if two >= 0:
        if end[two] < 0.0:
            return -1.0
        found = max(found, end[two])
    return found


@kernel
def _reverse(order: Ints, offset: Ints) -> None:
    for d in range(len(offset) - 1):
        a, b = offset[d], offset[d + 1] - 1
        while a < b:
            order[a], order[b] = order[b], order[a]
            a += 1
            b -= 1


@kernel
def into_gaps(
    order: Ints, offset: Ints, device: Ints, duration: Floats, change: Floats, limit: Floats, hop: float, m: int,
    backward: int, start: Floats, end: Floats, at: Ints, memory: Floats,
) -> int:  # fmt: skip
    """Each task goes to the first gap that is long enough for it, behind what it waits for and what is before it in its
    row, where memory allows that: none is later than before.  `backward`: to the last such gap, counted from the end.

    `order` is of split backward passes, within `limit`.  `start` and `end` are by task; work space: `at` one per
    device, `memory` one per task.  Returns how many tasks end, as `time_orders` does.
    """
    devices = len(offset) - 1
    end[:] = -1.0
    if backward:
        _reverse(order, offset)
    for d in range(devices):
        at[d] = offset[d]
    done, before = 0, -1
    while done > before:
        before = done
        for d in range(devices):
            while at[d] < offset[d + 1]:
                t = order[at[d]]
                ready = _there(t, device, hop, m, backward, end)
                if ready < 0.0:
                    break
                row = t // m
                length, own = duration[row], -change[row] if backward else change[row]
                # The one before it in its row.
                beside = t + 1 if backward else t - 1
                if beside // m != row or beside < 0:
                    beside = -1
                else:
                    ready = max(ready, end[beside])
                first, k = at[d], at[d]
                begin = max(ready, end[order[k - 1]]) if k > offset[d] else ready
                most = -1e300
                # Backwards, so that the memory behind a place is known there.
                while k > offset[d]:
                    k -= 1
                    u = order[k]
                    if end[u] <= ready or u == beside:
                        break
                    most = max(most, memory[k])
                    if own > 0.0 and most + own > limit[d] * (1.0 + SLACK):
                        break
                    free = max(ready, end[order[k - 1]]) if k > offset[d] else ready
                    level = (memory[k - 1] if k > offset[d] else 0.0) + own
                    if free + length <= start[u] * (1.0 + SLACK) and level <= limit[d] * (1.0 + SLACK):
                        first, begin = k, free
                k = at[d]
                while k > first:
                    order[k] = order[k - 1]
                    memory[k] = memory[k - 1] + own
                    k -= 1
                order[first] = t
                memory[first] = (memory[first - 1] if first > offset[d] else 0.0) + own
                start[t] = begin
                end[t] = begin + length
                at[d] += 1
                done += 1
    if backward:
        _reverse(order, offset)
    return done
