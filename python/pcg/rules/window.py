"""Rules of windowed ops: reduce_window (pooling and cumulative sums) and select_and_scatter.

Dimensions over which the window does not reach (size 1, stride 1, no padding) are factors.  A
dimension whose windows are aligned with its blocks can be split too, with an exchange of halos.  A
cumulative sum (max, ...) can be split along its own dimension: only the totals of the shards are
exchanged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from torch_mlir import ir

from pcg.ir.identities import neutral_element
from pcg.ir.types import is_bool
from pcg.rules.blocks import other_dims
from pcg.rules.build import DimFactor, Factors, linear
from pcg.rules.factor import DimFactors, Exchange, FactorRule, Linear
from pcg.rules.halo import Halo, ScatterHalo, Sliding, halo, scatter_halo
from pcg.rules.reduce import idempotent
from pcg.rules.regions import is_neutral, reduction
from pcg.rules.registry import rule, shape
from pcg.rules.scalars import idempotent_on
from pcg.rules.traits import Trait
from pcg.rules.window_ranges import WindowExchange

_WINDOW = "windows reach over it, and a window may cross shards"
_COUNTS = "its initial value is not neutral, and how often a window takes it may count"
_ONE = "one window is all there is, or all of it is one window"
#: How a dimension is split.
Reach = TypeVar("Reach", Halo, ScatterHalo)


def steps(op: ir.Operation, name: str, rank: int) -> list[int]:
    """A number per dimension (strides, dilations, ...); 1 where the op does not say."""
    return list(op.attributes[name]) if name in op.attributes else [1] * rank


def padding(op: ir.Operation, rank: int) -> list[int]:
    """Padding of `rank` dimensions that windows slide over: low, high, low, high, ..."""
    if "padding" not in op.attributes:
        return [0] * 2 * rank
    attr = op.attributes["padding"]
    return [attr.get_splat_value().value] * 2 * rank if attr.is_splat else list(attr)


def window_numbers(op: ir.Operation) -> dict[str, list[int]]:
    """Attributes of a windowed op as lists; `padding` is flat: low, high, low, high, ..."""
    rank = len(shape(op.operands[0]))
    names = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
    return {"padding": padding(op, rank)} | {n: steps(op, n, rank) for n in names}


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
    if kind is None or not is_neutral(op.operands[1], kind):
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


def _split_windows(
    f: Factors, big: Sequence[int], small: Sequence[int], numbers: dict[str, list[int]],
    halo_of: Callable[[Sliding], Reach | None],
) -> tuple[DimFactors, DimFactors, list[tuple[int, Sliding, Reach | None]]]:  # fmt: skip
    """Factors of a tensor of shape `big` and one of shape `small`, and the split dimensions that windows reach over."""
    rows: list[tuple[DimFactor, DimFactor]] = []
    windows: list[tuple[int, Sliding, Reach | None]] = []
    for d, (a, b) in enumerate(zip(big, small, strict=True)):
        slide = sliding(numbers, d, big, small)
        h = halo_of(slide)
        if min(a, b) < 2 or (isinstance(h, Halo) and h.with_window):
            reason = _ONE if min(a, b) < 2 else _WINDOW
            rows.append((f.replicated(a, reason), f.replicated(b, reason)))
            continue
        rows.append((f.own(a, b, least=h.least if h is not None else 1),) * 2)
        if not slide.untouched:
            windows.append((d, slide, h))
    return *_transposed(rows), windows


def _with_windows(
    f: Factors, big: Sequence[int], small: Sequence[int], numbers: dict[str, list[int]], count: int
) -> tuple[DimFactors, DimFactors, list[Exchange]]:
    """Factors of a tensor of shape `big` and one of shape `small`, where shards read what windows reach of others."""
    larger, smaller, windows = _split_windows(f, big, small, numbers, halo)
    exchanges: list[Exchange] = []
    for d, slide, h in windows:
        edge = h.left + h.right if h is not None else 0
        exchanges.append(
            WindowExchange(
                larger[d][0], "permute", count * edge * math.prod(big) / big[d], 0, h is not None and not edge, slide,
                other_dims(larger, big, d), count,
            )
        )
    return larger, smaller, exchanges


def may_repeat_initial(op: ir.Operation, numbers: dict[str, list[int]]) -> bool:
    """Whether the result is the same however often windows combine the initial values.

    StableHLO pads with initial values, and combines every window with them once more; XLA leaves out what is padding.
    """
    count = len(op.results)
    kind = reduction(op.regions[0], count)
    starts = list(op.operands)[count:]
    if kind is None or any(neutral_element(v.type.element_type, kind) is None for v in starts):
        return idempotent_on(op.regions[0], starts)
    padded = any(n > 0 for n in numbers["padding"]) or any(n > 1 for n in numbers["base_dilations"])
    return idempotent(kind) or not padded or all(is_neutral(v, kind) for v in starts)


def _without_windows(
    f: Factors, big: Sequence[int], small: Sequence[int], numbers: dict[str, list[int]], reason: str
) -> tuple[DimFactors, DimFactors]:
    """Factors of a tensor of shape `big` and one of shape `small`: only dimensions without windows can be split."""
    return _transposed([
        (f.new(a),) * 2 if untouched(numbers, d) else (f.replicated(a, reason), f.replicated(b, reason))
        for d, (a, b) in enumerate(zip(big, small, strict=True))
    ])


def _transposed(rows: Sequence[tuple[DimFactor, DimFactor]]) -> tuple[DimFactors, DimFactors]:
    return tuple(a for a, _ in rows), tuple(b for _, b in rows)


@rule(
    "stablehlo.reduce_window",
    traits=Trait.ANCHOR | Trait.UNFUSABLE | Trait.NONLOCAL | Trait.SCALAR_BODY | Trait.WORK_IN_ATTRIBUTES,
)
def reduce_window(op: ir.Operation) -> FactorRule:
    count = len(op.results)
    operand, result = shape(op.operands[0]), shape(op.results[0])
    numbers = window_numbers(op)
    f = Factors()
    exchanges: list[Exchange] = []
    kind = reduction(op.regions[0], count)
    if (scan := cumulative(op, numbers)) is not None:
        # Every shard is scanned by itself; the totals of the shards before it are gathered and added.
        d = scan[0]
        big = small = tuple(f.new(n, padding=kind if i == d else None) for i, n in enumerate(operand))
        if big[d]:
            exchanges = [Exchange(big[d][0], "all_gather", math.prod(operand) / operand[d])]
    elif may_repeat_initial(op, numbers):
        big, small, exchanges = _with_windows(f, operand, result, numbers, count)
    else:
        big, small = _without_windows(f, operand, result, numbers, _COUNTS)
    passes: list[Linear] = []
    if kind is not None and all(is_neutral(op.operands[count + i], kind) for i in range(count)):
        passes = [linear(kind, *range(count))]
    flops = float(count * math.prod(result) * math.prod(numbers["window_dimensions"]))
    return f.rule([big] * count + [()] * count, [small] * count, passes, flops, exchanges)


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
    f = Factors()
    sums = reduction(op.regions[1], 1) == "sum"
    exchanges: list[Exchange] = []
    if sums and selection(op.regions[0]) is not None:
        big, small, exchanges = _with_scattered_windows(f, operand, source, numbers)
    else:
        big, small = _without_windows(f, operand, source, numbers, _WINDOW)
    passes = [linear("sum", 1)] if sums and is_neutral(op.operands[2], "sum") else []
    flops = 2.0 * math.prod(source) * math.prod(numbers["window_dimensions"])
    return f.rule([big, small, ()], [big], passes, flops, exchanges)


def _with_scattered_windows(
    f: Factors, operand: Sequence[int], source: Sequence[int], numbers: dict[str, list[int]]
) -> tuple[DimFactors, DimFactors, list[Exchange]]:
    """As `_with_windows`, where the windows of the source scatter into the operand."""
    big, small, windows = _split_windows(f, operand, source, numbers, scatter_halo)
    exchanges: list[Exchange] = []
    for d, slide, h in windows:
        edges = (h.left + h.right, h.before + h.after) if h is not None else (0, 0)
        tensors = (("operand", big, operand), ("source", small, source))
        for i, ((of, dims, sizes), edge) in enumerate(zip(tensors, edges, strict=True)):
            exchanges.append(
                WindowExchange(
                    big[d][0], "permute", edge * math.prod(sizes) / sizes[d], i, h is not None and not edge, slide,
                    other_dims(dims, sizes, d), 1, of,
                )
            )
    return big, small, exchanges


def selection(region: ir.Region) -> str | None:
    """`max` or `min` when that is what a select computation picks, else None."""
    block = region.blocks[0]
    ops = [op.operation for op in block.operations]
    if len(ops) != 2 or ops[0].name != "stablehlo.compare" or list(ops[0].operands) != list(block.arguments):
        return None
    if isinstance(ops[0].operands[0].type.element_type, ir.ComplexType) or is_bool(ops[0].operands[0].type):
        return None
    text = str(ops[0].attributes["comparison_direction"])
    return "max" if "GE" in text or "GT" in text else "min" if "LE" in text or "LT" in text else None
