"""Rules of random number generators: every device draws the same numbers."""

from __future__ import annotations

from torch_mlir import ir

from pcg.rules.factor import FactorRule, replicated
from pcg.rules.registry import rule, shape


def _ranks(op: ir.Operation) -> tuple[list[int], list[int]]:
    return [len(shape(v)) for v in op.operands], [len(shape(r)) for r in op.results]


@rule("stablehlo.rng_bit_generator")
def rng_bit_generator(op: ir.Operation) -> FactorRule:
    return replicated(*_ranks(op), "one generator state gives one stream, which every device must draw whole")


@rule("stablehlo.rng")
def rng(op: ir.Operation) -> FactorRule:
    return replicated(*_ranks(op), "its generator is hidden, so devices agree only if each draws everything")
