"""Shard specs: which mesh axes split each dimension of a tensor, and over which it is partial."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pcg.layout.hashing import hashed_once
from pcg.layout.mesh import Mesh, MeshError
from pcg.layout.uneven import is_even, padded_size

#: Reductions a partial value may be waiting for.
REDUCTIONS = ("sum", "max", "min", "prod", "and", "or")


# An axis may be a part of a refined one, `x.0`, or a sub-axis, `x:(1)2`.
_AXIS = r"\s*[A-Za-z_][\w.]*(?::\(\d+\)\d+)?\s*"
_DIM = rf"(?:\s*-\s*|{_AXIS}(?:\+{_AXIS})*)"
_AXES = rf"{_AXIS}(?:,{_AXIS})*"
_SPEC = re.compile(rf"\s*\[({_DIM}(?:,{_DIM})*|\s*)\]((?:\s*\w+\({_AXES}\))*)\s*")
_PARTIAL = re.compile(rf"(\w+)\(({_AXES})\)")


class SpecError(ValueError):
    """A shard spec does not fit its mesh or its tensor."""


@hashed_once
@dataclass(frozen=True)
class ShardSpec:
    """Layout of one tensor on one mesh.

    `dims[d]` are the axes that split dimension `d`, major to minor.  `partial` are the axes over
    which devices hold terms of a sum (or of another reduction) of the value, as sorted
    `(axis, kind)` pairs.  An axis named nowhere replicates.
    """

    dims: tuple[tuple[str, ...], ...]
    partial: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, dims: Iterable[Iterable[str]], partial: Iterable[tuple[str, str]] = ()) -> ShardSpec:
        return cls(tuple(tuple(d) for d in dims), tuple(sorted(partial)))

    @classmethod
    def replicated(cls, rank: int) -> ShardSpec:
        return cls(((),) * rank)

    @classmethod
    def parse(cls, text: str) -> ShardSpec:
        """Parse what `str` prints: `[data, -, model+seq] sum(model)`."""
        m = _SPEC.fullmatch(text)
        if not m:
            shown = repr(text if len(text) <= 80 else text[:60] + "...")
            raise SpecError(f"cannot read shard spec {shown}; write [axis, -, axis+axis] sum(axis)")
        texts = m[1].split(",") if m[1].strip() else []
        dims = [() if t.strip() == "-" else tuple(a.strip() for a in t.split("+")) for t in texts]
        partial = [(a.strip(), k) for k, axes in _PARTIAL.findall(m[2]) for a in axes.split(",")]
        return cls.of(dims, partial)

    def __str__(self) -> str:
        text = "[" + ", ".join("+".join(d) or "-" for d in self.dims) + "]"
        for kind in sorted({k for _, k in self.partial}):
            text += f" {kind}({', '.join(a for a, k in self.partial if k == kind)})"
        return text

    @property
    def rank(self) -> int:
        return len(self.dims)

    @property
    def partial_axes(self) -> tuple[str, ...]:
        return tuple(a for a, _ in self.partial)

    @property
    def used_axes(self) -> frozenset[str]:
        """Axes that split a dimension or are partial."""
        return frozenset(a for d in self.dims for a in d) | frozenset(self.partial_axes)

    @property
    def is_replicated(self) -> bool:
        return not self.partial and not any(self.dims)

    def without_partial(self) -> ShardSpec:
        return ShardSpec(self.dims)

    def with_dim(self, dim: int, axes: Iterable[str]) -> ShardSpec:
        return ShardSpec(self.dims[:dim] + (tuple(axes),) + self.dims[dim + 1 :], self.partial)

    def shards(self, mesh: Mesh) -> tuple[int, ...]:
        """Number of shards per dimension."""
        return tuple(mesh.axes_size(d) for d in self.dims)

    def local_shape(self, shape: Sequence[int], mesh: Mesh) -> tuple[int, ...]:
        """Shape of one device's shard of a tensor of global `shape`, padding included."""
        return tuple(
            padded_size(size, [mesh.axis_size(a) for a in axes]) if axes else size
            for size, axes in zip(shape, self.dims, strict=True)
        )

    def uneven_dims(self, shape: Sequence[int], mesh: Mesh) -> tuple[int, ...]:
        """Dimensions of a tensor of `shape` whose shards have padding."""
        return tuple(
            d for d, (size, axes) in enumerate(zip(shape, self.dims, strict=True))
            if axes and not is_even(size, [mesh.axis_size(a) for a in axes])
        )

    def check(self, mesh: Mesh, shape: Sequence[int] | None = None, even: bool = False) -> None:
        """Raise `SpecError` unless the spec is well formed on `mesh` (and fits `shape`).

        With `even` all shards must be equal, as those of a `jax.Array` are.
        """
        seen: set[str] = set()
        for axis in [a for d in self.dims for a in d] + list(self.partial_axes):
            try:
                mesh.axis_size(axis)
            except MeshError as error:
                raise SpecError(str(error)) from None
            if axis in seen:
                raise SpecError(f"axis {axis!r} is used twice in {self}")
            seen.add(axis)
        for axis, kind in self.partial:
            if kind not in REDUCTIONS:
                raise SpecError(f"axis {axis!r} is partial by {kind!r}; allowed: {', '.join(REDUCTIONS)}")
        if shape is not None:
            if len(shape) != self.rank:
                raise SpecError(f"spec {self} has {self.rank} dimensions, the tensor has {len(shape)}")
            if even and (uneven := self.uneven_dims(shape, mesh)):
                d = uneven[0]
                n = mesh.axes_size(self.dims[d])
                raise SpecError(f"dimension {d} of size {shape[d]} is not divisible by {n} ({'+'.join(self.dims[d])})")
