"""Collectives that a program for one device contains: the values that they stand for."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir.emit import broadcast
from pcg.ir.errors import PcgError
from pcg.lower.local import LocalContext, local_form
from pcg.lower.neutral import zero
from pcg.rules.collectives import NAMES, is_plain, returns_operands, why_refused


def alone(op: ir.Operation, operands: Sequence[ir.Value], types: Sequence[ir.Type]) -> list[ir.Value]:
    """The results, of `types`, of a collective of one device on `operands`; new ops go to the insertion point.

    Raises:
      PcgError: the collective is between several devices.
    """
    if reason := why_refused(op):
        raise PcgError(reason, op.location)
    if returns_operands(op):
        return list(operands)
    with op.location:
        zeros = [zero(type_.element_type) for type_ in types]
        return [broadcast(z, type_) if type_.shape else z for z, type_ in zip(zeros, types, strict=True)]


@local_form(*NAMES)
def collective(ctx: LocalContext) -> Sequence[ir.Value]:
    """What the collective stands for, of any layout."""
    if is_plain(ctx.op):
        return alone(ctx.op, ctx.operands, ctx.result_types)
    if reason := why_refused(ctx.op):
        raise PcgError(reason, ctx.op.location)
    return ctx.same_op()
