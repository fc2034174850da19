"""jax functions that call Python on the host: on eight devices they do what they do on one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import checkify, io_callback
from jax.sharding import PartitionSpec as P

import pcg
from pcg.driver.plan import Plan
from pcg.driver.program import ProgramError
from pcg.frontend import jax_program
from pcg.ir.errors import PcgError
from pcg.tools import pcg_run

X = np.arange(32, dtype=np.float32).reshape(8, 4) - 3
CALLS: list[Any] = []


def note(name: str) -> Callable[..., None]:
    return lambda *values: CALLS.append((name, *(np.asarray(v).tolist() for v in values)))


def number(value: Any) -> np.float32:
    CALLS.append(float(np.asarray(value).sum()))
    return np.float32(np.asarray(value).sum())


def host(function: Callable[..., Any], x: jax.Array, dtype: Any = None, **how: Any) -> jax.Array:
    return jax.pure_callback(function, jax.ShapeDtypeStruct(x.shape, dtype or x.dtype), x, **how)


def pure(x):
    return host(np.sin, x * 2) + 1


def printed(x):
    jax.debug.print("sum {}", x.sum())
    jax.debug.callback(note("debug"), x, x[0])
    return x * 2


def ordered(x):
    for i in range(4):
        jax.debug.callback(note(f"number {i}"), x[i], ordered=True)
    return x * 2


def ordered_in_scan(x):
    scalar = jax.ShapeDtypeStruct((), jnp.float32)

    def body(total, row):
        got = io_callback(number, scalar, row, ordered=True)
        return lax.cond(got > 0, lambda t: t + io_callback(number, scalar, t, ordered=True), lambda t: t, total), got

    return lax.scan(body, io_callback(number, scalar, x, ordered=True), x)


def in_while_and_cond(x):
    def body(carry):
        i, y = carry
        lax.cond(i % 2 == 0, lambda: jax.debug.callback(note("even"), i), lambda: jax.debug.callback(note("odd"), y))
        return i + 1, y * 2

    return lax.while_loop(lambda carry: carry[0] < 4, body, (0, x))


def in_gradient(x):
    def loss(x):
        jax.debug.callback(note("loss"), x[0])
        return (x * x).sum()

    return jax.grad(jax.checkpoint(loss))(x)


def mapped(x):
    def row(r):
        jax.debug.callback(note("row"), r)
        return host(np.cos, r, vmap_method="sequential")

    return jax.vmap(row)(x)


def no_result(x):
    jax.debug.callback(note("only"), x)


def of_all_types(x):
    zeros = io_callback(lambda v: -0.0 * np.asarray(v), jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    rotated = host(lambda v: np.asarray(v).astype(np.complex64) * 1j, x, jnp.complex64)
    flags = host(lambda v: np.asarray(v) > 0, x, bool)
    narrow = host(lambda v: v, x.astype(jnp.bfloat16))
    empty = host(lambda v: v, x[:0])
    return 1 / zeros, rotated, flags, narrow, host(lambda v: v, x.astype(jnp.int8)), host(lambda v: v, x / 0), empty


PROGRAMS = [
    pure, printed, ordered, ordered_in_scan, in_while_and_cond, in_gradient, mapped, no_result, of_all_types,
]  # fmt: skip


def run(function: Callable[..., Any], *args: Any) -> tuple[Any, list[Any]]:
    CALLS.clear()
    out = jax.block_until_ready(function(*args))
    jax.effects_barrier()
    return out, list(CALLS)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_as_on_one_device(program: Callable[..., Any], capfd: pytest.CaptureFixture[str]) -> None:
    want, calls = run(jax.jit(program), X)
    said = capfd.readouterr().out
    compiled = pcg.compile(program, {"a": 2, "b": 2}, in_shardings=(P("a", "b"),), strategy="dataflow")
    for _ in range(2):
        got, made = run(compiled, X)
        assert made == calls if program in (ordered, ordered_in_scan) else sorted(map(str, made)) == sorted(
            map(str, calls)
        )
        assert capfd.readouterr().out == said
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_order_holds_between_programs() -> None:
    """What an ordered program does comes after what another did before, though neither waits for results."""
    first = pcg.compile(ordered, {"a": 4}, in_shardings=(P("a"),), strategy="dataflow")
    second = pcg.compile(lambda x: (jax.debug.callback(note("second"), x[0], ordered=True), x)[1], {"a": 2})
    CALLS.clear()
    for _ in range(3):
        first(X)
        second(X)
    assert [c[0] for c in CALLS] == [*(f"number {i}" for i in range(4)), "second"] * 3


def test_search_plan_and_reports(tmp_path: Any) -> None:
    compiled = pcg.compile(printed, {"a": 4})
    want, calls = run(jax.jit(printed), X)
    got, made = run(compiled, X)
    assert made == calls
    np.testing.assert_array_equal(got, want)
    assert compiled.cost.peak_bytes > 0
    assert "custom_call" in compiled.as_text() and compiled.explain()
    compiled.plan.save(tmp_path / "plan.json")
    again, made = run(pcg.compile(printed, {"a": 4}, strategy=Plan.load(tmp_path / "plan.json")), X)
    assert made == calls
    np.testing.assert_array_equal(again, want)


def test_by_each_device_inside_of_shard_map() -> None:
    mesh = jax.make_mesh((4,), ("a",), axis_types=(jax.sharding.AxisType.Auto,))

    def program(x):
        def local(x):
            jax.debug.callback(note("part"), x)
            return host(np.sin, x)

        return jax.shard_map(local, mesh=mesh, in_specs=P("a"), out_specs=P("a"), check_vma=False)(x)

    got, made = run(pcg.compile(program, mesh), X)
    assert sorted(c[1] for c in made) == [X[i : i + 2].tolist() for i in range(0, 8, 2)]
    np.testing.assert_array_equal(got, np.sin(X))


def test_checkify() -> None:
    def program(x):
        checkify.check(jnp.all(x < 28), "too large: {}", x.max())
        return x + 1

    error, out = pcg.compile(checkify.checkify(program), {"a": 4})(X)
    assert "too large: 28" in error.get()
    np.testing.assert_array_equal(out, X + 1)


def test_refused_with_the_line_of_the_user() -> None:
    def stops(x):
        jax.debug.breakpoint()
        return x

    def looks(x):
        jax.debug.visualize_array_sharding(x)
        return x

    for program, what in ((stops, "jax.debug.breakpoint"), (looks, "jax.debug.inspect_array_sharding")):
        with pytest.raises(ProgramError, match=rf"test_host_calls.py:\d+:\d+ .*{what}"):
            pcg.compile(program, {"a": 4})(X)


def test_ordered_programs_are_not_part_of_others() -> None:
    compiled = pcg.compile(ordered, {"a": 4})
    compiled.lower(X)
    with pytest.raises(ProgramError, match="fixed order"):
        jax.jit(lambda x: compiled(x) + 1)(X)
    counted = pcg.compile(printed, {"a": 4})
    counted.lower(X)
    got, made = run(jax.jit(lambda x: counted(x) + 1), X)
    assert [c[0] for c in made] == ["debug"]
    np.testing.assert_array_equal(got, X * 2 + 1)


@pytest.mark.parametrize("program", [pure, ordered], ids=lambda p: p.__name__)
def test_a_file_cannot_call(program: Callable[..., Any], tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Not even where the number or address in it leads somewhere."""
    source = jax_program.trace(program, (X,), {}).source
    file = tmp_path / "calls.mlir"
    file.write_text(source)
    with pytest.raises(PcgError, match=r"test_host_calls.py:\d+:\d+: custom call @xla_ffi_python_cpu_callback"):
        pcg.compile(file, {"a": 2})
    assert pcg_run.main([str(file), "--mesh", "a=2", "--check"]) == 2
    assert "compile the jax function itself" in capsys.readouterr().err
    old = source.replace("xla_ffi_python_cpu_callback", "xla_python_cpu_callback")
    with pytest.raises(PcgError, match="xla_python_cpu_callback"):
        pcg.compile(old, {"a": 2})


