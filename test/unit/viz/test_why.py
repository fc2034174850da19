"""Why collectives and layouts are there: the facts, and their words."""

from __future__ import annotations

import pytest

from pcg.driver.compile import compile_program, load_program
from pcg.driver.cost import cost_of
from pcg.driver.decide import Options
from pcg.explain.origins import Result
from pcg.layout import Mesh, ShardSpec
from pcg.viz.explain import explain
from pcg.viz.why import Reasons, why

MESH = Mesh.parse("data=2,model=4")
MLP = """
func.func @main(%x: tensor<8x16xf32> loc("x"), %up: tensor<16x32xf32> loc("p['up']"),
    %down: tensor<32x16xf32> loc("p['down']")) -> tensor<8x16xf32> {
  %0 = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32> loc("mlp.py":3:1)
  %1 = stablehlo.tanh %0 : tensor<8x32xf32> loc("mlp.py":4:1)
  %2 = stablehlo.dot_general %1, %down, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32> loc("mlp.py":5:1)
  %3 = stablehlo.tanh %2 : tensor<8x16xf32> loc("mlp.py":6:1)
  func.return %3 : tensor<8x16xf32>
}
"""
#: A loop whose body multiplies by a split matrix: one reduction per iteration.
LOOP = """
func.func @main(%x: tensor<8x16xf32> loc("x"), %w: tensor<16x16xf32> loc("w")) -> tensor<8x16xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<6> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c0, %c = %x) : tensor<i32>, tensor<8x16xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %d = stablehlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32> loc("loop.py":3:1)
      %t = stablehlo.tanh %d : tensor<8x16xf32> loc("loop.py":4:1)
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %t : tensor<i32>, tensor<8x16xf32>
    }
  func.return %r#1 : tensor<8x16xf32>
}
"""
ADD = """
func.func @main(%a: tensor<64x64xf32> loc("a"), %b: tensor<64x64xf32> loc("b")) -> tensor<64x64xf32> {
  %0 = stablehlo.add %a, %b : tensor<64x64xf32> loc("add.py":1:1)
  func.return %0 : tensor<64x64xf32>
}
"""


def compiled(text, ins, outs=(), strategy="auto"):
    fixed = {i: ShardSpec.parse(s) for i, s in enumerate(ins) if s}
    results = {i: ShardSpec.parse(s) for i, s in enumerate(outs) if s}
    return compile_program(load_program(text), MESH, Options(strategy, in_specs=fixed, out_specs=results))


@pytest.fixture(scope="module")
def mlp():
    return compiled(MLP, ["[data, -]", "[-, model]"], ["[data, -]"])


@pytest.mark.parametrize("strategy", ["global", "dataflow", "bfs", "priority"])
def test_a_chain_ends_at_the_annotation(strategy):
    """Whoever propagates: the split of `down` comes from that of `up`, through the ops between them."""
    reasons = Reasons(compiled(MLP, ["[data, -]", "[-, model]"], ["[data, -]"], strategy))
    o = reasons.origins
    (down,) = reasons.find("p['down']")
    assert o.spec(down) == ShardSpec.parse("[model, -]")
    chain = o.chain(down, "model")
    assert chain.annotation is not None and chain.annotation.spec == ShardSpec.parse("[-, model]")
    assert [o.name(x.site) for x in chain.links] == [
        "p['down']", "the result of tanh at mlp.py:4", "the result of dot_general at mlp.py:3", "p['up']"
    ]  # fmt: skip
    for link, after in zip(chain.links, chain.links[1:], strict=False):
        around = [*link.op.operands, *link.op.results]
        assert link.site in around and after.site in around, "a link goes through an op that has both values"


def test_a_collective_has_two_decisions(mlp):
    reasons = Reasons(mlp)
    (found,) = reasons.collectives(cost_of(mlp).collectives)
    assert found.collective.kind == found.cause.kind == "all_reduce" and found.cause.axes == ("model",)
    assert found.cause.bytes == found.collective.bytes
    assert found.cause.producer.text == (
        "the result of dot_general at mlp.py:5 is a partial sum over model: its contracted dimension of size 32 is split"
        " over model (operand 0, the result of tanh at mlp.py:4): p['up'] is annotated [-, model], 2 ops away"
    )
    assert [d.text for d in found.cause.consumers] == ["tanh at mlp.py:6 needs reduced values: it is not linear in operand 0"]
    assert found.other_seconds is None, "tanh cannot take partial values"


