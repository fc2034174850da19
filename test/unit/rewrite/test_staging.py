"""The stages of a pipeline: which ops they have, and that programs divided into them compute the same."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pcg
from pcg.driver.module_program import entry_function
from pcg.ir.errors import PcgError
from pcg.ir.stages import stage_mesh, stage_number
from pcg.passes.pipeline import Pipeline
from pcg.pipeline.partition import partition
from pcg.rewrite.staging import assign
from pcg.rewrite.staging.fragments import phase_of
from pcg.rewrite.staging.outline import fragments_of
from support.close import assert_close
from support.staged import inline, prepared, run

LAYERS = 4


def layer(p: Any, h: Any, skip: Any) -> Any:
    return h + jnp.tanh(h @ p["up"] + p["bias"]) @ p["down"] + 0.1 * skip


def loss(params: Any, x: Any, y: Any) -> Any:
    h = first = params["table"][x]
    for p in params["layers"]:
        h = layer(p, h, first)
    logits = h @ params["table"].T
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], -1))


def step(state: Any, x: Any, y: Any) -> Any:
    """Momentum, clipped by the global norm, with a step count; also returns the norm."""
    params, velocity, count = state
    value, grads = jax.value_and_grad(loss)(params, x, y)
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, 0.5 / norm), grads)
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    params = jax.tree.map(lambda p, v: p - 0.1 / (1 + count) * v, params, velocity)
    return (params, velocity, count + 1), (value, norm)


def arguments(batch: int = 8, width: int = 8, vocab: int = 16) -> Any:
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> Any:
        return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

    layers = [
        {"up": draw(width, 2 * width), "down": draw(2 * width, width), "bias": np.zeros(2 * width, np.float32)}
        for _ in range(LAYERS)
    ]
    params = {"table": draw(vocab, width), "layers": layers}
    state = params, jax.tree.map(np.zeros_like, params), np.float32(0)
    return state, rng.integers(0, vocab, batch), rng.integers(0, vocab, batch)


def outlined(stages: int, microbatches: int, placement: str = "", groups: int = 0) -> tuple[Any, Any, Any]:
    args = arguments()
    program, module = prepared(step, args, groups or stages)
    form = f"{{placement={placement}}}" if placement else ""
    Pipeline(
        f"pcg-microbatch{{microbatches={microbatches}}},pcg-assign-stages{{stages={stages}}},pcg-split-backward,"
        f"pcg-outline-stages{form}"
    ).run(module)
    return program, module, args


def check_equal(program: Any, module: Any, args: Any) -> None:
    for got, want in zip(run(program, module, args), jax.tree.leaves(jax.jit(step)(*args)), strict=True):
        assert_close(got, want, 1e-5)


@pytest.mark.parametrize(
    ("stages", "microbatches", "placement", "groups"),
    [(4, 4, "", 4), (4, 2, "v", 2), (6, 2, "interleaved", 3), (1, 2, "", 1), (9, 8, "", 9)],
)
def test_fragments_compute_the_step(stages: int, microbatches: int, placement: str, groups: int) -> None:
    program, module, args = outlined(stages, microbatches, placement, groups)
    inline(module)
    check_equal(program, module, args)


def test_microbatches_without_stages_compute_the_step() -> None:
    program, module = prepared(step, args := arguments())
    Pipeline("pcg-microbatch{microbatches=4}").run(module)
    check_equal(program, module, args)


def test_a_layer_is_on_one_stage_with_its_gradients_and_its_update() -> None:
    _, module = prepared(step, arguments())
    Pipeline("pcg-microbatch{microbatches=2},pcg-assign-stages{stages=4}").run(module)
    func = entry_function(module)
    block = func.regions[0].blocks[0]
    results = list(block.operations[-1].operands)
    for i in range(12 + 1):  # the layers and the table come first
        argument = block.arguments[i]
        update = results[i].owner.operation
        readers = {stage_number(use.owner.operation) for use in argument.uses} - {stage_number(update)}
        if i < 12:
            assert readers <= {stage_number(update)}, i
    contractions = [op.operation for op in block.operations if op.operation.name == "stablehlo.dot_general"]
    stages = [stage_number(op) for op in contractions]
    turn = stages.index(3)
    assert stages[:turn] == sorted(stages[:turn])  # forward
    assert [s for s in stages[stages.index(3) + 4 :] if s is not None] == sorted(stages[stages.index(3) + 4 :])[::-1]


def test_times_of_positions_are_the_same_to_the_bit_in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages that take equally long but for rounding are chosen by it."""
    found = []

    def spy(seconds: Any, crossing: Any, stages: int) -> tuple[int, ...]:
        found.append((seconds, crossing))
        return partition(seconds, crossing, stages)

    monkeypatch.setattr(assign, "partition", spy)
    for _ in range(6):
        _, module = prepared(step, arguments())
        Pipeline("pcg-microbatch{microbatches=2},pcg-assign-stages{stages=4}").run(module)
    assert len(found) == 6 and all(f == found[0] for f in found)


