"""Rules of broadcast_in_dim, reshape and transpose, by execution."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.layout import Mesh
from pcg.rules.reshape import reshape_rule
from support.rulecheck import check_op

MESH = Mesh.of({"x": 2, "y": 2})


def tensor(shape: tuple[int, ...]) -> str:
    return "tensor<" + "".join(f"{s}x" for s in shape) + "f32>"


def reshape(a: tuple[int, ...], b: tuple[int, ...]) -> str:
    return f"""func.func @main(%a: {tensor(a)}) -> {tensor(b)} {{
      %0 = stablehlo.reshape %a : ({tensor(a)}) -> {tensor(b)} return %0 : {tensor(b)} }}"""


@pytest.mark.parametrize(
    ("operand", "where", "result", "rule"),
    [
        ((), [], (4, 6), "()->(i,j)"), ((6,), [1], (4, 6), "(j)->(i,j)"), ((4, 1), [0, 1], (4, 6), "(i,1)->(i,j)"),
        ((4,), [0], (4, 2, 2), "(i)->(i,j,k)"), ((2, 4), [2, 0], (4, 3, 2), "(k,i)->(i,j,k)"),
        ((1,), [0], (1, 4), "(1)->(1,i)"),
    ],
)  # fmt: skip
def test_broadcast(operand: tuple[int, ...], where: list[int], result: tuple[int, ...], rule: str) -> None:
    text = f"""func.func @main(%a: {tensor(operand)}) -> {tensor(result)} {{
      %0 = stablehlo.broadcast_in_dim %a, dims = {where} : ({tensor(operand)}) -> {tensor(result)}
      return %0 : {tensor(result)} }}"""
    assert str(check_op(text, MESH).rule) == rule


@pytest.mark.parametrize(
    ("operand", "result", "rule"),
    [
        ((8, 64), (8, 4, 16), "(i,j*k)->(i,j,k)"),
        ((8, 4, 16), (8, 64), "(i,j,k)->(i,j*k)"),
        ((4, 8, 1), (1, 32), "(i,j,1)->(1,i*j)"),
        ((2, 6, 4), (12, 4), "(i,j,k)->(i*j,k)"),
        ((6, 4), (4, 6), "(i*j,k)->(i*l,m)"),
        ((6, 4), (3, 8), "(i*j,k)->(i,j*k)"),
        ((16, 3), (8, 6), "(i*j,k)->(i,j*k)"),
        ((12,), (12,), "(i)->(i)"),
        ((), (1, 1), "()->(1,1)"),
        ((4, 3, 5), (4, 5, 3), "(i,j,k)->(i,l,m)"),
        ((0, 4), (4, 0), "(1,1)->(1,1)"),
    ],
)
def test_reshape(operand: tuple[int, ...], result: tuple[int, ...], rule: str) -> None:
    assert str(reshape_rule(operand, result)) == rule
    if 0 not in operand:
        check_op(reshape(operand, result), MESH)


def test_reshape_says_why_a_factor_is_whole() -> None:
    rule = reshape_rule((6, 4), (4, 6))
    assert [f.splittable for f in rule.factors] == [True, False, False, False, False]
    assert "does not keep its boundaries" in rule.factors[1].reason


SIZES = st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None)
@given(SIZES, st.data())
def test_any_regrouping(sizes: list[int], data: st.DataObject) -> None:
    primes = [p for s in sizes for p in {4: (2, 2), 6: (3, 2), 1: ()}.get(s, (s,))]
    mixed = data.draw(st.permutations(primes))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(mixed)), max_size=3)))
    edges = [0, *cuts, len(mixed)]
    result = tuple(math.prod(mixed[a:b]) for a, b in zip(edges, edges[1:], strict=False))
    rule = check_op(reshape(tuple(sizes), result), Mesh.of({"x": 2, "y": 2, "z": 3}), max_strategies=12).rule
    assert any(f.splittable for f in rule.factors) or sizes[0] == 1 or math.gcd(sizes[0], result[0]) == 1


@pytest.mark.parametrize("permutation", [(0, 1, 2), (2, 0, 1), (1, 0, 2)])
def test_transpose(permutation: tuple[int, ...]) -> None:
    a = (2, 4, 6)
    b = tuple(a[d] for d in permutation)
    text = f"""func.func @main(%a: {tensor(a)}) -> {tensor(b)} {{
      %0 = stablehlo.transpose %a, dims = {list(permutation)} : ({tensor(a)}) -> {tensor(b)}
      return %0 : {tensor(b)} }}"""
    checked = check_op(text, MESH)
    assert str(checked.rule) == "(i,j,k)->(" + ",".join("ijk"[d] for d in permutation) + ")"
