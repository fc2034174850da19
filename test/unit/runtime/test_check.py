"""The check tells faults from rounding: right programs pass however ill-conditioned, planted faults are found."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from bench import check_power
from support.checks import checked, compiled, inputs_of, text_of, unsharded, with_lowered, wrong
from support.faultmodels import MODELS
from support.faults import KINDS, Fault, faults, planted
from support.illconditioned import CASES


@functools.cache
def mlp():
    model = MODELS["MLP"]
    step, args = model.make()
    text = text_of(step, args)
    right = compiled(text, model.mesh, "dataflow", model.shardings(args))
    return right, unsharded(right, text), inputs_of(text, right.program.arguments)


def check(fault: Fault):
    right, one, draw = mlp()
    return wrong(checked(with_lowered(right, planted(right.compilation.local_text, fault)), one, draw(0)))


# -- right programs --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["variance as E[x^2] - E[x]^2", "logistic map"])
def test_right_programs_that_are_mostly_rounding_agree(name):
    case = CASES[name]
    text = text_of(case.function, case.arguments(np.random.default_rng(0)))
    mesh, split = case.layouts[0]
    executable = compiled(text, mesh, "dataflow", split)
    values = case.arguments(np.random.default_rng(1))
    assert not wrong(checked(executable, unsharded(executable, text), values))


@pytest.mark.parametrize("reduce", [jnp.max, jnp.min])
def test_a_largest_value_is_judged_in_double_precision(reduce):
    """Devices compare floats as integers of their order; a value that they agree on is not rounded by that."""

    def f(x, w):
        y = jnp.sin(x @ w)
        return y / reduce(y), reduce(y, axis=0)

    args = [np.random.default_rng(i).standard_normal(s).astype(np.float32) for i, s in enumerate(((8, 12), (12, 6)))]
    executable = compiled(text_of(f, args), "a=4", "dataflow", (P("a"), P()))
    text = executable.compilation.local_text
    assert "all_reduce" in text and "bitcast_convert" in text
    for row in checked(executable, unsharded(executable, text_of(f, args)), args):
        assert row.agrees and row.double < 1e-12


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CASES)
def test_every_right_program_agrees(name, capsys):
    assert check_power.false_alarms(3, name) == 0, capsys.readouterr().out


def test_programs_of_float64_are_judged_by_their_own_noise():
    """There is no wider type: a sum that cancels must pass, and one that lacks a part must not."""

    def f(x):
        return (x * x).mean(0) - x.mean(0) ** 2

    with jax.enable_x64(True):
        x = 1e6 + np.random.default_rng(0).standard_normal((64, 4))
        text = text_of(f, [x])
        executable = compiled(text, "a=4", "dataflow", (P("a"),))
        one = unsharded(executable, text)
        assert not wrong(checked(executable, one, [x]))
        lowered = executable.compilation.local_text
        assert wrong(checked(with_lowered(executable, planted(lowered, Fault("scaled gradient", 0))), one, [x]))


def test_integers_must_be_equal_where_nothing_flips():
    x = np.arange(32, dtype=np.int32)
    text = text_of(lambda x: x.sum(), [x])
    executable = compiled(text, "a=4", "dataflow", (P("a"),))
    one = unsharded(executable, text)
    assert not wrong(checked(executable, one, [x]))
    lowered = executable.compilation.local_text
    edited = lowered.replace('"stablehlo.add"', '"stablehlo.maximum"')
    (bad,) = wrong(checked(with_lowered(executable, edited), one, [x]))
    assert "DIFFERS in 1 elements, first at []: got 31, expected 496" in bad


# -- faults ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        "reduction missing", "one update off by a thousandth", "small updates off by a thousandth",
        "product kept in eight bits",
    ],
)  # fmt: skip
def test_faults_are_found(kind):
    assert check(Fault(kind, 0))


def test_a_fault_hidden_by_a_weight_is_found_in_double_precision():
    """One entry of an update of 1e-3 is off by a thousandth, beside a weight of 1: less than its rounding."""

    def step(w, x):
        return w - 1e-5 * jax.grad(lambda w: ((x @ w) ** 2).mean())(w)

    w, x = np.ones((8, 8), np.float32), np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32)
    text = text_of(step, [w, x])
    executable = compiled(text, "a=4", "dataflow", (P(), P("a")))
    one = unsharded(executable, text)
    lowered = planted(executable.compilation.local_text, Fault("one update off by a thousandth", 0))
    (bad,) = checked(with_lowered(executable, lowered), one, [w, x])
    assert not bad.agrees and bad.bad == 1
    assert bad.double < 1e-7 and bad.error < 1e-7  # far below what one device is off by


def test_an_overflow_in_single_precision_hides_nothing():
    """One device yields NaN everywhere; the program in double precision does not."""

    def f(x, w):
        e = jnp.exp(100 * (x @ w))
        return e / e.sum(-1, keepdims=True)

    x, w = np.ones((4, 8), np.float32), np.random.default_rng(0).uniform(0.5, 1, (8, 4)).astype(np.float32)
    text = text_of(f, [x, w])
    executable = compiled(text, "a=4", "dataflow", (P(None, "a"), P("a")))
    one = unsharded(executable, text)
    assert np.isnan(np.asarray(one.run([x, w])[0])).all()
    assert not wrong(checked(executable, one, [x, w]))
    lowered = planted(executable.compilation.local_text, Fault("product off on one device", 0))
    assert wrong(checked(with_lowered(executable, lowered), one, [x, w]))


def test_a_copy_that_is_wrong_on_one_device_only_is_found():
    """What lies on the first device is right."""
    x = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    text = text_of(lambda x: jnp.tanh(x).sum(0), [x])
    executable = compiled(text, "a=4", "dataflow", (P("a"),), (P(),))
    one = unsharded(executable, text)
    lowered = executable.compilation.local_text
    assert not wrong(checked(executable, one, [x]))
    edited = with_lowered(executable, planted(lowered, Fault("stale replica", 0)))
    assert wrong(checked(edited, one, [x]))


def test_every_kind_of_fault_changes_the_text():
    seen = set()
    right, _, _ = mlp()
    lowered = right.compilation.local_text
    plain = planted_text = None
    for fault in faults(lowered, 40):
        if fault.kind not in seen:
            seen.add(fault.kind)
            planted_text = planted(lowered, fault)
            plain = plain or planted_text
            assert planted_text != lowered
    assert len(seen) > 15 and seen <= set(KINDS)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MODELS)
def test_thirty_faults_are_found_in_each_model(name):
    missed, _, found = check_power.power(name, 30)
    assert not missed and found == 30
