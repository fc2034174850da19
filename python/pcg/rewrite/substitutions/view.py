"""Values of a program as terms see them: dimensions in groups, each of which is one dimension of a term.

A term's matrix product is of matrices.  A program's is of tensors of any rank, with transposes and reshapes around it:
``dot_general`` of x: [batch, sequence, k] and w: [k, heads, d] is the product of [batch*sequence, k] and [k, heads*d].
So a view of a value says which of its dimensions are the rows, in which order, and which are the columns, and is read
through whatever only moves elements.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from torch_mlir import ir

from pcg.ir import shardings, stablehlo
from pcg.ir.walk import defining_op
from pcg.rules.gather_scatter import scatter_numbers, update_kind
from pcg.rules.values import is_zero, splat
from pcg.substitute.tensor_type import TensorType

Groups = tuple[tuple[int, ...], ...]
#: The op that joins values of which one is computed; see `pcg.dialects.pcg`.
ALTERNATIVES = "pcg.alternatives"
#: Ops of one operand, by the function of terms that they apply.
FUNCTIONS = {
    "stablehlo.exponential": "exp", "stablehlo.log": "log", "stablehlo.logistic": "sigmoid", "stablehlo.rsqrt": "rsqrt",
    "stablehlo.tanh": "tanh",
}  # fmt: skip


@dataclass(frozen=True)
class View:
    """A value with its dimensions in groups; no groups: a number, which all elements of the value are."""

    value: ir.Value
    groups: Groups
    negated: bool = False
    """Whether it is the value times -1."""
    skipped: int = 0
    """Of a concatenation, how many of its first operands are left out."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each group."""
        if not self.groups:
            return ()
        sizes = list(self.value.type.shape)
        if self.skipped:
            op = self.value.owner.operation
            dim = joined_dimension(op)
            sizes[dim] -= sum(v.type.shape[dim] for v in list(op.operands)[: self.skipped])
        return tuple(math.prod(sizes[d] for d in group) for group in self.groups)

    @property
    def type(self) -> TensorType:
        """The type of the term that it is."""
        return TensorType.of((1, *self.shape) if self.groups else ())

    @property
    def owner(self) -> ir.Operation | None:
        """The op that computes the value."""
        return defining_op(self.value)


@dataclass(frozen=True)
class Reading:
    """A view as an operator of terms on other views, because of `op`."""

    operator: str
    parameters: tuple[int | str, ...]
    operands: tuple[View, ...]
    op: ir.Operation


def readings(view: View) -> Iterator[Reading]:
    """Every operator of terms as whose result a view can be read; of alternatives, those of each."""
    if view.negated:
        op = view.owner
        if op is not None:
            yield Reading("neg", (), (replace(view, negated=False),), op)
        return
    seen = _through(view)
    op = seen.owner
    if op is None or not seen.groups or shardings.SPECS in op.attributes:
        return
    if op.name == ALTERNATIVES:
        yield from _of_alternatives(op, seen)
        return
    if len(seen.groups) == 2 and is_zero(seen.value):
        yield Reading("zeros", seen.shape, (), op)
        return
    yield from _READERS.get(op.name, _nothing)(op, seen)


def _of_alternatives(op: ir.Operation, view: View) -> Iterator[Reading]:
    """Those of each; of concatenations of the same first part, in blocks or not, the first: the rest is as equal."""
    first = set()
    for operand in op.operands:
        for reading in readings(replace(view, value=operand)):
            if reading.operator == "concat":
                key = reading.parameters, _through(reading.operands[0])
                if key in first:
                    continue
                first.add(key)
            yield reading


def _through(view: View) -> View:
    """The view of what has the same elements before transposes and reshapes."""
    while not view.skipped and (op := view.owner) is not None and shardings.SPECS not in op.attributes:
        if op.name == "stablehlo.transpose":
            order = list(ir.DenseI64ArrayAttr(op.attributes["permutation"]))
            groups = tuple(tuple(order[d] for d in group) for group in view.groups)
        elif op.name == "stablehlo.reshape":
            found = _before_reshape(tuple(op.operands[0].type.shape), tuple(view.value.type.shape), view.groups)
            if found is None:
                break
            groups = found
        else:
            break
        view = View(op.operands[0], groups)
    return view


