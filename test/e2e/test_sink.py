"""Masks that a scan over layers carries: made in the loop, they take no memory of their own, and nothing else changes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import pcg
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.types import tensor_bytes
from pcg.ir.walk import walk
from test.support.onedevice import compiled
from test.support.training import assert_trees_close

LAYERS, BATCH, HEADS, SEQ, WIDTH = 3, 8, 4, 64, 16


def loss(params, batch):
    causal = jnp.tril(jnp.ones((SEQ, SEQ), bool))
    mask = jnp.broadcast_to(
        jnp.where(causal, 0.0, -1e9) + batch["bias"][:, None, None, :], (BATCH, HEADS, SEQ, SEQ)
    )  # fmt: skip

    @jax.checkpoint
    def layer(x, w):
        q, k, v = (jnp.reshape(x @ w[i], (BATCH, SEQ, HEADS, WIDTH // HEADS)) for i in range(3))
        weights = jax.nn.softmax(jnp.einsum("bshd,bthd->bhst", q, k) + mask, -1)
        return x + jnp.einsum("bhst,bthd->bshd", weights, v).reshape(x.shape), None

    return jnp.mean(jax.lax.scan(layer, batch["x"], params)[0] ** 2)


def step(params, batch):
    value, gradient = jax.value_and_grad(loss)(params, batch)
    return params - 0.1 * gradient, value


def arguments():
    rng = np.random.default_rng(0)
    params = rng.standard_normal((LAYERS, 3, WIDTH, WIDTH)).astype(np.float32) / 4
    x = rng.standard_normal((BATCH, SEQ, WIDTH)).astype(np.float32)
    bias = np.where(rng.random((BATCH, SEQ)) < 0.2, -1e9, 0.0).astype(np.float32)
    return params, {"x": x, "bias": bias}


def carried(text: str) -> int:
    """Bytes that the loops of a program hand on."""
    module = load_module(text, make_context(), "step")
    loops = [op for op in walk(module.operation) if op.name == "stablehlo.while"]
    assert loops
    return sum(int(tensor_bytes(v.type)) for op in loops for v in op.results)


def test_xla_needs_less_and_the_step_is_the_same() -> None:
    args = arguments()
    whole, before, plain = compiled(step, "", args)
    sunk, after, text = compiled(step, "pcg-sink-invariants", args)
    assert carried(text) < carried(plain)
    assert before - after > 0.7 * 4 * BATCH * HEADS * SEQ * SEQ  # most of the mask of all heads
    assert_trees_close(sunk, whole, rtol=1e-6)


def test_in_microbatches_only_the_mask_of_one_is_made() -> None:
    args = arguments()
    whole, before, _ = compiled(step, "", args)
    split, after, _ = compiled(step, "pcg-sink-invariants,pcg-accumulate{microbatches=4}", args)
    assert after < 0.4 * before
    assert_trees_close(split, whole, rtol=1e-5)


def test_compiled_programs_make_masks_in_their_loops() -> None:
    args = arguments()
    compiled_ = pcg.compile(step, {"data": 2})
    made = compiled_.lower(*args)
    _, _, plain = compiled(step, "", args)
    assert carried(plain) - carried(made.as_text("plan")) >= 4 * BATCH * HEADS * SEQ * SEQ
    assert_trees_close(compiled_(*args), jax.jit(step)(*args), rtol=1e-5)
    plan = pcg.Plan.from_json(made.plan.to_json())
    again = pcg.compile(step, {"data": 2}, strategy=plan).lower(*args)
    assert again.as_text("local") == made.as_text("local")
    assert pcg.plan_cost(plan).seconds > 0
