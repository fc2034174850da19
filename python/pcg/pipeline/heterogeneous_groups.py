"""Groups of unlike sizes and kinds of devices for the stages of a pipeline: how many devices each stage gets.

As Alpa (OSDI'22, section 5.2) does it: for a limit of the time of a stage, a dynamic program over (units, devices)
finds the division whose stages take least together; with m microbatches and no stage above the limit, a step takes
about the sum of the stages and m - 1 times the longest.  Limits are tried in steps, so the result is not exact; it is
what `pcg-choose-pipeline` estimates next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pcg.kernels.native import Floats

#: Each limit of a stage's time is so many times the one before.  A choice.
_STEP = 1.1


@dataclass(frozen=True)
class Candidate:
    """A mesh that a group may have, with what the units take there."""

    size: int
    """Devices."""
    begins: tuple[bool, ...]
    """For each device: whether a group may begin there, and have the next ones."""
    seconds: tuple[float, ...]
    """Of each unit, for a microbatch: F, B and W."""
    state: tuple[float, ...]
    """Bytes of each unit on a device that stay there."""
    other: float = 0.0
    """Bytes that a device needs besides."""


def heterogeneous_groups(
    candidates: Sequence[Candidate], microbatches: int, memory: float | None = None
) -> list[tuple[int, ...]]:
    """Divisions of a chain of units over all devices, the fastest first by a rough estimate.

    Args:
      candidates: of one number of devices and of units.
      microbatches: of a step.
      memory: bytes per device.

    Returns:
      The candidate of each group, in the order of the groups and devices; every group has a unit or more.
    """
    if not candidates:
        return []
    least = min(sum(c.seconds) for c in candidates) / len(candidates[0].begins)
    most = max(sum(c.seconds) for c in candidates)
    found: dict[tuple[int, ...], float] = {}
    limit = least
    while 0 < least and limit < most * _STEP * (1 + 1e-9):
        division = _within(candidates, limit, memory)
        if division is not None:
            groups, times = division
            found[groups] = min(found.get(groups, np.inf), sum(times) + (microbatches - 1) * max(times))
        limit *= _STEP
    return sorted(found, key=lambda groups: found[groups])


def _within(
    candidates: Sequence[Candidate], limit: float, memory: float | None
) -> tuple[tuple[int, ...], list[float]] | None:
    """The division whose stages, none above `limit`, take least together: candidates, and seconds of the stages."""
    devices, count = len(candidates[0].begins), len(candidates[0].seconds)
    times = [np.concatenate([[0.0], np.cumsum(c.seconds)]) for c in candidates]
    first = [_first(c, own, limit, memory) for c, own in zip(candidates, times, strict=True)]
    # best[u, d]: least time of the first u units on the first d devices; what the last stage of it is.
    best = np.full((count + 1, devices + 1), np.inf)
    best[0, 0] = 0.0
    begin = np.zeros((count + 1, devices + 1), int)
    last = np.zeros((count + 1, devices + 1), int)
    begins = [np.flatnonzero(np.asarray(c.begins[: devices - c.size + 1])) for c in candidates]
    for u in range(1, count + 1):
        for k, c in enumerate(candidates):
            a, starts = first[k][u], begins[k]
            if a >= u or not len(starts):
                continue
            each = best[a:u, starts] + (times[k][u] - times[k][a:u])[:, None]
            i, ends = each.argmin(axis=0), starts + c.size
            value = each[i, np.arange(len(starts))]
            better = value < best[u, ends]
            at = ends[better]
            best[u, at], begin[u, at], last[u, at] = value[better], a + i[better], k
    if not np.isfinite(best[count, devices]):
        return None
    groups: list[int] = []
    seconds: list[float] = []
    u, d = count, devices
    while u:
        k, a = int(last[u, d]), int(begin[u, d])
        groups.append(k)
        seconds.append(float(times[k][u] - times[k][a]))
        u, d = a, d - candidates[k].size
    return tuple(reversed(groups)), seconds[::-1]


def _first(c: Candidate, ends: Floats, limit: float, memory: float | None) -> list[int]:
    """By unit behind the last one of a stage: the first one that the stage can begin with."""
    state = np.concatenate([[0.0], np.cumsum(c.state)])
    found = np.searchsorted(ends, ends - limit * (1 + 1e-12))
    if memory is not None:
        found = np.maximum(found, np.searchsorted(state, state - (memory - c.other)))
    return [int(a) for a in found]
