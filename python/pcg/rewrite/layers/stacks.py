"""Tensors as what was last written to each part of them: the stacks of rows that loops update."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.walk import defining_op
from pcg.rules.values import is_zero


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

    def plus(self, other: Stack) -> Stack | None:
        """The sum of two stacks, computed at the insertion point; None where no piece of either is zero."""
        ends = sorted({p.end for s in (self, other) for p in s.pieces})
        terms = [
            [next(p for p in s.pieces if p.start <= start < p.end).between(start, end) for s in (self, other)]
            for start, end in itertools.pairwise([0, *ends])
        ]  # fmt: skip
        nonzero = [[p for p in pair if not is_zero(p.value)] or pair[:1] for pair in terms]
        if all(len(pair) == 2 for pair in nonzero):
            return None
        pieces = []
        for pair in nonzero:
            first, *second = pair
            for p in second:
                first = Piece(p.start, p.size, emit.binary("add", self._value(first), self._value(p)))
            pieces.append(first)
        return Stack(self.type, self.dim, tuple(pieces))

    def reshaped(self, type_: ir.RankedTensorType) -> Stack | None:
        """The stack, of dimension 0, as one of another shape; None where a piece is not one of dimension 0 then.

        Computed at the insertion point.
        """
        tail = _common_tail(self.type.shape, type_.shape)
        inner, inner_new = (math.prod(s[1 : len(s) - tail]) for s in (self.type.shape, type_.shape))
        ends = [p.end * inner for p in self.pieces]
        if self.dim or len(type_.shape) == tail or any(n % inner_new for n in ends):
            return None
        pieces, start = [], 0
        for p, end in zip(self.pieces, (n // inner_new for n in ends), strict=True):
            row = emit.tensor([end - start, *type_.shape[1:]], type_.element_type)
            value = self._value(p)
            pieces.append(Piece(start, end - start, seen_as(value, row) or emit.reshape(value, row.shape)))
            start = end
        return Stack(type_, 0, tuple(pieces))

    def padded(self, low: int, high: int, fill: ir.Value) -> Stack:
        """The stack with so many indices before and behind it, of a 0-d value; computed at the insertion point."""
        size = self.type.shape[self.dim] + low + high
        shape = [*self.type.shape[: self.dim], size, *self.type.shape[self.dim + 1 :]]
        type_ = emit.tensor(shape, self.type.element_type)
        pieces = [Piece(p.start + low, p.size, p.value, p.offset) for p in self.pieces]
        for start, n in ((0, low), (size - high, high)):
            if n:
                shape[self.dim] = n
                pieces.append(Piece(start, n, emit.broadcast(fill, emit.tensor(shape, self.type.element_type))))
        return Stack(type_, self.dim, tuple(sorted(pieces, key=lambda p: p.start)))

    def read(self, start: int, end: int) -> ir.Value:
        """The indices from `start` to `end`, computed at the insertion point; no op where they are one value."""
        found = [p.between(start, end) for p in self.pieces if p.start < end and p.end > start]
        if len(found) == 1:
            return self._value(found[0])
        # Rows that nothing was written to are rows like the others, for who looks for them.
        row = math.gcd(*(p.size for p in found))
        values: list[ir.Value] = []
        for p in found:
            count = p.size // row if is_zero(p.value) else 1
            values += [self._value(p.between(p.start, p.start + p.size // count))] * count
        return emit.concatenate([v for x in values for v in self._concatenated(x)], self.dim)

    def _concatenated(self, value: ir.Value) -> list[ir.Value]:
        """The values that one is a concatenation of, along the dimension of the stack."""
        op = defining_op(value)
        if op is None or op.name != "stablehlo.concatenate" or op.attributes["dimension"].value != self.dim:
            return [value]
        return list(op.operands)

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
    type_ = emit.tensor([b - a for a, b in zip(start, limit, strict=True)], value.type.element_type)
    while any(start) or limit != list(value.type.shape):
        op = defining_op(value)
        if op is None:
            break
        if op.name == "stablehlo.slice" and all(n == 1 for n in op.attributes["strides"]):
            by = list(op.attributes["start_indices"])
            start, limit = ([n + b for n, b in zip(ends, by, strict=True)] for ends in (start, limit))
        elif op.name == "stablehlo.concatenate":
            d = op.attributes["dimension"].value
            found = next((x for x in _operands(op) if x.start <= start[d] and limit[d] <= x.end), None)
            if found is None:
                break
            start[d], limit[d] = start[d] - found.start, limit[d] - found.start
            value = found.value
            continue
        elif op.name == "stablehlo.reshape" and (seen := _before_reshape(op, start, limit)) is not None:
            start, limit = seen
        else:
            break
        value = op.operands[0]
    if any(start) or limit != list(value.type.shape):
        value = emit.slice_box(value, start, limit)
    return seen_as(value, type_) or emit.reshape(value, type_.shape)


def _operands(op: ir.Operation) -> list[Piece]:
    """The operands of a concatenation, as pieces of its result."""
    sizes = [v.type.shape[op.attributes["dimension"].value] for v in op.operands]
    return [Piece(a, n, v) for a, n, v in zip(itertools.accumulate(sizes, initial=0), sizes, op.operands, strict=False)]


def _before_reshape(op: ir.Operation, start: list[int], limit: list[int]) -> tuple[list[int], list[int]] | None:
    """A block of the result of a reshape as one of its operand; None if it is none."""
    shape, before = list(op.results[0].type.shape), list(op.operands[0].type.shape)
    tail = _common_tail(shape, before)
    lead = len(shape) - tail
    numbers = _range(shape[:lead], start[:lead], limit[:lead])
    found = None if numbers is None else _box(before[: len(before) - tail], *numbers)
    return None if found is None else (found[0] + start[lead:], found[1] + limit[lead:])


def _common_tail(a: Sequence[int], b: Sequence[int]) -> int:
    """How many dimensions at the end are the same."""
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(reversed(list(a)), reversed(list(b)), strict=False))
    return len(list(same))


def _range(shape: list[int], start: list[int], limit: list[int]) -> tuple[int, int] | None:
    """The numbers, in row-major order, of the elements of a block, if they are consecutive."""
    sizes = [b - a for a, b in zip(start, limit, strict=True)]
    first = next((d for d, n in enumerate(sizes) if n != 1), len(shape))
    if sizes[first + 1 :] != shape[first + 1 :]:
        return None
    number = 0
    for n, a in zip(shape, start, strict=True):
        number = number * n + a
    return number, number + math.prod(sizes)


def _box(shape: list[int], start: int, end: int) -> tuple[list[int], list[int]] | None:
    """The block of the elements with these numbers, if they are one."""
    for d in range(len(shape)):
        inner = math.prod(shape[d + 1 :])
        outer = inner * shape[d]
        if start % inner or end % inner or start // outer != (end - 1) // outer:
            continue
        first: list[int] = []
        rest = start // outer
        for n in reversed(shape[:d]):
            first.insert(0, rest % n)
            rest //= n
        at = start // inner % shape[d]
        zeros = [0] * (len(shape) - d - 1)
        return [*first, at, *zeros], [*(n + 1 for n in first), at + (end - start) // inner, *shape[d + 1 :]]
    return ([], []) if not shape else None


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
