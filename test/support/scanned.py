"""A decoder that scans over its layers, its training step, and such steps after passes of one device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from torch_mlir import ir

from pcg.driver.module_program import entry_function
from pcg.driver.signature import mark_state
from pcg.driver.state import state_of
from pcg.frontend import jax_program
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.passes.pipeline import Pipeline
from pcg.rewrite.layers.signature import STACKED_ARGUMENTS, STACKED_RESULTS, stacked
from pcg.runtime import jax_compat


@dataclass(frozen=True)
class Decoder:
    """Embedding, causal attention and two products per layer in a scan, and the embedding again."""

    layers: int = 4
    width: int = 8
    words: int = 16
    batch: int = 8
    sequence: int = 4
    dropout: bool = False
    checkpoint: bool = False

    def parameters(self, seed: int = 0) -> Any:
        rng, n, d = np.random.default_rng(seed), self.layers, self.width

        def normal(*shape: int) -> np.ndarray:
            return (rng.standard_normal(shape) / np.sqrt(shape[-2])).astype(np.float32)

        layers = {
            "qkv": normal(n, d, 3 * d), "out": normal(n, d, d), "up": normal(n, d, 2 * d), "down": normal(n, 2 * d, d),
            "bias": np.zeros((n, 2 * d), np.float32), "scale": np.ones((n, d), np.float32),
        }  # fmt: skip
        return {"embedding": normal(self.words, d), "layers": layers}

    def _layer(self, h: jax.Array, p: Any, key: jax.Array) -> jax.Array:
        x = h * p["scale"] * jax.lax.rsqrt(jnp.mean(h * h, -1, keepdims=True) + 1e-3)
        q, k, v = jnp.split(x @ p["qkv"], 3, -1)
        scores = jnp.einsum("bqd,bkd->bqk", q, k) / self.width**0.5
        scores = jnp.where(np.tril(np.ones((self.sequence, self.sequence), bool)), scores, -1e9)
        h = h + jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores), v) @ p["out"]
        if self.dropout:
            h = jnp.where(jax.random.bernoulli(key, 0.9, h.shape), h / 0.9, 0)
        return h + jnp.tanh(h @ p["up"] + p["bias"]) @ p["down"]

    def loss(self, parameters: Any, x: jax.Array, y: jax.Array, key: jax.Array) -> jax.Array:
        def body(h: jax.Array, layer: Any) -> tuple[jax.Array, None]:
            p, i = layer
            return self._layer(h, p, jax.random.fold_in(key, i) if self.dropout else key), None

        h = parameters["embedding"][x]
        over = (parameters["layers"], jnp.arange(self.layers))
        h, _ = jax.lax.scan(jax.checkpoint(body) if self.checkpoint else body, h, over)
        logits = jax.nn.log_softmax(h @ parameters["embedding"].T)
        return -jnp.mean(jnp.take_along_axis(logits, y[..., None], -1))

    def step(self, state: Any, x: jax.Array, y: jax.Array, key: jax.Array) -> Any:
        """Adam on gradients clipped by their global norm; `state`: parameters, moments, steps."""
        parameters, first, second, t = state
        value, gradients = jax.value_and_grad(self.loss)(parameters, x, y, key)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(gradients)))
        gradients = jax.tree.map(lambda g: g * jnp.minimum(1.0, 0.5 / norm), gradients)
        t = t + 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradients)

        def next_value(p: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
            # So large an epsilon that a rounding error of a small gradient stays one.
            return p - 1e-2 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.99**t)) + 1e-2)

        return (jax.tree.map(next_value, parameters, first, second), first, second, t), value, norm

    def arguments(self) -> tuple[Any, ...]:
        rng, parameters = np.random.default_rng(1), self.parameters()
        zeros = [jax.tree.map(np.zeros_like, parameters) for _ in range(2)]
        x, y = (rng.integers(0, self.words, (self.batch, self.sequence)).astype(np.int32) for _ in range(2))
        return (parameters, *zeros, np.float32(0)), x, y, jax.random.key(3)


def after(step: Callable[..., Any], args: Any, passes: str) -> tuple[ir.Module, Any]:
    """The program of one device after passes, and what it yields for the stacked arguments, stacked."""
    program = jax_program.trace(step, args, {})
    module = load_module(program.source, make_context())
    Pipeline("sdy-import,pcg-normalize,pcg-reassociate,pcg-sink-invariants").run(module)
    mark_state(entry_function(module), state_of(program))
    Pipeline(passes).run(module)
    func = entry_function(module)
    flat = [jax.random.key_data(x) if jax_compat.is_key(x.dtype) else x for x in jax.tree.leaves(args)]
    inputs: list[Any] = []
    for x, n in zip(flat, stacked(func, STACKED_ARGUMENTS, len(flat)), strict=True):
        inputs += np.split(np.asarray(x), n) if n else [x]
    counts = stacked(func, STACKED_RESULTS, len(program.results))
    results: list[Any] = []
    for r, n in zip(program.results, counts, strict=True):
        results += [jax.ShapeDtypeStruct((r.shape[0] // n, *r.shape[1:]), r.dtype)] * n if n else [r]
    text = module.operation.get_asm(print_generic_op_form=True)
    out = iter(jax_compat.plain_function(text, results)(*inputs))
    found = [jnp.concatenate([next(out) for _ in range(n)]) if n else next(out) for n in counts]
    return module, jax.tree.unflatten(program.out_tree, found)
