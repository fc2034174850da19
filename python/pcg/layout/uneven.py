"""Uneven shards: blocks of a dimension whose size the number of shards does not divide.

Axis after axis, major to minor, a block of n elements is split into pieces of ceil(n / size); what is missing at the
end is padding.  Splitting by one axis at a time makes layouts compose: the shards over `x` and `y` are those over `x`,
split by `y`, whatever the sizes are.  Every device holds a tensor of the padded size; the elements of the padding are
undefined, so an op that reads across a dimension masks them.  No MLIR here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache

from pcg.layout.mesh import Mesh


def padded_sizes(size: int, counts: Sequence[int]) -> tuple[int, ...]:
    """Size of a block before any split, after that into `counts[0]`, after that into `counts[1]`, ..."""
    return tuple(itertools.accumulate(counts, lambda block, n: -(-block // n), initial=size))


def padded_size(size: int, counts: Sequence[int]) -> int:
    """Elements along a dimension of `size` that each device holds, padding included."""
    for n in counts:
        size = -(-size // n)
    return size


def is_even(size: int, counts: Sequence[int]) -> bool:
    """Whether no shard has padding."""
    for n in counts:
        if size % n:
            return False
        size //= n
    return True


@lru_cache(maxsize=4096)
def intervals(size: int, counts: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """(first index, elements that are not padding) of every block of a dimension split into `counts`, in order."""
    found, block = [(0, size)], size
    for n in counts:
        block = -(-block // n)
        found = [
            (start + k * block, max(0, min(block, length - k * block))) for start, length in found for k in range(n)
        ]
    return tuple(found)


@lru_cache(maxsize=4096)
def blocks(size: int, axes: tuple[str, ...], mesh: Mesh) -> tuple[tuple[int, int], ...]:
    """(first global index, elements that are not padding) of the block of every mesh position."""
    out = []
    for position in range(mesh.size):
        at = mesh.coordinates(position)
        start, end, block = 0, size, size
        for a in axes:
            block = -(-block // mesh.axis_size(a))
            start += at[a] * block
            end = min(end, start + block)
        out.append((start, max(0, end - start)))
    return tuple(out)
