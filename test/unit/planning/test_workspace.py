"""A program on several meshes is read once: its graph on each is as if it had been read there."""

from __future__ import annotations

import dataclasses
import importlib

import jax
import numpy as np
import pytest

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine
from pcg.passes.pipeline import Pipeline
from pcg.planning.workspace import Workspace
from pcg.rewrite.refine_mesh import RefineMesh
from pcg.search.build import Builder
from pcg.search.built import Built
from pcg.search.roles import state_of
from pcg.search.table import Tables

#: A constant that is read as partial sums, a branch, a barrier, a loop and annotated layouts.
ANNOTATED = """
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(%x: tensor<64x256xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>, dist.open = [1]}, %w: tensor<256x256xf32>, %i: tensor<i32>)
    -> (tensor<64x256xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>}, tensor<256x256xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %bias = stablehlo.constant dense<1.0> : tensor<64x256xf32>
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
  %a = stablehlo.add %d, %bias : tensor<64x256xf32>
  %c = "dist.constraint"(%a) {spec = #dist.shard_spec<@mesh, [["x"], ["y"]], {}>} : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %b:2 = stablehlo.optimization_barrier %c, %w : tensor<64x256xf32>, tensor<256x256xf32>
  %r:2 = stablehlo.while(%k = %zero, %h = %b#0) : tensor<i32>, tensor<64x256xf32>
    cond {
      %limit = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %k, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %n = stablehlo.add %k, %one : tensor<i32>
      %m = stablehlo.dot_general %h, %b#1, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
      stablehlo.return %n, %m : tensor<i32>, tensor<64x256xf32>
    }
  %s = "stablehlo.case"(%i) ({
      %t = stablehlo.tanh %r#1 : tensor<64x256xf32>
      stablehlo.return %t : tensor<64x256xf32>
    }, {
      stablehlo.return %r#1 : tensor<64x256xf32>
    }) : (tensor<i32>) -> tensor<64x256xf32>
  return %s, %b#1 : tensor<64x256xf32>, tensor<256x256xf32>
}
"""
MACHINE = Machine.of(Cluster.preset("summit", nodes=2).take(8))


def workspace(text: str) -> Workspace:
    module = load_module(text, make_context(), "step")
    Pipeline("prepare").run(module)
    return Workspace(module.operation)


def equal(a: object, b: object) -> bool:
    """Whether two parts of a graph are the same, to the last bit."""
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(v, b[k]) for k, v in a.items())
    if dataclasses.is_dataclass(a) and type(a).__eq__ is not object.__eq__:
        return all(equal(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    return a == b


def check(found: Built, anew: Built) -> None:
    for f in dataclasses.fields(Built):
        if f.name != "values":
            assert equal(getattr(found, f.name), getattr(anew, f.name)), f.name


def on_several(work: Workspace, meshes: list[dict[str, int]]) -> Built:
    for axes in meshes:
        on = work.on(Mesh.of(axes), RefineMesh(reshapes=True, max_axes=2))
        model = CostModel(MACHINE, on.mesh)
        with on.module.context:
            found = on.graph(model)
            check(found, Builder(model, Tables.on(on.mesh)).build(on.func, state_of(on.func)))
    return found


@pytest.mark.parametrize("model", ["rnn", "moe", "bert", "resnext"])
def test_examples(model: str) -> None:
    step, args = importlib.import_module(f"examples.{model}").shapes("small")
    text = jax.jit(step, donate_argnums=(0, 1)).lower(*args).as_text()
    on_several(workspace(text), [{"d0": 8}, {"d0": 2, "d1": 4}, {"d0": 4, "d1": 2}])


def test_annotated() -> None:
    """On other devices, as where a mapping is chosen."""
    work = workspace(ANNOTATED)
    assert shardings.mesh_of(work.module) is not None
    found = on_several(work, [{"x": 2, "y": 4}])
    assert found.masked and found.constraints and found.barriers and len(found.carries) == 2
    assert len(found.graph.nodes[found.arguments[0]].table) > 1
