"""Rules of batch_norm_*: the feature dimension is a factor; in inference all dimensions are."""

from __future__ import annotations

import math

from torch_mlir import ir

from pcg.rules.build import Factors
from pcg.rules.factor import FactorRule
from pcg.rules.registry import rule, shape
from pcg.rules.traits import Trait

_STATISTICS = "the statistics of a feature are taken over it"
#: FLOPs per element.
_FLOPS = {
    "stablehlo.batch_norm_training": 8.0, "stablehlo.batch_norm_grad": 12.0, "stablehlo.batch_norm_inference": 4.0
}  # fmt: skip


# Operands and results of full rank share one pattern, those of rank 1 hold one number per feature.
@rule(*_FLOPS, traits=Trait.UNFUSABLE | Trait.ROUNDS)
def norm(op: ir.Operation) -> FactorRule:
    sizes = shape(op.operands[0])
    feature = op.attributes["feature_index"].value
    reduced = op.name != "stablehlo.batch_norm_inference"
    f = Factors()
    row = tuple(f.replicated(n, _STATISTICS) if reduced and d != feature else f.new(n) for d, n in enumerate(sizes))
    operands, results = (
        [row, *((row[feature],) if len(shape(v)) == 1 else row for v in list(values)[1:])]
        for values in (op.operands, op.results)
    )
    return f.rule(operands, results, flops=_FLOPS[op.name] * math.prod(sizes))
