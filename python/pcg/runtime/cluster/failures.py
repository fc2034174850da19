"""Errors as data: what was raised in one process, to be raised in another one with the same type and text."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from pcg.controller.faults import RunError

#: Modules whose exceptions keep their types.
_OURS = ("pcg.", "builtins")
_PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True, slots=True)
class Failure:
    """An error in words, with its type's name, and those of its attributes that are words or numbers."""

    module: str
    name: str
    text: str
    attributes: Mapping[str, object] = field(default_factory=dict)
    cause: str = ""

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """What another process gets of an error; types of other packages become `RunError`."""
        kind = type(error)
        cause = error.__cause__
        why = "" if cause is None else f"{type(cause).__name__}: {cause}"
        if not isinstance(error, Exception) or not (kind.__module__ + ".").startswith(_OURS):
            return cls(RunError.__module__, "RunError", f"{kind.__name__}: {error}", cause=why)
        attributes = {k: v for k, v in vars(error).items() if isinstance(v, _PLAIN)}
        text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        return cls(kind.__module__, kind.__qualname__, text, attributes, why)

    def error(self) -> Exception:
        """The error again."""
        kind: type[Exception] = RunError
        try:
            found = getattr(importlib.import_module(self.module), self.name)
            if (self.module + ".").startswith(_OURS) and issubclass(found, Exception):
                kind = found
        except (ImportError, AttributeError, TypeError):
            pass  # it is not known here
        new = kind.__new__(kind, self.text)
        new.args = (self.text,)
        vars(new).update(self.attributes)
        if self.cause:
            new.__cause__ = RuntimeError(self.cause)
        return new
