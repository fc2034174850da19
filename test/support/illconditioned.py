"""Programs whose results are mostly rounding, though nothing is wrong with them: what a check must not call an error.

Each is split in ways that change the order of its sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P


@dataclass(frozen=True)
class Case:
    """A function, what makes its arguments from a generator, and layouts of them as (mesh, shardings)."""

    function: Callable[..., Any]
    arguments: Callable[[np.random.Generator], Sequence[np.ndarray]]
    layouts: Sequence[tuple[str, Sequence[Any]]]


def _f32(x: Any) -> np.ndarray:
    return np.asarray(x, np.float32)


def _batch_norm_step(x, w, y):
    """A step through batch normalisation over two examples: x - mean is the rounding of equal numbers in places."""

    def loss(w):
        h = x @ w
        z = (h - h.mean(0)) * jax.lax.rsqrt(h.var(0) + 1e-5)
        return ((jax.nn.relu(z) - y) ** 2).mean()

    return w - 0.1 * jax.grad(loss)(w), loss(w)


def _adam_first(w, x, y):
    """Adam's first step: g / sqrt(g^2) is the sign of the gradient, also where that is rounding."""
    g = jax.grad(lambda w: ((jnp.tanh(x @ w) - y) ** 2).mean())(w)
    g = g - g.mean(0)  # so that some are near zero
    m, v = 0.1 * g, 0.001 * g * g
    return w - 1e-3 * (m / 0.1) / (jnp.sqrt(v / 0.001) + 1e-12), g


def _softmax_large(x, w):
    z = 300 * (x @ w)
    return jax.nn.softmax(z, axis=-1), jax.grad(lambda w: jnp.max(jax.nn.softmax(300 * (x @ w)), -1).sum())(w)


def _naive_softmax(x, w):
    z = 40 * (x @ w)
    e = jnp.exp(z)
    return e / e.sum(-1, keepdims=True)


def _long_scan(h, w, xs):
    def body(h, x):
        h = jnp.tanh(1.8 * (h @ w) + x)
        return h, h.sum()

    return jax.lax.scan(body, h, xs)


def _variance(x):
    return (x * x).mean(0) - x.mean(0) ** 2, jax.lax.rsqrt(jnp.maximum((x * x).mean(0) - x.mean(0) ** 2, 1e-12))


def _tiny_vectors(x):
    d = x - x.mean(0)
    return d / jnp.sqrt((d * d).sum(-1, keepdims=True) + 1e-30)


def _logsumexp(x, w):
    z = 1000 + x @ w
    lse = jax.nn.logsumexp(z, axis=0)
    return lse, jnp.exp(z - lse) - jnp.exp(z - jax.nn.logsumexp(z, axis=0, keepdims=True)), lse - 1000


def _hilbert(a, b):
    """A badly conditioned system by its Cholesky factor."""
    g = a.T @ a + 1e-3 * jnp.eye(a.shape[1])
    c = jnp.linalg.cholesky(g)
    return jax.scipy.linalg.solve_triangular(c, b, lower=True)


def _qr(a, b):
    q, r = jnp.linalg.qr(a.T @ a)
    return q, r, jnp.linalg.solve(a.T @ a, b)


def _cancellation(x, y):
    return (x @ y - (x * 0.3) @ y - (x * 0.7) @ y), (x.sum(0) + 1e4 - 1e4) - x.sum(0)


def _bf16_step(params, x, y):
    def loss(p):
        h = x
        for w in p:
            h = jax.nn.relu(h @ w.astype(jnp.bfloat16)).astype(jnp.bfloat16)
        return ((h.astype(jnp.float32) - y) ** 2).mean()

    value, g = jax.value_and_grad(loss)(params)
    return [w - 0.1 * d for w, d in zip(params, g, strict=True)], value


def _argmax_ties(x, w):
    z = x @ w
    z = jnp.round(z * 4) / 4 + 1e-7 * (x @ (w * w))
    best = jnp.argmax(z, -1)
    return best, jnp.take_along_axis(z, best[:, None], 1), jax.nn.one_hot(best, w.shape[1]) @ w.T


def _near_sorts(x, w):
    z = jnp.sum(x @ w, -1)
    z = jnp.round(z) + (x * x).mean(-1) * 1e-7
    order = jnp.argsort(z)
    return order, jnp.sort(z), x[order]


def _logistic_map(x, w):
    h = jax.nn.sigmoid(x @ w)
    return jax.lax.fori_loop(0, 100, lambda i, v: 3.9 * v * (1 - v), h)


