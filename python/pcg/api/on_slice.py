"""What `pcg.compile` takes in place of a mesh: something on which functions are made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any


class OnSlice(ABC):
    """A slice of a controller."""

    @abstractmethod
    def function(self, function: Callable[..., Any], **options: Any) -> Any:
        """`function`, on this slice."""
