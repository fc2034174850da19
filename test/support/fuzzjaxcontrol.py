"""The families of random jax programs that call functions: loops, branches, vmap, derivatives."""

from __future__ import annotations

from collections.abc import Sequence

from support import fuzzjaxshapes
from support.fuzzjaxgrow import Grower, Skip
from support.fuzzjaxops import FAMILIES, family
from support.fuzzjaxprogram import Var

assert fuzzjaxshapes  # registers its families
_DEPTH = 2
#: Families of which derivatives are exact.
_SMOOTH = (
    "binary", "with_number", "power", "reduce", "cumulate", "einsum", "matmul", "convolution", "pool", "reshape", "transpose",
    "broadcast", "join", "split", "rearrange", "pad", "slice_", "dynamic_slice", "take", "take_along", "scatter",
)  # fmt: skip


def grow(g: Grower, statements: int) -> None:
    """Add about so many statements."""
    functions, weights = zip(*((f, w) for f, w in FAMILIES if not g.smooth or f.__name__ in _SMOOTH), strict=True)
    target = g.count + statements
    for _ in range(20 * statements + 20):
        if g.count >= target:
            return
        if not g.values:
            g.argument(g.shape(), "float32")
        chosen = g.rng.choices(functions, weights)[0]
        before = (list(g.statements), list(g.values), list(g.arguments), g.family, g.count)
        g.family = chosen.__name__
        try:
            chosen(g)
        except Skip:
            g.statements[:], g.values, g.arguments[:], g.count = before[0], before[1], before[2], before[4]
        g.family = before[3]


def _deeper(g: Grower) -> None:
    if g.depth >= _DEPTH or g.smooth:
        raise Skip


def _carried(g: Grower, most: int) -> list[Var]:
    return [g.fit(g.pick(lambda v: not v.dtype.startswith("float8"), wild=False), 20) for _ in range(g.rng.randint(1, most))]


def _next(g: Grower, carry: Sequence[Var]) -> list[Var]:
    """What a loop carries on: something of the same type, of bounded magnitude."""
    out = []
    for v in carry:
        same = [
            w for w in g.values
            if (w.shape, w.dtype, w.soft, w.wild) == (v.shape, v.dtype, False, False) and w.id != v.id
        ]  # fmt: skip
        made = g.rng.choice(same[-4:]) if same and g.flip(0.8) else v
        if made is not v and v.dtype != "bool" and g.flip():
            a, b = g.room(made, 2), g.room(v, 2)
            made = g.one("{0} + {1}", [a, b], v.shape, v.dtype, a.bound + b.bound)
        out.append(g.fit(made, 20))
    return out


def _results(carry: Sequence[Var]) -> list[tuple[tuple[int, ...], str, float]]:
    return [(v.shape, v.dtype, 20) for v in carry]


def _names(n: int, first: int = 0) -> str:
    return "(" + ", ".join(f"{{{i + first}}}" for i in range(n)) + ("," if n == 1 else "") + ")"


@family(4)
def scan(g: Grower) -> None:
    _deeper(g)
    xs = [g.pick(lambda v: v.rank >= 1 and 0 < v.shape[0] <= 9, wild=False) for _ in range(g.rng.randint(1, 1))]
    more = [g.like((xs[0].shape[0], *g.shape(g.rng.randint(0, 2), 30)), "float32", 20, wild=False)] * g.flip(0.4)
    xs += [v for v in more if v.id != xs[0].id]
    n = xs[0].shape[0]
    carry = _carried(g, 2)
    inner = [g.new(v.shape, v.dtype, 20) for v in carry]
    rows = [g.new(v.shape[1:], v.dtype, v.bound) for v in xs]
    ys: list[Var] = []

    def finish() -> list[Var]:
        out = _next(g, inner)
        ys.append(g.pick(wild=False))
        return [*out, *ys]

    body = g.body(
        [("c", inner), ("x", rows)], finish, f"{_names(len(carry))}, {{{len(carry)}}}", lambda: grow(g, g.rng.randint(1, 4)),
    )  # fmt: skip
    y = ys[0]
    options = g.rng.choice(("", ", reverse=True", ", unroll=2"))
    text = f"(lambda r: (*r[0], r[1]))(lax.scan({{f0}}, {_names(len(carry))}, {_names(len(xs), len(carry))}{options}))"
    results = [*_results(carry), ((n, *y.shape), y.dtype, y.bound)]
    g.add(text, [*carry, *xs], results, [body])


