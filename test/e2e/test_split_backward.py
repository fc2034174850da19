"""Training steps before and after pcg-split-backward: the same numbers, and as large a weight part as there is."""

from __future__ import annotations

import re

import jax
import numpy as np
import pytest
from torch_mlir import ir

from bench.split_backward import MODELS, Sizes, layer, split_step, step_of
from examples import training
from pcg.ir import emit
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.walk import entry_of
from pcg.passes.pcg_split_backward import SplitBackwardPass
from pcg.passes.pipeline import Pipeline
from pcg.rewrite.backward.dataflow import Dataflow
from pcg.rewrite.backward.order import ORDERS
from pcg.rewrite.backward.phases import STAGE, read
from pcg.rewrite.backward.regions import names
from support.onedevice import compiled
from support.rulecheck import context, run
from support.training import assert_trees_close

SIZES = Sizes(width=64, sequence=8, batch=2)


@pytest.mark.parametrize("name", MODELS)
def test_steps_stay_the_same(name: str) -> None:
    """But for roundings: XLA fuses elementwise ops by where they are, and rounds once or twice in a fusion.

    That nothing else differs is seen in the interpreter of StableHLO (below, and in test/unit/rewrite/test_fission.py).
    """
    step, args = step_of(MODELS[name](SIZES))
    want, _, _ = compiled(step, "", args)
    got, _, text = compiled(step, "pcg-split-backward", args)
    assert 'pcg.phase = "weight"' in text
    assert_trees_close(got, want, rtol=1e-5)


@pytest.mark.parametrize("order", ORDERS)
def test_orders(order: str) -> None:
    step, args = step_of(MODELS["perceptron"](SIZES))
    want, _, _ = compiled(step, "", args)
    got, _, _ = compiled(step, f"pcg-split-backward{{order={order}}}", args)
    assert_trees_close(got, want, rtol=1e-5)


def test_weight_share() -> None:
    """24 h / (48 h + 8 s), unrolled or not: W has 24 h of products per token and layer, B 24 h + 8 s."""
    h, s = 128, 16
    expected = 24 * h / (48 * h + 8 * s)
    for name in ("unrolled", "scan"):
        found = split_step(*step_of(MODELS[name](Sizes(width=h, sequence=s))))
        assert found.phases.weight_share() == pytest.approx(expected)
        assert found.phases.weight_share() >= 0.46
        assert found.split.statistics["loops split"] == (name == "scan")


def test_recomputation_is_of_the_backward_part() -> None:
    """With jax.checkpoint recomputed products count for input gradients; those for weights are the same."""
    one, other = (split_step(*step_of(MODELS[name](SIZES))) for name in ("unrolled", "checkpoint"))
    plain, checkpointed = one.phases, other.phases
    assert checkpointed.flops("weight") == plain.flops("weight")
    assert checkpointed.flops("backward") > plain.flops("backward")
    assert checkpointed.flops("forward") == plain.flops("forward")


def in_stages(module: ir.Module) -> None:
    """Give each op the stage that its name says (`stage_1`), else the last one of its operands, constants none."""
    flow = Dataflow(entry_of(module).regions[0].blocks[0])
    stages: list[int] = []
    for node, sources in zip(flow.nodes, flow.reads, strict=True):
        found = [int(m[1]) for name in names(node.op.location) if (m := re.search(r"stage_(\d)", name))]
        stages.append(found[0] if found else max((stages[j] for j in sources), default=0))
    constants = flow.constants()
    with module.context:
        for node, stage in (x for i, x in enumerate(zip(flow.nodes, stages, strict=True)) if i not in constants):
            node.op.attributes[STAGE] = emit.i64(stage)


def test_stages_of_a_transformer() -> None:
    """Each layer is a stage, with the weight share of a layer; what leaves a stage is B, although W reads it, too."""
    h, s = 32, 8
    sizes = Sizes(layers=3, width=h, sequence=s, batch=2)
    _, params, batch = MODELS["unrolled"](sizes)

    def loss(params, batch):
        x, y = batch
        for i, p in enumerate(params):
            with jax.named_scope(f"stage_{i}"):
                x = layer(x, p, sizes.heads)
        return ((x - y) ** 2).mean()

    step, args = step_of((loss, params, batch))
    module = load_module(jax.jit(step).lower(*args).as_text(debug_info=True), make_context(), "step")
    Pipeline("sdy-import,pcg-normalize").run(module)
    in_stages(module)
    SplitBackwardPass().run(module.operation)
    phases = read(entry_of(module))
    assert set(phases.stages) == {0, 1, 2}
    for stage in range(3):
        assert phases.weight_share(stage) == pytest.approx(24 * h / (48 * h + 8 * s))
        between = [
            i for i in phases.nodes("backward", stage) for j in phases.flow.readers[i] if phases.stages[j] != stage
        ]  # fmt: skip
        assert bool(between) == (stage > 0)


def test_clipping_by_the_norm_of_all_gradients() -> None:
    """Every next parameter depends on every gradient then; weight gradients are found by what they are."""
    loss, params, batch = MODELS["perceptron"](SIZES)

    def step(params, batch):
        value, gradients = jax.value_and_grad(loss)(params, batch)
        gradients = training.clip_by_global_norm(gradients, 0.01)
        norm = sum((g**2).sum() for g in jax.tree.leaves(gradients))
        return training.sgd(params, gradients, 0.1), value, norm

    found, plain = split_step(step, (params, batch)), split_step(*step_of((loss, params, batch)))
    assert found.phases.weight_share() == plain.phases.weight_share() > 0.5
    want, _, _ = compiled(step, "", (params, batch))
    got, _, _ = compiled(step, "pcg-split-backward", (params, batch))
    assert_trees_close(got, want, rtol=1e-5)
    assert np.isfinite(got[1])


@pytest.mark.parametrize("name", ["scan", "scan and checkpoint", "recurrent"])
def test_loops_are_the_same_to_the_bit(name: str) -> None:
    """In StableHLO's interpreter, which fuses nothing."""
    step, args = step_of(MODELS[name](Sizes(width=8, heads=2, sequence=3, batch=2)))
    with context():
        module = load_module(jax.jit(step).lower(*args).as_text(), context(), "step")
        Pipeline("sdy-import,pcg-normalize").run(module)
        inputs = [np.asarray(x) for x in jax.tree.leaves(args)]
        want = run(str(module), inputs)
        SplitBackwardPass().run(module.operation)
        for a, b in zip(run(str(module), inputs), want, strict=True):
            np.testing.assert_array_equal(a, b)
