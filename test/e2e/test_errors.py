"""Bad input: one line, at the right place, that names the thing, its value and what is allowed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import pcg
from examples import unity_mlp
from support import toolserver

pytestmark = pytest.mark.usefixtures("tools")
MESH = {"data": 2, "model": 4}
X = jax.ShapeDtypeStruct((8, 16), jnp.float32)
GOOD = """module {
  func.func @main(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {
    %0 = stablehlo.tanh %arg0 : tensor<8x16xf32>
    return %0 : tensor<8x16xf32>
  }
}
"""


def double(x: jax.Array) -> jax.Array:
    return x * 2.0


def fails(run: Any, *words: str) -> None:
    """`run()` raises with a one-line message that has all `words`."""
    with pytest.raises(Exception) as raised:
        run()
    text = str(raised.value)
    assert not isinstance(raised.value, AssertionError | AttributeError | KeyError | IndexError), repr(raised.value)
    assert "\n" not in text.strip(), text
    for word in words:
        assert word in text, f"{word!r} is not in: {text}"


def opt_fails(source: str, flags: tuple[str, ...], place: str, *words: str, program: str = "") -> None:
    """pcg-opt exits with an error whose first line has the place and all words, and no traceback.

    `program`: the installed one; by default that of the server of tools.
    """
    command = [program] if program else toolserver.client("pcg.tools.pcg_opt")
    done = subprocess.run([*command, *flags, "-"], input=source, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr, done.stderr
    # A search that takes long, as on a busy machine, says how far it is.
    first = next(line for line in done.stderr.splitlines() if not line.startswith("pcg-search: "))
    assert place in first, done.stderr
    for word in words:
        assert word in first, f"{word!r} is not in: {first}"


AUTO = ("--auto-parallel", "--mesh", "data=2,model=4")


def test_not_mlir() -> None:
    installed = str(Path(sys.executable).with_name("pcg-opt"))
    opt_fails("this is not a program\n", AUTO, ":1:1", "error:", program=installed)
    fails(lambda: pcg.compile("this is not a program", MESH), "1:1")


def test_unknown_op() -> None:
    unknown = '"stablehlo.tahn"(%arg0) : (tensor<8x16xf32>) -> tensor<8x16xf32>'
    text = GOOD.replace("stablehlo.tanh %arg0 : tensor<8x16xf32>", unknown)
    opt_fails(text, AUTO, ":3:", "stablehlo.tahn")
    fails(lambda: pcg.compile(text, MESH), "stablehlo.tahn", "3:")


def test_mesh_larger_than_the_machine() -> None:
    fails(lambda: pcg.compile(double, {"data": 64, "model": 4}), "256", str(jax.device_count()))


def test_malformed_mesh() -> None:
    opt_fails(GOOD, ("--auto-parallel", "--mesh", "data"), "", "data", "name=size")
    opt_fails(GOOD, ("--auto-parallel", "--mesh", "data=2,data=4"), "", "two axes", "'data'")


def test_no_mesh() -> None:
    opt_fails(GOOD, ("--auto-parallel",), "", "mesh")


def test_unknown_axis() -> None:
    fails(lambda: pcg.compile(double, MESH, in_shardings=(P("tensor"),)).lower(X), "'tensor'", "data")


def test_axis_used_twice() -> None:
    fails(lambda: pcg.compile(double, MESH, in_shardings=("[data, data]",)).lower(X), "'data'", "twice")


def test_axis_used_twice_in_the_program() -> None:
    spec = '{dist.spec = #dist.shard_spec<@mesh, [["data"], ["data"]], {}>}'
    text = GOOD.replace("tensor<8x16xf32>) ->", f"tensor<8x16xf32> {spec}) ->")
    opt_fails(text, ("--mesh", "data=2,model=4", "--dist-verify"), "", "data", "twice")


def test_indivisible_forced_sharding() -> None:
    odd = jax.ShapeDtypeStruct((6, 16), jnp.float32)
    fails(lambda: pcg.compile(double, MESH, in_shardings=(P("model"),)).lower(odd), "x", "6", "4", "divisible")


def test_memory_limit_too_small() -> None:
    fails(lambda: pcg.compile(double, MESH, memory_limit=16).lower(X), "no plan fits", "16 B", "needs")
    opt_fails(GOOD, (*AUTO, "--memory-limit", "16"), "", "no plan fits", "needs")


def test_dynamic_shapes() -> None:
    text = GOOD.replace("8x16", "?x16")
    opt_fails(text, AUTO, ":2:", "?x16", "static shapes")
    fails(lambda: pcg.compile(text, MESH), "2:", "?x16", "static shapes")


def test_wrong_argument_structure() -> None:
    step, (params, state, batch) = unity_mlp.make()
    compiled = pcg.compile(step, MESH).lower(params, state, batch)
    fails(lambda: compiled(params, state), "2 arguments", "3")
    fails(lambda: compiled({"first": params["first"]}, state, batch), "'second'")
    wrong = {**params, "first": np.zeros((784, 511), np.float32)}
    fails(lambda: compiled(wrong, state, batch), "first", "784,511", "784,512")
    half = {**params, "first": params["first"].astype(np.float16)}
    fails(lambda: compiled(half, state, batch), "first", "float16", "f32")


def test_not_an_array() -> None:
    fails(lambda: pcg.compile(double, MESH)("a string"), "argument x", "'a string'")


def test_plan_of_another_program() -> None:
    plan = pcg.compile(double, MESH).lower(X).plan
    fails(lambda: pcg.compile(lambda x: x + 1.0, MESH, strategy=plan).lower(X), "plan", "double")
    fails(lambda: pcg.compile(double, {"data": 8}, strategy=plan).lower(X), "plan", "data=2,model=4", "data=8")


def test_not_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("{}")
    fails(lambda: pcg.Plan.load(path), "plan")
