"""A program without its redistributions: the layouts that ops need of their operands are attributes instead."""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.walk import walk
from pcg.layout import ShardSpec
from pcg.lower.redistribution_ops import REDISTRIBUTION_OPS
from pcg.rules import CONTROL_FLOW, TERMINATORS
from pcg.rules.registry import shape


def without_reshards(module: ir.Operation) -> ir.Operation:
    """A copy of a module as it was before dist-insert-reshards, without the constraints inside of it.

    It computes the same; every op keeps its layouts.
    """
    copy = module.operation.clone()
    ops = [op for op in walk(copy) if op != copy]
    for op in ops:
        if len(op.results) and len(op.operands) and op.name not in REDISTRIBUTION_OPS | CONTROL_FLOW | TERMINATORS:
            specs = [shardings.get(v) or ShardSpec.replicated(len(shape(v))) for v in op.operands]
            shardings.set_operand_specs(op, specs)
    for op in ops:
        if op.name in REDISTRIBUTION_OPS:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
    return copy
