"""Layouts of values over groups with unequal shares of the batch, strategies of ops along one factor, local forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir import ir

from pcg.layout import Mesh
from pcg.lower.collectives import CollectiveBuilder
from pcg.lower.local import LocalContext
from pcg.rules.factor import Assignment, FactorRule
from pcg.rules.regions import REDUCERS
from pcg.rules.registry import shape

#: The axis of the groups in assignments of rules.
GROUP_AXIS = "share"
#: Why an op stays replicated whose shards would exchange something.
_NEEDS_OTHERS = "its local form needs the other shares"


@dataclass(frozen=True)
class UnevenSplit:
    """Each group has its share of dimension `dim`: `sizes` elements."""

    dim: int
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class UnevenPartial:
    """Each group has a term of a reduction (`kind`: sum, max, ...)."""

    kind: str


#: None: replicated.
UnevenLayout = UnevenSplit | UnevenPartial | None


class CannotShare(Exception):
    """An op cannot work on a share; the text says why."""


@dataclass(frozen=True)
class UnevenStrategy:
    """How an op is split over the groups: the layouts that it needs of its operands, and those of its results."""

    rule: FactorRule
    assignment: Assignment
    factor: int | None
    sizes: tuple[int, ...]
    needs: tuple[UnevenLayout, ...]
    results: tuple[UnevenLayout, ...]


def strategy_by_factor(op: ir.Operation, rule: FactorRule, i: int, state: UnevenSplit) -> UnevenStrategy:
    """The strategy of an op along the factor that operand `i` is split by.

    Raises:
      CannotShare: the op does not let that factor be split, or some tensor does not have it outermost.
    """
    factor = _major(rule, rule.operands[i][state.dim])
    if factor is None:
        raise CannotShare("its rule does not have the dimension of the batch")
    f = rule.factors[factor]
    unit, rest = divmod(shape(op.operands[i])[state.dim], f.size)
    if not f.splittable or rest or any(n % unit for n in state.sizes):
        raise CannotShare(f.reason or "the shares do not go with its dimensions")
    if any(e.factor == factor for e in rule.exchanges):
        raise CannotShare("shares of the batch would have to be exchanged")
    if f.sizes and set(f.sizes) != {f.size}:
        raise CannotShare("it splits or joins the dimension of the batch")
    sizes = tuple(n // unit for n in state.sizes)
    if min(sizes) < f.least:
        raise CannotShare(f"a share of {min(sizes)} is less than the least, {f.least}")
    operands = zip(rule.operands, op.operands, strict=True)
    needs = tuple(layout_by_factor(rule, t, factor, sizes, shape(v)) for t, v in operands)
    results: list[UnevenLayout] = []
    for tensor, value in zip(rule.results, op.results, strict=True):
        split = layout_by_factor(rule, tensor, factor, sizes, shape(value))
        if split is None and f.reduce is None:
            raise CannotShare("a result does not have the batch")
        results.append(UnevenPartial(f.reduce) if f.reduce is not None else split)
    if f.reduce is not None and f.reduce not in REDUCERS:
        raise CannotShare(f"terms of a {f.reduce} cannot be combined")
    axes = tuple((GROUP_AXIS,) if x == factor else () for x in range(len(rule.factors)))
    return UnevenStrategy(rule, Assignment(axes), factor, sizes, needs, tuple(results))


def _major(rule: FactorRule, dim: Sequence[int]) -> int | None:
    """The outermost factor of a dimension that is longer than one."""
    return next((f for f in dim if rule.factors[f].size > 1), None)


def layout_by_factor(
    rule: FactorRule, tensor: Sequence[Sequence[int]], factor: int, sizes: Sequence[int], full: Sequence[int]
) -> UnevenLayout:
    """The layout of a tensor when `factor` is split into `sizes`."""
    found: list[UnevenSplit] = []
    for d, dim in enumerate(tensor):
        if factor in dim:
            if _major(rule, dim) != factor:
                raise CannotShare("the batch is not the outermost factor of a dimension")
            unit = full[d] // rule.factors[factor].size
            found.append(UnevenSplit(d, tuple(n * unit for n in sizes)))
    if len(found) > 1:
        raise CannotShare("a tensor has the batch twice")
    return found[0] if found else None


def joined_layout(a: UnevenLayout, b: UnevenLayout) -> UnevenLayout:
    """The layout of a carried value that starts as `a` and ends as `b`."""
    if a == b or b is None:
        return a
    if a is None:
        return b
    raise CannotShare("a carried value of a loop starts and ends in different layouts")


def local_type(type_: ir.Type, state: UnevenLayout, g: int) -> ir.Type:
    if not isinstance(state, UnevenSplit):
        return type_
    sizes = list(type_.shape)
    sizes[state.dim] = state.sizes[g]
    return ir.RankedTensorType.get(sizes, type_.element_type)


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
