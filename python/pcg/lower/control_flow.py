"""Loops and conditionals in the per-device program: the same op around lowered regions.

Every device must take the same branch and run the same number of iterations, else its collectives would
wait for ever; so predicates must be replicated.
"""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from pcg.lower.shards import Shards, expect, expect_replicated, local_attributes


def lower_control_flow(
    op: ir.Operation, shards: Shards, lower: Callable[[ir.Block], list[ir.Value]]
) -> list[ir.Value]:
    """Local results of a `while`, `if` or `case`; values captured from outside are mapped like operands.

    `lower` lowers a block to the insertion point and returns the global operands of its terminator.
    """
    operands = [shards.local[v] for v in op.operands]
    types = [shards.local_type(r) for r in op.results]
    loop = op.name == "stablehlo.while"
    if loop:
        for i, result in enumerate(op.results):
            expect(op, f"init {i}", shards.spec(op.operands[i]), shards.spec(result))
    else:
        expect_replicated(op, "predicate", shards.spec(op.operands[0]))
    new = ir.Operation.create(
        op.name, results=types, operands=operands, attributes=local_attributes(op), regions=len(op.regions),
        loc=op.location,
    )
    for i, (old_region, new_region) in enumerate(zip(op.regions, new.regions, strict=True)):
        old = old_region.blocks[0]
        locs = [a.location for a in old.arguments]
        block = new_region.blocks.append(*[shards.local_type(a) for a in old.arguments], arg_locs=locs)
        for a, b in zip(old.arguments, block.arguments, strict=True):
            shards.local[a] = b
        with ir.InsertionPoint(block):
            yielded = lower(old)
        terminator = old.operations[-1].operation
        if loop and i == 0:
            expect_replicated(op, "condition", shards.spec(yielded[0]))
            continue
        for k, (value, result) in enumerate(zip(yielded, op.results, strict=True)):
            expect(terminator, f"operand {k}", shards.spec(value), shards.spec(result))
    return list(new.results)
