"""Rules of batch_norm_*: the feature dimension is a factor; in inference all dimensions are."""

from __future__ import annotations

import math

from torch_mlir import ir

from pcg.rules.dims import Dims
from pcg.rules.factor import FactorRule
from pcg.rules.registry import rule, shape
from pcg.rules.traits import Trait

_STATISTICS = "the statistics of a feature are taken over it"
_TRAITS = Trait.UNFUSABLE | Trait.ROUNDS


def _norm(op: ir.Operation, stuck: str, flops_per_element: float) -> FactorRule:
    """Operands and results of full rank share one pattern, those of rank 1 hold one number per feature."""
    whole = shape(op.operands[0])
    feature = ir.IntegerAttr(op.attributes["feature_index"]).value
    dims = Dims(whole, (whole[feature],))
    for d, size in enumerate(whole):
        if d == feature:
            dims.add(size, (0, d), (1, 0))
        else:
            dims.add(size, (0, d), stuck=stuck)
    operands = [dims[0], *(dims[1] if len(shape(v)) == 1 else dims[0] for v in list(op.operands)[1:])]
    results = [dims[0], *(dims[1] if len(shape(v)) == 1 else dims[0] for v in list(op.results)[1:])]
    flops = flops_per_element * math.prod(whole)
    return FactorRule(tuple(dims.factors), tuple(operands), tuple(results), (), flops)


@rule("stablehlo.batch_norm_training", traits=_TRAITS)
def training(op: ir.Operation) -> FactorRule:
    return _norm(op, _STATISTICS, 8.0)


@rule("stablehlo.batch_norm_grad", traits=_TRAITS)
def grad(op: ir.Operation) -> FactorRule:
    return _norm(op, _STATISTICS, 12.0)


@rule("stablehlo.batch_norm_inference", traits=_TRAITS)
def inference(op: ir.Operation) -> FactorRule:
    return _norm(op, "", 4.0)
