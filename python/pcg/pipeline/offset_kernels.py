"""A compiled loop that lays out one microbatch of a building block."""

from __future__ import annotations

from pcg.kernels.native import Floats, Ints, kernel

#: How many pauses are tried within a period.
PLACES = 12


@kernel
def _shared(a: int, b: int, pause: float, key: Floats, duration: Floats, every: float) -> float:
    """For how long rows a, put off by `pause`, and b, each repeated every so often, are at work at the same time."""
    behind = key[b] - key[a] - pause
    behind -= every * int(behind / every)
    if behind < 0.0:
        behind += every
    if behind >= every * (1.0 - 1e-12):
        behind = 0.0
    return max(duration[a] - behind, 0.0) + max(duration[b] - (every - behind), 0.0)


@kernel
def _put_off(
    kind: int, begin: int, until: int, device: Ints, own: Ints, first: Ints, duration: Floats, every: float,
    skipped: int, key: Floats, shared: Floats,
) -> float:  # fmt: skip
    """By how much F or B of stages from `begin` to `until`, whose keys it changes, are put off so that they collide
    least with rows that are laid out already; of equal pauses the shortest one.  So many are skipped."""
    stages = len(device)
    for n in range(PLACES):
        shared[n] = 0.0
    for s in range(begin, until):
        a = kind * stages + s
        for k in range(first[device[s]], first[device[s] + 1]):
            t = own[k]
            for other in range(kind + 1):
                if (other == 0 and (kind == 1 or t < begin)) or (other == 1 and t >= until):
                    for n in range(PLACES):
                        shared[n] += _shared(a, other * stages + t, n * (every / PLACES), key, duration, every)
    pause = 0.0
    for _ in range(skipped + 1):
        least = 0
        for n in range(1, PLACES):
            if shared[n] < shared[least] - 1e-9 * every:
                least = n
        pause = least * (every / PLACES)
        shared[least] = 1e300
    for s in range(begin, until):
        key[kind * stages + s] += pause
    return pause


@kernel
def lay_out(
    device: Ints, own: Ints, first: Ints, duration: Floats, hop: float, apart: Floats, near: int, every: float,
    skipped: int, key: Floats, shared: Floats,
) -> None:  # fmt: skip
    """When F and B of a microbatch begin, by kind and stage: `key`.

    `apart` has how many times its own time after a task on another device F of the first chunk and of others, B of
    others and of the first one begin, on devices up to `near`, then the same of those behind.  Between chunks is the
    pause with which microbatches, one `every` so often, collide least, or one after some that are `skipped`; negative:
    none.  `shared` is work space, of PLACES.
    """
    stages, devices = len(device), len(first) - 1
    now = 0.0
    for begin in range(0, stages, devices):
        until = min(begin + devices, stages)
        for s in range(begin, until):
            if s > 0:
                factor, lag = 1.0, 0.0
                if device[s] != device[s - 1]:
                    factor = apart[(0 if max(device[s], device[s - 1]) <= near else 4) + (1 if begin > 0 else 0)]
                    lag = hop
                now += factor * (duration[s - 1] + lag)
            key[s] = now
        if begin > 0 and skipped >= 0:
            now += _put_off(0, begin, until, device, own, first, duration, every, 0, key, shared)
    now += duration[stages - 1]
    for n in range((stages + devices - 1) // devices):
        begin = ((stages - 1) // devices - n) * devices
        until = min(begin + devices, stages)
        for m in range(until - begin):
            s = until - 1 - m
            if s < stages - 1:
                factor, lag = 1.0, 0.0
                if device[s] != device[s + 1]:
                    factor = apart[(0 if max(device[s], device[s + 1]) <= near else 4) + (2 if begin > 0 else 3)]
                    lag = hop
                now += factor * (duration[stages + s + 1] + lag)
            key[stages + s] = now
        if skipped >= 0:
            some = skipped if until == stages else 0
            now += _put_off(1, begin, until, device, own, first, duration, every, some, key, shared)
