"""`pcg.compile` on eight CPU devices: results, placement, structure, errors."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import pcg
from pcg.runtime import jax_compat
from pcg.runtime.call_tree import SignatureError
from support.close import assert_close

MESH = {"data": 2, "model": 4}
RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


PARAMS = {"w1": normal(16, 32), "w2": normal(32, 16), "none": None}
X = normal(8, 16)
#: A layout that makes every kind of value appear: data-split input, column-row split weights.
SHARDINGS = ({"w1": P(None, "model"), "w2": P("model")}, P("data"))


def mlp(params, x):
    h = jnp.maximum(x @ params["w1"], 0)
    return {"y": h @ params["w2"], "none": None}, h.sum()


def same(a, b, tolerance=1e-5):
    assert jax.tree.structure(a) == jax.tree.structure(b)
    jax.tree.map(lambda p, q: assert_close(p, q, tolerance), a, b)


@pytest.fixture(scope="module")
def compiled():
    return pcg.compile(mlp, MESH, in_shardings=SHARDINGS, strategy="dataflow")


def test_results_and_placement(compiled):
    out = compiled(PARAMS, X)
    same(out, jax.jit(mlp)(PARAMS, X), 1e-4)
    assert compiled.input_shardings[0]["w1"].spec == P(None, "model")
    assert out[0]["y"].sharding == compiled.output_shardings[0]["y"]
    assert len(out[0]["y"].sharding.device_set) == 8


@pytest.mark.parametrize(
    "place",
    [
        np.asarray,
        jnp.asarray,
        lambda a: jax.device_put(a, jax.devices()[3]),
        lambda a: jax.device_put(a, NamedSharding(jax.make_mesh((8,), ("z",)), P(None, "z"))),
    ],
    ids=["numpy", "uncommitted", "another device", "another mesh"],
)
def test_arrays_however_they_are_placed(compiled, place):
    same(compiled(jax.tree.map(place, PARAMS), place(X)), jax.jit(mlp)(PARAMS, X), 1e-4)


def test_the_second_call_takes_the_fast_path(compiled, monkeypatch):
    placed = jax.device_put((PARAMS, X), compiled.lower(PARAMS, X).input_shardings)
    compiled(*placed)
    monkeypatch.setattr(compiled, "_bind", lambda *a: pytest.fail("took the slow path"))
    compiled(*placed)


@pytest.mark.parametrize("place", [np.asarray, jnp.asarray], ids=["numpy", "uncommitted"])
def test_xla_compiles_the_step_of_a_training_loop_once(place, caplog):
    def sgd_step(w, x):
        return w - 0.1 * jax.grad(lambda w: jnp.sum((x @ w) ** 2))(w), jnp.sum(w)

    step = pcg.compile(sgd_step, MESH, in_shardings=(P(None, "model"), P("data")), strategy="dataflow")
    w, x = place(normal(16, 8)), place(normal(8, 16))
    with jax.log_compiles(), caplog.at_level("WARNING"):
        for _ in range(3):
            w, _ = step(w, x)  # the weights come back on the mesh, the batch from the host each time
    assert caplog.text.count("Finished XLA compilation of jit(sgd_step)") == 1


@pytest.mark.parametrize("first", ["lower", "__call__"])
def test_a_compiled_program_can_be_part_of_a_larger_one(first):
    inner = pcg.compile(mlp, MESH, in_shardings=SHARDINGS, strategy="dataflow")
    with pytest.raises(pcg.ProgramError, match=r"mlp is compiled inside of another jax transformation; call \.lower"):
        jax.jit(inner)(PARAMS, X)
    getattr(inner, first)(PARAMS, X)
    got = jax.jit(lambda p, x: inner(p, 2 * x)[1] + 1)(PARAMS, X)
    same(got, jax.jit(mlp)(PARAMS, 2 * X)[1] + 1, 1e-4)


def test_other_shapes_compile_again_and_both_stay(compiled):
    small = compiled.lower(PARAMS, X)
    same(compiled(PARAMS, normal(4, 16) * 0), jax.jit(mlp)(PARAMS, np.zeros((4, 16), np.float32)))
    assert compiled.lower(PARAMS, X) is small
    same(compiled(PARAMS, X), jax.jit(mlp)(PARAMS, X), 1e-4)


def test_donation():
    step = pcg.compile(
        lambda p, x: (p + x.sum(), x.sum()), MESH, donate_argnums=0, in_shardings=(P("data"), None),
        out_shardings=(P("data"), None),
    )  # fmt: skip
    p = step(normal(8, 8), X)[0]
    q = step(p, X)[0]
    assert p.is_deleted() and not q.is_deleted()


def test_static_keyword_and_default_arguments():
    def f(x, power, *, scale, shift=1.0):
        return x**power * scale + shift

    g = pcg.compile(f, MESH, static_argnums=1)
    same(g(X, 2, scale=3), X**2 * 3 + 1, 1e-4)
    same(g(X, 3, scale=3.0, shift=2), X**3 * 3 + 2, 1e-4)
    same(g(x=X, power=2, scale=3), X**2 * 3 + 1, 1e-4)


def test_scalars_keys_and_no_arguments():
    def f(key, n):
        a, b = jax.random.split(key)
        return b, jax.random.normal(a, (8, 4)) * n

    key = jax.random.key(7)
    new, x = pcg.compile(f, MESH)(key, 3)
    expected = jax.jit(f)(key, 3)
    same(x, expected[1], 1e-6)
    assert new.dtype == key.dtype
    np.testing.assert_array_equal(jax.random.key_data(new), jax.random.key_data(expected[0]))
    same(pcg.compile(lambda: jnp.arange(4.0), MESH)(), jnp.arange(4.0))


def test_constraints_in_the_program_need_no_mesh_context():
    def f(x):
        return jax.lax.with_sharding_constraint(jnp.tanh(x), P(None, "model")) * 2

    compiled = pcg.compile(f, MESH, strategy="dataflow")
    same(compiled(X), np.tanh(X) * 2, 1e-5)
    assert compiled.output_shardings.spec == P(None, "model")


def test_fixed_results():
    compiled = pcg.compile(lambda x: jnp.tanh(x), MESH, out_shardings=P("model", "data"))
    same(compiled(X), np.tanh(X), 1e-5)
    assert compiled.output_shardings.spec == P("model", "data")


def test_a_module_is_called_with_a_flat_list(tmp_path):
    text = jax.jit(mlp).lower(PARAMS, X).as_text()
    path = tmp_path / "mlp.mlir"
    path.write_text(text)
    for program in (text, path, str(path), text.encode()):
        compiled = pcg.compile(program, MESH)
        y, total = compiled(PARAMS["w1"], PARAMS["w2"], X)
        same((y, total), (mlp(PARAMS, X)[0]["y"], mlp(PARAMS, X)[1]), 1e-4)


def test_a_module_of_64_bit_values():
    with jax.enable_x64(True):
        text = jax.jit(lambda x: x * 2).lower(np.ones((8, 2))).as_text()
    out = pcg.compile(text, MESH)(np.full((8, 2), 1 + 1e-12))
    assert out.dtype == np.float64 and float(np.asarray(out)[0, 0]) == 2 * (1 + 1e-12)


def test_stages(compiled):
    compiled(PARAMS, X)
    assert "stablehlo.dot_general" in compiled.as_text("stablehlo")
    assert "pcg.reduce" in compiled.as_text("pcg")
    assert "dist.all_reduce" in compiled.as_text("collectives")
    assert "stablehlo.all_reduce" in compiled.as_text("local") and "dist." not in compiled.as_text("local")
    assert "sdy.sharding" in compiled.as_text("sdy")
    with pytest.raises(ValueError, match="unknown stage 'hlo'; stages are stablehlo, plan"):
        compiled.as_text("hlo")


def test_the_exported_plan_is_carried_out_by_xla(compiled):
    """The `sdy` stage is a program that jaxlib parses, partitions as the plan says, and runs."""
    fixed = compiled.lower(PARAMS, X)
    results = tuple(jax.ShapeDtypeStruct(r.shape, r.dtype) for r in fixed.program.results)
    program = jax_compat.LocalProgram(fixed.as_text("sdy"), results)
    flat_in, flat_out = jax.tree.leaves(fixed.input_shardings), jax.tree.leaves(fixed.output_shardings)
    f = jax.jit(lambda *a: jax_compat.inline_call(program, *a), in_shardings=tuple(flat_in), out_shardings=flat_out)
    args = jax.tree.leaves((PARAMS, X))
    same(f(*args), jax.tree.leaves(jax.jit(mlp)(PARAMS, X)), 1e-4)
    assert "all-reduce" in f.lower(*args).compile().as_text()


def test_the_report(compiled):
    compiled(PARAMS, X)
    text = compiled.explain()
    assert "params['w1']" in text and "all_reduce" in text and "test_compile.py" in text
    assert compiled.cost.communication_bytes > 0


def test_nothing_compiled_yet():
    with pytest.raises(RuntimeError, match=r"mlp has not been compiled yet: call it, or .lower"):
        pcg.compile(mlp, MESH).plan  # noqa: B018


def test_wrong_calls(compiled):
    with pytest.raises(SignatureError, match=r"mlp\(params, x\): missing a required argument: 'x'"):
        compiled(PARAMS)
    with pytest.raises(pcg.ProgramError, match="argument x is 'text' of type str; expected"):
        compiled(PARAMS, "text")
    fixed = compiled.lower(PARAMS, X)
    with pytest.raises(SignatureError, match="argument params lacks the key 'w2'; expected 'none', 'w1', 'w2'"):
        fixed({"w1": X, "none": None}, X)
    with pytest.raises(SignatureError, match=r"argument params\['w1'\] is a list of 1; expected f32\[16,32\]"):
        fixed({**PARAMS, "w1": [X]}, X)
    with pytest.raises(SignatureError, match=r"argument x is float32\[3,16\]; mlp was compiled for f32\[8,16\]"):
        fixed(PARAMS, X[:3])
    module = pcg.compile(jax.jit(mlp).lower(PARAMS, X).as_text(), MESH)
    with pytest.raises(SignatureError, match=r"main takes 3 arguments \(.*f32\[16,32\], .*\), got 1"):
        module(X)


def test_wrong_options():
    with pytest.raises(ValueError, match="strategy 'best'; expected one of 'auto', 'search', 'select', .*, a Plan"):
        pcg.compile(mlp, MESH, strategy="best")
    with pytest.raises(pcg.PcgError, match=r"sharding of argument x \(f32\[8,16\]\): axis 'data' is used twice"):
        pcg.compile(mlp, MESH, in_shardings=(None, "[data, data]")).lower(PARAMS, X)
    with pytest.raises(pcg.PcgError, match=r"argument x \(f32\[6,16\]\): dimension 0 of size 6 is not divisible by 4"):
        pcg.compile(mlp, MESH, in_shardings=(None, P("model"))).lower(PARAMS, X[:6])
    with pytest.raises(ValueError, match="unknown option 'colour'; pcg-search has"):
        pcg.compile(mlp, MESH, colour="red").lower(PARAMS, X)


def test_importing_pcg_does_not_import_jax():
    import subprocess
    import sys

    code = "import pcg, sys; pcg.Mesh, pcg.Plan; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
