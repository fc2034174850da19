"""Parts of mesh axes, from end to end: what Shardy writes, what users write, and what reshapes need."""

from __future__ import annotations

import io
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from torch_mlir import ir

import pcg
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.ir.walk import walk
from pcg.passes.pcg_emulate import EmulatePass
from pcg.passes.pipeline import Pipeline
from support.close import assert_close
from support.lowercheck import collectives
from support.rulecheck import context, run

RNG = np.random.default_rng(0)
A, W = (RNG.normal(size=s).astype(np.float32) for s in ((16, 32), (32, 64)))
PLACE = {"propagate": "auto-propagate,lower", "auto": "auto-parallel,lower"}


def f(a, w):
    return jnp.einsum("abk,kn->abn", jnp.tanh(a.reshape(2, 8, 32)), w)


def shardy(text: str) -> str:
    """`text` after Shardy's own propagation, which writes sub-axes."""
    from jax._src.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir as jax_ir
    from jaxlib.mlir import passmanager

    with make_ir_context():
        module = jax_ir.Module.parse(text)
        passmanager.PassManager.parse("builtin.module(sdy-propagation-pipeline)").run(module.operation)
        return str(module)


def bytecode(text: str) -> bytes:
    """A module as jaxlib serialises it."""
    from jax._src.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir as jax_ir

    out = io.BytesIO()
    with make_ir_context():
        jax_ir.Module.parse(text).operation.write_bytecode(out)
    return out.getvalue()


def emulated(source: str | bytes, strategy: str) -> tuple[ir.Module, ir.Module]:
    """The per-device module of a program, and the one-device program that does what all devices do."""
    local = load_module(source, make_context(), "<test>")
    Pipeline(PLACE[strategy]).run(local)
    with local.context:
        whole = ir.Module.parse(str(local))
        EmulatePass(check_replicas=True).run(whole.operation)
    return local, whole


def agree(annotated: str | bytes, plain: str, values: list[np.ndarray], strategy: str) -> ir.Module:
    """Run a program and its emulation; returns the per-device module."""
    local, whole = emulated(annotated, strategy)
    with context():
        *got, replicas_agree = run(str(whole), values)
        wanted = run(plain, values)
    for g, w in zip(got, wanted, strict=True):
        assert_close(g, w, 1e-5)
    assert bool(replicas_agree)
    return local


# -- what Shardy writes ----------------------------------------------------------------------------

BODY = """
  %0 = stablehlo.tanh %a : tensor<16x32xf32>
  %1 = stablehlo.reshape %0 : (tensor<16x32xf32>) -> tensor<2x8x32xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [2] x [0] : (tensor<2x8x32xf32>, tensor<32x64xf32>) -> tensor<2x8x64xf32>
  return %2 : tensor<2x8x64xf32>
}
"""
PLAIN = f"func.func @main(%a: tensor<16x32xf32>, %w: tensor<32x64xf32>) -> tensor<2x8x64xf32> {{{BODY}"
ANNOTATED = f"""
sdy.mesh @mesh = <["x"=8, "y"=2]>
func.func @main(%a: tensor<16x32xf32>, %w: tensor<32x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{"y"}}]>}})
    -> (tensor<2x8x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x":(1)2}}, {{"x":(2)4}}, {{?}}]>}}) {{{BODY}"""


@pytest.mark.parametrize("strategy", ["propagate", "auto"])
@pytest.mark.parametrize("form", [str, bytecode])
def test_what_shardy_propagates(strategy, form):
    given = shardy(ANNOTATED)
    assert given.count('"x":(1)2}, {"x":(2)4}') == 3 and '<@mesh, [{"x"}, {}]>' in given  # up through the reshape
    local = agree(form(given), PLAIN, [A, W], strategy)
    assert not collectives(local)


