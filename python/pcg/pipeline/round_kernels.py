"""A compiled list schedule in rounds, in each of which every device does one B and one F."""

from __future__ import annotations

from pcg.kernels.native import Floats, Ints, kernel
from pcg.pipeline.timing_kernels import NEVER, SLACK


@kernel
def _ready(row: int, i: int, device: Ints, hop: float, m: int, end: Floats) -> float:
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
def _append(
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
def _chosen(
    d: int, kind: int, device: Ints, own: Ints, first: Ints, hop: float, m: int, done: Ints, end: Floats
) -> int:  # fmt: skip
    """The F or B that a device does next in a round: of its stages whose input is known to come that one which is the
    furthest on the way of a microbatch, else the first one on it that has a B left, or the first stage's F."""
    stages = len(device)
    other = -1
    for n in range(first[d + 1] - first[d]):
        s = own[first[d] + n] if kind == 1 else own[first[d + 1] - 1 - n]
        row = kind * stages + s
        i = done[row]
        if i >= m:
            continue
        if _ready(row, i, device, hop, m, end) >= 0.0:
            return row
        if kind == 1 or s == own[first[d]]:
            other = row
    return other


@kernel
def _with_room(
    d: int, row: int, at: float, allowed: float, filled: int, limit: float, m: int, duration: Floats, change: Floats,
    order: Ints, offset: Ints, done: Ints, pending: Ints, place: Ints, free: Floats, idle: Floats, used: Floats,
    end: Floats,
) -> bool:  # fmt: skip
    """Do W of device d before an F or B: those that memory demands, those that are over before it comes, and
    (`filled`) one more where the device would be idle for longer than it may."""
    devices = len(offset) - 1
    while place[d] < place[devices + d]:
        w = pending[offset[d] + place[d]] // m
        short = used[d] + change[row] > limit * (1.0 + SLACK)
        slack = SLACK * (1.0 + free[d])
        if not short and at < free[d] + duration[w] - slack:
            break
        _append(
            d, w, 0.0, m, duration, change, order, offset, done, pending, place, free, idle, used, end
        )  # fmt: skip
    if used[d] + change[row] > limit * (1.0 + SLACK):
        return False
    if filled and place[d] < place[devices + d] and at - free[d] > allowed - idle[d]:
        w = pending[offset[d] + place[d]] // m
        _append(
            d, w, 0.0, m, duration, change, order, offset, done, pending, place, free, idle, used, end
        )  # fmt: skip
    return True


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
        ready = _ready(s, i, device, hop, m, end)
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
                soon = _ready(t, 0, device, hop, m, end)
                coming = min(coming, soon if soon >= 0.0 else NEVER)
        if i == 0 or start + duration[s] <= coming * (1.0 + SLACK):
            best, at = s, start
    return best


@kernel
def _warm_up(
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
                start = max(_ready(s, done[s], device, hop, m, end), free[d])
                if start < at:
                    best, at, row = d, start, s
        if best < 0:
            return
        _append(
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
def round_schedule(
    device: Ints, own: Ints, first: Ints, duration: Floats, change: Floats, wanted: Floats, limit: Floats, hop: float,
    microbatches: int, begin: Floats, fill_b: int, fill_f: int, allowed: Floats, order: Ints, offset: Ints,
    done: Ints, pending: Ints, place: Ints, free: Floats, idle: Floats, used: Floats, end: Floats, chosen: Ints,
) -> int:  # fmt: skip
    """An order in rounds: every device does one B, then every one does one F, after a warm-up of F until `begin`.

    A device waits for the F or B that it is to do, after those W for which there is time.  It does one more W before
    a B (`fill_b`) or F (`fill_f`) where it would be idle for longer than it is `allowed` to be, and than any other is
    so far.  Results and work space as in `list_schedule`; `end` has an entry per F, B and W, `idle`, which gets how
    long each device is idle after its first task, and `chosen` one per device.
    """
    devices, stages, m = len(offset) - 1, len(device), microbatches
    done[:] = 0
    place[:] = 0
    free[:] = 0.0
    idle[:] = 0.0
    used[:] = 0.0
    end[:] = -1.0
    _warm_up(
        device, own, first, duration, change, wanted, limit, hop, m, begin, order, offset, done, pending, place, free,
        idle, used, end, chosen,
    )  # fmt: skip
    longest = 0.0
    for d in range(devices):
        longest = max(longest, idle[d])
    total, before = 0, -1
    while total > before:
        before = total
        for n in range(2):
            kind = 1 - n
            for d in range(devices):
                chosen[d] = _chosen(d, kind, device, own, first, hop, m, done, end)
            for k in range(stages):
                # Along the way of a microbatch, so that what one device waits for is done by another before it.
                s = k if kind == 0 else stages - 1 - k
                d, row = device[s], kind * stages + s
                if chosen[d] != row:
                    continue
                at = _ready(row, done[row], device, hop, m, end)
                if at < 0.0:
                    continue
                filled = fill_b if kind == 1 else fill_f
                if not _with_room(
                    d, row, at, max(longest, allowed[d]), filled, limit[d], m, duration, change, order, offset, done, pending, place, free,
                    idle, used, end,
                ):  # fmt: skip
                    longest = max(longest, idle[d])
                    continue
                _append(
                    d, row, at, m, duration, change, order, offset, done, pending, place, free, idle, used, end
                )  # fmt: skip
                longest = max(longest, idle[d])
        total = 0
        for d in range(devices):
            total += done[3 * stages + d]
    for d in range(devices):
        while place[d] < place[devices + d]:
            w = pending[offset[d] + place[d]] // m
            _append(
                d, w, 0.0, m, duration, change, order, offset, done, pending, place, free, idle, used, end
            )  # fmt: skip
            total += 1
    return total
