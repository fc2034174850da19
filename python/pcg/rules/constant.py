"""Rules of ops without tensor operands, and of ops that read only shapes: constant, iota, get_dimension_size."""

from __future__ import annotations

from functools import lru_cache

from torch_mlir import ir

from pcg.rules.build import FREE, Factors
from pcg.rules.factor import FactorRule
from pcg.rules.registry import rule, shape
from pcg.rules.traits import Trait


# Passes that rematerialise generators write ops of StableHLO, so chlo.constant is not marked as one.
@rule("chlo.constant", traits=Trait.EXPENSIVE)
@rule("stablehlo.iota", traits=Trait.GENERATOR | Trait.CHEAP | Trait.YIELDS_INTEGERS)
@rule("stablehlo.constant", traits=Trait.GENERATOR | Trait.CHEAP)
def source(op: ir.Operation) -> FactorRule:
    """Every dimension may be split: a device computes just its own part."""
    return _source(shape(op.results[0]))


@lru_cache(maxsize=4096)
def _source(s: tuple[int, ...]) -> FactorRule:
    f = Factors()
    return f.rule([], [f.dims(s)], flops=FREE)


@rule("stablehlo.get_dimension_size", traits=Trait.NONE)
def get_dimension_size(op: ir.Operation) -> FactorRule:
    """The size is static, so that any layout of the operand will do."""
    f = Factors()
    return f.rule([f.dims(shape(op.operands[0]))], [()], flops=FREE)
