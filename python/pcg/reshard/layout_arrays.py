"""The graph of all layouts of tensors of one rank as arrays: the steps of `LayoutGraph` between all pairs at once.

A layout is a row of numbers of *splits*, one per dimension: all orders of all axes of the mesh are numbered.  Layouts
that are partial alike are a *block*; steps lead to layouts of the same block, or to one that is partial over fewer
axes.  Each kind of step is a condition on two rows (a gather: one dimension has lost its last axes, the others are as
they were), so it is looked for in all pairs of them.  No MLIR here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from pcg.layout import Mesh
from pcg.reshard.layout_graph import Axes, Hop, Partial

#: Kinds of steps, by number.
_NAMES = ("slice", "all_gather", "all_to_all", "permute", "all_reduce", "reduce_scatter")
_SLICE, _GATHER, _EXCHANGE, _PERMUTE, _REDUCE, _SCATTER = range(len(_NAMES))
#: No split, and what has the numbers of splits and bits of axes in arrays of pairs.
_NONE, _Short = -1, np.int16


class Splits:
    """Every order of every subset of the axes of a mesh, by number: what a dimension can be split over."""

    def __init__(self, mesh: Mesh) -> None:
        names = mesh.names
        self.axes: list[Axes] = [p for k in range(len(names) + 1) for p in itertools.permutations(names, k)]
        self.number = {axes: t for t, axes in enumerate(self.axes)}
        every = len(self.axes)
        self.over = np.array([sum(1 << names.index(a) for a in axes) for axes in self.axes], np.int64)
        """Its axes as bits."""
        self.parts = np.array([mesh.axes_size(axes) for axes in self.axes], np.int64)
        blocks: dict[tuple[int, ...], int] = {}
        sizes = [tuple(mesh.axis_size(a) for a in axes) for axes in self.axes]
        self.blocks = np.array([blocks.setdefault(s, len(blocks)) for s in sizes], np.int64)
        """Splits with one number cut a dimension into the same blocks, uneven ones, too."""
        self.more = np.full((every, every), _NONE, _Short)
        """`more[s, t]`: what t splits over behind s, where t begins with s and goes on."""
        self.behind = np.full((every, every), _NONE, np.int64)
        """`behind[s, t]`: the split over s and then t."""
        for t, axes in enumerate(self.axes):
            for count in range(len(axes)):
                first, last = self.number[axes[:count]], self.number[axes[count:]]
                self.more[first, t], self.behind[first, last] = last, t
            self.behind[t, 0] = t
        grid = np.indices(mesh.sizes).reshape(len(names), -1)
        self.index = np.zeros((every, mesh.size), np.int64)
        """Which block every position of the mesh has."""
        for t, axes in enumerate(self.axes):
            for a in axes:
                self.index[t] = self.index[t] * mesh.axis_size(a) + grid[names.index(a)]
        self.place = np.array([[axes.index(a) if a in axes else len(names) for a in names] for axes in self.axes])
        """Where each axis of the mesh is in it; as many as the mesh has where it is not."""
        self.in_order = np.array([self.number[tuple(sorted(axes))] for axes in self.axes], np.int64)
        """The split over the same axes in the order of their names."""

    def layouts(self, rank: int, taken: int) -> np.ndarray:
        """All layouts of so many dimensions, a row each, over axes that are not `taken`, as bits."""
        rows, used = np.zeros((1, 0), np.int64), np.full(1, taken, np.int64)
        for _ in range(rank):
            i, t = np.nonzero((used[:, None] & self.over) == 0)
            rows, used = np.column_stack([rows[i], t]), used[i] | self.over[t]
        return rows


#: Of the last meshes.
_splits_of = lru_cache(maxsize=8)(Splits)


@dataclass(frozen=True)
class _Steps:
    """Steps: where from, where to, of which kind, over which axes (a split), bytes sent as a share of the tensor, and
    the dimensions, as bits, whose blocks are others then."""

    before: np.ndarray
    after: np.ndarray
    name: np.ndarray
    axes: np.ndarray
    share: np.ndarray
    others: np.ndarray

    @classmethod
    def of(
        cls, before: np.ndarray, after: np.ndarray, name: int, axes: np.ndarray | int, share: np.ndarray | float,
        others: np.ndarray | int = 0,
    ) -> _Steps:  # fmt: skip
        none = np.zeros(len(before), np.int64)
        return cls(before, after, none + name, none + axes, none + share, none + others)

    @classmethod
    def joined(cls, all_: Sequence[_Steps]) -> _Steps:
        """All of them, by where from and where to."""
        names = "before", "after", "name", "axes", "share", "others"
        columns = [np.concatenate([getattr(s, name) for s in all_]) for name in names]
        order = np.lexsort((columns[1], columns[0]))
        return cls(*(c[order] for c in columns))

    def at(self, where: np.ndarray) -> _Steps:
        """Some of them."""
        return _Steps(*(getattr(self, name)[where] for name in ("before", "after", "name", "axes", "share", "others")))


@dataclass(frozen=True)
class _Block:
    """Layouts that are `partial` alike, the first of which is number `first`."""

    partial: Partial
    first: int
    layouts: np.ndarray
    codes: np.ndarray
    """Of each layout a number that no other one has, in ascending order."""


class LayoutArrays:
    """Layouts of tensors whose dimensions can be split into any number, with everything that can be reached from them.

    `before`, `after` and `hop` are the steps, by where from and where to; `hops[hop]` as in `LayoutGraph`.
    """

    def __init__(self, rank: int, mesh: Mesh) -> None:
        self._rank, self._mesh, self._splits = rank, mesh, _splits_of(mesh)
        self.hops: list[Hop] = []
        self._hop_numbers: dict[Hop, int] = {}
        self._blocks: dict[Partial, _Block] = {}
        self.count = 0
        """Of layouts."""
        self.parts = np.zeros((0, rank), np.int64)
        """Into how many each layout splits each dimension."""
        self.before = self.after = self.hop = np.zeros(0, np.int64)
        self._steps: _Steps | None = None
        """Those between layouts that are not partial, once there are such."""

    def nodes(self, layouts: Sequence[tuple[Sequence[Axes], Partial]]) -> np.ndarray:
        """Numbers of layouts; those of the layouts that can be reached from them are added with them."""
        number, rows = self._splits.number, dict[Partial, list[list[int]]]()
        for dims, partial in layouts:
            rows.setdefault(partial, []).append([number[axes] for axes in dims])
        found = {}
        for partial, some in rows.items():
            self._include(partial)
            found[partial] = iter(self._at(self._blocks[partial], np.array(some, np.int64)).tolist())
        return np.array([next(found[partial]) for _, partial in layouts], np.int64)

    @property
    def uneven(self) -> np.ndarray:
        """Of every hop the dimensions, as bits, whose blocks are others after it."""
        return np.array([hop[3] for hop in self.hops], np.int64)

    # -- layouts -------------------------------------------------------------------------------

    def _include(self, partial: Partial) -> None:
        """Add the layouts that are partial so, or less."""
        subsets = [p for k in range(len(partial) + 1) for p in itertools.combinations(partial, k)]
        for some in subsets:
            if some not in self._blocks:
                self._add(some)

    def _add(self, partial: Partial) -> None:
        """Add the layouts that are partial so; those that are less so are there."""
        taken = sum(1 << self._mesh.names.index(a) for a, _ in partial)
        layouts = self._splits.layouts(self._rank, taken)
        codes = self._codes(layouts)
        order = np.argsort(codes)
        block = self._blocks[partial] = _Block(partial, self.count, layouts[order], codes[order])
        parts = self._splits.parts[block.layouts]
        self.count += len(layouts)
        self.parts = np.concatenate([self.parts, parts])
        shard = 1 / parts.prod(axis=1)
        if taken:
            steps = _Steps.joined([self._among(block, self._blocks[()]), *self._reduced(block, shard)])
        else:
            steps = self._steps = _Steps.joined([*self._within(block, shard)])
        self.before = np.concatenate([self.before, steps.before])
        self.after = np.concatenate([self.after, steps.after])
        self.hop = np.concatenate([self.hop, self._numbered(steps)])

    def _codes(self, layouts: np.ndarray) -> np.ndarray:
        """Of each layout a number that no other one has."""
        return layouts @ len(self._splits.axes) ** np.arange(self._rank)

    def _at(self, block: _Block, layouts: np.ndarray) -> np.ndarray:
        """The numbers of layouts that are in a block."""
        return block.first + np.searchsorted(block.codes, self._codes(layouts))

    def _numbered(self, steps: _Steps) -> np.ndarray:
        """The number of the hop that each of the steps is."""
        shares, share = np.unique(steps.share, return_inverse=True)
        splits = self._splits.axes
        key = (steps.name * len(splits) + steps.axes) * len(shares) + share.reshape(-1)
        _, first, which = np.unique((key << self._rank) + steps.others, return_index=True, return_inverse=True)
        kinds = zip(*(c[first].tolist() for c in (steps.name, steps.axes, steps.share, steps.others)), strict=True)
        hops = [(_NAMES[name], splits[axes], share, others) for name, axes, share, others in kinds]
        numbers = []
        for hop in hops:
            numbers.append(self._hop_numbers.setdefault(hop, len(self.hops)))
            if numbers[-1] == len(self.hops):
                self.hops.append(hop)
        return np.array(numbers, np.int64)[which.reshape(-1)]

    # -- steps ---------------------------------------------------------------------------------

    def _within(self, block: _Block, shard: np.ndarray) -> Iterator[_Steps]:
        """Steps between layouts that are not partial, of which each device has the share `shard` of the tensor."""
        splits, rows = self._splits, block.layouts
        n = len(rows)
        over = np.append(splits.over, 0).astype(_Short)  # of `_NONE`, which is -1, too
        grown, lost = np.zeros((2, n, n), _Short)  # how many dimensions are split further, and less far
        longer, shorter = np.full((2, n, n), _NONE, _Short)  # over what, where it is one
        gained, gone = np.zeros((2, n, n), _Short)  # over which axes in all, as bits
        fits, equal_parts = np.ones((2, n, n), np.bool_)
        for d in range(self._rank):
            here, there = rows[:, d][:, None], rows[:, d][None, :]
            more, less = splits.more[here, there], splits.more[there, here]
            grows, shrinks = more != _NONE, less != _NONE
            grown += grows
            lost += shrinks
            np.maximum(longer, more, out=longer)
            np.maximum(shorter, less, out=shorter)
            gained |= over[more]
            gone |= over[less]
            fits &= grows | shrinks | (here == there)
            equal_parts &= splits.parts[here] == splits.parts[there]

        first, parts = block.first, splits.parts
        i, j = np.nonzero(fits & (grown == 1) & (lost == 0))
        yield _Steps.of(first + i, first + j, _SLICE, splits.number[()], 0.0)
        i, j = np.nonzero(fits & (grown == 0) & (lost == 1))
        axes = shorter[i, j]
        yield _Steps.of(first + i, first + j, _GATHER, axes, (parts[axes] - 1.0) * shard[i])
        i, j = np.nonzero(fits & (grown > 0) & (lost > 0) & (gained == gone))
        # From one dimension to another in one order is over the axes in that; anything else is a regrouping.
        plain = (grown[i, j] == 1) & (lost[i, j] == 1) & (longer[i, j] == shorter[i, j])
        every = self._of_bits()[gone[i, j]]
        axes = np.where(plain, shorter[i, j], every)
        yield _Steps.of(first + i, first + j, _EXCHANGE, axes, (parts[axes] - 1) / parts[axes] * shard[i])
        np.fill_diagonal(equal_parts, False)
        i, j = np.nonzero(equal_parts)
        yield self._permuted(block, i, j, shard)

    def _among(self, block: _Block, every: _Block) -> _Steps:
        """Steps between layouts of a block: those between the same that are not partial, `every` one."""
        assert self._steps is not None
        number = np.full(len(every.layouts), _NONE, np.int64)
        number[self._at(every, block.layouts) - every.first] = block.first + np.arange(len(block.layouts))
        before, after = number[self._steps.before - every.first], number[self._steps.after - every.first]
        inside = (before != _NONE) & (after != _NONE)
        return replace(self._steps.at(inside), before=before[inside], after=after[inside])

    def _of_bits(self) -> np.ndarray:
        """The split over axes, given as bits, in the order of their names."""
        found = np.zeros(1 << len(self._mesh.names), np.int64)
        found[self._splits.over] = self._splits.in_order
        return found

    def _permuted(self, block: _Block, i: np.ndarray, j: np.ndarray, shard: np.ndarray) -> _Steps:
        """Steps in which shards change hands: from layouts i to j, which split every dimension into as many."""
        splits, rows = self._splits, block.layouts
        axes_count = len(self._mesh.names)
        never = 2 * self._rank * (axes_count + 1)
        place = np.full((len(i), axes_count), never)  # where each axis is first named, in what changes
        moves = np.zeros((len(i), self._mesh.size), np.bool_)
        others = np.zeros(len(i), np.int64)
        for d in range(self._rank):
            here, there = rows[i, d], rows[j, d]
            at = np.flatnonzero(here != there)
            for side, split in enumerate((here[at], there[at])):
                named = splits.place[split]
                named = np.where(named < axes_count, named + (2 * d + side) * (axes_count + 1), never)
                place[at] = np.minimum(place[at], named)
            moves[at] |= splits.index[here[at]] != splits.index[there[at]]
            others += (splits.blocks[here] != splits.blocks[there]).astype(np.int64) << d
        order = np.argsort(place, axis=1, kind="stable")
        named = np.take_along_axis(place, order, axis=1) < never
        code = np.zeros(len(i), np.int64)
        for a in range(axes_count):
            code = code * (axes_count + 1) + np.where(named[:, a], order[:, a] + 1, 0)
        _, first, which = np.unique(code, return_index=True, return_inverse=True)
        names = self._mesh.names
        kinds = [
            splits.number[tuple(names[a] for a, is_named in zip(o, has, strict=True) if is_named)]
            for o, has in zip(order[first].tolist(), named[first].tolist(), strict=True)
        ]
        axes = np.array(kinds, np.int64)[which.reshape(-1)] if kinds else np.zeros(0, np.int64)
        return _Steps.of(block.first + i, block.first + j, _PERMUTE, axes, moves.mean(axis=1) * shard[i], others)

    def _reduced(self, block: _Block, shard: np.ndarray) -> Iterator[_Steps]:
        """Steps from layouts of a block to such as are partial over fewer axes."""
        splits, rows = self._splits, block.layouts
        every = np.arange(len(rows))
        for kind in dict.fromkeys(k for _, k in block.partial):
            names = [a for a, k in block.partial if k == kind]
            for gone in (c for k in range(1, len(names) + 1) for c in itertools.combinations(names, k)):
                to = self._blocks[tuple(p for p in block.partial if p[0] not in gone)]
                n = math.prod([self._mesh.axis_size(a) for a in gone])
                axes = splits.number[tuple(sorted(gone))]
                yield _Steps.of(block.first + every, self._at(to, rows), _REDUCE, axes, 2 * (n - 1) / n * shard)
                orders = np.array([splits.number[axes] for axes in itertools.permutations(gone)], np.int64)
                row, order = np.repeat(every, len(orders)), np.tile(orders, len(rows))
                for d in range(self._rank):
                    after = rows[row]
                    after[:, d] = splits.behind[after[:, d], order]
                    yield _Steps.of(block.first + row, self._at(to, after), _SCATTER, order, (n - 1) / n * shard[row])
