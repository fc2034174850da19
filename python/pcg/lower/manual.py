"""Lowering of manual computations: the body is already what one device runs, so it is put in place."""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir.errors import PcgError
from pcg.lower.local import LocalContext, clone_mapped


def body_of(op: ir.Operation) -> ir.Block:
    """The block of the function that a manual computation runs.

    Raises:
      PcgError: the module has no such function.
    """
    symbol = ir.FlatSymbolRefAttr(op.attributes["called_computations"][0]).value
    module = op
    while module.parent is not None:
        module = module.parent.operation
    for candidate in module.regions[0].blocks[0].operations:
        found = candidate.operation
        if found.name == "func.func" and ir.StringAttr(found.attributes["sym_name"]).value == symbol:
            return found.regions[0].blocks[0]
    raise PcgError(f"function @{symbol}, the body of a manual computation, is missing", op.location)


def inline_manual(ctx: LocalContext) -> list[ir.Value]:
    """The body on the local operands, at the insertion point; returns its results.

    Channels of collectives keep their numbers; those of the lowered program must not use them.
    """
    block = body_of(ctx.op)
    values: dict[ir.Value, ir.Value] = dict(zip(block.arguments, ctx.operands, strict=True))
    ops = [o.operation for o in block.operations]
    for op in ops[:-1]:
        clone_mapped(op, values)
    return [values.get(v, v) for v in ops[-1].operands]
