"""The cheapest sequence of steps from one shard spec to another.

Exact where the layouts of the tensor on the mesh can all be searched (`EXACT_LAYOUTS`), which is up
to three axes for any usual tensor; beyond, the steps considered are those that lead directly to the
goal.  Which dimensions there are beside those that are or can be split only counts as bytes, and of
a dimension's size only what divides it matters, so tensors that differ in these share a search.
No MLIR here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pcg.layout import Mesh, ShardSpec, SpecError
from pcg.reshard import direct
from pcg.reshard.layout_graph import (
    SAME,
    SLICE_SECONDS,
    UNEVEN,
    LinkCost,
    Partial,
    ShortestPaths,
    State,
    graph_of,
    layouts_count,
    paths_from,
)
from pcg.reshard.steps import (
    AllGather,
    AllToAll,
    Mask,
    Permute,
    ReduceScatter,
    Regroup,
    ReshardError,
    ReshardStep,
    Slice,
)

#: Cost of a mask: a plan without it wins.
MASK_SECONDS = 2 * SLICE_SECONDS
#: Layouts (without partial ones) up to which all are searched.  A choice: milliseconds per search.
EXACT_LAYOUTS = 500


@dataclass(frozen=True)
class UniformLink:
    """Every axis is the same link: `seconds` per collective plus bytes over `bandwidth` (bytes/s)."""

    seconds: float = 5e-8
    bandwidth: float = 1e11

    def __call__(self, axes: tuple[str, ...], wire_bytes: float, kind: str) -> float:
        return self.seconds + wire_bytes / self.bandwidth


DEFAULT_LINK = UniformLink()


def plan(
    src: ShardSpec,
    dst: ShardSpec,
    shape: Sequence[int],
    itemsize: float,
    mesh: Mesh,
    link_cost: LinkCost = DEFAULT_LINK,
    memory_limit_bytes: float | None = None,
) -> tuple[ReshardStep, ...]:
    """The cheapest steps from `src` to `dst` for a tensor of global `shape`.

    `memory_limit_bytes` bounds what one device holds of the tensor while a step is taken: its shard
    before and its shard after.

    Raises:
      ReshardError: ranks differ, a spec names an axis that the mesh lacks, or one twice, or every plan exceeds the
        memory limit; the text then names the least that would do.
    """
    return _plan(src, dst, tuple(shape), itemsize, mesh, link_cost, _limit(memory_limit_bytes))


def cost(
    src: ShardSpec,
    dst: ShardSpec,
    shape: Sequence[int],
    itemsize: float,
    mesh: Mesh,
    link_cost: LinkCost = DEFAULT_LINK,
    memory_limit_bytes: float | None = None,
) -> tuple[float, float]:
    """(seconds, bytes one device sends) of `plan`'s steps."""
    return _cost(src, dst, tuple(shape), itemsize, mesh, link_cost, _limit(memory_limit_bytes))


def steps_cost(
    src: ShardSpec,
    steps: Sequence[ReshardStep],
    shape: Sequence[int],
    itemsize: float,
    mesh: Mesh,
    link_cost: LinkCost = DEFAULT_LINK,
) -> tuple[float, float]:
    """(seconds, bytes one device sends) of taking `steps` from `src`."""
    seconds = total = 0.0
    for step in steps:
        wire = step.wire_bytes(src, shape, itemsize, mesh)
        axes = step.devices(src)
        free = MASK_SECONDS if isinstance(step, Mask) else SLICE_SECONDS
        seconds += link_cost(axes, wire, step.collective) if wire else free
        total += wire
        src = step.apply(src)
    return seconds, total


def _limit(memory_limit_bytes: float | None) -> float:
    return math.inf if memory_limit_bytes is None else float(memory_limit_bytes)


