"""Frozen dataclasses that are keys of many dictionaries: their hash is computed once."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def hashed_once(cls: type[T]) -> type[T]:
    """Class decorator, outside `dataclass(frozen=True)`: keeps the hash with the object, but never pickles it.

    Hashes of strings differ between processes.
    """
    compute: Any = cls.__hash__

    def hash_(self: Any) -> int:
        found: int | None = self.__dict__.get("_hash")
        if found is None:
            found = self.__dict__["_hash"] = compute(self)
        return found

    def state(self: Any) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_hash"}

    cls.__hash__ = hash_  # type: ignore[assignment]
    cls.__getstate__ = state  # type: ignore[method-assign,attr-defined,assignment]
    return cls
