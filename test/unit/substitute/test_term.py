"""Terms: the type of what every operator computes, what cannot be built and what is said of it, text, equality."""

from __future__ import annotations

import re

import pytest

from pcg.substitute.errors import TermError
from pcg.substitute.operators import OPERATORS
from pcg.substitute.tensor_type import TensorType
from pcg.substitute.term import Parameter, Term, apply, subterms, type_of, variable, variables

PARALLEL = ("partition", "combine", "replicate", "reduce", "pipeline", "batch")
CONV = ("conv", (1, "same", "none"))
VALID = ("conv", (1, "valid", "none"))


def typed(text: str) -> TensorType:
    """The type that prints as `text`."""
    sizes = re.findall(r"(\d+)(?:\{(\d+)\})?(?:/(\d+))?", text)
    shape, degrees, microbatches = ([int(s[i] or 1) for s in sizes] for i in range(3))
    found = TensorType(tuple(shape), tuple(degrees), tuple(microbatches))
    assert str(found) == text
    return found


def x(text: str = "1x2x4", name: str = "x") -> Term:
    return variable(name, typed(text))


BUILT: list[tuple[str, tuple[Parameter, ...], str, str]] = [
    ("add", (), "2{2}x4/2x6{3}; 2{2}x4/2x6{3}", "2{2}x4/2x6{3}"),
    ("mul", (), "2{2}x4/2x6{3}; 2{2}x4/2x6{3}", "2{2}x4/2x6{3}"),
    ("scale", (), "2{2}x4/2x6{3}; ", "2{2}x4/2x6{3}"),
    ("neg", (), "2{2}x4/2x6{3}", "2{2}x4/2x6{3}"),
    ("neg", (), "1", "1"),
    ("multiple", (3,), "2{2}x4/2x6{3}", "2{2}x4/2x6{3}"),
    ("unary", ("relu",), "2{2}x4/2x6{3}", "2{2}x4/2x6{3}"),
    # Of products: rows, columns, what is summed over, all of them, copies of both, batches, elements of a replica
    # dimension on one device, rows in slices.
    ("matmul", ("none",), "1x2x4; 1x4x6", "1x2x6"),
    ("matmul", ("relu",), "1x2{2}x4; 2{2}x4x6", "1x2{2}x6"),
    ("matmul", ("relu",), "3{3}x2x4; 1x4x6{3}", "1x2x6{3}"),
    ("matmul", ("none",), "1x2x4{2}; 1x4{2}x6", "2{2}x2x6"),
    ("matmul", ("none",), "3{3}x2{2}x4{4}; 2{2}x4{4}x6{3}", "4{4}x2{2}x6{3}"),
    ("matmul", ("tanh",), "5{5}x2x4; 5{5}x4x6", "5{5}x2x6"),
    ("matmul", ("none",), "10{10}x2x4{2}; 5{5}x4{2}x6{2}", "10{10}x2x6{2}"),
    ("matmul", ("relu",), "1x3{3}x5x2x4; 1x3{3}x5x4x6", "1x3{3}x5x2x6"),
    ("matmul", ("none",), "2x2x4; 1x4x6", "2x2x6"),
    ("matmul", ("none",), "4{2}x2x4; 4{2}x4x6", "4{2}x2x6"),
    ("matmul", ("none",), "1x4/2x4; 1x4x6", "1x4/2x6"),
    ("linear", ("none",), "1x2x4; 1x6x4", "1x2x6"),
    ("linear", ("relu",), "3{3}x2{2}x4; 2{2}x6{3}x4", "1x2{2}x6{3}"),
    ("linear", ("none",), "1x2/2x4{2}; 1x6x4{2}", "2{2}x2/2x6"),
    ("embedding", (), "1x3; 1x8x4", "1x3x4"),
    ("embedding", (), "1x3{3}; 3{3}x8x4", "1x3{3}x4"),
    ("embedding", (), "2{2}x3; 1x8{2}x4", "2{2}x3x4"),
    ("embedding", (), "2{2}x3; 1x8x4{2}", "1x3x4{2}"),
    ("embedding", (), "4{4}x3{3}; 3{3}x8{2}x4{2}", "2{2}x3{3}x4{2}"),
    ("embedding", (), "1x4/2; 1x8x4", "1x4/2x4"),
    ("scatter_add", (), "1x8x4; 1x3; 1x3x4", "1x8x4"),
    ("scatter_add", (), "1x2x4; 1x9; 1x9x4", "1x2x4"),
    ("conv", (1, "same", "none"), "1x2x3x5x7; 1x4x3x3x3", "1x2x4x5x7"),
    ("conv", (1, "valid", "none"), "1x2x3x5x7; 1x4x3x3x5", "1x2x4x3x3"),
    ("conv", (2, "same", "relu"), "1x2x3x5x7; 1x4x3x3x3", "1x2x4x3x4"),
    ("conv", (2, "valid", "relu"), "1x2x3x5x7; 1x4x3x3x3", "1x2x4x2x3"),
    ("conv", (1, "same", "relu"), "1x2x6x5x5; 1x4x3x3x3", "1x2x4x5x5"),  # two groups
    ("conv", (1, "same", "relu"), "2{2}x2x3x5x5; 1x4{2}x3x3x3", "1x2x4{2}x5x5"),
    ("conv", (1, "same", "none"), "1x2x4{4}x5x5; 1x4x4{4}x3x3", "4{4}x2x4x5x5"),
    ("conv", (1, "same", "relu"), "3{3}x2{2}x4x6{2}x6{3}; 36{36}x4x4x3x3", "3{3}x2{2}x4x6{2}x6{3}"),
    ("conv", (1, "same", "relu"), "1x2/2x4x6/3x6; 1x4x4x3x3", "1x2/2x4x6/3x6"),
    ("reduce_sum", (1,), "2{2}x4x6{3}", "2{2}x6{3}"),
    ("reduce_sum", (2,), "2{2}x4x6{3}", "6{6}x4"),
    ("reduce_sum", (2,), "2x4x6{3}", "6{3}x4"),
    ("reduce_max", (1,), "2{2}x4x6{3}", "2{2}x6{3}"),
    ("softmax", (1,), "2{2}x4x6{3}", "2{2}x4x6{3}"),
    ("pool_average", (2, 2, "valid"), "2{2}x4{2}x3{3}x6x5", "2{2}x4{2}x3{3}x3x2"),
    ("pool_max", (3, 2, "same"), "1x4x3x6{3}x5", "1x4x3x3{3}x3"),
    ("concat", (1,), "2{2}x4x6{3}; 2{2}x3x6{3}", "2{2}x7x6{3}"),
    ("concat", (0,), "2x4/2x6{3}; 1x4/2x6{3}", "3x4/2x6{3}"),
    ("slice", (1, 1, 2), "2{2}x4x6{3}", "2{2}x2x6{3}"),
    ("slice", (0, 0, 2), "2x4{2}x6/3", "2x4{2}x6/3"),
    ("transpose", (1, 3), "2{2}x4{4}x6/3x8", "2{2}x8x6/3x4{4}"),
    ("merge", (1,), "2{2}x4{2}x6x8{4}", "2{2}x24{2}x8{4}"),
    ("unmerge", (1, 6), "2{2}x24{2}x8{4}", "2{2}x4{2}x6x8{4}"),
    ("broadcast", (1, 5), "2{2}x4{4}x6/3", "2{2}x5x4{4}x6/3"),
    ("broadcast", (3, 5), "2{2}x4{4}x6/3", "2{2}x4{4}x6/3x5"),
    ("enlarge", (5,), "2{2}x4{2}x3x3x1", "2{2}x4{2}x3x5x5"),
    ("ones_like", (), "2{2}x4/2x6{3}", "2{2}x4/2x6{3}"),
    ("identity", (3,), "", "1x3x3"),
    ("conv_identity", (2, 3), "", "1x2x2x3x3"),
    ("pool_kernel", (2, 3), "", "1x2x1x3x3"),
    ("zeros", (2, 3), "", "1x2x3"),
    ("partition", (1, 2), "2{2}x4{2}x6", "2{2}x4{4}x6"),
    ("combine", (1, 2), "2{2}x4{4}x6", "2{2}x4{2}x6"),
    ("replicate", (1, 2), "2{2}x4{2}x6", "2{2}x8{4}x6"),
    ("reduce", (1, 2), "2{2}x8{4}x6", "2{2}x4{2}x6"),
    ("pipeline", (1, 2), "2{2}x4{2}x6", "2{2}x4{2}/2x6"),
    ("batch", (1, 2), "2{2}x4{2}/2x6", "2{2}x4{2}x6"),
]  # fmt: skip


