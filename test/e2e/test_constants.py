"""Arrays that a function closes over are arguments: split, counted, and no part of programs and plans."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import pcg
from pcg.driver.plan import Plan
from pcg.driver.plan_document import PlanError
from pcg.ir.errors import PcgError

WIDTH = 256
W = jnp.asarray(np.random.default_rng(0).standard_normal((WIDTH, WIDTH)), jnp.float32) / 16
N = np.random.default_rng(1).standard_normal((WIDTH, WIDTH)).astype(np.float32) / 16
X = np.random.default_rng(2).standard_normal((8, WIDTH)).astype(np.float32)


@jax.custom_vjp
def custom(x):
    return x @ W


custom.defvjp(lambda x: (x @ W, None), lambda _, g: (g @ W.T,))


@jax.jit
def inner(x):
    return jax.jit(lambda y: jnp.tanh(y @ N))(x) @ W


PROGRAMS = {
    "plain": lambda x: x @ W,
    "of numpy": lambda x: x @ N,
    "of jitted functions": lambda x: inner(x) + inner(x + 1),
    "in a scan": lambda x: jax.lax.scan(lambda c, _: (c @ W, None), x, None, length=3)[0],
    "in a branch": lambda x: jax.lax.cond(x[0, 0] > 0, lambda: x @ W, lambda: x),
    "in a loop": lambda x: jax.lax.while_loop(lambda c: jnp.sum(c * c) > 1, lambda c: c @ W * 0.5, x),
    "in a gradient": lambda x: jax.grad(lambda x: jax.checkpoint(lambda y: jnp.sin(y @ W))(x).sum())(x),
    "in a custom derivative": lambda x: jax.grad(lambda x: (custom(x) ** 2).sum())(x),
    "mapped": lambda x: jax.vmap(lambda r: r @ W)(x),
    "returned": lambda x: {"w": W, "x": x, "again": W},
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_on_one_device(name: str) -> None:
    function = PROGRAMS[name]
    compiled = pcg.compile(function, {"a": 2, "b": 2}, strategy="dataflow", in_shardings=(P("a"),))
    executable = compiled.lower(X)
    assert {leaf.shape for leaf in executable.program.arguments[1:]} == {(WIDTH, WIDTH)}
    assert len(executable.program.source) < 20_000
    want = jax.jit(function)(X)
    for got in (compiled(X), compiled(X)):  # the second takes the short way
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
    assert len(jax.tree.leaves(compiled.input_shardings)) == len(jax.tree.leaves(pcg.in_shardings(compiled.plan))) == 1


def test_counted_named_and_split() -> None:
    compiled = pcg.compile(lambda x: jnp.tanh(x @ W), {"a": 4})
    allocated = compiled.lower(X).allocated()
    assert allocated is not None and allocated < W.nbytes
    assert compiled.cost.peak_bytes >= W.nbytes / 4
    assert "closed-over constant (test_constants.py:" in compiled.explain()
    assert len(compiled.plan.to_json()) < 20_000
    whole = pcg.compile(lambda x: jnp.tanh(x @ W), {"a": 4}, in_shardings=(P("a"),), strategy="data")
    assert whole.lower(X).cost.peak_bytes >= W.nbytes
    with pytest.raises(PcgError, match=r"closed-over constant \(test_constants.py:\d+\)"):
        pcg.compile(lambda x: jnp.tanh(x @ W), {"a": 4}, memory_limit=W.nbytes // 8).lower(X)


def test_a_plan_is_of_its_constants(tmp_path) -> None:
    held = {"w": W}

    def program(x):
        return x @ held["w"]

    compiled = pcg.compile(program, {"a": 4})
    want = compiled(X)
    compiled.plan.save(tmp_path / "plan.json")
    plan = Plan.load(tmp_path / "plan.json")
    np.testing.assert_array_equal(pcg.compile(program, {"a": 4}, strategy=plan)(X), want)
    assert pcg.plan_cost(plan, simulate=False)
    held["w"] = W.at[3, 4].add(1.0)
    with pytest.raises(PlanError, match=r"closed-over constant \(test_constants.py:\d+\) f32\[256,256\]"):
        pcg.compile(program, {"a": 4}, strategy=plan)(X)


def test_donation_keywords_and_other_functions() -> None:
    def program(state, *, x):
        return {"s": state["s"] + x @ W, "n": state["n"] + 1}

    compiled = pcg.compile(program, {"a": 4}, donate_argnums=0)
    state = {"s": jnp.zeros((8, WIDTH)), "n": jnp.zeros((), jnp.int32)}
    for _ in range(3):
        state = compiled(state, x=X)
    np.testing.assert_allclose(state["s"], 3 * (X @ np.asarray(W)), rtol=1e-3, atol=1e-4)
    again = jax.jit(lambda s, x: compiled(s, x=x)["s"] * 2)(state, X)
    np.testing.assert_allclose(again, 8 * (X @ np.asarray(W)), rtol=1e-3, atol=1e-3)


def test_a_constant_is_no_data() -> None:
    """Microbatches cut what the caller gives, not what the program holds, though that is larger."""
    table = jnp.asarray(np.random.default_rng(3).standard_normal((512, WIDTH)), jnp.float32)

    def step(w, x):
        value, grads = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(x @ w["k"] + w["b"]) @ table.T))(w)
        return jax.tree.map(jnp.subtract, w, grads), value

    w = {"b": np.zeros(WIDTH, np.float32), "k": np.eye(WIDTH, dtype=np.float32)}
    compiled = pcg.compile(step, {"a": 2}, strategy="data")
    got, want = compiled(w, X), jax.jit(step)(w, X)
    names = {v.name: v.spec for v in compiled.plan.arguments}
    assert str(names["x"]) == "[a, -]"
    assert all(s.is_replicated for n, s in names.items() if n.startswith("closed-over"))
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
