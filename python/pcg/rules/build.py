"""What rules of several families share: collecting factors, linear passes, cached pointwise rules.

Programs repeat few shapes many times, so rules are built from shapes by cached functions: equal ops
share one `FactorRule` object.  Dimensions of size 0 or 1 have no factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from pcg.rules.factor import DimFactors, Exchange, Factor, FactorRule, Linear

Shape = tuple[int, ...]
#: Factors of one dimension: one, or none where there is nothing to split.
DimFactor = tuple[int, ...]

#: FLOPs of moving data: next to none, but not 0.
FREE = 1.0
#: FLOPs of an op of one per element of its results, which `rule_for` counts.
PER_ELEMENT = 0.0


@lru_cache(maxsize=256)
def linear(kind: str, *operands: int) -> Linear:
    """`Linear` over the given operand numbers."""
    return Linear(kind, frozenset(operands))


def unfactored(*shapes: Shape) -> tuple[list[DimFactor], ...]:
    """Dimensions of tensors, none of which has a factor yet."""
    return tuple([()] * len(s) for s in shapes)


class Factors:
    """Collects the factors of one op while its rule is written."""

    def __init__(self) -> None:
        self.all: list[Factor] = []

    def new(
        self, size: int, reduce: str | None = None, least: int = 1, padding: str | None = None,
        sizes: tuple[int, ...] = (),
    ) -> DimFactor:
        """Factors of a dimension of `size` that may be split: one, or none when there is nothing to split.

        `padding` is as in `Factor`; by default a reduction wants its neutral element, others take anything.
        """
        if size < 2:
            return ()
        padding = (reduce or "any") if padding is None else padding
        self.all.append(Factor(size, reduce, least=least, padding=padding, sizes=sizes))
        return (len(self.all) - 1,)

    def own(self, *sizes: int, least: int = 1) -> DimFactor:
        """Factors of dimensions of `sizes`, each split by its own size, with padding; none if one of them is 0 or 1."""
        own = tuple(dict.fromkeys(sizes))
        return self.new(min(sizes), None, least, "own", own if len(own) > 1 else ())

    def replicated(self, size: int, reason: str) -> DimFactor:
        """Factors of a dimension that every device must hold entirely; `reason` says why."""
        if size < 2:
            return ()
        self.all.append(Factor(size, None, False, reason))
        return (len(self.all) - 1,)

    def dims(self, shape: Sequence[int], padding: str | None = None) -> DimFactors:
        """One new factor per dimension of `shape`."""
        return tuple(self.new(s, padding=padding) for s in shape)

    def rule(
        self, operands: Sequence[DimFactors], results: Sequence[DimFactors], linears: Sequence[Linear] = (),
        flops: float = FREE, exchanges: Sequence[Exchange] = (),
    ) -> FactorRule:  # fmt: skip
        return FactorRule(
            tuple(self.all), tuple(operands), tuple(results), tuple(linears), flops, exchanges=tuple(exchanges)
        )


@lru_cache(maxsize=8192)
def pointwise(
    result: Shape, operands: tuple[Shape, ...], linears: tuple[Linear, ...] = (), results: int = 1,
    padding: str = "any",
) -> FactorRule:
    """Rule of an op that maps elements to elements of `results` results of shape `result`.

    An operand of another shape is broadcast: its trailing dimensions are aligned with those of the
    result, and where its size is 1 it is not split.
    """
    f = Factors()
    dims = f.dims(result, padding)
    rows = []
    for shape in operands:
        aligned = dims[len(result) - len(shape) :]
        rows.append(tuple(d if s > 1 else () for s, d in zip(shape, aligned, strict=True)))
    return f.rule(rows, [dims] * results, linears, max(math.prod(result, start=1.0), FREE))
