"""Loops of the backward part in two: the same numbers to the bit, and the products for weights in the second loop."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_mlir import ir

from pcg.ir.parse import load_module
from pcg.ir.walk import entry_of, walk
from pcg.passes.pcg_split_backward import SplitBackwardPass
from pcg.passes.pipeline import Pipeline
from pcg.rewrite.backward.fission import fission
from pcg.rewrite.backward.phases import STAGE, read, split
from support.rulecheck import context, random_value, run

BATCH, WIDTH = 2, 3

#: What a layer may do to h: [BATCH, WIDTH] with its own weights and those that all layers share.
OPS = {
    "product": lambda h, own, shared: h @ own["w"],
    "shared product": lambda h, own, shared: h @ shared["w"],
    "product with a transpose": lambda h, own, shared: h @ own["w"].T,
    "scale": lambda h, own, shared: h * own["scale"],
    "shared bias": lambda h, own, shared: h + shared["bias"],
    "tanh": lambda h, own, shared: jnp.tanh(h),
    "norm": lambda h, own, shared: (h - h.mean(-1, keepdims=True)) * jax.lax.rsqrt(h.var(-1, keepdims=True) + 0.1),
    "residual": lambda h, own, shared: h + jnp.sin(h @ own["w"]),
    "attention": lambda h, own, shared: jax.nn.softmax(h @ h.T) @ (h @ own["v"]),
    "inner loop": lambda h, own, shared: jax.lax.scan(lambda c, _: (jnp.tanh(c @ own["v"]), None), h, None, length=2)[0],
}
#: Those with a product of weights in the body itself; an inner loop stays in one piece.
PRODUCTS = {"product", "shared product", "product with a transpose", "residual", "attention"}


@st.composite
def bodies(draw: st.DrawFn) -> dict:
    """A scan: its layers, and what is around them."""
    return {
        "ops": draw(st.lists(st.sampled_from(sorted(OPS)), min_size=1, max_size=4)),
        "length": draw(st.integers(1, 3)),
        "checkpoint": draw(st.booleans()),
        "reverse": draw(st.booleans()),
        "second": draw(st.booleans()),
        "outputs": draw(st.booleans()),
    }


def step(body, params, x):
    """A step of gradient descent: new parameters and loss."""
    own, shared = params["layers"], params["shared"]

    def layer(carry, w):
        h, total = carry
        for op in body["ops"]:
            h = OPS[op](h, w, shared)
        if body["second"]:
            total = total * 0.5 + h * w["scale"]
        return (h, total), h if body["outputs"] else None

    if body["checkpoint"]:
        layer = jax.checkpoint(layer)
    (h, total), outs = jax.lax.scan(layer, (x, jnp.zeros_like(x)), own, reverse=body["reverse"])
    loss = jnp.sum(h * h) + jnp.sum(total)
    return loss + jnp.sum(jnp.sin(outs)) if body["outputs"] else loss


def arguments(body):
    rng = np.random.default_rng(3)

    def draw(*shape):
        return (0.7 * rng.standard_normal(shape)).astype(np.float32)

    n = body["length"]
    layers = {"w": draw(n, WIDTH, WIDTH), "v": draw(n, WIDTH, WIDTH), "scale": draw(n, WIDTH)}
    return {"layers": layers, "shared": {"w": draw(WIDTH, WIDTH), "bias": draw(WIDTH)}}, draw(BATCH, WIDTH)


def traced(body) -> tuple[str, list[np.ndarray]]:
    """A step that returns new parameters and the loss, as text, and what it is run on."""

    def whole(params, x):
        value, gradients = jax.value_and_grad(lambda p: step(body, p, x))(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

    args = arguments(body)
    return jax.jit(whole, keep_unused=True).lower(*args).as_text(), jax.tree.leaves(args)


def parsed(text: str) -> ir.Module:
    module = load_module(text, context(), "step")
    Pipeline("sdy-import,pcg-normalize").run(module)
    return module


@settings(max_examples=20, deadline=None, database=None, derandomize=True)
@given(bodies())
def test_loops_compute_the_same_to_the_bit(body) -> None:
    text, inputs = traced(body)
    with context():
        module = parsed(text)
        want = run(str(module), inputs)
        found = SplitBackwardPass()
        found.run(module.operation)
        module.operation.verify()
        got = run(str(module), inputs)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b)
        if PRODUCTS & set(body["ops"]):
            assert found.statistics["loops split"] == 1
            assert read(entry_of(module)).weight_share() > 0


def test_a_carried_value_that_weights_need_is_stacked() -> None:
    """The cotangent that comes into an iteration is read by the first product for weights."""
    body = {"ops": ["product"], "length": 3, "checkpoint": False, "reverse": False, "second": False, "outputs": False}
    with context():
        module = parsed(traced(body)[0])
        before = [op for op in walk(module.operation) if op.name == "stablehlo.while"]
        assert fission(entry_of(module)) == 1
        first, second = [op for op in walk(module.operation) if op.name == "stablehlo.while"][len(before) - 1 :]
        stack = f"tensor<3x{BATCH}x{WIDTH}xf32>"
        assert sum(str(r.type) == stack for r in first.results) == 1
        assert sum("dot_general" in str(op) for op in first.regions[1].blocks[0].operations) == 1
        assert sum("dot_general" in str(op) for op in second.regions[1].blocks[0].operations) == 1


#: A loop of the backward part by its condition, its next counter, and what reads the stacked weight gradients.
LOOP = """
func.func @main(%w: tensor<3x2x2xf32> {{tf.aliasing_output = 0 : i32}}, %x: tensor<2x2xf32>, %n: tensor<i32>) -> (tensor<3x2x2xf32>, tensor<f32>) {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %fw = stablehlo.slice %w [0:1, 0:2, 0:2] : (tensor<3x2x2xf32>) -> tensor<1x2x2xf32>
  %fr = stablehlo.reshape %fw : (tensor<1x2x2xf32>) -> tensor<2x2xf32>
  %y = stablehlo.dot_general %x, %fr, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %loss = stablehlo.reduce(%y init: %f) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<f32>
  %grads = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<3x2x2xf32>
  %l:4 = stablehlo.while(%i = %zero, %dx = %y, %dw = %grads, %ww = %w) : tensor<i32>, tensor<2x2xf32>, tensor<3x2x2xf32>, tensor<3x2x2xf32>
  cond {{
    %three = stablehlo.constant dense<3> : tensor<i32>
    %c = stablehlo.compare LT, %i, {limit}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %by = stablehlo.constant dense<{by}> : tensor<i32>
    %o = stablehlo.constant dense<0> : tensor<i32>
    %s = stablehlo.dynamic_slice %ww, %i, %o, %o, sizes = [1, 2, 2] : (tensor<3x2x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x2xf32>
    %wi = stablehlo.reshape %s : (tensor<1x2x2xf32>) -> tensor<2x2xf32>
    %d = stablehlo.dot_general %dx, %wi, contracting_dims = [1] x [1] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %g = stablehlo.dot_general %x, %dx, contracting_dims = [0] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %gr = stablehlo.reshape %g : (tensor<2x2xf32>) -> tensor<1x2x2xf32>
    %u = stablehlo.dynamic_update_slice %dw, %gr, %i, %o, %o : (tensor<3x2x2xf32>, tensor<1x2x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x2x2xf32>
    {effect}
    %j = stablehlo.add %i, %by : tensor<i32>
    stablehlo.return %j, %d, %u, %ww : tensor<i32>, tensor<2x2xf32>, tensor<3x2x2xf32>, tensor<3x2x2xf32>
  }}
  {use}
  return %new, %loss : tensor<3x2x2xf32>, tensor<f32>
}}"""
SUBTRACT = "%new = stablehlo.subtract %w, %l#2 : tensor<3x2x2xf32>"
NEEDED = """%p = stablehlo.dot_general %l#2, %x, contracting_dims = [2] x [0] : (tensor<3x2x2xf32>, tensor<2x2xf32>) -> tensor<3x2x2xf32>
  %new = stablehlo.subtract %w, %p : tensor<3x2x2xf32>"""
EFFECT = '"stablehlo.custom_call"(%i) {call_target_name = "log", has_side_effect = true} : (tensor<i32>) -> ()'


@pytest.mark.parametrize(
    ("count", "changes"),
    {
        "counts to a constant": (1, {}),
        "counts to an argument": (0, {"limit": "%n"}),
        "counts in twos": (0, {"by": 2}),
        "writes a log": (0, {"effect": EFFECT}),
        "its weight gradients are multiplied again": (0, {"use": NEEDED}),
    }.values(),
)
def test_loops_that_stay_as_they_are(count, changes) -> None:
    fields = {"limit": "%three", "by": 1, "effect": "", "use": SUBTRACT}
    with context():
        module = load_module(LOOP.format(**(fields | changes)), context(), "loop")
        assert fission(entry_of(module)) == count
        module.operation.verify()


#: A loop whose weight gradients are a product of what the first loop carries in another element type.
TYPED = """
func.func @main(%w: tensor<3x2x2xf32> {{tf.aliasing_output = 0 : i32}}, %x: tensor<2x2xf32>, %k: tensor<2x2x{type}>) -> (tensor<3x2x2xf32>, tensor<f32>) {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %loss = stablehlo.reduce(%x init: %f) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<f32>
  %rw = stablehlo.reduce(%w init: %f) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<3x2x2xf32>, tensor<f32>) -> tensor<f32>
  %total = stablehlo.add %loss, %rw : tensor<f32>
  %grads = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<3x2x2xf32>
  %l:3 = stablehlo.while(%i = %zero, %c = %k, %dw = %grads) : tensor<i32>, tensor<2x2x{type}>, tensor<3x2x2xf32>
  cond {{
    %three = stablehlo.constant dense<3> : tensor<i32>
    %t = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }} do {{
    %one = stablehlo.constant dense<1> : tensor<i32>
    %o = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.{op} %c, %c : tensor<2x2x{type}>
    %d = {convert} : (tensor<2x2x{type}>) -> tensor<2x2xf32>
    %g = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %gr = stablehlo.reshape %g : (tensor<2x2xf32>) -> tensor<1x2x2xf32>
    %u = stablehlo.dynamic_update_slice %dw, %gr, %i, %o, %o : (tensor<3x2x2xf32>, tensor<1x2x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x2x2xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %n, %u : tensor<i32>, tensor<2x2x{type}>, tensor<3x2x2xf32>
  }}
  %new = stablehlo.subtract %w, %l#2 : tensor<3x2x2xf32>
  return %new, %total : tensor<3x2x2xf32>, tensor<f32>
}}"""
ELEMENTS = {"f64": "add", "bf16": "add", "i1": "xor", "i8": "add", "ui32": "add", "complex<f32>": "add"}


@pytest.mark.parametrize("element", ELEMENTS)
def test_stacks_of_every_type(element) -> None:
    convert = "stablehlo.real %c" if "complex" in element else "stablehlo.convert %c"
    text = TYPED.format(type=element, op=ELEMENTS[element], convert=convert)
    with context():
        module = load_module(text, context(), "loop")
        types = [a.type for a in entry_of(module).regions[0].blocks[0].arguments]
        inputs = [random_value(t, np.random.default_rng(i)) for i, t in enumerate(types)]
        want = run(str(module), inputs)
        assert fission(entry_of(module)) == 1
        assert f"tensor<3x2x2x{element}>" in str(module)
        for a, b in zip(run(str(module), inputs), want, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_loop_of_a_stage_becomes_two_of_it() -> None:
    """All ops have a stage after the pass, too; what the loop hands to another stage is not for weights."""
    fields = {"limit": "%three", "by": 1, "effect": "", "use": SUBTRACT}
    with context():
        module = load_module(LOOP.format(**fields), context(), "loop")
        func = entry_of(module)
        for op in func.regions[0].blocks[0].operations:
            if op.operation.name != "func.return":
                op.operation.attributes[STAGE] = ir.Attribute.parse("1 : i64")
        assert fission(func) == 1
        assert set(split(func).stages) == {1}
        module.operation.verify()


def test_stacked_gradients_are_accumulated_over_microbatches() -> None:
    """What pcg.batch reads of a loop is a gradient: the loop is split, and the update is apart."""
    use = (
        '%acc = "pcg.batch"(%l#2) {microbatches = 2 : i64, kind = "sum"} : (tensor<3x2x2xf32>) -> tensor<3x2x2xf32>\n'
        '%total = "pcg.batch"(%loss) {microbatches = 2 : i64, kind = "sum"} : (tensor<f32>) -> tensor<f32>\n'
        "%new = stablehlo.subtract %w, %acc : tensor<3x2x2xf32>"
    )
    text = LOOP.format(limit="%three", by=1, effect="", use=use).replace("return %new, %loss", "return %new, %total")
    with context():
        module = load_module(text, context(), "loop")
        found = SplitBackwardPass()
        found.run(module.operation)
        phases = read(entry_of(module))
        update = [op.name for op in phases.ops("update") if op.name != "stablehlo.constant"]
        assert update == ["pcg.batch", "pcg.batch", "stablehlo.subtract"]
        assert found.statistics["loops split"] == 1 and phases.weight_share() == 0.5
