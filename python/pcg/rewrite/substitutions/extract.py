"""From a program with alternatives to the program that has one of each."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from torch_mlir import ir

from pcg.ir.walk import defining_op
from pcg.rewrite.substitutions.apply import erase_unused


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
