"""Phases of training steps: what they are, what crosses between them, and what is taken apart for them."""

from __future__ import annotations

import numpy as np
import pytest
from torch_mlir import ir

from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.ir.walk import entry_of
from pcg.passes.pcg_split_backward import SplitBackwardPass
from pcg.passes.pipeline import Pipeline
from pcg.rewrite.backward.barriers import split_barriers, split_fused_gradients
from pcg.rewrite.backward.dataflow import Dataflow
from pcg.rewrite.backward.phases import BACKWARD, FORWARD, PHASE, STAGE, UPDATE, WEIGHT, Phases, split
from support.rulecheck import context, run

T = "tensor<4x4xf32>"
RESULTS = f"({T} {{pcg.state = 0 : i64}}, {T} {{pcg.state = 1 : i64}}, tensor<f32>)"


def dot(name: str, a: str, b: str, i: int, j: int, attrs: str = "") -> str:
    """A product of two 4x4 tensors over dimension i of one and j of the other."""
    return f"%{name} = stablehlo.dot_general %{a}, %{b}, contracting_dims = [{i}] x [{j}] {attrs}: ({T}, {T}) -> {T}"


def function(
    body: str, returned: str = "%n1, %n2, %loss", results: str = RESULTS, types: str = f"{T}, {T}, tensor<f32>"
) -> str:
    return f"""
func.func @main(%w1: {T}, %w2: {T}, %x: {T}) -> {results} {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
{body}
  return {returned} : {types}
}}"""


#: y = tanh(x w1) w2, loss sum(y y) / 2; two steps of gradient descent.
FORWARD_OPS = f"""
{dot("a", "x", "w1", 1, 0)}
  %h = stablehlo.tanh %a : {T}
{dot("y", "h", "w2", 1, 0)}
  %q = stablehlo.multiply %y, %y : {T}
  %loss = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1] : ({T}, tensor<f32>) -> tensor<f32>
"""
BACKWARD_OPS = f"""
{dot("dw2", "h", "y", 0, 0)}
{dot("dh", "y", "w2", 1, 1)}
  %hh = stablehlo.multiply %h, %h : {T}
  %e = stablehlo.subtract %dh, %hh : {T}
{dot("dw1", "x", "e", 0, 0)}
"""
UPDATE_OPS = f"""
  %n1 = stablehlo.subtract %w1, %dw1 : {T}
  %n2 = stablehlo.subtract %w2, %dw2 : {T}
"""
STEP = function(FORWARD_OPS + BACKWARD_OPS + UPDATE_OPS)


def phases_of(text: str) -> tuple[ir.Module, Phases]:
    module = load_module(text, context(), "step")
    return module, split(entry_of(module))


def names(text: str) -> list[str]:
    """What the results of ops are called in the text."""
    return [line.split("=")[0].strip(" %") for line in text.splitlines() if " = " in line and "func" not in line]


def named(text: str, phases: Phases) -> dict[str, str]:
    """Phase of each result by the name that it has in the text."""
    return dict(zip(names(text), phases.of, strict=True))


def test_phases_of_a_step() -> None:
    with context():
        module, phases = phases_of(STEP)
        found = named(STEP, phases)
        assert [n for n, p in found.items() if p == FORWARD] == ["zero", "a", "h", "y", "q", "loss"]
        assert [n for n, p in found.items() if p == BACKWARD] == ["dh", "hh", "e"]
        assert [n for n, p in found.items() if p == WEIGHT] == ["dw2", "dw1", "n1", "n2"]
        assert phases.weight_share() == pytest.approx(2 / 3)
        assert phases.residual_bytes(BACKWARD) == 64  # e
        assert phases.residual_bytes(FORWARD) == 128  # h and y
        assert module.operation.verify()


