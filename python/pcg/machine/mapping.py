"""Machine mapping: which device each position of a process mesh is, and which meshes a number of devices makes.

The devices of a cluster fill blocks: so many in every innermost block, so many such blocks in each of the next level.
A mapping gives each mesh axis a factor of every level.  The factors of an axis are its digits, outer levels major,
so an axis that has all of the innermost level communicates only there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pcg.layout import Mesh
from pcg.machine.cluster import Cluster
from pcg.machine.collectives import blocks_per_level, primes
from pcg.machine.errors import ClusterError

#: Mesh positions of all candidates together, and candidates at least.  Choices: a second or so of collective costs.
_POSITIONS, _FEWEST = 1 << 16, 4


@dataclass(frozen=True)
class DeviceMapping:
    """`mesh`, with the devices of its positions, and in words which axis lies on which level."""

    mesh: Mesh
    where: str

    def __str__(self) -> str:
        return f"{self.mesh} ({self.where})"


@dataclass(frozen=True)
class FilledLevel:
    """A level, or a dimension of a torus, as the chosen devices fill it: `size` blocks called `name`."""

    name: str
    size: int
    symmetric: bool


def filled_levels(cluster: Cluster, devices: Sequence[int]) -> tuple[FilledLevel, ...]:
    """How `devices` fill the cluster, outermost level first; one level where they do not fill it evenly."""
    coordinates = [cluster.coordinates(d) for d in devices]
    sizes = blocks_per_level(coordinates)
    named: list[tuple[str, bool]] = [("groups", True)]
    for level in reversed(cluster.group_of(devices[0]).levels):
        for i in range(len(level.shape)):
            along = f" along {'xyz'[i : i + 1] or i}" if len(level.shape) > 1 else ""
            named.append((level.joins + along, level.symmetric))
    if len({c[: len(sizes)] for c in coordinates}) < len(devices) or len(sizes) > len(named):
        # Below some level they do not fill it evenly: what is there is one level.
        named[len(sizes) - 1 :] = [("devices", False)]
    return tuple(FilledLevel(n, s, symmetric) for (n, symmetric), s in zip(named, sizes, strict=False) if s > 1) or (
        FilledLevel("devices", 1, True),)  # fmt: skip


def device_mappings(cluster: Cluster, mesh: Mesh, interchangeable: bool = False) -> list[DeviceMapping]:
    """The distinct mappings of `mesh` to as many devices of `cluster`, those along entire levels first.

    Mappings that differ only by the numbering of symmetric blocks are one; with `interchangeable` also those that
    differ only by which of two axes of a size has which name.

    Raises:
      ClusterError: the mesh is larger than the cluster.
    """
    if mesh.size > len(cluster.devices):
        raise cluster.too_large(mesh)
    devices = cluster.take(mesh.size).devices
    levels = filled_levels(cluster, devices)
    found: dict[object, tuple[int, DeviceMapping]] = {}
    for rows in _factorings(list(mesh.sizes), [r.size for r in levels]):
        # rows[level][axis]: the factor of that level that the axis has.
        for orders in itertools.product(*(_orders(row, r.symmetric) for row, r in zip(rows, levels, strict=True))):
            axes = [(n, [(r[a], o.index(a) if a in o else 0) for r, o in zip(rows, orders, strict=True)])
                    for a, n in enumerate(mesh.sizes)]  # fmt: skip
            key = repr(sorted(axes) if interchangeable else axes)
            if key not in found:
                shared = sum(sum(f > 1 for f in row) - 1 for row in rows)  # levels that axes share
                found[key] = (shared, _mapping(mesh, devices, levels, rows, orders))
    return [p for _, p in sorted(found.values(), key=lambda x: x[0])]


def _orders(row: Sequence[int], symmetric: bool) -> list[tuple[int, ...]]:
    """The orders, major to minor, in which the axes that share a level may number its blocks."""
    sharing = [a for a, f in enumerate(row) if f > 1]
    return [tuple(sharing)] if symmetric else list(itertools.permutations(sharing))


def _factorings(axes: list[int], levels: list[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every matrix of factors whose rows multiply to `levels` and whose columns to `axes`."""
    if not levels:
        if all(a == 1 for a in axes):
            yield ()
        return
    for row in _factors(levels[0], axes):
        rest = [a // f for a, f in zip(axes, row, strict=True)]
        for more in _factorings(rest, levels[1:]):
            yield (row, *more)


def _factors(n: int, axes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The ways to write `n` as a product of divisors of `axes`."""
    if not axes:
        if n == 1:
            yield ()
        return
    for f in divisors(math.gcd(n, axes[0])):
        for rest in _factors(n // f, axes[1:]):
            yield (f, *rest)


def _mapping(
    mesh: Mesh, devices: Sequence[int], levels: Sequence[FilledLevel], rows: Sequence[Sequence[int]],
    orders: Sequence[Sequence[int]],
) -> DeviceMapping:  # fmt: skip
    """Devices as digits (level by level, in each the factors of the axes in their order), regrouped by axis."""
    digits = [(a, row[a]) for row, order in zip(rows, orders, strict=True) for a in order]
    by_axis = [i for a in range(len(mesh.axes)) for i, (b, _) in enumerate(digits) if b == a]
    ids = np.array(devices).reshape([f for _, f in digits]).transpose(by_axis).ravel()
    where = []
    for a, name in enumerate(mesh.names):
        parts = []
        for r, row, order in zip(levels, rows, orders, strict=True):
            if row[a] > 1:
                apart = "" if r.symmetric or order[-1] == a else " apart"
                parts.append(r.name if row[a] == r.size else f"{row[a]} of {r.size} {r.name}{apart}")
        where.append(f"{name}: {' x '.join(parts) or 'one device'}")
    return DeviceMapping(Mesh.of(mesh.axes, [int(d) for d in ids]), "; ".join(where))


def meshes_of_size(count: int, max_axes: int = 2) -> list[Mesh]:
    """The meshes of `count` devices with up to `max_axes` axes `d0`, `d1`, ... longer than one, by falling size.

    A mesh of one axis comes first; of those with more, the most even ones.

    Raises:
      ClusterError: `count` is below 1.
    """
    if count < 1:
        raise ClusterError(f"{count} devices; allowed: 1 or more")
    found: set[tuple[int, ...]] = {(count,)}
    for n in range(2, max_axes + 1):
        found |= {tuple(sorted(f, reverse=True)) for f in _factors(count, [count] * n) if min(f) > 1}
    ordered = sorted(found, key=lambda f: (len(f), max(f), f))
    return [Mesh(tuple((f"d{i}", n) for i, n in enumerate(f))) for f in ordered]


def divisors(n: int) -> list[int]:
    """The divisors of `n`, ascending."""
    out = {1}
    for p in primes(n):
        out |= {d * p for d in out}
    return sorted(out)


def candidate_mappings(cluster: Cluster | None, count: int, max_axes: int = 2) -> Iterator[DeviceMapping]:
    """Every mapping of every mesh of `count` devices to `cluster`; without one, every mesh.

    Of thousands of devices only the first mappings: to estimate one takes time in proportion to their number.
    """
    meshes = meshes_of_size(count, max_axes)
    if cluster is None:
        return (DeviceMapping(mesh, "any") for mesh in meshes)
    found = (mapping for mesh in meshes for mapping in device_mappings(cluster, mesh, True))
    return itertools.islice(found, max(_FEWEST, _POSITIONS // count))
