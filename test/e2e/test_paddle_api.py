"""Paddle's example of two meshes from Python: `pcg.processes.lower`, with gradients and training steps."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pcg
from pcg.api.processes import Message
from support.close import assert_close

MESHES = {"first": pcg.Mesh.of({"x": 2}, [0, 1]), "second": pcg.Mesh.of({"x": 2}, [2, 3])}
RNG = np.random.default_rng(0)
X, W1, W2, T = (RNG.normal(size=s).astype(np.float32) for s in ((4, 8), (8, 16), (16, 6), (4, 6)))


def two_matmuls(x, w1, w2):
    h = pcg.shard(x, (None, None), mesh="first") @ pcg.shard(w1, (None, "x"), mesh="first")
    return h @ pcg.shard(w2, ("x", None), mesh="second")


def agree(got, want):
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert_close(a, b, 1e-5)


def test_four_programs():
    programs = pcg.processes.lower(two_matmuls, MESHES, X, W1, W2)
    assert programs.processes == (0, 1, 2, 3)
    assert programs.messages == (Message(0, 2, 0, (0, 0), (4, 8)), Message(1, 3, 1, (0, 8), (4, 16)))
    ops = [re.findall(r"dot_general|dist\.send|dist\.recv|all_reduce", programs.text(n)) for n in range(4)]
    assert ops == [["dot_general", "dist.send"]] * 2 + [["dist.recv", "dot_general", "all_reduce"]] * 2
    agree(programs.emulate(X, W1, W2), two_matmuls(X, W1, W2))


def loss(weights, x, t):
    return jnp.mean((two_matmuls(x, *weights) - t) ** 2)


def test_gradients_go_the_other_way():
    gradient = jax.grad(loss)
    programs = pcg.processes.lower(gradient, MESHES, (W1, W2), X, T)
    assert re.findall(r"index = (\d) : i64, mesh = @(\w+)", programs.as_text("stages")) == [
        ("0", "first"), ("1", "second"), ("2", "first"),
    ]  # fmt: skip
    # h forward and dh backward, one shard each.
    assert [(m.sender, m.receiver) for m in programs.messages] == [(0, 2), (1, 3), (2, 0), (3, 1)]
    agree(programs.emulate((W1, W2), X, T), gradient((W1, W2), X, T))


def test_training_step_in_bfloat16():
    def step(weights, x, t):
        cast = [w.astype(jnp.bfloat16) for w in weights]
        value, gradient = jax.value_and_grad(loss)(cast, x, t)
        return [w - 0.1 * g.astype(w.dtype) for w, g in zip(weights, gradient, strict=True)], value

    programs = pcg.processes.lower(step, MESHES, [W1, W2], X, T)
    assert programs.as_text("stages").count('"pcg.stage"') == 3
    for a, b in zip(jax.tree.leaves(programs.emulate([W1, W2], X, T)), jax.tree.leaves(step([W1, W2], X, T)), strict=True):
        assert_close(a, b, 2e-2)


def test_a_mesh_without_a_layout():
    def f(x):
        return jnp.sin(pcg.shard(jnp.cos(pcg.shard(x, ("x",), mesh="first")), None, mesh="second"))

    x = RNG.normal(size=(8, 4)).astype(np.float32)
    programs = pcg.processes.lower(f, MESHES, x)
    # Nothing asks for a layout on the second mesh, so it stays as it was.
    assert [(m.sender, m.receiver) for m in programs.messages] == [(0, 2), (1, 3)]
    agree(programs.emulate(x), f(x))


def test_loops_and_typed_keys():
    def f(key, x, w):
        x = pcg.shard(x + jax.random.normal(key, x.shape), ("x",), mesh="first")
        w = pcg.shard(w, (None, "x"), mesh="second")
        return jax.lax.scan(lambda c, _: (jnp.tanh(c @ w), None), x, None, length=3)[0]

    key, x = jax.random.key(0), RNG.normal(size=(4, 8)).astype(np.float32)
    w = RNG.normal(size=(8, 8)).astype(np.float32)
    programs = pcg.processes.lower(f, MESHES, key, x, w)
    assert "stablehlo.tanh" in programs.text(2) and "stablehlo.tanh" not in programs.text(0)
    agree(programs.emulate(jax.random.key_data(key), x, w), f(key, x, w))


def test_modules_declare_their_meshes():
    text = pcg.processes.lower(two_matmuls, MESHES, X, W1, W2).as_text("stablehlo")
    programs = pcg.processes.lower(text)
    assert len(programs.messages) == 2
    agree(programs.emulate(X, W1, W2), two_matmuls(X, W1, W2))


def test_a_shape_it_was_not_lowered_for():
    programs = pcg.processes.lower(two_matmuls, MESHES, X, W1, W2)
    with pytest.raises(pcg.ProgramError, match=r"argument x has shape \(2, 8\); it was lowered for f32\[4,8\]"):
        programs.emulate(X[:2], W1, W2)
    with pytest.raises(ValueError, match="no process 4; processes are 0, 1, 2, 3"):
        programs.text(4)


@pytest.mark.parametrize(
    "spec, mesh, message",
    [
        (("x",), "third", "there is no mesh 'third'; meshes of this program: 'first', 'second'"),
        (("x",), None, "no mesh is named; meshes of this program: 'first', 'second'"),
        (("q",), "first", "on mesh 'first': unknown axis 'q'; the mesh has 'x'"),
    ],
)
def test_bad_requests_name_the_line(spec, mesh, message):
    with pytest.raises(pcg.ProgramError, match=rf"test_paddle_api.py:\d+.*pcg.shard: {message}"):
        pcg.processes.lower(lambda x: pcg.shard(x, spec, mesh=mesh) * 2, MESHES, X)


def test_one_mesh_refuses_names_of_meshes():
    with pytest.raises(pcg.ProgramError, match="mesh 'first': the program is compiled for one mesh"):
        pcg.compile(two_matmuls, {"x": 2}).lower(X, W1, W2)
    with pytest.raises(pcg.MeshError, match="a function needs its meshes"):
        pcg.processes.lower(two_matmuls, None, X, W1, W2)


def test_transformer_training_step_is_three_stages():
    """Forward of the first half, both passes of the second, backward of the first; only activations travel."""
    meshes = {f"m{i}": pcg.Mesh.of({"data": 2, "model": 2}, range(4 * i, 4 * i + 4)) for i in range(2)}
    specs = {"qkv": (None, None, "model"), "o": ("model",), "w1": (None, "model"), "w2": ("model",)}
    shapes = {"qkv": (8, 3, 2, 4), "o": (2, 4, 8), "w1": (8, 16), "w2": (16, 8)}

    def block(p, x):
        q, k, v = jnp.einsum("bsd,dnhe->nbshe", x, p["qkv"])
        a = jax.nn.softmax(jnp.einsum("bshe,bthe->bhst", q, k) / 2)
        x = x + jnp.einsum("bhst,bthe,hed->bsd", a, v, p["o"])
        return x + jax.nn.gelu(x @ p["w1"]) @ p["w2"]

    def loss(params, x, t):
        for i, p in enumerate(params):
            x = block(
                {k: pcg.shard(w, specs[k], mesh=f"m{i}") for k, w in p.items()}, pcg.shard(x, ("data",), mesh=f"m{i}")
            )
        return jnp.mean((x - t) ** 2)

    def step(params, x, t):
        value, gradient = jax.value_and_grad(loss)(params, x, t)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value

    params = [{k: 0.3 * RNG.normal(size=s).astype(np.float32) for k, s in shapes.items()} for _ in meshes]
    x, t = (RNG.normal(size=(4, 4, 8)).astype(np.float32) for _ in range(2))
    programs = pcg.processes.lower(step, meshes, params, x, t)
    assert re.findall(r"index = (\d) : i64, mesh = @(\w+)", programs.as_text("stages")) == [
        ("0", "m0"), ("1", "m1"), ("2", "m0"),
    ]  # fmt: skip
    assert sorted((m.sender, m.receiver) for m in programs.messages) == [
        (0, 4), (1, 5), (2, 6), (3, 7), (4, 0), (5, 1), (6, 2), (7, 3),
    ]  # fmt: skip
    agree(programs.emulate(params, x, t), step(params, x, t))
