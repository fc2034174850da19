"""What a report says of an alternative is what choosing it is estimated to take: equal to the last digit."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.cost import CostModel
from pcg.driver.compilation import Compilation
from pcg.driver.compile import compile_program, load_program
from pcg.driver.cost import cost_of
from pcg.driver.decide import Options, run
from pcg.driver.module_program import entry_function
from pcg.driver.plan import Plan
from pcg.driver.plan_cost import plan_cost
from pcg.driver.signature import declare_mesh
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.walk import walk
from pcg.layout import Mesh, ShardSpec
from pcg.machine import Cluster, Machine
from pcg.passes import pipelines
from pcg.passes.pcg_search import SearchPass
from pcg.passes.pipelines import Settings
from pcg.rules import rule_for
from pcg.search.build import Builder
from pcg.search.commit import commit
from pcg.search.measure import measure
from pcg.search.outcome import ESTIMATE, SIMULATION
from pcg.search.roles import state_of
from pcg.search.table import Tables
from pcg.viz.explain import explain
from pcg.viz.why import Reasons

MLP = (Path(__file__).resolve().parents[2] / "examples" / "mlp.mlir").read_text()
MESH = Mesh.parse("data=2,model=4")
#: A step with a value that several ops read, one that is never read, a loop, a reduction and a constant.
LOOP = """
func.func @main(%x: tensor<64x256xf32> loc("x"), %w: tensor<256x256xf32> loc("w"), %b: tensor<256xf32> loc("b"))
    -> (tensor<64x256xf32>, tensor<64xf32>) {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<6> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %wide = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<256xf32>) -> tensor<64x256xf32>
  %r:2 = stablehlo.while(%i = %c0, %c = %x) : tensor<i32>, tensor<64x256xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %d = stablehlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
      %a = stablehlo.add %d, %wide : tensor<64x256xf32>
      %t = stablehlo.tanh %a : tensor<64x256xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %t : tensor<i32>, tensor<64x256xf32>
    }
  %s = stablehlo.reduce(%r#1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x256xf32>, tensor<f32>) -> tensor<64xf32>
  %m = stablehlo.multiply %r#1, %x : tensor<64x256xf32>
  func.return %m, %s : tensor<64x256xf32>, tensor<64xf32>
}
"""
#: Splits of a matrix.
MATRIX = ["", "[-, -]", "[data, -]", "[-, data]", "[model, -]", "[-, model]", "[data, model]", "[model, data]"]
PROGRAMS = {"mlp": MLP, "loop": LOOP}


def compiled(text: str, strategy: str | Plan = "auto", mesh: Mesh = MESH, **options) -> Compilation:
    return compile_program(load_program(text), mesh, Options(strategy, **options))


# -- plans that were rejected ----------------------------------------------------------------------------------------


def before_search(text: str, mesh: Mesh, fixed: dict[int, ShardSpec] | None = None):
    """The module as the search finds it."""
    module = load_module(text, make_context(), "<test>")
    declare_mesh(module, mesh)
    run(module, pipelines.prepare(Settings()), [], {})
    if fixed:
        func = entry_function(module)
        arguments, results = func.regions[0].blocks[0].arguments, shardings.function_result_specs(func)
        shardings.set_signature_specs(func, [fixed.get(i) for i in range(len(arguments))], results)
    run(module, Options().refinement(), [], {})
    return module


def check_rejected(text: str, mesh: Mesh, algorithm: str, fixed: dict[int, ShardSpec] | None = None) -> None:
    """Write every plan that the search names into the program, and measure it there."""
    module = before_search(text, mesh, fixed)
    search = SearchPass(algorithm=algorithm)
    search.run(module.operation)
    func = entry_function(module)
    found = search.outcome
    assert found.by == ESTIMATE and found.bound <= found.seconds
    model = CostModel(Machine.default(), shardings.mesh_of(module))
    assert measure(func, model, state_of(func)).seconds == found.seconds
    tables = Tables.on(model.mesh)
    for other in found.alternatives:
        func = entry_function(again := before_search(text, mesh, fixed))
        commit(func, Builder(model, tables).build(func, state_of(func)), other.choice, tables)
        assert measure(func, model, state_of(func)).seconds == other.seconds, other.name
        del again


@pytest.mark.parametrize("mesh", ["data=2,model=4", "x=8"])
@pytest.mark.parametrize("algorithm", ["exact", "unity"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_rejected_plans_of_the_search_cost_what_it_says(name, algorithm, mesh):
    check_rejected(PROGRAMS[name], Mesh.parse(mesh), algorithm)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(MATRIX), min_size=2, max_size=2), st.sampled_from(["exact", "unity"]))
def test_so_do_those_with_given_layouts(given_, algorithm):
    fixed = {i: ShardSpec.parse(s) for i, s in enumerate(given_) if s}
    check_rejected(LOOP, MESH, algorithm, fixed)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(MATRIX), min_size=2, max_size=2))
def test_engines_that_were_rejected_cost_what_the_global_one_says(given_):
    """`strategy="global"` names the plans of the other engines; each of them is a strategy."""
    fixed = {i: ShardSpec.parse(s) for i, s in enumerate(given_) if s}
    done = compiled(LOOP, "global", in_specs=fixed)
    said = {a.name: a.seconds for a in cost_of(done).alternatives}
    assert plan_cost(done.plan, simulate=False).seconds == cost_of(done).seconds
    for engine in {"dataflow", "bfs", "priority"} & set(said):
        other = compiled(LOOP, engine, in_specs=fixed)
        assert cost_of(other).seconds == said[engine] == plan_cost(other.plan, simulate=False).seconds, engine


#: Strategies of planning: searches, propagation and baselines.
STRATEGIES = ["search", "unity", "global", "dataflow", "bfs", "data", "zero3", "megatron"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_plan_costs_what_was_reported(name, strategy):
    done = compiled(PROGRAMS[name], strategy)
    cost = cost_of(done)
    assert cost.by == ESTIMATE
    again = plan_cost(done.plan)
    assert (again.seconds, again.simulation.seconds) == (cost.seconds, cost.simulated)
    assert "costs added up" in explain(done, cost)
    # The plan as a strategy of its own says the same.
    given_back = cost_of(compiled(PROGRAMS[name], done.plan))
    assert (given_back.seconds, given_back.by, given_back.simulated) == (cost.seconds, cost.by, cost.simulated)


def test_candidates_of_select_take_what_it_says_when_they_are_chosen():
    """`strategy="select"` simulates; a baseline that it rejects is a strategy, whose report has a simulation, too."""
    cluster = Cluster.parse("preset:summit:nodes=2,gpus=4")
    search = {"machine": Machine.of(cluster)}
    done = compiled(MLP, "select", search=search)
    cost = cost_of(done)
    assert cost.by == SIMULATION and cost.seconds == cost.simulated
    assert "Rejected (steps: simulated)" in explain(done, cost)
    said = {a.name.split(" ")[0]: a for a in cost.alternatives if "model=model" in a.name}
    assert said
    for name, alternative in said.items():
        forced = cost_of(compiled(MLP, name, search=search | {"model": "model"}))
        assert (forced.simulated, forced.peak_bytes) == (alternative.seconds, alternative.bytes), name


# -- other choices for one op: `else` in the report of collectives --------------------------------------------------


def with_choice(done: Compilation, reason) -> Plan:
    """The plan of `done` with the other choice that `reason` names."""
    op, a = reason.other.op, reason.other.assignment
    rule = rule_for(op)
    program = [o for o in walk(done.modules["plan"].operation) if o.name not in ("builtin.module", "dist.mesh")]
    at = [o for o in program if o.name != "dist.reshard"].index(op)
    (old,) = [d for d in done.plan.operations if d.at == at]
    operands = tuple(rule.operand_spec(i, a) for i in range(len(op.operands)))
    results = tuple(rule.result_spec(i, a) for i in range(len(op.results)))
    new = dataclasses.replace(old, operands=operands, results=results)
    return dataclasses.replace(done.plan, operations=tuple(new if d is old else d for d in done.plan.operations))


def check_other_choices(done: Compilation) -> int:
    """Make every choice that the report names; returns how many there are."""
    reasons, checked = Reasons(done), 0
    for reason in reasons.collectives(cost_of(done).collectives):
        if reason.other is None:
            assert reason.other_seconds is None
            continue
        with done.modules["plan"].context:
            plan = with_choice(done, reason)
        taken, now = plan_cost(plan, simulate=False), plan_cost(done.plan, simulate=False)
        assert taken.seconds == reason.other.measure.seconds
        assert taken.seconds - now.seconds == reason.other_seconds
        compiled_so = compile_program(done.program, done.plan.mesh.origin, Options(plan))
        assert plan_cost(compiled_so.plan, simulate=False).seconds == taken.seconds
        checked += 1
    return checked


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_taking_a_value_as_it_comes_costs_what_the_report_says(strategy):
    given_ = [{1: "[model, -]"}, {0: "[data, -]", 1: "[-, model]"}, {0: "[-, model]", 1: "[data, -]"}]
    fixed = [{i: ShardSpec.parse(s) for i, s in x.items()} for x in given_]
    assert sum(check_other_choices(compiled(LOOP, strategy, in_specs=x)) for x in fixed), "no choice is named"


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(MATRIX), min_size=2, max_size=2), st.sampled_from(["global", "dataflow", "bfs"]))
def test_so_it_does_with_given_layouts(given_, strategy):
    fixed = {i: ShardSpec.parse(s) for i, s in enumerate(given_) if s}
    check_other_choices(compiled(LOOP, strategy, in_specs=fixed))
