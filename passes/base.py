"""Passes written in Python: their options and textual form, and all of them by name."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import math
import pkgutil
import shlex
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pcg.ir.transformation import Bytes, Transformation


@dataclass
class Pass(Transformation):
    """A module pass: a transformation with a name.  Its fields are its options, its docstring its documentation.

    Subclasses set `name`, and implement `run` or inherit it from a library's transformation; with fields of their own
    they are dataclasses.  An underscore in a field name is a dash in the textual option.
    """

    name: ClassVar[str]
    #: Whether layouts must name axes of the mesh as it is, not parts of them (`x:(1)2`); see `dist-refine-mesh`.
    plain_axes: ClassVar[bool] = False

    @classmethod
    def option_fields(cls) -> dict[str, dataclasses.Field[Any]]:
        """The options by their textual name.

        Fields without a plain default (results, objects made by a factory) are for Python callers only.
        """
        plain = (f for f in dataclasses.fields(cls) if f.init and f.default is not dataclasses.MISSING)
        return {f.name.replace("_", "-"): f for f in plain}

    @classmethod
    def from_options(cls, options: str, settings: Mapping[str, Any] | None = None) -> Pass:
        """Build the pass from the text between braces, e.g. `mesh=data=2,model=4 max-cost=3`.

        `settings` are values of fields that the text does not give.

        Raises:
          ValueError: unknown option, or a value that does not have the option's type.
        """
        try:
            items = shlex.split(options)
        except ValueError as error:
            raise ValueError(f"pass '{cls.name}': cannot read options '{options}': {error}") from None
        made = cls(**(settings or {}))
        for item in items:
            key, has_value, text = item.partition("=")
            made.set_option(key, text if has_value else "true")
        return made

    def set_option(self, key: str, text: str) -> None:
        """Set one option from its text."""
        fields = self.option_fields()
        field = fields.get(key.replace("_", "-"))
        if field is None:
            known = ", ".join(sorted(fields)) or "none"
            raise ValueError(f"pass '{self.name}' has no option '{key}' (options: {known})")
        try:
            value = _parse(typing.get_type_hints(type(self))[field.name], text)
            choices = field.metadata.get("choices")
            if choices and value not in choices:
                raise ValueError(f"expected one of {', '.join(choices)}, got '{text}'")
        except ValueError as error:
            raise ValueError(f"pass '{self.name}', option '{key}': {error}") from None
        setattr(self, field.name, value)

    def __str__(self) -> str:
        """The pass as an element of a textual pipeline; options at their default are left out."""
        changed = [
            f"{key}={_print(getattr(self, f.name))}"
            for key, f in self.option_fields().items()
            if getattr(self, f.name) != f.default and _printable(getattr(self, f.name))
        ]
        return self.name + (f"{{{' '.join(changed)}}}" if changed else "")


def _parse(hint: Any, text: str) -> Any:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        if text == "none" and type(None) in typing.get_args(hint):
            return None
        hint = next(h for h in typing.get_args(hint) if h is not type(None))
    if typing.get_origin(hint) is tuple:
        return tuple(_parse(typing.get_args(hint)[0], t) for t in text.split(",") if t)
    if hint is bool:
        if text not in ("true", "false"):
            raise ValueError(f"expected true or false, got '{text}'")
        return text == "true"
    if hint is Bytes:
        return Bytes(text)
    if hint not in (int, float, str):
        raise ValueError(f"cannot be given as text (its type is {getattr(hint, '__name__', hint)})")
    try:
        value = hint(text)
    except ValueError:
        raise ValueError(f"expected {hint.__name__}, got '{text}'") from None
    if hint is float and not math.isfinite(value):
        raise ValueError(f"expected a finite number, got '{text}'")
    return value


def _printable(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str | tuple)


def _print(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(_print, value))
    text = str(value)
    return shlex.quote(text) if any(c in text for c in " {}'\"") else text


@functools.cache
def pass_names() -> tuple[str, ...]:
    """Names of all Python passes, sorted: those of their files, which begin with a dialect."""
    files = (m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]))
    return tuple(sorted(f.replace("_", "-") for f in files if f.startswith(("dist_", "pcg_", "sdy_"))))


def lookup(name: str) -> type[Pass] | None:
    """The pass class called `name`, or None."""
    if name not in pass_names():
        return None
    module = importlib.import_module(f"pcg.passes.{name.replace('-', '_')}")
    classes = (c for c in vars(module).values() if isinstance(c, type) and issubclass(c, Pass))
    return next(c for c in classes if vars(c).get("name") == name)
