"""Sort, top_k, linear algebra, batch norm, barriers, and ops that only run replicated."""

import numpy as np
import pytest
from torch_mlir import ir

from pcg.layout import Mesh
from pcg.rules import rule_for
from support.rulecheck import check_op, context, last_op

MESH = Mesh.of({"data": 2, "model": 2})


def rule_of(text):
    with context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        return rule_for(last_op(module))


def test_sort_of_pairs():
    text = """
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>) {
  %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %l = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) : (tensor<4x8xf32>, tensor<4x8xi32>) -> (tensor<4x8xf32>, tensor<4x8xi32>)
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<4x8xi32>
}"""
    checked = check_op(text, MESH)
    assert str(checked.rule) == "(i,j),(i,j)->(i,j),(i,j)"
    assert [f.splittable for f in checked.rule.factors] == [True, True]
    assert {x.factor for x in checked.rule.exchanges} == {1}


def test_top_k():
    text = """
func.func @main(%x: tensor<4x2x8xf32>) -> (tensor<4x2x3xf32>, tensor<4x2x3xi32>) {
  %0:2 = chlo.top_k(%x, k = 3) : tensor<4x2x8xf32> -> (tensor<4x2x3xf32>, tensor<4x2x3xi32>)
  return %0#0, %0#1 : tensor<4x2x3xf32>, tensor<4x2x3xi32>
}"""
    checked = check_op(text, MESH)
    assert len(checked.strategies) == 15
    assert [f.splittable for f in checked.rule.factors] == [True, True, True, False]


@pytest.mark.parametrize("left", [True, False])
def test_triangular_solve(left):
    b = "4x3x2" if left else "4x2x3"
    text = f"""
func.func @main(%a: tensor<4x3x3xf32>, %b: tensor<{b}xf32>) -> tensor<{b}xf32> {{
  %0 = "stablehlo.triangular_solve"(%a, %b) <{{left_side = {str(left).lower()}, lower = true, unit_diagonal = false,
    transpose_a = #stablehlo<transpose NO_TRANSPOSE>}}> : (tensor<4x3x3xf32>, tensor<{b}xf32>) -> tensor<{b}xf32>
  return %0 : tensor<{b}xf32>
}}"""
    checked = check_op(text, MESH, inputs=[np.tile(np.eye(3) + np.tri(3), (4, 1, 1)), None], rtol=1e-4)
    assert sorted(f.size for f in checked.rule.factors if f.splittable) == [2, 4]
    assert checked.ran >= 8


def test_cholesky():
    text = """
func.func @main(%a: tensor<4x3x3xf32>) -> tensor<4x3x3xf32> {
  %0 = stablehlo.cholesky %a, lower = true : tensor<4x3x3xf32>
  return %0 : tensor<4x3x3xf32>
}"""
    assert check_op(text, MESH, inputs=[np.tile(np.eye(3) * 4 + 1, (4, 1, 1))]).ran == 4


def test_fft():
    text = """
func.func @main(%x: tensor<4x2x8xf32>) -> tensor<4x2x5xcomplex<f32>> {
  %0 = stablehlo.fft %x, type = RFFT, length = [8] : (tensor<4x2x8xf32>) -> tensor<4x2x5xcomplex<f32>>
  return %0 : tensor<4x2x5xcomplex<f32>>
}"""
    assert check_op(text, MESH, rtol=1e-4).ran > 10


NORMS = {
    "training": ("%x, %f, %f", "f32, f, f", "f32, f, f", [8]),
    "inference": ("%x, %f, %f, %f, %g", "f32, f, f, f, f", "f32", [4, 2, 8]),
    "grad": ("%x, %f, %f, %g, %y", "f32, f, f, f, f32", "f32, f, f", [8]),
}


@pytest.mark.parametrize("which", NORMS)
def test_batch_norm(which):
    operands, types, results, splittable = NORMS[which]

    def spell(text):
        return ", ".join({"f32": "tensor<4x2x8xf32>", "f": "tensor<8xf32>"}[t] for t in text.split(", "))

    count = len(results.split(", "))
    names = ", ".join(f"%0#{i}" for i in range(count)) if count > 1 else "%0"
    text = f"""
func.func @main(%x: tensor<4x2x8xf32>, %y: tensor<4x2x8xf32>, %f: tensor<8xf32>, %g: tensor<8xf32>)
    -> ({spell(results)}) {{
  %0{":3" if count > 1 else ""} = "stablehlo.batch_norm_{which}"({operands})
    <{{epsilon = 1.0e-3 : f32, feature_index = 2 : i64}}>
    : ({spell(types)}) -> ({spell(results)})
  return {names} : {spell(results)}
}}"""
    rule = rule_of(text)
    assert [f.size for f in rule.factors if f.splittable] == splittable
    values = np.arange(1, 9)
    check_op(text, MESH, inputs=[None, None, values, values + 1], rtol=1e-3)


def test_map():
    text = """
func.func @main(%x: tensor<4x2xf32>, %y: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}"""
    assert check_op(text, MESH).ran == 8


def test_barrier_operands_are_independent():
    text = """
func.func @main(%x: tensor<4x2xf32>, %y: tensor<4xf32>) -> (tensor<4x2xf32>, tensor<4xf32>) {
  %0:2 = stablehlo.optimization_barrier %x, %y : tensor<4x2xf32>, tensor<4xf32>
  return %0#0, %0#1 : tensor<4x2xf32>, tensor<4xf32>
}"""
    checked = check_op(text, MESH)
    assert str(checked.rule) == "(i,j),(k)->(i,j),(k)"


def test_sharding_marker_passes_through():
    text = """
func.func @main(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[2,1]<=[2]}"}
    : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}"""
    assert len(list(rule_of(text).strategies(MESH))) > 8


def test_collectives_of_one_device_take_any_layout():
    text = """
func.func @main(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %0 = "stablehlo.all_reduce"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}"""
    rule = rule_of(text)
    assert str(rule) == "(i,j)->(i,j)"
    assert len(list(rule.strategies(MESH))) > 8


REPLICATED = {
    "custom call @foo is opaque": "stablehlo.custom_call @foo(%x) : (tensor<4xui64>) -> tensor<4xui64>",
    "between the devices [[0, 1]], but the program is for one": """"stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64,
      replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xui64>) -> tensor<8xui64>""",
    "which bits a state gives is up to the backend": """stablehlo.rng_bit_generator %x, algorithm = THREE_FRY
      : (tensor<4xui64>) -> (tensor<4xui64>, tensor<4xui64>)""",
}


@pytest.mark.parametrize("reason", REPLICATED)
def test_replicated_ops_say_why(reason):
    results = ":2" if "rng_bit" in REPLICATED[reason] else ""
    text = f"""
func.func @main(%x: tensor<4xui64>) -> tensor<4xui64> {{
  %0{results} = {REPLICATED[reason]}
  return %x : tensor<4xui64>
}}"""
    rule = rule_of(text)
    assert reason in rule.reason
    assert len(list(rule.strategies(MESH))) == 1
