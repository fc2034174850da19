"""Old and quantized ops: what their rules cannot split, and why.  `test_every_op` runs the others."""

from torch_mlir import ir

from pcg.layout import Mesh
from pcg.rules import rule_for
from pcg.tools.op_samples import program
from support.rulecheck import check_op, context, last_op

MESH = Mesh.of({"x": 2, "y": 2})


def rule_of(text):
    with context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        return rule_for(last_op(module))


def einsum(config, *types):
    return program("stablehlo.einsum", types[:-1], types[-1:], f'einsum_config = "{config}"')


def test_einsum_with_batch_and_contraction():
    checked = check_op(einsum("bij,bjk->bki", "tensor<2x4x8xf32>", "tensor<2x8x6xf32>", "tensor<2x6x4xf32>"), MESH)
    assert str(checked.rule) == "(i,j,k),(i,k,l)->(i,l,j)"
    assert [f.reduce for f in checked.rule.factors] == [None, None, "sum", None]


def test_einsum_that_takes_a_diagonal_is_whole():
    rule = rule_of(einsum("ii,ij->ij", "tensor<4x4xf32>", "tensor<4x6xf32>", "tensor<4x6xf32>"))
    assert rule.reason == "einsum 'ii,ij->ij' takes a diagonal"


def test_index_select_with_batch_dimensions():
    attributes = "dim = 1 : i64, batch_dims = 1 : i64"
    operands = ["tensor<4x8x6xf32>", "tensor<4x2xi32>"]
    checked = check_op(program("stablehlo.torch_index_select", operands, ["tensor<4x2x6xf32>"], attributes), MESH)
    assert str(checked.rule) == "(i,j,k),(i,l)->(i,l,k)"


def test_scales_per_channel_keep_the_channel_whole():
    quantized = "tensor<4x2x!quant.uniform<i8:f32:1, {1.0,2.0}>>"
    rule = rule_of(program("stablehlo.uniform_quantize", ["tensor<4x2xf32>"], [quantized]))
    assert [f.splittable for f in rule.factors] == [True, False] and "scales of their own" in rule.factors[1].reason


def test_ragged_contraction_is_whole():
    numbers = (
        "#chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], "
        "rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1], rhs_group_dimensions = []>"
    )
    attributes = f"ragged_dot_dimension_numbers = {numbers}, precision_config = []"
    operands = ["tensor<8x4xf32>", "tensor<4x6xf32>", "tensor<2xi64>"]
    rule = rule_of(program("chlo.ragged_dot", operands, ["tensor<2x8x6xf32>"], attributes))
    assert rule.reason.startswith("a ragged dot whose ragged dimension is not a free one")
