"""Gather and scatter: rules, and every strategy executed against the unsharded op."""

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


def gather(operand, indices, result, numbers, sizes):
    return f"""
func.func @main(%t: tensor<{operand}>, %i: tensor<{indices}>) -> tensor<{result}> {{
  %0 = "stablehlo.gather"(%t, %i) {{dimension_numbers = #stablehlo.gather<{numbers}>,
    slice_sizes = array<i64: {sizes}>, indices_are_sorted = false}}
    : (tensor<{operand}>, tensor<{indices}>) -> tensor<{result}>
  return %0 : tensor<{result}>
}}"""


EMBEDDING = gather(
    "16x4xf32", "2x4x1xi32", "2x4x4xf32",
    "offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2", "1, 4",
)  # fmt: skip


def test_embedding_rows_are_a_reduction_factor():
    rule = rule_of(EMBEDDING)
    (row,) = [f for f in rule.factors if f.reduce]
    assert (row.size, row.reduce, row.splittable) == (16, "sum", True)
    assert str(rule) == "(k,l),(i,j,1)->(i,j,l)"
    assert [set(x.operands) for x in rule.linear] == [{0}]


def test_embedding_runs_with_indices_out_of_range():
    indices = np.array([0, 3, 15, 7, -2, 40, 8, 4], np.int32).reshape(2, 4, 1)
    assert check_op(EMBEDDING, MESH, inputs=[None, indices]).ran > 20


@pytest.mark.parametrize("index", ["ui8", "i8", "ui32", "i64"])
@pytest.mark.parametrize("element", ["f32", "i1", "i32", "ui8"])
def test_index_and_element_types(index, element):
    text = gather(
        f"8x2x{element}", f"4x{index}", f"4x2x{element}",
        "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "1, 2",
    )  # fmt: skip
    check_op(text, MESH, inputs=[None, np.array([0, 7, 100, 4])], max_strategies=10)


def test_narrow_indices_reach_only_part_of_a_long_table():
    text = gather(
        "256x2xf32", "4xi8", "4x2xf32",
        "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "1, 2",
    )  # fmt: skip
    check_op(text, MESH, inputs=[None, np.array([0, 127, -1, 64])], max_strategies=8)


def test_two_components_and_a_window():
    text = gather(
        "4x6x8x4xf32", "3x2xi32", "3x4x4xf32",
        "offset_dims = [1, 2], collapsed_slice_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 1",
        "1, 1, 4, 4",
    )  # fmt: skip
    rule = rule_of(text)
    stuck = {f.size: f.reason for f in rule.factors if not f.splittable}
    assert stuck[8] == "only its start is taken"
    assert check_op(text, MESH, inputs=[None, np.array([[0, 3], [5, 0], [9, -1]])]).ran > 4


def test_index_vector_in_front_and_unit_offset_dimension():
    text = gather(
        "8x4xf32", "2x4xi32", "4x1x1xf32",
        "offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 0", "1, 1",
    )  # fmt: skip
    assert check_op(text, MESH, inputs=[None, np.array([[0, 7, 3, 9], [3, -1, 1, 2]])]).ran > 8


@pytest.mark.parametrize("element", ["f32", "i1"])
def test_rows_that_no_index_picks(element):
    """Dimension 1 is collapsed, dimension 2 stays with size 1: of both the first row is taken."""
    text = gather(
        f"4x8x6x{element}", "5xi32", f"5x1x{element}",
        "offset_dims = [1], collapsed_slice_dims = [0, 1], start_index_map = [0], index_vector_dim = 1", "1, 1, 1",
    )  # fmt: skip
    checked = check_op(text, MESH)
    assert str(checked.rule) == "(j,k,l),(i)->(i,1)"
    assert {f.reduce for f in checked.rule.factors[1:]} == {"or" if element == "i1" else "sum"}


def test_batching_dimensions():
    text = gather(
        "4x8x2xf32", "4x6x1xi32", "4x6x2xf32",
        "offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], "
        "start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2", "1, 1, 2",
    )  # fmt: skip
    assert str(rule_of(text)) == "(i,k,l),(i,j,1)->(i,j,l)"
    check_op(text, MESH, inputs=[None, np.arange(24).reshape(4, 6, 1) % 9])


