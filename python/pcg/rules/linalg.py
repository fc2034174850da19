"""Rules of fft, cholesky and triangular_solve: batch dimensions are factors, those of transform or matrix are not."""

from __future__ import annotations

import math

from torch_mlir import ir

from pcg.rules.build import Factors, linear
from pcg.rules.factor import FactorRule
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
    f = Factors()
    rows = [[factor, factor] for factor in f.dims(operand[:batch])]
    for sizes in zip(operand[batch:], result[batch:], strict=True):
        rows.append([f.replicated(n, _TRANSFORMED) for n in sizes])
    points = math.prod(lengths)
    # The radix-2 count: log2(points) stages of 10 real FLOPs for every two points.
    flops = 5.0 * math.prod(operand[:batch]) * points * math.log2(max(points, 2))
    return f.rule([tuple(a for a, _ in rows)], [tuple(b for _, b in rows)], [linear("sum", 0)], flops)


@rule("stablehlo.cholesky", traits=_TRAITS)
def cholesky(op: ir.Operation) -> FactorRule:
    a = shape(op.operands[0])
    f = Factors()
    row = f.dims(a[:-2]) + tuple(f.replicated(n, _MATRIX) for n in a[-2:])
    return f.rule([row], [row], flops=math.prod(a) * a[-1] / 3.0)


@rule("stablehlo.triangular_solve", traits=_TRAITS)
def triangular_solve(op: ir.Operation) -> FactorRule:
    """The dimension of the right-hand sides is a factor too: each is solved on its own."""
    a, b = shape(op.operands[0]), shape(op.operands[1])
    left = ir.BoolAttr(op.attributes["left_side"]).value
    f = Factors()
    batch = f.dims(a[:-2])
    free = f.new(b[-1] if left else b[-2])
    matrix = tuple(f.replicated(n, _MATRIX) for n in a[-2:])
    solved = f.replicated(b[-2] if left else b[-1], _MATRIX)
    rhs = (*batch, *((solved, free) if left else (free, solved)))
    return f.rule([batch + matrix, rhs], [rhs], [linear("sum", 1)], float(math.prod(b) * a[-1]))
