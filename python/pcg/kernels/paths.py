"""Shortest paths."""

from __future__ import annotations

import numpy as np

from pcg.kernels.native import Flags, FloatRows, Floats, Ints, kernel


def shortest(sources: np.ndarray, rows: np.ndarray, columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Length of the shortest path from each source to every node of a graph in compressed sparse rows."""
    nodes = len(rows) - 1
    out = np.full((len(sources), nodes), np.inf)
    _shortest(sources, rows, columns, weights, out, np.empty(nodes, np.int64), np.zeros(nodes, np.bool_))
    return out


@kernel
def _shortest(
    sources: Ints, rows: Ints, columns: Ints, weights: Floats, out: FloatRows, queue: Ints, waits: Flags
) -> None:
    """Bellman-Ford with a queue (label correcting), for graphs whose shortest paths have few edges."""
    n = len(rows) - 1
    for s in range(len(sources)):
        near = out[s]
        near[sources[s]] = 0.0
        queue[0] = sources[s]
        waits[sources[s]] = True
        head, count = 0, 1
        while count:
            v = queue[head]
            head = head + 1 if head + 1 < n else 0
            count -= 1
            waits[v] = False
            for e in range(rows[v], rows[v + 1]):
                reached = near[v] + weights[e]
                u = columns[e]
                if reached < near[u]:
                    near[u] = reached
                    if not waits[u]:
                        waits[u] = True
                        tail = head + count
                        queue[tail if tail < n else tail - n] = u
                        count += 1
