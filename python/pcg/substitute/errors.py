"""What is wrong with a term or a file of rules."""

from __future__ import annotations


class TermError(ValueError):
    """A term cannot be built of such operands or parameters; the text names operator and value, and what is allowed."""


class RuleError(ValueError):
    """A rule, or a file of rules, is malformed; the text says which, where, and what is allowed."""


class UnknownOperatorError(RuleError):
    """A rule has an operator that terms do not have."""