def test_a_step_without_a_loss_goes_by_names() -> None:
    """Without a result for the loss the names that JAX leaves say what is backward; without names there is an error."""
    results, types = f"({T} {{pcg.state = 0 : i64}}, {T} {{pcg.state = 1 : i64}})", f"{T}, {T}"
    plain = FORWARD_OPS + BACKWARD_OPS + UPDATE_OPS
    loc = ' loc("jit(step)/transpose(jvp(f))/dot"(unknown))'
    marked = FORWARD_OPS + "\n".join(x + loc if " = " in x else x for x in BACKWARD_OPS.splitlines()) + UPDATE_OPS
    with context():
        _, want = phases_of(STEP)
        _, phases = phases_of(function(marked, "%n1, %n2", results, types))
        # What only the loss needs is of no use then, and belongs to no forward part.
        text = function(marked, "%n1, %n2", results, types)
        found, want = named(text, phases), named(STEP, want)
        unused = {"zero", "q", "loss"}  # what only the loss needs: nothing depends on it here
        assert {n: p for n, p in found.items() if n not in unused} == {n: p for n, p in want.items() if n not in unused}
        with pytest.raises(PcgError, match="no result is a loss, and no op has the name stack"):
            phases_of(function(plain, "%n1, %n2", results, types))


def test_a_norm_of_gradients_is_no_loss() -> None:
    norm = f"""
  %g = stablehlo.multiply %dw1, %dw1 : {T}
  %norm = stablehlo.reduce(%g init: %zero) applies stablehlo.add across dimensions = [0, 1] : ({T}, tensor<f32>) -> tensor<f32>
"""
    results, types = RESULTS.replace("tensor<f32>)", "tensor<f32>, tensor<f32>)"), f"{T}, {T}, tensor<f32>, tensor<f32>"
    text = function(FORWARD_OPS + BACKWARD_OPS + norm + UPDATE_OPS, "%n1, %n2, %norm, %loss", results, types)
    with context():
        _, phases = phases_of(text)
        found = named(text, phases)
        assert found["norm"] == found["dw2"] == WEIGHT and found["dh"] == BACKWARD and found["a"] == FORWARD


def test_accumulation_ends_what_runs_per_microbatch() -> None:
    """Operands of pcg.batch are gradients or losses; what depends on the results, or on nothing, is the update."""
    batch = "".join(
        f'  %b{n} = "pcg.batch"(%{n}) {{microbatches = 2 : i64, kind = "sum"}} : ({t}) -> {t}\n'
        for n, t in (("dw1", T), ("dw2", T), ("loss", "tensor<f32>"))
    )
    update = UPDATE_OPS.replace("%dw", "%bdw").replace("subtract %w1", "subtract %r")
    rate = f"  %r = stablehlo.multiply %w1, %w1 : {T}\n"
    text = function(FORWARD_OPS + BACKWARD_OPS + batch + rate + update, "%n1, %n2, %bloss")
    with context():
        _, phases = phases_of(text)
        found = named(text, phases)
        assert {n for n, p in found.items() if p == UPDATE} == {"bdw1", "bdw2", "bloss", "r", "n1", "n2"}
        assert {n for n, p in found.items() if p == WEIGHT} == {"dw1", "dw2"}
        assert {n for n, p in found.items() if p == BACKWARD} == {"dh", "hh", "e"}


def staged(text: str, stages: dict[str, int]) -> ir.Module:
    """The program with a stage on each op that has a name in `stages`."""
    module = load_module(text, context(), "step")
    for node, name in zip(Dataflow(entry_of(module).regions[0].blocks[0]).nodes, names(text), strict=True):
        if name in stages:
            node.op.attributes[STAGE] = ir.Attribute.parse(f"{stages[name]} : i64")
    return module


STAGES = {"a": 0, "h": 0, "y": 1, "q": 1, "loss": 1, "dw2": 1, "dh": 1, "hh": 0, "e": 0, "dw1": 0, "n1": 0, "n2": 1}


