"""Every way to decide placement, from the same few annotations to results on eight CPU devices.

Both sides compute in float32 and add in different orders: 1e-4 of the largest magnitude of each leaf.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import pcg
from pcg.driver.decide import STRATEGIES
from support.close import assert_close
from support.training import SLOW_DEVICES

MESH = {"data": 2, "model": 4}


def mlp(params: Any, x: jax.Array, y: jax.Array) -> Any:
    """One step of SGD on two layers."""

    def loss(p: Any) -> jax.Array:
        return jnp.mean((jax.nn.relu(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"] - y) ** 2)

    value, g = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, d: p - 0.1 * d, params, g), value


def block(params: Any, x: jax.Array) -> jax.Array:
    """A transformer block with eight heads; the hidden layer is asked to be split where it stands."""

    def norm(h: jax.Array) -> jax.Array:
        return (h - h.mean(-1, keepdims=True)) * jax.lax.rsqrt(h.var(-1, keepdims=True) + 1e-5)

    q, k, v = (jnp.einsum("bsh,hnd->bnsd", norm(x), params[n]) for n in ("q", "k", "v"))
    weights = jax.nn.softmax(jnp.einsum("bnsd,bntd->bnst", q, k) / 2.0, axis=-1)
    x = x + jnp.einsum("bnsd,ndh->bsh", jnp.einsum("bnst,bntd->bnsd", weights, v), params["o"])
    hidden = pcg.shard(jax.nn.gelu(norm(x) @ params["up"]), ("data", None, "model"), priority=1)
    return x + hidden @ params["down"]


def arrays(**shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {n: (rng.standard_normal(s) / 4).astype(np.float32) for n, s in shapes.items()}


MODELS: dict[str, tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = {
    "mlp": (
        mlp,
        (arrays(w1=(32, 64), b1=(64,), w2=(64, 32), b2=(32,)), *arrays(x=(16, 32), y=(16, 32)).values()),
        ({"w1": P(None, "model"), "b1": None, "w2": None, "b2": None}, P("data"), None),
    ),
    "transformer": (
        block,
        (
            arrays(q=(32, 8, 4), k=(32, 8, 4), v=(32, 8, 4), o=(8, 4, 32), up=(32, 128), down=(128, 32)),
            arrays(x=(4, 16, 32))["x"],
        ),
        (dict.fromkeys(("k", "v", "o", "up", "down")) | {"q": P(None, "model")}, P("data")),
    ),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", MODELS)
def test_results_are_those_of_one_device(name: str, strategy: str) -> None:
    function, args, given = MODELS[name]
    step = pcg.compile(function, MESH, strategy=strategy, in_shardings=given, machine=SLOW_DEVICES)
    got, want = step(*args), jax.jit(function)(*args)
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert_close(g, w, 1e-4)
    layouts = jax.tree.leaves(step.input_shardings)
    fixed = jax.tree.leaves(given, is_leaf=lambda s: s is None)
    assert all(s is None or have.spec == s for s, have in zip(fixed, layouts, strict=True))
    assert step.cost.seconds is not None and step.cost.collectives
    assert "estimated step" in step.explain()


def test_the_global_engine_is_judged_by_its_own_measure() -> None:
    function, args, given = MODELS["transformer"]

    def seconds(strategy: str) -> float:
        step = pcg.compile(function, MESH, strategy=strategy, in_shardings=given, machine=SLOW_DEVICES)
        return step.lower(*args).cost.seconds

    others = {s: seconds(s) for s in ("dataflow", "bfs", "priority")}
    step = pcg.compile(function, MESH, in_shardings=given, machine=SLOW_DEVICES)
    cost = step.lower(*args).cost
    assert cost.seconds <= min(others.values()) * (1 + 1e-9)
    rejected = {a.name: a.seconds for a in cost.alternatives}
    assert {s: pytest.approx(rejected[s]) for s in others if s in rejected} == {s: others[s] for s in others if s in rejected}
    assert "dataflow" in rejected and "dataflow" in step.explain()


def test_what_is_not_a_strategy() -> None:
    with pytest.raises(ValueError, match=r"strategy 'ilp'; expected one of 'auto', 'search', .*'priority', .*, a Plan"):
        pcg.compile(mlp, MESH, strategy="ilp")
    _, args, _ = MODELS["mlp"]
    with pytest.raises(ValueError, match="engine 'dataflow' and strategy 'bfs' are given; expected one of them"):
        pcg.compile(mlp, MESH, strategy="bfs", engine="dataflow").lower(*args)


def test_a_priority_of_a_layout_reaches_the_engine() -> None:
    def f(x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.tanh(pcg.shard(x, ("model",), priority=1) + pcg.shard(y, (None, "model")))

    shape = jax.ShapeDtypeStruct((16, 16), jnp.float32)
    lowered = pcg.compile(f, MESH, strategy="priority").lower(shape, shape)
    assert "dist.priorities = [1, 0]" in lowered.as_text("stablehlo")
    assert lowered.output_shardings.spec == P(None, "model")
    assert pcg.compile(f, MESH, strategy="dataflow").lower(shape, shape).output_shardings.spec == P("model")
    with pytest.raises(ValueError, match="priority -1; expected 0, 1, 2"):
        pcg.shard(np.zeros((4, 4), np.float32), (None, None), priority=-1)
