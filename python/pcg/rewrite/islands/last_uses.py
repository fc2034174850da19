"""Where each value of a program on islands is read for the last time."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir.emit import i64s
from pcg.ir.transformation import Transformation
from pcg.ir.walk import entry_of
from pcg.rewrite.islands import nodes


@dataclass
class MarkLastUses(Transformation):
    """Mark the operands that nothing reads behind an op: their buffers may be donated to it, or freed behind it."""

    def run(self, module: ir.Operation) -> None:
        func = entry_of(module)
        nodes.check_program(module, func)
        arguments = func.regions[0].blocks[0].arguments
        needed = {*nodes.returned(func), *(a for a in arguments if not nodes.is_donated(a))}
        with module.context:
            for op in reversed(nodes.ops_of(func)):
                last = [i for i, v in enumerate(op.operands) if v not in needed]
                needed.update(op.operands)
                if last:
                    op.attributes[nodes.LAST_USES] = i64s(last)
                elif nodes.LAST_USES in op.attributes:
                    del op.attributes[nodes.LAST_USES]
                self.statistics["last uses"] += len(last)
