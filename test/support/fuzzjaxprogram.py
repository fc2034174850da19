"""Random jax programs as data: variables, statements, nested functions, and their Python text.  Made to be cut down.

Nothing here imports jax: a program is text, and whoever runs it brings `jax`, `jnp`, `lax`, `np` and `shard`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Var:
    """A variable of a program: an array of a static type.

    Its elements are integers of magnitude at most `bound`, so that arithmetic on them is exact; a `soft` one holds any
    real numbers, comes out of arithmetic that rounds, and is only used where a small error stays small.  A `wild` one
    may hold NaN and infinities.
    """

    id: int
    shape: tuple[int, ...]
    dtype: str
    bound: float = 8
    soft: bool = False
    wild: bool = False

    def __str__(self) -> str:
        return f"v{self.id}"

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_float(self) -> bool:
        return "float" in self.dtype

    @property
    def is_int(self) -> bool:
        return "int" in self.dtype


@dataclass(frozen=True)
class Body:
    """A nested function.  `head` are its parameters as text, each with the variables that it holds as a tuple."""

    head: tuple[tuple[str, tuple[Var, ...]], ...]
    statements: tuple[Statement, ...]
    returns: tuple[Var, ...]
    #: How results are returned: `{0}`, `{1}`, ... are the variables.
    form: str
    #: Decorator lines and the like, after which the function is known by its name.
    before: tuple[str, ...] = ()


@dataclass(frozen=True)
class Statement:
    """`results = text`, where `{0}`, `{1}`, ... are the operands and `{f0}`, `{f1}`, ... the nested functions.

    Attributes:
      family: what made it.
      shard: a request for a layout, which may be left out.
    """

    results: tuple[Var, ...]
    text: str
    operands: tuple[Var, ...] = ()
    bodies: tuple[Body, ...] = ()
    family: str = ""
    shard: bool = False


@dataclass(frozen=True)
class Program:
    """A function of arrays."""

    arguments: tuple[Var, ...] = ()
    statements: tuple[Statement, ...] = ()
    returns: tuple[Var, ...] = ()

    def every(self) -> Iterator[Statement]:
        """All statements, those inside nested functions too."""
        return _every(self.statements)

    def source(self, name: str = "f") -> str:
        """The function as Python text."""
        lines = [f"def {name}({', '.join(map(str, self.arguments))}):", *_indent(_lines(self.statements, [0]))]
        return "\n".join([*lines, f"    return {_tuple(self.returns)}", ""])


def _every(statements: Sequence[Statement]) -> Iterator[Statement]:
    for s in statements:
        yield s
        for b in s.bodies:
            yield from _every(b.statements)


def _tuple(values: Sequence[Var]) -> str:
    return f"({', '.join(map(str, values))}{',' if len(values) == 1 else ''})"


def _indent(lines: list[str]) -> list[str]:
    return ["    " + x for x in lines]


def _lines(statements: Sequence[Statement], counter: list[int]) -> list[str]:
    lines: list[str] = []
    for s in statements:
        names = {}
        for i, body in enumerate(s.bodies):
            names[f"f{i}"] = name = f"g{counter[0]}"
            counter[0] += 1
            lines += _body(name, body, counter)
        results = ", ".join(map(str, s.results))
        lines.append(f"{results} = {s.text.format(*s.operands, **names)}")
    return lines


def _body(name: str, body: Body, counter: list[int]) -> list[str]:
    head, unpack = [], []
    for parameter, held in body.head:
        if len(held) == 1 and parameter == "":
            head.append(str(held[0]))
        else:
            head.append(parameter)
            if held:
                unpack.append(f"{', '.join(map(str, held))}{',' if len(held) == 1 else ''} = {parameter}")
    inner = [*unpack, *_lines(body.statements, counter), f"return {body.form.format(*body.returns)}"]
    before = [x.format(name=name) for x in body.before if x.startswith("@")]
    after = [x.format(name=name) for x in body.before if not x.startswith("@")]
    return [*before, f"def {name}({', '.join(head)}):", *_indent(inner), *after]


def used(program: Program) -> set[int]:
    """Ids of the variables that something reads."""
    found = {v.id for v in program.returns}
    for s in program.every():
        found |= {v.id for v in s.operands} | {v.id for b in s.bodies for v in b.returns}
    return found


def clean(program: Program) -> Program:
    """Without statements and arguments that nothing reads."""
    while True:
        read = used(program)
        kept = tuple(s for s in program.statements if any(v.id in read for v in s.results))
        if len(kept) == len(program.statements):
            return replace(program, arguments=tuple(v for v in program.arguments if v.id in read))
        program = replace(program, statements=kept)


@dataclass(frozen=True)
class Setting:
    """How a program is to be run: everything that `pcg.compile` is told.

    `ins` and `outs` are PartitionSpecs as text per argument and result, None where nothing is said; `options` further
    keywords of `pcg.compile`, as text.  `strategy` "plan" is a plan made by the search, saved and read again.
    """

    mesh: tuple[tuple[str, int], ...]
    device_ids: tuple[int, ...] = ()
    strategy: str = "auto"
    ins: tuple[tuple[int, str], ...] = ()
    outs: tuple[tuple[int, str], ...] = ()
    donate: tuple[int, ...] = ()
    options: tuple[tuple[str, str], ...] = ()
    #: Whether 64-bit types are enabled.
    x64: bool = False

    @property
    def devices(self) -> int:
        return math.prod(n for _, n in self.mesh)


@dataclass(frozen=True)
class Case:
    """One thing to try."""

    seed: int
    program: Program
    setting: Setting = field(default_factory=lambda: Setting((("a", 2),)))