def test_each_fragment_is_on_the_mesh_of_its_group() -> None:
    _, module, _ = outlined(4, 2, "v", 2)
    fragments = fragments_of(entry_function(module))
    placed = {stage_number(f): stage_mesh(f) for f in fragments if phase_of(f) == "forward"}
    assert placed == {0: "group0", 1: "group1", 2: "group1", 3: "group0"}
    assert {phase_of(f) for f in fragments} >= {"forward", "backward", "weight", "update"}


def test_a_stage_ends_at_a_boundary() -> None:
    def marked(params: Any, x: Any) -> Any:
        h = jnp.tanh(x @ params["a"])
        h = pcg.stage_boundary(h)
        h = jnp.tanh(h @ params["b"])
        h = jnp.tanh(h @ params["c"])
        return jnp.mean(h**2)

    def train(params: Any, x: Any) -> Any:
        value, grads = jax.value_and_grad(marked)(params, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

    rng = np.random.default_rng(0)
    params = {n: rng.standard_normal((4, 4)).astype(np.float32) for n in "abc"}
    args = params, rng.standard_normal((8, 4)).astype(np.float32)
    program, module = prepared(train, args, 2)
    Pipeline(
        "pcg-microbatch{microbatches=2},pcg-assign-stages{stages=2},pcg-split-backward,pcg-outline-stages"
    ).run(module)
    first, second = (f for f in fragments_of(entry_function(module)) if phase_of(f) == "forward")
    count = [
        sum(o.operation.name == "stablehlo.dot_general" for o in f.regions[0].blocks[0].operations)
        for f in (first, second)
    ]
    assert count == [1, 2]
    inline(module)
    for got, want in zip(run(program, module, args), jax.tree.leaves(jax.jit(train)(*args)), strict=True):
        assert_close(got, want, 1e-5)


def test_without_a_loss_nothing_is_divided() -> None:
    def plain(params: Any, x: Any) -> Any:
        grads = jax.tree.map(lambda p: x.T @ (x @ p), params)
        return jax.tree.map(lambda p, g: p - g, params, grads)

    rng = np.random.default_rng(0)
    params = [rng.standard_normal((4, 4)).astype(np.float32) for _ in range(2)]
    _, module = prepared(plain, (params, rng.standard_normal((8, 4)).astype(np.float32)), 2)
    with pytest.raises(PcgError, match="return the loss of the step"):
        Pipeline("pcg-microbatch{microbatches=2},pcg-assign-stages{stages=2}").run(module)


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_random_networks_are_divided_and_compute_the_same(data: Any) -> None:
    """Chains with skip connections, shared weights and biases, cut anywhere."""
    count = data.draw(st.integers(2, 5))
    widths = [4] * (count + 1)
    shared = [data.draw(st.integers(0, i)) for i in range(count)]
    skips = [data.draw(st.none() | st.integers(0, i)) for i in range(count)]
    stages = data.draw(st.integers(1, count))
    microbatches = data.draw(st.sampled_from([2, 3, 6]))

    def forward(params: Any, x: Any) -> Any:
        values = [x]
        for i in range(count):
            h = jnp.tanh(values[-1] @ params[shared[i]]["w"] + params[i]["b"])
            values.append(h if skips[i] is None else h + values[skips[i]])
        return jnp.mean(values[-1] ** 2)

    def train(params: Any, x: Any) -> Any:
        value, grads = jax.value_and_grad(forward)(params, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

    rng = np.random.default_rng(count)
    params = [
        {"w": rng.standard_normal((a, b)).astype(np.float32), "b": rng.standard_normal(b).astype(np.float32)}
        for a, b in zip(widths, widths[1:], strict=False)
    ]
    args = params, rng.standard_normal((6, 4)).astype(np.float32)
    program, module = prepared(train, args, stages)
    Pipeline(
        f"pcg-microbatch{{microbatches={microbatches}}},pcg-assign-stages{{stages={stages}}},pcg-split-backward,"
        "pcg-outline-stages"
    ).run(module)
    inline(module)
    for got, want in zip(run(program, module, args), jax.tree.leaves(jax.jit(train)(*args)), strict=True):
        assert_close(got, want, 1e-5)
