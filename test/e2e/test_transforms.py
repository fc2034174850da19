"""Steps with Fourier transforms and matrix decompositions, planned on meshes, clusters and under memory limits.

Their constants are complex numbers, and their custom calls have attributes of Shardy: the bindings read neither.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pcg
from pcg.machine import Cluster
from support.training import assert_trees_close

RNG = np.random.default_rng(0)


def array(*shape: int) -> np.ndarray:
    return (0.3 * RNG.standard_normal(shape)).astype(np.float32)


def fourier_loss(params: Any, x: Any, y: Any) -> Any:
    """Two layers of a Fourier neural operator (Li et al., 2021) on 8x8 grids, with the 3x3 lowest modes."""
    h = x @ params["first"]
    for layer in params["layers"]:
        modes = jnp.fft.rfft2(h, axes=(1, 2))
        mixed = jnp.einsum("bxyi,ioxy->bxyo", modes[:, :3, :3], layer["real"] + 1j * layer["imaginary"])
        kept = jnp.zeros_like(modes).at[:, :3, :3].set(mixed)
        h = jax.nn.gelu(jnp.fft.irfft2(kept, s=(8, 8), axes=(1, 2)) + h @ layer["local"])
    return ((h @ params["last"] - y) ** 2).mean()


def fourier_step(params: Any, x: Any, y: Any) -> Any:
    loss, gradients = jax.value_and_grad(fourier_loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss


def fourier_args() -> tuple[Any, ...]:
    layers = [{"real": array(8, 8, 3, 3), "imaginary": array(8, 8, 3, 3), "local": array(8, 8)} for _ in range(2)]
    return {"first": array(1, 8), "layers": layers, "last": array(8, 1)}, array(8, 8, 8, 1), array(8, 8, 8, 1)


def shampoo_step(params: Any, left: Any, right: Any, x: Any, y: Any) -> Any:
    """Two matrices preconditioned from both sides by inverse fourth roots (Gupta et al., 2018)."""
    gradients = jax.grad(lambda p: ((jnp.tanh(x @ p[0]) @ p[1] - y) ** 2).mean())(params)
    left = [a + g @ g.T for a, g in zip(left, gradients, strict=True)]
    right = [a + g.T @ g for a, g in zip(right, gradients, strict=True)]

    def root(a: Any) -> Any:
        values, vectors = jnp.linalg.eigh(a)
        return (vectors * values**-0.25) @ vectors.T

    steps = [root(a) @ g @ root(b) for a, g, b in zip(left, gradients, right, strict=True)]
    return [p - 0.1 * s for p, s in zip(params, steps, strict=True)], left, right


def shampoo_args() -> tuple[Any, ...]:
    wide, long = np.eye(256, dtype=np.float32), np.eye(512, dtype=np.float32)
    return [array(256, 512) / 8, array(512, 256) / 8], [wide, long], [long, wide], array(256, 256), array(256, 256)


STEPS = {"fourier": (fourier_step, fourier_args), "shampoo": (shampoo_step, shampoo_args)}


@pytest.mark.parametrize(
    ("where", "limit"), [("mesh", None), ("three axes", None), ("cluster", None), ("cluster", "16MiB")]
)
@pytest.mark.parametrize("name", STEPS)
def test_as_on_one_device(name: str, where: str, limit: str | None) -> None:
    step, make = STEPS[name]
    args = make()
    places = {"mesh": {"a": 2, "b": 3}, "three axes": {"a": 2, "b": 2, "c": 2}, "cluster": Cluster.preset("dgx-h100", nodes=1)}
    compiled = pcg.compile(step, places[where], memory_limit=limit)
    assert_trees_close(compiled(*args), jax.jit(step)(*args), rtol=1e-3)