def scatter(body, zero=False, unique="false", indices="6x1xi32"):
    operand = "%t" if not zero else "%z"
    return f"""
func.func @main(%t: tensor<8x4xf32>, %i: tensor<{indices}>, %u: tensor<6x4xf32>) -> tensor<8x4xf32> {{
  %z = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %0 = "stablehlo.scatter"({operand}, %i, %u) <{{indices_are_sorted = false, unique_indices = {unique},
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    {body}
  }}) : (tensor<8x4xf32>, tensor<{indices}>, tensor<6x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}}"""


def reducing(op):
    return f"""%s = "stablehlo.{op}"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    stablehlo.return %s : tensor<f32>"""


ROWS = np.array([0, 3, 3, -1, 9, 7]).reshape(6, 1)


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize(("op", "kind"), [("add", "sum"), ("maximum", "max"), ("minimum", "min"), ("multiply", "prod")])
def test_accumulating_scatter(op, kind, zero):
    checked = check_op(scatter(reducing(op), zero), MESH, inputs=[None, ROWS, None])
    assert checked.rule.factors[0].reduce == kind
    assert checked.ran > 10


def test_scatter_of_zeros_passes_partial_updates_through():
    assert set(rule_of(scatter(reducing("add"), zero=True)).linear[0].operands) == {2}
    assert set(rule_of(scatter(reducing("add"))).linear[0].operands) == {0, 2}


def test_overwriting_scatter_keeps_its_updates_together():
    checked = check_op(scatter("stablehlo.return %b : tensor<f32>"), MESH, inputs=[None, ROWS, None])
    assert not checked.rule.factors[0].splittable
    assert "overwrite" in checked.rule.factors[0].reason
    assert not checked.rule.linear


def test_overwriting_scatter_with_unique_indices_is_linear():
    rows = np.array([5, 2, 3, 0, 1, 7]).reshape(6, 1)
    text = scatter("stablehlo.return %b : tensor<f32>", unique="true")
    assert check_op(text, MESH, inputs=[None, rows, None]).rule.linear


@pytest.mark.parametrize("indices", ["6x1xi8", "6x1xui8", "6x1xui32"])
def test_scatter_index_types(indices):
    check_op(scatter(reducing("add"), indices=indices), MESH, inputs=[None, np.abs(ROWS), None], max_strategies=12)


def test_scatter_windows_and_batching():
    text = """
func.func @main(%t: tensor<4x8x2x6xf32>, %i: tensor<4x3x2xi32>, %u: tensor<4x3x2x2xf32>) -> tensor<4x8x2x6xf32> {
  %0 = "stablehlo.scatter"(%t, %i, %u) <{indices_are_sorted = false, unique_indices = false,
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 3], inserted_window_dims = [1],
      input_batching_dims = [0], scatter_indices_batching_dims = [0],
      scatter_dims_to_operand_dims = [1, 3], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x8x2x6xf32>, tensor<4x3x2xi32>, tensor<4x3x2x2xf32>) -> tensor<4x8x2x6xf32>
  return %0 : tensor<4x8x2x6xf32>
}"""
    indices = np.random.default_rng(0).integers(-1, 8, (4, 3, 2))
    checked = check_op(text, MESH, inputs=[None, indices, None])
    assert checked.ran > 20
    assert [f.size for f in checked.rule.factors if not f.splittable] == [2, 6, 2]


def test_scatter_of_two_operands():
    text = """
func.func @main(%t: tensor<8xf32>, %v: tensor<8xi32>, %i: tensor<6x1xi32>, %u: tensor<6xf32>, %w: tensor<6xi32>)
    -> (tensor<8xf32>, tensor<8xi32>) {
  %0:2 = "stablehlo.scatter"(%t, %v, %i, %u, %w) <{indices_are_sorted = false, unique_indices = false,
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
    %s = stablehlo.add %a, %c : tensor<f32>
    %q = stablehlo.add %b, %d : tensor<i32>
    stablehlo.return %s, %q : tensor<f32>, tensor<i32>
  }) : (tensor<8xf32>, tensor<8xi32>, tensor<6x1xi32>, tensor<6xf32>, tensor<6xi32>) -> (tensor<8xf32>, tensor<8xi32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xi32>
}"""
    checked = check_op(text, MESH, inputs=[None, None, ROWS, None, None])
    assert checked.rule.factors[0].reduce == "sum"
    assert checked.ran > 5