@pytest.mark.parametrize("op", [
    '%0:2 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<f32>, !stablehlo.token)',
    '%0 = "stablehlo.outfeed"(%x, %t) : (tensor<f32>, !stablehlo.token) -> !stablehlo.token',
])  # fmt: skip
def test_a_file_without_a_host_program(op: str) -> None:
    text = f"""func.func @main(%x: tensor<f32>) -> tensor<f32> {{
      %t = stablehlo.create_token : !stablehlo.token
      {op}
      return %x : tensor<f32>
    }}"""
    with pytest.raises(PcgError, match="talks to a host program"):
        pcg.compile(text, {"a": 2})


def test_values_are_whole_whatever_their_layout() -> None:
    """Also where the operand is in uneven parts, or a sum that is still spread over devices."""

    def program(x, w):
        jax.debug.callback(note("product"), x @ w)
        return jnp.concatenate([x, x[:3]]) * 2, host(lambda v: v, jnp.concatenate([x, x[:3]]).sum(1))

    w = np.eye(4, dtype=np.float32)
    compiled = pcg.compile(program, {"a": 4}, in_shardings=(P(None, "a"), P("a")), strategy="dataflow")
    want, calls = run(jax.jit(program), X, w)
    got, made = run(compiled, X, w)
    assert made == calls
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("devices", [1, 4])
def test_the_fault_of_a_callback_is_told(devices: int) -> None:
    """By the call, and the next one works: no device waits for one that stopped."""

    def moody(v):
        if np.asarray(v)[0] > 0:
            raise ValueError("the host says no")
        return np.asarray(v)

    compiled = pcg.compile(lambda x: host(moody, x) * 2, {"a": devices})
    x = np.ones(8, np.float32)
    for _ in range(2):
        with pytest.raises(jax.errors.JaxRuntimeError, match="the host says no"):
            jax.block_until_ready(compiled(x))
        np.testing.assert_array_equal(compiled(-x), -2 * x)
