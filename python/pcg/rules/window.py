"""Rules of windowed ops: reduce_window (pooling and cumulative sums) and select_and_scatter.

Dimensions over which the window does not reach (size 1, stride 1, no padding) are factors.  A
dimension whose windows line up with its blocks can be split too, with an exchange of halos.  A
cumulative sum (max, ...) can be split along its own dimension: only the totals of the shards are
exchanged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir.identities import identity
from pcg.rules.dims import Dims
from pcg.rules.factor import Exchange, FactorRule, Linear
from pcg.rules.halo import Sliding, halo, scatter_halo
from pcg.rules.reduce import once
from pcg.rules.regions import is_bool, is_identity, reduction
from pcg.rules.registry import rule, shape
from pcg.rules.scalars import repeatable
from pcg.rules.traits import Trait
from pcg.rules.windows import Windows, around

_WINDOW = "windows reach over it, and a window may cross shards"
_COUNTS = "its initial value is not neutral, and how often a window meets it may count"
_ONE = "one window is all there is, or all of it is one window"


def _list(op: ir.Operation, name: str, rank: int, default: int) -> list[int]:
    return list(op.attributes[name]) if name in op.attributes else [default] * rank


def window_numbers(op: ir.Operation) -> dict[str, list[int]]:
    """Attributes of a windowed op as lists; `padding` is flat: low, high, low, high, ..."""
    rank = len(shape(op.operands[0]))
    found = {
        n: _list(op, n, rank, 1)
        for n in ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    }
    flat = [0] * (2 * rank)
    if "padding" in op.attributes:
        attr = op.attributes["padding"]
        flat = [attr.get_splat_value().value] * (2 * rank) if attr.is_splat else list(attr)
    return found | {"padding": flat}


def untouched(numbers: dict[str, list[int]], d: int) -> bool:
    """Whether the window leaves dimension `d` alone."""
    ones = (numbers[n][d] for n in ("window_dimensions", "window_strides", "base_dilations"))
    return all(x == 1 for x in ones) and numbers["padding"][2 * d] == numbers["padding"][2 * d + 1] == 0


def cumulative(op: ir.Operation, numbers: dict[str, list[int]]) -> tuple[int, bool] | None:
    """(dimension, reverse) of a cumulative sum, max, ...: one window that grows from one end; else None."""
    operand = shape(op.operands[0])
    reached = [d for d in range(len(operand)) if not untouched(numbers, d)]
    if len(op.results) != 1 or len(reached) != 1 or operand != shape(op.results[0]):
        return None
    kind = reduction(op.regions[0], 1)
    if kind is None or not is_identity(op.operands[1], kind):
        return None
    (d,) = reached
    size, low, high = operand[d], numbers["padding"][2 * d], numbers["padding"][2 * d + 1]
    ones = (numbers[n][d] for n in ("window_strides", "base_dilations", "window_dilations"))
    if numbers["window_dimensions"][d] != size or any(x != 1 for x in ones) or {low, high} != {0, size - 1}:
        return None
    return d, low == 0


def sliding(numbers: dict[str, list[int]], d: int, big: Sequence[int], small: Sequence[int]) -> Sliding:
    """Dimension `d` of a windowed op from a tensor of shape `big` to one of shape `small`."""
    return Sliding(
        big[d], small[d], numbers["window_dimensions"][d], numbers["window_strides"][d], numbers["base_dilations"][d],
        numbers["window_dilations"][d], numbers["padding"][2 * d],
    )


def _sliding(
    dims: Dims, big: Sequence[int], small: Sequence[int], numbers: dict[str, list[int]], count: int
) -> tuple[Exchange, ...]:
    """Factors of tensor 0 and tensor 1 where shards may read what other shards have."""
    windows: list[tuple[int, int, Sliding, int]] = []
    for d, (a, b) in enumerate(zip(big, small, strict=True)):
        slide = sliding(numbers, d, big, small)
        h = halo(slide)
        if min(a, b) < 2 or (h is not None and h.with_window):
            dims.add(a, (0, d), stuck=_ONE if min(a, b) < 2 else _WINDOW)
            dims.add(b, (1, d), stuck=_ONE if min(a, b) < 2 else _WINDOW)
            continue
        f = dims.own(a, b, d, least=h.least if h is not None else 1)
        if not slide.untouched:
            windows.append((f, d, slide, h.left + h.right if h is not None else 0))
    return tuple(
        Windows(
            f, "permute", count * edge * math.prod(big) / big[d], 0, halo(slide) is not None and not edge, slide,
            around(dims[0], tuple(big), d), count,
        )
        for f, d, slide, edge in windows
    )


def starts_alike(op: ir.Operation, numbers: dict[str, list[int]]) -> bool:
    """Whether a window may meet the initial values where it reads no element, or not: the outcome is the same.

    StableHLO pads with initial values, and combines every window with them once more; XLA leaves out what is padding.
    """
    count = len(op.results)
    kind = reduction(op.regions[0], count)
    starts = list(op.operands)[count:]
    if kind is None or any(identity(v.type.element_type, kind) is None for v in starts):
        return repeatable(op.regions[0], starts)
    padded = any(n > 0 for n in numbers["padding"]) or any(n > 1 for n in numbers["base_dilations"])
    return not (once(kind) and padded) or all(is_identity(v, kind) for v in starts)


def _windowed(
    dims: Dims, big: Sequence[int], small: Sequence[int], numbers: dict[str, list[int]], reason: str = _WINDOW
) -> None:
    """Factors of tensor 0 (shape `big`) and tensor 1 (shape `small`)."""
    for d, (a, b) in enumerate(zip(big, small, strict=True)):
        if untouched(numbers, d):
            dims.add(a, (0, d), (1, d))
        else:
            dims.add(a, (0, d), stuck=reason)
            dims.add(b, (1, d), stuck=reason)


@rule(
    "stablehlo.reduce_window",
    traits=Trait.ANCHOR | Trait.UNFUSABLE | Trait.NONLOCAL | Trait.SCALAR_BODY | Trait.WORK_IN_ATTRIBUTES,
)
def reduce_window(op: ir.Operation) -> FactorRule:
    count = len(op.results)
    operand, result = shape(op.operands[0]), shape(op.results[0])
    numbers = window_numbers(op)
    dims = Dims(operand, result)
    exchanges: tuple[Exchange, ...] = ()
    if (scan := cumulative(op, numbers)) is not None:
        # Every shard is scanned by itself; what the shards before it add up to is gathered and put on top.
        kind = reduction(op.regions[0], 1)
        made = [dims.add(n, (0, d), (1, d), padding=kind if d == scan[0] else None) for d, n in enumerate(operand)]
        if made[scan[0]] >= 0:
            exchanges = (Exchange(made[scan[0]], "all_gather", math.prod(operand) / operand[scan[0]]),)
    elif starts_alike(op, numbers):
        exchanges = _sliding(dims, operand, result, numbers, count)
    else:
        _windowed(dims, operand, result, numbers, _COUNTS)
    kind = reduction(op.regions[0], count)
    linear: tuple[Linear, ...] = ()
    if kind is not None and all(is_identity(op.operands[count + i], kind) for i in range(count)):
        linear = (Linear(kind, frozenset(range(count))),)
    flops = float(count * math.prod(result) * math.prod(numbers["window_dimensions"]))
    operands = (*(dims[0],) * count, *((),) * count)
    return FactorRule(tuple(dims.factors), operands, (dims[1],) * count, linear, flops, exchanges=exchanges)


@rule(
    "stablehlo.select_and_scatter",
    traits=Trait.UNFUSABLE | Trait.NONLOCAL | Trait.SCALAR_BODY | Trait.WORK_IN_ATTRIBUTES,
)
def select_and_scatter(op: ir.Operation) -> FactorRule:
    """Devices also run the windows of their neighbours that reach into their block, and keep their own block.

    They need the operand and the source around the block; there is neither beyond the ends of the tensor, so
    `selection` must say what is never selected, and sources are summed, so that 0 adds nothing.
    """
    operand, source = shape(op.operands[0]), shape(op.operands[1])
    numbers = window_numbers(op)
    dims = Dims(operand, source)
    sums = reduction(op.regions[1], 1) == "sum"
    exchanges: list[Exchange] = []
    if sums and selection(op.regions[0]) is not None:
        windows: list[tuple[int, int, Sliding]] = []
        for d, (a, b) in enumerate(zip(operand, source, strict=True)):
            if min(a, b) < 2:
                dims.add(a, (0, d), stuck=_ONE)
                dims.add(b, (1, d), stuck=_ONE)
                continue
            slide = sliding(numbers, d, operand, source)
            h = scatter_halo(slide)
            f = dims.own(a, b, d, least=h.least if h is not None else 1)
            if not slide.untouched:
                windows.append((f, d, slide))
        for f, d, slide in windows:
            h = scatter_halo(slide)
            edges = (h.left + h.right, h.before + h.after) if h is not None else (0, 0)
            for i, (of, edge, sizes) in enumerate(zip(("operand", "source"), edges, (operand, source), strict=True)):
                exchanges.append(
                    Windows(
                        f, "permute", edge * math.prod(sizes) / sizes[d], i, h is not None and not edge, slide,
                        around(dims[i], sizes, d), 1, of,
                    )
                )
    else:
        _windowed(dims, operand, source, numbers)
    linear: tuple[Linear, ...] = ()
    if sums and is_identity(op.operands[2], "sum"):
        linear = (Linear("sum", frozenset({1})),)
    flops = 2.0 * math.prod(source) * math.prod(numbers["window_dimensions"])
    operands = (dims[0], dims[1], ())
    return FactorRule(tuple(dims.factors), operands, (dims[0],), linear, flops, exchanges=tuple(exchanges))


def selection(region: ir.Region) -> str | None:
    """`max` or `min` when that is what a select computation picks, else None."""
    ops = [op.operation for op in region.blocks[0].operations]
    if len(ops) != 2 or ops[0].name != "stablehlo.compare":
        return None
    if [v.arg_number if isinstance(v, ir.BlockArgument) else -1 for v in ops[0].operands] != [0, 1]:
        return None
    if isinstance(ops[0].operands[0].type.element_type, ir.ComplexType) or is_bool(ops[0].operands[0].type):
        return None
    text = str(ops[0].attributes["comparison_direction"])
    return "max" if "GE" in text or "GT" in text else "min" if "LE" in text or "LT" in text else None
