"""The best place of a mesh: as simulating every place apart finds it."""

from __future__ import annotations

import jax
import pytest

import pcg
from bench.zoo import ZOO
from pcg.cost import COMBINED, CostModel
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.layout import Mesh
from pcg.machine import Machine, mapping
from pcg.passes.pcg_baseline import BaselinePass
from pcg.passes.pipeline import Pipeline
from pcg.simulate import simulate, simulate_mappings
from pcg.simulate.combine_all_reduces import combine_all_reduces
from pcg.simulate.device_mappings import lower_bound, with_collective_costs
from pcg.simulate.run import read

CLUSTER = "preset:summit:nodes=2,sockets=2,gpus=2"
#: Straight code with many all-reduces, and layers in a loop with gathers in it.
PROGRAMS = {"mlp": "megatron", "llama3_8b": "megatron-zero3"}


@pytest.fixture(scope="module", params=PROGRAMS)
def lowered(request: pytest.FixtureRequest):
    """A lowered step of experts, and the cost models of the places of its mesh."""
    cluster = pcg.Cluster.parse(CLUSTER)
    mesh = Mesh.of({"data": 2, "model": 4})
    step, args = ZOO[request.param].make_tiny()
    module = load_module(jax.jit(step).lower(*args).as_text(), make_context(), request.param)
    Pipeline("prepare").run(module)
    shardings.set_mesh(module, mesh)
    rest = "dist-propagate{engine=dataflow},dist-insert-reshards,dist-fuse-collectives,pcg-lower-spmd"
    pipeline = Pipeline([BaselinePass(PROGRAMS[request.param]), rest])
    for p in pipeline.python_passes:
        if hasattr(p, "machine"):
            p.machine = Machine.of(cluster)
    pipeline.run(module)
    models = [CostModel(Machine.of(cluster), p.mesh) for p in mapping.device_mappings(cluster, mesh)]
    return module, models


def test_the_fastest_is_the_least_of_all_places(lowered) -> None:
    module, models = lowered
    apart = [simulate(module, m) for m in models]
    times = [s.seconds for s in apart]
    assert len(times) > 2 and max(times) > 1.05 * min(times)
    for order in (list(range(len(models))), list(reversed(range(len(models))))):
        steps = simulate_mappings(module, [models[i] for i in order])
        n = min(steps, key=lambda i: steps[i].seconds)
        assert times[order[n]] == min(times)
        assert 0 in steps
        for i, step in steps.items():
            assert step == apart[order[i]]
            assert step.run.start == apart[order[i]].run.start


def test_no_step_takes_less_than_the_bound(lowered) -> None:
    module, models = lowered
    program, _ = read(module, models[0])
    for model in models:
        there = with_collective_costs(program, model)
        combine_all_reduces(there, COMBINED, model)
        bound, found = lower_bound(there), simulate(module, model)
        assert 0 < bound <= found.seconds * (1 + 1e-9)
        assert bound >= 0.99 * max(found.compute, found.communication)
