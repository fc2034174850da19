"""Saturated programs: whatever is taken of their alternatives computes the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_mlir import ir

from pcg.ir.errors import PcgError
from pcg.ir.walk import walk
from pcg.rewrite.substitutions.apply import rules_for
from pcg.rewrite.substitutions.extract import extract
from pcg.rewrite.substitutions.saturate import Saturate, rule_of
from pcg.rewrite.substitutions.view import ALTERNATIVES
from pcg.substitute.library import for_programs
from pcg.substitute.schema import Schema
from support.processcheck import mesh
from support.substitutions import (
    assert_same,
    dead,
    elements,
    evaluated,
    inputs,
    main_of,
    ops,
    parsed,
    programs,
    saturated,
    subsets,
)  # fmt: skip

EVERY = list(for_programs())
EXACT = rules_for((), only_exact=True)


def extracted(text: str, rules: Sequence[Schema], taken: Collection[int]) -> ir.Module:
    """The program with the alternatives of these numbers."""
    module = parsed(text)
    extract(saturated(module, rules), taken)
    module.operation.verify()
    assert ALTERNATIVES not in str(module)
    return module


def check(text: str, rules: Sequence[Schema], seeds: Sequence[int], exact: bool = False) -> Counter[str]:
    """Compare what a program computes with some alternatives and without; how many each rule adds."""
    plain = parsed(text)
    values = inputs(plain)
    want = evaluated(plain, values)
    saturated_ = parsed(text)
    alternatives = saturated(saturated_, rules)
    tidy = not dead(plain)
    assert not tidy or not dead(saturated_), f"what nothing reads is not added\n{text}\n{saturated_}"
    for taken in subsets(len(alternatives), seeds):
        module = extracted(text, rules, taken)
        what = f"{text}\n{sorted(taken)} of {len(alternatives)}\n{module}"
        if tidy:
            assert not dead(module), what
        if tidy and not taken:
            assert str(module) == str(plain), what
        assert_same(evaluated(module, values), want, elements(plain), what, exact)
    return Counter(rule_of(op) for op in alternatives)


SEEDS = st.lists(st.integers(0, 99), min_size=2, max_size=2)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(programs(), SEEDS)
def test_any_choice_computes_the_same_integers(text: str, seeds: list[int]):
    check(text, EVERY, seeds)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(programs("f64"), SEEDS)
def test_any_choice_computes_the_same_numbers(text: str, seeds: list[int]):
    check(text, EVERY, seeds)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.sampled_from(["f32", "i32"]).flatmap(programs), SEEDS)
def test_exact_rules_change_no_bit(text: str, seeds: list[int]):
    check(text, EXACT, seeds, exact=True)


def test_the_random_programs_have_what_rules_need():
    """Nearly all rules are tried by them."""
    seen: Counter[str] = Counter()

    @settings(max_examples=150, deadline=None, derandomize=True, database=None)
    @given(programs())
    def collect(text: str) -> None:
        seen.update({rule_of(op): 1 for op in saturated(parsed(text), EVERY)})

    collect()
    assert len(seen) >= 13 and sum(seen.values()) >= 60, seen


_DOT = "stablehlo.dot_general {}, {}, contracting_dims = [1] x [0] : (tensor<{}xf32>, tensor<{}xf32>) -> tensor<{}xf32>"


def _program(arguments: str, result: str, *lines: str) -> str:
    return "\n".join((f"func.func @main({arguments}) -> {result} {{", *lines, f"return %r : {result}", "}"))


def test_a_concatenation_of_four_is_split_at_once():
    parts = [f"tensor<8x{n}xf32>" for n in (4, 6, 5, 5)]
    text = _program(
        f"{', '.join(f'%x{i}: {t}' for i, t in enumerate(parts))}, %w: tensor<20x3xf32>", "tensor<8x3xf32>",
        f"%c = stablehlo.concatenate %x0, %x1, %x2, %x3, dim = 1 : ({', '.join(parts)}) -> tensor<8x20xf32>",
        "%r = " + _DOT.format("%c", "%w", "8x20", "20x3", "8x3"),
    )  # fmt: skip
    rules = rules_for(("split-contraction",), only_exact=False)
    assert check(text, rules, [1]) == {"split-contraction": 1}
    found = ops(extracted(text, rules, [0]))
    assert found["concatenate"] == 0 and found["dot_general"] == 4 and found["slice"] == 4 and found["add"] == 3


def test_a_concatenation_in_blocks_is_read_as_the_one_before():
    text = _program(
        "%x: tensor<4x30xi32>, %y: tensor<4x30xi32>, %z: tensor<4x30xi32>, %w: tensor<90x2xi32>", "tensor<4x2xi32>",
        "%c = stablehlo.concatenate %x, %y, %z, dim = 1 : (tensor<4x30xi32>, tensor<4x30xi32>, tensor<4x30xi32>) -> tensor<4x90xi32>",
        "%r = stablehlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<4x90xi32>, tensor<90x2xi32>) -> tensor<4x2xi32>",
    )  # fmt: skip
    assert check(text, EVERY, [1, 2, 3]) == {"concat-of-blocks": 1, "split-contraction": 1}
    module = parsed(text)
    saturated(module, EVERY)
    assert ops(module)["concatenate"] == 2, "in blocks, and as it is"


def test_slices_of_one_value_are_of_the_same_blocks():
    """A part of two blocks beside one of one: all are parts of one reshape."""
    part = "%{0} = stablehlo.slice %p [0:4, {1}:{2}] : (tensor<4x8xi32>) -> tensor<4x{3}xi32>"
    text = _program(
        "%x: tensor<4x3xi32>, %w: tensor<3x8xi32>", "tensor<4x2xi32>",
        "%p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x3xi32>, tensor<3x8xi32>) -> tensor<4x8xi32>",
        part.format("a", 0, 4, 4), part.format("b", 4, 6, 2), part.format("c", 6, 8, 2),
        "%d = stablehlo.slice %a [0:4, 1:3] : (tensor<4x4xi32>) -> tensor<4x2xi32>",
        "%e = stablehlo.multiply %b, %c : tensor<4x2xi32>",
        "%r = stablehlo.add %d, %e : tensor<4x2xi32>",
    )  # fmt: skip
    rules = rules_for(("slice-of-blocks",), only_exact=False)
    assert check(text, rules, [1, 2, 3]) == {"slice-of-blocks": 3}
    module = parsed(text)
    saturated(module, rules)
    assert str(module).count("(tensor<4x8xi32>) -> tensor<4x4x2xi32>") == 1


@pytest.mark.parametrize(("layout", "reshapes"), [("", 1), ("{dist.specs = [#dist.shard_spec<@mesh, [[], [], []], {}>]}", 2)])
def test_a_reshape_that_is_there_is_used_unless_its_layout_is_fixed(layout: str, reshapes: int):
    text = mesh("mesh", [0, 1], x=2) + _program(
        "%x: tensor<4x3xi32>, %w: tensor<3x8xi32>", "tensor<4x4x2xi32>",
        "%p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x3xi32>, tensor<3x8xi32>) -> tensor<4x8xi32>",
        f"%q = stablehlo.reshape %p {layout} : (tensor<4x8xi32>) -> tensor<4x4x2xi32>",
        "%a = stablehlo.slice %p [0:4, 2:4] : (tensor<4x8xi32>) -> tensor<4x2xi32>",
        "%b = stablehlo.broadcast_in_dim %a, dims = [0, 2] : (tensor<4x2xi32>) -> tensor<4x4x2xi32>",
        "%r = stablehlo.add %q, %b : tensor<4x4x2xi32>",
    )  # fmt: skip
    module = parsed(text)
    assert len(saturated(module, rules_for(("slice-of-blocks",), only_exact=False))) == 1
    assert str(module).count("(tensor<4x8xi32>) -> tensor<4x4x2xi32>") == reshapes


def test_rules_match_what_others_have_made():
    """An update of a table by a scaled gradient takes two rules, one after the other."""
    text = _program(
        "%t: tensor<50x3xf32>, %i: tensor<4x1xi32>, %g: tensor<4x3xf32>, %c: tensor<f32>", "tensor<50x3xf32>",
        "%z = stablehlo.constant dense<0.0> : tensor<50x3xf32>",
        '%s = "stablehlo.scatter"(%z, %i, %g) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], '
        "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({",
        "^bb0(%a: tensor<f32>, %b: tensor<f32>):", "%p = stablehlo.add %a, %b : tensor<f32>",
        "stablehlo.return %p : tensor<f32>",
        "}) : (tensor<50x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<50x3xf32>",
        "%k = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<50x3xf32>",
        "%m = stablehlo.multiply %k, %s : tensor<50x3xf32>",
        "%r = stablehlo.subtract %t, %m : tensor<50x3xf32>",
    )  # fmt: skip
    found = check(text, EVERY, [1, 2, 3])
    assert found == {"scaled-rows": 1, "scaled-rows then subtract-from-table": 1}
    module = extracted(text, EVERY, [0, 1])
    assert "stablehlo.subtract" not in str(module) and 'stablehlo.scatter"(%arg0, %arg1' in str(module)
    alone = extracted(text, EVERY, [0])
    assert "stablehlo.subtract" in str(alone) and not re.search("multiply.*50x3", str(alone))


def test_what_computes_much_more_is_not_added():
    """(x y) z with a wide y: x (y z) is more work the one time and less the other time."""
    for sizes, expected in (((2, 40, 40, 40), 0), ((40, 40, 40, 1), 1)):
        m, k, n, l = sizes
        text = _program(
            f"%x: tensor<{m}x{k}xf32>, %y: tensor<{k}x{n}xf32>, %z: tensor<{n}x{l}xf32>", f"tensor<{m}x{l}xf32>",
            "%p = " + _DOT.format("%x", "%y", f"{m}x{k}", f"{k}x{n}", f"{m}x{n}"),
            "%r = " + _DOT.format("%p", "%z", f"{m}x{n}", f"{n}x{l}", f"{m}x{l}"),
        )  # fmt: skip
        assert len(saturated(parsed(text), EVERY)) == expected


def test_a_sum_of_many_products_ends():
    """The number of alternatives of one value is bounded; what is taken is still right."""
    count = 6
    args = ", ".join(f"%x{i}: tensor<3x4xf32>, %w{i}: tensor<4x3xf32>" for i in range(count))
    lines = [f"%p{i} = " + _DOT.format(f"%x{i}", f"%w{i}", "3x4", "4x3", "3x3") for i in range(count)]
    lines += [
        f"%s{i} = stablehlo.add %{'s' if i > 1 else 'p'}{i - 1}, %p{i} : tensor<3x3xf32>" for i in range(1, count)
    ]
    lines.append(f"%r = stablehlo.tanh %s{count - 1} : tensor<3x3xf32>")
    found = check(_program(args, "tensor<3x3xf32>", *lines), EVERY, range(4))
    assert 0 < sum(found.values()) <= 6 * count


def test_ops_in_loops():
    """Parts of the body of a loop have alternatives there."""
    text = """
