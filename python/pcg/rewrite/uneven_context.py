"""What a local form is given that works on one group's share of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir import ir

from pcg.layout import Mesh
from pcg.lower.collectives import CollectiveBuilder
from pcg.lower.local import LocalContext
from pcg.rewrite.uneven_layouts import CannotShare

#: Why an op stays replicated whose shards would exchange something.
_NEEDS_OTHERS = "its local form needs the other shares"


@dataclass
class ShareContext(LocalContext):
    """The parts are shares of the batch, each computed by a program of its own: this one is for group `group`."""

    group: int
    factor: int | None
    sizes: tuple[int, ...]

    @property
    def mesh(self) -> Mesh:
        """Raises CannotShare: the programs of other groups are not there to exchange something with."""
        raise CannotShare(_NEEDS_OTHERS)

    @property
    def collectives(self) -> CollectiveBuilder:
        """Raises CannotShare, as `mesh` does."""
        raise CannotShare(_NEEDS_OTHERS)

    def counts(self, axes: Sequence[str]) -> tuple[int, ...]:
        if axes:
            raise CannotShare(_NEEDS_OTHERS)
        return ()

    def parts(self, factor: int) -> int:
        return len(self.sizes) if factor == self.factor else 1

    def per_device(self, numbers: Sequence[int], element: ir.Type | None = None) -> ir.Value:
        element = element or ir.IntegerType.get_signless(32)
        return self.constant(numbers[self.group], ir.RankedTensorType.get([], element))

    def axis_index(self, axes: Sequence[str], element: ir.Type | None = None) -> ir.Value:
        return self.per_device(range(len(self.sizes)) if axes else [0] * len(self.sizes), element)

    def blocks(self, factor: int) -> tuple[tuple[int, int], ...]:
        if factor != self.factor:
            return ((0, self.rule.factors[factor].size),) * len(self.sizes)
        return tuple((sum(self.sizes[:g]), n) for g, n in enumerate(self.sizes))

    def padded(self, factor: int) -> bool:
        return False
