"""What a value is when a batch is shared unevenly, and how an op works on a share: along one factor of its rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir import ir

from pcg.rules.factor import Assignment, FactorRule
from pcg.rules.regions import REDUCERS
from pcg.rules.registry import shape

#: The axis that stands for the groups where rules speak of axes.
AXIS = "share"


@dataclass(frozen=True)
class Split:
    """Each group has its share of dimension `dim`: `sizes` elements."""

    dim: int
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Partial:
    """Each group has an addend of the whole (by `kind`: sum, max, ...)."""

    kind: str


#: None: a whole value, wherever it is.
State = Split | Partial | None


class Unshared(Exception):
    """An op cannot work on a share; the text says why."""


@dataclass(frozen=True)
class Choice:
    """How an op is shared: what it needs of its operands, and what becomes of its results."""

    rule: FactorRule
    assignment: Assignment
    factor: int | None
    sizes: tuple[int, ...]
    needs: tuple[State, ...]
    makes: tuple[State, ...]


def by_factor(op: ir.Operation, rule: FactorRule, i: int, state: Split) -> Choice:
    """Share an op along the factor that operand `i` is split by.

    Raises:
      Unshared: the op does not let that factor be cut, or some tensor does not have it outermost.
    """
    factor = _major(rule, rule.operands[i][state.dim])
    if factor is None:
        raise Unshared("its rule does not have the dimension of the batch")
    f = rule.factors[factor]
    unit, rest = divmod(shape(op.operands[i])[state.dim], f.size)
    if not f.splittable or rest or any(n % unit for n in state.sizes):
        raise Unshared(f.reason or "the shares do not go with its dimensions")
    if any(e.factor == factor for e in rule.exchanges):
        raise Unshared("parts of the batch would have to be exchanged")
    if f.sizes and set(f.sizes) != {f.size}:
        raise Unshared("it cuts or joins the dimension of the batch")
    sizes = tuple(n // unit for n in state.sizes)
    if min(sizes) < f.least:
        raise Unshared(f"a share of {min(sizes)} is less than the least, {f.least}")
    needs = tuple(state_of(rule, t, factor, sizes, shape(v)) for t, v in zip(rule.operands, op.operands, strict=True))
    makes: list[State] = []
    for tensor, value in zip(rule.results, op.results, strict=True):
        made = state_of(rule, tensor, factor, sizes, shape(value))
        if made is None and f.reduce is None:
            raise Unshared("a result does not have the batch")
        makes.append(Partial(f.reduce) if f.reduce is not None else made)
    if f.reduce is not None and f.reduce not in REDUCERS:
        raise Unshared(f"parts of a {f.reduce} cannot be put together")
    axes = tuple((AXIS,) if x == factor else () for x in range(len(rule.factors)))
    return Choice(rule, Assignment(axes), factor, sizes, needs, tuple(makes))


def _major(rule: FactorRule, dim: Sequence[int]) -> int | None:
    """The outermost factor of a dimension that is longer than one."""
    return next((f for f in dim if rule.factors[f].size > 1), None)


def state_of(
    rule: FactorRule, tensor: Sequence[Sequence[int]], factor: int, sizes: Sequence[int], full: Sequence[int]
) -> State:
    """What a tensor is when `factor` is shared in `sizes`."""
    found: list[Split] = []
    for d, dim in enumerate(tensor):
        if factor in dim:
            if _major(rule, dim) != factor:
                raise Unshared("the batch is not the outermost part of a dimension")
            unit = full[d] // rule.factors[factor].size
            found.append(Split(d, tuple(n * unit for n in sizes)))
    if len(found) > 1:
        raise Unshared("a tensor has the batch twice")
    return found[0] if found else None


def both(a: State, b: State) -> State:
    """The state in which a carry can start as `a` and end as `b`."""
    if a == b or b is None:
        return a
    if a is None:
        return b
    raise Unshared("a carry of a loop begins and ends in different parts")


def local_type(type_: ir.Type, state: State, g: int) -> ir.Type:
    if not isinstance(state, Split):
        return type_
    sizes = list(type_.shape)
    sizes[state.dim] = state.sizes[g]
    return ir.RankedTensorType.get(sizes, type_.element_type)
