"""Op families that the reference interpreter lacks: complex numbers, CHLO, generators, bf16, triangular solves.

Programs with them run in XLA.
"""

from __future__ import annotations

from support.fuzzfamilies import Family
from support.fuzzops import LIMIT, Grower, Skip, array, reducer
from support.fuzzprogram import Type

EXOTIC: list[Family] = []


def _exotic(function: Family) -> Family:
    EXOTIC.append(function)
    return function


def _real(g: Grower, rank: int = 0):
    return g.pick(lambda v: v.type.element == "f32" and len(v.type.shape) >= rank)


@_exotic
def complex_product(g: Grower) -> None:
    a, b = (g.fit(_real(g), 200) for _ in range(2))
    b = g.like(a.type, 200) if b.type != a.type else b
    t = Type(a.type.shape, "complex<f32>")
    x = g.hidden("complex", [a, b], t)
    y = g.hidden("complex", [g.like(a.type, 200), a], t)
    product = g.hidden(g.rng.choice(("multiply", "add", "subtract")), [x, y], t)
    product = g.hidden("chlo.conj", [product], t) if g.flip() else product
    g.one(g.rng.choice(("real", "imag")), [product], a.type, 2 * 200 * 200)


@_exotic
def top_k(g: Grower) -> None:
    v = _real(g, 1)
    last = v.type.shape[-1]
    if not last:
        raise Skip
    k = g.rng.randint(1, last)
    out = (*v.type.shape[:-1], k)
    g.emit("chlo.top_k", [v], [(Type(out, "f32"), v.bound), (Type(out, "i32"), last)], f"k = {k} : i64")


@_exotic
def chlo(g: Grower) -> None:
    v = g.fit(_real(g), 100)
    name = g.rng.choice(("chlo.square", "chlo.erf", "chlo.broadcast_add", "chlo.broadcast_maximum", "chlo.is_inf"))
    if name == "chlo.square":
        g.one(name, [v], v.type, v.bound**2)
    elif name == "chlo.is_inf":
        g.one(name, [v], Type(v.type.shape, "i1"), 1)
    elif name == "chlo.erf":
        x = g.hidden(name, [v], v.type)
        g.one("round_nearest_even", [g.hidden("multiply", [x, g.constant(v.type, 4)], v.type)], v.type, 5)
    else:
        w = g.like(v.type.with_shape(v.type.shape[g.rng.randint(0, len(v.type.shape)) :]), 100)
        g.one(name, [v, w], v.type, v.bound + w.bound)


@_exotic
def random_bits(g: Grower) -> None:
    """A generator that is seeded by a constant; its bits are cut down to a few."""
    state = Type((2,), "ui64")
    seed = g.new(state, 0)
    g.node("stablehlo.constant", [], [seed], f"value = dense<[{g.rng.randrange(99)}, {g.rng.randrange(99)}]> : {state}")
    shape = g.shape(g.rng.randint(1, 3))
    bits, after = g.new(Type(shape, "ui32"), 0), g.new(state, 0)
    algorithm = g.rng.choice(("THREE_FRY", "PHILOX"))
    attribute = f"rng_algorithm = #stablehlo<rng_algorithm {algorithm}>"
    g.node("stablehlo.rng_bit_generator", [seed], [after, bits], attribute)
    few = g.new(bits.type, 0)
    g.node("stablehlo.constant", [], [few], f"value = dense<28> : {bits.type}")
    low = g.hidden("shift_right_logical", [bits, few], bits.type)
    g.one("convert", [low], Type(shape, g.rng.choice(("f32", "i32"))), 15)


@_exotic
def bf16(g: Grower) -> None:
    """A detour through bf16, which holds integers up to 256 exactly."""
    v = g.fit(_real(g), 60)
    t = Type(v.type.shape, "bf16")
    x = g.hidden("convert", [v], t)
    if g.flip():
        x = g.hidden("add", [x, g.hidden("convert", [g.like(v.type, 60)], t)], t)
    g.one("convert", [x], v.type, 120)


@_exotic
def map_(g: Grower) -> None:
    v = g.fit(_real(g, 1), 400)
    dims = array(list(range(len(v.type.shape))))
    w = g.like(v.type, 400)
    g.one("map", [v, w], v.type, 400 * 400, f"dimensions = {dims}", [reducer("multiply", "f32")])


@_exotic
def triangular_solve(g: Grower) -> None:
    """A unit triangular matrix of small integers: its solutions are integers."""
    b = _real(g, 2)
    batch, (m, n) = b.type.shape[:-2], b.type.shape[-2:]
    left = g.flip()
    size = m if left else n
    if size > 4:
        raise Skip
    b = g.fit(b, 1000)
    a = g.like(b.type.with_shape([*batch, size, size]), 1)
    lower, transpose = g.rng.choice(("true", "false")), g.rng.choice(("NO_TRANSPOSE", "TRANSPOSE"))
    attributes = (
        f"left_side = {str(left).lower()}, lower = {lower}, unit_diagonal = true, "
        f"transpose_a = #stablehlo<transpose {transpose}>"
    )
    g.one("triangular_solve", [a, b], b.type, min(16 * b.bound, LIMIT), attributes)


@_exotic
def stacked_cholesky(g: Grower) -> None:
    """Of diagonal matrices with squares on the diagonal: an integer result."""
    n = g.rng.choice((1, 2, 3))
    shape = (*g.shape(g.rng.randint(0, 1), 16), n, n)
    root = g.fit(g.like(Type(shape), 20), 20)
    squares = g.hidden("multiply", [root, root], root.type)
    squares = g.hidden("add", [squares, g.constant(root.type, 0)], root.type)
    rows = g.hidden("iota", [], Type(shape, "i32"), f"iota_dimension = {len(shape) - 2} : i64")
    columns = g.hidden("iota", [], Type(shape, "i32"), f"iota_dimension = {len(shape) - 1} : i64")
    diagonal = g.hidden(
        "compare", [rows, columns], Type(shape, "i1"),
        "comparison_direction = #stablehlo<comparison_direction EQ>, compare_type = #stablehlo<comparison_type SIGNED>",
    )  # fmt: skip
    one = g.hidden("maximum", [squares, g.constant(root.type, 1)], root.type)
    matrix = g.hidden("select", [diagonal, one, g.constant(root.type, 0)], root.type)
    factor = g.hidden("cholesky", [matrix], root.type, "lower = true")
    # Only the lower triangle is defined.
    kept = g.hidden("select", [diagonal, factor, g.constant(root.type, 0)], root.type)
    g.one("round_nearest_even", [kept], root.type, 20)
