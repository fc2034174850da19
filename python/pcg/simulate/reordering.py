"""Where XLA reads or writes dimensions in another order than that in memory."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import takewhile

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.types import element_bytes, tensor_bytes
from pcg.machine.profile import Reordering
from pcg.search.fusion import Fusion
from pcg.simulate.collectives import element


def noncanonical(op: ir.Operation, operand: int) -> bool:
    """Whether an operand of a convolution is not (batch, space..., feature), a kernel not (space..., in, out)."""
    text = str(op.attributes["dimension_numbers"])
    found = re.search(r"\[([^\]]*)\]x\[([^\]]*)\]->", text)
    if found is None:
        return False
    rank = ir.RankedTensorType(op.operands[operand].type).rank
    space = [str(i) for i in range(rank - 2)]
    wanted = ["b", *space, "f"] if operand == 0 else [*space, "i", "o"]
    return [d.strip() for d in found[operand + 1].split(",")] != wanted


def matrix_reordering(op: ir.Operation, operand: int) -> Reordering | None:
    """How the dimensions of a contraction's operand are reordered to make a matrix of it; None if they are not.

    Only matrices (and batches of them) can be read in either order; other operands become (batch, rows, contracted) and
    (batch, contracted, columns), if one of the two has several dimensions for one of these.
    """
    batch, contracted, free = _dimensions(op, operand)
    t = ir.RankedTensorType(op.operands[operand].type)
    shape = t.shape
    if len(free) < 2 and len(contracted) < 2:
        return None
    order = [*batch, *free, *contracted] if operand == 0 else [*batch, *contracted, *free]
    order = [d for d in order if shape[d] > 1]
    if order == sorted(order):
        return None
    if order[-1] == max(order):
        return Reordering(rows=tensor_bytes(op.operands[operand].type))
    return Reordering(transposed=tensor_bytes(op.operands[operand].type), stride=_stride(t, order[-1]))


def reordering(model: CostModel, kind: str, order: Reordering) -> float:
    """Seconds of a loop that does nothing but read in another order."""
    return _loop(model, kind, 3 * order.transposed + 2 * order.rows, order)


def packing(op: ir.Operation, model: CostModel) -> float:
    """Seconds that a contraction takes longer on XLA's CPU backend where the rows of the left matrix are contracted.

    Where the contracted dimension is the inner one, blocks of rows are read in place; else the library packs blocks of
    columns first, which it does not keep.  The right matrix may be in either order.
    """
    _, contracted, free = _dimensions(op, 0)
    t = ir.RankedTensorType(op.operands[0].type)
    if len(contracted) != 1 or len(free) != 1 or contracted > free or 1 in (t.shape[contracted[0]], t.shape[free[0]]):
        return 0.0
    order = Reordering(transposed=tensor_bytes(op.operands[0].type), stride=_stride(t, contracted[0]))
    kind = element(op.operands[0])
    return max(0.0, reordering(model, kind, order) - _loop(model, kind, 3 * order.transposed, Reordering()))


def _loop(model: CostModel, kind: str, touched: float, order: Reordering) -> float:
    """Seconds of a loop without arithmetic that reads and writes `touched` bytes."""
    return model.kernel("stablehlo.copy", kind, {"stablehlo.copy": 0.0}, touched, order)


def _dimensions(op: ir.Operation, operand: int) -> tuple[list[int], list[int], list[int]]:
    """The dimensions of a contraction's operand that are batches, those contracted, and the others."""
    text = str(op.attributes["dot_dimension_numbers"])

    def dims(what: str) -> list[int]:
        found = re.search(rf"{what}_dimensions = \[([^\]]*)\]", text)
        return [int(d) for d in found[1].split(",")] if found is not None and found[1].strip() else []

    side = ("lhs", "rhs")[operand]
    batch, contracted = dims(f"{side}_batching"), dims(f"{side}_contracting")
    rank = ir.RankedTensorType(op.operands[operand].type).rank
    return batch, contracted, [d for d in range(rank) if d not in batch and d not in contracted]


