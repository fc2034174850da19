"""Inception-v3: branches of convolutions side by side, joined by channel; cross entropy, SGD.

`unity` is the network of the Unity paper's artifact: biases instead of batch normalisation, relu only up to the first
three modules, ten classes, 36 x 36 images in the first modules. `v3` is the published network: batch normalisation and
relu after every convolution, 1000 classes, 35 x 35 images, an auxiliary classifier; without its dropout. Averages leave
out the padding. The paper's batch is 64 per device.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from examples import training
from examples.training import Tree, f32, i32

Statistics = list[dict[str, jax.Array]]


@dataclasses.dataclass(frozen=True)
class Config:
    """Sizes. `pools`, `sevens` and `last` give one number for each module A, each module C, and count the modules E.

    Channels are divided by `shrink`. `norm` chooses the published network, `auxiliary` adds its second classifier.
    """

    image: int = 75
    classes: int = 16
    shrink: int = 8
    pools: tuple[int, ...] = (32,)
    sevens: tuple[int, ...] = (128,)
    last: int = 1
    norm: bool = False
    auxiliary: bool = False
    batch: int = 8
    rate: float = 0.005


_WHOLE: dict[str, Any] = {"image": 299, "shrink": 1, "pools": (32, 64, 64), "sevens": (128, 160, 160, 192), "last": 2}
SIZES = {
    "small": Config(),
    "unity": Config(**_WHOLE, classes=10, batch=64, rate=0.01),
    "v3": Config(**_WHOLE, classes=1000, norm=True, auxiliary=True, batch=64, rate=0.01),
}


@dataclasses.dataclass(frozen=True)
class Conv:
    """One convolution: channels that come out, kernel, stride and padding of height and width."""

    outputs: int
    kernel: tuple[int, int] = (1, 1)
    stride: int = 1
    padding: tuple[int, int] = (0, 0)


@dataclasses.dataclass(frozen=True)
class Branch:
    """A pooling ("average", "max" or none), convolutions one after another, then `ends` side by side, if any."""

    convs: tuple[Conv, ...] = ()
    ends: tuple[Conv, ...] = ()
    pool: str = ""


def three(outputs: int, stride: int = 1, padding: int = 1) -> Conv:
    """A 3 x 3 convolution."""
    return Conv(outputs, (3, 3), stride, (padding, padding))


def row(outputs: int, size: int = 7) -> Conv:
    """A 1 x size convolution that keeps the image."""
    return Conv(outputs, (1, size), 1, (0, size // 2))


def column(outputs: int, size: int = 7) -> Conv:
    """A size x 1 convolution that keeps the image."""
    return Conv(outputs, (size, 1), 1, (size // 2, 0))


def stem(c: Config) -> tuple[Conv | None, ...]:
    """The convolutions before the modules; None is a max pooling."""
    fifth = three(192, padding=0 if c.norm else 1)
    return three(32, 2, 0), three(32, 1, 0), three(64), None, Conv(80), fifth, None


def modules(c: Config) -> list[tuple[Branch, ...]]:
    """The modules A, B, C, D, E in order."""
    a = [
        (
            Branch((Conv(64),)),
            Branch((Conv(48), Conv(64, (5, 5), 1, (2, 2)))),
            Branch((Conv(64), three(96), three(96))),
            Branch((Conv(pool),), pool="average"),
        )
        for pool in c.pools
    ]
    b = (Branch((three(384, 2, 0),)), Branch((Conv(64), three(96), three(96, 2, 0))), Branch(pool="max"))
    sevens = [
        (
            Branch((Conv(192),)),
            Branch((Conv(n), row(n), column(192))),
            Branch((Conv(n), column(n), row(n), column(n), row(192))),
            Branch((Conv(192),), pool="average"),
        )
        for n in c.sevens
    ]
    d = (
        Branch((Conv(192), three(320, 2, 0))),
        Branch((Conv(192), row(192), column(192), three(192, 2, 0))),
        Branch(pool="max"),
    )
    e = (
        Branch((Conv(320),)),
        Branch((Conv(384),), (row(384, 3), column(384, 3))),
        Branch((Conv(448), three(384)), (row(384, 3), column(384, 3))),
        Branch((Conv(192),), pool="average"),
    )
    return [*a, b, *sevens, d, *[e] * c.last]


def conv_shapes(c: Config, inputs: int, conv: Conv) -> tuple[Tree, int]:
    """Kernel and what follows it, and the channels that come out."""
    outputs = max(1, conv.outputs // c.shrink)
    rest = {"scale": f32(outputs), "bias": f32(outputs)} if c.norm else {"bias": f32(outputs)}
    return {"conv": f32(*conv.kernel, inputs, outputs), **rest}, outputs


def chain_shapes(c: Config, inputs: int, convs: tuple[Conv | None, ...]) -> tuple[list[Tree], int]:
    """Parameters of convolutions one after another, and the channels that come out."""
    chain = []
    for conv in convs:
        if conv is not None:
            p, inputs = conv_shapes(c, inputs, conv)
            chain.append(p)
    return chain, inputs


def param_shapes(c: Config) -> Tree:
    """Stem, modules (of branches, of convolutions), classifiers."""
    first, width = chain_shapes(c, 3, stem(c))
    params: dict[str, Tree] = {"stem": first, "modules": []}
    for index, module in enumerate(modules(c)):
        branches, outputs = [], 0
        for branch in module:
            chain, inner = chain_shapes(c, width, branch.convs)
            ends = [conv_shapes(c, inner, end) for end in branch.ends]
            branches.append({"convs": chain, "ends": [p for p, _ in ends]})
            outputs += sum(n for _, n in ends) if ends else inner
        params["modules"].append(branches)
        width = outputs
        if c.auxiliary and index == len(c.pools) + len(c.sevens):
            chain, inner = chain_shapes(c, width, (Conv(128), Conv(768, (5, 5))))
            params["auxiliary"] = {"convs": chain, "dense": f32(inner, c.classes), "bias_dense": f32(c.classes)}
    return params | {"dense": f32(width, c.classes), "bias_dense": f32(c.classes)}


def pool(x: jax.Array, kind: str, window: int, stride: int, padding: int = 0) -> jax.Array:
    """Pooling of [batch, height, width, channels]; averages are over what lies inside the image."""
    size, step = (1, window, window, 1), (1, stride, stride, 1)
    around = ((0, 0), (padding, padding), (padding, padding), (0, 0))
    if kind == "max":
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, size, step, around)
    inside = np.pad(np.ones(x.shape[1:3], np.float32), padding)
    count = np.lib.stride_tricks.sliding_window_view(inside, (window, window))[::stride, ::stride].sum((2, 3))
    return jax.lax.reduce_window(x, 0.0, jax.lax.add, size, step, around) / count[None, :, :, None]


def convolve(c: Config, x: jax.Array, p: Tree, conv: Conv, relu: bool, seen: Statistics) -> jax.Array:
    """A convolution and what follows it; statistics of the batch are added to `seen`."""
    y = jax.lax.conv_general_dilated(
        x, p["conv"], (conv.stride, conv.stride), [(n, n) for n in conv.padding],
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )  # fmt: skip
    if c.norm:
        mean = jnp.mean(y, (0, 1, 2))
        variance = jnp.mean(jnp.square(y - mean), (0, 1, 2))
        seen.append({"mean": mean, "variance": variance})
        y = (y - mean) * jax.lax.rsqrt(variance + 1e-3) * p["scale"]
    y = y + p["bias"]
    return jax.nn.relu(y) if relu or c.norm else y


def forward(c: Config, params: Tree, images: jax.Array) -> tuple[list[jax.Array], Statistics]:
    """Logits [batch, classes] of every classifier, the main one first, and the statistics of every normalisation."""
    seen: Statistics = []
    x, used, logits = images, iter(params["stem"]), []
    for conv in stem(c):
        x = convolve(c, x, next(used), conv, True, seen) if conv else pool(x, "max", 3, 2)
    for index, (module, branches) in enumerate(zip(modules(c), params["modules"], strict=True)):
        relu, outputs = index < len(c.pools), []
        for branch, p in zip(module, branches, strict=True):
            y = x
            if branch.pool:
                y = pool(y, branch.pool, 3, *((1, 1) if branch.pool == "average" else (2, 0)))
            for conv, q in zip(branch.convs, p["convs"], strict=True):
                y = convolve(c, y, q, conv, relu, seen)
            ends = zip(branch.ends, p["ends"], strict=True)
            outputs += [convolve(c, y, q, conv, relu, seen) for conv, q in ends] if branch.ends else [y]
        x = jnp.concatenate(outputs, axis=3)
        if c.auxiliary and index == len(c.pools) + len(c.sevens):
            p, y = params["auxiliary"], pool(x, "average", 5, 3)
            for conv, q in zip((Conv(128), Conv(768, (5, 5))), p["convs"], strict=True):
                y = convolve(c, y, q, conv, True, seen)
            logits.append(jnp.mean(y, (1, 2)) @ p["dense"] + p["bias_dense"])
    return [jnp.mean(x, (1, 2)) @ params["dense"] + params["bias_dense"], *logits], seen


def train_step(c: Config) -> Callable[..., tuple[Tree, Tree, jax.Array]]:
    """The training step; `opt_state` holds the running averages of the normalisations."""

    def step(params: Tree, opt_state: Tree, batch: Tree) -> tuple[Tree, Tree, jax.Array]:
        def loss(p: Tree) -> tuple[jax.Array, Statistics]:
            (main, *more), seen = forward(c, p, batch["images"])
            auxiliary = sum((training.cross_entropy(logits, batch["labels"]) for logits in more), jnp.float32(0))
            return training.cross_entropy(main, batch["labels"]) + 0.3 * auxiliary, seen

        (value, seen), grads = jax.value_and_grad(loss, has_aux=True)(params)
        running = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, opt_state, seen)
        return training.sgd(params, grads, c.rate), running, value

    return step


def shapes(size: str = "small", **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and the shapes of its arguments."""
    c = dataclasses.replace(SIZES[size], **overrides)
    params, batch = param_shapes(c), {"images": f32(c.batch, c.image, c.image, 3), "labels": i32(c.batch)}
    _, running = jax.eval_shape(lambda p, x: forward(c, p, x), params, batch["images"])
    return train_step(c), (params, training.shapes_of(running), batch)


def make(size: str = "small", seed: int = 0, **overrides: Any) -> tuple[Callable[..., Any], tuple[Tree, Tree, Tree]]:
    """The step and numpy arguments. Kernels that no relu follows are drawn with half the variance."""
    c = dataclasses.replace(SIZES[size], **overrides)
    step, (shape, running, _) = shapes(size, **overrides)
    params = training.materialise(shape, seed)
    if not c.norm:
        linear = params["modules"][len(c.pools) :]
        params["modules"][len(c.pools) :] = jax.tree.map(lambda w: (w / math.sqrt(2)).astype(w.dtype), linear)
    rng = np.random.default_rng(seed + 1)
    batch = {
        "images": rng.standard_normal((c.batch, c.image, c.image, 3), np.float32),
        "labels": rng.integers(0, c.classes, (c.batch,), np.int32),
    }
    return step, (params, training.zeros(running), batch)
