"""Per-device programs inside of a compiled function (`jax.shard_map`): the results of JAX, collectives as written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import pcg
from bench.collectives import of_stablehlo_text
from pcg.runtime import jax_compat

SIZES = {"x": 2, "y": 4}
MESH = jax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
RNG = np.random.default_rng(0)
A = RNG.integers(-4, 5, (8, 16)).astype(np.float32)
S = RNG.integers(-4, 5, (16, 16)).astype(np.float32)


def mapped(f: Callable[..., Any], ins: Any, outs: Any, manual: set[str] | None = None) -> Callable[..., Any]:
    names = {"axis_names": manual} if manual else {}
    return jax.shard_map(f, mesh=MESH, in_specs=ins, out_specs=outs, check_vma=False, **names)


def verify(function: Callable[..., Any], *args: Any, **options: Any) -> dict[str, int]:
    """The same values as under JAX; the collectives of the lowered program."""
    compiled = pcg.compile(function, SIZES, **options)
    got, want = compiled(*args), jax.jit(function)(*args)
    jax.tree.map(np.testing.assert_array_equal, got, want)
    return of_stablehlo_text(compiled.lower(*args).as_text("local")).counts()


def number(*names: str) -> jax.Array:
    return sum((10**i * lax.axis_index(n) for i, n in enumerate(names)), jnp.int32(0)).astype(jnp.float32)


FULL: dict[str, tuple[Callable[[Any], Any], Any, Any, dict[str, int]]] = {
    "psum": (lambda a: lax.psum(a, "y"), P("x", "y"), P("x"), {"all_reduce": 1}),
    "psum of both axes": (lambda a: lax.psum(a, ("x", "y")), P("x", "y"), P(), {"all_reduce": 1}),
    "pmax": (lambda a: lax.pmax(a, "x"), P("x", "y"), P(None, "y"), {"all_reduce": 1}),
    "all_gather": (lambda a: lax.all_gather(a, "y", axis=1, tiled=True), P("x", "y"), P("x"), {"all_gather": 1}),
    "psum_scatter": (
        lambda a: lax.psum_scatter(a, "x", scatter_dimension=1, tiled=True), P("x", "y"), P(None, ("y", "x")),
        {"reduce_scatter": 1},
    ),
    "all_to_all": (lambda a: lax.all_to_all(a, "y", 0, 1, tiled=True), P("x", "y"), P(("x", "y")), {"all_to_all": 1}),
    "ppermute": (
        lambda a: lax.ppermute(a, "y", [(0, 1), (1, 2), (2, 3)]), P("x", "y"), P("x", "y"), {"collective_permute": 1},
    ),
    "axis_index": (lambda a: a + number("x", "y"), P("x", "y"), P("x", "y"), {}),
}


@pytest.mark.parametrize("which", FULL)
def test_collectives_over_the_whole_mesh(which: str) -> None:
    f, ins, outs, found = FULL[which]
    assert verify(mapped(f, ins, outs), A, in_shardings=ins, out_shardings=outs) == found


PARTIAL: dict[str, tuple[Callable[[Any], Any], str, Any, Any]] = {
    "psum": (lambda a: lax.psum(a, "x"), "x", P("x"), P()),
    "axis_index": (lambda a: a + number("x"), "x", P("x"), P("x")),
    "axis_index of the minor axis": (lambda a: a + number("y"), "y", P("y"), P("y")),
    "all_gather": (lambda a: lax.all_gather(a, "y", axis=1, tiled=True) * 2, "y", P(None, "y"), P()),
    "ppermute": (lambda a: lax.ppermute(a, "y", [(i, (i + 1) % 4) for i in range(4)]), "y", P("y"), P("y")),
    "all_to_all": (lambda a: lax.all_to_all(a, "x", 1, 0, tiled=True), "x", P("x"), P(None, "x")),
    "psum_scatter": (lambda a: lax.psum_scatter(a, "y", tiled=True), "y", P(None, "y"), P("y")),
    "constraint on the automatic axis": (
        lambda a: lax.psum(lax.with_sharding_constraint(a * 2, P(None, "y")), "x"), "x", P("x"), P()
    ),
    "loop": (
        lambda a: lax.fori_loop(0, 3, lambda i, c: lax.ppermute(c, "x", [(0, 1), (1, 0)]) + number("x") * i, a), "x",
        P("x"), P("x"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("which", PARTIAL)
def test_axes_left_automatic(which: str) -> None:
    """Devices along them do the same; around it the program is planned over all axes."""
    f, axis, ins, outs = PARTIAL[which]
    inside = mapped(f, ins, outs, {axis})
    verify(inside, A)
    found = verify(lambda a, b: inside(jnp.abs(a @ b)) * 2, A, S, in_shardings=(P("x", "y"), P(None, "y")))
    assert found


def test_an_automatic_axis_is_reported() -> None:
    from pcg.ir.context import make_context
    from pcg.ir.parse import load_module
    from pcg.passes.sdy_import import SdyImportPass

    text = jax.jit(mapped(lambda a: lax.psum(a, "x"), P("x"), P(), {"x"})).lower(A).as_text()
    with make_context(allow_unregistered=True) as context:
        module = load_module(text, context)
        found = SdyImportPass()
        found.run(module.operation)
    assert [m for _, m in found.remarks] == ["is manual over 'x' and automatic over 'y': 4 devices run it alike"]


def test_manual_inside_of_manual() -> None:
    """The inner one takes its shard along the axis that the outer one left, and gives it back."""
    def outer(a: jax.Array) -> jax.Array:
        inner = jax.shard_map(
            lambda c: lax.psum(c, "y") + number("y"), in_specs=P(None, "y"), out_specs=P(None, "y"), axis_names={"y"},
            check_vma=False,
        )  # fmt: skip
        return lax.psum(inner(a) * 2, "x")

    verify(mapped(outer, P("x"), P(), {"x"}), A)


def test_inside_of_a_scan_with_gradients() -> None:
    """A step of a loop whose matmul is written per device."""
    dot = mapped(lambda a, b: lax.psum(a @ b, "y"), (P("x", "y"), P("y")), P("x"))

    def loss(w: jax.Array, a: jax.Array) -> jax.Array:
        def step(c: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            c = jnp.clip(dot(c, w), -2, 2)
            return c, c.sum()

        last, sums = lax.scan(step, a, None, length=3)
        return last.sum() + sums.sum()

    w = RNG.integers(-1, 2, (16, 16)).astype(np.float32)
    found = verify(jax.value_and_grad(loss), w, A)
    assert found["all_reduce"] >= 3


def test_a_loop_inside_beside_another() -> None:
    """Two computations with loops and collectives of their own; their channels do not meet."""
    def ring(a: jax.Array) -> jax.Array:
        def step(c: tuple[jax.Array, jax.Array], _: None) -> tuple[tuple[jax.Array, jax.Array], None]:
            block, total = c
            return (lax.ppermute(block, "y", [(i, (i + 1) % 4) for i in range(4)]), total + block * number("y")), None

        return lax.scan(step, (a, jnp.zeros_like(a)), None, length=4)[0][1]

    f = mapped(ring, P("x", "y"), P("x", "y"))
    found = verify(lambda a: f(f(a) + 1).sum(0), A)
    assert found["collective_permute"] == 8


def test_a_function_of_jax_inside() -> None:
    """Functions that JAX outlines (sort, cumsum, where) are called from the body."""
    f = mapped(lambda a: jnp.where(a > 0, jnp.sort(a, axis=1), lax.psum(jnp.cumsum(a, 1), "x")), P("x"), P("x"), {"x"})
    verify(f, A)


def test_export_to_shardy() -> None:
    """What is exported makes the same under Shardy, with the axes that were left automatic manual, too."""
    f = mapped(lambda a: lax.psum(jnp.sort(a, axis=1), "x") + number("x"), P("x"), P("x"), {"x"})
    compiled = pcg.compile(f, SIZES)
    text = compiled.lower(A).as_text("sdy")
    assert 'manual_axes = #sdy<manual_axes{"x", "y"}>' in text
    function = jax_compat.plain_function(text, [jax.ShapeDtypeStruct(A.shape, A.dtype)])
    (got,) = jax.tree.leaves(function(jax.device_put(A, NamedSharding(MESH, P()))))
    np.testing.assert_array_equal(got, jax.jit(f)(A))
