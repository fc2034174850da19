"""Random inputs that fit what they are used for, and the comparison of results."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from pcg.driver.module_program import module_program
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.passes.pipeline import Pipeline
from pcg.runtime.compare import compare, distance, judge, judge_by_one_device, pooled, relative
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


def test_equal_within_a_tolerance_that_is_given():
    a = np.linspace(1, 2, 8, dtype=np.float32)
    assert compare("r", "f32[8]", (a * (1 + 1e-6)).astype(np.float32), a, 1e-5).agrees
    assert not compare("r", "f32[8]", (a * (1 + 1e-6)).astype(np.float32), a).agrees
    found = compare("r", "f32[8]", np.where(np.arange(8) == 3, 0, a).astype(np.float32), a, 1e-5)
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


# -- judging by noise ------------------------------------------------------------------------------

FLOOR, TINY = 2.0**-24, 1e-38


def noise(*shape, seed=0, size=1e-6):
    return size * np.abs(np.random.default_rng(seed).standard_normal(shape))


def test_distance_tells_infinities_and_nan_apart():
    nan, inf = np.nan, np.inf
    got = distance(np.array([1.0, nan, inf, inf, 2.0]), np.array([1.5, nan, inf, -inf, nan]))
    np.testing.assert_array_equal(got, [0.5, 0, 0, inf, inf])
    np.testing.assert_array_equal(distance(np.array([1, 2]), np.array([1, 3])), [0, inf])
    assert relative(got[:1], np.array([1.5])) == 0.5 / 1.5 and relative(got, np.ones(5)) == inf


def test_what_is_usual_is_that_of_the_quietest_slice():
    apart = np.ones((4, 6))
    apart[2] = 1e-6
    apart[:, 3] = 1e-9
    found = pooled(apart)
    assert found[0, 0] > 0.4 and found[2, 0] < 1e-5 and found[0, 3] < 1e-6


def test_as_far_off_as_one_device_is_right():
    reference = np.ones((16, 16))
    own = noise(16, 16)
    assert judge_by_one_device(noise(16, 16, seed=1), own, reference, FLOOR, TINY).agrees
    found = judge_by_one_device(noise(16, 16, seed=1, size=1e-4), own, reference, FLOOR, TINY)
    assert not found.agrees and found.excess > 3


def test_a_small_error_beside_large_values_is_seen():
    """Off by 1e-5 in a row of values of 1e-3, in a tensor whose other values are 1000."""
    reference = np.full((8, 32), 1000.0)
    reference[5] = 1e-3
    own = noise(8, 32, size=1e-4)
    own[5] = noise(32, size=1e-10)
    apart = own.copy()
    apart[5] += 1e-5
    assert compare("r", "f64[8,32]", reference + apart, reference, 2e-4).agrees  # what a tolerance says
    assert not judge_by_one_device(apart, own, reference, FLOOR, TINY).agrees
    runs = [own, *(np.roll(own, i, axis=1) for i in range(1, 6))]
    found = judge(apart, runs, reference, FLOOR, TINY)
    assert not found.agrees and np.argwhere(found.bad)[:, 0].tolist() == [5] * 32


def test_a_decision_that_turns_in_every_run_is_no_error():
    reference = np.zeros(1000)

    def run(seed):
        apart = noise(1000, seed=seed)
        apart[np.random.default_rng(seed).integers(0, 1000, 3)] = 1.0
        return apart

    runs = [run(seed) for seed in range(7)]
    assert judge(run(99), runs, reference, FLOOR, TINY).agrees
    assert not judge(run(99), [noise(1000, seed=s) for s in range(7)], reference, FLOOR, TINY).agrees
    many = noise(1000)
    many[:100] = 1.0
    assert not judge(many, runs, reference, FLOOR, TINY).agrees


def test_indices_may_differ_as_often_as_they_do_in_other_runs():
    reference = np.zeros(100, int)

    def run(*at):
        apart = np.zeros(100)
        apart[list(at)] = np.inf
        return apart

    assert judge(run(7), [run(3), run(4), run(5, 6)], reference, 0, 0).agrees
    assert not judge(run(7), [run(), run(), run()], reference, 0, 0).agrees
    assert not judge(run(*range(50)), [run(3), run(4), run(5, 6)], reference, 0, 0).agrees


def test_where_one_device_overflows_nothing_can_be_said():
    reference = np.ones(4)
    own = np.array([np.inf, 0, 0, 0])
    assert judge_by_one_device(np.array([np.inf, 0, 0, 0]), own, reference, FLOOR, TINY).agrees
    assert not judge_by_one_device(np.array([0, np.inf, 0, 0]), own, reference, FLOOR, TINY).agrees
