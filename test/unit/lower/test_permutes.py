"""Permutes of one value to different devices become one; others stay."""

from __future__ import annotations

import pytest

from support.lowercheck import check, mesh_op, spec

T = "tensor<16x2xf32>"


def shifts(first: str, second: str) -> str:
    """Two shifts of the same tensor along its split dimension, and their difference."""
    rows = spec("x,-")
    pads = "\n".join(
        f"""%{i} = stablehlo.pad %a, %z, low = [{low}, 0], high = [{high}, 0], interior = [0, 0]
        {{dist.specs = [{rows}]}} : ({T}, tensor<f32>) -> {T}"""
        for i, (low, high) in enumerate(x.split(",") for x in (first, second))
    )
    return mesh_op(x=4) + f"""
func.func @main(%a: {T} {{dist.spec = {rows}}}) -> ({T} {{dist.spec = {rows}}}) {{
  %z = stablehlo.constant {{dist.specs = [{spec('')}]}} dense<0.0> : tensor<f32>
  {pads}
  %2 = stablehlo.subtract %0, %1 {{dist.specs = [{rows}]}} : {T}
  func.return %2 : {T}
}}"""


@pytest.mark.parametrize(
    ("first", "second", "permutes"),
    [
        ("1,-1", "-15,15", 1),  # the two halves of a rotation
        ("-1,1", "15,-15", 1),
        ("4,-4", "-12,12", 1),
        ("1,-1", "-1,1", 2),  # other elements go the other way
        ("1,-1", "1,-1", 2),  # the same devices would send twice
        ("1,-1", "-14,14", 2),  # not the same elements
    ],
)
def test_joined(first: str, second: str, permutes: int) -> None:
    counts, _ = check(shifts(first, second))
    assert dict(counts) == {"collective_permute": permutes}
