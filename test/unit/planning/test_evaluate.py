"""The one way from layouts to a simulated step: the program stays, the backend counts memory."""

from __future__ import annotations

from dataclasses import replace

import pytest
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.layout import Mesh
from pcg.machine import Machine
from pcg.machine.curve import Curve
from pcg.machine.profile import Profile
from pcg.passes.pipeline import Pipeline
from pcg.planning.evaluate import Context, evaluate, lowered, replace_mesh, resharded
from pcg.simulate import simulate

PROGRAM = """
func.func @main(%x: tensor<256x512xf32>, %v: tensor<512x1024xf32>, %w: tensor<1024x512xf32>) -> tensor<256x512xf32> {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0]
    : (tensor<256x512xf32>, tensor<512x1024xf32>) -> tensor<256x1024xf32>
  %1 = stablehlo.tanh %0 : tensor<256x1024xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0]
    : (tensor<256x1024xf32>, tensor<1024x512xf32>) -> tensor<256x512xf32>
  return %2 : tensor<256x512xf32>
}
"""


def placed(mesh: Mesh, plan: str = "megatron") -> ir.Module:
    """The program with the layouts of a baseline."""
    module = load_module(PROGRAM, make_context(), "program.mlir")
    shardings.set_mesh(module, mesh)
    Pipeline(f"pcg-normalize,pcg-baseline{{plan={plan}}},dist-propagate{{engine=dataflow}}").run(module)
    return module


def test_it_is_what_the_pipelines_lower_and_simulate():
    mesh = Mesh.of({"data": 2, "model": 4})
    module, context = placed(mesh), Context(Machine.default())
    before = str(module)
    found = evaluate(module.operation, context)
    assert str(module) == before
    Pipeline("dist-insert-reshards,pcg-recompute,lower").run(module)
    step = simulate(module, CostModel(Machine.default(), mesh))
    assert (found.seconds, found.peak_bytes) == (step.seconds, step.peak_bytes)


def test_seconds_are_those_of_the_backend_where_devices_wait_for_each_other():
    """Nothing overlaps, devices wait at the all-reduce after their work, and what is allocated is new memory."""
    mesh = Mesh.of({"data": 2, "model": 4})
    waits = {n: Curve((1e-9, 1e-3), (1e-3 * n, 2e-3 * n)) for n in (2, 4, 8)}
    profile = Profile("cpu", 8, 0.0, 0.0, 0.0, {}, {}, fresh=Curve((1.0,), (1e-9,)), waits=waits)
    default = Machine.default()
    machine = replace(default, device=replace(default.device, profile=profile))
    module, context = placed(mesh), Context(machine, "cpu")
    assert context.shares_processors and not Context(machine).shares_processors
    assert not Context(default, "cpu").shares_processors
    found = evaluate(module.operation, context)
    step = simulate(lowered(resharded(module.operation, context), context), CostModel(machine, mesh), backend="cpu")
    assert found.peak_bytes == step.peak_bytes
    assert found.seconds == pytest.approx(step.seconds + 1e-9 * sum(step.allocations))
    assert found.seconds > evaluate(module.operation, Context(machine)).seconds + 4e-3


def test_memory_is_that_of_the_backend_and_seconds_are_not():
    module = placed(Mesh.of({"data": 8}), "data")
    accelerator, cpu = (evaluate(module.operation, Context(Machine.default(), b)) for b in ("accelerator", "cpu"))
    assert accelerator.seconds == cpu.seconds
    local = lowered(resharded(module.operation, Context(Machine.default())), Context(Machine.default(), "cpu"))
    model = CostModel(Machine.default(), Mesh.of({"data": 8}))
    assert cpu.peak_bytes == simulate(local, model, backend="cpu").peak_bytes


def test_what_cannot_be_lowered_is_named():
    module = placed(Mesh.of({"data": 2, "model": 4}))
    with module.context:
        tanh = next(o.operation for o in module.body.operations[1].regions[0].blocks[0].operations
                    if o.operation.name == "stablehlo.tanh")  # fmt: skip
        layout = ir.Attribute.parse('#dist.shard_spec<@mesh, [["data"], ["data"]], {}>')
        tanh.attributes["dist.specs"] = ir.ArrayAttr.get([layout])
    with pytest.raises(PcgError, match="axis .data. is used twice in"):
        evaluate(module.operation, Context(Machine.default()))


def test_a_mesh_is_set_by_the_name_that_it_has():
    module = placed(Mesh.of({"data": 8}), "data")
    other = Mesh.of({"data": 8}, range(8, 16))
    replace_mesh(module.operation, other)
    assert shardings.meshes_of(module) == {"mesh": other}
