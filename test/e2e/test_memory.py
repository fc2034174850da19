"""Steps that do not fit: what XLA allocates on eight CPU devices is within the limit, and results stay the same."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import pcg
from pcg.ir.errors import PcgError
from test.support.onedevice import compiled
from test.support.training import assert_trees_close

WIDTH, HEADS, SEQ, BATCH, LAYERS = 32, 4, 32, 64, 2


def normed(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def block(x, p):
    b, s, h = x.shape
    y = normed(x, p["scale_1"])
    q, k, v = (jnp.reshape(y @ p[n], (b, s, HEADS, h // HEADS)) for n in ("q", "k", "v"))
    weights = jax.nn.softmax(jnp.einsum("bshd,bthd->bhst", q, k) / 3.0, -1)
    x = x + jnp.einsum("bhst,bthd->bshd", weights, v).reshape(b, s, h) @ p["o"]
    return x + jax.nn.gelu(normed(x, p["scale_2"]) @ p["up"]) @ p["down"]


def loss(params, batch):
    x = batch["x"]
    for p in params:
        x = block(x, p)
    return jnp.mean((x - batch["y"]) ** 2)


def step(params, batch):
    value, grads = jax.value_and_grad(loss)(params, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


def arguments(layers: int = LAYERS):
    rng = np.random.default_rng(0)

    def w(*dims: int) -> np.ndarray:
        return (rng.standard_normal(dims) / np.sqrt(dims[0])).astype(np.float32)

    h = WIDTH
    params = [
        {n: np.ones(h, np.float32) for n in ("scale_1", "scale_2")} | {n: w(h, h) for n in ("q", "k", "v", "o")}
        | {"up": w(h, 4 * h), "down": w(4 * h, h)}
        for _ in range(layers)
    ]  # fmt: skip
    return params, {n: rng.standard_normal((BATCH, SEQ, h)).astype(np.float32) for n in ("x", "y")}


def test_copies_stay_apart_and_save_memory() -> None:
    args = arguments(4)
    whole, before, _ = compiled(step, "pcg-insert-remat-barriers", args)
    again, after, _ = compiled(step, "pcg-recompute{memory-limit=18MiB},pcg-insert-remat-barriers", args)
    assert after < 0.75 * before
    assert_trees_close(again, whole, rtol=1e-6)


@pytest.mark.parametrize("count", [2, 8])
def test_microbatches_give_the_same_step_with_less_memory(count: int) -> None:
    args = arguments()
    whole, before, _ = compiled(step, "pcg-insert-remat-barriers", args)
    split, after, _ = compiled(step, f"pcg-accumulate{{microbatches={count}}}", args)
    assert after < before * (0.4 + 0.7 / count)
    assert_trees_close(split, whole, rtol=1e-5)


@pytest.mark.exhaustive  # half a minute: it is planned, compiled by XLA and planned again
def test_a_transformer_that_does_not_fit_is_made_to_fit() -> None:
    args = arguments()
    split = {"in_shardings": (P(), P("data")), "out_shardings": P()}
    parallel = pcg.compile(step, {"data": 8}, **split).lower(*args)
    limit = int(0.65 * parallel.allocated())
    fits = pcg.compile(step, {"data": 8}, memory_limit=limit)
    executable = fits.lower(*args)
    assert executable.allocated() <= limit < parallel.allocated()
    assert_trees_close(fits(*args), jax.jit(step)(*args), rtol=1e-5)
    assert any("memory: to fit" in text for _, _, text in executable.compilation.remarks)
    assert "memory: to fit" in executable.explain()
    # A saved plan does the same again.
    plan = pcg.Plan.from_json(executable.plan.to_json())
    again = pcg.compile(step, {"data": 8}, strategy=plan).lower(*args)
    assert again.as_text("local") == executable.as_text("local")


def small(params, batch):
    def forward(p):
        x = batch["x"]
        for w in p:
            x = x + jnp.tanh(x @ w)
        return jnp.mean((x - batch["y"]) ** 2)

    value, grads = jax.value_and_grad(forward)(params)
    return [p - 0.1 * g for p, g in zip(params, grads, strict=True)], value


def test_the_impossible_names_a_limit_that_works() -> None:
    rng = np.random.default_rng(0)
    params = [(0.1 * rng.standard_normal((32, 32))).astype(np.float32) for _ in range(4)]
    args = params, {n: rng.standard_normal((4096, 32)).astype(np.float32) for n in ("x", "y")}
    with pytest.raises(PcgError) as error:
        pcg.compile(small, {"data": 4}, memory_limit=20_000).lower(*args)
    found = re.search(r"\((\d+) bytes\) as XLA allocates it", str(error.value))
    assert found is not None, str(error.value)
    least = int(found[1])
    fits = pcg.compile(small, {"data": 4}, memory_limit=least)
    assert fits.lower(*args).allocated() <= least
    assert_trees_close(fits(*args), jax.jit(small)(*args), rtol=1e-5)
