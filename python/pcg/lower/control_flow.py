"""Loops and conditionals in the per-device program: the same op around lowered regions.

Every device must take the same branch and make the same number of trips, else its collectives would
wait for ever; so predicates must be replicated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_mlir import ir

if TYPE_CHECKING:
    from pcg.lower.spmd import SpmdLowering


def lower_control_flow(lowering: SpmdLowering, op: ir.Operation) -> list[ir.Value]:
    """Local results of a `while`, `if` or `case`; values captured from outside are mapped like operands."""
    operands = [lowering.value(v) for v in op.operands]
    types = [lowering.local_type(r) for r in op.results]
    loop = op.name == "stablehlo.while"
    if loop:
        for i, result in enumerate(op.results):
            lowering.expect(op, f"init {i}", lowering.spec(op.operands[i]), lowering.spec(result))
    else:
        lowering.expect_replicated(op, "predicate", lowering.spec(op.operands[0]))
    new = ir.Operation.create(
        op.name, results=types, operands=operands, attributes=lowering.attributes(op), regions=len(op.regions),
        loc=op.location,
    )
    for i, (old_region, new_region) in enumerate(zip(op.regions, new.regions, strict=True)):
        old = old_region.blocks[0]
        locs = [a.location for a in old.arguments]
        block = new_region.blocks.append(*[lowering.local_type(a) for a in old.arguments], arg_locs=locs)
        for a, b in zip(old.arguments, block.arguments, strict=True):
            lowering.values[a] = b
        with ir.InsertionPoint(block):
            yielded = lowering.block(old)
        terminator = list(old.operations)[-1].operation
        if loop and i == 0:
            lowering.expect_replicated(op, "condition", lowering.spec(yielded[0]))
            continue
        for k, (value, result) in enumerate(zip(yielded, op.results, strict=True)):
            lowering.expect(terminator, f"operand {k}", lowering.spec(value), lowering.spec(result))
    return list(new.results)
