"""Floating-point operations of terms, counted by hand."""

from __future__ import annotations

import pytest

from pcg.substitute.library import rule_of
from pcg.substitute.work import flops


@pytest.mark.parametrize(
    ("source", "types", "count"),
    [
        ("add(x, y)", "x: 1x2x4, y: 1x2x4", 8),
        ("neg(x)", "x: 1x2x4", 8),
        ("scale(x, c)", "x: 1x2x4, c: number", 8),
        ("unary['relu'](x)", "x: 1x2x4", 8),
        ("matmul['none'](x, w)", "x: 1x2x3, w: 1x3x5", 2 * 2 * 3 * 5),
        ("matmul['none'](x, w)", "x: 1x7x2x3, w: 1x7x3x5", 2 * 7 * 2 * 3 * 5),
        ("linear['none'](x, w)", "x: 1x2x3, w: 1x5x3", 2 * 2 * 3 * 5),
        # Of 6 x 6 outputs of 4 channels, each of 3 x 3 x 3 inputs.
        ("conv[1, 'same', 'none'](x, w)", "x: 1x2x3x6x6, w: 1x4x3x3x3", 2 * (2 * 4 * 6 * 6) * 3 * 3 * 3),
        ("reduce_sum[2](x)", "x: 1x2x4", 8),
        ("reduce_max[2](x)", "x: 1x2x4", 8),
        # Of the rows that are added, not of the table.
        ("scatter_add(t, i, g)", "t: 1x1000x4, i: 1x3, g: 1x3x4", 12),
        ("scatter_add(zeros[1000, 4](), i, g)", "i: 1x3, g: 1x3x4", 12),
        ("neg(scatter_add(zeros[1000, 4](), i, g))", "i: 1x3, g: 1x3x4", 12 + 4000),
        # What is only moved.
        ("concat[1](x, y)", "x: 1x2x4, y: 1x3x4", 0),
        ("slice[1, 0, 2](transpose[1, 2](x))", "x: 1x2x4", 0),
        ("merge[1](unmerge[1, 2](x))", "x: 1x4x3", 0),
        ("broadcast[1, 5](x)", "x: 1x2x4", 0),
        ("transpose[1, 2](identity[3]())", "", 0),
        ("concat[1](zeros[2, 3](), ones_like(x))", "x: 1x2x3", 0),
        # What is used twice is computed once.
        ("add(matmul['none'](x, w), matmul['none'](x, w))", "x: 1x2x3, w: 1x3x5", 2 * 2 * 3 * 5 + 10),
        ("add(matmul['none'](x, w), matmul['none'](x, v))", "x: 1x2x3, w: 1x3x5, v: 1x3x5", 2 * 2 * 2 * 3 * 5 + 10),
    ],
)
def test_operations_by_hand(source: str, types: str, count: int) -> None:
    rule = rule_of(f"r: {source} => {source}" + (f" for {types}" if types else ""))
    assert flops(rule.source[0]) == count


def test_a_variable_computes_nothing() -> None:
    assert flops(rule_of("r: neg(x) => neg(x) for x: 1x2x4").source[0].operands[0]) == 0


def test_the_order_of_a_chain_of_products_matters() -> None:
    """A row times two matrices is a row twice from the left, and a matrix first from the right."""
    rule = rule_of(
        "r: matmul['none'](matmul['none'](x, y), z) => matmul['none'](x, matmul['none'](y, z))"
        " for x: 1x1x10, y: 1x10x10, z: 1x10x10"
    )
    assert flops(rule.source[0]) == 2 * 2 * 100
    assert flops(rule.destination[0]) == 2 * 1000 + 2 * 100
