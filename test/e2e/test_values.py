"""Numbers that are easily lost: initial values that count, NaN, infinities, zeros of both signs.  On devices, as XLA."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import PartitionSpec as P

import pcg

NAN, INF = np.nan, np.inf


def same(
    f: Callable[..., Any], args: Sequence[Any], ins: Sequence[P], out: P, mesh: str = "a=4", want: Any = None
) -> None:
    """The program under given layouts gives what it gives on one device (`want`, where XLA leaves that open)."""
    step = pcg.compile(f, mesh, strategy="dataflow", in_shardings=tuple(ins), out_shardings=out)
    got, want = np.asarray(step(*args)), np.asarray(jax.jit(f)(*args) if want is None else want)
    assert got.dtype == want.dtype
    wide = [x.astype(np.float64) if x.dtype.kind in "fV" else x for x in (got, want)]
    np.testing.assert_array_equal(*wide)
    if got.dtype.kind == "f":
        np.testing.assert_array_equal(*(np.signbit(x) & (x == 0) for x in wide))


# -- initial values ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [4, 8])
def test_a_reduction_starts_once(n: int) -> None:
    """With one element on a shard XLA takes the reduction for a reshape, and drops the initial value."""
    kinds = (lax.add, lax.mul, lax.max, lax.min)
    x = jnp.arange(n, dtype=np.float32) - 2
    same(lambda x: jnp.stack([lax.reduce(x, np.float32(3), k, (0,)) for k in kinds]), [x], [P("a")], P())


def test_a_reduction_starts_from_what_is_computed() -> None:
    x, y = jnp.ones((4, 6)), jnp.float32(1)
    same(lambda x, y: lax.reduce(x, y + 2, lax.add, (0,)), [x, y], [P("a"), P()], P())
    same(lambda x, y: lax.reduce(x, y + 2, lax.max, (0, 1)), [x, y], [P("a"), P()], P())


def test_a_reducer_of_ours_that_counts_its_start() -> None:
    def twice(a: Any, b: Any) -> Any:
        return 0 - ((0 - a) - b)  # a sum that is not one op

    same(lambda x: lax.reduce(x, np.float32(3), twice, (0,)), [jnp.ones((8, 2))], [P("a")], P())


@pytest.mark.parametrize(
    ("n", "window", "stride", "padding"),
    [(4, 3, 1, (1, 1)), (8, 3, 2, (1, 1)), (8, 2, 2, (0, 0)), (9, 2, 1, (0, 0)), (4, 3, 1, (2, 0))],
)
def test_a_window_starts_once(n: int, window: int, stride: int, padding: tuple[int, int]) -> None:
    def f(x: Any) -> Any:
        kinds = (lax.add, lax.mul, lax.max, lambda a, b: jnp.where(a > b, a, b))
        made = [lax.reduce_window(x, np.float32(3), k, (window,), (stride,), (padding,)) for k in kinds]
        return jnp.stack(made, 1)

    split = P("a") if n % 4 == 0 else P()
    out = P("a") if (n + sum(padding) - window) // stride % 4 == 3 else P()
    same(f, [jnp.arange(n, dtype=np.float32)], [split], out)


# -- NaN ----------------------------------------------------------------------------------------------

ODD = np.array([1, NAN, 3, -2, INF, 0, -0.0, -INF])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("reducer", [jnp.max, jnp.min])
def test_nan_wins_across_devices(reducer: Any, dtype: str) -> None:
    x = np.stack([np.roll(ODD, k) for k in range(3)] + [np.nan_to_num(ODD, nan=-5, posinf=7, neginf=-7)], 1)
    x = jnp.asarray(np.nan_to_num(x, posinf=9, neginf=-9) if "e4m3" in dtype else x).astype(dtype)
    same(lambda x: reducer(x, 0), [x], [P("a")], P())
    same(lambda x: reducer(x, 0), [x], [P("a")], P("a"))  # scattered


@pytest.mark.parametrize(
    ("x", "want"), [([-0.0, 0.0, -0.0, -1.0], 0.0), ([0.0, -0.0, -2.0, -1.0], 0.0), ([-0.0, -0.0, -0.0, -3.0], -0.0)]
)
def test_zeros_keep_their_sign_in_a_maximum(x: list[float], want: float) -> None:
    same(lambda x: jnp.max(x, 0), [jnp.array(x)], [P("a")], P(), want=np.float32(want))


# -- without elements ---------------------------------------------------------------------------------


def empty(*shape: int) -> jax.Array:
    return jnp.zeros(shape, np.float32)


@pytest.mark.parametrize(
    ("f", "args", "ins", "out"),
    [
        (lambda x: x + 1, [empty(0, 4)], [P(None, "a")], P(None, "a")),
        (lambda x: x.sum(0), [empty(0, 4)], [P("a")], P()),
        (lambda x: x.T * 2, [empty(4, 0)], [P("a", None)], P(None, "a")),
        (lambda x: lax.reduce(x, np.float32(3), lax.max, (0,)), [empty(0, 4)], [P(None, "a")], P("a")),
        (lambda x, y: x @ y, [empty(4, 0), empty(0, 8)], [P("a"), P("a")], P(None, "a")),
        (lambda x, i: (x[i].sum(), x.at[i].add(1.0)), [empty(4, 4) + 1, jnp.zeros(0, int)], [P("a"), P()], P()),
        (lambda x: lax.top_k(x, 0)[0], [empty(4, 4)], [P(None, "a")], P()),
        (lambda x, i: (x.sum(1), jnp.arange(3), i), [empty(0, 4), jnp.zeros(0, int)], [P(), P()], P()),
        (lambda x: (jnp.roll(x, 0, 0), x[2:2], jnp.pad(x[3:3], ((4, 0), (0, 0)))), [empty(8, 4) + 1], [P("a")], P()),
    ],
)
def test_tensors_without_elements(f: Any, args: Any, ins: Any, out: P) -> None:
    step = pcg.compile(f, "a=4", strategy="dataflow", in_shardings=tuple(ins), out_shardings=out)
    for got, want in zip(jax.tree.leaves(step(*args)), jax.tree.leaves(jax.jit(f)(*args)), strict=True):
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype and got.shape == want.shape
    assert step.explain() and step.simulate()


# -- element types ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int2", "uint4", "int4", "float4_e2m1fn", "float8_e4m3fn", "uint64", "complex64"])
def test_narrow_and_wide_elements(dtype: str) -> None:
    """Cut unevenly, reduced, sent and gathered."""

    def make(shard: Any) -> Any:
        def f(x: Any) -> Any:
            y = shard(x.T, ("a", None))
            z = shard(jnp.concatenate([y[1:], y[:1]]), (None, "a"))
            least = y.min(0) if x.dtype.kind != "c" else y.sum(0)
            return lax.reduce(y, x.dtype.type(0), lax.add, (0,)), least, y[jnp.array([3, 0])], shard(z.T, ("a", None))

        return f

    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        x = jnp.asarray(rng.integers(0, 2, (6, 5)).astype(np.float32).astype(jnp.dtype(dtype)))
        got = pcg.compile(make(pcg.shard), "a=4", strategy="dataflow", in_shardings=(P(),))(x)
        want = jax.jit(make(lambda x, _: x))(x)
        wide = np.complex128 if dtype == "complex64" else np.float64
        for a, b in zip(got, want, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(np.asarray(a).astype(wide), np.asarray(b).astype(wide))


@pytest.mark.parametrize(("initial", "op", "want"), [(3.0, lax.add, lambda x: x.sum(2) + 3), (5.0, lax.max, lambda x: np.maximum(x.max(2), 5))])
def test_initial_value_behind_an_all_to_all(initial, op, want):
    """XLA reduces what an all-to-all brought part by part, and would start each from the initial value."""
    x = np.arange(256, dtype=np.float32).reshape(4, 4, 16)
    step = pcg.compile(
        lambda x: lax.reduce(pcg.shard(x, P("a", "b")), initial, op, (2,)), {"a": 4, "b": 2}, strategy="dataflow",
        in_shardings=(P(None, None, "a"),), out_shardings=P("a", "b"),
    )  # fmt: skip
    assert "all_to_all" in step.lower(x).as_text("local")
    assert np.array_equal(step(x), want(x))
