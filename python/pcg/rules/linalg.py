"""Rules of fft, cholesky and triangular_solve: batch dimensions are factors, the transform stays whole."""

from __future__ import annotations

import math

from torch_mlir import ir

from pcg.rules.dims import Dims
from pcg.rules.factor import FactorRule, Linear
from pcg.rules.registry import rule, shape
from pcg.rules.traits import Trait

_TRANSFORMED = "it is transformed as a whole"
_MATRIX = "it is a matrix dimension of the factorization"
_TRAITS = Trait.ANCHOR | Trait.HEAVY | Trait.UNFUSABLE | Trait.NONLOCAL | Trait.ROUNDS


@rule("stablehlo.fft", traits=_TRAITS | Trait.WORK_IN_ATTRIBUTES)
def fft(op: ir.Operation) -> FactorRule:
    operand, result = shape(op.operands[0]), shape(op.results[0])
    lengths = list(op.attributes["fft_length"])
    batch = len(operand) - len(lengths)
    dims = Dims(operand, result)
    for d in range(len(operand)):
        if d < batch:
            dims.add(operand[d], (0, d), (1, d))
        else:
            dims.add(operand[d], (0, d), stuck=_TRANSFORMED)
            dims.add(result[d], (1, d), stuck=_TRANSFORMED)
    points = math.prod(lengths)
    flops = 5.0 * math.prod(operand[:batch]) * points * math.log2(max(points, 2))
    return FactorRule(tuple(dims.factors), (dims[0],), (dims[1],), (Linear("sum", frozenset({0})),), flops)


@rule("stablehlo.cholesky", traits=_TRAITS)
def cholesky(op: ir.Operation) -> FactorRule:
    a = shape(op.operands[0])
    dims = Dims(a)
    for d, size in enumerate(a):
        dims.add(size, (0, d), stuck=_MATRIX if d >= len(a) - 2 else "")
    return FactorRule(tuple(dims.factors), (dims[0],), (dims[0],), (), math.prod(a) * a[-1] / 3.0)


@rule("stablehlo.triangular_solve", traits=_TRAITS)
def triangular_solve(op: ir.Operation) -> FactorRule:
    """The dimension of the right-hand sides is a factor too: each is solved on its own."""
    a, b = shape(op.operands[0]), shape(op.operands[1])
    rank = len(a)
    solved, free = (rank - 2, rank - 1) if ir.BoolAttr(op.attributes["left_side"]).value else (rank - 1, rank - 2)
    dims = Dims(a, b)
    for d in range(rank - 2):
        dims.add(a[d], (0, d), (1, d))
    dims.add(b[free], (1, free))
    for d in (rank - 2, rank - 1):
        dims.add(a[d], (0, d), stuck=_MATRIX)
    dims.add(b[solved], (1, solved), stuck=_MATRIX)
    flops = float(math.prod(b) * a[-1])
    return FactorRule(tuple(dims.factors), (dims[0], dims[1]), (dims[1],), (Linear("sum", frozenset({1})),), flops)
