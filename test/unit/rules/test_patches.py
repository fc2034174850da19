"""What a convolution reads of its operand, window by window, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.context import make_context
from pcg.layout import Mesh
from pcg.machine import Machine
from pcg.machine.curve import Curve
from pcg.machine.profile import Profile, Rates
from pcg.rules import rule_for
from pcg.rules.factor import Assignment
from pcg.search.fusion import Fusion
from pcg.search.op_cost import OpCost
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


@pytest.fixture
def model():
    default = Machine.default()
    return CostModel(replace(default, device=replace(default.device, profile=PROFILE)), Mesh.parse("x=4"))


def test_patches_are_split_by_all_but_the_output_features(model):
    with make_context():
        module = ir.Module.parse(CONV)
        func = module.body.operations[0].operation
        op = func.regions[0].blocks[0].operations[0].operation
        rule = rule_for(op)
        assert rule.patches is not None and rule.patches.elements == 8 * 16 * 16 * 3 * 3 * 3
        features = rule.patches.features
        assert [rule.results[0][3], rule.operands[1][3]] == [(features,), (features,)]
        batch = rule.results[0][0][0]
        costs = OpCost(model, Fusion(func))

        def seconds(factor):
            axes = tuple(("x",) if i == factor else () for i in range(len(rule.factors)))
            return costs.seconds(op, rule, Assignment(axes))

        flops = rule.flops / 4
        # A quarter of the images, all features: as much per byte as the entire op does.
        item, patches = 4, rule.patches.elements
        bytes_ = item * (8 * 16 * 16 * 3 + 8 * 16 * 16 * 4)
        whole = rule.flops / (bytes_ + item * 108 + item * patches)
        by_batch = RATES.seconds(flops, flops / whole)
        assert seconds(batch) == pytest.approx(by_batch, rel=0.05)
        # All images, one feature: the same patches for a quarter of the work.
        assert seconds(features) > 5 * seconds(batch)


def test_the_simulator_counts_the_same(model):
    with make_context():
        op = ir.Module.parse(CONV)
        func = op.body.operations[0].operation
        conv = func.regions[0].blocks[0].operations[0].operation
        rule = rule_for(conv)
        unsplit = Assignment(((),) * len(rule.factors))
        found = simulate(op, model)
        assert found.seconds == pytest.approx(OpCost(model, Fusion(func)).seconds(conv, rule, unsplit))
        assert np.isfinite(found.seconds)
