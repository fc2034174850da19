"""A training step on two islands of a controller, the same on one device, and a client of a cluster that runs it.

`python -m support.training_client` trains, publishes what it has, and then runs programs until it is killed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import pcg


def encode(w: Any, x: Any) -> Any:
    return jnp.tanh(x @ w)


def loss(v: Any, h: Any) -> Any:
    return jnp.mean((h @ v) ** 2)


def step(encode: Callable[..., Any], loss: Callable[..., Any], w: Any, v: Any, x: Any) -> Any:
    value, (dw, dv) = jax.value_and_grad(lambda w, v: loss(v, encode(w, x)), (0, 1))(w, v)
    return value, w - 0.5 * dw, v - 0.5 * dv


def on_islands(client: pcg.api.controller.Client) -> Any:
    """The step as a program; shares devices with others."""
    left = client.request({"model": 2}, island="island0", shared=True)
    right = client.request({"data": 2}, island="island1", shared=True)
    functions = left.function(encode), right.function(loss)
    return client.program(lambda w, v, x: step(*functions, w, v, x))


def begin(seed: int) -> list[jax.Array]:
    """Parameters and a batch."""
    rng = np.random.default_rng(seed)
    return [jnp.asarray(rng.normal(size=s), jnp.float32) for s in ((8, 8), (8, 4), (16, 8))]


def five(program: Any, w: Any, v: Any, x: Any) -> tuple[list[float], Any, Any]:
    """Losses of five steps, and the parameters after them."""
    losses = []
    for _ in range(5):
        value, w, v = program(w, v, x)
        losses.append(value)
    return [float(value) for value in losses], w, v


def on_one_device(seed: int) -> tuple[list[float], Any, Any]:
    return five(jax.jit(lambda w, v, x: step(encode, loss, w, v, x)), *begin(seed))


def main() -> None:
    client = pcg.connect().client("other", weight=3)
    losses, w, v = five(on_islands(client), *begin(1))
    client.publish("parameters", {"w": w, "v": v})
    print(losses, flush=True)
    add = client.request({"data": 2}, island="island1", shared=True).function(lambda x: x + 1)
    y = add(begin(1)[2])
    while True:
        y = add(y)


if __name__ == "__main__":
    main()
