"""Lowering of manual computations: the body is already what one device runs, so it is put in place."""

from __future__ import annotations

import itertools

from torch_mlir import ir

from pcg.ir.errors import PcgError
from pcg.ir.walk import walk
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

    Its collectives get channels of their own: the lowered program counts its channels from 1.
    """
    block = body_of(ctx.op)
    values: dict[ir.Value, ir.Value] = dict(zip(block.arguments, ctx.operands, strict=True))
    ops = [o.operation for o in block.operations]
    symbol = ir.FlatSymbolRefAttr(ctx.op.attributes["called_computations"][0]).value
    number = int("".join(c for c in symbol if c.isdigit()) or 0)
    channels = itertools.count((number + 1) << 16)
    for op in ops[:-1]:
        for new in walk(clone_mapped(op, values)):
            for name in [n for n in new.attributes if n.startswith("dist.")]:
                del new.attributes[name]
            if "channel_handle" in new.attributes:
                new.attributes["channel_handle"] = ir.Attribute.parse(
                    f"#stablehlo.channel_handle<handle = {next(channels)}, type = 1>"
                )
    return [values.get(v, v) for v in ops[-1].operands]
