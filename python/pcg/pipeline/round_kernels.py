"""A compiled list schedule in rounds, in each of which every device does one B and one F."""

from __future__ import annotations

from pcg.kernels.native import Floats, Ints, kernel
from pcg.pipeline.timing_kernels import SLACK
from pcg.pipeline.warm_up_kernels import append, input_at, warm_up, warm_up_in_columns


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
        if input_at(row, i, device, hop, m, end) >= 0.0:
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
        append(
            d, w, 0.0, m, duration, change, order, offset, done, pending, place, free, idle, used, end
        )  # fmt: skip
    if used[d] + change[row] > limit * (1.0 + SLACK):
        return False
    if filled and place[d] < place[devices + d] and at - free[d] > allowed - idle[d]:
        w = pending[offset[d] + place[d]] // m
        append(
            d, w, 0.0, m, duration, change, order, offset, done, pending, place, free, idle, used, end
        )  # fmt: skip
    return True


@kernel
def round_schedule(
    device: Ints, own: Ints, first: Ints, duration: Floats, change: Floats, wanted: Floats, limit: Floats, hop: float,
    microbatches: int, begin: Floats, columns: int, fill_b: int, fill_f: int, allowed: Floats, order: Ints,
    offset: Ints, done: Ints, pending: Ints, place: Ints, free: Floats, idle: Floats, used: Floats, end: Floats,
    chosen: Ints,
) -> int:  # fmt: skip
    """An order in rounds: every device does one B, then every one does one F, after a warm-up of F until `begin`,
    or (`columns`) that of ZB-V.

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
    if columns:
        warm_up_in_columns(
            device, duration, change, limit, hop, m, order, offset, done, pending, place, free, idle, used, end
        )  # fmt: skip
    else:
        warm_up(
            device, own, first, duration, change, wanted, limit, hop, m, begin, order, offset, done, pending, place,
            free, idle, used, end, chosen,
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
                at = input_at(row, done[row], device, hop, m, end)
                if at < 0.0:
                    continue
                filled = fill_b if kind == 1 else fill_f
                if not _with_room(
                    d, row, at, max(longest, allowed[d]), filled, limit[d], m, duration, change, order, offset, done,
                    pending, place, free, idle, used, end,
                ):  # fmt: skip
                    longest = max(longest, idle[d])
                    continue
                append(
                    d, row, at, m, duration, change, order, offset, done, pending, place, free, idle, used, end
                )  # fmt: skip
                longest = max(longest, idle[d])
        total = 0
        for d in range(devices):
            total += done[3 * stages + d]
    for d in range(devices):
        while place[d] < place[devices + d]:
            w = pending[offset[d] + place[d]] // m
            append(
                d, w, 0.0, m, duration, change, order, offset, done, pending, place, free, idle, used, end
            )  # fmt: skip
            total += 1
    return total
