"""What a convolution reads of its operand, window by window, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.context import make_context
from pcg.layout import Mesh
from pcg.machine import Machine
from pcg.machine.curve import Curve
from pcg.machine.profile import Profile, Rates
from pcg.rules import rule_for
from pcg.rules.convolution import patches
from pcg.rules.factor import Assignment
from pcg.search.fusion import Fusion
from pcg.search.read_work import WorkReader
from pcg.search.work import WorkCosts
from pcg.simulate import simulate

CONV = """func.func @main(%x: tensor<8x16x16x3xf32>, %k: tensor<3x3x3x4xf32>) -> tensor<8x16x16x4xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<8x16x16x3xf32>, tensor<3x3x3x4xf32>) -> tensor<8x16x16x4xf32>
  return %0 : tensor<8x16x16x4xf32>
}"""
#: With little to do per byte of a patch a FLOP takes a hundred times as long.
RATES = Rates(((0.5, Curve((1.0,), (1e-9,))), (4.0, Curve((1.0,), (1e-11,)))))
PROFILE = Profile("cpu", 4, 0.0, 0.0, 0.0, {("convolution", "f32"): RATES}, {})


@pytest.fixture(autouse=True)
def context():
    with make_context():
        yield


@pytest.fixture
def model():
    default = Machine.default()
    return CostModel(replace(default, device=replace(default.device, profile=PROFILE)), Mesh.parse("x=4"))


def convolution(text=CONV):
    """A program, its function and op, and the op's rule."""
    program = ir.Module.parse(text)
    func = program.body.operations[0].operation
    op = func.regions[0].blocks[0].operations[0].operation
    return program, func, op, rule_for(op)


def test_patches_are_split_by_all_but_the_output_features(model):
    program, func, op, rule = convolution()
    elements, features = patches(op, rule)
    assert elements == 8 * 16 * 16 * 3 * 3 * 3
    assert [rule.results[0][3], rule.operands[1][3]] == [(features,), (features,)]
    batch = rule.results[0][0][0]
    work = WorkReader(Fusion(func)).work(op, rule)

    def seconds(factor):
        axes = tuple(("x",) if i == factor else () for i in range(len(rule.factors)))
        return WorkCosts(model).seconds(work, Assignment(axes))

    # A quarter of the images, all features: nearly as much per byte as the entire op does.
    every = 4 * (8 * 16 * 16 * 3 + 8 * 16 * 16 * 4 + 3 * 3 * 3 * 4 + elements)
    assert seconds(batch) == pytest.approx(RATES.seconds(rule.flops / 4, every / 4), rel=0.05)
    # All images, one feature: the same patches for a quarter of the work.
    assert seconds(features) > 5 * seconds(batch)


def test_one_feature_and_groups():
    program, _, op, rule = convolution(CONV.replace("3x3x3x4x", "3x3x3x1x").replace("8x16x16x4x", "8x16x16x1x"))
    assert patches(op, rule) == (8 * 16 * 16 * 27, None)
    depthwise = CONV.replace("3x3x3x4x", "3x3x1x6x").replace("8x16x16x4x", "8x16x16x6x")
    program, _, op, rule = convolution(depthwise.replace("feature_group_count = 1", "feature_group_count = 3"))
    elements, features = patches(op, rule)
    assert elements == 8 * 16 * 16 * 3 * 9  # each channel by itself
    assert features == rule.results[0][3][-1] and rule.factors[features].size == 2


def test_the_simulator_counts_the_same(model):
    program, func, op, rule = convolution()
    unsplit = Assignment(((),) * len(rule.factors))
    alone = WorkCosts(model).seconds(WorkReader(Fusion(func)).work(op, rule), unsplit)
    assert simulate(program, model).seconds == pytest.approx(alone)
