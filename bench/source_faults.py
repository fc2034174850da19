"""Small faults in Python source, as in mutation testing: which a file can have, and planting one.

A fault is found in the syntax tree and is one edit of the text: `if a < b:` becomes `if a <= b:`, and every other
character stays where it was.  Lines keep their numbers.  Left alone is what no test should depend on: imports, type
annotations, decorators, assertions, the texts of errors, `__repr__`, logging, and whether `zip` is strict.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from bench.fault_kinds import FINDERS, LOGGING, Source, name_of, root_of

_FOR_READERS = {"__repr__", "__str__", "__format__"}


@dataclass(frozen=True)
class Fault:
    """One edit of one file: `path` from the root of the repository, line from 1, column in bytes from 0."""

    path: str
    kind: str
    line: int
    column: int
    old: str
    new: str

    def __str__(self) -> str:
        new = self.new.replace(self.old, "...") if len(self.old) > 40 else self.new
        return f"{self.path}:{self.line}: {_short(self.old)} -> {_short(new)}"


def _short(text: str) -> str:
    words = " ".join(text.split()) or "nothing"
    return words if len(words) <= 60 else f"{words[:57]}..."


def faults_of(path: str, text: str) -> list[Fault]:
    """Every fault that this file can have, in the order of the places."""
    source = Source(text)
    found = []
    for edit in dict.fromkeys(e for node in _nodes(source.tree) for find in FINDERS for e in find(source, node)):
        line, column = source.place(edit.start)
        found.append(Fault(path, edit.kind, line, column, source.text(edit.start, edit.end), edit.new))
    return sorted(found, key=lambda f: (f.line, f.column, f.kind, f.new))


def planted(text: str, fault: Fault) -> str:
    """The text with the fault.  ValueError if what it replaces does not stand there."""
    source = Source(text)
    start = source.offset(fault.line, fault.column)
    old = fault.old.encode()
    if source.data[start : start + len(old)] != old:
        raise ValueError(f"{fault.path}:{fault.line}: no {fault.old!r} in column {fault.column}")
    return (source.data[:start] + fault.new.encode() + source.data[start + len(old) :]).decode()


# -- which nodes --------------------------------------------------------------------------------------


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that may have faults, from the outside in."""
    if _is_left_alone(tree):
        return
    yield tree
    for field, value in ast.iter_fields(tree):
        if field in {"annotation", "returns", "decorator_list", "type_params"} or isinstance(tree, ast.Raise):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _nodes(child)


def _is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.JoinedStr() | ast.keyword(arg="strict"):
            return True
        case ast.FunctionDef(name=name):
            return name in _FOR_READERS
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Call(func=func):
            return name_of(func) == "isinstance" or root_of(func) in LOGGING or name_of(func).endswith("Error")
        case ast.Assign(value=ast.BinOp(op=ast.BitOr())):  # most are types by another name
            return True
    return False
