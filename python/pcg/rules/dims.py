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
        self, size: int, *places: tuple[int, int], reduce: str | None = None, stuck: str = "", least: int = 1,
        padding: str | None = None, sizes: tuple[int, ...] = (),
    ) -> int:
        """A new factor at `(tensor, dimension)` places; `stuck` is why it cannot be split.  -1 if its size is 0 or 1.

        `padding` is as in `Factor`; by default a reduction wants its neutral element, others take anything.
        """
        if size < 2:
            return -1
        padding = (reduce or "any") if padding is None else padding
        self.factors.append(Factor(size, reduce, not stuck, stuck, least, "" if stuck else padding, sizes))
        for t, d in places:
            self.tensors[t][d] = (len(self.factors) - 1,)
        return len(self.factors) - 1

    def own(self, a: int, b: int, d: int, least: int = 1) -> int:
        """A factor of dimension `d` of tensors 0 (size `a`) and 1 (size `b`), each cut by its own size; -1 if none."""
        return self.add(min(a, b), (0, d), (1, d), least=least, padding="own", sizes=(a, b) if a != b else ())

    def __getitem__(self, t: int) -> DimFactors:
        return tuple(self.tensors[t])
