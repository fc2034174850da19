"""Growing a random jax program: variables to choose from, and statements that are added one by one.

Arithmetic stays exact: floats hold integers of bounded magnitude (a family cuts its operands down first), integers
wrap.  So results are the same however sums are ordered.  What rounds is `soft` and judged by a tolerance.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

from support.fuzzjaxprogram import Body, Program, Statement, Var

#: Up to where sums of integers are exact, with room to spare, by element type.
LIMITS = {
    "float64": 2.0**44, "float32": 2.0**20, "bfloat16": 128.0, "float16": 1024.0, "float8_e4m3fn": 8.0,
    "float8_e5m2": 4.0, "complex64": 2.0**18, "complex128": 2.0**44,
}  # fmt: skip
#: Elements of the largest array.
LARGEST = 420
SIZES = (1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 7, 8, 8, 9, 11, 12, 13, 16)
COMMON, RARE = ("float32", "float32", "float32", "int32", "int32", "bool"), (
    "bfloat16", "float16", "int8", "uint8", "int16", "uint16", "uint32", "float8_e4m3fn", "float8_e5m2", "complex64",
    "int4", "uint4",
)  # fmt: skip
WIDE = ("int64", "float64", "uint64", "complex128")


class Skip(Exception):
    """The family has nothing to work on here."""


def limit(dtype: str) -> float:
    """Magnitude up to which arithmetic of a type is exact; integers wrap, so that theirs is none."""
    return LIMITS.get(dtype, math.inf)


class Grower:
    """A program under construction.  `values` are the variables visible where the next statement goes."""

    def __init__(self, rng: random.Random, *, empty: bool, wild: bool, wide: bool, exotic: bool) -> None:
        self.rng = rng
        #: Whether there are dimensions of size 0, NaN and infinities, 64-bit types, element types that are rare.
        self.empty, self.wild, self.wide, self.exotic = empty, wild, wide, exotic
        self.arguments: list[Var] = []
        self.statements: list[Statement] = []
        self.values: list[Var] = []
        self.read: set[int] = set()
        self.count = 0
        self.depth = 0
        #: The family at work, for what is made to say so.
        self.family = ""
        #: Whether statements are made of which derivatives are taken.
        self.smooth = False
        self._next = 0

    def program(self, returns: Sequence[Var]) -> Program:
        return Program(tuple(self.arguments), tuple(self.statements), tuple(returns))

    # -- variables -----------------------------------------------------------------------------

    def new(
        self, shape: Sequence[int], dtype: str, bound: float = 8, soft: bool = False, wild: bool = False
    ) -> Var:
        self._next += 1
        return Var(self._next, tuple(shape), dtype, float(bound), soft, wild)

    def argument(self, shape: Sequence[int], dtype: str, bound: float = 3) -> Var:
        """A new argument of the program; visible everywhere."""
        wild = self.wild and "float" in dtype and bound >= 3 and not self.smooth and self.flip(0.6)
        v = self.new(shape, dtype, min(bound, limit(dtype)), wild=wild and not dtype.startswith("float8"))
        self.arguments.append(v)
        self.values.insert(0, v)
        return v

    def add(
        self, text: str, operands: Sequence[Var], results: Sequence[tuple[Sequence[int], str, float]],
        bodies: Sequence[Body] = (), soft: bool | None = None, wild: bool | None = None, shard: bool = False,
    ) -> list[Var]:  # fmt: skip
        """Add a statement; results are soft or wild as an operand is, where nothing else is said."""
        soft = any(v.soft for v in operands) if soft is None else soft
        wild = any(v.wild for v in operands) if wild is None else wild
        made = []
        for shape, dtype, bound in results:
            if math.prod(shape) > 2 * LARGEST:
                raise Skip
            real = "float" in dtype or "complex" in dtype
            made.append(self.new(shape, dtype, bound, soft and real, wild and real))
        self.statements.append(Statement(tuple(made), text, tuple(operands), tuple(bodies), self.family, shard))
        self.values += made
        self.read |= {v.id for v in operands}
        self.count += not shard
        return made

    def one(
        self, text: str, operands: Sequence[Var], shape: Sequence[int], dtype: str, bound: float, **more: bool | None
    ) -> Var:
        return self.add(text, operands, [(shape, dtype, bound)], **more)[0]  # type: ignore[arg-type]

    def pick(self, accept: Callable[[Var], bool] = lambda v: True, soft: bool = False, wild: bool = True) -> Var:
        """A visible variable, rather a late one, rather one that nothing reads yet."""
        found = [
            v for v in self.values
            if (soft or not v.soft) and (wild or not v.wild) and accept(v) and (not self.smooth or v.dtype == "float32")
        ]  # fmt: skip
        if not found:
            raise Skip
        if self.flip(0.7):
            found = [v for v in found if v.id not in self.read] or found
        return found[max(self.rng.randrange(len(found)), self.rng.randrange(len(found)))]

    def number(self, rank: int = 0, soft: bool = False, wild: bool = True) -> Var:
        """A visible float or integer array of at least `rank` dimensions."""
        return self.pick(lambda v: v.rank >= rank and (v.is_float or v.is_int), soft, wild)

    def floating(self, rank: int = 0, soft: bool = False, wild: bool = True) -> Var:
        """A visible float array of 32 or 64 bits."""
        return self.pick(lambda v: v.rank >= rank and v.dtype in ("float32", "float64"), soft, wild)

    def like(self, shape: Sequence[int], dtype: str, bound: float = math.inf, wild: bool = True) -> Var:
        """Some exact variable of this type and at most that bound, made if there is none."""
        shape = tuple(shape)
        found = [v for v in self.values if (v.shape, v.dtype, v.soft) == (shape, dtype, False) and (wild or not v.wild)]
        if found and self.flip(0.75):
            return self.fit(self.rng.choice(found), bound)
        small = [
            v for v in self.values
            if v.dtype == dtype and not v.soft and (wild or not v.wild) and v.rank and v.rank < len(shape)
            and v.shape == shape[len(shape) - v.rank :]
        ]  # fmt: skip
        if small and self.flip(0.4):
            v = self.rng.choice(small)
            return self.fit(self.one(f"jnp.broadcast_to({{0}}, {shape})", [v], shape, dtype, v.bound), bound)
        if self.flip(0.3):
            return self.constant(shape, dtype, bound)
        made = self.argument(shape, dtype, min(3, bound))
        return made if wild or not made.wild else self.constant(shape, dtype, bound)

    def constant(self, shape: Sequence[int], dtype: str, bound: float = math.inf) -> Var:
        """An array that the program makes itself: one number, or numbers that differ."""
        shape, n, bound = tuple(shape), math.prod(shape), min(bound, 9)
        low = 0 if dtype.startswith("u") or dtype == "bool" else -min(2, int(bound))
        high = 1 if dtype == "bool" else min(3, int(bound))
        self.count -= 1
        if self.flip(0.5) or dtype.startswith("complex"):
            return self.one(f"jnp.full({shape}, {self.rng.randint(low, high)}, '{dtype}')", [], shape, dtype, 3)
        k = self.rng.choice((3, 5, 7))
        text = f"jnp.asarray((np.arange({n}) * {k} % {high - low + 1} + {low}).reshape({shape}), '{dtype}')"
        return self.one(text, [], shape, dtype, 3)

    def index(self, shape: Sequence[int], bound: int, inside: bool | None = None) -> Var:
        """int32 indices of a dimension of `bound`: in bounds, or now and then not; duplicates are usual."""
        inside = self.flip(0.5) if inside is None else inside
        v = self.like(shape, "int32")
        if inside:
            return self.one(f"jnp.abs({{0}} % {max(bound, 1)})", [v], v.shape, "int32", max(bound - 1, 0))
        k = bound + 3
        return self.one(f"lax.rem({{0}}, jnp.int32({k}))", [v], v.shape, "int32", k)

    def place(self, shape: Sequence[int], bound: int, inside: bool | None = None) -> Var:
        """As `index`; one index alone is often a number in the program."""
        if shape or self.flip():
            return self.index(shape, bound, inside)
        k = self.rng.randint(0, bound - 1) if inside or self.flip(0.7) else self.rng.randint(-2, bound + 2)
        return self.one(f"jnp.int32({k})", [], (), "int32", bound + 2)

    def fit(self, v: Var, bound: float) -> Var:
        """`v`, cut down to `bound` if it may be larger."""
        bound = max(1, bound)
        if v.bound <= bound or v.dtype == "bool" or v.is_int:
            return v
        b = int(bound)
        self.count -= 1
        if v.dtype.startswith("complex"):
            text = f"lax.complex(jnp.clip(jnp.real({{0}}), -{b}, {b}), jnp.clip(jnp.imag({{0}}), -{b}, {b}))"
            return self.one(text, [v], v.shape, v.dtype, bound)
        if b < 2 or self.flip() or v.soft or v.wild:
            return self.one(f"jnp.clip({{0}}, -{b}, {b})", [v], v.shape, v.dtype, b)
        return self.one(f"lax.rem({{0}}, jnp.full({v.shape}, {b}, '{v.dtype}'))", [v], v.shape, v.dtype, b)

    def room(self, v: Var, factor: float = 1) -> Var:
        """`v`, cut down so that `factor` times it is exact."""
        return self.fit(v, limit(v.dtype) / max(1, factor))

    # -- choices -------------------------------------------------------------------------------

    def size(self) -> int:
        return 0 if self.empty and self.flip(0.12) else self.rng.choice(SIZES)

    def shape(self, rank: int | None = None, largest: int = LARGEST) -> tuple[int, ...]:
        n = self.rng.choices(range(5), (1, 5, 9, 5, 1))[0] if rank is None else rank
        while True:
            shape = tuple(self.size() for _ in range(n))
            if math.prod(shape) <= largest:
                return shape

    def dtype(self) -> str:
        if self.wide and self.flip(0.3):
            return self.rng.choice(WIDE)
        return self.rng.choice(RARE if self.exotic and self.flip(0.4) else COMMON)

    def flip(self, chance: float = 0.5) -> bool:
        return self.rng.random() < chance

    def dims(self, v: Var, least: int = 1) -> list[int]:
        """Some of the dimensions of `v`."""
        return sorted(self.rng.sample(range(v.rank), self.rng.randint(min(least, v.rank), v.rank)))

    # -- nested functions ----------------------------------------------------------------------

    def body(
        self, head: Sequence[tuple[str, Sequence[Var]]], finish: Callable[[], Sequence[Var]], form: str, grow: Callable[[], None],
        before: Sequence[str] = (),
    ) -> Body:  # fmt: skip
        """A nested function of the variables in `head`, filled by `grow`; it sees what is visible here."""
        outer, visible = self.statements, {v.id for v in self.values}
        self.statements = []
        self.values += [v for _, held in head for v in held]
        self.depth += 1
        try:
            grow()
            returns = tuple(finish())
            made = self.statements
        finally:
            self.depth -= 1
            self.statements = outer
            arguments = {v.id for v in self.arguments}
            self.values = [v for v in self.values if v.id in visible or v.id in arguments]
        return Body(tuple((p, tuple(held)) for p, held in head), tuple(made), returns, form, tuple(before))
