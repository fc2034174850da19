"""The steps that redistribute a tensor, as functions on shard specs.

Each step says which spec it makes of a spec (`apply`) and how many bytes one device puts on the
wire (`wire_bytes`).  Axes that a step adds to a dimension become its minor-most, and only the
minor-most axes of a dimension can be taken away.  No MLIR here.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pcg.layout import Mesh, ShardSpec


class ReshardError(ValueError):
    """A redistribution that does not exist; the text says which specs and why."""


@dataclass(frozen=True)
class ReshardStep(abc.ABC):
    """One step.  `name` is its `dist` op, `collective` the kind of collective that has its cost."""

    name: ClassVar[str] = ""

    @property
    def collective(self) -> str:
        """Kind of the collective that carries it out."""
        return self.name

    @abc.abstractmethod
    def apply(self, spec: ShardSpec) -> ShardSpec:
        """The spec after this step.

        Raises:
          ReshardError: the step cannot be taken from `spec`.
        """

    @abc.abstractmethod
    def devices(self, spec: ShardSpec) -> tuple[str, ...]:
        """Mesh axes along which the step moves data."""

    def wire_factor(self, n: int) -> float:
        """Bytes that one of `n` devices sends, over the bytes of its shard."""
        return (n - 1) / n

    def wire_bytes(self, spec: ShardSpec, shape: Sequence[int], itemsize: float, mesh: Mesh) -> float:
        """Bytes that one device sends when the step is taken from `spec`."""
        return self.wire_factor(mesh.axes_size(self.devices(spec))) * local_bytes(spec, shape, itemsize, mesh)


class _AlongAxes(ReshardStep):
    """A step along mesh axes of its own."""

    axes: tuple[str, ...]

    def devices(self, spec: ShardSpec) -> tuple[str, ...]:
        return self.axes


class _Local(ReshardStep):
    """A step that sends nothing."""

    def devices(self, spec: ShardSpec) -> tuple[str, ...]:
        return ()

    def wire_factor(self, n: int) -> float:
        return 0.0


@dataclass(frozen=True)
class AllReduce(_AlongAxes):
    """Partial over `axes` by `kind` -> replicated along them."""

    name: ClassVar[str] = "all_reduce"
    axes: tuple[str, ...]
    kind: str

    def apply(self, spec: ShardSpec) -> ShardSpec:
        return _without_partial(spec, self.axes, self.kind)

    def wire_factor(self, n: int) -> float:
        return 2 * (n - 1) / n


@dataclass(frozen=True)
class ReduceScatter(_AlongAxes):
    """Partial over `axes` by `kind` -> `dim` split over them."""

    name: ClassVar[str] = "reduce_scatter"
    dim: int
    axes: tuple[str, ...]
    kind: str

    def apply(self, spec: ShardSpec) -> ShardSpec:
        return _split(_without_partial(spec, self.axes, self.kind), self.dim, self.axes)


@dataclass(frozen=True)
class AllGather(_AlongAxes):
    """`dim` split with `axes` its minor-most -> replicated along them."""

    name: ClassVar[str] = "all_gather"
    dim: int
    axes: tuple[str, ...]

    def apply(self, spec: ShardSpec) -> ShardSpec:
        return _join(spec, self.dim, self.axes)

    def wire_factor(self, n: int) -> float:
        return n - 1


@dataclass(frozen=True)
class AllToAll(_AlongAxes):
    """`concat_dim` split with `axes` its minor-most -> `split_dim` split over them instead."""

    name: ClassVar[str] = "all_to_all"
    split_dim: int
    concat_dim: int
    axes: tuple[str, ...]

    def apply(self, spec: ShardSpec) -> ShardSpec:
        if self.split_dim == self.concat_dim:
            raise ReshardError(f"all_to_all moves axes between two dimensions, both are {self.split_dim}")
        return _split(_join(spec, self.concat_dim, self.axes), self.split_dim, self.axes)


@dataclass(frozen=True)
class Regroup(ReshardStep):
    """One all-to-all over several axes at once: each leaves the dimension it splits and comes to split another.

    Axes leave as the minor-most of their dimensions and come as the minor-most of others, in any order.
    """

    name: ClassVar[str] = "regroup"
    result: ShardSpec

    @property
    def collective(self) -> str:
        return "all_to_all"

    def apply(self, spec: ShardSpec) -> ShardSpec:
        self.axis_changes(spec)
        return self.result

    def axis_changes(self, spec: ShardSpec) -> tuple[dict[int, tuple[str, ...]], dict[int, tuple[str, ...]]]:
        """(axes that leave each dimension, axes that come to each), major to minor.

        Raises:
          ReshardError: the step cannot be taken from `spec`.
        """
        gone: dict[int, tuple[str, ...]] = {}
        come: dict[int, tuple[str, ...]] = {}
        fits = spec.rank == self.result.rank and spec.partial == self.result.partial
        for d, (have, want) in enumerate(zip(spec.dims, self.result.dims, strict=False)):
            if have[: len(want)] == want and have != want:
                gone[d] = have[len(want) :]
            elif want[: len(have)] == have and have != want:
                come[d] = want[len(have) :]
            else:
                fits = fits and have == want
        if not fits or sorted(a for x in gone.values() for a in x) != sorted(a for x in come.values() for a in x):
            raise ReshardError(f"one all-to-all cannot turn {spec} into {self.result}")
        return gone, come

    def devices(self, spec: ShardSpec) -> tuple[str, ...]:
        return tuple(a for axes in self.axis_changes(spec)[1].values() for a in axes)


@dataclass(frozen=True)
class Mask(_Local):
    """Replicated along `axes` -> partial by `kind`: one device along them keeps it, the others the neutral element.

    A local operation: so a replicated value is added to partial ones before one reduction, or once after a loop.
    """

    name: ClassVar[str] = "mask"
    axes: tuple[str, ...]
    kind: str

    def apply(self, spec: ShardSpec) -> ShardSpec:
        if used := sorted(spec.used_axes & set(self.axes)):
            raise ReshardError(f"axis {used[0]!r} is already used in {spec}")
        return ShardSpec.of(spec.dims, (*spec.partial, *((a, self.kind) for a in self.axes)))


@dataclass(frozen=True)
class Slice(_Local):
    """Replicated along `axes` -> `dim` split over them; a local operation."""

    name: ClassVar[str] = "slice"
    dim: int
    axes: tuple[str, ...]

    def apply(self, spec: ShardSpec) -> ShardSpec:
        return _split(spec, self.dim, self.axes)


@dataclass(frozen=True)
class Permute(ReshardStep):
    """Devices exchange whole shards: as many shards per dimension, split over other axes or in another order."""

    name: ClassVar[str] = "permute"
    result: ShardSpec

    def apply(self, spec: ShardSpec) -> ShardSpec:
        if spec.rank != self.result.rank or spec.partial != self.result.partial:
            raise ReshardError(f"a permute cannot turn {spec} into {self.result}: only the order of devices may change")
        return self.result

    def devices(self, spec: ShardSpec) -> tuple[str, ...]:
        pairs = zip(spec.dims, self.result.dims, strict=True)
        return tuple(dict.fromkeys(a for x, y in pairs if x != y for a in (*x, *y)))

    def wire_bytes(self, spec: ShardSpec, shape: Sequence[int], itemsize: float, mesh: Mesh) -> float:
        senders = sum(s != t for s, t in permutation(spec, self.result, mesh))
        return senders / mesh.size * local_bytes(spec, shape, itemsize, mesh)


def permutation(src: ShardSpec, dst: ShardSpec, mesh: Mesh) -> list[tuple[int, int]]:
    """(from, to) mesh positions, each position once on either side, that turn layout `src` into `dst`.

    A position that already holds what it must hold keeps it; the others are served in order.

    Raises:
      ReshardError: the numbers of shards differ in a dimension, or the partial axes do.
    """
    if src.partial != dst.partial or src.shards(mesh) != dst.shards(mesh):
        raise ReshardError(
            f"a permute needs as many shards per dimension and the same partial axes: "
            f"{src} has {list(src.shards(mesh))}, {dst} has {list(dst.shards(mesh))}"
        )

    def shard(spec: ShardSpec, position: int) -> tuple[int, ...]:
        return (*(mesh.index(position, d) for d in spec.dims), mesh.index(position, spec.partial_axes))

    free: dict[tuple[int, ...], list[int]] = {}
    have = [shard(src, p) for p in range(mesh.size)]
    want = [shard(dst, p) for p in range(mesh.size)]
    for p in range(mesh.size):
        if have[p] != want[p]:
            free.setdefault(have[p], []).append(p)
    return [(p if have[p] == want[p] else free[want[p]].pop(0), p) for p in range(mesh.size)]


def local_bytes(spec: ShardSpec, shape: Sequence[int], itemsize: float, mesh: Mesh) -> float:
    """Bytes of one device's shard, padding included."""
    return math.prod(spec.local_shape(shape, mesh)) * itemsize


