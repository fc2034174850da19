"""Rules of batch_norm_*: the feature dimension is a factor; in inference all dimensions are."""

from __future__ import annotations

import math

from torch_mlir import ir

from pcg.rules.build import Factors
from pcg.rules.factor import FactorRule
from pcg.rules.registry import rule, shape
from pcg.rules.traits import Trait

_STATISTICS = "the statistics of a feature are taken over it"
_TRAITS = Trait.UNFUSABLE | Trait.ROUNDS


def _norm(op: ir.Operation, reason: str, flops_per_element: float) -> FactorRule:
    """Operands and results of full rank share one pattern, those of rank 1 hold one number per feature.

    Only the feature dimension can be split if there is a `reason`.
    """
    sizes = shape(op.operands[0])
    feature = ir.IntegerAttr(op.attributes["feature_index"]).value
    f = Factors()
    row = tuple(f.replicated(n, reason) if reason and d != feature else f.new(n) for d, n in enumerate(sizes))
    operands, results = (
        [row, *((row[feature],) if len(shape(v)) == 1 else row for v in list(values)[1:])]
        for values in (op.operands, op.results)
    )
    return f.rule(operands, results, flops=flops_per_element * math.prod(sizes))


@rule("stablehlo.batch_norm_training", traits=_TRAITS)
def training(op: ir.Operation) -> FactorRule:
    return _norm(op, _STATISTICS, 8.0)


@rule("stablehlo.batch_norm_grad", traits=_TRAITS)
def grad(op: ir.Operation) -> FactorRule:
    return _norm(op, _STATISTICS, 12.0)


@rule("stablehlo.batch_norm_inference", traits=_TRAITS)
def inference(op: ir.Operation) -> FactorRule:
    return _norm(op, "", 4.0)
