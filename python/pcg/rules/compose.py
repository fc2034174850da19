"""The factor rule of several ops together: a function as one op.  No MLIR here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from pcg.rules.factor import DimFactors, Factor, FactorRule

#: An op of a function: its rule, and the values that are its operands and results.
Step = tuple[FactorRule, Sequence[int], Sequence[int]]
_TALKS = "devices would have to exchange parts of it inside of the function"


def compose(
    steps: Sequence[Step], arguments: Sequence[int], results: Sequence[int], shapes: Sequence[Sequence[int]]
) -> FactorRule:
    """The rule of the function that takes values `arguments` to `results` by `steps`; `shapes[v]` are those of values.

    Dimensions that some op needs cut alike are one factor.  Of a dimension that a reshape merges from
    several, only the major part can be cut.  A factor reduces what some op reduces it by.
    """
    leader: dict[tuple, tuple] = {}

    def find(key: tuple) -> tuple:
        while (up := leader.setdefault(key, key)) != key:
            leader[key] = key = leader[up]
        return key

    members: list[tuple[tuple, Factor]] = []
    for n, (rule, operands, made) in enumerate(steps):
        talks = {x.factor for x in rule.exchanges if not x.padded}
        members += [
            (("factor", n, f), replace(factor, splittable=False, reason=_TALKS) if f in talks else factor)
            for f, factor in enumerate(rule.factors)
        ]
        for values, tensors in ((operands, rule.operands), (made, rule.results)):
            for v, tensor in zip(values, tensors, strict=True):
                for d, factors in enumerate(tensor):
                    if factors:
                        leader[find(("dim", v, d))] = find(("factor", n, factors[0]))
    inside: dict[tuple, list[Factor]] = {}
    for key, factor in members:
        inside.setdefault(find(key), []).append(factor)
    numbers: dict[tuple, int] = {}
    made_factors: list[Factor] = []

    def dims(v: int) -> DimFactors:
        out = []
        for d, size in enumerate(shapes[v]):
            root = find(("dim", v, d))
            if root not in numbers and size > 1:
                numbers[root] = len(made_factors)
                made_factors.append(_merge(inside.get(root, []), size))
            out.append((numbers[root],) if root in numbers and size > 1 else ())
        return tuple(out)

    operands_, results_ = tuple(dims(v) for v in arguments), tuple(dims(v) for v in results)
    flops = sum(rule.flops for rule, _, _ in steps)
    return FactorRule(tuple(made_factors), operands_, results_, (), flops)


def _merge(factors: Sequence[Factor], size: int) -> Factor:
    stuck = next((f for f in factors if not f.splittable), None)
    reduce = next((f.reduce for f in factors if f.reduce), None)
    common = math.gcd(size, *(n for f in factors for n in f.sizes or (f.size,)))
    padding = "any" if common == size and all(f.padding == "any" for f in factors) else ""
    return Factor(common, reduce, stuck is None, stuck.reason if stuck else "", padding=padding)