def test_what_leaves_a_stage_is_its_root() -> None:
    with context():
        module = staged(STEP, STAGES)
        phases = split(entry_of(module))
        found = named(STEP, phases)
        assert found["dh"] == BACKWARD and found["dw2"] == found["n2"] == WEIGHT
        assert found["e"] == BACKWARD and found["dw1"] == WEIGHT
        assert phases.weight_share(1) == pytest.approx(1 / 2) and phases.weight_share(0) == 1.0
        assert phases.residual_bytes(FORWARD, 1) == 128
        module = staged(STEP, {k: s for k, s in STAGES.items() if k != "q"})
        with pytest.raises(PcgError, match="'stablehlo.multiply' has no pcg.stage, and other ops have"):
            split(entry_of(module))


def test_a_weight_of_two_stages_has_a_gradient_in_each() -> None:
    """The second stage's term of a shared weight's gradient is added in the first one; it is no input gradient."""
    update = f"""
  %t = stablehlo.add %dw1, %dw2 : {T}
  %n1 = stablehlo.subtract %w1, %t : {T}
  %n2 = stablehlo.subtract %w2, %w2 : {T}
"""
    text = function((FORWARD_OPS + BACKWARD_OPS).replace("%w2", "%w1") + update)
    with context():
        module = staged(text, STAGES | {"t": 0})
        found = named(text, split(entry_of(module)))
        assert found["dw2"] == found["dw1"] == found["t"] == WEIGHT and found["dh"] == BACKWARD


def test_a_barrier_over_inputs_and_weights_is_split() -> None:
    barrier = f"  %b:2 = stablehlo.optimization_barrier %dh, %dw2 : {T}, {T}\n"
    text = STEP.replace("  %hh = ", barrier + "  %hh = ").replace("%dh, %hh", "%b#0, %hh").replace("%w2, %dw2", "%w2, %b#1")
    with context():
        module = load_module(text, context(), "step")
        want = run(str(module), inputs := data())
        with pytest.raises(PcgError, match="is in phases"):
            split(entry_of(module))
        assert split_barriers(entry_of(module)) == 1
        phases = split(entry_of(module))
        barriers = [i for i, node in enumerate(phases.flow.nodes) if "barrier" in node.op.name]
        assert [phases.of[i] for i in barriers] == [BACKWARD, WEIGHT]
        assert split_barriers(entry_of(module)) == 0
        for a, b in zip(run(str(module), inputs), want, strict=True):
            np.testing.assert_array_equal(a, b)


def data() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((4, 4)).astype(np.float32) for _ in range(3)]


def test_a_fused_gradient_becomes_two_products() -> None:
    fused = f"  %f:2 = stablehlo.custom_call @pcg.matmul_grad(%h, %w2, %y) : ({T}, {T}, {T}) -> ({T}, {T})\n"
    separate = dot("dw2", "h", "y", 0, 0) + "\n" + dot("dh", "y", "w2", 1, 1)
    text = STEP.replace(separate, fused).replace("%dh", "%f#0").replace("%dw2", "%f#1")
    assert fused in text
    with context():
        module, want = load_module(text, context(), "step"), phases_of(STEP)
        assert split_fused_gradients(entry_of(module)) == 1
        assert split(entry_of(module)).weight_share() == want[1].weight_share()
        for a, b in zip(run(str(module), data()), run(STEP, data()), strict=True):
            np.testing.assert_array_equal(a, b)
        other = text.replace("(%h, %w2, %y)", "(%h, %w2)").replace(f"({T}, {T}, {T}) ->", f"({T}, {T}) ->")
        module = load_module(other, context(), "step")
        with pytest.raises(PcgError, match=r"@pcg.matmul_grad has types .*; allowed: x: \[..., k\]"):
            split_fused_gradients(entry_of(module))


