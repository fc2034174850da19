"""Rules in StableHLO programs: what they match, and that programs compute the same afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from jax import lax
from torch_mlir import ir

from pcg.ir.errors import PcgError
from pcg.ir.walk import walk
from pcg.passes.pipeline import Pipeline
from pcg.rewrite.substitutions.apply import ApplySubstitutions
from pcg.rewrite.substitutions.emit import emit_destination
from pcg.rewrite.substitutions.match import Match, Rules, exact, matches
from pcg.rewrite.substitutions.view import View
from pcg.substitute.library import for_programs, known
from pcg.substitute.pattern import Hole, Pattern
from pcg.substitute.rule import Rule
from pcg.substitute.schema import schema_of
from pcg.substitute.term import apply, variable
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
)  # fmt: skip

RULES = tuple(s.name for s in for_programs())
#: Rules that round as what they replace does.
EXACT = {
    "split-rows", "split-columns", "rows-of-product", "columns-of-product", "one-product-of-rows",
    "one-product-of-columns", "concat-of-blocks", "slice-of-blocks", "negated-rows",
}  # fmt: skip
#: How many more products there are once a rule was applied.
PRODUCTS = {
    "split-contraction": 1, "split-contraction-right": 1, "split-rows": 1, "split-columns": 1, "one-contraction": -1,
    "one-product-of-rows": -1, "one-product-of-columns": -1, "sum-of-left": -1, "sum-of-right": -1,
}  # fmt: skip


@dataclass(frozen=True)
class Form:
    """A program that has the source of a rule."""

    step: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    gone: tuple[str, ...] = ()
    """Ops that the program has, and not after the rule was applied as often as it matches."""


def dot(x: Any, w: Any, left: int | tuple[int, ...] = -1, right: int | tuple[int, ...] = 0) -> Any:
    """A product that contracts these dimensions."""
    dims = [tuple(d % v.ndim for d in ((d,) if isinstance(d, int) else d)) for v, d in ((x, left), (w, right))]
    return lax.dot_general(x, w, (tuple(dims), ((), ())))


def join(*values: Any, dim: int = 0) -> Any:
    return lax.concatenate(values, dim % values[0].ndim)


def part(x: Any, dim: int, start: int, limit: int) -> Any:
    return lax.slice_in_dim(x, start, limit, axis=dim)


def turn(x: Any, *order: int) -> Any:
    """A transpose, by default of a matrix."""
    return lax.transpose(x, order or (1, 0))


def rows(shape: tuple[int, ...], i: Any, g: Any, table: Any = None) -> Any:
    """Rows `g` added to rows `i` of a table, by default of zeros."""
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=tuple(range(i.ndim, g.ndim)), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    table = jnp.zeros(shape, g.dtype) if table is None else table
    return lax.scatter_add(table, i[..., None], g, numbers, mode=lax.GatherScatterMode.FILL_OR_DROP)


T, TH = (5, 3), (5, 2, 3)
#: Of an argument that names rows: the first size is negative.
I, I2 = (-1, 4), (-1, 4, 2)

FORMS: dict[str, dict[str, Form]] = {
    "split-contraction": {
        "plain": Form(lambda x, y, w: dot(join(x, y, dim=1), w), ((4, 2), (4, 3), (5, 3)), ("concatenate",)),
        "other dimensions": Form(lambda x, y, w: dot(join(x, y), w, 0, 1), ((2, 4), (3, 4), (3, 5)), ("concatenate",)),
        "batch, sequence and heads": Form(
            lambda x, y, w: dot(join(x, y, dim=2), w), ((2, 3, 4), (2, 3, 2), (6, 2, 3)), ("concatenate",)
        ),
        "transposed before": Form(
            lambda x, y, w: dot(turn(join(x, y)), w), ((2, 4), (3, 4), (5, 3)), ("concatenate", "transpose")
        ),
        "reshaped before": Form(
            lambda x, y, w: dot(join(x, y, dim=2).reshape(6, 6), w), ((2, 3, 4), (2, 3, 2), (6, 3)), ("concatenate",)
        ),
        "two dimensions contracted": Form(
            lambda x, y, w: dot(join(x, y, dim=1), w, (1, 2), (0, 1)),
            ((4, 1, 3), (4, 2, 3), (3, 3, 2)),
            ("concatenate",),
        ),
        "contracted dimensions that the parts do not fill": Form(
            lambda x, y, w: dot(join(x, y, dim=1).reshape(4, 2, 3), w, (1, 2), (0, 1)),
            ((4, 2), (4, 4), (2, 3, 2)),
            ("concatenate",),
        ),
        "four parts": Form(
            lambda x, y, z, v, w: dot(join(x, y, z, v, dim=1), w),
            ((4, 2), (4, 3), (4, 1), (4, 2), (8, 3)),
            ("concatenate",),
        ),
        "a part twice": Form(lambda x, w: dot(join(x, x, x, dim=1), w), ((4, 2), (6, 3)), ("concatenate",)),
        "vectors": Form(lambda x, y, w: dot(join(x, y), w), ((2,), (3,), (5, 3)), ("concatenate",)),
    },
    "split-contraction-right": {
        "plain": Form(lambda x, w, v: dot(x, join(w, v)), ((4, 5), (2, 3), (3, 3)), ("concatenate",)),
        "gradient of a weight": Form(
            lambda x, w, v: dot(x, join(w, v), (0, 1), (0, 1)), ((4, 2, 5), (1, 2, 3), (3, 2, 3)), ("concatenate",)
        ),
        "joined on the left": Form(
            lambda w, x, y: dot(w, join(x, y, dim=1), 0, 1), ((5, 3), (4, 2), (4, 3)), ("concatenate",)
        ),
        "three parts, heads": Form(
            lambda x, u, v, w: dot(x, join(u, v, w)), ((2, 3, 6), (1, 2, 3), (3, 2, 3), (2, 2, 3)), ("concatenate",)
        ),
        "transposed": Form(lambda x, w, v: dot(x, turn(join(w, v, dim=1))), ((4, 5), (3, 2), (3, 3)), ("concatenate",)),
    },
    "split-rows": {
        "plain": Form(lambda x, y, w: dot(join(x, y), w), ((4, 2), (3, 2), (2, 3))),
        "batch": Form(lambda x, y, w: dot(join(x, y), w), ((1, 3, 4), (2, 3, 4), (4, 2, 3))),
        "columns of x^T": Form(lambda x, y, w: dot(join(x, y, dim=1), w, 0), ((2, 4), (2, 3), (2, 3))),
        "reshaped": Form(lambda x, y, w: dot(join(x, y).reshape(9, 4), w), ((1, 3, 4), (2, 3, 4), (4, 2))),
        "three parts": Form(lambda x, y, z, w: dot(join(x, y, z), w), ((4, 2), (3, 2), (1, 2), (2, 3))),
    },
    "split-columns": {
        "plain": Form(lambda x, w, v: dot(x, join(w, v, dim=1)), ((4, 2), (2, 3), (2, 1))),
        "heads": Form(lambda x, w, v: dot(x, join(w, v, dim=1)), ((2, 3, 4), (4, 2, 3), (4, 1, 3))),
        "rows of w^T": Form(lambda x, w, v: dot(x, join(w, v), 1, 1), ((4, 2), (3, 2), (1, 2))),
        "transposed": Form(lambda x, w, v: dot(x, turn(join(w, v))), ((4, 2), (3, 2), (1, 2))),
        "query, key and value": Form(
            lambda x, q, k, v: dot(x, join(q, k, v, dim=1)), ((2, 3, 4), (4, 3), (4, 3), (4, 2))
        ),
    },
    "rows-of-product": {
        "plain": Form(lambda x, w: part(dot(x, w), 0, 1, 3), ((4, 2), (2, 3))),
        "batch": Form(lambda x, w: part(dot(x, w), 0, 1, 2), ((3, 2, 4), (4, 2, 3))),
        "transposed after": Form(lambda x, w: part(turn(dot(x, w)), 0, 1, 3), ((4, 2), (2, 3))),
        "reshaped after": Form(lambda x, w: part(dot(x, w).reshape(2, 3, 2), 0, 1, 2), ((6, 4), (4, 2))),
        "of x^T": Form(lambda x, w: part(dot(x, w, 0), 0, 0, 1), ((2, 4), (2, 3))),
    },
    "columns-of-product": {
        "plain": Form(lambda x, w: part(dot(x, w), 1, 1, 3), ((4, 2), (2, 3))),
        "heads": Form(lambda x, w: part(dot(x, w), 2, 1, 2), ((3, 2, 4), (4, 2, 3))),
        "reshaped after": Form(lambda x, w: part(dot(x, w).reshape(3, 2, 3), 1, 1, 2), ((3, 4), (4, 6))),
        "transposed after": Form(lambda x, w: part(turn(dot(x, w)), 1, 1, 3), ((4, 2), (2, 3))),
    },
    "one-contraction": {
        "plain": Form(lambda x, w, y, v: dot(x, w) + dot(y, v), ((4, 2), (2, 3), (4, 3), (3, 3)), ("add",)),
        "batch, sequence and heads": Form(
            lambda x, w, y, v: dot(x, w) + dot(y, v), ((2, 3, 4), (4, 2, 3), (2, 3, 5), (5, 2, 3)), ("add",)
        ),
        "gradients": Form(
            lambda x, w, y, v: dot(x, w, 0, 0) + dot(y, v, (0, 1), (0, 1)),
            ((4, 2), (4, 3), (2, 3, 2), (2, 3, 3)),
            ("add",),
        ),
        "one transposed": Form(
            lambda x, w, y, v: dot(x, w) + turn(dot(v, y)), ((4, 2), (2, 3), (3, 4), (3, 3)), ("add",)
        ),
        "reshaped": Form(
            lambda x, w, y, v: dot(x, w) + dot(y, v).reshape(2, 2, 3), ((2, 2, 2), (2, 3), (4, 3), (3, 3)), ("add",)
        ),
    },
    "one-product-of-rows": {
        "plain": Form(lambda x, y, w: join(dot(x, w), dot(y, w)), ((4, 2), (3, 2), (2, 3))),
        "batch": Form(lambda x, y, w: join(dot(x, w), dot(y, w)), ((1, 3, 4), (2, 3, 4), (4, 2, 3))),
        "x^T and y": Form(lambda x, y, w: join(dot(x, w, 0), dot(y, w)), ((2, 4), (3, 2), (2, 3))),
        "transposed after": Form(lambda x, y, w: join(turn(dot(w, x)), dot(y, w, 1, 1)), ((2, 4), (3, 2), (3, 2))),
    },
    "one-product-of-columns": {
        "plain": Form(lambda x, w, v: join(dot(x, w), dot(x, v), dim=1), ((4, 2), (2, 3), (2, 1))),
        "heads": Form(lambda x, w, v: join(dot(x, w), dot(x, v), dim=2), ((2, 3, 4), (4, 2, 3), (4, 1, 3))),
        "reshaped": Form(
            lambda x, w, v: join(dot(x, w).reshape(4, 2, 2), dot(x, v).reshape(4, 1, 2), dim=1),
            ((4, 2), (2, 4), (2, 2)),
        ),
    },
    "concat-of-blocks": {
        "plain": Form(lambda x, y, w: dot(join(x, y, dim=1), w), ((4, 3), (4, 3), (6, 2))),
        "four parts": Form(lambda x, y, z, v, w: dot(join(x, y, z, v, dim=1), w), (*[(4, 2)] * 4, (8, 3))),
        "a part of two blocks": Form(lambda x, y, w: dot(join(x, y, dim=1), w), ((4, 2), (4, 4), (6, 3))),
        "parts of other sizes": Form(lambda x, y, z, w: dot(join(x, y, z, dim=1), w), ((4, 2), (4, 4), (4, 6), (12, 3))),
        "batch, sequence": Form(lambda x, y, w: dot(join(x, y, dim=2), w), ((2, 3, 4), (2, 3, 4), (8, 5))),
        "on the right": Form(lambda x, w, v: dot(x, join(w, v, dim=1)), ((4, 2), (2, 3), (2, 3))),
        "read by two": Form(
            lambda x, y, w: dot(dot(join(x, y, dim=1), w), join(x, y, dim=1), 0, 0), ((4, 3), (4, 3), (6, 2))
        ),
    },
    "slice-of-blocks": {
        "plain": Form(lambda x, w: part(dot(x, w), 1, 2, 4), ((4, 2), (2, 6))),
        "first": Form(lambda x, w: part(dot(x, w), 1, 0, 3), ((4, 2), (2, 6))),
        "all of a product": Form(
            lambda x, w: part(dot(x, w), 1, 0, 2) * part(dot(x, w), 1, 2, 4) - part(dot(x, w), 1, 4, 6), ((4, 2), (2, 6))
        ),
        "batch, sequence": Form(lambda x, w: part(dot(x, w), 2, 3, 6), ((2, 3, 4), (4, 6))),
        "read by a product": Form(lambda x, w: dot(part(x, 1, 2, 4), w), ((4, 6), (2, 3))),
    },
    "sum-of-left": {
        "plain": Form(lambda x, w, y: dot(x, w) + dot(y, w), ((4, 2), (2, 3), (4, 2))),
        "x^T and y": Form(lambda x, w, y: dot(x, w, 0) + dot(y, w), ((2, 4), (2, 3), (4, 2))),
        "heads": Form(lambda x, w, y: dot(x, w) + dot(y, w), ((2, 3, 4), (4, 2, 3), (2, 3, 4))),
        "reshaped": Form(lambda x, w, y: dot(x, w).reshape(4, 3) + dot(y, w), ((2, 2, 2), (2, 3), (4, 2))),
    },
    "sum-of-right": {
        "plain": Form(lambda x, w, v: dot(x, w) + dot(x, v), ((4, 2), (2, 3), (2, 3))),
        "w^T": Form(lambda x, w, v: dot(x, w, 1, 1) + dot(x, v), ((4, 2), (3, 2), (2, 3))),
        "transposed": Form(lambda x, w, v: turn(dot(w, x, 0, 1)) + dot(x, v), ((4, 2), (2, 3), (2, 3))),
    },
    "product-from-right": {
        "plain": Form(lambda x, y, z: dot(dot(x, y), z), ((4, 2), (2, 3), (3, 5))),
        "heads": Form(lambda x, y, z: dot(dot(x, y), z, (2, 3), (0, 1)), ((2, 3, 4), (4, 2, 3), (2, 3, 4))),
        "transposed between": Form(lambda x, y, z: dot(turn(dot(y, x, 0, 1)), z), ((4, 2), (2, 3), (3, 5))),
        "heads in one dimension": Form(
            lambda x, y, z: dot(dot(x, y).reshape(2, 3, 6), z), ((2, 3, 4), (4, 2, 3), (6, 4))
        ),
        "transposed instead": Form(lambda x, y, z: dot(dot(y, x, 0, 1), z, 0), ((4, 2), (2, 3), (3, 5))),
    },
    "product-from-left": {
        "plain": Form(lambda x, y, z: dot(x, dot(y, z)), ((4, 2), (2, 3), (3, 5))),
        "other dimensions": Form(lambda x, y, z: dot(x, dot(z, y, 1, 0), 1, 1), ((4, 2), (3, 2), (5, 3))),
        "gradient": Form(lambda x, y, z: dot(x, dot(y, z), (0, 1), (0, 1)), ((2, 3, 4), (2, 3, 5), (5, 3))),
    },
    "add-to-table": {
        "plain": Form(lambda t, i, g: t + rows(T, i, g), (T, I, (4, 3)), ("add",)),
        "reversed": Form(lambda t, i, g: rows(T, i, g) + t, (T, I, (4, 3)), ("add",)),
        "heads": Form(lambda t, i, g: t + rows(TH, i, g), (TH, I, (4, 2, 3)), ("add",)),
        "bag": Form(lambda t, i, g: t + rows(T, i, g), (T, I2, (4, 2, 3)), ("add",)),
        "bag, heads": Form(lambda t, i, g: t + rows(TH, i, g), (TH, I2, (4, 2, 2, 3)), ("add",)),
        "reshaped": Form(lambda t, i, g: t + rows(TH, i, g).reshape(5, 6), ((5, 6), I, (4, 2, 3)), ("add",)),
        "two updates": Form(lambda t, i, g, h: t + rows(T, i, g) + rows(T, i, h), (T, I, (4, 3), (4, 3)), ("add",)),
        "vector": Form(lambda t, i, g: t + rows((5,), i, g), ((5,), I, (4,)), ("add",)),
    },
    "subtract-from-table": {
        "plain": Form(lambda t, i, g: t - rows(T, i, g), (T, I, (4, 3)), ("subtract",)),
        "negated": Form(lambda t, i, g: t + lax.neg(rows(T, i, g)), (T, I, (4, 3)), ("add",)),
        "negated, reshaped": Form(
            lambda t, i, g: t + lax.neg(rows(TH, i, g).reshape(5, 6)), ((5, 6), I, (4, 2, 3)), ("add",)
        ),
        "negated first": Form(lambda t, i, g: lax.neg(rows(T, i, g)) + t, (T, I, (4, 3)), ("add",)),
        "bag, heads": Form(lambda t, i, g: t - rows(TH, i, g), (TH, I2, (4, 2, 2, 3)), ("subtract",)),
        "reshaped": Form(lambda t, i, g: t - rows(TH, i, g).reshape(5, 6), ((5, 6), I, (4, 2, 3)), ("subtract",)),
    },
    "scaled-rows": {
        "argument": Form(lambda i, g, c: rows(T, i, g) * c, (I, (4, 3), ())),
        "constant": Form(lambda i, g: rows(T, i, g) * jnp.asarray(3, g.dtype), (I, (4, 3))),
        "splat": Form(lambda i, g: rows(T, i, g) * np.full(T, 3, g.dtype), (I, (4, 3))),
        "number first": Form(lambda i, g, c: c * rows(TH, i, g), (I2, (4, 2, 2, 3), ())),
        "reshaped": Form(lambda i, g, c: rows(TH, i, g).reshape(5, 6) * c, (I, (4, 2, 3), ())),
    },
    "negated-rows": {
        "plain": Form(lambda i, g: lax.neg(rows(T, i, g)), (I, (4, 3))),
        "bag, heads": Form(lambda i, g: lax.neg(rows(TH, i, g)), (I2, (4, 2, 2, 3))),
        "reshaped": Form(lambda i, g: lax.neg(rows(TH, i, g).reshape(5, 6)), (I, (4, 2, 3))),
    },
}
ALL = [(rule, form) for rule, forms in FORMS.items() for form in forms]
DTYPES = {"f32": "float32", "f64": "float64", "bf16": "bfloat16", "i32": "int32"}


def text_of(step: Callable[..., Any], shapes: tuple[tuple[int, ...], ...], of: str = "f32") -> str:
    """The program that JAX lowers, with elements `of`."""
    rows_type = "int64" if of == "i32" else "int32"
    with jax.enable_x64(True):
        arguments = [
            jax.ShapeDtypeStruct(s[1:], rows_type) if s and s[0] < 0 else jax.ShapeDtypeStruct(s, DTYPES[of])
            for s in shapes
        ]
        return jax.jit(step, keep_unused=True).lower(*arguments).as_text()


def program(step: Callable[..., Any], shapes: tuple[tuple[int, ...], ...], of: str = "f32") -> ir.Module:
    module = parsed(text_of(step, shapes, of))
    Pipeline("pcg-normalize").run(module)
    return module


def applied(module: ir.Module, rule: str, at: int = -1) -> int:
    """Apply a rule, with all checks that need no numbers; how often it was applied."""
    tidy = not dead(module)
    transformation = ApplySubstitutions(rule=rule, at=at)
    transformation.run(module.operation)
    module.operation.verify()
    count = transformation.statistics["applied"]
    assert len(transformation.remarks) == count
    assert not tidy or not dead(module), f"unused ops are gone\n{module}"
    return count


def test_every_rule_has_programs():
    assert set(FORMS) == set(RULES)


@pytest.mark.parametrize("rule, form", ALL)
def test_the_program_computes_the_same(rule: str, form: str):
    of = "i32" if form == "plain" else "f32"
    found = FORMS[rule][form]
    module = program(found.step, found.shapes, of)
    values = inputs(module)
    want, before = evaluated(module, values), ops(module)
    assert elements(module) == of and all(before[name] for name in found.gone)
    assert applied(module, rule) > 0
    after = ops(module)
    if found.gone or len(ops(module)) == 1:
        while set(found.gone) & set(ops(module)):
            assert applied(module, rule) > 0, f"more is there to match\n{module}"
    else:
        assert after["dot_general"] - before["dot_general"] == PRODUCTS.get(rule, 0)
    assert after["scatter"] == before["scatter"]
    assert_same(evaluated(module, values), want, of, str(module), exact=rule in EXACT)


@pytest.mark.parametrize(("rule", "form"), ALL)
def test_a_rule_is_tried_where_it_matches(rule: str, form: str):
    module = program(FORMS[rule][form].step, FORMS[rule][form].shapes)
    rules, found = Rules(for_programs()), set()
    with module.context:
        for op in walk(module.operation):
            for schema in for_programs():
                if next(matches(schema, op), None) is not None:
                    assert schema in rules.of(op)
                    found.add(schema.name)
    assert rule in found


@pytest.mark.parametrize("of", ["f64", "bf16"])
@pytest.mark.parametrize("rule", RULES)
def test_other_elements(rule: str, of: str):
    form = FORMS[rule][list(FORMS[rule])[0 if of == "bf16" else -1]]
    module = program(form.step, form.shapes, of)
    values = inputs(module)
    want = evaluated(module, values)
    assert elements(module) == of and applied(module, rule) > 0
    assert_same(evaluated(module, values), want, of, str(module))


@pytest.mark.parametrize("rule", ["split-contraction", "one-contraction", "sum-of-left", "product-from-right"])
def test_values_with_other_readers_stay(rule: str):
    """What else is read of the source is computed as before."""
    form = FORMS[rule]["plain"]

    def step(*args: Any) -> Any:
        return (
            form.step(*args),
            join(args[0], args[0], dim=1),
            dot(args[0], args[1]) if rule != "split-contraction" else args[1],
        )

    module = program(step, form.shapes, "i32")
    values = inputs(module)
    want = evaluated(module, values)
    assert applied(module, rule) == 1
    assert_same(evaluated(module, values), want, "i32", str(module))


def test_at_takes_one_match():
    def step(x: Any, y: Any, w: Any) -> Any:
        return dot(join(x, y, dim=1), w), dot(join(y, x, dim=1), w)

    module = program(step, ((4, 2), (4, 3), (5, 3)), "i32")
    values = inputs(module)
    want = evaluated(module, values)
    assert applied(module, "split-contraction", at=1) == 1
    assert ops(module)["dot_general"] == 3 and ops(module)["concatenate"] == 1
    assert "stablehlo.concatenate %arg0, %arg1" in str(module)
    assert_same(evaluated(module, values), want, "i32", str(module))


@pytest.mark.parametrize("rule, options, message", [
    ("no-such-rule", {}, "rule 'no-such-rule' is not known; allowed: split-contraction, "),
    ("split-contraction", {"at": 1}, "rule 'split-contraction' matches 1 times; at=1; allowed: less than that"),
    ("split-contraction", {"exact": True}, "rule 'split-contraction' changes rounding, which 'exact' does not allow"),
])  # fmt: skip
def test_what_cannot_be_applied(rule: str, options: dict[str, Any], message: str):
    form = FORMS["split-contraction"]["plain"]
    with pytest.raises(PcgError) as error:
        ApplySubstitutions(rule=rule, **options).run(program(form.step, form.shapes).operation)
    assert message in str(error.value)


def test_rules_that_change_no_rounding():
    assert {s.name for s in for_programs() if exact(s)} == EXACT
    assert all(not exact(known()[n]) for n in ("scaled-rows", "add-to-table", "split-contraction"))


# -- gradients that JAX makes ----------------------------------------------------------------------


@pytest.mark.parametrize("bag", [False, True], ids=["one row", "bag"])
@pytest.mark.parametrize("shape", [(5, 3), (5, 2, 3)], ids=["table", "heads"])
def test_sgd_on_an_embedding(shape: tuple[int, ...], bag: bool):
    """The update of a table becomes one of the rows that were looked up."""

    def step(table: Any, i: Any, rate: Any) -> Any:
        def loss(t: Any) -> Any:
            found = t[i]
            return jnp.sum(jnp.square(found.sum(1) if bag else found))

        return table - rate * jax.grad(loss)(table)

    module = program(step, (shape, I2 if bag else I, ()))
    values = inputs(module)
    values[1] = np.minimum(values[1], 4)
    want = evaluated(module, values)
    assert applied(module, "scaled-rows") == 1 and applied(module, "subtract-from-table") == 1
    (scatter,) = (
        o.operation for o in main_of(module).regions[0].blocks[0].operations if o.operation.name == "stablehlo.scatter"
    )
    assert isinstance(scatter.operands[0], ir.BlockArgument) and scatter.operands[0].arg_number == 0
    left = [o for o in main_of(module).regions[0].blocks[0].operations if o.operation.name == "stablehlo.multiply"]
    assert "subtract" not in ops(module) and all(o.results[0].type.shape[0] == 4 for o in left)
    assert_same(evaluated(module, values), want, "f32", str(module))


# -- what is no match ------------------------------------------------------------------------------

_M = "tensor<4x4xf32>"
_ADDS = "stablehlo.add %a, %b : tensor<{0}>"


def _function(arguments: str, result: str, *lines: str) -> str:
    """A function that returns %r."""
    return "\n".join((f"func.func @main({arguments}) -> {result} {{", *lines, f"return %r : {result}", "}"))


def _scatter(body: str, element: str = "f32", numbers: str = "", rows: str = "4x3", table: str = "5x3") -> str:
    """A lookup's gradient %s of rows %g in a table of zeros %z, added to %t."""
    numbers = (
        numbers
        or "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
    )
    zero = {"f32": "0.0", "i1": "false"}[element]
    t, g = f"tensor<{table}x{element}>", f"tensor<{rows}x{element}>"
    return _function(
        f"%t: {t}, %i: tensor<4x1xi32>, %g: {g}", t,
        f"%z = stablehlo.constant dense<{zero}> : {t}",
        f'%s = "stablehlo.scatter"(%z, %i, %g) <{{scatter_dimension_numbers = #stablehlo.scatter<{numbers}>}}> ({{',
        f"^bb0(%a: tensor<{element}>, %b: tensor<{element}>):", f"%c = {body.format(element)}" if body else "",
        f"stablehlo.return {'%c' if body else '%b'} : tensor<{element}>",
        f"}}) : ({t}, tensor<4x1xi32>, {g}) -> {t}",
        f"%r = stablehlo.add %t, %s : {t}",
    )  # fmt: skip


