"""Decoders that scan over their layers, trained as pipelines: as by jax.jit, with stacked arrays outside."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from pcg.driver.compile_pipeline import compile_pipeline
from pcg.frontend import jax_program
from pcg.layout import Mesh
from pcg.pipeline.named import named
from pcg.runtime.layer_stack import AXIS
from pcg.runtime.pipeline import PipelineExecutable
from support.scanned import Decoder
from support.training import assert_trees_close


def _pipeline(decoder: Decoder, groups: int, devices: int, form: str, chunks: int, schedule: str) -> PipelineExecutable:
    args = decoder.arguments()
    program = jax_program.trace(decoder.step, args, {})
    meshes = [Mesh.of({"x": devices}, range(g * devices, (g + 1) * devices)) for g in range(groups)]
    pipelined = compile_pipeline(program, meshes, 2, form, chunks)
    return PipelineExecutable(pipelined, jax.devices(), named(pipelined.problem(), schedule))


@pytest.mark.parametrize(
    ("decoder", "groups", "devices", "form", "schedule"),
    [
        (Decoder(), 2, 1, "linear", "1f1b"),
        pytest.param(Decoder(dropout=True, checkpoint=True), 4, 2, "linear", "1f1b", marks=pytest.mark.slow),
        pytest.param(Decoder(dropout=True), 2, 2, "v", "zb-v", marks=pytest.mark.exhaustive),
        pytest.param(Decoder(layers=3, checkpoint=True), 2, 1, "linear", "1f1b", marks=pytest.mark.exhaustive),
    ],
)
def test_training(decoder: Decoder, groups: int, devices: int, form: str, schedule: str) -> None:
    """Three steps; each takes the arrays that the one before returned."""
    executable = _pipeline(decoder, groups, devices, form, 2 if form == "v" else 1, schedule)
    assert len(executable.stacked_arguments.stacks) == len(executable.stacked_results.stacks) == 18
    step, (state, *batch) = jax.jit(decoder.step), decoder.arguments()
    mine = state
    losses = []
    for _ in range(3):
        mine, value, norm = executable(mine, *batch)
        state, *want = step(state, *batch)
        assert_trees_close([mine, value, norm], [state, *want], rtol=1e-4)
        losses.append(float(value))
    assert losses[2] < losses[1] < losses[0]
    array = mine[0]["layers"]["up"]
    if decoder.layers % groups == 0:
        # Nothing of the size of a layer's weights goes to another group: the scale of gradients goes as a number.
        values = executable.program.values
        assert all(values[a].shape in ((), (16, 8)) for a, _ in executable.program.transfers if not values[a].varying)
        assert array.sharding.spec[0] == AXIS
        assert {s.data.shape[0] for s in array.addressable_shards} == {decoder.layers // groups}
        assert len(array.sharding.device_set) == groups * devices
    else:
        assert len(array.sharding.device_set) == devices


def test_messages() -> None:
    """A thread per group gives the same arrays."""
    decoder = Decoder(layers=2)
    executable, args = _pipeline(decoder, 2, 1, "linear", 1, "1f1b"), decoder.arguments()
    got, _ = executable.run_by_messages(*args)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(executable(*args)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_results_made_of_numbers() -> None:
    """Tensors that the update makes of numbers alone, and nobody but the caller reads."""
    decoder = Decoder(layers=2)
    args = decoder.arguments()

    def step(state, *batch):
        new, value, norm = decoder.step(state, *batch)
        return new, value, jax.numpy.full((4,), norm) + jax.numpy.full((4,), value)

    program = jax_program.trace(step, args, {})
    pipelined = compile_pipeline(program, [Mesh.of({"x": 1}, [g]) for g in range(2)], 2)
    executable = PipelineExecutable(pipelined, jax.devices(), named(pipelined.problem(), "1f1b"))
    assert_trees_close(executable(*args)[1:], jax.jit(step)(*args)[1:], rtol=1e-5)