func.func @main(%x: tensor<4x2xf32>, %y: tensor<4x2xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %v = %w) : tensor<i32>, tensor<4x4xf32> cond {
    %n = stablehlo.constant dense<2> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %c = stablehlo.concatenate %x, %y, dim = 1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
    %a = stablehlo.dot_general %c, %v, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %b = stablehlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %s = stablehlo.add %a, %b : tensor<4x4xf32>
    stablehlo.return %j, %s : tensor<i32>, tensor<4x4xf32>
  }
  return %r#1 : tensor<4x4xf32>
}"""
    assert check(text, EVERY, [1, 2])["sum-of-right"] > 0


def test_the_transformation_counts_and_names_rules():
    text = _program(
        "%x: tensor<4x2xf32>, %y: tensor<4x2xf32>, %w: tensor<2x3xf32>", "tensor<4x3xf32>",
        "%p = " + _DOT.format("%x", "%w", "4x2", "2x3", "4x3"), "%q = " + _DOT.format("%y", "%w", "4x2", "2x3", "4x3"),
        "%r = stablehlo.add %p, %q : tensor<4x3xf32>",
    )  # fmt: skip
    module = parsed(text)
    saturation = Saturate(rules=("sum-of-left", "split-rows"))
    saturation.run(module.operation)
    found = [op for op in walk(main_of(module)) if op.name == ALTERNATIVES]
    assert saturation.statistics["alternatives"] == len(found) > 0
    assert {rule_of(op) for op in found} == {"sum-of-left"}
    nothing = Saturate(rules=("split-rows",))
    nothing.run(parsed(text).operation)
    assert nothing.statistics["alternatives"] == 0


def test_what_is_there_already_is_not_added_again():
    """Products in four orders: some that rules make are there already, and nothing of them stays."""
    text = """
