"""Kinds of small faults: mutation operators on the syntax tree, each a function from a node to edits of the text."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise

#: The operators that a comparison becomes: boundaries move, and what has none is inverted.
COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.In: ("in", "not in"), ast.NotIn: (r"not\s+in", "in"), ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: (r"\+", "-"), ast.Sub: ("-", "+"), ast.Mult: (r"\*", "+"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"), ast.Pow: (r"\*\*", "*"), ast.BitOr: (r"\|", "&"), ast.BitAnd: ("&", "|"),
}  # fmt: skip
_OPPOSITE = [("min", "max"), ("any", "all"), ("minimum", "maximum"), ("argmin", "argmax"), ("floor", "ceil")]
OPPOSITES = {a: b for pair in _OPPOSITE for a, b in (pair, pair[::-1])}
#: Calls in which the order of arguments says nothing, or whose exchange is no small fault.
UNORDERED = {"min", "max", "gcd", "lcm", "isinstance", "issubclass", "zip", "minimum", "maximum", "logaddexp"}
#: What a function returns wrongly, by the head of its annotation.
RETURNS = {"bool": "not ({})", "int": "({}) + 1", "float": "({}) * 2", "tuple": "() and ({})", "list": "[] and ({})",
           "set": "set() and ({})", "frozenset": "frozenset() and ({})", "dict": "{{}} and ({})"}  # fmt: skip
LOGGING = {"log", "logger", "logging", "warnings", "print"}
_LITERALS = ast.List | ast.Tuple | ast.JoinedStr | ast.Set | ast.Dict


@dataclass(frozen=True)
class Edit:
    """Bytes `start` to `end` of a source text replaced by `new`."""

    kind: str
    start: int
    end: int
    new: str


class Source:
    """A text with its syntax tree, and offsets in bytes."""

    def __init__(self, text: str) -> None:
        self.data = text.encode()
        self.tree = ast.parse(text)
        self._lines = [0, *accumulate(len(line) + 1 for line in self.data.split(b"\n"))]

    def offset(self, line: int, column: int) -> int:
        """Offset of a place given as (line, column)."""
        return self._lines[line - 1] + column

    def place(self, offset: int) -> tuple[int, int]:
        """(line, column) of an offset."""
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1]

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Where a node begins and ends."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def text(self, start: int, end: int) -> str:
        """What stands there."""
        return self.data[start:end].decode()

    def around(self, kind: str, node: ast.expr, form: str) -> Edit:
        """An expression put into `form`: its lines stay lines."""
        start, end = self.span(node)
        return Edit(kind, start, end, form.format(self.text(start, end)))

    def token(self, kind: str, left: ast.expr, right: ast.expr, pattern: str, new: str) -> Iterator[Edit]:
        """The operator between two operands replaced; nothing where a comment stands between them."""
        start, end = self.span(left)[1], self.span(right)[0]
        between = self.text(start, end)
        found = re.search(pattern, between)
        if found and "#" not in between:
            at = start + len(between[: found.start()].encode())
            yield Edit(kind, at, at + len(found.group()), new)


def name_of(func: ast.expr) -> str:
    """The last part of a dotted name."""
    return func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""


def root_of(func: ast.expr) -> str:
    """The first part of a dotted name."""
    while isinstance(func, ast.Attribute):
        func = func.value
    return name_of(func)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _comparison(source: Source, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Compare):
        for (left, right), op in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
            pattern, new = COMPARISONS[type(op)]
            yield from source.token("comparison", left, right, pattern, new)


def _arithmetic(source: Source, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        operands = (node.left, node.right)
        if not any(isinstance(o, _LITERALS) or _is_text(o) for o in operands):
            yield from source.token("arithmetic", *operands, *ARITHMETIC[type(node.op)])


def _constants(source: Source, kind: str, node: ast.AST | None) -> Iterator[Edit]:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        value = node.value
        if isinstance(value, bool):
            others = [str(not value)]
        elif isinstance(value, int):
            others = [str(value + 1), str(value - 1)]
        else:
            others = [repr(value * 2 or 1.0)]
        for other in others:
            yield Edit(kind, *source.span(node), other)


def _constant(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Constants in anything but a default."""
    if isinstance(node, ast.arguments) or (isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Constant)):
        return
    for child in ast.iter_child_nodes(node):
        yield from _constants(source, "constant", child)


