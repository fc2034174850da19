"""Values in errors."""

from __future__ import annotations

from typing import Any


def brief(value: Any) -> str:
    """A value as an error shows it: in one line, truncated where it is long."""
    try:
        text = f"{value:g}" if isinstance(value, float) else repr(value)
    except ValueError:  # an integer of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 60 else f"{text[:40]}... ({len(text)} characters)"
