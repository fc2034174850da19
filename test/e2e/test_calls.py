"""Calls as users of jax make them: each gives what `jax.jit` gives, or an error of one line."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict, namedtuple
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import pcg
from pcg.driver.program import ProgramError
from pcg.runtime.call_tree import SignatureError

MESH = {"a": 2, "b": 2}
X = np.arange(16, dtype=np.float32).reshape(4, 4)
Pair = namedtuple("Pair", "p q")
KEYS = jax.random.split(jax.random.key(0), 4)


@jax.custom_jvp
def odd_sine(x):
    return jnp.sin(x)


odd_sine.defjvp(lambda p, t: (odd_sine(p[0]), 2 * t[0]))


def by_integers(x, i):
    return jax.grad(lambda x, i: (x * i).sum(), argnums=(0, 1), allow_int=True)(x, i)


def inner_reference(x):
    held = jax.new_ref(x)
    held[...] = held[...] * 2
    return held[...]


class Doubler:
    def __call__(self, x):
        return x * 2


#: name -> (function, arguments, keywords)
CALLS: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "none and empty": (lambda t: {"a": t["x"] * 2, "n": None, "e": (), "d": {}}, ({"x": X, "n": None, "e": ()},), {}),
    "tuples with names": (lambda t: Pair(t.q, t.p + 1), (Pair(X, X * 2),), {}),
    "ordered dicts": (lambda t: OrderedDict(b=t["a"], a=t["b"]), (OrderedDict(a=X, b=X + 1),), {}),
    "python numbers": (lambda a, b, c, d: (a + 1, b * 2, c, d), (1, 2.5, True, 1j), {}),
    "a weak result": (lambda x: (x, 5, 2.5, True, 3 * x), (2.0,), {}),
    "numpy numbers": (lambda a, b: a * b, (np.float32(3), np.int32(4)), {}),
    "64 bits are cut": (lambda a: a * 2, (np.arange(8.0),), {}),
    "keywords only": (lambda x, *, y=2, z=3: x * y + z, (X,), {"y": 5}),
    "any arguments": (lambda *a, **k: [sum(a), k], (X, X + 1), {"u": X, "v": 2.0}),
    "unchanged and twice": (lambda x, y: (x, y, x, jnp.sin(x)), (X, X + 1), {}),
    "constants": (lambda x: (jnp.ones(4), 3, np.arange(5)), (X,), {}),
    "no arguments": (lambda: jnp.arange(6.0), (), {}),
    "no results": (lambda x: {}, (X,), {}),
    "nothing": (lambda: None, (), {}),
    "keys": (lambda k: (k, jax.random.split(k[0], 4), k.reshape(2, 2)), (KEYS,), {}),
    "a derivative by integers": (by_integers, (X, np.arange(4)), {}),
    "an argument that is one": (lambda x, z: (x, z), (X, np.zeros(4, jax.dtypes.float0)), {}),
    "a partial": (functools.partial(lambda a, b: a * b, 3.0), (X,), {}),
    "an object": (Doubler(), (X,), {}),
    "packed integers": (lambda a: (a, a + a), (jnp.ones((4, 4), jnp.int4),), {}),
    "own derivatives": (lambda x: jax.jvp(odd_sine, (x,), (x,)), (X,), {}),
    "linearised": (lambda x: jax.linearize(jnp.sin, x)[1](x), (X,), {}),
    "a reference inside": (inner_reference, (X,), {}),
}


def same(got: Any, want: Any) -> None:
    assert jax.tree.structure(got) == jax.tree.structure(want)
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert g.dtype == w.dtype and g.shape == w.shape
        if w.dtype == jax.dtypes.float0:
            continue
        if jax.dtypes.issubdtype(w.dtype, jax.dtypes.prng_key):
            g, w = jax.random.key_data(g), jax.random.key_data(w)
        assert g.weak_type == w.weak_type
        np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", CALLS)
def test_as_jit(name: str) -> None:
    function, args, kwargs = CALLS[name]
    compiled, want = pcg.compile(function, MESH), jax.jit(function)(*args, **kwargs)
    for _ in range(2):
        same(compiled(*args, **kwargs), want)


def test_weak_and_strong_are_told_apart() -> None:
    def program(a):
        return a * jnp.ones(4, jnp.bfloat16)

    for first, second in ((2.0, np.float32(2)), (np.float32(2), 2.0), (np.float32(2), jnp.asarray(2.0) * 1)):
        compiled = pcg.compile(program, MESH)
        for value in (first, first, second, second):
            same(compiled(value), jax.jit(program)(value))


def test_settings_of_jax_are_told_apart() -> None:
    compiled = pcg.compile(lambda a: a * np.float64(0.1), MESH)
    x = np.ones(4, np.float32)
    assert compiled(x).dtype == compiled(x).dtype == np.float32
    with jax.enable_x64(True):
        want = jax.jit(lambda a: a * np.float64(0.1))(x)
        assert compiled(x).dtype == want.dtype
    with jax.disable_jit():
        assert pcg.compile(lambda x: x * float(x[0]), MESH)(x).dtype == np.float32


def test_what_was_donated() -> None:
    step = pcg.compile(lambda s, y: ({k: v + 1 for k, v in s.items()}, y * 2), MESH, donate_argnums=0)
    state = {"w": jnp.ones((8, 8)), "b": jnp.zeros(8)}
    state, _ = step(state, X)
    old = state
    state, _ = step(state, X)
    with pytest.raises(RuntimeError, match=r"deleted.*argument s\['b'\] was donated"):
        step(old, X)
    with pytest.raises(RuntimeError, match=r"argument s\['w'\] was donated"):
        step({"w": old["w"], "b": state["b"]}, X)
    both = pcg.compile(lambda x, y: (x + 1, y + 1), MESH, donate_argnums=0, in_shardings=P("a"), out_shardings=P("a"))
    x, _ = both(jnp.ones((8, 8)), X)
    x, _ = both(x, X)
    with pytest.raises(SignatureError, match="arguments x and y are one array"):
        both(x, x)


def test_derivatives_of_what_is_compiled() -> None:
    compiled = pcg.compile(lambda x: jnp.sin(x).sum(), MESH)
    with pytest.raises(ProgramError, match="inside of another jax transformation"):
        jax.grad(compiled)(X)
    compiled(X)
    compiled(X[0])
    with pytest.raises(NotImplementedError, match=r"pcg.compile\(jax.grad\(function\), mesh\)"):
        jax.grad(compiled)(X)
    with pytest.raises(NotImplementedError, match=r"pcg.compile\(jax.vmap\(function\), mesh\)"):
        jax.vmap(compiled)(X)
    same(jax.jit(lambda x: compiled(x) + 1)(X), jnp.sin(X).sum() + 1)
    with pytest.raises(ProgramError, match="inside of another jax transformation"):
        jax.jit(lambda y: pcg.compile(lambda x: x * y, MESH)(X))(2.0)


def test_errors_of_one_line() -> None:
    held = jax.new_ref(jnp.ones(4))

    def changes(x):
        held[...] = held[...] + x
        return x

    def nested(x, n=300):
        return jax.jit(lambda y: nested(y, n - 1) + 1)(x) if n else x

    for function, argument, message in (
        (lambda a: a, 2**40, "argument a: .*too large"),
        (lambda a: a, held, r"argument a is a mutable array"),
        (changes, X[0], "changes closes over a mutable array"),
        (nested, X, "nested too deeply .*recursion limit"),
        (lambda a: a, np.array([None]), "argument a is array"),
    ):
        with pytest.raises(ProgramError, match=message) as found:
            pcg.compile(function, MESH)(argument)
        assert "\n" not in str(found.value)


def test_threads() -> None:
    compiled = pcg.compile(lambda x: jnp.tanh(x @ x.T), MESH)
    wrong: list[Any] = []

    def work(i: int) -> None:
        try:
            for j in range(3):
                x = np.full((2 + (i + j) % 2, 4), i / 10, np.float32)
                np.testing.assert_allclose(compiled(x), np.tanh(x @ x.T), rtol=1e-5, atol=1e-6)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