def _split(element: str, result: str, specs: str = "") -> str:
    return _function(
        f"%x: tensor<4x2x{element}>, %y: tensor<4x3x{element}>, %w: tensor<5x3x{element}>", f"tensor<4x3x{result}>",
        f"%c = stablehlo.concatenate %x, %y, dim = 1 {specs} : (tensor<4x2x{element}>, tensor<4x3x{element}>) -> tensor<4x5x{element}>",
        f"%r = stablehlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<4x5x{element}>, tensor<5x3x{element}>) -> tensor<4x3x{result}>",
    )  # fmt: skip


def _transposed(specs: str = "") -> str:
    return _function(
        "%x: tensor<2x4xf32>, %y: tensor<3x4xf32>, %w: tensor<5x3xf32>", "tensor<4x3xf32>",
        "%c = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>",
        f"%d = stablehlo.transpose %c, dims = [1, 0] {specs} : (tensor<5x4xf32>) -> tensor<4x5xf32>",
        "%r = stablehlo.dot_general %d, %w, contracting_dims = [1] x [0] : (tensor<4x5xf32>, tensor<5x3xf32>) -> tensor<4x3xf32>",
    )  # fmt: skip


_SPECS = "{dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>]}"
_MESH = mesh("mesh", [0, 1], x=2)

