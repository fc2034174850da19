"""Rule of chlo.ragged_dot: a contraction whose groups have sizes known only at run time."""

from __future__ import annotations

import math
import re

from torch_mlir import ir

from pcg.rules.build import DimFactor, Factors, linear, unfactored
from pcg.rules.factor import FactorRule
from pcg.rules.opaque import run_replicated
from pcg.rules.registry import rule, shape
from pcg.rules.traits import Trait

_RAGGED = "the group sizes cut it at places known only at run time"
_GROUPS = "it counts the groups, whose sizes add up along the ragged dimension"


# No CONTRACTION: its cost is that of what backends expand it to, not by the rate of matrix units.
@rule("chlo.ragged_dot", traits=Trait.EXPENSIVE)
def ragged_dot(op: ir.Operation) -> FactorRule:
    """`(b,m,k),(g,b,k,n),(g) -> (b,m,n)`, ragged in m: b and n are factors, k is contracted, m and g are not split."""
    text = str(op.attributes["ragged_dot_dimension_numbers"])

    def numbers(name: str) -> list[int]:
        found = re.search(rf"\b{name} = \[([\d, ]*)\]", text)
        return [int(x) for x in found[1].split(",")] if found and found[1].strip() else []

    lhs_batch, rhs_batch = numbers("lhs_batching_dimensions"), numbers("rhs_batching_dimensions")
    lhs_contract, rhs_contract = numbers("lhs_contracting_dimensions"), numbers("rhs_contracting_dimensions")
    ragged, groups = numbers("lhs_ragged_dimensions"), numbers("rhs_group_dimensions")
    if len(ragged) != 1 or ragged[0] in lhs_batch or ragged[0] in lhs_contract or len(shape(op.operands[2])) != 1:
        return run_replicated(op, "a ragged dot whose ragged dimension is not a free one of the left side is opaque")
    lhs, rhs, sizes = (shape(v) for v in op.operands)
    f = Factors()
    a, b = unfactored(lhs, rhs)
    out: list[DimFactor] = []
    flops = 2.0 * math.prod(lhs)
    for i, j in zip(lhs_batch, rhs_batch, strict=True):
        a[i] = b[j] = f.new(lhs[i])
        out.append(a[i])
    for i, j in zip(lhs_contract, rhs_contract, strict=True):
        a[i] = b[j] = f.new(lhs[i], "sum")
    for i, size in enumerate(lhs):
        if i not in lhs_batch and i not in lhs_contract:
            a[i] = f.replicated(size, _RAGGED) if i in ragged else f.new(size)
            out.append(a[i])
    group = f.replicated(sizes[0], _GROUPS)
    for j, size in enumerate(rhs):
        if j in groups:
            b[j] = group
        elif j not in rhs_batch and j not in rhs_contract:
            b[j] = f.new(size)
            out.append(b[j])
            flops *= size
    passes = [linear("sum", 0), linear("sum", 1)]
    return f.rule([tuple(a), tuple(b), (group,)], [tuple(out)], passes, max(flops, 1.0))
