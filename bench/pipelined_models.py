"""Training steps for pipelines: Adam, clipping by the global norm, and what each model has besides.

- gpt: tied embedding, dropout from a key that comes with the batch;
- bert: tied word embedding, three embeddings, an encoder without a causal mask;
- resnet: convolutions with residual connections and group norms (the statistics of a batch norm are of all microbatches
  at once, which neither pcg nor another pipeline can divide);
- decoder: grouped-query attention, rotary embeddings, layers in a `jax.lax.scan`, each of them rematerialised.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from examples import bert, gpt, layers, llama, resnet, training
from examples.training import Tree, f32

Step = Callable[[Tree, Tree, Tree], tuple[Tree, Tree, jax.Array]]


def stepped(loss: Callable[[Tree, Tree], jax.Array], rate: float) -> Step:
    """A training step with AdamW and clipping."""

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        value, grads = jax.value_and_grad(loss)(params, batch)
        params, opt_state = layers.adamw(params, opt_state, grads, rate, decay=0.1, b2=0.95, limit=0.5)
        return params, opt_state, value

    return step


def _arguments(shapes: Tree, batch: Tree, seed: int) -> tuple[Tree, Tree, Tree]:
    return training.materialise(shapes, seed), training.zeros(training.adam_state(shapes)), batch


def gpt_step(layers: int = 8, hidden: int = 64, batch: int = 16, seq: int = 16, dropout: float = 0.1, seed: int = 0):
    """(step, arguments) of a decoder."""
    c = gpt.Config(layers=layers, hidden=hidden, batch=batch, seq=seq, dropout=dropout)
    _, (_, _, data) = gpt.make(seed=seed, layers=layers, hidden=hidden, batch=batch, seq=seq, dropout=dropout)
    return stepped(lambda p, b: gpt.loss(c, p, b), 1e-3), _arguments(gpt.param_shapes(c), data, seed)


def bert_step(layers: int = 8, batch: int = 16, seed: int = 0):
    """(step, arguments) of an encoder."""
    _, (_, _, data) = bert.make(seed=seed, layers=layers, batch=batch)
    c = bert.Config(layers=layers, batch=batch)
    return stepped(lambda p, b: bert.loss(c, p, b), 1e-3), _arguments(bert.param_shapes(c), data, seed)


def decoder_step(layers: int = 8, batch: int = 16, seed: int = 0, remat: bool = True):
    """(step, arguments) of a decoder whose layers are scanned."""
    _, (_, _, data) = llama.make(seed=seed, layers=layers, batch=batch, scan=True, remat=remat)
    c = llama.Config(layers=layers, batch=batch, scan=True, remat=remat)
    return stepped(lambda p, b: llama.loss(c, p, b), 1e-3), _arguments(llama.param_shapes(c), data, seed)


def group_norm(x: jax.Array, p: Tree, groups: int = 4) -> jax.Array:
    """Over groups of channels of each image."""
    n, h, w, c = x.shape
    y = x.reshape(n, h, w, groups, c // groups)
    y = (y - y.mean((1, 2, 4), keepdims=True)) * jax.lax.rsqrt(y.var((1, 2, 4), keepdims=True) + 1e-5)
    return y.reshape(x.shape) * p["scale"] + p["bias"]


def resnet_step(blocks: int = 8, width: int = 16, batch: int = 16, size: int = 8, seed: int = 0):
    """(step, arguments) of a convolutional network; images are [batch, size, size, 3]."""
    norm = {"scale": f32(width), "bias": f32(width)}
    block = {"conv_1": f32(3, 3, width, width), "norm_1": norm, "conv_2": f32(3, 3, width, width), "norm_2": norm}
    shapes = {
        "conv_stem": f32(3, 3, 3, width), "blocks": [block] * blocks, "head": f32(width, 10), "bias_head": f32(10)
    }  # fmt: skip

    def loss(params: Tree, data: Tree) -> jax.Array:
        x = jax.nn.relu(resnet.conv(data["images"], params["conv_stem"]))
        for p in params["blocks"]:
            y = jax.nn.relu(group_norm(resnet.conv(x, p["conv_1"]), p["norm_1"]))
            x = jax.nn.relu(x + group_norm(resnet.conv(y, p["conv_2"]), p["norm_2"]))
        return training.cross_entropy(x.mean((1, 2)) @ params["head"] + params["bias_head"], data["labels"])

    rng = np.random.default_rng(seed)
    images = rng.standard_normal((batch, size, size, 3)).astype(np.float32)
    data = {"images": images, "labels": rng.integers(0, 10, batch).astype(np.int32)}
    return stepped(loss, 1e-3), _arguments(shapes, data, seed)


MODELS: dict[str, Callable[..., tuple[Step, tuple[Tree, Tree, Tree]]]] = {
    "gpt": gpt_step, "bert": bert_step, "resnet": resnet_step, "decoder": decoder_step,
}  # fmt: skip


def trained(step: Step, args: tuple[Tree, Tree, Tree], steps: int) -> tuple[Tree, Tree, list[float]]:
    """Parameters, optimizer state and losses after some steps."""
    params, opt_state, batch = args
    losses = []
    for _ in range(steps):
        params, opt_state, loss = step(params, opt_state, batch)
        losses.append(float(loss))
    return params, opt_state, losses


def difference(got: Tree, want: Tree) -> float:
    """The largest error of any array, relative to the largest magnitude in it."""
    worst = 0.0
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
        if y.size:
            worst = max(worst, float(np.abs(x - y).max() / max(np.abs(y).max(), 1e-30)))
    return worst


def bits_equal(got: Tree, want: Tree) -> bool:
    """Whether all arrays hold the same bits."""
    pairs = zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True)
    return all(bool(jnp.array_equal(np.asarray(a), np.asarray(b))) for a, b in pairs)
