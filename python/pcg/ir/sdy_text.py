"""From the pretty assembly of Shardy's `sdy` dialect to MLIR's generic form.

The bindings have no `sdy` dialect, so only generic text of it parses (with unregistered dialects
allowed).  Each op is rewritten where it stands and no line break is added or removed, so the lines
of diagnostics stay those of the original text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pcg.ir.errors import PcgError

# An op in custom form: `sdy.name` that is not part of a longer word, an attribute or a quoted name.
_OP = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|(?<![\w.$#!"@%-])sdy\.([a-z_]+)(?![\w.]*\s*=[^>])')
_GENERIC_MANUAL = '"sdy.manual_computation"'
_EMPTY_REGION = re.compile(r"\}, \{\s*\}\)")
_CLOSE = {"<": ">", "[": "]", "{": "}", "(": ")"}
_SPACE = re.compile(r"(?:\s|//[^\n]*)*")
_VALUES = re.compile(r"(?:%[\w$.\-#:]+\s*,\s*)*%[\w$.\-#:]+|")
_TYPE_WORD = re.compile(r"[!\w.]+")

#: Ops that are read; the others are distributed programs, which pcg does not take as input.
SUPPORTED = (
    "mesh", "sharding_constraint", "reshard", "manual_computation", "return", "propagation_barrier", "sharding_group",
)  # fmt: skip


def to_generic(text: str, name: str = "-") -> str:
    """Rewrite every pretty `sdy` op of `text`, and manual computations in any form.

    Raises:
      PcgError: an op that is not supported, or text that is not of the form the op prints in.
    """
    if "sdy." not in text:
        return text
    edits: list[tuple[int, int, str]] = []
    for m in _OP.finditer(text):
        if m[1] is not None:
            _Reader(text, m.end(), name, m.start()).op(m[1], edits)
        elif m[0] == _GENERIC_MANUAL and text.startswith("(", m.end()):
            _Reader(text, m.end(), name, m.start()).second_region(edits)
    out, done = [], 0
    for start, end, new in sorted(edits):
        out += [text[done:start], new + "\n" * (text.count("\n", start, end) - new.count("\n"))]
        done = end
    return "".join(out) + text[done:]


def without_second_regions(text: str) -> str:
    """Printed text of a module without the regions that `to_generic` gave to manual computations."""
    return _EMPTY_REGION.sub("})", text) if _GENERIC_MANUAL in text else text


class _Reader:
    """Reads the pieces of one op, starting after its name."""

    def __init__(self, text: str, at: int, name: str, start: int) -> None:
        self.text, self.at, self.name, self.start = text, at, name, start

    def op(self, op: str, edits: list[tuple[int, int, str]]) -> None:
        """Append the edits that make this op generic."""
        if op == "manual_computation":
            self.manual_computation(edits)
            return
        if op == "mesh":
            symbol = self.match(re.compile(r'@([\w$.\-]+|"[^"]*")'), "a symbol").group(1)
            self.expect("=")
            mesh = self.group("<")
            sym_name = symbol if symbol.startswith('"') else f'"{symbol}"'
            new = f'"sdy.mesh"() {self.attributes(f"sym_name = {sym_name}", f"mesh = #sdy.mesh{mesh}")} : () -> ()'
        elif op in ("sharding_constraint", "reshard"):
            value = self.match(_VALUES, "a value")[0]
            attrs = self.attributes(f"sharding = #sdy.sharding{self.group('<')}")
            type_ = self.types()
            new = f'"sdy.{op}"({value}) {attrs} : ({type_}) -> {type_}'
        elif op == "return":
            values = self.match(_VALUES, "values")[0]
            attrs = self.attributes()
            new = f'"sdy.return"({values}) {attrs} : ({self.types() if values else ""}) -> ()'
        elif op == "propagation_barrier":
            value = self.match(_VALUES, "a value")[0]
            self.match(re.compile(r"allowed_direction\s*=\s*\w+"), "allowed_direction=")
            attrs, type_ = self.attributes(), self.types()
            new = f'"sdy.propagation_barrier"({value}) {attrs} : ({type_}) -> {type_}'
        elif op == "sharding_group":
            value = self.match(_VALUES, "a value")[0]
            group = self.match(re.compile(r"group_id\s*=\s*(\d+)"), "group_id=")[1]
            attrs = self.attributes(f"group_id = {group} : i64")
            new = f'"sdy.sharding_group"({value}) {attrs} : ({self.types()}) -> ()'
        else:
            raise self.error(f"'sdy.{op}' is not supported; allowed: {', '.join(f'sdy.{s}' for s in SUPPORTED)}")
        edits.append((self.start, self.at, new))

    def manual_computation(self, edits: list[tuple[int, int, str]]) -> None:
        """The header becomes one edit, the brace that closes the body another."""
        operands = self.group("(")
        values = {}
        for key in ("in_shardings", "out_shardings", "manual_axes"):
            self.expect(key)
            self.expect("=")
            values[key] = self.group("{" if key == "manual_axes" else "[")
        arguments = self.group("(")
        extra = self.attributes().strip()[1:-1].strip() if self.attributes_follow() else ""
        attrs = [
            f"in_shardings = #sdy.sharding_per_value<{values['in_shardings']}>",
            f"manual_axes = #sdy<manual_axes{values['manual_axes']}>",
            f"out_shardings = #sdy.sharding_per_value<{values['out_shardings']}>",
        ] + ([extra] if extra else [])
        self.skip()
        body_end = self.closing(self.at)
        # Values bind to the header's line; its own line breaks (none in printed text) are kept by `to_generic`.
        block = f" ^bb0{arguments}:" if arguments[1:-1].strip() else ""
        edits.append((self.start, self.at + 1, f'"sdy.manual_computation"{operands} ({{{block}'))
        # In an unknown op with one region MLIR suspects a symbol table, and finds no function that is called there.
        edits.append((body_end, body_end + 1, "}, {}) {" + ", ".join(attrs) + "}"))

    def second_region(self, edits: list[tuple[int, int, str]]) -> None:
        """A manual computation in generic form gets an empty second region: see `manual_computation`."""
        self.group("(")
        self.skip()
        if self.text.startswith("<", self.at):
            self.group("<")
        self.skip()
        if not self.text.startswith("(", self.at):
            raise self.error("expected the body of a manual computation")
        self.at += 1
        self.skip()
        after = self.closing(self.at) + 1
        edits.append((after, after, ", {}"))

    def attributes_follow(self) -> bool:
        """Whether a dictionary comes before the body: two brace groups in a row."""
        self.skip()
        if self.text[self.at : self.at + 1] != "{":
            return False
        after = _SPACE.match(self.text, self.closing(self.at) + 1)
        return after is not None and self.text[after.end() : after.end() + 1] == "{"

    # -- pieces --------------------------------------------------------------------------------

    def skip(self) -> None:
        m = _SPACE.match(self.text, self.at)
        self.at = m.end() if m else self.at

    def match(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        self.skip()
        m = pattern.match(self.text, self.at)
        if m is None:
            raise self.error(f"expected {what}, found {self.text[self.at : self.at + 20].splitlines()[:1]}")
        self.at = m.end()
        return m

    def expect(self, word: str) -> None:
        self.match(re.compile(re.escape(word)), f"'{word}'")

    def group(self, opening: str) -> str:
        """A balanced group, brackets included."""
        self.skip()
        if self.text[self.at : self.at + 1] != opening:
            raise self.error(f"expected '{opening}', found {self.text[self.at : self.at + 20].splitlines()[:1]}")
        end = self.closing(self.at) + 1
        found, self.at = self.text[self.at : end], end
        return found

    def closing(self, at: int) -> int:
        """Position of the bracket that closes the one at `at`."""
        stack = []
        for i, c in _brackets(self.text, at):
            if c in _CLOSE:
                stack.append(_CLOSE[c])
            elif not stack or c != stack.pop():
                raise self.error(f"'{self.text[at]}' is not closed")
            if not stack:
                return i
        raise self.error(f"'{self.text[at]}' is not closed")

    def attributes(self, *first: str) -> str:
        """`{first, ...}` joined with the dictionary that may follow in the text."""
        self.skip()
        own = self.group("{")[1:-1].strip() if self.text[self.at : self.at + 1] == "{" else ""
        return "{" + ", ".join([*first, *([own] if own else [])]) + "}"

    def types(self) -> str:
        """`: T1, T2`, without the colon."""
        self.expect(":")
        self.skip()
        start = self.at
        while True:
            self.match(_TYPE_WORD, "a type")
            if self.text[self.at : self.at + 1] == "<":
                self.group("<")
            end = self.at
            self.skip()
            if self.text[self.at : self.at + 1] != ",":
                self.at = end
                return self.text[start:end]
            self.at += 1
            self.skip()

    def error(self, message: str) -> PcgError:
        line = self.text.count("\n", 0, self.start) + 1
        column = self.start - self.text.rfind("\n", 0, self.start)
        return PcgError(message, f"{self.name}:{line}:{column}")


_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|->|[<>\[\]{}()]')


def _brackets(text: str, at: int) -> Iterator[tuple[int, str]]:
    for m in _TOKEN.finditer(text, at):
        if len(m[0]) == 1:
            yield m.start(), m[0]
