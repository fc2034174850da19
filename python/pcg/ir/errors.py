"""The one error that points into a program; subtypes are for what a caller may want to catch."""

from __future__ import annotations

from typing import Any, Self

from torch_mlir import ir


class PcgError(Exception):
    """A program cannot be handled.

    `where` is anything that has a location (an op, a value, a module), a location, or its text.  `message` is what is
    wrong without the place, `location` the place, if it is known.
    """

    def __init__(self, message: str, where: Any = None) -> None:
        self.message = message
        self.location = None if where is None else location_of(where)
        super().__init__(self._text())

    def at(self, where: Any) -> Self:
        """This error with a place, if it has none."""
        if self.location is None:
            self.location = location_of(where)
            self.args = (self._text(),)
        return self

    def by(self, name: str) -> Self:
        """A copy of this error that says what ran, of the same type, with the same other attributes."""
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.message = f"{name}: {self.message}"
        copy.args = (copy._text(),)
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        # A location belongs to the context of a program, which stays in its process; its text does not.
        where = None if self.location is None else file_position(self.location)
        return _restored, (type(self), {**self.__dict__, "location": where})

    def _text(self) -> str:
        return self.message if self.location is None else f"{file_position(self.location)}: {self.message}"


def _restored(cls: type[PcgError], state: dict[str, Any]) -> PcgError:
    error = cls.__new__(cls)
    error.__dict__.update(state)
    error.args = (error._text(),)
    return error


def location_of(where: Any) -> ir.Location | str:
    """The location of an op, an op view, a value, a module, or a location (or its text) itself."""
    if isinstance(where, ir.Location | str):
        return where
    if isinstance(where, ir.Module):
        return where.operation.location
    return where.location


def file_position(location: ir.Location | str) -> str:
    """`file:line:col` of a location, as compilers print it."""
    if isinstance(location, str):
        return location
    from pcg.ir.locations import file_line_col

    found = file_line_col(location)
    return "<unknown>" if found is None else f"{found[0]}:{found[1]}:{found[2]}"
