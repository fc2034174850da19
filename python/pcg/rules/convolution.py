"""Rule of convolution: batch, features, groups, and spatial dimensions with an exchange of halos."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from torch_mlir import ir

from pcg.ir import stablehlo as _stablehlo
from pcg.rules.blocks import other_dims
from pcg.rules.build import Factors, Shape, linear, unfactored
from pcg.rules.factor import Exchange, FactorRule
from pcg.rules.halo import Sliding, halo
from pcg.rules.registry import rule, shape
from pcg.rules.traits import Trait
from pcg.rules.window import padding, steps
from pcg.rules.window_ranges import WindowExchange


@dataclass(frozen=True)
class ConvDims:
    """Which dimension of input, kernel and output is what (the op's dimension numbers)."""

    batch: int
    feature: int
    spatial: Shape
    kernel_in: int
    kernel_out: int
    kernel_spatial: Shape
    out_batch: int
    out_feature: int
    out_spatial: Shape


def conv_dims(op: ir.Operation) -> ConvDims:
    """Dimension numbers of a convolution."""
    n = _stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    return ConvDims(
        n.input_batch_dimension, n.input_feature_dimension, tuple(n.input_spatial_dimensions),
        n.kernel_input_feature_dimension, n.kernel_output_feature_dimension, tuple(n.kernel_spatial_dimensions),
        n.output_batch_dimension, n.output_feature_dimension, tuple(n.output_spatial_dimensions),
    )  # fmt: skip


@rule(
    "stablehlo.convolution",
    traits=Trait.CONTRACTION | Trait.ANCHOR | Trait.HEAVY | Trait.WORK_IN_ATTRIBUTES | Trait.UNFUSABLE
    | Trait.NONLOCAL | Trait.ROUNDS,
)  # fmt: skip
def convolution(op: ir.Operation) -> FactorRule:
    """`(b, g*c, x), (c, g*o, w) -> (b, g*o, y)` with `g` feature groups; c is contracted.

    With batch groups it is `(g*b, c, x), (c, g*o, w) -> (b, g*o, y)`.
    """
    n = conv_dims(op)
    return _convolution(
        shape(op.operands[0]), shape(op.operands[1]), shape(op.results[0]), n,
        op.attributes["feature_group_count"].value, op.attributes["batch_group_count"].value,
        tuple(conv_sliding(op, n)),
    )  # fmt: skip


def patches(op: ir.Operation, rule: FactorRule) -> tuple[float, int | None]:
    """The operand of a convolution written out window by window (im2col): its elements, and the factor of the output
    features, which split nothing of it (None: there is one feature).

    A convolution of [8,16,16,3] with 3x3 windows: 8 x 16 x 16 x 3 x 3 x 3, however many features come out.
    """
    dim = conv_dims(op).out_feature
    groups = max(op.attributes["feature_group_count"].value, op.attributes["batch_group_count"].value)
    features = shape(op.results[0])[dim] // groups
    return rule.flops / 2 / max(features, 1), rule.results[0][dim][-1] if features > 1 and not rule.reason else None


def conv_sliding(op: ir.Operation, n: ConvDims) -> list[Sliding]:
    """The spatial dimensions of a convolution."""
    lhs, rhs, out = shape(op.operands[0]), shape(op.operands[1]), shape(op.results[0])
    rank = len(n.spatial)
    numbers = [steps(op, name, rank) for name in ("window_strides", "lhs_dilation", "rhs_dilation")]
    flipped = map(bool, op.attributes["window_reversal"]) if "window_reversal" in op.attributes else [False] * rank
    lows = padding(op, rank)[::2]
    dims = zip(n.spatial, n.kernel_spatial, n.out_spatial, *numbers, lows, flipped, strict=True)
    return [Sliding(lhs[i], out[o], rhs[k], *rest) for i, k, o, *rest in dims]


@lru_cache(maxsize=1024)
def _convolution(
    lhs: Shape, rhs: Shape, out: Shape, n: ConvDims, groups: int, batch_groups: int, slides: tuple[Sliding, ...]
) -> FactorRule:
    f = Factors()
    a, b, r = unfactored(lhs, rhs, out)
    g = f.new(groups if groups > 1 else batch_groups)
    batch = f.new(out[n.out_batch])
    features = f.new(out[n.out_feature] // max(groups, batch_groups))
    contracted = f.new(rhs[n.kernel_in], "sum")
    a[n.batch] = g + batch if batch_groups > 1 else batch
    a[n.feature] = g + contracted if groups > 1 else contracted
    b[n.kernel_in] = contracted
    b[n.kernel_out] = g + features
    r[n.out_batch] = batch
    r[n.out_feature] = g + features
    exchanges: list[Exchange] = []
    windows: list[tuple[int, Sliding, float]] = []
    elements = float(math.prod(lhs))
    for d, slide in enumerate(slides):
        i, k, o = n.spatial[d], n.kernel_spatial[d], n.out_spatial[d]
        h = halo(slide)
        if h is not None and h.with_window:
            a[i] = b[k] = f.new(h.size, "sum", h.least, padding="")
            r[o] = f.replicated(out[o], "every output reads all of the split window")
            if a[i] and h.left + h.right:
                exchanges.append(Exchange(a[i][0], "permute", (h.left + h.right) * elements / lhs[i]))
            continue
        if min(lhs[i], out[o]) < 2:
            reason = "all of it is one window" if lhs[i] > 1 else "all of it reads one element"
            a[i], b[k], r[o] = (f.replicated(s, reason) for s in (lhs[i], rhs[k], out[o]))
            continue
        a[i] = r[o] = f.own(lhs[i], out[o], least=h.least if h is not None else 1)
        b[k] = f.replicated(rhs[k], "it is the window itself, and the other side is split")
        if not slide.untouched:
            windows.append((i, slide, (h.left + h.right) * elements / lhs[i] if h is not None else 0.0))
    exchanges += [
        WindowExchange(
            a[i][0], "permute", edge, 0, halo(slide) is not None and not edge, slide, other_dims(a, lhs, i)
        )
        for i, slide, edge in windows
    ]
    flops = math.prod((rhs[n.kernel_in], *out, *(rhs[k] for k in n.kernel_spatial)), start=2.0)
    return f.rule(
        [tuple(a), tuple(b)], [tuple(r)], [linear("sum", 0), linear("sum", 1)], max(flops, 1.0), exchanges
    )  # fmt: skip
