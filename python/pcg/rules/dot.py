"""Rules of dot_general and dot: batch, rows of each side, and contracted dimensions."""

from __future__ import annotations

import math
from functools import lru_cache

from torch_mlir import ir

from pcg.ir import stablehlo as _stablehlo
from pcg.ir.types import is_bool
from pcg.rules.build import DimFactor, Factors, Shape, linear, unfactored
from pcg.rules.factor import FactorRule
from pcg.rules.registry import rule, shape
from pcg.rules.traits import Trait

_LINEAR = (linear("sum", 0), linear("sum", 1))
_TRAITS = (
    Trait.CONTRACTION | Trait.MATMUL | Trait.ANCHOR | Trait.HEAVY | Trait.WORK_IN_ATTRIBUTES | Trait.UNFUSABLE
    | Trait.NONLOCAL | Trait.ROUNDS
)  # fmt: skip


@rule("stablehlo.dot_general", traits=_TRAITS)
def dot_general(op: ir.Operation) -> FactorRule:
    """`(b,i,k),(b,k,j) -> (b,i,j)`; splitting k makes the result a partial sum."""
    n = _stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    return dot_rule(
        shape(op.operands[0]), shape(op.operands[1]),
        tuple(n.lhs_batching_dimensions), tuple(n.rhs_batching_dimensions),
        tuple(n.lhs_contracting_dimensions), tuple(n.rhs_contracting_dimensions),
        not is_bool(op.results[0].type),
    )  # fmt: skip


@rule("stablehlo.dot", traits=_TRAITS)
def dot(op: ir.Operation) -> FactorRule:
    """Last dimension of the left side with the first of the right, for ranks 1 and 2."""
    a, b = shape(op.operands[0]), shape(op.operands[1])
    return dot_rule(a, b, (), (), (len(a) - 1,), (0,), not is_bool(op.results[0].type))


@lru_cache(maxsize=4096)
def dot_rule(
    lhs: Shape, rhs: Shape, lhs_batch: Shape, rhs_batch: Shape, lhs_contract: Shape, rhs_contract: Shape, sums: bool
) -> FactorRule:
    """Rule from shapes and dimension numbers; two FLOPs per multiply-add.  `sums`: not on booleans, which it ors."""
    f = Factors()
    a, b = unfactored(lhs, rhs)
    out: list[DimFactor] = []
    for i, j in zip(lhs_batch, rhs_batch, strict=True):
        a[i] = b[j] = f.new(lhs[i])
        out.append(a[i])
    for dims, sizes, shared in ((a, lhs, (*lhs_batch, *lhs_contract)), (b, rhs, (*rhs_batch, *rhs_contract))):
        for i in (i for i in range(len(sizes)) if i not in shared):
            dims[i] = f.new(sizes[i])
            out.append(dims[i])
    for i, j in zip(lhs_contract, rhs_contract, strict=True):
        a[i] = b[j] = f.new(lhs[i], "sum" if sums else "or")
    columns = (n for j, n in enumerate(rhs) if j not in rhs_batch and j not in rhs_contract)
    flops = math.prod((*lhs, *columns), start=2.0)
    return f.rule([tuple(a), tuple(b)], [tuple(out)], _LINEAR if sums else (), max(flops, 1.0))