def _residual_norm(x, *weights):
    def norm(h):
        return (h - h.mean(0)) / jnp.sqrt(h.var(0) + 1e-5)

    def loss(ws):
        h = x
        for w in ws:
            h = h + jax.nn.relu(norm(h) @ w)
        return (norm(h)[:, :4] ** 3).mean()

    return [w - d for w, d in zip(weights, jax.grad(loss)(list(weights)), strict=True)]


def _fft(x):
    f = jnp.fft.fft(x, axis=-1)
    return (jnp.fft.ifft(f, axis=-1).real - x).sum(0), jnp.angle(f)


def _layer_norm(x, w):
    h = x @ w
    h = h - h.mean(-1, keepdims=True)
    return h / jnp.sqrt((h * h).mean(-1, keepdims=True))


def _moe(x, gate, up, down):
    def loss(gate, up, down):
        scores = jax.nn.softmax(x @ gate)
        value, index = jax.lax.top_k(scores, 2)
        chosen = (jax.nn.one_hot(index, gate.shape[1]) * value[..., None]).sum(1)
        h = jax.nn.relu(jnp.einsum("td,edf->etf", x, up))
        return (jnp.einsum("te,etf,efd->td", chosen, h, down) ** 2).mean()

    return jax.value_and_grad(loss, argnums=(0, 1, 2))(gate, up, down)


def _quantised(x, w):
    def quantise(v):
        scale = jnp.max(jnp.abs(v)) / 127
        return jnp.clip(jnp.round(v / scale), -127, 127).astype(jnp.int8), scale

    h, s = quantise(jnp.tanh(x @ w))
    q, t = quantise(w)
    return (h.astype(jnp.int32) @ q.astype(jnp.int32).T).astype(jnp.float32) * s * t, h


def _dropout(x, w, key):
    h = jax.nn.relu(x @ w)
    keep = jax.random.bernoulli(jax.random.wrap_key_data(key), 0.7, h.shape)
    h = jnp.where(keep, h / 0.7, 0)
    return (h @ w.T).sum(0), (h > 0).sum()


def _cumsum(x):
    c = jnp.cumsum(x, 0)
    return c, jnp.sign(c), (c - c.mean(0)).sum(0)


def _normal(*shape: int, scale: float = 1.0) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: _f32(scale * rng.standard_normal(shape))


def _all(*made: Callable[[np.random.Generator], np.ndarray]) -> Callable[[np.random.Generator], Sequence[np.ndarray]]:
    return lambda rng: [f(rng) for f in made]


def _shared(rng: np.random.Generator) -> np.ndarray:
    """Examples that are nearly the same."""
    return _f32(rng.standard_normal((1, 32)) + 1e-4 * rng.standard_normal((8, 32)))


def _hilbert_rows(rng: np.random.Generator) -> np.ndarray:
    i, j = np.indices((16, 12))
    return _f32(1 / (i + j + 1) + 1e-6 * rng.standard_normal((16, 12)))


_ROWS, _BOTH = ("a=4", (P("a"), P())), ("a=2,b=2", (P("a", "b"), P("b")))