def _before_reshape(old: tuple[int, ...], new: tuple[int, ...], groups: Groups) -> Groups | None:
    """The groups of dimensions of `old` that hold what `groups` of `new` do; None where a dimension is torn apart."""
    blocks = _blocks(old, new)
    if blocks is None:
        return None
    of_dim = {d: b for b, (_, dims) in enumerate(blocks) for d in dims}
    found: list[tuple[int, ...]] = []
    for group in groups:
        dims: list[int] = []
        rest = list(group)
        while rest:
            block = of_dim.get(rest[0])
            if block is None:  # of size 1
                rest.pop(0)
                continue
            before, after = blocks[block]
            wanted, rest = rest[: len(after)], rest[len(after) :]
            if len(after) == 1 or wanted == list(after):
                dims += before
            else:
                return None
        found.append(tuple(dims))
    used = {d for group in found for d in group}
    spare = tuple(d for d in range(len(old)) if d not in used)
    if any(old[d] != 1 for d in spare) or not found:
        return None
    return (found[0] + spare, *found[1:])


def _blocks(old: tuple[int, ...], new: tuple[int, ...]) -> list[tuple[list[int], list[int]]] | None:
    """Dimensions of both sides, in order, that have as many elements together; those of size 1 are in none."""
    blocks: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while True:
        while i < len(old) and old[i] == 1:
            i += 1
        while j < len(new) and new[j] == 1:
            j += 1
        if i == len(old) or j == len(new):
            return blocks if i == len(old) and j == len(new) else None
        before, after, a, b = [i], [j], old[i], new[j]
        i, j = i + 1, j + 1
        while a != b:
            if a < b and i < len(old):
                a *= old[i]
                before.append(i)
                i += 1
            elif b < a and j < len(new):
                b *= new[j]
                after.append(j)
                j += 1
            else:
                return None
        blocks.append((before, after))


# -- ops -------------------------------------------------------------------------------------------


def _nothing(op: ir.Operation, view: View) -> Iterator[Reading]:
    return iter(())


def _add(op: ir.Operation, view: View) -> Iterator[Reading]:
    a, b = (View(v, view.groups) for v in op.operands)
    yield Reading("add", (), (a, replace(b, negated=op.name == "stablehlo.subtract")), op)


def _multiply(op: ir.Operation, view: View) -> Iterator[Reading]:
    a, b = op.operands
    for tensor, factor in ((a, b), (b, a)):
        number = _number(factor)
        if number is not None:
            yield Reading("scale", (), (View(tensor, view.groups), View(number, ())), op)
            return
    yield Reading("mul", (), (View(a, view.groups), View(b, view.groups)), op)


def _number(value: ir.Value) -> ir.Value | None:
    """A value of no dimensions that all elements of `value` are, or a constant whose elements are all the same."""
    op = defining_op(value)
    if op is None:
        return None
    if op.name == "stablehlo.broadcast_in_dim" and not op.operands[0].type.shape:
        return op.operands[0]
    return value if op.name == "stablehlo.constant" and splat(value) is not None else None


def _negate(op: ir.Operation, view: View) -> Iterator[Reading]:
    yield Reading("neg", (), (View(op.operands[0], view.groups),), op)


def _unary(op: ir.Operation, view: View) -> Iterator[Reading]:
    yield Reading("unary", (FUNCTIONS[op.name],), (View(op.operands[0], view.groups),), op)


def _maximum(op: ir.Operation, view: View) -> Iterator[Reading]:
    for x, y in (tuple(op.operands), tuple(reversed(op.operands))):
        if is_zero(y):
            yield Reading("unary", ("relu",), (View(x, view.groups),), op)
            return


