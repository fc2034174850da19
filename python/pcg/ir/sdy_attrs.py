"""Reading Shardy's attributes from their text: the bindings see them as opaque.

The grammar is that of `#sdy.mesh<["x"=2, "y"=4], device_ids=[...]>`, `#sdy.sharding<@mesh, [{"x", ?}p1, {}],
replicated={"y"}, unreduced={"z"}>`, `#sdy.sharding_per_value<[<...>, <...>]>` and `#sdy<manual_axes{"x"}>`.
An axis of a sharding may be a sub-axis, `"x":(1)2`: the name is then `x:(1)2` (see `pcg.layout.refine`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


class SdySyntaxError(ValueError):
    """The text is not a Shardy attribute that pcg reads."""


@dataclass(frozen=True)
class SdyDim:
    """One dimension: its axes major to minor, whether propagation may add more, and its priority (None: 0)."""

    axes: tuple[str, ...]
    open: bool = False
    priority: int | None = None


@dataclass(frozen=True)
class SdySharding:
    """`mesh` is a symbol name, or the text of an inlined mesh."""

    mesh: str
    dims: tuple[SdyDim, ...]
    replicated: tuple[str, ...] = ()
    unreduced: tuple[str, ...] = ()

    @property
    def is_fully_open(self) -> bool:
        """Whether it demands nothing."""
        return bool(self.dims) and all(d.open and not d.axes for d in self.dims) and not self.unreduced


@dataclass(frozen=True)
class SdyMesh:
    axes: tuple[tuple[str, int], ...]
    device_ids: tuple[int, ...] | None = None


_TOKEN = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|(@[\w$.\-]+|@"[^"]*")|(-?\d+)|([A-Za-z_]\w*)|(.))', re.DOTALL)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [m for m in _TOKEN.finditer(text) if m[0].strip()]
        self.at = 0

    def peek(self, what: str) -> bool:
        m = self.tokens[self.at] if self.at < len(self.tokens) else None
        return m is not None and m[1] is None and m[0].strip() == what

    def accept(self, what: str) -> bool:
        if self.peek(what):
            self.at += 1
            return True
        return False

    def expect(self, what: str) -> None:
        if not self.accept(what):
            raise SdySyntaxError(f"cannot read {self.text}: expected '{what}'")

    def token(self, group: int, what: str) -> str:
        m = self.tokens[self.at] if self.at < len(self.tokens) else None
        if m is None or m[group] is None:
            raise SdySyntaxError(f"cannot read {self.text}: expected {what}")
        self.at += 1
        return m[group]

    def list(self, opening: str, closing: str, item) -> tuple:
        self.expect(opening)
        found: list[Any] = []
        while not self.accept(closing):
            if found:
                self.expect(",")
            found.append(item())
        return tuple(found)

    def axis(self) -> str:
        name = self.token(1, "an axis name")
        if not self.accept(":"):
            return name
        self.expect("(")
        pre = self.token(3, "a pre-size")
        self.expect(")")
        return f"{name}:({pre}){self.token(3, 'a size')}"

    def full_axis(self) -> str:
        name = self.token(1, "an axis name")
        if self.peek(":"):
            raise SdySyntaxError(f'{self.text} is manual over a part of axis "{name}"; allowed: whole axes')
        return name

    def dim(self) -> SdyDim:
        items = self.list("{", "}", lambda: None if self.accept("?") else self.axis())
        priority = None
        if self.at < len(self.tokens) and re.fullmatch(r"p\d+", self.tokens[self.at][4] or ""):
            priority = int(self.token(4, "a priority")[1:])
        return SdyDim(tuple(a for a in items if a is not None), None in items, priority)

    def sharding(self) -> SdySharding:
        self.expect("<")
        if self.peek("mesh"):
            start = self.tokens[self.at].start()
            self.at += 1
            self.mesh()
            mesh = self.text[start : self.tokens[self.at - 1].end()].strip()
        else:
            mesh = self.token(2, "a mesh symbol")[1:].strip('"')
        self.expect(",")
        dims = self.list("[", "]", self.dim)
        extra: dict[str, tuple[str, ...]] = {}
        while self.accept(","):
            key = self.token(4, "replicated or unreduced")
            if key not in ("replicated", "unreduced"):
                raise SdySyntaxError(f"cannot read {self.text}: unknown '{key}'; allowed: replicated, unreduced")
            self.expect("=")
            extra[key] = self.list("{", "}", self.axis)
        self.expect(">")
        return SdySharding(mesh, dims, **extra)

    def mesh(self) -> SdyMesh:
        def axis() -> tuple[str, int]:
            name = self.token(1, "an axis name")
            self.expect("=")
            return name, int(self.token(3, "a size"))

        self.expect("<")
        axes = self.list("[", "]", axis)
        ids = None
        if self.accept(","):
            self.expect("device_ids")
            self.expect("=")
            ids = self.list("[", "]", lambda: int(self.token(3, "a device id")))
        self.expect(">")
        return SdyMesh(axes, ids)

    def end(self) -> None:
        if self.at != len(self.tokens):
            raise SdySyntaxError(f"cannot read {self.text}: unexpected '{self.tokens[self.at][0].strip()}'")


def _parse(text: str, prefix: str, method: str):
    if not text.startswith(prefix):
        raise SdySyntaxError(f"{text} is not a {prefix}<...>")
    p = _Parser(text[len(prefix) :])
    found = getattr(p, method)()
    p.end()
    return found


def parse_sharding(text: str) -> SdySharding:
    """Read `#sdy.sharding<...>`."""
    return _parse(text, "#sdy.sharding", "sharding")


def parse_per_value(text: str) -> list[SdySharding]:
    """Read `#sdy.sharding_per_value<[...]>`; a lone `#sdy.sharding` counts as a list of one."""
    prefix = "#sdy.sharding_per_value<"
    if not text.startswith(prefix):
        return [parse_sharding(text)]
    p = _Parser(text[len(prefix) : -1])
    found = p.list("[", "]", p.sharding)
    p.end()
    return list(found)


def parse_mesh(text: str) -> SdyMesh:
    """Read `#sdy.mesh<...>`, or the `mesh<...>` inlined in a sharding."""
    return _parse(text, "#sdy.mesh" if text.startswith("#") else "mesh", "mesh")


def parse_manual_axes(text: str) -> tuple[str, ...]:
    """Read `#sdy<manual_axes{...}>`."""
    p = _Parser(text.removeprefix("#sdy<manual_axes").removesuffix(">"))
    found = p.list("{", "}", p.full_axis)
    p.end()
    return found