CASES: dict[str, Case] = {
    "batch norm, tiny batch": Case(
        _batch_norm_step, _all(_shared, _normal(32, 16, scale=0.2), _normal(8, 16)),
        [("a=4", (P("a"), P(), P("a"))), ("a=2,b=2", (P("a", "b"), P("b"), P("a")))],
    ),
    "Adam's first step": Case(
        _adam_first, _all(_normal(32, 16, scale=0.2), _normal(16, 32), _normal(16, 16)),
        [("a=4", (P(), P("a"), P("a"))), ("a=2,b=2", (P("b"), P("a", "b"), P("a")))],
    ),
    "softmax of large logits": Case(
        _softmax_large, _all(_normal(8, 32), _normal(32, 16, scale=0.3)), [_ROWS, _BOTH, ("a=4", (P(None, "a"), P("a")))],
    ),
    "softmax that overflows": Case(
        _naive_softmax, _all(_normal(8, 32), _normal(32, 16, scale=0.3)), [("a=4", (P(None, "a"), P("a"))), _BOTH],
    ),
    "long scan": Case(
        _long_scan, _all(_normal(4, 16), _normal(16, 16, scale=0.5), _normal(200, 4, 16, scale=0.1)),
        [("a=4", (P(), P("a"), P())), ("a=2,b=2", (P("a"), P("b"), P(None, "a", "b")))],
    ),
    "variance as E[x^2] - E[x]^2": Case(
        _variance, lambda rng: [_f32(1000 + rng.standard_normal((64, 8)))], [("a=4", (P("a"),)), ("a=8", (P("a"),))],
    ),
    "normalised tiny vectors": Case(
        _tiny_vectors, lambda rng: [_f32(1 + 1e-6 * rng.standard_normal((32, 16)))],
        [("a=4", (P("a"),)), ("a=2,b=2", (P("a", "b"),))],
    ),
    "log of a sum of exponentials": Case(
        _logsumexp, _all(_normal(16, 32), _normal(32, 8)), [("a=4", (P(None, "a"), P("a"))), _BOTH],
    ),
    "Cholesky solve": Case(
        _hilbert, lambda rng: [_hilbert_rows(rng), _f32(rng.standard_normal((12, 2)))], [("a=4", (P("a"), P()))],
    ),
    "QR and solve": Case(
        _qr, lambda rng: [_hilbert_rows(rng), _f32(rng.standard_normal((12, 2)))], [("a=4", (P("a"), P()))],
    ),
    "sums that cancel": Case(
        _cancellation, _all(_normal(16, 64), _normal(64, 8)), [("a=4", (P(None, "a"), P("a"))), _BOTH],
    ),
    "bf16 training step": Case(
        lambda a, b, c, x, y: _bf16_step([a, b, c], x, y),
        lambda rng: [
            *(_f32(rng.standard_normal((32, 32)) / 6) for _ in range(3)),
            rng.standard_normal((16, 32)).astype(jnp.bfloat16), _f32(rng.standard_normal((16, 32))),
        ],
        [("a=4", (P(), P(), P(), P("a"), P("a"))), ("a=2,b=2", (P(None, "b"), P("b"), P(None, "b"), P("a"), P("a")))],
    ),
    "ties of argmax": Case(
        _argmax_ties, _all(_normal(32, 32, scale=0.2), _normal(32, 8)), [("a=4", (P(None, "a"), P("a"))), _BOTH],
    ),
    "sorts of near ties": Case(
        _near_sorts, _all(_normal(64, 32), _normal(32, 16)), [("a=4", (P(None, "a"), P("a"))), _BOTH],
    ),
    "logistic map": Case(
        _logistic_map, _all(_normal(8, 32), _normal(32, 16, scale=0.3)), [("a=4", (P(None, "a"), P("a"))), _BOTH],
    ),
    "deep residual net, batch norm": Case(
        _residual_norm, lambda rng: [
            _f32(rng.standard_normal((8, 16))), *(_f32(rng.standard_normal((16, 16)) / 2) for _ in range(6)),
        ],
        [("a=4", (P("a"), *[P()] * 6)), ("a=2,b=2", (P("a"), *[P("b"), P(None, "b")] * 3))],
    ),
    "Fourier transform and back": Case(
        _fft, _all(_normal(16, 64)), [("a=4", (P("a"),)), ("a=4", (P(None, "a"),))],
    ),
    "layer norm without epsilon": Case(
        _layer_norm, lambda rng: [_shared(rng), _f32(np.ones((32, 16)) + 1e-5 * rng.standard_normal((32, 16)))],
        [("a=4", (P(None, "a"), P("a"))), _BOTH],
    ),
    "top-k routing": Case(
        _moe, _all(_normal(32, 16), _normal(16, 8), _normal(8, 16, 32, scale=0.2), _normal(8, 32, 16, scale=0.2)),
        [("a=4", (P(), P(), P("a"), P("a"))), ("a=2,b=2", (P("a", "b"), P("b"), P("a", "b"), P("a")))],
    ),
    "quantised by rounding": Case(
        _quantised, _all(_normal(16, 64), _normal(64, 32, scale=0.2)), [("a=4", (P(None, "a"), P("a"))), _BOTH],
    ),
    "dropout by bits": Case(
        _dropout, lambda rng: [
            _f32(rng.standard_normal((16, 64))), _f32(rng.standard_normal((64, 32))), np.array([3, 5], np.uint32),
        ],
        [("a=4", (P(None, "a"), P("a"), P())), ("a=2,b=2", (P("a", "b"), P("b"), P()))],
    ),
    "running sums": Case(
        _cumsum, _all(_normal(64, 16)), [("a=4", (P("a"),)), ("a=2,b=2", (P("a", "b"),))],
    ),
}  # fmt: skip