def chain(seed: int) -> tuple[str, str, tuple[int, ...]]:
    """Reshapes of one tensor among shapes of 48 elements, an op after each; with Shardy's input, and without."""
    rng = random.Random(seed)
    shapes = [(48,), (2, 24), (6, 8), (12, 4), (4, 12), (2, 4, 6), (3, 16), (24, 2), (2, 6, 4), (8, 6)]
    path = [rng.choice(shapes) for _ in range(4)]
    types = ["tensor<" + "x".join(map(str, s)) + "xf32>" for s in path]
    lines, value = [], "%a"
    for i, (old, new) in enumerate(zip(types, types[1:], strict=False)):
        lines.append(f"%{2 * i} = stablehlo.reshape {value} : ({old}) -> {new}")
        value = f"%{2 * i + 1}"
        lines.append(f"{value} = stablehlo.{rng.choice(['tanh', 'negate', 'sine'])} %{2 * i} : {new}")
    body = "\n".join([*lines, f"return {value} : {types[-1]}", "}"])
    axes = rng.choice([["x"], ["x", "y"], ["y", "x"], ["y"]])
    fits = [d for d, n in enumerate(path[0]) if n % (4 ** ("x" in axes) * 2 ** ("y" in axes)) == 0]
    where = rng.choice(fits) if fits else -1
    dims = ", ".join("{" + ", ".join(f'"{a}"' for a in axes) + "}" if d == where else "{}" for d in range(len(path[0])))
    mesh = 'sdy.mesh @mesh = <["x"=4, "y"=2]>\n'
    given = f"func.func @main(%a: {types[0]} {{sdy.sharding = #sdy.sharding<@mesh, [{dims}]>}}) -> {types[-1]} {{\n"
    return mesh + given + body, f"func.func @main(%a: {types[0]}) -> {types[-1]} {{\n" + body, path[0]


def test_chains_of_reshapes_as_shardy_propagates_them():
    sub = 0
    for seed in range(30):
        annotated, plain, shape = chain(seed)
        given = shardy(annotated)
        if '"x":(' not in given:
            continue
        sub += 1
        agree(given, plain, [RNG.normal(size=shape).astype(np.float32)], "propagate")
    assert sub >= 8


def test_a_module_with_sub_axes_runs():
    text = shardy(ANNOTATED.replace('"x"=8, "y"=2', '"x"=8, "y"=1'))
    step = pcg.compile(text, {"x": 8, "y": 1}, strategy="propagate")
    assert_close(step(A, W), f(A, W), 1e-4)
    assert 'sdy.mesh<["x"=8, "y"=1]>' in step.as_text("sdy")
    assert '{"x":(1)2}, {"x":(2)4}' in step.as_text("sdy")
    assert load_module(step.as_text("sdy"), make_context()).operation.verify()


# -- what users write ------------------------------------------------------------------------------


def test_layouts_of_arguments_and_results():
    step = pcg.compile(
        f, {"x": 8}, strategy="propagate", in_shardings=(P("x"), P(None, "x:(4)2")),
        out_shardings="[x:(1)2, x:(2)2, x:(4)2]",
    )  # fmt: skip
    out = step(A, W)
    assert_close(out, f(A, W), 1e-4)
    # The user's mesh where it can say the layout, the refined one where it cannot.
    a, w = step.input_shardings
    assert (dict(a.mesh.shape), a.spec) == ({"x": 8}, P("x"))
    assert (dict(w.mesh.shape), w.spec) == ({"x.0": 2, "x.1": 2, "x.2": 2}, P(None, "x.2"))
    assert out.sharding.spec == P("x.0", "x.1", "x.2") and out.addressable_shards[3].data.shape == (1, 4, 32)
    assert "[x:(1)2, x:(2)2, x:(4)2]" in step.explain() and "x.0" not in step.explain()
    # What came out goes into another program as it is.
    again = pcg.compile(lambda z: z * 2, {"x": 8}, strategy="propagate", in_shardings=(out.sharding,))
    assert_close(again(out), 2 * out, 1e-6)
    assert not again.cost.collectives and again.output_shardings.is_equivalent_to(out.sharding, 3)


def test_requests_inside_a_function():
    def g(a, w):
        a = jax.lax.with_sharding_constraint(a, P("x"))
        y = pcg.shard(jnp.tanh(a.reshape(2, 8, 32)), "[x:(1)2, -, x:(4)2]")
        return pcg.shard(jnp.einsum("abk,kn->abn", y, w), ("x:(1)2", "x:(2)2"))

    step = pcg.compile(g, {"x": 8}, strategy="propagate")
    assert_close(step(A, W), f(A, W), 1e-4)
    assert [str(r.spec) for r in step.plan.results] == ["[x.0, x.1, -]"]
    asked = [d.results for d in step.plan.operations if d.op == "dist.constraint"]
    assert [str(r[0]) for r in asked if r] == ["[x.0+x.1+x.2, -]", "[x.0, -, x.2]", "[x.0, x.1, -]"]
    assert all(set(c.axes) <= {"x:(4)2", "x:(2)2", "x:(2)4"} for c in step.cost.collectives)


