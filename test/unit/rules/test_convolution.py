"""Rule and local form of convolution, by execution."""

from __future__ import annotations

import math

from pcg.layout import Mesh
from support.rulecheck import Checked, check_op

MESH = Mesh.of({"x": 2, "y": 2})
NHWC = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"


def conv(
    lhs: str, rhs: str, out: str, *, dims: str = NHWC, window: str = "", groups: int = 1, batch_groups: int = 1
) -> str:
    a, b, r = (f"tensor<{s}xf32>" for s in (lhs, rhs, out))
    return f"""func.func @main(%a: {a}, %b: {b}) -> {r} {{
      %0 = stablehlo.convolution(%a, %b) dim_numbers = {dims}, window = {{{window}}}
        {{feature_group_count = {groups} : i64, batch_group_count = {batch_groups} : i64}} : ({a}, {b}) -> {r}
      return %0 : {r} }}"""


def whole(checked: Checked) -> int:
    return sum(not f.splittable for f in checked.rule.factors)


def test_batch_features_and_contraction() -> None:
    text = conv("4x5x5x8", "3x3x8x6", "4x3x3x6", window="pad = [[1, 1], [0, 0]], stride = [2, 1]")
    checked = check_op(text, MESH)
    assert str(checked.rule) == "(i,l,n,k),(m,o,k,j)->(i,l,n,j)"
    assert [f.reduce for f in checked.rule.factors[:4]] == [None, None, "sum", None]
    assert whole(checked) == 2  # the window; blocks of input and output are cut by themselves
    assert [f.sizes for f in checked.rule.factors if f.sizes] == [(5, 3), (5, 3)]
    assert checked.rule.flops == 2 * math.prod((4, 3, 3, 6)) * 9 * 8


def test_window_of_one_point_lets_space_be_split() -> None:
    checked = check_op(conv("2x4x6x8", "1x1x8x4", "2x4x6x4"), MESH)
    assert str(checked.rule) == "(i,l,m,k),(1,1,k,j)->(i,l,m,j)"
    assert whole(checked) == 0
    strided = check_op(conv("2x4x6x8", "1x1x8x4", "2x2x6x4", window="stride = [2, 1]"), MESH)
    assert str(strided.rule) == "(i,l,m,k),(1,1,k,j)->(i,l,m,j)"
    padded = check_op(conv("2x4x6x8", "1x1x8x4", "2x6x6x4", window="pad = [[1, 1], [0, 0]]"), MESH)
    assert whole(padded) == 0 and [(f.size, f.sizes) for f in padded.rule.factors[3:]] == [(4, (4, 6)), (6, ())]


def test_shift_by_padding_needs_a_neighbour() -> None:
    checked = check_op(conv("2x4x6x8", "1x1x8x4", "2x4x6x4", window="pad = [[1, -1], [0, 0]]"), MESH)
    assert [(e.factor, e.kind, e.elements) for e in checked.rule.exchanges] == [(3, "permute", 2 * 6 * 8)]


def test_depthwise_splits_groups() -> None:
    checked = check_op(conv("2x5x5x8", "3x3x1x8", "2x3x3x8", groups=8), MESH)
    assert str(checked.rule).replace("*", "") == "(j,k,m,i),(l,n,1,i)->(j,k,m,i)"


def test_feature_groups_with_features_inside() -> None:
    checked = check_op(conv("2x3x3x8", "2x2x4x4", "2x2x2x4", groups=2), MESH)
    assert str(checked.rule).startswith("(j,m,o,i*l),(n,p,l,i*k)->")
    assert any(a.axes[0] and a.axes[3] for a in checked.strategies)  # a group per device, and inside it a contraction


def test_batch_groups() -> None:
    checked = check_op(conv("8x3x3x4", "2x2x4x4", "4x2x2x4", batch_groups=2), MESH)
    assert str(checked.rule).startswith("(i*j,m,o,l),(n,p,l,i*k)->(j,")


def test_other_dimension_numbers() -> None:
    dims = "[f, 0, b, 1]x[o, 0, 1, i]->[0, f, 1, b]"
    text = conv("8x4x2x4", "6x3x3x8", "4x6x4x2", dims=dims, window="pad = [[1, 1], [1, 1]]")
    assert str(check_op(text, MESH).rule) == "(k,l,i,n),(j,m,o,k)->(l,j,n,i)"
    dilated = conv("2x4x8", "3x8x4", "2x7x4", dims="[b, 0, f]x[0, i, o]->[b, 0, f]",
                   window="pad = [[1, 1]], lhs_dilate = [2], rhs_dilate = [1]")  # fmt: skip
    check_op(dilated, MESH)
