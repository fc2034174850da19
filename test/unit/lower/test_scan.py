"""Cumulative reductions and top_k along a split dimension, by execution."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

from support.lowercheck import check, mesh_op, spec

REDUCERS = {
    "add": ("0.0", "f32"), "maximum": ("0xFF800000", "f32"), "minimum": ("0x7F800000", "f32"),
    "multiply": ("1.0", "f32"), "or": ("false", "i1"),
}  # fmt: skip
LAYOUTS = ["-,x", "x,-", "-,x+y", "x,y", "y,x", "-,y"]


def cumulative(op: str, reverse: bool, layout: str) -> str:
    init, element = REDUCERS[op]
    pad = "[[0, 0], [0, 7]]" if reverse else "[[0, 0], [7, 0]]"
    t = f"tensor<4x8x{element}>"
    return mesh_op(x=2, y=2) + f"""
func.func @main(%x: {t} {{dist.spec = {spec(layout)}}}) -> ({t} {{dist.spec = {spec(layout)}}}) {{
  %z = stablehlo.constant {{dist.specs = [{spec("")}]}} dense<{init}> : tensor<{element}>
  %0 = "stablehlo.reduce_window"(%x, %z) <{{window_dimensions = array<i64: 1, 8>, padding = dense<{pad}>
      : tensor<2x2xi64>}}> ({{
  ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
    %c = stablehlo.{op} %a, %b : tensor<{element}>
    stablehlo.return %c : tensor<{element}>
  }}) {{dist.specs = [{spec(layout)}]}} : ({t}, tensor<{element}>) -> {t}
  func.return %0 : {t}
}}"""


@pytest.mark.parametrize(("op", "reverse"), list(itertools.product(REDUCERS, [False, True])))
def test_cumulative(op: str, reverse: bool) -> None:
    for layout in LAYOUTS:
        counts, local = check(cumulative(op, reverse, layout))
        split = layout.split(",")[1] != "-"
        assert dict(counts) == ({"all_gather": 1} if split else {}), layout
        if split:  # only totals travel: one column, not the whole dimension
            gathered = next(line for line in local.splitlines() if "all_gather" in line)
            rows, columns = 4 // (2 if layout[0] != "-" else 1), 4 if "+" in layout else 2
            assert f"tensor<{rows}x{columns}x" in gathered.split("->")[1]


@pytest.mark.parametrize("element", ["f32", "i32", "ui8", "ui4", "i4"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_top_k(element: str, layout: str) -> None:
    rows = layout.split(",")[0]
    t, v, p = f"tensor<4x8x{element}>", f"tensor<4x3x{element}>", "tensor<4x3xi32>"
    text = mesh_op(x=2, y=2) + f"""
func.func @main(%x: {t} {{dist.spec = {spec(layout)}}})
    -> ({v} {{dist.spec = {spec(rows + ",-")}}}, {p} {{dist.spec = {spec(rows + ",-")}}}) {{
  %0:2 = chlo.top_k(%x, k = 3) {{dist.specs = [{spec(rows + ",-")}, {spec(rows + ",-")}]}} : {t} -> ({v}, {p})
  func.return %0#0, %0#1 : {v}, {p}
}}"""
    # Many equal values: among equals the lower index comes first, across shards too.
    dtype = {"f32": np.float32, "i32": np.int32, "ui8": np.uint8, "ui4": ml_dtypes.uint4, "i4": ml_dtypes.int4}[element]
    values = np.random.default_rng(0).integers(0, 4, (4, 8)).astype(dtype)
    counts, _ = check(text, [values])
    assert dict(counts) == ({"all_gather": 2} if layout.split(",")[1] != "-" else {})
