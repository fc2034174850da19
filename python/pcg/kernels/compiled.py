"""How inner loops are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """`function` compiled at its first call; kept on disk where there is a place for it."""
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # neither beside the source nor in the user's cache
        return njit(**options)(function)


def compiled_without_nan(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `compiled`, for loops in which no value is NaN: minima of floats are then done several at a time."""
    return compiled(function, fastmath={"nnan", "nsz"})