def _default(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Of arguments and of fields."""
    if isinstance(node, ast.arguments):
        for value in [*node.defaults, *node.kw_defaults]:
            yield from _constants(source, "default", value)
    if isinstance(node, ast.AnnAssign):
        yield from _constants(source, "default", node.value)


def _not(source: Source, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        start, end = source.span(node)
        yield Edit("not", start, start + len(re.match(r"not\s*", source.text(start, end)).group()), "")  # type: ignore[union-attr]
    tests = [node.test] if isinstance(node, ast.If | ast.While | ast.IfExp) else getattr(node, "ifs", [])
    for test in tests:
        if not isinstance(test, ast.Compare) and not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)):
            yield source.around("not", test, "not ({})")


def _opposite(source: Source, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.Call) and (name := name_of(node.func)) in OPPOSITES:
        end = source.span(node.func)[1]
        yield Edit("opposite", end - len(name), end, OPPOSITES[name])


def _connective(source: Source, node: ast.AST) -> Iterator[Edit]:
    if isinstance(node, ast.BoolOp):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in pairwise(node.values):
            yield from source.token("connective", left, right, rf"\b{old}\b", new)


def _arguments(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Two arguments in a row exchanged."""
    if isinstance(node, ast.Call) and name_of(node.func) not in UNORDERED:
        for left, right in pairwise(node.args):
            (a, b), (c, d) = source.span(left), source.span(right)
            odd = any(isinstance(x, ast.Starred) or _is_text(x) for x in (left, right))
            # Parentheses belong to no node: exchanged without them, the text would mean something else.
            if not odd and source.text(b, c).strip() == "," and source.text(a, b) != source.text(c, d):
                yield Edit("arguments", a, d, source.text(c, d) + source.text(b, c) + source.text(a, b))


def _branch(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A branch that is never taken."""
    if isinstance(node, ast.If | ast.IfExp):
        yield source.around("branch", node.test, "False and ({})")
        if node.orelse:
            yield source.around("branch", node.test, "True or ({})")


def _statement(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A statement without which the names that follow still have values."""
    match node:
        case ast.Expr(value=ast.Call(func=func)) if root_of(func) in LOGGING:
            return
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            pass
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()):
            pass
        case ast.AugAssign() | ast.Continue() | ast.Break() | ast.Raise():
            pass
        case _:
            return
    start, end = source.span(node)
    yield Edit("statement", start, end, "pass" + "\n" * source.data.count(b"\n", start, end))


def _return(source: Source, node: ast.AST) -> Iterator[Edit]:
    if not isinstance(node, ast.FunctionDef) or node.returns is None:
        return
    kind = ast.unparse(node.returns)
    form = "None and ({})" if kind.endswith("| None") else RETURNS.get(kind.split("[")[0])
    for child in _own(node) if form else ():
        value = child.value if isinstance(child, ast.Return) else None
        if value is not None and not isinstance(value, ast.Constant | _LITERALS) and ast.unparse(value) != "math.inf":
            yield source.around("return", value, str(form))


def _own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions in it."""
    rest: list[ast.AST] = list(function.body)
    while rest:
        node = rest.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            rest += ast.iter_child_nodes(node)


FINDERS: tuple[Callable[[Source, ast.AST], Iterator[Edit]], ...] = (
    _comparison, _arithmetic, _constant, _default, _not, _opposite, _connective, _arguments, _branch, _statement,
    _return,
)  # fmt: skip
