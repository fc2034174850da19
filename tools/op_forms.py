"""More programs of ops that are split in several ways: other attributes, reducers and windows than the sample's.

The tests run them beside the samples, on every element type; what only some forms do (halos, scans,
candidates, indices taken apart) would not be run otherwise.
"""

from __future__ import annotations

from pcg.tools.op_samples import Arguments, comparator, program, reducer, region

_F, _Z = "tensor<4x6xf32>", "%c: tensor<f32>"
_ZERO = "  %c = stablehlo.constant dense<0.0> : tensor<f32>\n"
_ONE = "  %c = stablehlo.constant dense<1.0> : tensor<f32>\n"
_THREE = "  %c = stablehlo.constant dense<3.0> : tensor<f32>\n"
#: A maximum and a sum as reducers that no collective knows.
_MAXIMUM = region(
    "%n = stablehlo.maximum %x, %y : tensor<f32>", "%z = stablehlo.maximum %n, %x : tensor<f32>",
    "stablehlo.return %z : tensor<f32>",
)  # fmt: skip
_ADD = region(
    "%n = stablehlo.negate %x : tensor<f32>", "%z = stablehlo.subtract %y, %n : tensor<f32>",
    "stablehlo.return %z : tensor<f32>",
)  # fmt: skip
_ARGMAX = """{
^bb0(%x: tensor<f32>, %i: tensor<i32>, %y: tensor<f32>, %j: tensor<i32>):
  %more = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %same = stablehlo.compare EQ, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %first = stablehlo.minimum %i, %j : tensor<i32>
  %v = stablehlo.select %more, %x, %y : tensor<i1>, tensor<f32>
  %o = stablehlo.select %more, %i, %j : tensor<i1>, tensor<i32>
  %k = stablehlo.select %same, %first, %o : tensor<i1>, tensor<i32>
  stablehlo.return %v, %k : tensor<f32>, tensor<i32>
}"""


def _reduce(op: str, initial: str = _ZERO, operand: str = _F) -> Arguments:
    body = op if op.startswith("{") else reducer(op)
    return [operand, _Z], ["tensor<4xf32>"], "dimensions = array<i64: 1>", body, initial


def _window(
    size: str, strides: str, padding: str, result: str, op: str = "add", initial: str = _ZERO, operand: str = "4x8"
) -> Arguments:
    attributes = (
        f"window_dimensions = array<i64: {size}>, window_strides = array<i64: {strides}>, "
        f"padding = dense<{padding}> : tensor<2x2xi64>"
    )
    body = op if op.startswith("{") else reducer(op)
    return [f"tensor<{operand}xf32>", _Z], [f"tensor<{result}xf32>"], attributes, body, initial


def _conv(
    lhs: str, rhs: str, result: str, padding: str, rest: str = "", groups: int = 1, batches: int = 1
) -> Arguments:
    attributes = (
        "dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, "
        f"padding = dense<{padding}> : tensor<1x2xi64>, {rest}feature_group_count = {groups} : i64, "
        f"batch_group_count = {batches} : i64"
    )
    return [f"tensor<{lhs}xf32>", f"tensor<{rhs}xf32>"], [f"tensor<{result}xf32>"], attributes


def _scatter(
    body: str, indices: str = "tensor<8xi32>", updates: str = "tensor<8x6xf32>", vector: int = 1,
    windows: str = "update_window_dims = [1], inserted_window_dims = [0]",
) -> Arguments:  # fmt: skip
    attributes = (
        f"scatter_dimension_numbers = #stablehlo.scatter<{windows}, scatter_dims_to_operand_dims = [0], "
        f"index_vector_dim = {vector}>, indices_are_sorted = false, unique_indices = false"
    )
    return [_F, indices, updates], [_F], attributes, body


def _pad(low: str, high: str, interior: str, result: str, initial: str = _ZERO) -> Arguments:
    attributes = (
        f"edge_padding_low = array<i64: {low}>, edge_padding_high = array<i64: {high}>, "
        f"interior_padding = array<i64: {interior}>"
    )
    return [_F, _Z], [f"tensor<{result}xf32>"], attributes, "", initial


