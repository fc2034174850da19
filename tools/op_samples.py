"""One small program per op of StableHLO and CHLO: what the status page shows the rules of, and the tests run.

Every program is a `@main` that ends in the op.  An op that only programs of another kind can have
(dynamic shapes, tokens, channels) has no sample, but a reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pcg.rules.collectives import NAMES as COLLECTIVES
from pcg.rules.collectives import REASON as COLLECTIVE_REASON
from pcg.rules.elementwise import CHLO, CHLO_BROADCAST, NON_LINEAR_BINARY, NON_LINEAR_UNARY
from pcg.rules.opaque import REASONS

_F, _I, _P = "tensor<4x6xf32>", "tensor<4x6xi32>", "tensor<4x6xi1>"
_C = "tensor<4x6xcomplex<f32>>"


def program(
    name: str, operands: Sequence[str], results: Sequence[str], attributes: str = "", regions: str = "",
    before: str = "",
) -> str:  # fmt: skip
    """A module that applies one op to its arguments (and to `%c...` values that `before` makes)."""
    own = [i for i, t in enumerate(operands) if not t.startswith("%")]
    arguments = ", ".join(f"%a{i}: {operands[i]}" for i in own)
    used = ", ".join(f"%a{i}" if i in own else t.split(":")[0] for i, t in enumerate(operands))
    types = ", ".join(t.rpartition(":")[2].strip() if t.startswith("%") else t for t in operands)
    made = f"%r:{len(results)} = " if len(results) > 1 else "%r = " if results else ""
    returned = ", ".join(f"%r#{i}" for i in range(len(results))) if len(results) > 1 else "%r" if results else ""
    result = ", ".join(results)
    out = f'func.func @main({arguments}) -> ({result}) {{\n{before}  {made}"{name}"({used})'
    out += (f" ({regions})" if regions else "") + (f" {{{attributes}}}" if attributes else "")
    out += f" : ({types}) -> ({result})\n"
    return out + (f"  return {returned} : {result}\n}}\n" if results else "  return\n}\n")


def region(*lines: str) -> str:
    """A region of two scalars, `%x` and `%y`."""
    return "\n".join(["{", "^bb0(%x: tensor<f32>, %y: tensor<f32>):", *(f"  {line}" for line in lines), "}"])


def reducer(op: str = "add") -> str:
    return region(f"%z = stablehlo.{op} %x, %y : tensor<f32>", "stablehlo.return %z : tensor<f32>")


def comparator(direction: str) -> str:
    types = "(tensor<f32>, tensor<f32>) -> tensor<i1>"
    return region(f"%z = stablehlo.compare {direction}, %x, %y : {types}", "stablehlo.return %z : tensor<i1>")


_ZERO = "  %c = stablehlo.constant dense<0.0> : tensor<f32>\n"
_FOUR = "value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>"
_DOT = (
    "#stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], "
    "rhs_contracting_dimensions = [1]>"
)
_RAGGED = (
    "#chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], "
    "rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>"
)
_POOL = "window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>"
_COMPARE = (
    "comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type FLOAT>"
)
_CHLO_COMPARE = "comparison_direction = #chlo<comparison_direction LT>"
_TAKE = "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>"
_PUT = (
    "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
    "index_vector_dim = 1>"
)
_CONV = (
    "dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, padding = dense<1> : tensor<1x2xi64>, "
    "feature_group_count = 1 : i64, batch_group_count = 1 : i64"
)
_QUANTIZED = "tensor<4x6x!quant.uniform<i8:f32, 5.000000e-01>>"
_SHIFT = ("shift_left", "shift_right_arithmetic", "shift_right_logical", "and", "or", "xor")
_COMPARES = {"is_finite", "is_inf", "is_neg_inf", "is_pos_inf"}


#: Arguments of `program`.
Arguments = tuple[Any, ...]


def _elementwise() -> Iterator[Arguments]:
    for n in NON_LINEAR_UNARY:
        if n in ("not", "popcnt", "count_leading_zeros"):
            yield f"stablehlo.{n}", [_I], [_I]
        elif n == "reduce_precision":
            yield f"stablehlo.{n}", [_F], [_F], "exponent_bits = 5 : i32, mantissa_bits = 10 : i32"
        else:
            yield f"stablehlo.{n}", [_F], [_P if n in _COMPARES else _F]
    for n in (*NON_LINEAR_BINARY, "add", "subtract", "multiply", "divide", "maximum", "minimum", "and", "or"):
        t = _I if n in _SHIFT else _F
        yield f"stablehlo.{n}", [t, t], [_P if n == "compare" else t], _COMPARE if n == "compare" else ""
    yield "stablehlo.divide", [_F, f"%c: {_F}"], [_F], "", "", f"  %c = stablehlo.constant dense<2.0> : {_F}\n"
    for n in CHLO:
        binary = n in ("next_after", "polygamma", "zeta", "mulhi")
        t = _I if n == "mulhi" else _C if n.startswith("_") else _F
        attributes = "value = 1.0 : f32" if n == "constant_like" else ""
        yield f"chlo.{n}", [t] * (2 if binary else 1), [_P if n in _COMPARES else t], attributes
    for n in CHLO_BROADCAST:
        t = "i32" if n in _SHIFT else "f32"
        out = {"compare": "i1", "complex": "complex<f32>"}.get(n, t)
        operands = [f"tensor<4x6x{t}>", f"tensor<6x{t}>"]
        yield f"chlo.broadcast_{n}", operands, [f"tensor<4x6x{out}>"], _CHLO_COMPARE if n == "compare" else ""


#: Op name -> program.
SAMPLES: dict[str, str] = {name: program(name, *arguments) for name, *arguments in (
    *_elementwise(),
    ("chlo.conj", [_C], [_C]),
    ("chlo.constant", [], ["tensor<4xf32>"], _FOUR),
    ("chlo.broadcast_select", ["tensor<6xi1>", _F, _F], [_F]),
    (
        "chlo.ragged_dot", ["tensor<8x4xf32>", "tensor<2x4x6xf32>", "tensor<2xi64>"], ["tensor<8x6xf32>"],
        f"ragged_dot_dimension_numbers = {_RAGGED}, precision_config = []",
    ),
    (
        "chlo.scan", ["tensor<5x4xf32>", "tensor<4xf32>"], ["tensor<5x4xf32>", "tensor<4xf32>"],
        "dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>",
        "{\n^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):\n  %z = stablehlo.add %x, %y : tensor<4xf32>\n"
        "  stablehlo.return %z, %z : tensor<4xf32>, tensor<4xf32>\n}",
    ),
    ("chlo.top_k", [_F], ["tensor<4x2xf32>", "tensor<4x2xi32>"], "k = 2 : i64"),
    (
        "stablehlo.batch_norm_grad", [_F, *["tensor<6xf32>"] * 3, _F], [_F, "tensor<6xf32>", "tensor<6xf32>"],
        "epsilon = 1.0 : f32, feature_index = 1 : i64",
    ),
    (
        "stablehlo.batch_norm_inference", [_F, *["tensor<6xf32>"] * 4], [_F],
        "epsilon = 100.0 : f32, feature_index = 1 : i64",
    ),
    (
        "stablehlo.batch_norm_training", [_F, *["tensor<6xf32>"] * 2], [_F, "tensor<6xf32>", "tensor<6xf32>"],
        "epsilon = 1.0 : f32, feature_index = 1 : i64",
    ),
    ("stablehlo.bitcast_convert", [_I], ["tensor<4x6x4xi8>"]),
    ("stablehlo.broadcast", [_F], ["tensor<2x4x6xf32>"], "broadcast_sizes = array<i64: 2>"),
    (
        "stablehlo.broadcast_in_dim", ["tensor<4x1xf32>"], ["tensor<4x6x2xf32>"],
        "broadcast_dimensions = array<i64: 0, 1>",
    ),
    (
        "stablehlo.cholesky", ["%c: tensor<4x2x2xf32>"], ["tensor<4x2x2xf32>"], "lower = true", "",
        "  %c = stablehlo.constant dense<[[[4.0, 2.0], [2.0, 5.0]], [[9.0, 3.0], [3.0, 2.0]], "
        "[[1.0, 0.0], [0.0, 1.0]], [[4.0, 0.0], [0.0, 9.0]]]> : tensor<4x2x2xf32>\n",
    ),
    ("stablehlo.clamp", ["tensor<f32>", _F, _F], [_F]),
    ("stablehlo.complex", [_F, _F], [_C]),
    ("stablehlo.concatenate", [_F, _F], ["tensor<4x12xf32>"], "dimension = 1 : i64"),
    ("stablehlo.constant", [], ["tensor<4xf32>"], _FOUR),
    ("stablehlo.convert", [_F], ["tensor<4x6xf64>"]),
    ("stablehlo.convolution", ["tensor<4x8x2xf32>", "tensor<3x2x4xf32>"], ["tensor<4x8x4xf32>"], _CONV),
    ("stablehlo.dot", ["tensor<4x8xf32>", "tensor<8x6xf32>"], [_F]),
    (
        "stablehlo.dot_general", ["tensor<2x4x8xf32>", "tensor<2x8x6xf32>"], ["tensor<2x4x6xf32>"],
        f"dot_dimension_numbers = {_DOT}",
    ),
    (
        "stablehlo.dynamic_slice", [_F, "tensor<i32>", "tensor<i32>"], ["tensor<4x2xf32>"],
        "slice_sizes = array<i64: 4, 2>",
    ),
    ("stablehlo.dynamic_update_slice", [_F, "tensor<4x2xf32>", "tensor<i32>", "tensor<i32>"], [_F]),
    ("stablehlo.einsum", ["tensor<4x8xf32>", "tensor<8x6xf32>"], [_F], 'einsum_config = "ij,jk->ik"'),
    (
        "stablehlo.fft", ["tensor<4x8xcomplex<f32>>"], ["tensor<4x8xcomplex<f32>>"],
        "fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: 8>",
    ),
    (
        "stablehlo.gather", [_F, "tensor<8xi32>"], ["tensor<8x6xf32>"],
        f"dimension_numbers = {_TAKE}, slice_sizes = array<i64: 1, 6>",
    ),
    ("stablehlo.get_dimension_size", [_F], ["tensor<i32>"], "dimension = 0 : i64"),
    ("stablehlo.imag", [_C], [_F]),
    ("stablehlo.iota", [], [_I], "iota_dimension = 1 : i64"),
    ("stablehlo.map", [_F, _F], [_F], "dimensions = array<i64: 0, 1>", reducer("multiply")),
    ("stablehlo.negate", [_F], [_F]),
    ("stablehlo.optimization_barrier", [_F, "tensor<4xf32>"], [_F, "tensor<4xf32>"]),
    (
        "stablehlo.pad", [_F, "%c: tensor<f32>"], ["tensor<4x8xf32>"],
        "edge_padding_low = array<i64: 0, 2>, edge_padding_high = array<i64: 0, 0>, "
        "interior_padding = array<i64: 0, 0>",
        "", _ZERO,
    ),
    ("stablehlo.real", [_C], [_F]),
    ("stablehlo.reduce", [_F, "%c: tensor<f32>"], ["tensor<4xf32>"], "dimensions = array<i64: 1>", reducer(), _ZERO),
    ("stablehlo.reduce_window", [_F, "%c: tensor<f32>"], ["tensor<4x3xf32>"], _POOL, reducer(), _ZERO),
    ("stablehlo.reshape", ["tensor<4x6xf32>"], ["tensor<2x12xf32>"]),
    ("stablehlo.reverse", [_F], [_F], "dimensions = array<i64: 1>"),
    (
        "stablehlo.rng", ["tensor<f32>", "tensor<f32>", "%c: tensor<2xi64>"], [_F],
        "rng_distribution = #stablehlo<rng_distribution UNIFORM>", "",
        "  %c = stablehlo.constant dense<[4, 6]> : tensor<2xi64>\n",
    ),
    (
        "stablehlo.rng_bit_generator", ["tensor<2xui64>"], ["tensor<2xui64>", "tensor<4x6xui32>"],
        "rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>",
    ),
    (
        "stablehlo.scatter", [_F, "tensor<8xi32>", "tensor<8x6xf32>"], [_F],
        f"scatter_dimension_numbers = {_PUT}, indices_are_sorted = false, unique_indices = false", reducer(),
    ),
    ("stablehlo.select", [_P, _F, _F], [_F]),
    (
        "stablehlo.select_and_scatter", [_F, "tensor<4x3xf32>", "%c: tensor<f32>"], [_F], _POOL,
        f"{comparator('LT')}, {reducer()}", _ZERO,
    ),
    (
        "stablehlo.slice", [_F], ["tensor<4x3xf32>"],
        "start_indices = array<i64: 0, 1>, limit_indices = array<i64: 4, 4>, strides = array<i64: 1, 1>",
    ),
    ("stablehlo.sort", [_F], [_F], "dimension = 1 : i64, is_stable = true", comparator("LT")),
    ("stablehlo.torch_index_select", [_F, "tensor<2xi32>"], ["tensor<2x6xf32>"], "dim = 0 : i64, batch_dims = 0 : i64"),
    ("stablehlo.transpose", [_F], ["tensor<6x4xf32>"], "permutation = array<i64: 1, 0>"),
    (
        "stablehlo.triangular_solve", ["%c: tensor<2x2xf32>", "tensor<2x4xf32>"], ["tensor<2x4xf32>"],
        "left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>", "",
        "  %c = stablehlo.constant dense<[[2.0, 0.0], [1.0, 4.0]]> : tensor<2x2xf32>\n",
    ),
    ("stablehlo.uniform_dequantize", [_QUANTIZED], [_F]),
    ("stablehlo.uniform_quantize", [_F], [_QUANTIZED]),
)}  # fmt: skip

#: Op name -> why it has no rule of factors: what is sharded there is what is inside, or what it calls.
STRUCTURAL: dict[str, str] = {
    "stablehlo.while": "each carried value has a layout of its own; the ops inside are planned like others",
    "stablehlo.if": "each result has a layout of its own; the ops inside are planned like others",
    "stablehlo.case": "each result has a layout of its own; the ops inside are planned like others",
    "stablehlo.composite": "it is replaced by the body of its function",
    "stablehlo.custom_call": (
        "a sharding mark passes its operand through, shard_map has its own layouts, the batch of a call with a rule "
        "of Shardy's (or a known name) is split, any other is opaque"
    ),
    "stablehlo.return": "it yields what its region's op wants",
}

#: Op name -> why it runs replicated.
REPLICATED: dict[str, str] = REASONS | dict.fromkeys(COLLECTIVES, COLLECTIVE_REASON)

#: Ops that no backend at hand executes; their rules are checked, but not by running them.
NOT_RUN: dict[str, str] = {
    "stablehlo.rng": "its numbers are the device's own",
    "stablehlo.uniform_quantize": "XLA does not translate quantized types",
    "stablehlo.uniform_dequantize": "XLA does not translate quantized types",
    "chlo._asin_acos_kernel": "it is a step of how CHLO expands asin and acos",
    "chlo.constant": "CHLO expands it only where it is a scalar's",
}


def every() -> list[str]:
    """All ops of the two dialects that a program may have."""
    return sorted({*SAMPLES, *STRUCTURAL, *REPLICATED})
