"""Errors that point into a program."""

from __future__ import annotations

from torch_mlir import ir


class PcgError(Exception):
    """A program cannot be handled.  `location` says where; it is copied as text so that it outlives the IR."""

    def __init__(self, message: str, location: ir.Location | str | None = None) -> None:
        self.message = message
        self.location = location
        super().__init__(message if location is None else f"{describe(location)}: {message}")


def describe(location: ir.Location | str) -> str:
    """`file:line:col` of a location, as compilers print it."""
    if isinstance(location, str):
        return location
    from pcg.ir.locations import file_line_col

    found = file_line_col(location)
    return "<unknown>" if found is None else f"{found[0]}:{found[1]}:{found[2]}"