def reorders(op: ir.Operation, rows: bool = False) -> bool:
    """Whether a transpose makes another dimension the innermost; with `rows`, whether it changes the order at all.

    Dimensions of size 1 do not count.
    """
    shape = ir.RankedTensorType(op.operands[0].type).shape
    order = [int(d) for d in ir.DenseI64ArrayAttr(op.attributes["permutation"]) if shape[int(d)] > 1]
    return order != sorted(order) if rows else order[-1:] != sorted(order)[-1:]


def read_stride(op: ir.Operation) -> int:
    """Bytes from one element that a transpose reads to the next."""
    t = ir.RankedTensorType(op.operands[0].type)
    inner = next(int(d) for d in reversed(ir.DenseI64ArrayAttr(op.attributes["permutation"])) if t.shape[int(d)] > 1)
    return _stride(t, inner)


def _stride(t: ir.RankedTensorType, dim: int) -> int:
    """Bytes from one element along `dim` to the next."""
    return int(math.prod(t.shape[dim + 1 :]) * element_bytes(t.element_type))


def transposed_blocks(op: ir.Operation) -> int:
    """Size of the outer dimensions that a transpose leaves in place: so many blocks are transposed separately."""
    shape = ir.RankedTensorType(op.operands[0].type).shape
    kept = takewhile(lambda x: x[0] == int(x[1]), enumerate(ir.DenseI64ArrayAttr(op.attributes["permutation"])))
    return max(math.prod(shape[i] for i, _ in kept), 1)


def around_collective(op: ir.Operation, fusion: Fusion, model: CostModel, read: Callable[[], float]) -> float:
    """Seconds of reordering before and after a collective along a dimension that is not the outermost.

    XLA puts the dimension that is gathered or scattered outermost in memory, all others in order.  An all-to-all is of
    slices, which it copies whatever the dimension.  A transposed operand is gathered in the layout that it had before,
    if that is possible, and the result is transposed.  A loop that computes an operand writes it in that layout, and
    transposes all that it reads: `read` returns these bytes, less as many as it writes.
    """
    along = [
        ir.IntegerAttr(op.attributes[key]).value
        for key in ("all_gather_dim", "scatter_dimension")
        if key in op.attributes
    ]
    seconds = transposed = 0.0
    for value in (*op.operands, *op.results):
        t = ir.RankedTensorType(value.type)
        if any(n > 1 for d in along for n in t.shape[:d]):
            # Rows stay rows unless it is the innermost dimension that goes out.
            if all(n == 1 for d in along for n in t.shape[d + 1 :]):
                transposed += tensor_bytes(value.type) + (read() if value == op.operands[0] else 0.0)
            else:
                seconds += reordering(model, element(value), Reordering(rows=tensor_bytes(value.type)))
    if op.name == "stablehlo.all_gather" and _gathered_before_transpose(op.operands[0], along[0], fusion):
        transposed += tensor_bytes(op.results[0].type)
    if transposed:
        seconds += float(model.seconds("pcg.layout", element(op.results[0]), 0.0, 2 * transposed, kernels=2.0))
    return seconds


def _gathered_before_transpose(value: ir.Value, dim: int, fusion: Fusion) -> bool:
    """Whether XLA gathers a value along `dim` before a transpose of it, where that dimension is the outermost."""
    name = "stablehlo.all_reduce"
    while name == "stablehlo.all_reduce":
        root = fusion.root(value)
        if isinstance(root.owner, ir.Block):
            return False
        op = root.owner.operation
        name, value = op.name, op.operands[0] if len(op.operands) else root
    if name != "stablehlo.transpose":
        return False
    order = [int(d) for d in ir.DenseI64ArrayAttr(op.attributes["permutation"])]
    return reorders(op) and all(n == 1 for n in ir.RankedTensorType(value.type).shape[: order[dim]])