@lru_cache(maxsize=1 << 18)
def _cost(
    src: ShardSpec, dst: ShardSpec, shape: tuple[int, ...], itemsize: float, mesh: Mesh, link_cost: LinkCost,
    memory: float,
) -> tuple[float, float]:
    if src == dst:
        return 0.0, 0.0
    _check(src, dst, shape, mesh)
    if masks := _masks(src.partial, dst):
        seconds, wire = _cost(src, _unmasked(dst, masks), shape, itemsize, mesh, link_cost, memory)
        return seconds + len(masks) * MASK_SECONDS, wire
    problem = _Redistribution(src, dst, shape, itemsize, mesh)
    if not problem.exact and memory == math.inf:
        return problem.straight(link_cost)[1:]
    return problem.reach(link_cost, memory)[2]


@lru_cache(maxsize=1 << 16)
def _plan(
    src: ShardSpec, dst: ShardSpec, shape: tuple[int, ...], itemsize: float, mesh: Mesh, link_cost: LinkCost,
    memory: float,
) -> tuple[ReshardStep, ...]:
    if src == dst:
        return ()
    _check(src, dst, shape, mesh)
    if masks := _masks(src.partial, dst):
        return *_plan(src, _unmasked(dst, masks), shape, itemsize, mesh, link_cost, memory), *masks
    problem = _Redistribution(src, dst, shape, itemsize, mesh)
    if memory == math.inf:
        steps, seconds, _ = problem.straight(link_cost)
        if not problem.exact:
            return steps
        # Of plans that cost the same, the direct one reads best.
        if seconds <= _cost(src, dst, shape, itemsize, mesh, link_cost, memory)[0] * (1 + SAME):
            return steps
    paths, node, _ = problem.reach(link_cost, memory)
    return tuple(problem.widen(paths.path(node)))


@lru_cache(maxsize=1 << 14)
def _divisors(shape: tuple[int, ...], mesh: Mesh) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """(elements, into how many each dimension can be split at most, dimensions that can be split)."""
    limits = tuple(math.gcd(n, mesh.size) for n in shape)
    return math.prod(shape), limits, tuple(d for d, n in enumerate(limits) if n > 1)


def _masks(have: Partial, dst: ShardSpec) -> tuple[Mask, ...]:
    """What makes the value partial over axes over which it is not, once all else is done; `have`: those it is."""
    extra = [p for p in dst.partial if p not in have]
    kinds = sorted({k for _, k in extra})
    return tuple(Mask(tuple(a for a, k in extra if k == kind), kind) for kind in kinds)


def _unmasked(dst: ShardSpec, masks: Sequence[Mask]) -> ShardSpec:
    masked = {a for m in masks for a in m.axes}
    return ShardSpec(dst.dims, tuple(p for p in dst.partial if p[0] not in masked))


def _padding(spec: ShardSpec, shape: Sequence[int], mesh: Mesh) -> float:
    """What the shards of a tensor hold together, padding included, over what the tensor has."""
    held = math.prod(spec.local_shape(shape, mesh)) * math.prod(spec.shards(mesh))
    return held / max(math.prod(shape), 1)


def _check(src: ShardSpec, dst: ShardSpec, shape: tuple[int, ...], mesh: Mesh) -> None:
    if not src.rank == dst.rank == len(shape):
        raise ReshardError(f"cannot redistribute {src} to {dst}: the tensor has {len(shape)} dimensions")
    check_spec(src, mesh)
    check_spec(dst, mesh)


def check_spec(spec: ShardSpec, mesh: Mesh) -> None:
    """Refuse a spec that is none on `mesh`: the graphs of layouts are shared, so it would be met by all after it.

    Raises:
      ReshardError: it names an unknown axis, or one twice.
    """
    try:
        spec.check(mesh)
    except SpecError as error:
        raise ReshardError(f"cannot redistribute: {error}") from None