@pytest.mark.parametrize("given,error", [
    ("[x:(1)4, x:(2)4]", r"x:\(1\)4 and x:\(2\)4 overlap"),
    ("[x:(1)3, -]", r"x:\(1\)3 is not a part of axis 'x' of size 8: 1 \* 3 does not divide 8"),
])  # fmt: skip
def test_errors(given, error):
    with pytest.raises(PcgError, match="sharding of argument a.*" + error):
        pcg.compile(f, {"x": 8}, in_shardings=(given, None)).lower(A, W)
    with pytest.raises(pcg.ProgramError, match=r"test_subaxes.py:\d+.*pcg.shard: " + error):
        pcg.compile(lambda a: pcg.shard(a, given) * 2, {"x": 8}).lower(A)


# -- what reshapes need ----------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["propagate", "auto"])
def test_a_reshape_that_cuts_a_dimension_inside_an_axis(strategy):
    fixed = {"strategy": strategy, "in_shardings": (P("x"), None)}
    step = pcg.compile(f, {"x": 8}, **fixed)
    assert_close(step(A, W), f(A, W), 1e-4)
    assert not step.cost.collectives
    compiled = step.executable.compiled.as_text()
    assert not any(kind in compiled for kind in ("all-gather", "all-to-all", "all-reduce", "collective-permute"))
    if strategy == "propagate":
        whole = pcg.compile(f, {"x": 8}, refine=False, **fixed)
        assert_close(whole(A, W), f(A, W), 1e-4)
        assert [c.kind for c in whole.cost.collectives] == ["all_gather"] and not whole.plan.mesh.is_refined


def test_a_third_axis_is_for_those_who_ask():
    """Every further axis makes the search many times longer."""
    fixed = {"strategy": "propagate", "in_shardings": (P("x"), P(None, "y"))}
    for wanted, refined in ((None, False), (True, True), (False, False)):
        step = pcg.compile(f, {"x": 4, "y": 2}, refine=wanted, **fixed)
        assert_close(step(A, W), f(A, W), 1e-4)
        assert step.plan.mesh.is_refined == refined
        note = "axis not split (x at 2): mesh x.0=2,x.1=2,y=2 has more than max-axes=2"
        assert (note in step.explain()) == (wanted is None)


def test_whole_axes_stay_on_the_users_mesh():
    """A refinement that the boundary does not show is not shown."""
    step = pcg.compile(
        lambda a: jnp.tanh(a.reshape(2, 8, 32)).reshape(16, 32) * 2, {"x": 8}, strategy="propagate",
        in_shardings=(P("x"),),
    )  # fmt: skip
    out = step(A)
    assert_close(out, 2 * np.tanh(A), 1e-5)
    assert step.plan.mesh.is_refined and not step.cost.collectives
    assert isinstance(out.sharding, NamedSharding) and dict(out.sharding.mesh.shape) == {"x": 8}
    assert out.sharding.spec == P("x")


def test_a_plan_with_sub_axes_is_saved_and_taken_again(tmp_path):
    step = pcg.compile(f, {"x": 8}, strategy="propagate", in_shardings=(P("x"), None))
    step.lower(A, W)
    step.plan.save(tmp_path / "plan.json")
    text = (tmp_path / "plan.json").read_text()
    assert '"refined": {"x": [2, 4]}' in text and '"[x:(1)2, x:(2)4, -]"' in text and "x.0" not in text
    assert pcg.Plan.from_json(text) == step.plan
    for mesh in ({"x": 8}, step.plan.mesh):
        again = pcg.compile(f, mesh, strategy=tmp_path / "plan.json")
        assert_close(again(A, W), f(A, W), 1e-4)
        assert again.as_text("local") == step.as_text("local")


def test_a_mesh_that_is_refined_already():
    mesh = pcg.Mesh.of({"x": 8}).refined({"x": (2, 4)})
    step = pcg.compile(f, mesh, strategy="propagate", in_shardings=("[x.0, x.1]", None))
    assert_close(step(A, W), f(A, W), 1e-4)
    assert step.plan.mesh == mesh
    local, _ = emulated(str(step.executable.compilation.modules["stablehlo"]), "propagate")
    assert any(op.name == "stablehlo.dot_general" for op in walk(local.operation))
