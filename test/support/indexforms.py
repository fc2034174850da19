"""Programs of the ops that take indices, in the forms that the samples of `pcg.tools` do not have.

Sizes are odd, so that most shards are uneven; single indices are what XLA makes slices of.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from pcg.tools.op_samples import program
from pcg.tools.op_variants import Variant

_F, _U = "tensor<9x7xf32>", "tensor<{}x7xf32>"
#: What a scatter does with the old value %x and the update %y: its ops, and what it returns.
BODIES = {
    "returns the update": ("", "%y"),
    "returns the old": ("", "%x"),
    "returns a constant": ("%c = stablehlo.constant dense<2.0> : tensor<f32>", "%c"),
    "adds": ("%z = stablehlo.add %x, %y : tensor<f32>", "%z"),
    "adds, the update first": ("%z = stablehlo.add %y, %x : tensor<f32>", "%z"),
    "multiplies": ("%z = stablehlo.multiply %x, %y : tensor<f32>", "%z"),
    "largest": ("%z = stablehlo.maximum %y, %x : tensor<f32>", "%z"),
    "subtracts": ("%z = stablehlo.subtract %x, %y : tensor<f32>", "%z"),
    "subtracts, the update first": ("%z = stablehlo.subtract %y, %x : tensor<f32>", "%z"),
    "adds twice": ("%z = stablehlo.add %x, %y : tensor<f32>\n  %w = stablehlo.add %z, %y : tensor<f32>", "%w"),
    "doubles": ("%z = stablehlo.add %x, %x : tensor<f32>", "%z"),
}  # fmt: skip


def _body(name: str) -> str:
    ops, result = BODIES[name]
    return f"{{\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n  {ops}\n  stablehlo.return {result} : tensor<f32>\n}}"


def _rows(vector: int) -> str:
    return (
        "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
        f"scatter_dims_to_operand_dims = [0], index_vector_dim = {vector}>"
    )


def scatters() -> Iterator[tuple[str, str]]:
    """(what, program) of scatters: of one index and of many, with every body, with and without promises."""
    for count, indices in ((11, "tensor<11xi32>"), (1, "tensor<1xi32>"), (2, "tensor<2x1xi32>")):
        for name in BODIES:
            yield f"{name}, {count} indices", program(
                "stablehlo.scatter", [_F, indices, _U.format(count)], [_F], _rows(1), _body(name)
            )
    for promise in ("unique_indices = false", "indices_are_sorted = false", "unique_indices = false, indices_are_sorted = false"):
        yield promise, program(
            "stablehlo.scatter", [_F, "tensor<11xi32>", _U.format(11)], [_F], f"{_rows(1)}, {promise}",
            _body("returns the update"),
        )  # fmt: skip
    pair = (
        "{\n^bb0(%x: tensor<f32>, %y: tensor<i32>, %u: tensor<f32>, %v: tensor<i32>):\n"
        "  %z = stablehlo.add %x, %u : tensor<f32>\n  %w = stablehlo.add %y, %v : tensor<i32>\n"
        "  stablehlo.return %z, %w : tensor<f32>, tensor<i32>\n}"
    )
    for count in (11, 1):
        both = ["tensor<9x7xf32>", "tensor<9x7xi32>"]
        updates = [f"tensor<{count}x7xf32>", f"tensor<{count}x7xi32>"]
        yield f"of pairs, {count} indices", program(
            "stablehlo.scatter", [*both, f"tensor<{count}xi32>", *updates], both, _rows(1), pair
        )
        # Of several updates of one place the second takes the last.
        other = pair.replace("add %y, %v : tensor<i32>", "maximum %v, %v : tensor<i32>")
        yield f"of unlike pairs, {count} indices", program(
            "stablehlo.scatter", [*both, f"tensor<{count}xi32>", *updates], both, _rows(1), other
        )
    for name in ("adds", "returns the update"):
        numbers = (
            "scatter_dimension_numbers = #stablehlo.scatter<{}scatter_dims_to_operand_dims = [0, 1], index_vector_dim = {}>"
        )
        scalar = numbers.format("inserted_window_dims = [0, 1], ", 1)
        yield f"{name} to elements", program(
            "stablehlo.scatter", [_F, "tensor<11x2xi32>", "tensor<11xf32>"], [_F], scalar, _body(name)
        )
        yield f"{name} to one element", program(
            "stablehlo.scatter", [_F, "tensor<1x2xi32>", "tensor<1xf32>"], [_F], scalar, _body(name)
        )
        yield f"{name} to one element, no batch", program(
            "stablehlo.scatter", [_F, "tensor<2xi32>", "tensor<f32>"], [_F],
            numbers.format("inserted_window_dims = [0, 1], ", 0), _body(name),
        )  # fmt: skip
        yield f"{name} to a window", program(
            "stablehlo.scatter", [_F, "tensor<2xi32>", "tensor<3x2xf32>"], [_F],
            numbers.format("update_window_dims = [0, 1], ", 0), _body(name),
        )  # fmt: skip
        yield f"{name} to windows", program(
            "stablehlo.scatter", [_F, "tensor<4x2xi32>", "tensor<4x3x2xf32>"], [_F],
            numbers.format("update_window_dims = [1, 2], ", 1), _body(name),
        )  # fmt: skip
        yield f"{name} in batches", program(
            "stablehlo.scatter", ["tensor<3x9x7xf32>", "tensor<3x2xi32>", "tensor<3x2x7xf32>"], ["tensor<3x9x7xf32>"],
            "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], "
            "input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], "
            "index_vector_dim = 2>", _body(name),
        )  # fmt: skip


def gathers() -> Iterator[tuple[str, str]]:
    """(what, program) of gathers: of one index and of many."""

    def of(operand: str, indices: str, result: str, numbers: str, sizes: str) -> str:
        return program(
            "stablehlo.gather", [operand, indices], [result],
            f"dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = array<i64: {sizes}>",
        )  # fmt: skip

    row = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"
    for count in (11, 2, 1):
        yield f"{count} rows", of(_F, f"tensor<{count}xi32>", f"tensor<{count}x7xf32>", row, "1, 7")
        window = "offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1"
        yield f"{count} windows", of(_F, f"tensor<{count}x2xi32>", f"tensor<{count}x4x2xf32>", window, "4, 2")
    yield "one row, no batch", of(
        _F, "tensor<1xi32>", "tensor<7xf32>",
        "offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 0", "1, 7",
    )  # fmt: skip
    yield "one window, no batch", of(
        _F, "tensor<2xi32>", "tensor<4x2xf32>",
        "offset_dims = [0, 1], start_index_map = [1, 0], index_vector_dim = 0", "4, 2",
    )  # fmt: skip
    yield "one element", of(
        _F, "tensor<1x2xi32>", "tensor<1xf32>",
        "collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1", "1, 1",
    )  # fmt: skip


def slices() -> Iterator[tuple[str, str, str]]:
    """(op, what, program) of dynamic slices and updates."""
    for sizes in ("3, 7", "3, 2", "1, 1", "8, 7", "9, 1"):
        part = f"tensor<{sizes.replace(', ', 'x')}xf32>"
        i = ["tensor<i32>", "tensor<i32>"]
        yield "stablehlo.dynamic_slice", sizes, program(
            "stablehlo.dynamic_slice", [_F, *i], [part], f"slice_sizes = array<i64: {sizes}>"
        )
        yield "stablehlo.dynamic_update_slice", sizes, program("stablehlo.dynamic_update_slice", [_F, part, *i], [_F])
    # Narrower than the place of a block, and than the last start: then XLA itself writes beyond the end.
    for kind in ("i8", "ui8", "i16", "i64", "ui64"):
        for op, text in (
            ("stablehlo.dynamic_slice", program(
                "stablehlo.dynamic_slice", ["tensor<300xf32>", f"tensor<{kind}>"], ["tensor<50xf32>"],
                "slice_sizes = array<i64: 50>",
            )),
            ("stablehlo.dynamic_update_slice", program(
                "stablehlo.dynamic_update_slice", ["tensor<300xf32>", "tensor<50xf32>", f"tensor<{kind}>"],
                ["tensor<300xf32>"],
            )),
            ("stablehlo.gather", program(
                "stablehlo.gather", ["tensor<300x2xf32>", f"tensor<1x{kind}>"], ["tensor<50x2xf32>"],
                "dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0], "
                "index_vector_dim = 0>, slice_sizes = array<i64: 50, 2>",
            )),
            ("stablehlo.scatter", program(
                "stablehlo.scatter", ["tensor<300x2xf32>", f"tensor<1x{kind}>", "tensor<1x2xf32>"],
                ["tensor<300x2xf32>"], "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], "
                "scatter_dims_to_operand_dims = [0], index_vector_dim = 0>", _body("adds"),
            )),
        ):  # fmt: skip
            yield op, f"{kind} on 300", text


def interpreted(variant: Variant) -> bool:
    """Whether the reference interpreter says what is right: on one device XLA writes beyond the end."""
    return variant.what in ("i8 on 300", "ui8 on 300")


@cache
def every() -> tuple[Variant, ...]:
    """All of them; `element` of a variant is that of the data."""
    found = [
        *(Variant("stablehlo.scatter", "f32", what, text) for what, text in scatters()),
        *(Variant("stablehlo.gather", "f32", what, text) for what, text in gathers()),
        *(Variant(op, "f32", what, text) for op, what, text in slices()),
    ]
    assert len({(v.op, v.what) for v in found}) == len(found)
    return tuple(found)