def _slice(start: str, limit: str, strides: str, result: str) -> Arguments:
    attributes = f"start_indices = array<i64: {start}>, limit_indices = array<i64: {limit}>"
    return [_F], [f"tensor<{result}xf32>"], f"{attributes}, strides = array<i64: {strides}>"


#: Op -> form -> arguments of `program` after the op's name.
_ARGUMENTS: dict[str, dict[str, Arguments]] = {
    "stablehlo.reduce": {
        **{op: _reduce(op) for op in ("maximum", "minimum", "and", "or")},
        "multiply": _reduce("multiply", _ONE),
        "add to 1": _reduce("add", _ONE),
        **{f"{op} of two, from 3": _reduce(op, _THREE, "tensor<4x2xf32>") for op in ("add", "maximum", "multiply")},
        "maximum by two ops, of two, from 3": _reduce(_MAXIMUM, _THREE, "tensor<4x2xf32>"),
        "add by two ops": _reduce(_ADD),
        "add by two ops, from 3": _reduce(_ADD, _THREE),
        "of one": _reduce("add", _ONE, "tensor<4x1xf32>"),
        "of a maximum and its place": (
            [_F, "tensor<4x6xi32>", "%c: tensor<f32>", "%k: tensor<i32>"], ["tensor<4xf32>", "tensor<4xi32>"],
            "dimensions = array<i64: 1>", _ARGMAX, f"{_ZERO}  %k = stablehlo.constant dense<0> : tensor<i32>\n",
        ),
    },
    "stablehlo.reduce_window": {
        "cumulative sum": _window("1, 8", "1, 1", "[[0, 0], [7, 0]]", "4x8"),
        "cumulative sum, reversed": _window("1, 8", "1, 1", "[[0, 0], [0, 7]]", "4x8"),
        "cumulative product": _window("1, 8", "1, 1", "[[0, 0], [7, 0]]", "4x8", "multiply", _ONE),
        "cumulative maximum": _window("1, 8", "1, 1", "[[0, 0], [7, 0]]", "4x8", "maximum"),
        "overlapping": _window("1, 3", "1, 1", "[[0, 0], [1, 1]]", "4x8"),
        "overlapping maximum": _window("2, 3", "1, 1", "[[1, 0], [1, 1]]", "4x8", "maximum"),
        **{
            f"{op} of three, from 3": _window("1, 3", "1, 1", "[[0, 0], [1, 1]]", "4x2", op, _THREE, "4x2")
            for op in ("add", "maximum", "minimum")
        },
        "maximum by two ops, of three, from 3": _window(
            "1, 3", "1, 1", "[[0, 0], [1, 1]]", "4x2", _MAXIMUM, _THREE, "4x2"
        ),
        "add of pairs to 3": _window("1, 2", "1, 2", "[[0, 0], [0, 0]]", "4x2", "add", _THREE, "4x4"),
        "strided, overlapping": _window("1, 3", "1, 2", "[[0, 0], [1, 0]]", "4x4"),
    },
    "stablehlo.select_and_scatter": {
        "overlapping": (
            ["tensor<4x8xf32>", "tensor<4x4xf32>", _Z], ["tensor<4x8xf32>"],
            "window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>, "
            "padding = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>",
            f"{comparator('GE')}, {reducer()}", _ZERO,
        ),
    },
    "stablehlo.convolution": {
        "strided": _conv("4x8x2", "2x2x4", "4x4x4", "0", "window_strides = array<i64: 2>, "),
        "dilated": _conv("4x8x2", "3x2x4", "4x8x4", "2", "rhs_dilation = array<i64: 2>, "),
        "of feature groups": _conv("4x8x4", "3x2x4", "4x8x4", "1", "", 2),
        "of batch groups": _conv("4x8x2", "3x2x4", "2x8x4", "1", "", 1, 2),
    },
    "stablehlo.gather": {
        "of vectors": (
            [_F, "tensor<8x2xi32>"], ["tensor<8xf32>"],
            "dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], "
            "index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>",
        ),
        "in batches": (
            ["tensor<4x8x6xf32>", "tensor<4x2xi32>"], ["tensor<4x2x6xf32>"],
            "dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], "
            "operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], "
            "index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 6>",
        ),
    },
    "stablehlo.scatter": {
        **{op: _scatter(reducer(op)) for op in ("multiply", "maximum", "minimum", "and", "or")},
        "overwriting": _scatter(
            region("stablehlo.return %y : tensor<f32>"), "tensor<i32>", "tensor<1x6xf32>", 0,
            "update_window_dims = [0, 1]",
        ),
    },
    "stablehlo.sort": {
        "of pairs": (
            [_F, "tensor<4x6xi32>"], [_F, "tensor<4x6xi32>"], "dimension = 1 : i64, is_stable = true",
            "{\n^bb0(%x: tensor<f32>, %y: tensor<f32>, %k: tensor<i32>, %l: tensor<i32>):\n  %z = stablehlo.compare "
            "GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n  stablehlo.return %z : tensor<i1>\n}",
        ),
    },
    "stablehlo.pad": {
        "by ones": _pad("1, 0", "1, 0", "0, 0", "6x6", _ONE),
        "between": _pad("0, 0", "1, 0", "1, 0", "8x6"),
        "at both ends": _pad("2, 0", "2, 0", "0, 0", "8x6"),
        "cutting": _pad("0, -2", "0, 0", "0, 0", "4x4"),
    },
    "stablehlo.slice": {
        "strided": _slice("0, 0", "4, 6", "1, 2", "4x3"),
        "of the end": _slice("2, 0", "4, 6", "1, 1", "2x6"),
        "of a half": _slice("0, 0", "4, 4", "1, 1", "4x4"),
    },
    "stablehlo.concatenate": {
        "of three": ([_F, "tensor<2x6xf32>", "tensor<2x6xf32>"], ["tensor<8x6xf32>"], "dimension = 0 : i64"),
    },
    "stablehlo.reverse": {"of both": ([_F], [_F], "dimensions = array<i64: 0, 1>")},
    "stablehlo.constant": {"of one number": ([], [_F], "value = dense<2.0> : tensor<4x6xf32>")},
    "stablehlo.iota": {
        "of many": ([], ["tensor<4x600xi32>"], "iota_dimension = 1 : i64"),
        "of rows": ([], ["tensor<4x6xi32>"], "iota_dimension = 0 : i64"),
    },
    "stablehlo.dynamic_update_slice": {
        "in zeros": (
            ["%c: tensor<4x6xf32>", "tensor<4x2xf32>", "tensor<i32>", "tensor<i32>"], [_F], "", "",
            "  %c = stablehlo.constant dense<0.0> : tensor<4x6xf32>\n",
        ),
    },
    "stablehlo.select": {
        "of a scalar": (["tensor<i1>", _F, _F], [_F]),
        "or zero": (
            ["tensor<4x6xi1>", _F, "%c: tensor<4x6xf32>"], [_F], "", "",
            "  %c = stablehlo.constant dense<0.0> : tensor<4x6xf32>\n",
        ),
    },
    "stablehlo.dot_general": {
        "without batches": (
            ["tensor<4x8xf32>", "tensor<8x6xf32>"], [_F],
            "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], "
            "rhs_contracting_dimensions = [0]>",
        ),
    },
    "chlo.top_k": {"of halves": (["tensor<4x8xf32>"], ["tensor<4x5xf32>", "tensor<4x5xi32>"], "k = 5 : i64")},
    "stablehlo.reshape": {
        "that splits": (["tensor<4x6xf32>"], ["tensor<2x2x6xf32>"]),
        "that merges": (["tensor<4x6xf32>"], ["tensor<24xf32>"]),
    },
}  # fmt: skip

#: Op -> form -> program.
FORMS = {op: {form: program(op, *a) for form, a in forms.items()} for op, forms in _ARGUMENTS.items()}
