"""What the front ends make of functions and modules."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pcg.driver.compile import load_program
from pcg.driver.program import element_bytes, module_source
from pcg.frontend import Leaf, ProgramError, jax_program

MODULE = """
func.func @main(%a: tensor<4x8xf32> loc("params['w']"), %b: tensor<i64>) -> (tensor<4x8xf32>, tensor<i64>) {
  func.return %a, %b : tensor<4x8xf32>, tensor<i64>
}
"""


def test_names_types_and_donation_of_a_function():
    def step(params, x, *, key, scale=1.0):
        return {"y": x @ params["w"] * scale, "none": None}, key

    args = ({"w": jax.ShapeDtypeStruct((8, 2), jnp.bfloat16), "none": None}, np.ones((4, 8)))
    p = jax_program.trace(step, args, {"key": jax.random.key(0), "scale": 2}, donate_argnums=(0,))
    assert [a.name for a in p.arguments] == ["params['w']", "x", "key", "scale"]
    assert [str(a) for a in p.arguments] == ["bf16[8,2]", "f32[4,8]", "ui32[2]", "i32[]"]
    assert p.arguments[2].key == "threefry2x32" and p.arguments[2].key_rank == 1
    assert [r.name for r in p.results] == ["result[0]['y']", "result[1]"]
    assert p.donated == {0} and p.name == "step"


def test_static_arguments_are_constants_of_the_program():
    p = jax_program.trace(lambda n, x: x * n, (np.ones(3, np.float32),), {}, static={0: 5})
    assert [a.name for a in p.arguments] == ["x"] and "5.0" in str(p.source)


def test_unused_arguments_are_kept():
    p = jax_program.trace(lambda a, b: b, (np.ones(3), np.ones(2)), {})
    assert len(p.arguments) == 2


def test_locations_are_those_of_the_user():
    p = jax_program.trace(lambda a: jnp.tanh(a), (np.ones(3),), {})
    text = str(p.source)
    assert "test_programs.py" in text and "jax_program.py" not in text


def test_an_argument_that_is_no_array():
    with pytest.raises(ProgramError, match=r"argument batch\['x'\] is 'text' of type str; expected a numpy or jax"):
        jax_program.trace(lambda batch: batch, ({"x": "text"},), {})


def test_names_of_module_arguments():
    p = load_program(MODULE)
    assert [str(a) for a in p.arguments] == ["f32[4,8]", "i64[]"]
    assert p.arguments[0].name == "params['w']" or p.arguments[0].name == "arg0"
    assert p.has_64_bit and p.in_tree is None


def test_donated_numbers_out_of_range():
    with pytest.raises(ProgramError, match=r"donate_argnums \[7\] are out of range: the program has 2 arguments"):
        load_program(MODULE, donated=frozenset({7}))


def test_no_entry_function():
    two = MODULE.replace("@main", "@a") + MODULE.replace("@main", "@b")
    with pytest.raises(ProgramError, match="@main or a single public function; the module has @a, @b"):
        load_program(two)


def test_sources(tmp_path: Path):
    path = tmp_path / "m.mlir"
    path.write_text(MODULE)
    assert module_source(path) == (MODULE, str(path)) == module_source(str(path))
    assert module_source(MODULE) == (MODULE, None)
    assert module_source(partial(max, 1)) is None
    with pytest.raises(ProgramError, match="no such file: 'absent.mlir'"):
        module_source("absent.mlir")
    with pytest.raises(ProgramError, match="got 3 of type int"):
        module_source(3)


def test_a_lowered_or_exported_function_is_a_module():
    lowered = jax.jit(jnp.tanh).lower(np.ones(3, np.float32))
    source = module_source(lowered)
    assert source is not None and "stablehlo.tanh" in str(source[0])
    exported = jax.export.export(jax.jit(jnp.tanh))(np.ones(3, np.float32))
    source = module_source(exported)
    assert source is not None and str(load_program(source[0]).arguments[0]) == "f32[3]"


@pytest.mark.parametrize(("element", "size"), [("f32", 4), ("bf16", 2), ("i1", 1), ("i4", 0.5), ("complex<f64>", 16)])
def test_element_bytes(element, size):
    assert element_bytes(element) == size
    assert Leaf("x", (2, 3), element).bytes == 6 * size
