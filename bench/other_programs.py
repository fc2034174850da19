"""Steps of kinds that the zoo lacks, written as their users would: what a planner meets that was tuned on other models.

`PROGRAMS[name].shapes()` is the step and the shapes of its arguments, state first, data last; `make(small)` the same
with values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from examples.training import f32, i32, layer_norm, sgd

Step = Callable[..., Any]
Shapes = tuple[Any, ...]
_IMAGES = ("NHWC", "HWIO", "NHWC")


@dataclass(frozen=True)
class Program:
    """A step of two sizes: `build(small)` returns it with the shapes of its arguments."""

    build: Callable[[bool], tuple[Step, Shapes]]

    def shapes(self) -> tuple[Step, Shapes]:
        """The step at the size that is planned."""
        return self.build(False)

    def make(self, small: bool = True) -> tuple[Step, Shapes]:
        """The step with values: positive numbers, and integers from 0 to 3."""
        step, args = self.build(small)
        rng = np.random.default_rng(0)

        def values(leaf: Any) -> np.ndarray:
            if np.issubdtype(leaf.dtype, np.integer):
                return rng.integers(0, 4, leaf.shape).astype(leaf.dtype)
            return (0.3 * np.abs(rng.standard_normal(leaf.shape))).astype(leaf.dtype)

        return step, jax.tree.map(values, args)


def _descent(loss: Callable[..., Any]) -> Step:
    def step(params: Any, *batch: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, *batch)
        return sgd(params, gradients, 0.01), value

    return step


def _contrastive(small: bool) -> tuple[Step, Shapes]:
    """Two towers and the contrastive loss of CLIP (Radford et al., 2021): a softmax over both sides of one product."""
    batch, width, depth = (8, 16, 2) if small else (4096, 512, 4)

    def loss(params: Any, images: Any, texts: Any) -> Any:
        for w in params["images"]:
            images = jax.nn.gelu(images @ w)
        for w in params["texts"]:
            texts = jax.nn.gelu(texts @ w)
        images = images / jnp.linalg.norm(images + 1e-6, axis=-1, keepdims=True)
        texts = texts / jnp.linalg.norm(texts + 1e-6, axis=-1, keepdims=True)
        scores = images @ texts.T * jnp.exp(params["temperature"])
        return -(jnp.diag(jax.nn.log_softmax(scores, 0)) + jnp.diag(jax.nn.log_softmax(scores, 1))).mean()

    towers = {side: [f32(width, width)] * depth for side in ("images", "texts")}
    return _descent(loss), ({**towers, "temperature": f32()}, f32(batch, width), f32(batch, width))


def _graph_network(small: bool) -> tuple[Step, Shapes]:
    """Messages along the edges of a graph, summed where they arrive (Battaglia et al., 2018)."""
    nodes, edges, width, depth = (64, 256, 16, 2) if small else (65536, 524288, 256, 4)

    def loss(params: Any, x: Any, senders: Any, receivers: Any, y: Any) -> Any:
        for layer in params:
            messages = jax.nn.relu(jnp.concatenate([x[senders], x[receivers]], -1) @ layer["edge"])
            arrived = jax.ops.segment_sum(messages, receivers, nodes)
            x = layer_norm(x + jnp.concatenate([x, arrived], -1) @ layer["node"], layer["scale"], layer["bias"])
        return ((x - y) ** 2).mean()

    layer = {"edge": f32(2 * width, width), "node": f32(2 * width, width), "scale": f32(width), "bias": f32(width)}
    return _descent(loss), ([layer] * depth, f32(nodes, width), i32(edges), i32(edges), f32(nodes, width))


def _attention_unet(small: bool) -> tuple[Step, Shapes]:
    """A denoising step of a small U-Net with attention in its middle (Ho et al., 2020)."""
    batch, edge, width = (8, 8, 8) if small else (32, 64, 128)

    def conv(x: Any, w: Any, stride: int = 1) -> Any:
        return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=_IMAGES)

    def group_norm(x: Any, scale: Any) -> Any:
        n, h, w, c = x.shape
        groups = x.reshape(n, h, w, 4, c // 4)
        mean, variance = groups.mean((1, 2, 4), keepdims=True), groups.var((1, 2, 4), keepdims=True)
        return ((groups - mean) * lax.rsqrt(variance + 1e-5)).reshape(x.shape) * scale

    def attention(x: Any, p: Any) -> Any:
        n, h, w, c = x.shape
        flat = x.reshape(n, h * w, c)
        q, k, v = ((flat @ p[name]).reshape(n, h * w, 4, c // 4) for name in "qkv")
        weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(c // 4))
        return x + (jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(n, h * w, c) @ p["o"]).reshape(x.shape)

    def loss(params: Any, images: Any, times: Any, noise: Any) -> Any:
        angles = times[:, None] * jnp.exp(-jnp.arange(width // 2) / width)
        embedded = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1) @ params["time"]
        share = times[:, None, None, None]
        h, kept = conv(images * jnp.cos(share) + noise * jnp.sin(share), params["first"]), []
        for i, p in enumerate(params["down"]):
            h = conv(h, p["a"], 2 if i else 1)
            h = jax.nn.silu(group_norm(h, p["scale"]) + (embedded @ p["time"])[:, None, None])
            h = h + conv(h, p["b"])
            kept.append(h)
        h = attention(h, params["attention"])
        for i, p in enumerate(params["up"]):
            h = lax.conv_transpose(h, p["grow"], (2, 2), "SAME", dimension_numbers=_IMAGES)
            h = jax.nn.silu(group_norm(conv(jnp.concatenate([h, kept[1 - i]], -1), p["a"]), p["scale"]))
        return ((conv(h, params["last"]) - noise) ** 2).mean()

    widths = [width, 2 * width, 4 * width]
    down = [
        {"a": f32(3, 3, before, after), "b": f32(3, 3, after, after), "scale": f32(after),
         "time": f32(width, after)}
        for before, after in zip([width, *widths], widths, strict=False)
    ]  # fmt: skip
    up = [
        {"grow": f32(2, 2, before, after), "a": f32(3, 3, before, after), "scale": f32(after)}
        for before, after in ((widths[2], widths[1]), (widths[1], widths[0]))
    ]
    params = {
        "first": f32(3, 3, 3, width), "time": f32(width, width), "down": down, "up": up,
        "attention": {name: f32(widths[2], widths[2]) for name in "qkvo"}, "last": f32(3, 3, width, 3),
    }  # fmt: skip
    images = f32(batch, edge, edge, 3)
    return _descent(loss), (params, images, f32(batch), images)


def _state_space(small: bool) -> tuple[Step, Shapes]:
    """Layers of a selective state space model (Gu & Dao, 2023), by an associative scan."""
    depth, batch, length, width, states = (2, 8, 16, 32, 4) if small else (8, 16, 1024, 1024, 16)

    def combined(left: Any, right: Any) -> Any:
        return left[0] * right[0], right[0] * left[1] + right[1]

    def layer(x: Any, p: Any) -> Any:
        u, gate = jnp.split(layer_norm(x, p["scale"], p["bias"]) @ p["first"], 2, -1)
        padded = jnp.pad(u, ((0, 0), (3, 0), (0, 0)))
        u = jax.nn.silu(sum(padded[:, i : i + length] * p["conv"][i] for i in range(4)))
        delta = jax.nn.softplus(u @ p["delta"])
        into, out = jnp.split(u @ p["both"], 2, -1)
        decay = jnp.exp(-jnp.exp(p["decay"]) * delta[..., None])
        _, h = lax.associative_scan(combined, (decay, (delta * u)[..., None] * into[:, :, None, :]), axis=1)
        y = (h * out[:, :, None, :]).sum(-1) + u * p["skip"]
        return x + (y * jax.nn.silu(gate)) @ p["last"]

    def loss(params: Any, x: Any, y: Any) -> Any:
        for p in params:
            x = layer(x, p)
        return ((x - y) ** 2).mean()

    inner = 2 * width
    params = {
        "scale": f32(width), "bias": f32(width), "first": f32(width, 2 * inner), "conv": f32(4, inner),
        "delta": f32(inner, inner), "both": f32(inner, 2 * states), "decay": f32(inner, states),
        "skip": f32(inner), "last": f32(inner, width),
    }  # fmt: skip
    return _descent(loss), ([params] * depth, f32(batch, length, width), f32(batch, length, width))


def _decoding(small: bool) -> tuple[Step, Shapes]:
    """Greedy decoding with a cache of keys and values, in a loop of as many steps as an argument says."""
    batch, most, width, heads, words, depth = (8, 8, 16, 4, 64, 2) if small else (32, 128, 1024, 16, 32000, 4)
    head = width // heads

    def generate(params: Any, first: Any, count: Any) -> Any:
        cache = jnp.zeros((2, depth, batch, most, heads, head))

        def token(state: Any) -> Any:
            i, now, cache, found = state
            x = params["words"][now]
            for n, p in enumerate(params["layers"]):
                for which, name in enumerate(("k", "v")):
                    new = (x @ p[name]).reshape(1, 1, batch, 1, heads, head)
                    cache = lax.dynamic_update_slice(cache, new, (which, n, 0, i, 0, 0))
                scores = jnp.einsum("bhd,bthd->bht", (x @ p["q"]).reshape(batch, heads, head), cache[0, n])
                weights = jax.nn.softmax(jnp.where(jnp.arange(most) <= i, scores, -1e9))
                x = x + jnp.einsum("bht,bthd->bhd", weights, cache[1, n]).reshape(batch, width) @ p["o"]
                x = x + jax.nn.gelu(x @ p["a"]) @ p["b"]
            now = jnp.argmax(x @ params["words"].T, -1).astype(jnp.int32)
            return i + 1, now, cache, found.at[:, i].set(now)

        start = 0, first, cache, jnp.zeros((batch, most), jnp.int32)
        return lax.while_loop(lambda state: state[0] < count, token, start)[-1]

    layer = {name: f32(width, width) for name in "qkvo"}
    layer |= {"a": f32(width, 4 * width), "b": f32(4 * width, width)}
    return generate, ({"words": f32(words, width), "layers": [layer] * depth}, i32(batch), i32())


def _sorted_experts(small: bool) -> tuple[Step, Shapes]:
    """A mixture of experts that sorts tokens by expert, each of which takes so many at most."""
    tokens, width, experts, most = (32, 16, 4, 12) if small else (8192, 1024, 16, 768)

    def loss(params: Any, x: Any, y: Any) -> Any:
        gates, chosen = lax.top_k(jax.nn.softmax(x @ params["router"]), 2)
        order = jnp.argsort(chosen.reshape(-1))
        expert = chosen.reshape(-1)[order]
        place = jnp.arange(2 * tokens) - jnp.searchsorted(expert, jnp.arange(experts))[expert]
        fits, place = (place < most)[:, None], jnp.minimum(place, most - 1)
        taken = jnp.zeros((experts, most, width)).at[expert, place].add(jnp.where(fits, x[order // 2], 0))
        hidden = jax.nn.gelu(jnp.einsum("ecd,edf->ecf", taken, params["a"]))
        out = jnp.einsum("ecf,efd->ecd", hidden, params["b"])[expert, place]
        out = jnp.where(fits, out, 0) * gates.reshape(-1)[order][:, None]
        return ((jnp.zeros_like(x).at[order // 2].add(out) - y) ** 2).mean()

    params = {
        "router": f32(width, experts), "a": f32(experts, width, 4 * width),
        "b": f32(experts, 4 * width, width),
    }  # fmt: skip
    return _descent(loss), (params, f32(tokens, width), f32(tokens, width))


def _fourier(small: bool) -> tuple[Step, Shapes]:
    """A Fourier neural operator (Li et al., 2021): in each layer the lowest frequencies are mixed."""
    batch, edge, width, modes, depth = (8, 8, 8, 3, 2) if small else (32, 64, 64, 12, 4)

    def loss(params: Any, x: Any, y: Any) -> Any:
        h = x @ params["first"]
        for p in params["layers"]:
            spectrum = jnp.fft.rfft2(h, axes=(1, 2))
            mixed = jnp.einsum("bxyi,ioxy->bxyo", spectrum[:, :modes, :modes], p["real"] + 1j * p["imaginary"])
            kept = jnp.zeros_like(spectrum).at[:, :modes, :modes].set(mixed)
            h = jax.nn.gelu(jnp.fft.irfft2(kept, s=(edge, edge), axes=(1, 2)) + h @ p["local"])
        return ((h @ params["last"] - y) ** 2).mean()

    of_modes = f32(width, width, modes, modes)
    layer = {"real": of_modes, "imaginary": of_modes, "local": f32(width, width)}
    params = {"first": f32(1, width), "layers": [layer] * depth, "last": f32(width, 1)}
    return _descent(loss), (params, f32(batch, edge, edge, 1), f32(batch, edge, edge, 1))


def _shampoo(small: bool) -> tuple[Step, Shapes]:
    """Two matrices preconditioned from both sides by inverse fourth roots (Gupta et al., 2018)."""
    batch, width, inner = (64, 32, 64) if small else (256, 256, 512)

    def root(a: Any) -> Any:
        values, vectors = jnp.linalg.eigh(a + 0.1 * jnp.eye(len(a)))
        return (vectors * values**-0.25) @ vectors.T

    def step(params: Any, left: Any, right: Any, x: Any, y: Any) -> Any:
        gradients = jax.grad(lambda p: ((jnp.tanh(x @ p[0]) @ p[1] - y) ** 2).mean())(params)
        left = [a @ a.T + g @ g.T for a, g in zip(left, gradients, strict=True)]
        right = [a @ a.T + g.T @ g for a, g in zip(right, gradients, strict=True)]
        steps = [root(a) @ g @ root(b) for a, g, b in zip(left, gradients, right, strict=True)]
        return sgd(params, steps, 0.1), left, right

    wide, long = f32(width, width), f32(inner, inner)
    params = [f32(width, inner), f32(inner, width)]
    return step, (params, [wide, long], [long, wide], f32(batch, width), f32(batch, width))


PROGRAMS = {
    "contrastive": Program(_contrastive),
    "graph_network": Program(_graph_network),
    "attention_unet": Program(_attention_unet),
    "state_space": Program(_state_space),
    "decoding": Program(_decoding),
    "sorted_experts": Program(_sorted_experts),
    "fourier": Program(_fourier),
    "shampoo": Program(_shampoo),
}
