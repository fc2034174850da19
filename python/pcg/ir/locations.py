"""From MLIR locations to the user's model line.

JAX nests them: `"jit(f)/dot_general"(callsite("f"("model.py":17:15) at "<module>"("main.py":21:14)))` is
operation name, then the innermost frame, then its callers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from torch_mlir import ir


@dataclass(frozen=True)
class Frame:
    """One line of a program; `function` is empty where MLIR does not say."""

    file: str
    line: int
    column: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f" ({self.function})" if self.function else "")


def frames(location: ir.Location, function: str = "") -> Iterator[Frame]:
    """The lines a location names, innermost call first."""
    match type(location).__name__:
        case "FileLineColLoc":
            yield Frame(location.filename, location.start_line, location.start_col, function)
        case "NameLoc":
            child = location.child_loc
            # The outermost name is that of the operation; only the name right around a file is a function's.
            yield from frames(child, location.name_str if type(child).__name__ == "FileLineColLoc" else "")
        case "CallSiteLoc":
            yield from frames(location.callee)
            yield from frames(location.caller)
        case "FusedLoc":
            for child in location.locations:
                yield from frames(child)
        case "Location":  # diagnostics hand out locations without their class
            yield from frames_of_text(str(location))


_PLACE = re.compile(r'(?:"((?:[^"\\]|\\.)*)"\()?"((?:[^"\\]|\\.)*)":(\d+):(\d+)')


def frames_of_text(text: str) -> Iterator[Frame]:
    """The lines named in a printed location, in the order of the text."""
    for m in _PLACE.finditer(text):
        yield Frame(m[2], int(m[3]), int(m[4]), m[1] or "")


def parse_location(text: str, context: ir.Context) -> ir.Location:
    """The location that is printed as `text`."""
    with context:
        return ir.Module.parse(f"module {{}} {text}").operation.location


def user_frame(location: ir.Location) -> Frame | None:
    """The innermost line of the user's program, None if the location has no line."""
    return next(frames(location), None)


def file_line_col(location: ir.Location) -> tuple[str, int, int] | None:
    """The innermost `file, line, column`, None if the location has none."""
    found = user_frame(location)
    return None if found is None else (found.file, found.line, found.column)


def operation_name(location: ir.Location) -> str:
    """What the front end called the operation, e.g. `jit(f)/dot_general`; empty if it did not say."""
    if type(location).__name__ == "NameLoc" and type(location.child_loc).__name__ != "FileLineColLoc":
        return location.name_str
    return ""


def describe(location: ir.Location) -> str:
    """`file:line (function)` of the user's line; the operation's name, or `<unknown>`, without one."""
    found = user_frame(location)
    return str(found) if found is not None else operation_name(location) or "<unknown>"


def place(location: ir.Location) -> str:
    """`file.py:12` of the innermost line a location names (`line 12` of a nameless file), or an empty string."""
    found = user_frame(location)
    if found is None:
        return ""
    name = found.file.rsplit("/", 1)[-1]
    return f"line {found.line}" if name in ("-", "") else f"{name}:{found.line}"


def argument_names(func: ir.Operation) -> list[str]:
    """What the arguments of a function are called: by their locations (`loc("params['w']")`), else `arg0`, ..."""
    arguments = func.operation.regions[0].blocks[0].arguments
    out = []
    for i, argument in enumerate(arguments):
        m = re.match(r'loc\("([^"]+)"\)$', str(argument.location))
        out.append(m[1] if m and not m[1].startswith("-") else f"arg{i}")
    return out if len(set(out)) == len(out) else [f"arg{i}" for i in range(len(out))]


def result_names(func: ir.Operation) -> list[str]:
    """What the results of a function are called: `result['w']` where jax says so, else `result[0]`, ..."""
    attrs = func.operation.attributes
    count = len(ir.FunctionType(ir.TypeAttr(attrs["function_type"]).value).results)
    known = attrs["res_attrs"] if "res_attrs" in attrs else None
    out = []
    for i in range(count):
        m = re.search(r'jax\.result_info = "result([^"]*)"', str(known[i])) if known is not None else None
        out.append("result" + m[1] if m else f"result[{i}]" if count > 1 else "result")
    return out