#: What is in the program -> (rule, program, program that matches instead).
NO_MATCH: dict[str, tuple[str, str, str]] = {
    "a product with a batch": (
        "split-contraction",
        text_of(
            lambda x, y, w: lax.dot_general(join(x, y, dim=2), w, (((2,), (1,)), ((0,), (0,)))),
            ((2, 4, 2), (2, 4, 3), (2, 5, 3)),
        ),
        text_of(FORMS["split-contraction"]["plain"].step, FORMS["split-contraction"]["plain"].shapes),
    ),
    "a batch inside": (
        "product-from-right",
        text_of(
            lambda x, y, z: dot(lax.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))), z), ((2, 4, 2), (2, 2, 3), (3, 5))
        ),
        text_of(lambda x, y, z: dot(dot(x, y), z), ((2, 4, 2), (2, 3), (3, 5))),
    ),
    "other precision of the result": ("split-contraction", _split("bf16", "f32"), _split("bf16", "bf16")),
    "booleans": ("split-contraction", _split("i1", "i1"), _split("i8", "i8")),
    "a table of booleans": ("add-to-table", _scatter(_ADDS, "i1"), _scatter(_ADDS)),
    "the largest": ("add-to-table", _scatter("stablehlo.maximum %a, %b : tensor<{0}>"), _scatter(_ADDS)),
    "rows that overwrite": ("add-to-table", _scatter(""), _scatter(_ADDS)),
    "an element twice": ("add-to-table", _scatter("stablehlo.add %b, %b : tensor<{0}>"), _scatter(_ADDS)),
    "windows of several rows": (
        "add-to-table",
        _scatter(
            _ADDS, numbers="update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1",
            rows="4x2x3",
        ),
        _scatter(_ADDS),
    ),
    "columns that indices pick": (
        "add-to-table",
        _scatter(
            _ADDS, numbers="update_window_dims = [1], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1",
            rows="4x5",
        ),
        _scatter(_ADDS),
    ),
    "a table that is not zero": (
        "add-to-table",
        text_of(lambda t, i, g: t + rows(T, i, g, t + t), (T, I, (4, 3))),
        text_of(lambda t, i, g: t + rows(T, i, g), (T, I, (4, 3))),
    ),
    "strides": (
        "rows-of-product",
        text_of(lambda x, w: lax.slice(dot(x, w), (0, 0), (3, 3), (2, 1)), ((4, 2), (2, 3))),
        text_of(lambda x, w: lax.slice(dot(x, w), (0, 0), (3, 3), (1, 1)), ((4, 2), (2, 3))),
    ),
    "parts of two dimensions": (
        "rows-of-product",
        text_of(lambda x, w: lax.slice(dot(x, w), (0, 0), (3, 2)), ((4, 2), (2, 3))),
        text_of(lambda x, w: lax.slice(dot(x, w), (0, 0), (3, 3)), ((4, 2), (2, 3))),
    ),
    "parts inside of the rows": (
        "split-rows",
        text_of(lambda x, y, w: dot(join(x, y, dim=1), w), ((2, 1, 4), (2, 2, 4), (4, 3))),
        text_of(lambda x, y, w: dot(join(x, y, dim=0), w), ((1, 2, 4), (2, 2, 4), (4, 3))),
    ),
    "parts inside of the contracted dimensions": (
        "split-contraction",
        text_of(lambda x, y, w: dot(join(x, y, dim=2), w, (1, 2), (0, 1)), ((4, 3, 1), (4, 3, 2), (3, 3, 2))),
        text_of(lambda x, y, w: dot(join(x, y, dim=1), w, (1, 2), (0, 1)), ((4, 1, 3), (4, 2, 3), (3, 3, 2))),
    ),
    "a dimension torn apart": (
        "product-from-right",
        text_of(lambda x, y, z: dot(dot(x, y).reshape(2, 6, 2), z), ((4, 2), (2, 6), (2, 3))),
        text_of(lambda x, y, z: dot(dot(x, y).reshape(2, 2, 6), z), ((4, 2), (2, 6), (6, 3))),
    ),
    "rows and columns mixed": (
        "product-from-right",
        text_of(lambda x, y, z: dot(turn(dot(x, y), 0, 2, 1).reshape(6, 4), z), ((2, 4, 3), (3, 3), (4, 5))),
        text_of(lambda x, y, z: dot(turn(dot(x, y), 1, 0, 2).reshape(8, 3), z), ((2, 4, 3), (3, 3), (3, 5))),
    ),
    "a concatenation that no product reads": (
        "concat-of-blocks",
        text_of(lambda x, y, w: dot(x, w) + join(x, y, dim=1), ((4, 4), (4, 4), (4, 8))),
        text_of(lambda x, y, w: dot(join(x, y, dim=1), w), ((4, 4), (4, 4), (8, 8))),
    ),
    "rows after one another": (
        "concat-of-blocks",
        text_of(lambda x, y, w: dot(join(x, y), w), ((4, 4), (4, 4), (4, 8))),
        text_of(lambda x, y, w: dot(join(x, y, dim=1), w), ((4, 4), (4, 4), (8, 8))),
    ),
    "a part that is no block": (
        "slice-of-blocks",
        text_of(lambda x, w: part(dot(x, w), 1, 1, 3), ((4, 2), (2, 6))),
        text_of(lambda x, w: part(dot(x, w), 1, 2, 4), ((4, 2), (2, 6))),
    ),
    "parts that have no block in common": (
        "concat-of-blocks",
        text_of(lambda x, y, w: dot(join(x, y, dim=1), w), ((4, 4), (4, 3), (7, 8))),
        text_of(lambda x, y, w: dot(join(x, y, dim=1), w), ((4, 4), (4, 2), (6, 8))),
    ),
    "blocks of which some columns are left": (
        "slice-of-blocks",
        text_of(lambda x, w: part(dot(x, w), 1, 2, 4), ((4, 2), (2, 7))),
        text_of(lambda x, w: part(dot(x, w), 1, 2, 4), ((4, 2), (2, 6))),
    ),
    "another factor": (
        "sum-of-left",
        text_of(lambda x, w, y, v: dot(x, w) + dot(y, v), ((4, 2), (2, 3), (4, 2), (2, 3))),
        text_of(lambda x, w, y, v: dot(x, w) + dot(y, w), ((4, 2), (2, 3), (4, 2), (2, 3))),
    ),
    "a difference": (
        "sum-of-left",
        text_of(lambda x, w, y: dot(x, w) - dot(y, w), ((4, 2), (2, 3), (4, 2))),
        text_of(lambda x, w, y: dot(x, w) + dot(y, w), ((4, 2), (2, 3), (4, 2))),
    ),
    "the table subtracted": (
        "subtract-from-table",
        text_of(lambda t, i, g: rows(T, i, g) - t, (T, I, (4, 3))),
        text_of(lambda t, i, g: t - rows(T, i, g), (T, I, (4, 3))),
    ),
    "a factor of each column": (
        "scaled-rows",
        text_of(lambda i, g, c: rows(T, i, g) * c[None], (I, (4, 3), (3,))),
        text_of(lambda i, g, c: rows(T, i, g) * c, (I, (4, 3), ())),
    ),
    "a transpose with a layout": (
        "split-contraction", _MESH + _transposed(_SPECS), _MESH + _transposed(),
    ),
    "a layout that is fixed": ("split-contraction", _MESH + _split("f32", "f32", _SPECS), _MESH + _split("f32", "f32")),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_MATCH)
