"""Programs from JAX under random strategies for every op: lowered and emulated, results stay."""

import pytest

from pcg.layout import Mesh
from support.anyplan import annotate, prepare
from support.lowercheck import check
from support.rulecheck import context

jax = pytest.importorskip("jax")
import jax.numpy as jnp


def mlp_gradient(w1, w2, x):
    def loss(w1, w2):
        return jnp.mean((jnp.tanh(x @ w1) @ w2) ** 2)

    return jax.value_and_grad(loss, (0, 1))(w1, w2)


def attention(q, k, v):
    s = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 8
    s = jnp.where(jnp.tril(jnp.ones((8, 8), bool)), s, -1e9)
    return jnp.einsum("bhqk,bhkd->bqhd", jax.nn.softmax(s), v).reshape(4, 8, -1)


def recurrent(x, w):
    def step(h, x):
        h = jnp.tanh(h @ w + x)
        return h, h.sum(1)

    return jax.lax.scan(step, jnp.zeros((8, 8)), x)


def embedding(table, ids):
    return jax.grad(lambda t: (t[ids] ** 2).sum())(table)


def norm(x, g):
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return jnp.concatenate([(x - m) * jax.lax.rsqrt(v + 1) * g, x[:, ::-1]], 1).max(0)


def branches(i, x):
    return jax.lax.switch(i, [lambda x: x.T @ x, lambda x: x @ x, lambda x: x - x.sum()], x)


F = jnp.float32
CASES = {
    "mlp_gradient": (mlp_gradient, [(F, 16, 32), (F, 32, 8), (F, 8, 16)]),
    "attention": (attention, [(F, 4, 4, 8, 8)] * 3),
    "recurrent": (recurrent, [(F, 4, 8, 8), (F, 8, 8)]),
    "embedding": (embedding, [(F, 16, 8), (jnp.int32, 8, 4)]),
    "norm": (norm, [(F, 8, 16), (F, 16)]),
    "branches": (branches, [(jnp.int32,), (F, 8, 8)]),
}


@pytest.mark.parametrize("mesh", ["a=2,b=4", "a=2,b=2,c=2"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", CASES)
def test_results_stay(case, seed, mesh):
    function, shapes = CASES[case]
    arguments = [jax.ShapeDtypeStruct(tuple(s), d) for d, *s in shapes]
    text = jax.jit(function).lower(*arguments).as_text()
    with context():
        module = prepare(text)
        annotate(module, Mesh.parse(mesh), seed)
        annotated = str(module)
    check(annotated, rtol=2e-4, seed=seed)
