"""Random inputs that fit what they are used for, and the comparison of results."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from pcg.frontend.module_program import module_program
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.passes.pipeline import Pipeline
from pcg.runtime.compare import compare
from pcg.runtime.inputs import random_inputs

S = jax.ShapeDtypeStruct


def inputs_of(function, *shapes, seed=0):
    text = jax.jit(function).lower(*shapes).as_text()
    module = load_module(text, make_context(), "test")
    Pipeline("pcg-normalize").run(module)
    return random_inputs(module, module_program(module, text).arguments, seed)


def test_indices_stay_inside_what_they_index():
    def f(table, i, labels):
        return table[i].sum() + jax.nn.one_hot(labels, 3).sum()

    table, i, labels = inputs_of(f, S((5, 2), "float32"), S((1000,), "int32"), S((1000,), "int32"))
    assert i.min() == 0 and i.max() == 4
    assert labels.min() == 0 and labels.max() == 2
    assert table.dtype == np.float32


def test_what_a_root_is_taken_of_is_positive():
    x, y = inputs_of(lambda x, y: jnp.sqrt(x / 2) + y, S((1000,), "float32"), S((1000,), "float32"))
    assert x.min() > 0 > y.min()


def test_the_seed_decides():
    a, b, c = (inputs_of(jnp.tanh, S((9,), "bfloat16"), seed=s)[0] for s in (1, 1, 2))
    assert (a == b).all() and not (a == c).all() and a.dtype.name == "bfloat16"


def test_other_types():
    t, flags, small = inputs_of(lambda *a: a, S((), "int32"), S((99,), "bool"), S((99,), "int4"))
    assert 1 <= t < 10 and 0 < flags.sum() < 99 and small.max() < 8


def test_equal_within_the_tolerance_of_the_type():
    a = np.linspace(1, 2, 8, dtype=np.float32)
    assert compare("r", "f32[8]", a * (1 + 1e-6), a).agrees
    found = compare("r", "f32[8]", np.where(np.arange(8) == 3, 0, a).astype(np.float32), a)
    assert not found.agrees and found.index == (3,) and found.bad == 1
    assert "first at [3]: got 0.0, expected 1.42857" in str(found)


def test_integers_are_exact_and_nan_equals_nan():
    assert not compare("r", "i32[1]", np.array([2]), np.array([3])).agrees
    a = np.array([np.nan, np.inf, 1.0], np.float32)
    found = compare("r", "f32[3]", a, a.copy())
    assert found.agrees and found.not_finite == 2
    assert not compare("r", "f32[3]", a, np.nan_to_num(a)).agrees


def test_another_shape_or_type_is_no_agreement():
    assert not compare("r", "f32[2]", np.ones(2), np.ones(3)).agrees
    assert not compare("r", "f32[2]", np.ones(2, np.float64), np.ones(2, np.float32)).agrees