class _Redistribution:
    """One redistribution, on the dimensions that matter to it."""

    def __init__(
        self, src: ShardSpec, dst: ShardSpec, shape: tuple[int, ...], itemsize: float, mesh: Mesh
    ) -> None:
        self.src, self.dst, self.shape, self.mesh = src, dst, shape, mesh
        elements, limits, splittable = _divisors(shape, mesh)
        self.size = elements * itemsize
        if uneven := sorted({*src.uneven_dims(shape, mesh), *dst.uneven_dims(shape, mesh)}):
            limits = tuple(UNEVEN if d in uneven else n for d, n in enumerate(limits))
            splittable = tuple(d for d, n in enumerate(limits) if n != 1)
            self.size *= max(_padding(spec, shape, mesh) for spec in (src, dst))
        self.keep: Sequence[int] = splittable
        if len(splittable) < len(shape):
            self.keep = [d for d, n in enumerate(limits) if n != 1 or src.dims[d] or dst.dims[d]]
        axes = len(mesh.axes)
        if layouts_count(len(self.keep), axes) > EXACT_LAYOUTS:
            # Dimensions that are split neither before nor after and alike stand in for one another; as no layout
            # uses more of them than there are axes, more can be left out.
            seen: dict[int, int] = {}
            keep = []
            for d in self.keep:
                if not (src.dims[d] or dst.dims[d]):
                    seen[limits[d]] = seen.get(limits[d], 0) + 1
                    if seen[limits[d]] > axes:
                        continue
                keep.append(d)
            self.keep = keep
        self.limits = limits if len(self.keep) == len(shape) else tuple(limits[d] for d in self.keep)
        self.exact = layouts_count(len(self.keep), axes) <= EXACT_LAYOUTS

    def state(self, spec: ShardSpec) -> State:
        if len(self.keep) == spec.rank:
            return spec.dims, spec.partial
        return tuple(spec.dims[d] for d in self.keep), spec.partial

    def reach(self, link_cost: LinkCost, memory: float) -> tuple[ShortestPaths, int, tuple[float, float]]:
        """(the search, the node of `dst` in it, (seconds, bytes sent))."""
        graph = graph_of(self.limits, self.mesh)
        start, end = graph.node(self.state(self.src)), graph.node(self.state(self.dst))
        paths = paths_from(graph, start, self.size, link_cost, memory)
        found = paths.reach(end)
        if found is None:
            least = graph.smallest_bound(start, end) * self.size
            if least < math.inf:
                raise ReshardError(
                    f"cannot redistribute {self.src} to {self.dst} with {memory:.0f} bytes per device: "
                    f"source and destination of its steps need at least {math.ceil(least)}"
                )
            raise self.indivisible()
        return paths, end, found

    def straight(self, link_cost: LinkCost) -> tuple[tuple[ReshardStep, ...], float, float]:
        """(steps, seconds, bytes sent) of the best plan that leads straight to the goal."""
        keep = tuple(d for d in self.keep if self.src.dims[d] or self.dst.dims[d])
        uneven = {d for d, n in zip(self.keep, self.limits, strict=True) if n == UNEVEN}
        found = direct.search(
            (tuple(self.src.dims[d] for d in keep), self.src.partial),
            (tuple(self.dst.dims[d] for d in keep), self.dst.partial),
            tuple(UNEVEN if d in uneven else self.shape[d] for d in keep), self.size, self.mesh, link_cost,
        )
        if found is None:
            raise self.indivisible()
        hops, seconds, wire = found
        steps = direct.to_steps(hops, self.src, keep)
        return steps, seconds - (len(hops) - len(steps)) * SLICE_SECONDS, wire

    def indivisible(self) -> ReshardError:
        return ReshardError(
            f"cannot redistribute {self.src} to {self.dst}: a shard count does not divide {list(self.shape)}"
        )

    def widen(self, steps: Sequence[ReshardStep]) -> list[ReshardStep]:
        """Steps on the kept dimensions as steps on all of them."""
        out: list[ReshardStep] = []
        for step in steps:
            match step:
                case Permute(result) | Regroup(result):
                    full: list[tuple[str, ...]] = [()] * len(self.shape)
                    for d, axes in zip(self.keep, result.dims, strict=True):
                        full[d] = axes
                    step = type(step)(ShardSpec(tuple(full), result.partial))
                case AllToAll(to, of, axes):
                    step = AllToAll(self.keep[to], self.keep[of], axes)
                case AllGather(dim, axes):
                    step = AllGather(self.keep[dim], axes)
                case Slice(dim, axes):
                    step = Slice(self.keep[dim], axes)
                case ReduceScatter(dim, axes, kind):
                    step = ReduceScatter(self.keep[dim], axes, kind)
            out.append(step)
        return out
