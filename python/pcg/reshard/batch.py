"""Costs of all redistributions between two sets of layouts of one tensor.

The same shortest paths as `pcg.reshard.planner.cost` over the same graphs of layouts, but from all sources at once and
as arrays: a search needs millions of pairs.  No MLIR here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pcg.layout import ShardSpec
from pcg.layout.uneven import is_even, padded_size
from pcg.reshard import planner
from pcg.reshard.distances import Distances
from pcg.reshard.layout_graph import UNEVEN, Axes, LinkCost, layouts_count
from pcg.reshard.layouts import Layouts, Numbers, groups_of
from pcg.reshard.steps import ReshardError

#: What layouts of one kind share: their uneven dimensions, and what padding multiplies their bytes by.
_Kind = tuple[frozenset[int], float]
_EVEN: _Kind = frozenset(), 1.0


@dataclass
class TensorCosts:
    """Seconds of redistributions of a tensor of global `shape`, `itemsize` bytes an element, between `layouts`."""

    shape: tuple[int, ...]
    itemsize: float
    layouts: Layouts
    link: LinkCost
    _kinds: dict[_Kind, int] = field(default_factory=lambda: {_EVEN: 0})
    _kind: Numbers = field(default_factory=Numbers)
    _known: dict[_Kind, Distances | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.mesh = self.layouts.mesh
        self._elements, self._limits, _ = planner._divisors(self.shape, self.mesh)
        self._size = self._elements * self.itemsize
        self._other_ranks: set[int] = set()
        self._splits: list[dict[Axes, tuple[bool, int]]] = [{} for _ in self.shape]

    def matrix(self, src: Sequence[ShardSpec], dst: Sequence[ShardSpec]) -> np.ndarray:
        """Seconds of each of `src` (rows) to each of `dst` (columns); infinite where there is no way.

        Raises:
          ReshardError: a spec names an axis that the mesh lacks, or one twice.
        """
        return self.between(self.layouts.numbers(src), self.layouts.numbers(dst))

    def forget(self) -> None:
        """Drop distances that are known; they take more memory than what is made of them."""
        for known in self._known.values():
            if known is not None:
                known.forget()

    def row(self, known: int, others: np.ndarray, into: bool) -> np.ndarray:
        """Seconds from the layout `known` to each of `others` if `into`, else from each of them to it, all by number.

        The latter are searched from `known` as well, and may differ in the last digit from those of `between`.
        """
        one = np.array([known], np.intp)
        return self.between(one, others)[0] if into else self.between(others, one, backward=True)[:, 0]

    def between(self, src: np.ndarray, dst: np.ndarray, backward: bool = False) -> np.ndarray:
        """`matrix` of layouts given by their numbers."""
        out = np.empty((len(src), len(dst)))
        groups = [(rows, *self.layouts.unmasked(dst, p)) for p, rows in self.layouts.by_partial(src)]
        ends, back = np.unique([before for _, before, _ in groups], return_inverse=True)
        reduced = self._reduced_matrix(src, ends, backward)
        back = back.reshape(len(groups), len(dst))
        for (rows, _, masks), columns in zip(groups, back, strict=True):
            out[rows] = reduced[rows][:, columns] + masks * planner.MASK_SECONDS
        return out

    def _reduced_matrix(self, src: np.ndarray, dst: np.ndarray, backward: bool) -> np.ndarray:
        """The matrix where no masks are needed."""
        every = list(self._kinds_of(np.concatenate([src, dst])))
        numbers = self._kind.of(src), self._kind.of(dst)
        rows, columns = (list(groups_of(n)) for n in numbers)
        if len(rows) == len(columns) == 1:
            return self._block(src, dst, *_both(every[rows[0][0]], every[columns[0][0]]), backward)
        out = np.empty((len(src), len(dst)))
        for a, i in rows:
            for b, j in columns:
                out[i[:, None], j] = self._block(src[i], dst[j], *_both(every[a], every[b]), backward)
        return out

    def _block(
        self, src: np.ndarray, dst: np.ndarray, uneven: frozenset[int], padding: float, backward: bool
    ) -> np.ndarray:
        """The matrix of layouts of one kind on each side."""
        known = self._distances_on(uneven, padding)
        if known is None or not self._other_ranks.isdisjoint((*src.tolist(), *dst.tolist())):
            starts, ends = ([self.layouts.specs[n] for n in numbers.tolist()] for numbers in (src, dst))
            return np.array([[self._alone(a, b) for b in ends] for a in starts])
        return known.between(src, dst, backward)

    def _alone(self, src: ShardSpec, dst: ShardSpec) -> float:
        """A pair for which not all layouts can be searched, or that cannot be."""
        if not set(dst.partial) <= set(src.partial):
            return float("inf")  # it would need masks
        try:
            return planner.cost(src, dst, self.shape, self.itemsize, self.mesh, self.link)[0]
        except ReshardError:
            return float("inf")

    def _kinds_of(self, numbers: np.ndarray) -> Iterable[_Kind]:
        """All kinds, once those of `numbers` are known."""
        for n in self._kind.missing(numbers):
            spec = self.layouts.specs[n]
            if spec.rank != len(self.shape):
                self._other_ranks.add(n)
            kind = self._kind_of(spec)
            self._kind.set(n, self._kinds.setdefault(kind, len(self._kinds)))
        return self._kinds

    def _kind_of(self, spec: ShardSpec) -> _Kind:
        if spec.rank != len(self.shape):
            return _EVEN
        uneven, have = [], 1
        for d, (axes, size, known) in enumerate(zip(spec.dims, self.shape, self._splits, strict=True)):
            if axes not in known:
                sizes = [self.mesh.axis_size(a) for a in axes]
                known[axes] = is_even(size, sizes), padded_size(size, sizes) * self.mesh.axes_size(axes)
            even, held = known[axes]
            have *= held
            if not even:
                uneven.append(d)
        return (frozenset(uneven), have / max(self._elements, 1)) if uneven else _EVEN

    def _distances_on(self, uneven: frozenset[int], padding: float) -> Distances | None:
        """What is searched where the dimensions `uneven` are; None if not all layouts can be."""
        key = uneven, padding
        if key not in self._known:
            limits = tuple(UNEVEN if d in uneven else n for d, n in enumerate(self._limits))
            keep = tuple(d for d, n in enumerate(limits) if n != 1)
            # An axis of one device may split a dimension that nothing else can: such meshes take the long way.
            # Where no dimension can be split there are few layouts, but as many orders of axes as for one that can be.
            count = layouts_count(max(1, len(keep)), len(self.mesh.axes))
            odd = 1 in self.mesh.sizes or count > planner.EXACT_LAYOUTS
            kept = tuple(limits[d] for d in keep)
            self._known[key] = None if odd else Distances(kept, keep, self.layouts, self._size * padding, self.link)
        return self._known[key]


def _both(a: _Kind, b: _Kind) -> _Kind:
    """What two layouts are searched with."""
    uneven = a[0] | b[0]
    return uneven, max(a[1], b[1]) if uneven else 1.0