def operands(operator: str, texts: str) -> tuple[TensorType, ...]:
    parts = texts.split("; ")
    return tuple(typed(t) for t in (parts if OPERATORS[operator].arity else []))


@pytest.mark.parametrize(("operator", "parameters", "texts", "result"), BUILT)
def test_what_an_operator_computes_has_a_type(
    operator: str, parameters: tuple[Parameter, ...], texts: str, result: str
) -> None:
    assert str(type_of(operator, parameters, operands(operator, texts))) == result


def test_types_of_all_operators_are_tested() -> None:
    assert {operator for operator, *_ in BUILT} == OPERATORS.keys()
    always = {"neg", "ones_like"}  # of every tensor there is one
    assert {operator for operator, *_ in REFUSED} == OPERATORS.keys() - always


REFUSED: list[tuple[str, tuple[Parameter, ...], str, str]] = [
    ("add", (), "1x2x4; 1x2x3", "operands 1x2x4 and 1x2x3; allowed: equal types"),
    ("add", (), "1x2x4; 1x2x4{2}", "operands 1x2x4 and 1x2x4{2}; allowed: equal types"),
    ("mul", (), "1x2x4; 1x2x4/2", "operands 1x2x4 and 1x2x4/2; allowed: equal types"),
    ("mul", (), "1x2x4; 1x2", "operands 1x2x4 and 1x2; allowed: equal types"),
    ("scale", (), "1x2x4; 1", "operands 1x2x4 and 1; allowed: a tensor and one of no dimensions"),
    ("scale", (), "; ", "allowed: a tensor and one of no dimensions"),
    ("multiple", ("two",), "1x2x4", "parameter 'factor' of multiple is 'two'; allowed: an integer"),
    ("unary", ("sine",), "1x2x4", "function 'sine'; allowed: exp, gelu, log"),
    ("unary", ("none",), "1x2x4", "function 'none'; allowed: exp, gelu, log"),
    ("matmul", ("none",), "1x2x4; 1x3x6", "operands 1x2x4 and 1x3x6; allowed: [r, ..., m, k] and [r, ..., k, n]"),
    ("matmul", ("none",), "1x3x2x4; 1x2x4x6", "allowed: [r, ..., m, k] and [r, ..., k, n]"),
    ("matmul", ("none",), "1x2x4; 1x3x4x6", "allowed: [r, ..., m, k] and [r, ..., k, n]"),
    ("matmul", ("none",), "2x4; 4x6", "allowed: [r, ..., m, k] and [r, ..., k, n]"),
    ("matmul", ("sine",), "1x2x4; 1x4x6", "function 'sine'; allowed: none, exp"),
    (
        "matmul", ("relu",), "1x2x4{2}; 1x4{2}x6",
        "activation relu of partial sums; allowed: none where 1x2x4{2} is split along k",
    ),
    ("matmul", ("none",), "1x2x4{2}; 1x4x6", "allowed: those whose contracted dimensions are split equally"),
    ("matmul", ("none",), "1x4x2x4; 1x4{2}x4x6", "allowed: those whose batch dimensions are split equally"),
    ("matmul", ("none",), "1x4/2x2x4; 1x4x4x6", "allowed: those whose batch dimensions are split equally"),
    (
        "matmul", ("none",), "1x2{2}x4; 1x4x6",
        "allowed: replica dimensions with the copies that the other's parts need (1 and 2",
    ),
    (
        "matmul", ("none",), "1x2x4; 1x4x6{2}",
        "allowed: replica dimensions with the copies that the other's parts need (2 and 1",
    ),
    ("matmul", ("none",), "2{2}x2x4; 1x4x6", "allowed: replica dimensions with the copies"),
    ("matmul", ("none",), "2{2}x2x4; 3{3}x4x6", "allowed: replica dimensions with the copies"),
    ("matmul", ("none",), "2x2x4; 3x4x6", "allowed: as many elements of the replica dimension on a device"),
    ("matmul", ("none",), "1x2x4/2; 1x4x6", "operand 1x2x4/2; allowed: one microbatch along dimensions 0, 2"),
    ("matmul", ("none",), "1x2x4; 1x4x6/2", "allowed: one microbatch"),
    ("linear", ("none",), "1x2x4; 1x4x6", "operands 1x2x4 and 1x4x6; allowed: [r, m, k] and [r, n, k]"),
    ("linear", ("none",), "1x3x2x4; 1x3x6x4", "allowed: [r, m, k] and [r, n, k]"),
    ("linear", ("sigmoid",), "1x2x4{2}; 1x6x4{2}", "activation sigmoid of partial sums"),
    ("linear", ("none",), "1x2{2}x4; 1x6x4", "allowed: replica dimensions with the copies"),
    ("embedding", (), "1x3x2; 1x8x4", "operands 1x3x2 and 1x8x4; allowed: [r, m] and [r, v, n]"),
    ("embedding", (), "1x3; 1x8", "allowed: [r, m] and [r, v, n]"),
    (
        "embedding", (), "1x3; 1x8{2}x4",
        "allowed: replica dimensions with the copies that the other's parts need (2 and 1",
    ),
    (
        "embedding", (), "1x3{3}; 1x8x4",
        "allowed: replica dimensions with the copies that the other's parts need (1 and 3",
    ),
    ("embedding", (), "1x3; 1x8x4/2", "operand 1x8x4/2; allowed: one microbatch"),
    (
        "scatter_add", (), "8x4; 1x3; 1x3x4",
        "operands 8x4, 1x3 and 1x3x4; allowed: [r, v, n], [r, m] and [r, m, n]",
    ),
    ("scatter_add", (), "1x8x4; 3; 1x3x4", "allowed: [r, v, n], [r, m] and [r, m, n]"),
    ("scatter_add", (), "1x8x4; 1x3; 3x4", "allowed: [r, v, n], [r, m] and [r, m, n]"),
    (
        "scatter_add", (), "1x8x4; 1x3; 1x3x5",
        "operands 1x8x4 and 1x3x5; allowed: types that are equal but for dimension 1",
    ),
    ("scatter_add", (), "1x8x4{2}; 1x3; 1x3x4", "allowed: types that are equal but for dimension 1"),
    ("scatter_add", (), "1x8x4; 1x3; 2x3x4", "allowed: types that are equal but for dimension 1"),
    (
        "scatter_add", (), "1x8x4; 1x2; 1x3x4",
        "operands 1x8x4, 1x2 and 1x3x4; allowed: as many indices as rows, none split",
    ),
    ("scatter_add", (), "1x8{2}x4; 1x3; 1x3x4", "allowed: as many indices as rows, none split"),
    ("scatter_add", (), "1x8x4; 1x3{3}; 1x3{3}x4", "allowed: as many indices as rows, none split"),
    ("scatter_add", (), "1x8x4; 1x3; 1x3{3}x4", "allowed: as many indices as rows, none split"),
    ("scatter_add", (), "2x8x4; 1x3; 2x3x4", "allowed: one copy, one microbatch"),
    ("scatter_add", (), "1x8x4/2; 1x3; 1x3x4/2", "allowed: one copy, one microbatch"),
    ("scatter_add", (), "1x8x4; 1x4/2; 1x4/2x4", "allowed: one copy, one microbatch"),
    (*CONV, "1x2x3x5x5; 1x4x2x3x3", "allowed: [r, n, c, h, w] and [r, o, c / groups, kh, kw]"),
    (*CONV, "1x2x4x5x5; 1x3x2x3x3", "allowed: output channels that the 2 groups divide"),
    (*CONV, "1x2x3; 1x4x3x3x3", "allowed: [r, n, c, h, w] and [r, o, c / groups, kh, kw]"),
    (*CONV, "1x2x4{2}x5x5; 1x4x4x3x3", "allowed: those whose input channels are split equally"),
    (*CONV, "1x2x4{2}x5x5; 1x4x2x3x3", "allowed: channels that are not split, where there are groups"),
    (*CONV, "2{2}x2x4x5x5; 1x4{2}x2x3x3", "allowed: channels that are not split, where there are groups"),
    (*CONV, "1x2x3x5x5; 1x4x3x3{3}x3", "kernel is split along dimension 3 of 1x4x3x3{3}x3; allowed: degree 1"),
    (
        *CONV, "1x2x3x5{5}x5; 1x4x3x3x3",
        "allowed: replica dimensions with the copies that the other's parts need (1 and 5",
    ),
    (*CONV, "2x2x3x5x5; 1x4x3x3x3", "allowed: one element of the replica dimension on a device"),
    (*CONV, "1x2x4/2x5x5; 1x4x4x3x3", "operand 1x2x4/2x5x5; allowed: one microbatch along dimensions 0, 2"),
    ("conv", (1, "same", "relu"), "1x2x4{2}x5x5; 1x4x4{2}x3x3", "activation relu of partial sums; allowed: none"),
    ("conv", (1, "same", "sine"), "1x2x3x5x5; 1x4x3x3x3", "function 'sine'; allowed: none, exp"),
    ("conv", (1, "full", "none"), "1x2x3x5x5; 1x4x3x3x3", "padding 'full'; allowed: same, valid"),
    ("conv", (0, "same", "none"), "1x2x3x5x5; 1x4x3x3x3", "stride 0; allowed: 1 or more"),
    ("conv", (2, "valid", "none"), "1x2x3x6{2}x6; 2{2}x4x3x2x2", "dimension 3 of size 3 cannot be split 2 times"),
    (*VALID, "1x2x3x2x5; 1x4x3x3x3", "a window of 3x3 on 1x2x3x2x5; allowed: what fits"),
    ("reduce_sum", (0,), "1x2x4", "dimension 0; allowed: 1 to 2 of 1x2x4"),
    ("reduce_sum", (3,), "1x2x4", "dimension 3; allowed: 1 to 2 of 1x2x4"),
    ("reduce_sum", (2,), "1x2x4/2", "operand 1x2x4/2; allowed: one microbatch along dimensions 2"),
    ("reduce_max", (0,), "1x2x4", "dimension 0; allowed: 1 to 2 of 1x2x4"),
    ("reduce_max", (2,), "1x2x4{2}", "operand is split along dimension 2 of 1x2x4{2}; allowed: degree 1"),
    ("softmax", (0,), "1x2x4", "dimension 0; allowed: 1 to 2 of 1x2x4"),
    ("softmax", (2,), "1x2x4{2}", "operand is split along dimension 2 of 1x2x4{2}; allowed: degree 1"),
    ("softmax", (2,), "1x2x4/2", "operand is split along dimension 2 of 1x2x4/2; allowed: degree 1"),
    ("pool_average", (0, 1, "same"), "1x2x3x5x5", "a window of 0 on 1x2x3x5x5; allowed: 1 or more"),
    ("pool_average", (2, 1, "same"), "1x2x4", "a window of 2 on 1x2x4; allowed: 1 or more, on [r, n, c, h, w]"),
    ("pool_max", (3, 1, "valid"), "1x2x3x5x2", "a window of 3x3 on 1x2x3x5x2; allowed: what fits"),
    ("pool_max", (3, 1, "none"), "1x2x3x5x5", "padding 'none'; allowed: same, valid"),
    ("concat", (1,), "1x2{2}x4; 1x2x4", "operand is split along dimension 1 of 1x2{2}x4; allowed: degree 1"),
    ("concat", (1,), "1x2x4; 1x2{2}x4", "operand is split along dimension 1 of 1x2{2}x4; allowed: degree 1"),
    ("concat", (1,), "1x2x4; 1x2/2x4", "operand is split along dimension 1 of 1x2/2x4; allowed: degree 1"),
    ("concat", (1,), "1x2/2x4; 1x2x4", "operand is split along dimension 1 of 1x2/2x4; allowed: degree 1"),
    ("concat", (1,), "1x2x4; 1x2x3", "allowed: types that are equal but for the size of dimension 1"),
    ("concat", (1,), "1x2x4; 1x2x4{2}", "allowed: types that are equal but for the size of dimension 1"),
    ("concat", (1,), "1x2x4; 1x2", "allowed: types that are equal but for the size of dimension 1"),
    ("concat", (3,), "1x2x4; 1x2x4", "dimension 3; allowed: 0 to 2 of 1x2x4"),
    ("concat", (-1,), "1x2x4; 1x2x4", "dimension -1; allowed: 0 to 2 of 1x2x4"),
    ("slice", (2, 3, 2), "1x2x4", "elements 3 to 5 of dimension 2 of 1x2x4; allowed: those it has"),
    ("slice", (2, -1, 2), "1x2x4", "elements -1 to -1+2; allowed: at least one, from 0 on"),
    ("slice", (2, 0, 0), "1x2x4", "elements 0 to 0+0; allowed: at least one, from 0 on"),
    ("slice", (2, 0, 2), "1x2x4{2}", "operand is split along dimension 2 of 1x2x4{2}; allowed: degree 1"),
    ("transpose", (0, 1), "1x2x4", "dimension 0; allowed: 1 to 2 of 1x2x4"),
    ("transpose", (2, 1), "1x2x4", "dimensions 2 and 1; allowed: the lesser one first"),
    ("transpose", (1, 1), "1x2x4", "dimensions 1 and 1; allowed: the lesser one first"),
    ("merge", (2,), "1x2x4", "dimension 3; allowed: 0 to 2 of 1x2x4"),
    ("merge", (0,), "1x2x4", "dimension 0; allowed: 1 to 2 of 1x2x4"),
    ("merge", (1,), "1x2x4{2}", "operand is split along dimension 2 of 1x2x4{2}; allowed: degree 1"),
    ("unmerge", (2, 3), "1x2x4", "size 3; allowed: what divides 4"),
    ("unmerge", (2, 0), "1x2x4", "size 0; allowed: what divides 4"),
    ("unmerge", (2, 4), "1x2x4{2}", "dimension 2 of size 1 cannot be split 2 times"),
    ("broadcast", (0, 2), "1x2x4", "dimension 0; allowed: 1 to 3"),
    ("broadcast", (4, 2), "1x2x4", "dimension 4; allowed: 1 to 3"),
    ("broadcast", (1, 0), "1x2x4", "size 0; allowed: 1 or more"),
    ("enlarge", (4,), "1x4x3x3x3", "kernel 1x4x3x3x3 to 4; allowed: no smaller, and larger by an even number"),
    ("enlarge", (1,), "1x4x3x3x3", "kernel 1x4x3x3x3 to 1; allowed: no smaller"),
    ("enlarge", (3,), "1x3x3", "kernel 1x3x3 to 3; allowed: no smaller"),
    ("identity", (0,), "", "sizes 0; allowed: 1 or more"),
    ("conv_identity", (2, 2), "", "kernel 2; allowed: an odd number"),
    ("conv_identity", (0, 3), "", "sizes 0, 3; allowed: 1 or more"),
    ("pool_kernel", (2, 0), "", "sizes 2, 0; allowed: 1 or more"),
    ("zeros", (0, 2), "", "sizes 0, 2; allowed: 1 or more"),
    ("zeros", (2, -1), "", "sizes 2, -1; allowed: 1 or more"),
    *((name, (3, 2), "4{2}x4{2}/2x4", "dimension 3; allowed: 0 to 2 of 4{2}x4{2}/2x4") for name in PARALLEL),
    *((name, (-1, 2), "4{2}x4{2}/2x4", "dimension -1; allowed: 0 to 2") for name in PARALLEL),
    *((name, (1, 1), "4{2}x4{2}/2x4", "degree 1; allowed: 2 or more") for name in PARALLEL),
    *((name, (1, 0), "4{2}x4{2}/2x4", "degree 0; allowed: 2 or more") for name in PARALLEL),
    *((name, (1, -2), "4{2}x4{2}/2x4", "degree -2; allowed: 2 or more") for name in PARALLEL),
    ("partition", (1, 2), "1x3x4", "dimension 1 of size 3 cannot be split 2 times"),
    ("partition", (1, 2), "1x2{2}x4", "dimension 1 of size 2 cannot be split 4 times"),
    ("pipeline", (1, 2), "1x2{2}x4", "dimension 1 of size 2 cannot be split 4 times"),
    ("combine", (1, 2), "1x3{3}x4", "degree 3 of dimension 1 of 1x3{3}x4; allowed: what 2 divides"),
    ("reduce", (1, 2), "1x2x4", "degree 1 of dimension 1 of 1x2x4; allowed: what 2 divides"),
    ("batch", (1, 2), "1x2x4", "microbatches 1 of dimension 1 of 1x2x4; allowed: what 2 divides"),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "parameters", "texts", "says"), REFUSED)