def test_no_match(name: str):
    rule, text, other = NO_MATCH[name]
    module = parsed(text)
    before = str(module)
    assert applied(module, rule) == 0 and str(module) == before
    assert applied(parsed(other), rule) == 1, "the program beside it matches"


def test_a_product_of_two_precisions_is_left():
    """Products whose options differ cannot be one product."""
    high = lax.Precision.HIGHEST

    def step(x: Any, w: Any, y: Any, v: Any, precision: Any = high) -> Any:
        return lax.dot(x, w) + lax.dot(y, v, precision=precision)

    shapes = ((4, 2), (2, 3), (4, 3), (3, 3))
    assert applied(program(lambda *a: step(*a, precision=None), shapes), "one-contraction") == 1
    assert applied(program(step, shapes), "one-contraction") == 0


def test_a_product_of_operands_in_two_precisions_is_left():
    """Its operands may be exchanged by a transpose, their precisions would not be."""
    high, low = lax.Precision.HIGHEST, lax.Precision.DEFAULT

    def step(x: Any, w: Any, precision: Any = (high, low)) -> Any:
        return part(turn(lax.dot(x, w, precision=precision)), 0, 1, 3)

    shapes = ((4, 2), (2, 3))
    assert applied(program(lambda *a: step(*a, precision=(high, high)), shapes), "rows-of-product") == 1
    assert applied(program(step, shapes), "rows-of-product") == 0


