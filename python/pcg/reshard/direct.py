"""Direct redistribution: the cheapest steps that lead directly to the goal, where there are too many layouts for all.

A shortest path (Dijkstra) over specs.  An axis is only put on a dimension where the goal has it,
and what is as in the goal is not changed, so a detour that pays (see
`pcg.reshard.layout_graph`) is not found.  No MLIR here.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from pcg.layout import Mesh, ShardSpec
from pcg.reshard.layout_graph import SLICE_SECONDS, UNEVEN, Dims, LinkCost, Partial, State, permuted_share, regroups
from pcg.reshard.steps import AllGather, AllReduce, AllToAll, Permute, ReduceScatter, Regroup, ReshardStep, Slice


def to_steps(hops: Sequence[tuple], spec: ShardSpec, keep: tuple[int, ...]) -> tuple[ReshardStep, ...]:
    """Hops on the kept dimensions as steps on all of them; neighbouring slices of one dimension become one."""
    steps: list[ReshardStep] = []
    for hop in hops:
        step: ReshardStep
        match hop:
            case ("all_reduce", axes, kind):
                step = AllReduce(axes, kind)
            case ("reduce_scatter", dim, axes, kind):
                step = ReduceScatter(keep[dim], axes, kind)
            case ("all_gather", dim, axes):
                step = AllGather(keep[dim], axes)
            case ("all_to_all", to, of, axes):
                step = AllToAll(keep[to], keep[of], axes)
            case ("slice", dim, axes):
                step = Slice(keep[dim], axes)
            case ("permute" | "regroup" as name, dims):
                full = list(spec.dims)
                for d, axes in zip(keep, dims, strict=True):
                    full[d] = axes
                step = (Permute if name == "permute" else Regroup)(ShardSpec(tuple(full), spec.partial))
        spec = step.apply(spec)
        last = steps[-1] if steps else None
        if isinstance(step, Slice) and isinstance(last, Slice) and last.dim == step.dim:
            steps[-1] = Slice(step.dim, last.axes + step.axes)
        else:
            steps.append(step)
    return tuple(steps)


@lru_cache(maxsize=1 << 18)
def search(
    src: State, dst: State, shape: tuple[int, ...], total: float, mesh: Mesh, link_cost: LinkCost
) -> tuple[tuple[tuple, ...], float, float] | None:
    """Dijkstra from `src`: (hops, seconds, bytes), or None when `dst` cannot be reached.

    `shape` are the sizes of the dimensions in the states (`UNEVEN` where shards are), `total` the bytes of the tensor.
    """
    sizes = dict(mesh.axes)
    count = itertools.count()
    best: dict[State, float] = {src: 0.0}
    heap: list[tuple[float, int, State, tuple | None, float]] = [(0.0, 0, src, None, 0.0)]
    done: set[State] = set()
    while heap:
        seconds, _, state, trail, wire = heapq.heappop(heap)
        if state == dst:
            hops: list[tuple] = []
            while trail is not None:
                trail, hop = trail
                hops.append(hop)
            return tuple(reversed(hops)), seconds, wire
        if state in done:
            continue
        done.add(state)
        here = total
        for dim in state[0]:
            for a in dim:
                here /= sizes[a]
        for hop, axes, share, after in _hops(state, dst, shape, sizes, mesh):
            if after in done:
                continue
            sent = share * here
            kind = "all_to_all" if hop[0] == "regroup" else hop[0]
            reached = seconds + (link_cost(axes, sent, kind) if sent else SLICE_SECONDS)
            if reached < best.get(after, math.inf):
                best[after] = reached
                heapq.heappush(heap, (reached, next(count), after, (trail, hop), wire + sent))
    return None


def _hops(
    state: State, goal: State, shape: tuple[int, ...], sizes: dict[str, int], mesh: Mesh
) -> Iterator[tuple[tuple, tuple[str, ...], float, State]]:
    """Useful hops: (hop, axes of the devices that talk, bytes sent as a share of the shard, state after)."""
    dims, partial = state
    used = {a for d in dims for a in d} | {a for a, _ in partial}

    def fits(d: int, axes: tuple[str, ...]) -> bool:
        return shape[d] % math.prod(sizes[a] for a in axes) == 0

    def put(d: int, axes: tuple[str, ...], to: Dims = dims) -> Dims:
        return to[:d] + (axes,) + to[d + 1 :]

    # What must be reduced, perhaps scattered where the goal has it split.
    reduced = [p for p in partial if p not in goal[1]]
    for kind in sorted({k for _, k in reduced}):
        waiting = tuple(a for a, k in reduced if k == kind)
        for axes in _subsets(waiting):
            n = math.prod(sizes[a] for a in axes)
            rest = tuple(p for p in partial if p[0] not in axes)
            yield ("all_reduce", axes, kind), axes, 2 * (n - 1) / n, (dims, rest)
        for d, wanted in enumerate(goal[0]):
            for axes in _subsets(tuple(a for a in wanted if a in waiting)):
                if fits(d, dims[d] + axes):
                    n = math.prod(sizes[a] for a in axes)
                    rest = tuple(p for p in partial if p[0] not in axes)
                    yield ("reduce_scatter", d, axes, kind), axes, (n - 1) / n, (put(d, dims[d] + axes), rest)

    for d, wanted in enumerate(goal[0]):
        have = dims[d]
        for a in wanted:
            if a not in used and fits(d, (*have, a)):
                yield ("slice", d, (a,)), (), 0.0, (put(d, (*have, a)), partial)
        right = 0
        while right < min(len(have), len(wanted)) and have[right] == wanted[right]:
            right += 1
        if right == len(have):
            continue  # the dimension is split as in the goal
        for keep in range(right, len(have)):
            axes = have[keep:]
            n = math.prod(sizes[a] for a in axes)
            less = put(d, have[:keep])
            yield ("all_gather", d, axes), axes, n - 1.0, (less, partial)
            for e, there in enumerate(goal[0]):
                if e != d and all(a in there for a in axes) and fits(e, dims[e] + axes):
                    yield ("all_to_all", e, d, axes), axes, (n - 1) / n, (put(e, dims[e] + axes, less), partial)
    for axes, after in regroups(dims):
        # Only axes that all come to lie as the goal wants them.
        if all(y == w[: len(y)] for x, y, w in zip(dims, after, goal[0], strict=True) if len(y) > len(x)):
            if all(fits(d, y) for d, (x, y) in enumerate(zip(dims, after, strict=True)) if len(y) > len(x)):
                n = math.prod(sizes[a] for a in axes)
                yield ("regroup", after), axes, (n - 1) / n, (after, partial)

    for after in _reorders(dims, goal[0], partial, sizes, shape):
        changed = tuple(dict.fromkeys(a for x, y in zip(dims, after, strict=True) if x != y for a in (*x, *y)))
        yield ("permute", after), changed, permuted_share(dims, after, mesh), (after, partial)


def _reorders(
    dims: Dims, goal: Dims, partial: Partial, sizes: dict[str, int], shape: tuple[int, ...]
) -> list[Dims]:
    """Layouts with as many shards per dimension that are nearer to the goal."""
    options: list[list[tuple[str, ...]]] = []
    for have, wanted, limit in zip(dims, goal, shape, strict=True):
        found = [have]
        if have:
            first = tuple(a for a in wanted if a in have)
            found.append(first + tuple(a for a in have if a not in first))
            n = math.prod(sizes[a] for a in have)
            for k in range(1, len(wanted) + 1):
                if math.prod(sizes[a] for a in wanted[:k]) == n:
                    found.append(wanted[:k])
            if limit == UNEVEN:  # only equal cuts make equal blocks
                cuts = [sizes[a] for a in have]
                found = [axes for axes in found if [sizes[a] for a in axes] == cuts]
        options.append(list(dict.fromkeys(found)))
    if all(len(o) == 1 for o in options):
        return []
    result = []
    for after in itertools.product(*options):
        flat = [a for d in after for a in d] + [a for a, _ in partial]
        if after != dims and len(flat) == len(set(flat)):
            result.append(after)
    return result


@cache
def _subsets(axes: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Non-empty subsets, largest first, each in the order of `axes`."""
    return tuple(c for k in range(len(axes), 0, -1) for c in itertools.combinations(axes, k))