def _without_partial(spec: ShardSpec, axes: tuple[str, ...], kind: str) -> ShardSpec:
    gone = {(a, kind) for a in axes}
    if missing := gone - set(spec.partial):
        raise ReshardError(f"{spec} is not partial over {sorted(missing)[0][0]!r} by {kind}")
    return ShardSpec(spec.dims, tuple(p for p in spec.partial if p not in gone))


def _split(spec: ShardSpec, dim: int, axes: tuple[str, ...]) -> ShardSpec:
    if not 0 <= dim < spec.rank:
        raise ReshardError(f"{spec} has no dimension {dim}")
    if used := sorted(spec.used_axes & set(axes)):
        raise ReshardError(f"axis {used[0]!r} is already used in {spec}")
    return spec.with_dim(dim, spec.dims[dim] + axes)


def _join(spec: ShardSpec, dim: int, axes: tuple[str, ...]) -> ShardSpec:
    if not 0 <= dim < spec.rank:
        raise ReshardError(f"{spec} has no dimension {dim}")
    keep = len(spec.dims[dim]) - len(axes)
    if keep < 0 or spec.dims[dim][keep:] != axes:
        raise ReshardError(f"{'+'.join(axes)} are not the minor-most axes of dimension {dim} of {spec}")
    return spec.with_dim(dim, spec.dims[dim][:keep])


def at_once(steps: Iterable[ReshardStep]) -> tuple[ReshardStep, ...]:
    """The same redistribution, with collectives of one kind that follow each other over some axes and then over others
    as one over all of them."""
    out: list[ReshardStep] = []
    for step in steps:
        match out[-1] if out else None, step:
            case AllReduce(first, kind), AllReduce(second, other) if kind == other:
                out[-1] = AllReduce(tuple(sorted((*first, *second))), kind)
            case AllGather(dim, first), AllGather(to, second) if dim == to:
                out[-1] = AllGather(dim, second + first)  # minor-most axes come first
            case ReduceScatter(dim, first, kind), ReduceScatter(to, second, other) if (dim, kind) == (to, other):
                out[-1] = ReduceScatter(dim, first + second, kind)
            case _:
                out.append(step)
    return tuple(out)
