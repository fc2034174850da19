"""Tensors as what was last written to each part of them: the stacks of rows that loops update."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.walk import defining_op


@dataclass(frozen=True)
class Piece:
    """The `size` indices of a stack from `start` are those of `value` from `offset`."""

    start: int
    size: int
    value: ir.Value
    offset: int = 0

    @property
    def end(self) -> int:
        return self.start + self.size

    def between(self, start: int, end: int) -> Piece:
        """The part of the piece between two indices of the stack."""
        a, b = max(start, self.start), min(end, self.end)
        return Piece(a, b - a, self.value, self.offset + a - self.start)


@dataclass
class Stack:
    """A tensor of `type` whose dimension `dim` is made of pieces, in order."""

    type: ir.RankedTensorType
    dim: int
    pieces: tuple[Piece, ...]
    _full: ir.Value | None = field(default=None, repr=False)

    @classmethod
    def of(cls, value: ir.Value, dim: int) -> Stack:
        return cls(value.type, dim, (Piece(0, value.type.shape[dim], value),))

    def updated(self, row: ir.Value, start: int) -> Stack:
        """The stack with `row` from index `start` on."""
        size, end = row.type.shape[self.dim], start + row.type.shape[self.dim]
        before = [p.between(0, start) for p in self.pieces if p.start < start]
        after = [p.between(end, p.end) for p in self.pieces if p.end > end]
        return Stack(self.type, self.dim, (*before, Piece(start, size, row), *after))

    def read(self, start: int, end: int) -> ir.Value:
        """The indices from `start` to `end`, computed at the insertion point; no op where they are one value."""
        found = [p.between(start, end) for p in self.pieces if p.start < end and p.end > start]
        return emit.concatenate([self._value(p) for p in found], self.dim)

    def full(self) -> ir.Value:
        """All of it, computed at the first reader's place."""
        if self._full is None:
            self._full = self.read(0, self.type.shape[self.dim])
        return self._full

    def _value(self, piece: Piece) -> ir.Value:
        if piece.size == piece.value.type.shape[self.dim]:
            return piece.value
        return emit.slice_dim(piece.value, self.dim, piece.offset, piece.offset + piece.size)


def block_of(value: ir.Value, start: list[int], limit: list[int]) -> ir.Value:
    """`value[start:limit]`, computed at the insertion point from what `value` is a block of."""
    while True:
        if not any(start) and limit == list(value.type.shape):
            return value
        op = defining_op(value)
        if op is None or op.name != "stablehlo.slice" or any(n != 1 for n in op.attributes["strides"]):
            return emit.slice_box(value, start, limit)
        by = list(op.attributes["start_indices"])
        start, limit = ([n + b for n, b in zip(ends, by, strict=True)] for ends in (start, limit))
        value = op.operands[0]


def seen_as(value: ir.Value, type_: ir.Type) -> ir.Value | None:
    """The value of this type that `value` is a reshape of, dimensions of size 1 aside; None if there is none."""
    while value.type != type_:
        op = defining_op(value)
        if op is None or not is_view(op):
            return None
        value = op.operands[0]
    return value


def is_view(op: ir.Operation) -> bool:
    """Whether an op yields the elements of its operand in their order, each once."""
    if op.name == "stablehlo.reshape":
        return True
    if op.name != "stablehlo.broadcast_in_dim":
        return False
    dims = list(op.attributes["broadcast_dimensions"])
    return dims == sorted(dims) and math.prod(op.operands[0].type.shape) == math.prod(op.results[0].type.shape)
