"""The factor rule of several ops together: a function as one op.  No MLIR here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from pcg.rules.factor import DimFactors, Factor, FactorRule

#: An op of a function: its rule, and the values that are its operands and results.
RuledOp = tuple[FactorRule, Sequence[int], Sequence[int]]
_EXCHANGED = "devices would have to exchange parts of it inside of the function"


def compose(
    ops: Sequence[RuledOp], arguments: Sequence[int], results: Sequence[int], shapes: Sequence[Sequence[int]]
) -> FactorRule:
    """The rule of the function that takes values `arguments` to `results` by `ops`; `shapes[v]` is that of value v.

    Dimensions that share a factor of some op are one factor (found by union-find).  Of a dimension that a reshape
    merges from several, only the major part can be split.  A factor is reduced as some op reduces it.
    """
    leader: dict[tuple, tuple] = {}

    def find(key: tuple) -> tuple:
        while (up := leader.setdefault(key, key)) != key:
            leader[key] = key = leader[up]
        return key

    members: list[tuple[tuple, Factor]] = []
    for n, (rule, operands, outputs) in enumerate(ops):
        exchanged = {x.factor for x in rule.exchanges if not x.padded}
        members += [
            (("factor", n, f), replace(factor, splittable=False, reason=_EXCHANGED) if f in exchanged else factor)
            for f, factor in enumerate(rule.factors)
        ]
        for values, tensors in ((operands, rule.operands), (outputs, rule.results)):
            for v, tensor in zip(values, tensors, strict=True):
                for d, factors in enumerate(tensor):
                    if factors:
                        leader[find(("dim", v, d))] = find(("factor", n, factors[0]))
    inside: dict[tuple, list[Factor]] = {}
    for key, factor in members:
        inside.setdefault(find(key), []).append(factor)
    numbers: dict[tuple, int] = {}
    merged: list[Factor] = []

    def dims(v: int) -> DimFactors:
        out = []
        for d, size in enumerate(shapes[v]):
            root = find(("dim", v, d))
            if root not in numbers and size > 1:
                numbers[root] = len(merged)
                merged.append(_merge(inside.get(root, []), size))
            out.append((numbers[root],) if root in numbers and size > 1 else ())
        return tuple(out)

    operands_, results_ = tuple(dims(v) for v in arguments), tuple(dims(v) for v in results)
    flops = sum(rule.flops for rule, _, _ in ops)
    return FactorRule(tuple(merged), operands_, results_, (), flops)


def _merge(factors: Sequence[Factor], size: int) -> Factor:
    stuck = next((f for f in factors if not f.splittable), None)
    reduce = next((f.reduce for f in factors if f.reduce), None)
    common = math.gcd(size, *(n for f in factors for n in f.sizes or (f.size,)))
    padding = "any" if common == size and all(f.padding == "any" for f in factors) else ""
    return Factor(common, reduce, stuck is None, stuck.reason if stuck else "", padding=padding)
