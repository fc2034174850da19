"""The rules that programs are optimised with: proved, and equal on floats, for many sizes; wrong variants are not."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from pcg.substitute.entries import Floats
from pcg.substitute.errors import TermError
from pcg.substitute.evaluate import evaluate, indices
from pcg.substitute.library import for_programs
from pcg.substitute.prove import holds, prove
from pcg.substitute.refute import counterexample
from pcg.substitute.rule import Rule
from pcg.substitute.schema import Schema, schema_of
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import variables

Array = Any
RULES = {s.name: s for s in for_programs()}


def typed(text: str, sizes: dict[str, int]) -> TensorType:
    """The type of a variable for these sizes of letters."""
    if text == "number":
        return TensorType.of(())
    dims = [d.strip("()").split("+") for d in text.split("*")]
    return TensorType.of(tuple(sum(sizes[c] if c in sizes else int(c) for c in dim) for dim in dims))


def of_random_sizes(schema: Schema, random: Random) -> Rule:
    """The rule for sizes from 1 to 6, and parameters with which it can be built."""
    for _ in range(1000):
        sizes = {letter: random.randint(1, 6) for letter in schema.letters}
        types = {name: typed(text, sizes) for name, text in schema.types.items()}
        assert schema.sizes(types) == sizes
        free = {name: random.randint(0, 6) for name in schema.parameters if name not in sizes}
        try:
            return schema.rule(types, {**sizes, **free})
        except TermError:  # a part that is beyond the end
            assert schema.parameters
    raise AssertionError(f"{schema} has no rule for other sizes")


def inputs(rule: Rule, seed: int) -> dict[str, Array]:
    random = np.random.default_rng(seed)
    rows = indices(*rule.source, *rule.destination)
    return {
        name: random.integers(0, 60, type.shape) if name in rows else random.standard_normal(type.shape)
        for name, type in variables(*rule.source).items()
    }


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_proved_from_the_properties_that_its_line_lists(name: str) -> None:
    proof = prove(RULES[name].example())
    assert proof is not None and ", ".join(proof.sources) == RULES[name].proof


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_proved_for_other_sizes(name: str) -> None:
    random = Random(name)
    for _ in range(2):
        rule = of_random_sizes(RULES[name], random)
        assert prove(rule) is not None, f"{rule} for {variables(*rule.source)}"


@pytest.mark.parametrize("name", RULES)
def test_both_sides_are_equal_on_floats(name: str) -> None:
    random = Random(f"floats {name}")
    for seed in range(8):
        rule = RULES[name].example() if seed == 0 else of_random_sizes(RULES[name], random)
        (source, destination) = evaluate([rule.source[0], rule.destination[0]], inputs(rule, seed), Floats())
        np.testing.assert_allclose(destination, source, rtol=1e-9, atol=1e-9, err_msg=str(rule))


#: Of a rule what is replaced in its line, so that it does not hold.
WRONG = [
    # Parts of the weight exchanged.
    ("split-contraction", "matmul['none'](x, slice[1, 0, k](w))", "matmul['none'](x, slice[1, l, k](w))"),
    # A start off by one: k is 3 in the example.
    (
        "split-contraction", "slice[1, k, l](w))) for x: 1*m*k, y: 1*m*l, w: 1*(k+l)*n",
        "slice[1, o, l](w))) for x: 1*m*k, y: 1*m*l, w: 1*(k+l)*n, o=2",
    ),
    ("split-contraction", "=> add(matmul['none'](x, slice", "=> mul(matmul['none'](x, slice"),
    ("split-contraction-right", "slice[2, 0, k](x)", "slice[2, l, k](x)"),
    ("split-contraction-right", "slice[2, k, l](x)", "slice[2, 0, l](x)"),
    (
        "split-rows", "=> concat[1](matmul['none'](x, w), matmul['none'](y, w)) for x: 1*m*k, y: 1*l*k",
        "=> concat[1](matmul['none'](y, w), matmul['none'](x, w)) for x: 1*m*k, y: 1*l*k",
    ),
    (
        "split-columns", "=> concat[2](matmul['none'](x, w), matmul['none'](x, v))",
        "=> concat[2](matmul['none'](x, v), matmul['none'](x, w))",
    ),
    ("rows-of-product", "=> matmul['none'](slice[1, s, l](x), w)", "=> matmul['none'](slice[1, 0, l](x), w)"),
    ("columns-of-product", "slice[2, s, l](w)", "slice[2, 2, l](w)"),
    # Blocks in the other order, with another sign, the first ones, and columns for blocks.
    (
        "concat-of-blocks", "merge[2](concat[2](unmerge[2, g](x), unmerge[2, g](y)))",
        "merge[2](concat[2](unmerge[2, g](y), unmerge[2, g](x)))",
    ),
    (
        "concat-of-blocks", "merge[2](concat[2](unmerge[2, g](x), unmerge[2, g](y)))",
        "merge[2](concat[2](unmerge[2, g](x), neg(unmerge[2, g](y))))",
    ),
    ("slice-of-blocks", "slice[2, i, j](unmerge[2, g](x))", "slice[2, 0, j](unmerge[2, g](x))"),
    ("slice-of-blocks", "merge[2](slice[2, i, j](unmerge[2, g](x)))", "slice[2, i, l](x)"),
    ("one-contraction", "concat[1](w, v)", "concat[1](v, w)"),
    ("one-product-of-rows", "=> matmul['none'](concat[1](x, y), w)", "=> matmul['none'](concat[1](y, x), w)"),
    ("one-product-of-columns", "=> matmul['none'](x, concat[2](w, v))", "=> matmul['none'](x, concat[2](v, w))"),
    ("sum-of-left", "=> matmul['none'](add(x, y), w)", "=> matmul['none'](x, w)"),
    ("sum-of-right", "=> matmul['none'](x, add(w, v))", "=> matmul['none'](x, add(w, neg(v)))"),
    # The sign lost, on each side, and one too many.
    ("subtract-from-table", "=> scatter_add(t, i, neg(g))", "=> scatter_add(t, i, g)"),
    ("subtract-from-table", "=> scatter_add(t, i, neg(g))", "=> scatter_add(neg(t), i, neg(g))"),
    ("subtract-from-table", "neg(scatter_add(zeros[v, n](), i, g))", "scatter_add(zeros[v, n](), i, g)"),
    ("negated-rows", "=> scatter_add(zeros[v, n](), i, neg(g))", "=> scatter_add(zeros[v, n](), i, g)"),
    # What is added to the table is not added to zeros: the table counts twice.
    ("add-to-table", "scatter_add(zeros[v, n](), i, g)) =>", "scatter_add(t, i, g)) =>"),
    ("add-to-table", "=> scatter_add(t, i, g)", "=> scatter_add(zeros[v, n](), i, g)"),
    ("scaled-rows", "scatter_add(zeros[v, n](), i, scale(g, c))", "scatter_add(zeros[v, n](), i, g)"),
    # A table that is not of zeros is scaled, and has its sign exchanged, too.
    (
        "scaled-rows",
        "scale(scatter_add(zeros[v, n](), i, g), c) => scatter_add(zeros[v, n](), i, scale(g, c)) for i: 1*m",
        "scale(scatter_add(t, i, g), c) => scatter_add(t, i, scale(g, c)) for t: 1*v*n, i: 1*m",
    ),
    (
        "negated-rows",
        "neg(scatter_add(zeros[v, n](), i, g)) => scatter_add(zeros[v, n](), i, neg(g)) for i: 1*m",
        "neg(scatter_add(t, i, g)) => scatter_add(t, i, neg(g)) for t: 1*v*n, i: 1*m",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "right", "wrong"), WRONG)
def test_a_wrong_variant_is_refuted_and_not_proved(name: str, right: str, wrong: str) -> None:
    text = str(RULES[name])
    assert text.count(right) == 1
    rule = schema_of(text.replace(right, wrong)).example()
    assert counterexample(rule) is not None
    assert not holds(rule) and prove(rule) is None


@pytest.mark.parametrize("name", ["product-from-right", "product-from-left"])
def test_the_order_of_factors_matters(name: str) -> None:
    """Of square matrices any order has a type."""
    square = {v: TensorType.of((1, 3, 3)) for v in "xyz"}
    right = RULES[name].rule(square, {})
    assert holds(right) and counterexample(right) is None
    source, _, destination = str(right).partition(" => ")
    exchanged = destination.translate(str.maketrans("yz", "zy"))
    wrong = schema_of(f"wrong: {source} => {exchanged} for x: 1*m*m, y: 1*m*m, z: 1*m*m").example()
    assert not holds(wrong) and counterexample(wrong) is not None