@family(3)
def fori(g: Grower) -> None:
    """A counted loop, of a fixed number of trips or one that data gives."""
    _deeper(g)
    carry = _carried(g, 3)
    inner = [g.new(v.shape, v.dtype, 20) for v in carry]
    fixed = g.flip(0.6)
    i = g.new((), "int64" if fixed and g.wide else "int32", 9)
    body = g.body(
        [("", (i,)), ("c", inner)], lambda: _next(g, inner), _names(len(carry)), lambda: grow(g, g.rng.randint(1, 4))
    )  # fmt: skip
    if fixed:
        text, operands = f"lax.fori_loop(0, {g.rng.randint(0, 4)}, {{f0}}, {_names(len(carry))})", carry
    else:
        trips = g.index((), 4)
        text = f"lax.fori_loop(jnp.int32(0), {{{len(carry)}}}, {{f0}}, {_names(len(carry))})"
        operands = [*carry, trips]
    g.add(text + "[0]" * (len(carry) == 1), operands, _results(carry), [body])


@family(3)
def branch(g: Grower) -> None:
    _deeper(g)
    operand = g.pick(wild=False)
    wanted = g.pick(wild=False)
    bodies = []
    many = g.flip(0.4)
    for _ in range(g.rng.randint(2, 3) if many else 2):
        held = g.new(operand.shape, operand.dtype, operand.bound, operand.soft)
        bodies.append(g.body(
            [("", (held,))], lambda: [g.like(wanted.shape, wanted.dtype, 999, wild=False)], "{0}",
            lambda: grow(g, g.rng.randint(0, 2)),
        ))  # fmt: skip
    names = ", ".join(f"{{f{i}}}" for i in range(len(bodies)))
    if many:
        text, chosen = f"lax.switch({{0}}, [{names}], {{1}})", g.index((), len(bodies))
    else:
        text, chosen = f"lax.cond({{0}}, {names}, {{1}})", g.like((), "bool")
    g.add(text, [chosen, operand], [(wanted.shape, wanted.dtype, 999)], bodies, soft=False)


@family(4)
def vmap(g: Grower) -> None:
    """A function of one row of an array, for all of them: by `vmap` over any dimensions, or by `lax.map`."""
    _deeper(g)
    a = g.pick(lambda v: v.rank >= 1 and v.size > 0, wild=False)
    d = g.rng.randrange(a.rank)
    n = a.shape[d]
    values, axes = [a], [d]
    if g.flip():
        rest = g.shape(g.rng.randint(0, 2), 24)
        e = g.rng.randint(0, len(rest))
        values.append(g.like((*rest[:e], n, *rest[e:]), g.rng.choice(("float32", "int32")), 20, wild=False))
        axes.append(e)
    mapped = axes == [0] * len(axes) and g.flip(0.3)
    rows = [g.new((*v.shape[:x], *v.shape[x + 1 :]), v.dtype, v.bound, v.soft) for v, x in zip(values, axes, strict=True)]
    found: list[Var] = []

    def finish() -> list[Var]:
        inside = [v for v in g.values if v.id > rows[-1].id]
        if not inside:
            raise Skip
        found.append(inside[-1])
        return found

    head: list[tuple[str, Sequence[Var]]] = [("x", rows)] if mapped else [("", (v,)) for v in rows]
    body = g.body(head, finish, "{0}", lambda: grow(g, g.rng.randint(1, 3)))
    y = found[0]
    names = ", ".join(f"{{{i}}}" for i in range(len(values)))
    if mapped:
        text = f"lax.map({{f0}}, ({names}{',' if len(values) == 1 else ''}))"
        g.add(text, values, [((n, *y.shape), y.dtype, y.bound)], [body], soft=y.soft, wild=y.wild)
        return
    out = g.rng.randint(0, y.rank)
    text = f"jax.vmap({{f0}}, in_axes={tuple(axes)}, out_axes={out})({names})"
    g.add(text, values, [((*y.shape[:out], n, *y.shape[out:]), y.dtype, y.bound)], [body], soft=y.soft, wild=y.wild)