def test_a_collective_in_a_loop_runs_as_often_as_the_loop():
    done = compiled(LOOP, ["[data, model]", "[model, -]"], ["[data, -]"], "dataflow")
    found = Reasons(done).collectives(cost_of(done).collectives)
    inside = [r for r in found if r.cause.times == 6]
    assert inside and all(r.collective.times == r.cause.times for r in found)
    assert any("w is annotated [model, -]" in r.cause.producer.text for r in inside)
    assert any("the loop" in d.text or "tanh at loop.py:4" in d.text for r in inside for d in r.cause.consumers)


@pytest.mark.parametrize("strategy", ["global", "dataflow", "bfs", "priority"])
def test_a_conflict_names_both_annotations(strategy):
    done = compiled(ADD, ["[data, -]", "[model, -]"], strategy=strategy)
    reasons = Reasons(done)
    assert cost_of(done).collectives
    (text,) = reasons.conflicts()
    assert {"a is annotated [data, -]", "b is annotated [model, -]"} <= set(text.split(" disagree ")[0].split(" and "))
    assert "disagree at add at add.py:1" in text


def test_the_alternative_costs_more_than_the_plan():
    """By hand: adding as `a` comes would gather the larger part of `b`, and the result would be moved as well."""
    done = compiled(ADD, ["[data, -]", "[model, -]"], ["[model, -]"])
    (found,) = [r for r in Reasons(done).collectives(cost_of(done).collectives) if "add at" in str(r.cause.consumers)]
    assert found.other_seconds is not None and found.other_seconds > 0


def test_without_annotations_all_is_chosen():
    done = compiled(MLP, [])
    reasons = Reasons(done)
    o = reasons.origins
    for site in (*o.block.arguments, *map(Result, range(len(o.results)))):
        assert all(o.chain(site, a).annotation is None for a in o.spec(site).used_axes)
    assert "chosen by the search" in why(done, "x") and "annotated" not in explain(done, cost_of(done))


def test_tensors_are_found_by_name_number_line_and_value(mlp):
    assert why(mlp, "p['up']") == why(mlp, 1) == "p['up'] is [-, model]: annotated\n"
    text = why(mlp, "mlp.py:5")
    assert text.startswith("the result of dot_general at mlp.py:5 is [data, -] sum(model)\n")
    assert "\n    p['up'] is annotated [-, model]\n" in text and "all_reduce over model" in text
    value = next(x.split(" = ")[0].strip() for x in mlp.as_text("pcg").splitlines() if "stablehlo.tanh" in x)
    assert why(mlp, value).startswith("the result of tanh at mlp.py:4 is [data, model]\n")
    assert why(mlp, "result") == "result is [data, -]: annotated\n"


@pytest.mark.parametrize(("tensor", "words"), [("q", "no tensor 'q'; expected .* p\\['up'\\]"), (3, "has 3 arguments")])
def test_unknown_tensors(mlp, tensor, words):
    with pytest.raises(ValueError, match=words):
        why(mlp, tensor)


def test_the_report_has_the_sections(mlp):
    text = explain(mlp, cost_of(mlp))
    sections = {s.split("\n")[0].split(" (")[0]: s for s in text.split("\n\n")}
    assert "produced: the result of dot_general at mlp.py:5" in sections["Why collectives"]
    assert "read: tanh at mlp.py:6 needs reduced values" in sections["Why collectives"]
    assert "  model, as p['up'] is annotated [-, model]: p['down']" in sections["Why layouts"]
    verbose = explain(mlp, cost_of(mlp), verbose=True)
    assert "p['down'] is [model, -]: model <- tanh at mlp.py:4" in verbose


def test_a_constraint_is_remembered_though_it_vanishes():
    text = MLP.replace(
        "%2 = stablehlo.dot", '%c = "dist.constraint"(%1) {spec = #dist.shard_spec<@mesh, [[], ["model"]], {}>}'
        ' : (tensor<8x32xf32>) -> tensor<8x32xf32> loc("mlp.py":9:1)\n  %2 = stablehlo.dot',
    ).replace("dot_general %1,", "dot_general %c,")
    mesh = '"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()\n'
    reasons = Reasons(compile_program(load_program(mesh + text), MESH))
    (down,) = reasons.find("p['down']")
    chain = reasons.origins.chain(down, "model")
    assert chain.annotation is not None and chain.annotation.text == "a constraint at mlp.py:9"
    assert "dist.constraint" not in reasons.compilation.as_text("pcg")


def test_a_plan_gives_the_layouts():
    first = compiled(MLP, ["[data, -]", "[-, model]"])
    again = compile_program(load_program(MLP), MESH, Options(first.plan))
    assert "set by the plan" in why(again, "x")
