"""Sorting a dimension that devices hold in blocks: which algorithm, and what it sends.  No MLIR here.

n devices hold blocks of r elements.  There are two algorithms:

- "columns" (Leighton's columnsort, 1985): the blocks are the columns of an r x n matrix.  Blocks are sorted; two
  all-to-alls, each followed by a sort of the block, leave every element at most half a block from its place; a last
  sort of the elements around every boundary, half a block on either side, puts them right.  A device sends
  2 (n - 1) / n + 1 blocks and sorts four times one block, whatever n is.  It needs r >= 2 (n - 1)^2 and n to divide r.
  Equal keys must be told apart by their index, which is one more array to send unless equal keys are equal bits.
- "gather": every device gathers all blocks, sorts them and keeps its part: n - 1 blocks, and n times work and memory.

Batcher's bitonic network on blocks sends k (k + 1) / 2 of them for n = 2^k: more than columns from n = 4 on, and with
the index no less than gathering up to n = 16.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pcg.layout import Mesh
from pcg.rules.blocks import OtherDim
from pcg.rules.factor import Assignment, Exchange

#: FLOPs that take as long as moving one array by one comparison does.  Sorts branch and wait for memory: XLA:CPU takes
#: 2 ns (integers) to 13 ns (floats in JAX's order) where an addition takes a few hundredths of one.
COMPARISON = 100.0
#: From this many devices on gathering costs at least twice the work of columns: bytes no longer decide.
_MANY = 8


def sort_flops(size: int) -> float:
    """FLOPs of sorting `size` elements."""
    return COMPARISON * size * math.log2(max(size, 2))


@dataclass(frozen=True)
class SortPlan:
    """How `n` blocks are sorted.

    `sends` are (kind of collective, elements of one row of one array that a device sends) in order; `sorts` the
    sizes of what a device sorts, one after another.
    """

    algorithm: str
    sends: tuple[tuple[str, int], ...]
    sorts: tuple[int, ...]

    @property
    def wire_elements(self) -> int:
        """Elements of one row of one array that a device sends."""
        return sum(elements for _, elements in self.sends)

    @property
    def work(self) -> float:
        """FLOPs per row that a device spends, for every array that is moved along."""
        return sum(sort_flops(k) for k in self.sorts)


def sort_plan(n: int, block: int, ratio: float = 1.0) -> SortPlan:
    """How `n` blocks of `block` elements are sorted; `ratio`: bytes of an element with its index to those without."""
    gather = SortPlan("gather", (("all_gather", (n - 1) * block),), (n * block,))
    if n < 3 or block % n or block < 2 * (n - 1) ** 2:
        return gather
    transposed, half = ("all_to_all", block // n * (n - 1)), ("permute", block // 2)
    columns = SortPlan("columns", (transposed, transposed, half, half), (block,) * 4)
    return columns if n >= _MANY or columns.wire_elements * ratio <= gather.wire_elements else gather


@dataclass(frozen=True)
class SortExchange(Exchange):
    """What collectives of `kind` send of one array when the sorted dimension, of `size` elements, is split.

    `elements` is not used: what is sent depends on the number of blocks.  `others` are the other dimensions.
    `ratio` is as in `sort_plan`.  If `scale` is not 0 the array is the index, which only columns send, and `scale` the
    size of its elements in units of operand `operand`'s.  `values` is for how many operands `extra_flops` counts.
    """

    size: int = 0
    others: tuple[OtherDim, ...] = ()
    ratio: float = 1.0
    scale: float = 0.0
    values: int = 0

    def plan(self, a: Assignment, mesh: Mesh) -> SortPlan | None:
        """The plan under `a`; None when the dimension is not split."""
        n = mesh.axes_size(a.axes[self.factor])
        return sort_plan(n, self.size // n, self.ratio) if n > 1 else None

    def _rows(self, a: Assignment, mesh: Mesh) -> int:
        return math.prod(other.local_size(a, mesh) for other in self.others)

    def _sends(self, a: Assignment, mesh: Mesh) -> list[int]:
        found = self.plan(a, mesh)
        if found is None or (self.scale and found.algorithm != "columns"):
            return []
        return [elements for kind, elements in found.sends if kind == self.kind]

    def wire_elements(self, a: Assignment, mesh: Mesh) -> float:
        return (self.scale or 1.0) * self._rows(a, mesh) * sum(self._sends(a, mesh))

    def launches(self, a: Assignment, mesh: Mesh) -> int:
        return len(self._sends(a, mesh))

    def extra_flops(self, a: Assignment, mesh: Mesh) -> float:
        found = self.plan(a, mesh) if self.values else None
        if found is None:
            return 0.0
        share = sort_flops(self.size) / mesh.axes_size(a.axes[self.factor])
        return self.values * self._rows(a, mesh) * (found.work - share)
