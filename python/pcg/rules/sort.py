"""Rules of sort and top_k: every dimension but the sorted one is a factor; top_k can split that one too."""

from __future__ import annotations

import math

from torch_mlir import ir

from pcg.rules.dims import Dims
from pcg.rules.factor import Exchange, FactorRule
from pcg.rules.registry import rule, shape

_SORTED = "it is sorted, and each element may move anywhere along it"


def _int(op: ir.Operation, name: str, default: int) -> int:
    return ir.IntegerAttr(op.attributes[name]).value if name in op.attributes else default


@rule("stablehlo.sort")
def sort(op: ir.Operation) -> FactorRule:
    whole = shape(op.operands[0])
    dimension = _int(op, "dimension", -1) % max(len(whole), 1)
    dims = Dims(whole)
    for d, size in enumerate(whole):
        dims.add(size, (0, d), stuck=_SORTED if d == dimension else "")
    count = len(op.results)
    steps = math.log2(max(whole[dimension], 2)) if whole else 1.0
    flops = count * math.prod(whole) * steps
    return FactorRule(tuple(dims.factors), (dims[0],) * count, (dims[0],) * count, (), flops)


@rule("chlo.top_k")
def top_k(op: ir.Operation) -> FactorRule:
    whole, found = shape(op.operands[0]), shape(op.results[0])
    dims = Dims(whole, found)
    last = len(whole) - 1
    for d in range(last):
        dims.add(whole[d], (0, d), (1, d))
    # Split, every shard finds its own k largest; those are gathered and the k largest of them kept.
    searched = dims.add(whole[last], (0, last))
    dims.add(found[last], (1, last), stuck="it holds the largest elements in order")
    flops = math.prod(whole) * math.log2(max(found[last], 2))
    exchanges = (Exchange(searched, "all_gather", 2.0 * math.prod(found)),) if searched >= 0 else ()
    return FactorRule(
        tuple(dims.factors), (dims[0],), (dims[1],) * len(op.results), (), flops, exchanges=exchanges
    )
