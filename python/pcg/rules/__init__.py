"""Factor rules, one file per op family."""

from pcg.rules.factor import Assignment, Exchange, Factor, FactorRule, Linear, RuleError
from pcg.rules.registry import CONTROL_FLOW, TERMINATORS, registered, rule, rule_for

__all__ = [
    "CONTROL_FLOW", "TERMINATORS", "Assignment", "Exchange", "Factor", "FactorRule", "Linear", "RuleError",
    "registered", "rule", "rule_for",
]
