"""Loops over networks of choices: which are dominated, moving costs along edges, closing a variable."""

from __future__ import annotations

import numpy as np

from pcg.kernels.compiled import compiled, compiled_without_nan


@compiled
def undominated(unary, costs, ends, usage, forbidden, slack):  # type: ignore[no-untyped-def]
    """Mask of the strategies that no other one beats, or does not lose to by more than `slack`.

    `costs[k, ends[e]:ends[e + 1]]` are strategy k's costs against those of neighbour e, `usage[item, k]` its memory.
    """
    k, edges = len(unary), len(ends) - 1
    alive = np.ones(k, dtype=np.bool_)
    cheapest = np.empty(edges, dtype=np.int64)
    for s in range(k):
        # Where s is at its best another one has the hardest time: most fail there already.
        for e in range(edges):
            at = ends[e]
            for l in range(ends[e], ends[e + 1]):
                if costs[s, l] < costs[s, at]:
                    at = l
            cheapest[e] = at if ends[e] < ends[e + 1] and costs[s, at] < forbidden else -1
        for q in range(k):
            if q == s or not alive[q]:
                continue
            # How much taking q instead of s can cost at most, so far at least.
            total = unary[q] - unary[s]
            for e in range(edges):
                if cheapest[e] >= 0:
                    total += costs[q, cheapest[e]] - costs[s, cheapest[e]]
            if total > slack:
                continue
            worse = False
            for item in range(usage.shape[0]):
                if usage[item, q] > usage[item, s]:
                    worse = True
                    break
            if worse:
                continue
            for e in range(edges):
                if cheapest[e] < 0:
                    continue
                least = costs[q, cheapest[e]] - costs[s, cheapest[e]]
                most = least
                for l in range(ends[e], ends[e + 1]):
                    if costs[s, l] >= forbidden:
                        continue
                    d = costs[q, l] - costs[s, l]
                    if d > most:
                        most = d
                        if total + (most - least) > slack:
                            break
                total += most - least
                if total > slack:
                    break
            if total <= slack:
                alive[s] = False
                break
    return alive


@compiled_without_nan
def handshake(m, i, j, unary, sizes):  # type: ignore[no-untyped-def]
    """Of each edge `m[e]` between i[e] and j[e]: all cost to the edge, half of it back to i, the rest to j, then to i.

    Works in place, on the first `sizes[v]` choices of each variable; what is forbidden is infinite.  No variable is on
    two of the edges.
    """
    low = np.empty(m.shape[2])
    for e in range(len(i)):
        u, v = unary[i[e]], unary[j[e]]
        rows, cols = sizes[i[e]], sizes[j[e]]
        low[:cols] = np.inf
        for r in range(rows):
            own = u[r]
            if own == np.inf:
                m[e, r, :cols] = np.inf
                continue
            least = np.inf
            for c in range(cols):
                x = m[e, r, c] + own + v[c]
                m[e, r, c] = x
                least = min(least, x)
            back = 0.5 * least
            u[r] = back
            if back == np.inf:  # nothing goes with it
                continue
            for c in range(cols):
                x = m[e, r, c] - back
                m[e, r, c] = x
                low[c] = min(low[c], x)
        for c in range(cols):
            if v[c] != np.inf:
                v[c] = low[c]
            if v[c] == np.inf:
                low[c] = 0.0
        for r in range(rows):
            if u[r] == np.inf:
                continue
            least = np.inf
            for c in range(cols):
                x = m[e, r, c] - low[c]
                m[e, r, c] = x
                least = min(least, x)
            for c in range(cols):
                m[e, r, c] -= least
            u[r] += least


@compiled
def min_plus(unary, left, right):  # type: ignore[no-untyped-def]
    """`out[j, k] = min_i unary[i] + left[i, j] + right[i, k]`."""
    out = np.full((left.shape[1], right.shape[1]), np.inf)
    for i in range(len(unary)):
        for j in range(left.shape[1]):
            c = unary[i] + left[i, j]
            for k in range(right.shape[1]):
                d = c + right[i, k]
                if d < out[j, k]:
                    out[j, k] = d
    return out
