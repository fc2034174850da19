"""The registry of factor rules: op name -> function from an op to its `FactorRule`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache

from torch_mlir import ir

from pcg.ir.types import is_bool
from pcg.rules import traits as op_traits
from pcg.rules.factor import FactorRule, replicated_rule
from pcg.rules.traits import Trait

RuleFunction = Callable[[ir.Operation], FactorRule]
_RULES: dict[str, RuleFunction] = {}

#: Ops whose regions are programs; graph building, propagation and lowering treat them structurally.
CONTROL_FLOW = frozenset({"stablehlo.while", "stablehlo.if", "stablehlo.case"})
#: Those that run one of their regions.
BRANCHES = CONTROL_FLOW - {"stablehlo.while"}
TERMINATORS = frozenset({"func.return", "stablehlo.return", "pcg.yield"})


def rule(
    *names: str, traits: Trait | Mapping[str, Trait], reads: tuple[int, ...] | None = None
) -> Callable[[RuleFunction], RuleFunction]:
    """Register the rule of ops `names` and state their traits.  One file per op family defines them.

    Args:
      names: of the ops.
      traits: of all of them, or of each.
      reads: as in `pcg.rules.traits.state`.

    Raises:
      ValueError: an op has a rule already, or `reads` does not fit its traits.
      KeyError: `traits` lacks an op.
    """

    def register(function: RuleFunction) -> RuleFunction:
        for name in names:
            if name in _RULES:
                raise ValueError(f"op {name!r} has two rules")
            op_traits.state([name], traits if isinstance(traits, Trait) else traits[name], reads)
            _RULES[name] = function
        return function

    return register


def shape(value: ir.Value) -> tuple[int, ...]:
    """Static shape of a tensor value; `()` for tokens."""
    t = value.type
    return tuple(t.shape) if isinstance(t, ir.RankedTensorType) else ()


def rule_for(op: ir.Operation) -> FactorRule:
    """The rule of `op`; an op without one gets a rule that replicates it and says why."""
    op_traits.load_all()
    op = op.operation
    function = _RULES.get(op.name)
    if function is None:
        ranks = [len(shape(v)) for v in op.operands]
        reason = f"no rule for {op.name}"
        return replicated_rule(ranks, [len(shape(r)) for r in op.results], reason, _elements(op))
    found = function(op)
    if found.sums:  # what follows is of element types on which they are none
        results = [r.type for r in op.results]
        if results and all(map(is_bool, results)):
            found = _disjunctions(found)
        if any(map(_lacks_zero, results)) or any(_lacks_zero(v.type) for v in op.operands):
            found = _without_sums(found)
    return found if found.flops else replace(found, flops=_elements(op))


def _elements(op: ir.Operation) -> float:
    """How many elements the results of `op` have."""
    return float(sum(math.prod(shape(r)) for r in op.results))


def _lacks_zero(type_: ir.Type) -> bool:
    return isinstance(type_, ir.RankedTensorType) and isinstance(type_.element_type, ir.Float8E8M0FNUType)


@lru_cache(maxsize=1024)
def _without_sums(found: FactorRule) -> FactorRule:
    """Where elements are powers of two nothing is neutral to a sum, so that devices cannot hold partial sums."""
    reason = "its type has no zero, which devices without a term of the sum would hold"
    factors = tuple(
        replace(f, reduce=None, splittable=False, reason=reason, padding="") if f.reduce == "sum" else f
        for f in found.factors
    )
    return replace(found, factors=factors, linear=tuple(x for x in found.linear if x.kind != "sum"))


@lru_cache(maxsize=1024)
def _disjunctions(found: FactorRule) -> FactorRule:
    """The same rule on booleans, where a sum is an `or`: ops that are linear in one are so in the other."""
    factors = tuple(replace(f, reduce="or") if f.reduce == "sum" else f for f in found.factors)
    passes = tuple(replace(x, kind="or") if x.kind == "sum" else x for x in found.linear)
    return replace(found, factors=factors, linear=passes)


def registered() -> dict[str, RuleFunction]:
    """All rules by op name."""
    op_traits.load_all()
    return dict(_RULES)
