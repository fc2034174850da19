"""Operators that sum over a dimension of two operands: matrix products and lookups in tables.

How they are split follows Unity's mappings of parallel dimensions.  Let the operands be x and w.  A dimension of the
result that comes from one of them is split as it is there, and the other has a copy for each part along its replica
dimension; a dimension that is summed over is split equally in both, and the result has partial sums along its replica
dimension, one for each part.  What is left of the replica dimensions of x and w has to be equal; the result has it too.

With ``x: [r, m, k]`` and ``w: [r, k, n]``, along the replica dimensions follow each other, outer ones first, in x
``common, n``, in w ``common, m``, in the result ``common, k``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pcg.substitute.entries import Array, Entries
from pcg.substitute.errors import TermError
from pcg.substitute.operators.operator import NONE, Operator, Parameters, Types, Values, activated, activation
from pcg.substitute.tensor_type import TensorType


class _Degrees(NamedTuple):
    """Of a matrix product."""

    common: int
    m: int
    k: int
    n: int

    @staticmethod
    def of(x: TensorType, w: TensorType) -> _Degrees:
        m, k, n = x.degrees[-2], x.degrees[-1], w.degrees[-1]
        if w.degrees[-2] != k:
            raise TermError(f"operands {x} and {w}; allowed: those whose contracted dimensions are split equally")
        common = matched(x.degrees[0], n, w.degrees[0], m, x, w)
        return _Degrees(common, m, k, n)


def matched(x_copies: int, x_needs: int, w_copies: int, w_needs: int, x: TensorType, w: TensorType) -> int:
    """The degree that is common to both replica dimensions, if each operand has the copies that the other needs."""
    common = x_copies // x_needs
    if x_copies % x_needs or w_copies != common * w_needs:
        raise TermError(
            f"operands {x} and {w}; allowed: replica dimensions with the copies that the other's parts need"
            f" ({x_needs} and {w_needs}, and as many of both)"
        )
    return common


def in_one_slice(w: TensorType) -> None:
    """Raise TermError if a weight is run in slices."""
    if any(s != 1 for s in w.microbatches):
        raise TermError(f"operand {w}; allowed: one microbatch")


def not_in_time(x: TensorType, *dims: int) -> None:
    """Raise TermError if these dimensions are run in slices."""
    if any(x.microbatches[d] != 1 for d in dims):
        raise TermError(f"operand {x}; allowed: one microbatch along dimensions {', '.join(map(str, dims))}")


class Matmul(Operator):
    """The matrix product of ``[r, ..., m, k]`` and ``[r, ..., k, n]``, an activation applied."""

    name = "matmul"
    arity = 2
    parameters = ("activation",)
    named = frozenset(parameters)

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        x, w = operands
        activation(parameters[0])
        batch = slice(1, -2)
        if x.rank < 3 or x.rank != w.rank or x.shape[-1] != w.shape[-2] or x.shape[batch] != w.shape[batch]:
            raise TermError(f"operands {x} and {w}; allowed: [r, ..., m, k] and [r, ..., k, n]")
        if x.degrees[batch] != w.degrees[batch] or x.microbatches[batch] != w.microbatches[batch]:
            raise TermError(f"operands {x} and {w}; allowed: those whose batch dimensions are split equally")
        not_in_time(x, 0, x.rank - 1)
        in_one_slice(w.dims((0, w.rank - 2, w.rank - 1)))
        degrees = _Degrees.of(x, w)
        if degrees.k > 1 and parameters[0] != NONE:
            raise TermError(f"activation {parameters[0]} of partial sums; allowed: none where {x} is split along k")
        copies = _copies(x.shape[0] // x.degrees[0], w.shape[0] // w.degrees[0], x, w)
        out = x.with_dim(0, copies * degrees.common * degrees.k, degrees.common * degrees.k)
        return out.with_dim(x.rank - 1, w.shape[-1], degrees.n, 1)

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        (x, w), d = types, _Degrees.of(*types)
        out = self.type_of(parameters, types)
        batch = x.shape[1:-2]
        b = tuple(range(3, 3 + len(batch)))  # where the dimensions of the batch are, of the reshaped operands
        n = 3 + len(batch)
        left = values[0].reshape(d.common, d.n, -1, *batch, d.m, x.shape[-2] // d.m, d.k, x.shape[-1] // d.k)
        right = values[1].reshape(d.common, d.m, -1, *batch, d.k, w.shape[-2] // d.k, d.n, w.shape[-1] // d.n)
        # Both as [common, k, n, m, copies, batch, rows, columns], the first four over devices.
        left = left.transpose(0, n + 2, 1, n, 2, *b, n + 1, n + 3)
        right = right.transpose(0, n, n + 2, 1, 2, *b, n + 1, n + 3)
        found = on.matmul(left, right).transpose(0, 1, 4, *(i + 2 for i in b), 3, n + 2, 2, n + 3)
        return activated(parameters[0], found.reshape(out.shape), on)


def _copies(x: int, w: int, x_type: TensorType, w_type: TensorType) -> int:
    """Elements of the replica dimension of the result on each device: those of one operand if the other has one."""
    if x != w and 1 not in (x, w):
        raise TermError(
            f"operands {x_type} and {w_type}; allowed: as many elements of the replica dimension on a device"
        )
    return max(x, w)


class Linear(Operator):
    """A layer: the matrix product of ``[r, m, k]`` and a transposed weight ``[r, n, k]``, an activation applied."""

    name = "linear"
    arity = 2
    parameters = ("activation",)
    named = frozenset(parameters)

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        x, w = operands
        if x.rank != 3 or w.rank != 3 or x.shape[2] != w.shape[2]:
            raise TermError(f"operands {x} and {w}; allowed: [r, m, k] and [r, n, k]")
        return Matmul().type_of(parameters, (x, w.dims((0, 2, 1))))

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        x, w = types
        return Matmul().value_of(parameters, (x, w.dims((0, 2, 1))), (values[0], values[1].transpose(0, 2, 1)), on)


class Embedding(Operator):
    """The rows of a table ``[r, v, n]`` that indices ``[r, m]`` name, as ``[r, m, n]``.

    Indices are in the range of the table.  A table that is split along v gives partial sums: 0 for rows of others.
    """

    name = "embedding"
    arity = 2

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        i, table = operands
        if i.rank != 2 or table.rank != 3:
            raise TermError(f"operands {i} and {table}; allowed: [r, m] and [r, v, n]")
        not_in_time(i, 0)
        in_one_slice(table)
        v, n = table.degrees[1:]
        common = matched(i.degrees[0], v * n, table.degrees[0], i.degrees[1], i, table)
        copies = _copies(i.shape[0] // i.degrees[0], table.shape[0] // table.degrees[0], i, table)
        rows = i.dims((0, 1, 1)).with_dim(0, copies * common * v, common * v)
        return rows.with_dim(2, table.shape[2], n, 1)

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        i, table = types
        # [r, m] as a matrix of zeros and ones: then it is a matrix product.
        v = table.shape[1]
        one = on.constant(1, (v, v))
        rows = np.where(np.eye(v, dtype=bool), one, on.constant(0, (v, v)))
        hot = rows[np.asarray(values[0], dtype=int) % v]  # [r, m, v]
        d = table.degrees[1] * table.degrees[2]
        common = i.degrees[0] // d
        # The copies of the indices are for v and n: those for v go with the parts of the rows.
        parts = hot.reshape(
            common, table.degrees[1], table.degrees[2], -1, i.shape[1], table.degrees[1], v // table.degrees[1]
        )
        diagonal = np.stack([parts[:, p, :, :, :, p] for p in range(table.degrees[1])], axis=4)
        x = diagonal.reshape(i.shape[0] // table.degrees[1], i.shape[1], v)
        x_type = TensorType.of(x.shape, (common * table.degrees[2], i.degrees[1], table.degrees[1]))
        return Matmul().value_of((NONE,), (x_type, table), (x, values[1]), on)


class ScatterAdd(Operator):
    """A table ``[r, v, n]`` to whose rows that indices ``[r, m]`` name the rows of ``[r, m, n]`` are added.

    As the gradient of a lookup in a table, added to the table.  Indices are in the range of the table.  The table and
    what is added may be split along n, and only along that; the indices are not split.
    """

    name = "scatter_add"
    arity = 3

    def type_of(self, parameters: Parameters, operands: Types) -> TensorType:
        table, i, rows = operands
        if table.rank != 3 or i.rank != 2 or rows.rank != 3:
            raise TermError(f"operands {table}, {i} and {rows}; allowed: [r, v, n], [r, m] and [r, m, n]")
        if rows.with_dim(1, table.shape[1], 1, 1) != table.with_dim(1, table.shape[1], 1, 1):
            raise TermError(f"operands {table} and {rows}; allowed: types that are equal but for dimension 1")
        if i.shape[1] != rows.shape[1] or any(d != 1 for t in operands for d in t.degrees[:2]) or i.shape[0] != 1:
            raise TermError(f"operands {table}, {i} and {rows}; allowed: as many indices as rows, none split")
        if table.shape[0] != 1 or any(s != 1 for t in operands for s in t.microbatches):
            raise TermError(f"operands {table}, {i} and {rows}; allowed: one copy, one microbatch")
        return table

    def value_of(self, parameters: Parameters, types: Types, values: Values, on: Entries) -> Array:
        v = types[0].shape[1]
        hot = np.where(np.eye(v, dtype=bool), on.constant(1, (v, v)), on.constant(0, (v, v)))
        found = values[0]
        for j in range(types[2].shape[1]):  # one after another: sums of floats depend on their order
            at = hot[int(values[1][0, j]) % v]
            found = on.add(found, on.mul(at[None, :, None], values[2][:, j : j + 1, :]))
        return found