def test_what_is_ill_typed_is_not_built(
    operator: str, parameters: tuple[Parameter, ...], texts: str, says: str
) -> None:
    with pytest.raises(TermError) as error:
        type_of(operator, parameters, operands(operator, texts))
    assert says in str(error.value) and operator in str(error.value)


def test_other_numbers_of_parameters_and_operands() -> None:
    with pytest.raises(TermError, match="operator 'subtract' is not defined; allowed: add, batch, broadcast"):
        apply("subtract", (), (x(), x()))
    with pytest.raises(TermError, match="operator 'variable' is not defined"):
        apply("variable", ("x",), ())
    with pytest.raises(TermError, match="add has 1 operands; allowed: 2"):
        apply("add", (), (x(),))
    with pytest.raises(TermError, match="unary has 2 operands; allowed: 1"):
        apply("unary", ("relu",), (x(), x()))
    with pytest.raises(TermError, match="partition has 1 parameters; allowed: dim, degree"):
        apply("partition", (1,), (x(),))
    with pytest.raises(TermError, match="add has 1 parameters; allowed: none"):
        apply("add", (1,), (x(), x()))


@pytest.mark.parametrize("name", sorted(n for n, op in OPERATORS.items() if op.parameters))
def test_parameters_are_integers_or_names(name: str) -> None:
    op = OPERATORS[name]
    right: list[Parameter] = ["relu" if p in op.named else 1 for p in op.parameters]
    for i, parameter in enumerate(op.parameters):
        named = parameter in op.named
        for wrong in (1 if named else "relu", True):
            with pytest.raises(TermError) as error:
                type_of(name, (*right[:i], wrong, *right[i + 1 :]), (typed("1x2x4"),) * op.arity)
            allowed = "a name" if named else "an integer"
            assert str(error.value) == f"parameter {parameter!r} of {name} is {wrong!r}; allowed: {allowed}"


