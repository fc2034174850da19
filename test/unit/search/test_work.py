"""One op under one strategy costs what the search has for it among all strategies, and what the simulator computes."""

from __future__ import annotations

import pytest

from pcg.cost import CostModel
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.walk import entry, walk
from pcg.layout import Mesh
from pcg.machine import Machine
from pcg.rules import rule_for
from pcg.search.build import Builder
from pcg.search.fusion import Fusion
from pcg.search.read_work import WorkReader
from pcg.search.roles import state_of
from pcg.search.table import Tables
from pcg.search.work import WorkCosts
from pcg.simulate.read import TaskReader

MESH = Mesh.parse("x=2,y=4")
#: A contraction, element-wise ops that are fused, a window that is read, and an op whose local form sends.
PROGRAM = """
func.func @main(%x: tensor<64x256xf32>, %w: tensor<256x256xf32>, %k: tensor<i32>) -> (tensor<64x256xf32>, tensor<8x256xf32>, tensor<64x256xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
  %t = stablehlo.tanh %d : tensor<64x256xf32>
  %m = stablehlo.multiply %t, %x : tensor<64x256xf32>
  %s = stablehlo.dynamic_slice %m, %k, %k, sizes = [8, 256] : (tensor<64x256xf32>, tensor<i32>, tensor<i32>) -> tensor<8x256xf32>
  %c = "stablehlo.reduce_window"(%m, %zero) <{padding = dense<[[63, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 64, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %r = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %r : tensor<f32>
    }) : (tensor<64x256xf32>, tensor<f32>) -> tensor<64x256xf32>
  func.return %m, %s, %c : tensor<64x256xf32>, tensor<8x256xf32>, tensor<64x256xf32>
}
"""


@pytest.fixture(scope="module")
def func():
    module = load_module(PROGRAM, make_context(), "<test>")
    yield entry(module)
    del module


def test_each_strategy_costs_what_the_search_weighs(func):
    model = CostModel(Machine.default(), MESH)
    costs, tables, works = WorkCosts(model), Tables.on(MESH), WorkReader(Fusion(func))
    built = Builder(model, tables).build(func, state_of(func))
    checked, sending = 0, 0
    for op, n in built.ops:
        work, node = works.work(op, rule_for(op)), built.graph.nodes[n]
        for k, a in enumerate(node.table.assignments):
            assert costs.seconds(work, a) == node.seconds[k], (op.name, a)
            checked += 1
            sending += costs.wire_bytes(work, a) > 0
    assert checked > 50 and sending


def test_whole_ops_take_as_long_as_their_kernels_in_the_simulator(func):
    """On one device nothing is split: what the search adds up per op is what the kernels of the simulator do."""
    mesh = Mesh.of({"x": 1})
    model = CostModel(Machine.default(), mesh)
    dot = next(op for op in walk(func) if op.name == "stablehlo.dot_general")
    (task,) = [t for t in TaskReader(model).function(func).tasks if t.name.startswith("dot_general")]
    rule = rule_for(dot)
    work = WorkReader(Fusion(func)).work(dot, rule)
    alone = WorkCosts(model).seconds(work, next(iter(rule.strategies(mesh))))
    assert task.seconds == alone + model.machine.device.kernel_overhead


def test_padding_is_work():
    """Seven rows on two devices are four on each: the work is split into 7/4 parts."""
    text = "func.func @main(%x: tensor<7x8xf32>) -> tensor<7x8xf32> {\n"
    text += "  %0 = stablehlo.tanh %x : tensor<7x8xf32>\n  return %0 : tensor<7x8xf32>\n}"
    module = load_module(text, make_context(), "<test>")
    op = next(op for op in walk(entry(module)) if op.name == "stablehlo.tanh")
    table = Tables.on(MESH).of_rule(rule_for(op))
    parts = {str(spec): float(n) for spec, n in zip(table.outs[0].specs, table.parts[_firsts(table)], strict=True)}
    assert parts["[-, -]"] == 1 and parts["[-, x+y]"] == 8
    assert parts["[x, -]"] == pytest.approx(7 / 4) and parts["[x, y]"] == pytest.approx(7 / 4 * 4)


def _firsts(table):
    """The first strategy of every layout of the result."""
    ids = table.outs[0].ids.tolist()
    return [ids.index(i) for i in range(len(table.outs[0].specs))]
