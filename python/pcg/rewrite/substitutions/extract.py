"""From a program with alternatives to the program that has one of each."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from torch_mlir import ir

from pcg.ir.clone import clone_module
from pcg.ir.walk import defining_op, walk
from pcg.rewrite.substitutions.apply import erase_unused
from pcg.rewrite.substitutions.view import ALTERNATIVES


def extract(alternatives: Sequence[ir.Operation], rewritten: Collection[int]) -> None:
    """Take of each of the ops `pcg.alternatives`, in the order in which they were added, one operand.

    `rewritten` are the numbers of those of which the second is taken.
    """
    # Operands of one may be another, and its own second operand is computed with others' results.
    for number, op in enumerate(alternatives):
        op.results[0].replace_all_uses_with(op.operands[int(number in rewritten)])
    unused = [d for op in alternatives for v in op.operands if (d := defining_op(v)) is not None]
    gone = set(alternatives)
    for op in alternatives:
        op.erase()
    erase_unused([op for op in dict.fromkeys(unused) if op not in gone])


def extracted(
    module: ir.Operation, alternatives: Sequence[ir.Operation], rewritten: Collection[int]
) -> ir.Operation:
    """A copy of a module of which `extract` has taken one of each; the module stays as it is."""
    copy = clone_module(module).operation
    copies = [op for op in walk(copy) if op.name == ALTERNATIVES]
    copy_of = dict(zip((op for op in walk(module) if op.name == ALTERNATIVES), copies, strict=True))
    extract([copy_of[op] for op in alternatives], rewritten)
    return copy
