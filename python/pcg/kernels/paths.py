"""Shortest paths."""

from __future__ import annotations

import numpy as np

from pcg.kernels.compiled import compiled


@compiled
def shortest(sources, rows, columns, weights):  # type: ignore[no-untyped-def]
    """Length of the shortest path from each source to every node of a graph in compressed sparse rows.

    Bellman-Ford with a queue (label correcting), for graphs whose shortest paths have few edges.
    """
    n = len(rows) - 1
    out = np.full((len(sources), n), np.inf)
    queue = np.empty(n, dtype=np.int64)
    waits = np.zeros(n, dtype=np.bool_)
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
    return out