@family(5)
def derivative(g: Grower) -> None:
    """Of a few exact ops: `grad`, `jvp`, `vjp`; recomputed or by a rule of the user's own now and then."""
    _deeper(g)
    values = [
        g.fit(g.pick(lambda v: v.dtype == "float32" and v.size > 0, wild=False), 3) for _ in range(g.rng.randint(1, 2))
    ]  # fmt: skip
    values = list({v.id: v for v in values}.values())
    inner = [g.new(v.shape, "float32", 3) for v in values]
    g.smooth = True
    outer, g.values = g.values, []
    last: list[Var] = []

    def finish() -> list[Var]:
        inside = [v for v in g.values if v.id > inner[-1].id]
        if not inside:
            raise Skip
        last.append(inside[-1])
        return last

    kind = g.rng.choice(("grad", "grad", "jvp", "vjp"))
    before = list(g.rng.choice(((), (), ("@jax.checkpoint",), ("@jax.jit",))))
    wide = g.wide
    g.wide = False
    try:
        form = "jnp.sum({0} * ((jnp.arange({0}.size) % 3 - 1).reshape({0}.shape))).astype('float32')" if kind == "grad" else "{0}"
        before += ["{name} = _own({name})"] * g.flip(0.15)
        body = g.body([("", (v,)) for v in inner], finish, form, lambda: grow(g, g.rng.randint(1, 3)), before)
    finally:
        g.smooth, g.wide = False, wide
        arguments = [v for v in g.arguments if v.id not in {w.id for w in outer}]
        g.values = [*arguments, *outer]
    y = last[0]
    names = ", ".join(f"{{{i}}}" for i in range(len(values)))
    t = f"({names}{',' if len(values) == 1 else ''})"
    if kind == "grad":
        count = tuple(range(len(values)))
        text, results = f"jax.grad({{f0}}, {count})({names})", [(v.shape, "float32", 4096) for v in values]
        text = text if len(values) > 1 else f"{text}[0]"
    elif kind == "jvp":
        if "_own" in str(before):
            raise Skip
        text, results = f"jax.jvp({{f0}}, {t}, {t})", [(y.shape, "float32", 4096)] * 2
    else:
        text = f"jax.vjp({{f0}}, {names})[1](jnp.ones({y.shape}, 'float32'))"
        results = [(v.shape, "float32", 4096) for v in values]
        text = text if len(values) > 1 else f"{text}[0]"
    g.add(text, values, results, [body], soft=y.soft)


@family(1)
def associative(g: Grower) -> None:
    v = g.pick(lambda v: v.rank >= 1 and v.size > 0 and (v.is_int or v.dtype == "float32"), wild=False)
    d = g.rng.randrange(v.rank)
    kind = g.rng.choice(("jnp.maximum", "jnp.add"))
    v = g.room(v, v.shape[d]) if kind == "jnp.add" else v
    text = f"lax.associative_scan({kind}, {{0}}, axis={d}, reverse={g.flip(0.3)})"
    g.one(text, [v], v.shape, v.dtype, v.bound * (v.shape[d] if kind == "jnp.add" else 1))
