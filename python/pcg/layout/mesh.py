"""Process meshes: named axes over logical devices."""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pcg.layout.brief import brief
from pcg.layout.hashing import hashed_once

#: An axis, or a part of one in a refined mesh: `x.0` is the major part of `x`.
_AXIS_NAME = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\.(0|[1-9][0-9]*))?\Z")
#: Devices of a mesh or a cluster at most.  A choice: beyond any real machine, and small enough to list them one by one.
MOST_DEVICES = 2**16


class MeshError(ValueError):
    """A mesh, or a reference to one of its axes, is malformed."""


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _as_int(value: Any) -> Any:
    """An integer of another type (numpy's) as Python's; anything else as it is, for the check that follows."""
    return value if isinstance(value, bool) or not hasattr(value, "__index__") else operator.index(value)


@hashed_once
@dataclass(frozen=True)
class Mesh:
    """A process mesh: axis names with sizes, major to minor.

    `device_ids` maps the position in the mesh (row-major) to a logical device; None is 0, 1, 2, ...

    A mesh may be *refined*: instead of an axis `x` it has its parts `x.0`, `x.1`, ..., side by side, major
    to minor, so that a layout can use a part of `x` (see `pcg.layout.refine`).  Positions stay what they are.

    Raises:
      MeshError: no axis, a duplicate or ill-formed name, a size that is no integer from 1 on, more than
        `MOST_DEVICES` positions, parts of an axis that are not all there and side by side, or device ids that are
        not distinct and non-negative, one per position.
    """

    axes: tuple[tuple[str, int], ...]
    device_ids: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        seen: set[str] = set()
        if not self.axes:
            raise MeshError("a mesh needs at least one axis")
        for name, size in self.axes:
            if not (named := _AXIS_NAME.match(name)):
                raise MeshError(f"axis name {name!r} is not an identifier")
            if named[2] is not None:
                self._check_part(name, named[1], int(named[2]))
            if name in seen:
                raise MeshError(f"mesh has two axes named {name!r}")
            if not _is_int(size) or not 1 <= size <= MOST_DEVICES:
                raise MeshError(f"axis {name!r} has size {brief(size)}; sizes are at least 1, at most {MOST_DEVICES}")
            seen.add(name)
        if self.size > MOST_DEVICES:
            raise MeshError(f"mesh {self} has {self.size} positions; allowed: at most {MOST_DEVICES}")
        if self.device_ids is not None:
            if len(self.device_ids) != self.size:
                raise MeshError(f"mesh has {self.size} positions but {len(self.device_ids)} device ids")
            if bad := [d for d in self.device_ids if not _is_int(d)]:
                raise MeshError(f"device id {brief(bad[0])} is not an integer")
            if len(set(self.device_ids)) != self.size or min(self.device_ids) < 0:
                raise MeshError(f"device ids {brief(list(self.device_ids))} are not distinct and non-negative")

    def _check_part(self, name: str, axis: str, part: int) -> None:
        """Raise unless the parts of `axis` are `axis.0`, `axis.1`, ..., side by side and at least two."""
        names = self.names
        at = names.index(name)
        others = [n for n in names if n.partition(".")[0] == axis]
        complete = len(others) > 1 and others == [f"{axis}.{i}" for i in range(len(others))]
        if not complete or at < part or names[at - part] != f"{axis}.0":
            raise MeshError(
                f"axis {name!r} is a part of axis {axis!r}, whose parts here are {', '.join(map(repr, others))};"
                f" allowed: {axis}.0, {axis}.1, ... in this order, side by side"
            )

    @classmethod
    def of(cls, axes: Mapping[str, int] | Iterable[tuple[str, int]], device_ids: Sequence[int] | None = None) -> Mesh:
        """Build a mesh from a dict or pairs; identity device ids are normalised to None."""
        pairs = tuple((str(n), _as_int(s)) for n, s in (axes.items() if isinstance(axes, Mapping) else axes))
        mesh = cls(pairs, None if device_ids is None else tuple(_as_int(d) for d in device_ids))
        return cls(pairs) if mesh.device_ids == tuple(range(mesh.size)) else mesh

    @classmethod
    def parse(cls, text: str) -> Mesh:
        """Parse `data=2,model=4` (also `data=2;model=4` and `data:2,model:4`)."""
        axes = []
        for item in re.split(r"[,;]", text):
            m = re.fullmatch(r"\s*([^=:\s]+)\s*[=:]\s*(-?\d+)\s*", item)
            if not m:
                raise MeshError(f"cannot read mesh axis {item.strip()!r}; write name=size,name=size,...")
            axes.append((m[1], int(m[2]) if len(m[2]) < 20 else -1 if m[2][0] == "-" else 10**20))
        return cls(tuple(axes))

    def __str__(self) -> str:
        return ",".join(f"{n}={s}" for n, s in self.axes)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(n for n, _ in self.axes)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(s for _, s in self.axes)

    @cached_property
    def size(self) -> int:
        """Number of devices."""
        return math.prod(self.sizes)

    # -- refinement ----------------------------------------------------------------------------

    @property
    def is_refined(self) -> bool:
        """Whether an axis is there in parts."""
        return any("." in n for n in self.names)

    @property
    def parts(self) -> dict[str, tuple[str, ...]]:
        """The axes of this mesh that make up each axis of `origin`, major to minor."""
        out: dict[str, tuple[str, ...]] = {}
        for name in self.names:
            axis = name.partition(".")[0]
            out[axis] = (*out.get(axis, ()), name)
        return out

    @property
    def origin(self) -> Mesh:
        """The mesh that this one refines; itself if it is not refined."""
        if not self.is_refined:
            return self
        return Mesh(tuple((a, self.axes_size(parts)) for a, parts in self.parts.items()), self.device_ids)

    @property
    def transposed(self) -> Mesh:
        """This mesh with its axes the other way round: the device at (i, j) here is the one at (j, i) there.

        Raises:
          MeshError: it is refined, and has parts in their order.
        """
        ids = self.device_ids if self.device_ids is not None else tuple(range(self.size))
        strides = [math.prod(self.sizes[i + 1 :]) for i in range(len(self.axes))]
        moved = itertools.product(*(range(n) for n in reversed(self.sizes)))
        order = (sum(i * s for i, s in zip(reversed(at), strides, strict=True)) for at in moved)
        return Mesh.of(dict(reversed(self.axes)), [ids[n] for n in order])

    def refined(self, parts: Mapping[str, Sequence[int]]) -> Mesh:
        """This mesh with axes in parts: `Mesh.of({"x": 8}).refined({"x": (2, 4)})` has x.0 of size 2 and x.1 of size 4.

        Axes are those of `origin`; those not named stay as they are.

        Raises:
          MeshError: an unknown axis, or sizes whose product is not that of the axis.
        """
        origin = self.origin
        for axis, sizes in parts.items():
            if min(sizes, default=0) < 1 or math.prod(sizes) != origin.axis_size(axis):
                shown = "x".join(map(str, sizes)) or "nothing"
                raise MeshError(f"axis {axis!r} of size {origin.axis_size(axis)} cannot be refined to {shown}")
        own = self.parts
        axes: list[tuple[str, int]] = []
        for axis in origin.names:
            sizes = parts.get(axis, [self.axis_size(n) for n in own[axis]])
            axes += [(axis, sizes[0])] if len(sizes) == 1 else [(f"{axis}.{i}", n) for i, n in enumerate(sizes)]
        return Mesh(tuple(axes), self.device_ids)

    # -- sizes and positions -------------------------------------------------------------------

    def along(self, name: str) -> tuple[Mesh, ...]:
        """The meshes of the other axes, one per position on axis `name`; of no other axis, one of size 1.

        Raises:
          MeshError: there is no such axis, or only parts of it.
        """
        if name not in self.names:
            raise MeshError(f"mesh {self} has no axis {name!r}; its axes: {', '.join(self.names)}")
        at = self.names.index(name)
        inner, count = math.prod(self.sizes[at + 1 :]), self.sizes[at]
        ids = self.device_ids or tuple(range(self.size))
        rest = tuple(a for a in self.axes if a[0] != name) or (("device", 1),)
        return tuple(
            Mesh(rest, tuple(d for i, d in enumerate(ids) if i // inner % count == position))
            for position in range(count)
        )

    def axis_size(self, name: str) -> int:
        for n, s in self.axes:
            if n == name:
                return s
        raise MeshError(f"unknown axis {name!r}; the mesh has {', '.join(map(repr, self.names))}")

    def axes_size(self, names: Iterable[str]) -> int:
        """Product of the sizes of `names` (1 for none)."""
        size = 1
        for n in names:
            size *= self.axis_size(n)
        return size

    def order(self, names: Iterable[str]) -> tuple[str, ...]:
        """`names` in mesh order."""
        wanted = set(names)
        for n in wanted:
            self.axis_size(n)
        return tuple(n for n in self.names if n in wanted)

    def coordinates(self, position: int) -> dict[str, int]:
        """Coordinate per axis of a row-major position."""
        out: dict[str, int] = {}
        for name, size in reversed(self.axes):
            position, out[name] = divmod(position, size)
        return {n: out[n] for n in self.names}

    def index(self, position: int, names: Sequence[str]) -> int:
        """Linear index of `position` along `names`, given major to minor."""
        c = self.coordinates(position)
        i = 0
        for n in names:
            i = i * self.axis_size(n) + c[n]
        return i

    def groups(self, names: Sequence[str]) -> list[list[int]]:
        """Positions partitioned into groups that differ only along `names`.

        Inside a group, positions are ordered by `names` major to minor; groups are ordered by
        their first position.  This is the `replica_groups` of a collective over `names`.
        """
        strides: dict[str, int] = {}
        stride = 1
        for name, size in reversed(self.axes):
            strides[name] = stride
            stride *= size
        for n in names:
            self.axis_size(n)
        rest = [n for n in self.names if n not in names]

        def offsets(axes: Sequence[str]) -> list[int]:
            ranges = [range(self.axis_size(n)) for n in axes]
            return [sum(i * strides[n] for i, n in zip(c, axes, strict=True)) for c in itertools.product(*ranges)]

        inner = offsets(names)
        return [[base + o for o in inner] for base in offsets(rest)]