def _dot_general(op: ir.Operation, view: View) -> Iterator[Reading]:
    """A matrix product of matrices; those with a batch are not read."""
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    if len(numbers.lhs_batching_dimensions) or len(view.groups) != 2:
        return
    lhs, rhs = op.operands
    summed = tuple(numbers.lhs_contracting_dimensions), tuple(numbers.rhs_contracting_dimensions)
    rows = [d for d in range(lhs.type.rank) if d not in summed[0]]
    columns = [d for d in range(rhs.type.rank) if d not in summed[1]]
    own = list(range(len(rows))), list(range(len(rows), len(rows) + len(columns)))
    first, second = view.groups
    if sorted(first) == own[0] and sorted(second) == own[1]:
        x = View(lhs, (tuple(rows[d] for d in first), summed[0]))
        y = View(rhs, (summed[1], tuple(columns[d - len(rows)] for d in second)))
    elif sorted(first) == own[1] and sorted(second) == own[0]:
        x = View(rhs, (tuple(columns[d - len(rows)] for d in first), summed[1]))
        y = View(lhs, (summed[0], tuple(rows[d] for d in second)))
    else:
        return
    yield Reading("matmul", ("none",), (x, y), op)


def joined_dimension(op: ir.Operation) -> int:
    """The dimension along which a concatenation joins its operands."""
    return int(ir.IntegerAttr(op.attributes["dimension"]).value)


def _concatenate(op: ir.Operation, view: View) -> Iterator[Reading]:
    dim, operands = joined_dimension(op), list(op.operands)[view.skipped :]
    axis = _axis(view, dim)
    if axis is None or len(operands) < 2:
        return
    first = View(operands[0], view.groups)
    rest = View(operands[1], view.groups) if len(operands) == 2 else replace(view, skipped=view.skipped + 1)
    yield Reading("concat", (axis,), (first, rest), op)


def _axis(view: View, dim: int) -> int | None:
    """The dimension of the term whose outermost part `dim` is."""
    return next((1 + g for g, group in enumerate(view.groups) if group[:1] == (dim,)), None)


def _slice(op: ir.Operation, view: View) -> Iterator[Reading]:
    starts, limits, strides = (
        list(ir.DenseI64ArrayAttr(op.attributes[n])) for n in ("start_indices", "limit_indices", "strides")
    )
    shape = list(op.operands[0].type.shape)
    of = [d for d, size in enumerate(shape) if limits[d] - starts[d] != size]
    if len(of) != 1 or any(s != 1 for s in strides):
        return
    (dim,) = of
    axis = _axis(view, dim)
    if axis is None:
        return
    inner = math.prod(shape[d] for d in view.groups[axis - 1][1:])
    parameters = axis, starts[dim] * inner, (limits[dim] - starts[dim]) * inner
    yield Reading("slice", parameters, (View(op.operands[0], view.groups),), op)


def _scatter(op: ir.Operation, view: View) -> Iterator[Reading]:
    """A table to whose rows others are added."""
    numbers = scatter_numbers(op)
    if len(op.operands) != 3 or update_kind(op) != "sum" or len(numbers.input_batching_dims):
        return
    table, indices, rows = op.operands
    rank = table.type.rank
    outer = rows.type.rank - rank + 1
    window = list(range(outer, rows.type.rank))
    plain = list(numbers.update_window_dims) == window and list(numbers.inserted_window_dims) == [0]
    plain = plain and list(numbers.scattered_dims_to_operand_dims) == [0]
    plain = plain and numbers.index_vector_dim == indices.type.rank - 1 and indices.type.shape[-1] == 1
    columns = tuple(range(1, rank))
    if not plain or view.groups != ((0,), columns) or list(rows.type.shape)[outer:] != list(table.type.shape)[1:]:
        return
    yield Reading(
        "scatter_add", (),
        (
            View(table, view.groups), View(indices, (tuple(range(indices.type.rank)),)),
            View(rows, (tuple(range(outer)), tuple(window))),
        ),
        op,
    )  # fmt: skip


_READERS = {
    "stablehlo.add": _add, "stablehlo.subtract": _add, "stablehlo.multiply": _multiply, "stablehlo.negate": _negate,
    "stablehlo.maximum": _maximum, "stablehlo.dot_general": _dot_general, "stablehlo.concatenate": _concatenate,
    "stablehlo.slice": _slice, "stablehlo.scatter": _scatter, **dict.fromkeys(FUNCTIONS, _unary),
}  # fmt: skip
