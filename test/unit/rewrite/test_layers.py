"""The parts of pcg-unroll and pcg-unstack: integers, stacks, signatures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.ir.stablehlo import eval_module
from pcg.ir.walk import entry_of
from pcg.rewrite.layers.numbers import number_of
from pcg.rewrite.layers.signature import _composed
from pcg.rewrite.layers.stacks import Stack, block_of

BINARY = ("add", "subtract", "multiply", "divide", "remainder", "minimum", "maximum", "and", "or", "xor")
TYPES = {"i8": np.int8, "ui8": np.uint8, "i32": np.int32, "ui32": np.uint32}


@given(st.sampled_from(BINARY), st.sampled_from(sorted(TYPES)), st.integers(-300, 300), st.integers(-300, 300))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_integers_are_those_of_the_interpreter(name: str, element: str, a: int, b: int) -> None:
    dtype = TYPES[element]
    a, b = (int(np.array(n).astype(dtype)) for n in (a, b))
    if name in ("divide", "remainder") and b == 0:
        return
    t = f"tensor<{element}>"
    module = load_module(
        f"""func.func @main() -> (tensor<i16>, tensor<i1>) {{
        %a = stablehlo.constant dense<{a}> : {t}
        %b = stablehlo.constant dense<{b}> : {t}
        %0 = stablehlo.{name} %a, %b : {t}
        %1 = stablehlo.convert %0 : ({t}) -> tensor<i16>
        %2 = stablehlo.compare LT, %a, %0 : ({t}, {t}) -> tensor<i1>
        return %1, %2 : tensor<i16>, tensor<i1>
        }}""",
        make_context(),
    )
    want = [np.array(x).reshape(-1)[0] for x in eval_module(module, [])]
    returned = entry_of(module).regions[0].blocks[0].operations[-1].operation.operands
    assert [number_of(v) for v in returned] == [int(want[0]), int(want[1])]


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(1, 4)), max_size=6), st.integers(0, 7), st.integers(1, 8))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_stack_is_what_was_written_last(updates: list[tuple[int, int]], start: int, size: int) -> None:
    """Pieces of a stack are those of numpy's array after the same updates."""
    start, size = start, min(size, 8 - start)
    values = ", ".join(f"%v{i}: tensor<2x{min(n, 8 - a)}xf32>" for i, (a, n) in enumerate(updates))
    module = load_module(f"func.func @main(%x: tensor<2x8xf32>{', ' if values else ''}{values}) {{ return }}", make_context())
    base, *rows = entry_of(module).regions[0].blocks[0].arguments
    stack, want = Stack.of(base, 1), [(0, i) for i in range(8)]
    for k, (row, (a, n)) in enumerate(zip(rows, updates, strict=True), 1):
        n = min(n, 8 - a)
        stack = stack.updated(row, a)
        want[a : a + n] = [(k, i) for i in range(n)]
    got = [(p.value.arg_number, p.offset + i) for p in stack.pieces for i in range(p.size)]
    assert got == want
    assert [p.start for p in stack.pieces] == list(np.cumsum([0, *(p.size for p in stack.pieces)]))[:-1]
    with ir.InsertionPoint.at_block_begin(base.owner), ir.Location.unknown(module.context):
        assert list(stack.read(start, start + size).type.shape) == [2, size]
    module.operation.verify()


SHAPES = [(24,), (2, 12), (4, 6), (2, 3, 4), (1, 4, 3, 2), (6, 1, 4), (3, 8)]


def _box(data: st.DataObject, shape: tuple[int, ...]) -> list[tuple[int, int]]:
    starts = [data.draw(st.integers(0, n - 1)) for n in shape]
    return [(a, data.draw(st.integers(a + 1, n))) for a, n in zip(starts, shape, strict=True)]


@given(st.data())
@settings(max_examples=80, deadline=None, derandomize=True)
def test_blocks_are_those_of_what_they_are_blocks_of(data: st.DataObject) -> None:
    """A slice of slices, reshapes and concatenations, by the interpreter and by numpy."""
    module = load_module("func.func @main() { return }", make_context())
    func, want = entry_of(module), np.arange(24, dtype=np.int32)
    last = func.regions[0].blocks[0].operations[-1].operation
    with module.context, ir.InsertionPoint(last), ir.Location.unknown():
        i32 = ir.IntegerType.get_signless(32)
        value = emit.iota(emit.tensor([24], i32), 0)
        for kind in data.draw(st.lists(st.sampled_from(["reshape", "slice", "concatenate"]), max_size=4)):
            if kind == "reshape":
                fitting = [s for s in SHAPES if np.prod(s) == want.size] + [(want.size,)]
                shape = data.draw(st.sampled_from(fitting))
                value, want = emit.reshape(value, shape), want.reshape(shape)
            elif kind == "slice":
                box = _box(data, want.shape)
                value, want = emit.slice_box(value, *map(list, zip(*box, strict=True))), want[tuple(slice(*b) for b in box)]
            else:
                other = emit.binary("add", value, value)
                d = data.draw(st.integers(0, want.ndim - 1))
                value, want = emit.concatenate([value, other], d), np.concatenate([want, 2 * want], d)
        box = _box(data, want.shape)
        found = block_of(value, *map(list, zip(*box, strict=True)))
        ir.Operation.create("func.return", operands=[found])
    last.erase()
    with module.context:
        func.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([], [found.type]))
    np.testing.assert_array_equal(np.array(eval_module(module, [])[0]), want[tuple(slice(*b) for b in box)])


@pytest.mark.parametrize(
    ("before", "counts", "want"),
    [([0, 0, 0], [0, 2, 0], [0, 2, 0]), ([0, 2, 0], [3, 0, 0, 0], [3, 2, 0]), ([2, 0, 0], [0, 0, 0, 4], [2, 0, 4])],
)
def test_counts_of_two_passes(before: list[int], counts: list[int], want: list[int]) -> None:
    """The second pass looks at the arguments that the first one left."""
    assert _composed(before, counts) == want


@pytest.mark.parametrize("counts", ["array<i64: 2>", "array<i64: -1, 4>", "[2, 1]", "array<i64: 2, 1, 1>"])
def test_counts_are_checked(counts: str) -> None:
    text = f"""func.func @main(%a: tensor<1xf32>, %b: tensor<1xf32>, %c: tensor<1xf32>) attributes
    {{pcg.stacked_arguments = {counts}}} {{ return }}"""
    with pytest.raises(PcgError, match="pcg.stacked_arguments of function 'main' is .*add up to 3"):
        load_module(text, make_context())
