"""Rule of convolution: batch, features, groups; spatial dimensions only where the window is one point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from torch_mlir import ir

from pcg.ir import stablehlo as _stablehlo
from pcg.rules.build import Factors, Shape, linear
from pcg.rules.factor import FactorRule
from pcg.rules.registry import rule, shape


@dataclass(frozen=True)
class Layout:
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


def layout(op: ir.Operation) -> Layout:
    """Dimension numbers of a convolution."""
    n = _stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    return Layout(
        n.input_batch_dimension, n.input_feature_dimension, tuple(n.input_spatial_dimensions),
        n.kernel_input_feature_dimension, n.kernel_output_feature_dimension, tuple(n.kernel_spatial_dimensions),
        n.output_batch_dimension, n.output_feature_dimension, tuple(n.output_spatial_dimensions),
    )  # fmt: skip


@rule("stablehlo.convolution")
def convolution(op: ir.Operation) -> FactorRule:
    """`(b, g*c, x), (c, g*o, w) -> (b, g*o, y)` with `g` feature groups; c is contracted.

    With batch groups it is `(g*b, c, x), (c, g*o, w) -> (b, g*o, y)`.
    """
    n = layout(op)
    pointwise = tuple(_is_point(op, n, d) for d in range(len(n.spatial)))
    return _convolution(
        shape(op.operands[0]), shape(op.operands[1]), shape(op.results[0]), n,
        op.attributes["feature_group_count"].value, op.attributes["batch_group_count"].value, pointwise,
    )  # fmt: skip


def _is_point(op: ir.Operation, n: Layout, d: int) -> bool:
    """Whether output index = input index along spatial dimension `d`: a window of 1, neither strided nor padded."""
    sizes = shape(op.operands[0])[n.spatial[d]], shape(op.results[0])[n.out_spatial[d]]
    if shape(op.operands[1])[n.kernel_spatial[d]] != 1 or sizes[0] != sizes[1]:
        return False
    for name in ("window_strides", "lhs_dilation"):
        if name in op.attributes and list(op.attributes[name])[d] != 1:
            return False
    return "padding" not in op.attributes or not any(_padding(op)[2 * d : 2 * d + 2])


def _padding(op: ir.Operation) -> list[int]:
    attr = op.attributes["padding"]
    if attr.is_splat:
        return [attr.get_splat_value().value] * len(attr)
    return list(attr)


@lru_cache(maxsize=1024)
def _convolution(
    lhs: Shape, rhs: Shape, out: Shape, n: Layout, groups: int, batch_groups: int, pointwise: tuple[bool, ...]
) -> FactorRule:
    f = Factors()
    a: list[tuple[int, ...]] = [()] * len(lhs)
    b: list[tuple[int, ...]] = [()] * len(rhs)
    r: list[tuple[int, ...]] = [()] * len(out)
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
    for d, point in enumerate(pointwise):
        i, k, o = n.spatial[d], n.kernel_spatial[d], n.out_spatial[d]
        if point:
            a[i] = r[o] = f.new(lhs[i])
        else:
            reason = "windows of a convolution overlap along it"
            a[i], b[k], r[o] = (f.whole(s, reason) for s in (lhs[i], rhs[k], out[o]))
    flops = 2.0 * rhs[n.kernel_in]
    for s in (*out, *(rhs[k] for k in n.kernel_spatial)):
        flops *= s
    return f.rule(
        [tuple(a), tuple(b)], [tuple(r)], [linear("sum", 0), linear("sum", 1)], max(flops, 1.0)
    )  # fmt: skip
