"""Compiled loops that time orders of tasks and add up their memory.

A task is one number, `(kind * stages + stage) * microbatches + microbatch`, with the kinds F 0, B 1, W 2 and BW 3, a
backward pass that is not split.  `duration` and `change` (of memory) have an entry per kind and stage.
"""

from __future__ import annotations

from pcg.kernels.native import Floats, Ints, kernel

F, B, W, BW = 0, 1, 2, 3
#: Later than anything.
NEVER = 1e300
#: Times and memory are sums in different orders: they are compared up to this share.
SLACK = 1e-9
#: Share of other figures in what is minimised, so that of equal schedules the one is better from which more follows.
OTHERS = 1e-4


@kernel
def time_orders(
    order: Ints, offset: Ints, device: Ints, duration: Floats, hop: float, microbatches: int, start: Floats,
    end: Floats, at: Ints, free: Floats,
) -> int:  # fmt: skip
    """When tasks start and end if every device does those of `order[offset[d]:offset[d + 1]]` one after another.

    `start` and `end` are by task, negative for tasks that never start; `at` and `free` are work space, an entry per
    device.  Returns how many tasks end: fewer than there are where they wait for each other.
    """
    devices, stages, m = len(offset) - 1, len(device), microbatches
    start[:] = -1.0
    end[:] = -1.0
    free[:] = 0.0
    for d in range(devices):
        at[d] = offset[d]
    done, before = 0, -1
    while done > before:
        before = done
        for d in range(devices):
            while at[d] < offset[d + 1]:
                task = order[at[d]]
                row = task // m
                kind = row // stages
                stage = row - kind * stages
                i = task - row * m
                ready = 0.0
                if kind == F:
                    if stage > 0:
                        ready = end[(stage - 1) * m + i]
                        if ready >= 0.0 and device[stage - 1] != d:
                            ready += hop
                elif kind == W:
                    ready = end[(stages + stage) * m + i]
                else:
                    ready = end[stage * m + i]
                    if ready >= 0.0 and stage < stages - 1:
                        ready = end[(stages + stage + 1) * m + i]
                        if ready < 0.0:
                            ready = end[(3 * stages + stage + 1) * m + i]
                        if ready >= 0.0 and device[stage + 1] != d:
                            ready += hop
                if ready < 0.0:
                    break
                start[task] = max(ready, free[d])
                free[d] = start[task] + duration[row]
                end[task] = free[d]
                at[d] += 1
                done += 1
    return done


@kernel
def memory_peaks(order: Ints, offset: Ints, change: Floats, microbatches: int, peak: Floats) -> None:
    """The most memory of each device after any of its tasks."""
    for d in range(len(offset) - 1):
        now = 0.0
        peak[d] = 0.0
        for a in range(offset[d], offset[d + 1]):
            now += change[order[a] // microbatches]
            peak[d] = max(peak[d], now)


@kernel
def fits(order: Ints, begin: int, until: int, change: Floats, microbatches: int, limit: float) -> int:
    """Whether the memory of a device, whose tasks these are, stays below its limit."""
    now = 0.0
    for a in range(begin, until):
        now += change[order[a] // microbatches]
        if now > limit * (1.0 + SLACK):
            return 0
    return 1


@kernel
def value(order: Ints, offset: Ints, start: Floats, end: Floats, barrier: int, others: float) -> float:
    """The makespan (`barrier`) or the longest span, and a share of the other one and of the mean end of devices."""
    devices = len(offset) - 1
    span, makespan, total = 0.0, 0.0, 0.0
    for d in range(devices):
        last = end[order[offset[d + 1] - 1]]
        span = max(span, last - start[order[offset[d]]])
        makespan = max(makespan, last)
        total += last
    if barrier:
        return makespan + others * (span + total / devices)
    return span + others * (makespan + total / devices)