@settings(max_examples=40, deadline=None, derandomize=True)
@given(programs())
def test_any_rule_of_random_programs(text: str):
    module = parsed(text)
    values = inputs(module)
    want = evaluated(module, values)
    for rule in RULES:
        module = parsed(text)
        if applied(module, rule):
            assert_same(evaluated(module, values), want, "i32", f"{text}\n{rule}\n{module}")


def test_what_any_known_rule_makes_of_a_program_can_be_emitted():
    """Rules whose sources are read have destinations of operators that are emitted."""

    def operators(pattern: Pattern | Hole) -> set[str]:
        if isinstance(pattern, Hole):
            return set()
        return {pattern.operator}.union(*map(operators, pattern.operands))

    read = {"add", "mul", "scale", "neg", "unary", "matmul", "concat", "slice", "scatter_add", "zeros"}
    applied = [s for s in known().values() if operators(s.source) <= read]
    assert len(applied) > 500
    assert {o for s in applied for o in operators(s.destination)} <= read | {"transpose", "merge", "unmerge"}


def test_a_product_with_an_activation_is_emitted_with_it():
    module = program(lambda x, w: lax.dot(x, w), ((4, 2), (2, 3)))
    (op,) = [o for o in walk(module.operation) if o.name == "stablehlo.dot_general"]
    schema = schema_of("a: matmul['none'](x, w) => matmul['relu'](x, w) for x: 1*m*k, w: 1*k*n")
    x, w = (View(v, ((0,), (1,))) for v in op.operands)
    product = apply("matmul", ("none",), (variable("x", x.type), variable("w", w.type)))
    example = Rule("a", (product,), (product,))
    match = Match(schema, op, ((0,), (1,)), {"x": x, "w": w}, {}, example, (op,))
    assert emit_destination(match).owner.name == "stablehlo.maximum"

