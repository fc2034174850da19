"""How much terms compute."""

from __future__ import annotations

from math import prod

from pcg.substitute.term import VARIABLE, Term, subterms

#: Operators that compute nothing.
_FREE = {
    VARIABLE, "concat", "slice", "transpose", "merge", "unmerge", "broadcast", "enlarge", "embedding", "zeros",
    "ones_like", "identity", "conv_identity", "pool_kernel", "partition", "combine", "replicate", "pipeline", "batch",
}  # fmt: skip


def flops(term: Term) -> float:
    """Floating-point operations of a term, two for a multiply-add; what is used twice is computed once.

    What operators only move counts nothing; of a lookup's gradient the rows that are added count.
    """
    return sum(_of(t) for t in subterms(term) if t.operator not in _FREE)


def _of(term: Term) -> float:
    if term.operator in ("matmul", "linear"):
        return 2.0 * term.type.elements * term.operands[0].type.shape[-1]
    if term.operator == "conv":
        return 2.0 * term.type.elements * prod(term.operands[1].type.shape[2:])
    if term.operator == "scatter_add":
        return float(term.operands[2].type.elements)
    return float(max((term.type.elements, *(o.type.elements for o in term.operands))))
