"""Factor rules and op traits, one file per op family: the only op knowledge.

Importing this package does not import MLIR, so that rooms without it can ask about traits; what reads ops does.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pcg.rules.factor import Assignment, Exchange, Factor, FactorRule, Linear, RuleError

if TYPE_CHECKING:
    from pcg.rules.registry import CONTROL_FLOW, TERMINATORS, registered, rule, rule_for

__all__ = [
    "CONTROL_FLOW", "TERMINATORS", "Assignment", "Exchange", "Factor", "FactorRule", "Linear", "RuleError",
    "registered", "rule", "rule_for",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'pcg.rules' has no attribute {name!r}")
    return getattr(importlib.import_module("pcg.rules.registry"), name)