def test_sums_for_biases_are_where_their_operand_is() -> None:
    """A scale's gradient reduces what nothing else for weights needs: it is computed with the input gradients."""
    more = f"""
  %r = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : ({T}, tensor<f32>) -> tensor<4xf32>
  %wide = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<4xf32>) -> {T}
{dot("s", "e", "w1", 1, 1)}
"""
    text = STEP.replace(dot("dw1", "x", "e", 0, 0), more + dot("dw1", "x", "s", 0, 0)).replace("%w2, %dw2", "%wide, %dw2")
    bias = STEP.replace(dot("dw1", "x", "e", 0, 0), more + dot("dw1", "x", "e", 0, 0)).replace("%w2, %dw2", "%wide, %dw2")
    with context():
        _, phases = phases_of(text)
        assert named(text, phases)["r"] == BACKWARD
        _, phases = phases_of(bias)
        assert named(bias, phases)["r"] == WEIGHT  # as e is kept for dw1 in any case


def test_cheap_ops_are_copied_instead_of_kept() -> None:
    """What w1's gradient reads of h is converted by itself from half as many bytes."""
    half = "tensor<4x4xbf16>"
    text = STEP.replace(
        dot("dw2", "h", "y", 0, 0),
        f"  %c = stablehlo.convert %h : ({T}) -> {half}\n  %d = stablehlo.convert %c : ({half}) -> {T}\n"
        f"  %dd = stablehlo.multiply %d, %d : {T}\n" + dot("dw2", "d", "y", 0, 0),
    ).replace("%h, %h", "%d, %dd")
    with context():
        module = load_module(text, context(), "step")
        want = run_all(module)
        before = split(entry_of(module)).residual_bytes(BACKWARD)
        found = SplitBackwardPass()
        found.run(module.operation)
        assert found.statistics["ops copied to weight gradients"] >= 1
        after = split(entry_of(module)).residual_bytes(BACKWARD)
        assert after < before
        for a, b in zip(run_all(module), want, strict=True):
            np.testing.assert_array_equal(a, b)


def run_all(module: ir.Module) -> list[np.ndarray]:
    return run(str(module), data())


def test_order_puts_weights_behind_the_next_product() -> None:
    with context():
        for order, expected in (
            ("overlap", [BACKWARD, WEIGHT, WEIGHT, BACKWARD]), ("last", [BACKWARD, BACKWARD, BACKWARD, WEIGHT]),
        ):  # fmt: skip
            module = load_module(STEP, context(), "step")
            SplitBackwardPass(order=order).run(module.operation)
            flow = Dataflow(entry_of(module).regions[0].blocks[0])
            ops = [str(node.op.attributes[PHASE]).strip('"') for node in flow.nodes]
            start = ops.index(BACKWARD)
            assert ops[start : start + 4] == expected


def test_placed_programs_are_refused() -> None:
    placed = STEP.replace("%h = stablehlo.tanh %a :", "%h = stablehlo.tanh %a {dist.specs = []} :")
    with context():
        module = ir.Module.parse(placed)
        with pytest.raises(PcgError, match="the program has layouts already"):
            SplitBackwardPass().run(module.operation)


def test_a_loop_of_loss_and_gradients_is_not_split() -> None:
    """What pcg-accumulate makes: the pass says that it comes too late."""
    with context():
        module = load_module(STEP, context(), "step")
        Pipeline("pcg-accumulate{microbatches=2}").run(module)
        found = SplitBackwardPass()
        found.run(module.operation)
        assert any("a loop that computes gradients beside the loss is not split" in text for _, text in found.remarks)


def test_effects_of_weights_keep_their_order() -> None:
    """Nothing depends on what is written to a log; the second line is ready first."""
    log = '  stablehlo.custom_call @{}(%{}) {{has_side_effect = true}} : ({}) -> ()\n'
    body = FORWARD_OPS + BACKWARD_OPS + log.format("first", "dw1", T) + log.format("second", "dw2", T) + UPDATE_OPS
    with context():
        module = load_module(function(body), context(), "step")
        SplitBackwardPass().run(module.operation)
        text = str(module)
        assert text.index("@first") < text.index("@second")
        logs = [op for op in split(entry_of(module)).ops(WEIGHT) if op.name == "stablehlo.custom_call"]
        assert len(logs) == 2
