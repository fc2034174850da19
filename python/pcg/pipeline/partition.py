"""A chain of ops to the stages of a pipeline: balanced first, then with the fewest bytes between stages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pcg.kernels.native import Floats
from pcg.pipeline.errors import PipelineError

#: The longest stage may take this much longer than that of the most balanced partition, for fewer bytes.  A choice:
#: less than what profiles of ops are off by.
SLACK = 0.05


def partition(
    seconds: Sequence[float] | Sequence[Sequence[float]], crossing: Sequence[float], stages: int, slack: float = SLACK
) -> tuple[int, ...]:
    """The first op of each stage but the first one.

    Args:
      seconds: of each op in order, of all tasks of a microbatch (F, B and W); or such a row for each stage, where
        stages run on heterogeneous groups.
      crossing: bytes that a boundary before each op is crossed by (that of the first op counts for nothing).
      stages: how many; each has at least one op.
      slack: share by which the longest stage may exceed that of the most balanced partition.

    Returns:
      Of the partitions whose longest stage is as short as possible, up to `slack`, one with the fewest bytes over all
      boundaries; of equal ones the most even one (by the squares of the times of stages).

    Raises:
      PipelineError: there are fewer ops than stages.
    """
    times = np.asarray(seconds, float)
    count = times.shape[-1]
    if not 1 <= stages <= count:
        raise PipelineError(f"{stages} stages for {count} ops; allowed: 1 to {count}")
    if times.ndim > 1 and len(times) != stages:
        raise PipelineError(f"times of {len(times)} stages for {stages}; allowed: one row per stage")
    each = np.broadcast_to(times, (stages, count))
    rows = np.concatenate([np.zeros((stages, 1)), np.cumsum(each, axis=1)], axis=1)
    bound = _bottleneck(rows) * (1 + slack)
    cost = np.asarray(crossing, float)
    #: By number of ops: fewest bytes with so many stages, the squares of their times, and where the last one begins.
    best = np.where(rows[0] <= bound * (1 + 1e-12), 0.0, np.inf)
    best[0] = np.inf
    squares = rows[0] ** 2
    begins: list[np.ndarray] = []
    for ends in rows[1:]:
        following, uneven = np.full(count + 1, np.inf), np.full(count + 1, np.inf)
        begin = np.zeros(count + 1, int)
        first = np.searchsorted(ends, ends - bound * (1 + 1e-12))
        for end in range(2, count + 1):
            a = max(int(first[end]), 1)
            if a < end:
                found = best[a:end] + cost[a:end]
                equal = np.flatnonzero(found == found.min())
                more = squares[a + equal] + (ends[end] - ends[a + equal]) ** 2
                i = int(np.argmin(more))
                following[end], uneven[end], begin[end] = found[equal[i]], more[i], a + equal[i]
        best, squares = following, uneven
        begins.append(begin)
    at, found_at = count, []
    for begin in reversed(begins):
        at = int(begin[at])
        found_at.append(at)
    return tuple(reversed(found_at))


def _bottleneck(rows: Floats) -> float:
    """The time of the longest stage in the most balanced partition into stages that all have an op.

    `rows[s, j]`: the time of the first j ops on the devices of stage s.
    """
    count = rows.shape[1] - 1
    # best[j]: the longest stage of the first j ops with so many stages.
    best = rows[0].copy()
    best[0] = np.inf
    for k, ends in enumerate(rows[1:], 1):
        following = np.full(count + 1, np.inf)
        # With one op more `best` may be less: on groups of other kinds another stage may begin later then.
        for end in range(k + 1, count + 1):
            following[end] = np.maximum(best[k:end], ends[end] - ends[k:end]).min()
        best = following
    return float(best[count])
