"""Sub-axes: parts of a mesh axis, and the refined mesh on which they are axes of their own.

`x:(1)2` (Shardy's spelling) is the major 2 of axis `x`; `x:(2)4` is the 4 that come after a *pre-size* of 2.
A layout may name sub-axes wherever it may name axes.  Nothing else in pcg knows them: a program that needs some
is planned on a refined mesh (`Mesh.refined`), which has `x.0` of size 2 and `x.1` of size 4 instead of `x` of size 8;
`x` is then `x.0+x.1`.  Device positions are those of the mesh that was refined.

Two spellings of one layout, then: by the *parts* of a refined mesh, and by the axes and sub-axes of its origin, in
which neighbouring parts are one (`x.0+x.1` is `x`).  `to_parts` and `to_origin` translate.  They are one layout
where all shards are equal; a dimension that is split unevenly is split part by part, so there `x.0+x.1` may put a
boundary elsewhere than an unrefined `x` (the values are the same).  No MLIR here.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pcg.layout.mesh import Mesh, MeshError
from pcg.layout.spec import ShardSpec, SpecError

_SUB_AXIS = re.compile(r"([A-Za-z_]\w*):\((\d+)\)(\d+)")


@dataclass(frozen=True, order=True)
class SubAxis:
    """`size` indices of `axis` behind a pre-size of `pre`: the axis seen as (pre, size, rest), its middle."""

    axis: str
    pre: int
    size: int

    def __str__(self) -> str:
        return f"{self.axis}:({self.pre}){self.size}"

    @property
    def end(self) -> int:
        """Pre-size of what follows."""
        return self.pre * self.size


# -- joined_names -----------------------------------------------------------------------------------------


def is_sub_axis(name: str) -> bool:
    """Whether `name` is spelled as a sub-axis."""
    return ":" in name


def resolve(name: str, mesh: Mesh) -> SubAxis:
    """What a name means: an axis of `mesh` or of its origin (with pre-size 1), or a sub-axis of the latter.

    Raises:
      SpecError: there is no such axis, or the axis has no such part.
    """
    own = mesh.parts
    axis, _, number = name.partition(".")
    if number and name in own.get(axis, ()):
        at = int(number)
        return SubAxis(axis, mesh.axes_size(own[axis][:at]), mesh.axis_size(name))
    if name in own:
        return SubAxis(name, 1, mesh.axes_size(own[name]))
    found = _SUB_AXIS.fullmatch(name)
    axis = found[1] if found else name
    if not found or axis not in own:
        raise SpecError(f"unknown axis {axis!r}; the mesh has {', '.join(map(repr, own))}")
    part, size = SubAxis(axis, int(found[2]), int(found[3])), mesh.axes_size(own[axis])
    if part.pre < 1 or part.size < 2 or part.size == size or size % part.end:
        why = f"{part.pre} * {part.size} does not divide {size}" if part.end and size % part.end else ""
        why = why or ("it is the whole axis" if part.size == size else "pre-sizes are 1, sizes 2 at least")
        raise SpecError(f"{name} is not a part of axis {axis!r} of size {size}: {why}")
    return part


def joined_names(found: Iterable[SubAxis], mesh: Mesh) -> tuple[str, ...]:
    """Axes of the origin and sub-axes, major to minor, neighbours joined."""
    joined: list[SubAxis] = []
    for part in found:
        if joined and joined[-1].axis == part.axis and joined[-1].end == part.pre:
            joined[-1] = SubAxis(part.axis, joined[-1].pre, joined[-1].size * part.size)
        else:
            joined.append(part)
    own = mesh.parts
    return tuple(p.axis if p.size == mesh.axes_size(own[p.axis]) else str(p) for p in joined)


def origin_names(axes: Iterable[str], mesh: Mesh) -> tuple[str, ...]:
    """Axes in the spelling of `mesh.origin`: `("x.0", "x.1")` is `("x",)`."""
    axes = tuple(axes)
    return joined_names((resolve(a, mesh) for a in axes), mesh) if any("." in a or ":" in a for a in axes) else axes


def part_names(axes: Iterable[str], mesh: Mesh) -> tuple[str, ...]:
    """Axes in any spelling as axes of the refined `mesh`.

    Raises:
      SpecError: one is unknown, or ends inside a part.
    """
    out: list[str] = []
    for name in axes:
        if name in mesh.names:
            out.append(name)
            continue
        wanted = resolve(name, mesh)
        inside, at = [], 1
        for part in mesh.parts[wanted.axis]:
            if wanted.pre <= at < wanted.end:
                inside.append(part)
            at *= mesh.axis_size(part)
        if _run(inside, mesh) != wanted:
            raise SpecError(f"{name} is not made of the parts of axis {wanted.axis!r} in mesh {mesh}")
        out += inside
    return tuple(out)


def _run(parts: Sequence[str], mesh: Mesh) -> SubAxis | None:
    if not parts:
        return None
    first = resolve(parts[0], mesh)
    return SubAxis(first.axis, first.pre, mesh.axes_size(parts))


# -- specs -----------------------------------------------------------------------------------------


def uses_sub_axes(spec: ShardSpec) -> bool:
    """Whether a layout is spelled with sub-axes."""
    return any(map(is_sub_axis, spec.used_axes))


def to_origin(spec: ShardSpec, mesh: Mesh) -> ShardSpec:
    """A layout on `mesh` in the spelling of its origin: what users read and write."""
    if not any("." in a or ":" in a for a in spec.used_axes):
        return spec
    partial = []
    for kind in sorted({k for _, k in spec.partial}):
        # The axes of partial sums have no order; in that of their positions most neighbours are joined.
        found = sorted(resolve(a, mesh) for a, k in spec.partial if k == kind)
        partial += [(n, kind) for n in joined_names(found, mesh)]
    return ShardSpec.of([origin_names(d, mesh) for d in spec.dims], partial)


def to_parts(spec: ShardSpec, mesh: Mesh) -> ShardSpec:
    """A layout in any spelling by the axes of the refined `mesh`.

    Raises:
      SpecError: it joined_names a sub-axis that the mesh has no parts for.
    """
    if all(a in mesh.names for a in spec.used_axes):
        return spec
    partial = [(n, k) for a, k in spec.partial for n in part_names([a], mesh)]
    return ShardSpec.of([part_names(d, mesh) for d in spec.dims], partial)


def check(spec: ShardSpec, mesh: Mesh, shape: Sequence[int] | None = None, even: bool = False) -> None:
    """`ShardSpec.check` for a layout in any spelling.

    Raises:
      SpecError: as there; also a sub-axis that its axis does not have, and sub-axes that overlap.
    """
    if spec.used_axes.issubset(mesh.names):
        return spec.check(mesh, shape, even)
    spelled = [a for d in spec.dims for a in d] + list(spec.partial_axes)
    found = [(name, resolve(name, mesh)) for name in spelled]
    for (a, x), (b, y) in itertools.combinations(found, 2):
        if x.axis == y.axis and x.pre < y.end and y.pre < x.end:
            raise SpecError(f"axis {a!r} is used twice in {spec}" if a == b else f"{a} and {b} overlap in {spec}")
    try:
        fine = refinement(mesh, spelled)
    except MeshError as error:
        raise SpecError(str(error)) from None
    try:
        to_parts(spec, fine).check(fine, shape, even)
    except SpecError:
        shards = [math.prod(resolve(a, mesh).size for a in d) for d in spec.dims]
        if even and shape is not None and len(shape) == spec.rank:
            for i, (size, n) in enumerate(zip(shape, shards, strict=True)):
                if size % n:
                    text = f"dimension {i} of size {size} is not divisible by {n} ({'+'.join(spec.dims[i])})"
                    raise SpecError(text) from None
        raise


# -- meshes ----------------------------------------------------------------------------------------


def refinement(mesh: Mesh, wanted: Iterable[str]) -> Mesh:
    """`mesh` refined as little as is needed for every name in `wanted` to be a run of its axes.

    Raises:
      SpecError: a name is unknown.
      MeshError: sub-axes of one axis have no common refinement (`x:(1)2` and `x:(1)3` of size 12).
    """
    return refine_at(mesh, (c for name in wanted for c in boundaries_of(name, mesh)))


def boundaries_of(name: str, mesh: Mesh) -> list[tuple[str, int]]:
    """`(axis, pre-size)` of the ends inside of its axis that a name has."""
    if name in mesh.names:
        return []
    found = resolve(name, mesh)
    return [(found.axis, at) for at in (found.pre, found.end) if 1 < at < mesh.axes_size(mesh.parts[found.axis])]


def refine_at(mesh: Mesh, boundaries: Iterable[tuple[str, int]]) -> Mesh:
    """`mesh` with its axes split at pre-sizes as well as where they are split already.

    Raises:
      MeshError: a boundary does not divide the next one, or not the axis.
    """
    at: dict[str, set[int]] = {}
    for axis, pre in boundaries:
        at.setdefault(axis, set()).add(pre)
    if not at:
        return mesh
    sizes: dict[str, list[int]] = {}
    for axis, found in at.items():
        have = [mesh.axis_size(p) for p in mesh.parts[axis]]
        points = sorted(found | set(itertools.accumulate(have, lambda a, b: a * b)) | {1})
        for a, b in itertools.pairwise(points):
            if b % a:
                raise MeshError(
                    f"axis {axis!r} of size {points[-1]} would be split after {a} and after {b};"
                    f" allowed: sub-axes with a common refinement, but {a} does not divide {b}"
                )
        sizes[axis] = [b // a for a, b in itertools.pairwise(points)]
    return mesh.refined(sizes)


def reshape_boundaries(dim: Sequence[int], size: int) -> tuple[int, ...]:
    """Pre-sizes at which to split an axis of `size` so that it can split a dimension of factors `dim` (major to minor).

    A reshape keeps a factor's split, and a factor can only be split under one that is split completely.  So `(2, 8)`
    split by 8 takes x:(1)2 on the 2 and x:(2)4 on the 8: (2,).  `(12, 64)` split by 8 takes x:(1)4 on the 12, and
    the rest has to go elsewhere: (4,).  Empty where no boundary is needed, or none helps.
    """
    if math.prod(dim) % size or len(dim) < 2:
        return ()
    found, at = [], 1
    for n in dim:
        rest = size // at
        if rest == 1 or n % rest == 0:
            break
        common = math.gcd(n, rest)
        if common == 1:
            break
        at *= common
        found.append(at)
        if common != n:
            break
    return tuple(found)