func.func @main(%a: tensor<1xi32>, %b: tensor<1x1xi32>, %c: tensor<1x1x1xi32>) -> tensor<1xi32> {
  %n = stablehlo.negate %c : tensor<1x1x1xi32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [1] : (tensor<1xi32>, tensor<1x1xi32>) -> tensor<1xi32>
  %1 = stablehlo.dot_general %0, %n, contracting_dims = [0] x [2] : (tensor<1xi32>, tensor<1x1x1xi32>) -> tensor<1x1xi32>
  %2 = stablehlo.reshape %1 : (tensor<1x1xi32>) -> tensor<1x1xi32>
  %3 = stablehlo.dot_general %2, %a, contracting_dims = [1] x [0] : (tensor<1x1xi32>, tensor<1xi32>) -> tensor<1xi32>
  %4 = stablehlo.add %3, %a : tensor<1xi32>
  return %4 : tensor<1xi32>
}"""
    check(text, EVERY, [1, 2, 3])


def test_rules_by_name():
    assert "one-contraction" not in [s.name for s in rules_for((), only_exact=False)], "it is used where it is named"
    assert [s.name for s in rules_for(("one-contraction",), only_exact=False)] == ["one-contraction"]
    assert [s.name for s in rules_for(("split-rows", "sum-of-left"), only_exact=False)] == ["split-rows", "sum-of-left"]
    assert [s.name for s in rules_for(("split-rows", "sum-of-left"), only_exact=True)] == ["split-rows"]
    with pytest.raises(PcgError, match="rule 'nothing' is not known; allowed: split-contraction, "):
        rules_for(("nothing",), only_exact=False)