def test_a_term_prints_as_it_is_written() -> None:
    sum_of_both = apply("add", (), (x(), x(name="y")))
    split = apply("partition", (1, 2), (sum_of_both,))
    assert str(x()) == "x"
    assert str(apply("identity", (4,))) == "identity[4]()"
    assert str(apply("unary", ("relu",), (split,))) == "unary['relu'](partition[1, 2](add(x, y)))"
    assert str(apply("matmul", ("none",), (x(), x("1x4x2", "w")))) == "matmul['none'](x, w)"


def test_equal_terms_are_one() -> None:
    def built(name: str = "x", text: str = "1x2x4", degree: int = 2) -> Term:
        return apply("unary", ("relu",), (apply("partition", (2, degree), (x(text, name),)),))

    assert built() == built() and hash(built()) == hash(built()) and len({built(), built()}) == 1
    assert built() is built()
    for other in (built("y"), built(text="1x4x4"), built(degree=4), built().operands[0], x()):
        assert built() != other
    assert built() != str(built())


def test_subterms_come_once_and_before_what_uses_them() -> None:
    shared = apply("add", (), (x(), x(name="y")))
    first, second = apply("mul", (), (shared, x())), apply("mul", (), (x(name="z"), shared))
    found = list(subterms(first, second, first))
    assert [str(t) for t in found] == ["x", "y", "add(x, y)", "mul(add(x, y), x)", "z", "mul(z, add(x, y))"]
    for i, term in enumerate(found):
        assert all(o in found[:i] for o in term.operands)


def test_a_long_chain_has_its_subterms() -> None:
    """Longer than calls may be nested."""
    term = x()
    for _ in range(5000):
        term = apply("unary", ("relu",), (term,))
    assert sum(1 for _ in subterms(term)) == 5001


def test_variables_in_order_of_their_use() -> None:
    term = apply("add", (), (apply("mul", (), (x(name="b"), x(name="a"))), x(name="b")))
    assert variables(term) == {"b": typed("1x2x4"), "a": typed("1x2x4")}
    assert list(variables(term)) == ["b", "a"]
    assert list(variables(x(name="c"), term)) == ["c", "b", "a"]
    assert variables(apply("identity", (4,))) == {}
