"""Building the tensors of a rule from factors."""

from __future__ import annotations

from pcg.rules.factor import DimFactors, Factor


class Dims:
    """Factors under construction: `tensors[t][d]` are the factors of dimension `d` of tensor `t`."""

    def __init__(self, *shapes: tuple[int, ...]) -> None:
        self.factors: list[Factor] = []
        self.shapes = shapes
        self.tensors: list[list[tuple[int, ...]]] = [[()] * len(s) for s in shapes]

    def add(
        self, size: int, *places: tuple[int, int], reduce: str | None = None, stuck: str = "", least: int = 1
    ) -> int:
        """A new factor at `(tensor, dimension)` places; `stuck` is why it cannot be split.  -1 if its size is 1."""
        if size == 1:
            return -1
        self.factors.append(Factor(size, reduce, not stuck, stuck, least))
        for t, d in places:
            self.tensors[t][d] = (len(self.factors) - 1,)
        return len(self.factors) - 1

    def __getitem__(self, t: int) -> DimFactors:
        return tuple(self.tensors[t])
