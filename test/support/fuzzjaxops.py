"""The families of random jax programs that do arithmetic: elementwise, reductions, contractions, convolutions, pools."""

from __future__ import annotations

import math
from collections.abc import Callable

from support.fuzzjaxgrow import LARGEST, Grower, Skip, limit
from support.fuzzjaxprogram import Var

Family = Callable[[Grower], None]
FAMILIES: list[tuple[Family, int]] = []


def family(weight: int) -> Callable[[Family], Family]:
    """Register a family; programs have statements of it in proportion to `weight`."""

    def register(function: Family) -> Family:
        FAMILIES.append((function, weight))
        return function

    return register


# -- elementwise ---------------------------------------------------------------------------------


@family(5)
def unary(g: Grower) -> None:
    v = g.pick(soft=True)
    if v.dtype == "bool":
        g.one("~{0}", [v], v.shape, "bool", 1)
    elif v.dtype.startswith("complex"):
        name = g.rng.choice(("jnp.conj", "-", "jnp.negative"))
        g.one(f"{name}({{0}})", [v], v.shape, v.dtype, v.bound)
    elif v.is_int:
        names = ["jnp.abs", "jnp.sign", "~", "lax.population_count", "lax.clz", "jnp.square"]
        name = g.rng.choice(names + ["-"] * (not v.dtype.startswith("u")))
        g.one(f"{name}({{0}})", [v], v.shape, v.dtype, 99)
    elif v.soft:
        g.one(f"{g.rng.choice(('-', 'jnp.abs'))}({{0}})", [v], v.shape, v.dtype, v.bound)
    else:
        name = g.rng.choice(("-", "jnp.abs", "jnp.sign", "jnp.floor", "jnp.ceil", "jnp.round", "lax.round"))
        if v.dtype.startswith("float8") and name != "-":
            name = "jnp.abs"
        g.one(f"{name}({{0}})", [v], v.shape, v.dtype, v.bound)


@family(2)
def power(g: Grower) -> None:
    v = g.number()
    n = g.rng.choice((2, 3))
    v = g.fit(v, limit(v.dtype) ** (1 / n) / 2)
    name = g.rng.choice(("lax.integer_pow({0}, N)", "{0} ** N")).replace("N", str(n))
    g.one(name, [v], v.shape, v.dtype, max(1, v.bound) ** n)


@family(3)
def rounding(g: Grower) -> None:
    """A function that is not exact."""
    v = g.fit(g.floating(soft=True, wild=False), 6)
    name = g.rng.choice((
        "jnp.exp", "jnp.tanh", "jax.nn.sigmoid", "jnp.sin", "jnp.cos", "lax.erf", "jax.nn.gelu", "jax.nn.silu",
        "jnp.log1p(jnp.abs({0}))", "jnp.sqrt(jnp.abs({0}) + 1)", "lax.rsqrt(jnp.abs({0}) + 1)", "jnp.cbrt(jnp.abs({0}) + 1)",
        "jnp.arctan", "jax.nn.softplus", "1 / (jnp.abs({0}) + 3)", "jnp.expm1", "jnp.logaddexp({0}, 1)",
    ))  # fmt: skip
    g.one(name if "{" in name else f"{name}({{0}})", [v], v.shape, v.dtype, 404, soft=True)


@family(10)
def binary(g: Grower) -> None:
    v = g.pick(soft=True)
    w = _partner(g, v)
    shape = _broadcast(v.shape, w.shape)
    if v.dtype == "bool":
        name = g.rng.choice(("&", "|", "^"))
        g.one(f"{{0}} {name} {{1}}", [v, w], shape, "bool", 1)
        return
    if v.is_int and g.flip(0.3):
        name = g.rng.choice(("jnp.bitwise_and", "jnp.bitwise_or", "jnp.bitwise_xor"))
        g.one(f"{name}({{0}}, {{1}})", [v, w], shape, v.dtype, 99)
        return
    names = ["+", "-", "*", "+", "*"]
    names += [] if v.dtype.startswith(("complex", "float8")) else ["jnp.maximum", "jnp.minimum"]
    if g.smooth or v.soft:
        names = ["+", "-", "*"]
    name = g.rng.choice(names)
    most = limit(v.dtype)
    if name == "*":
        v, w = g.fit(v, 16 if v.soft else math.sqrt(most) / 2), g.fit(w, math.sqrt(most) / 2)
        bound = 2 * max(1, v.bound) * max(1, w.bound)
    elif name in ("+", "-"):
        v, w = g.fit(v, most / 2), g.fit(w, most / 2)
        bound = v.bound + w.bound
    else:
        bound = max(v.bound, w.bound)
    text = f"{{0}} {name} {{1}}" if len(name) == 1 else f"{name}({{0}}, {{1}})"
    g.one(text, [v, w] if g.flip() else [w, v], shape, v.dtype, bound)


def _partner(g: Grower, v: Var) -> Var:
    """Something that `v` broadcasts with."""
    if g.flip(0.6):
        return g.like(v.shape, v.dtype)
    shape = [1 if g.flip(0.4) else n for n in v.shape][g.rng.randint(0, v.rank) if g.flip(0.5) else 0 :]
    return g.like(shape, v.dtype)


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    n = max(len(a), len(b))
    a, b = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
    return tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))


@family(2)
def with_number(g: Grower) -> None:
    """Arithmetic with a Python number."""
    v = g.number(soft=True)
    if v.dtype.startswith("float8"):
        raise Skip
    k = g.rng.choice((2, 3, 5))
    if v.soft:
        v = g.fit(v, 99)
        g.one(f"{{0}} * {k} + 1", [v], v.shape, v.dtype, k * v.bound + 1)
        return
    v = g.room(v, 8)
    text = g.rng.choice((f"{{0}} * {k} + 1", f"{k} - {{0}}", f"{{0}} % {k}", f"{{0}} // {k}"))
    if ("%" in text or "//" in text) and (g.smooth or v.wild or v.dtype in ("bfloat16", "float16")):
        raise Skip
    if v.is_int and "//" not in text and g.flip(0.3):
        text = g.rng.choice(("{0} << 2", "{0} >> 1", "lax.shift_right_logical({0}, jnp.full_like({0}, 3))"))
    g.one(text, [v], v.shape, v.dtype, 5 * v.bound + 5)


@family(4)
def compare_select(g: Grower) -> None:
    v = g.pick(lambda v: not v.dtype.startswith("complex"))
    w = _partner(g, v)
    shape = _broadcast(v.shape, w.shape)
    p = g.one(f"{{0}} {g.rng.choice(('<', '<=', '>', '>=', '==', '!='))} {{1}}", [v, w], shape, "bool", 1)
    if g.flip(0.7):
        a = g.pick(lambda x: x.shape == shape, soft=True) if g.flip(0.3) else g.like(shape, g.dtype())
        b = g.like(shape, a.dtype)
        g.one("jnp.where({0}, {1}, {2})", [p, a, b], shape, a.dtype, max(a.bound, b.bound))


@family(2)
def clamp(g: Grower) -> None:
    v = g.number()
    if v.dtype.startswith(("float8", "u")):
        raise Skip
    text = g.rng.choice((
        "jnp.clip({0}, -2, 3)", "jnp.minimum({0}, 2)", "jax.nn.relu({0})", "jnp.where({0} > 1, {0}, 0)",
        "jnp.maximum(-1, {0})", "lax.clamp(jnp.array(-1, {0}.dtype), {0}, jnp.array(2, {0}.dtype))",
    ))  # fmt: skip
    g.one(text, [v], v.shape, v.dtype, max(3, v.bound))


@family(2)
def convert(g: Grower) -> None:
    v = g.pick(lambda v: not v.dtype.startswith("complex"))
    to = g.dtype()
    if to == v.dtype:
        raise Skip
    if "float" in v.dtype and "int" in to and (v.wild or to.startswith("u")):
        raise Skip
    if "float" in v.dtype and "int" in to:
        v = g.fit(v, 100)
    bound = v.bound
    if v.is_int and "int" not in to and to != "bool":
        v = g.one("lax.rem({0}, jnp.full_like({0}, 7))", [v], v.shape, v.dtype, 7)
        bound = 7
    v = g.fit(v, limit(to))
    if v.wild and to.startswith("float8"):
        raise Skip
    g.one(f"{{0}}.astype('{to}')", [v], v.shape, to, min(bound, v.bound) if to != "bool" else 1)


@family(1)
def parts(g: Grower) -> None:
    """Complex numbers made and taken apart."""
    if g.flip():
        v = g.pick(lambda v: v.dtype.startswith("complex"))
        real = "float32" if v.dtype == "complex64" else "float64"
        g.one(f"jnp.{g.rng.choice(('real', 'imag'))}({{0}})", [v], v.shape, real, v.bound)
        return
    v = g.floating()
    v = g.fit(v, 1000)
    w = g.like(v.shape, v.dtype, 1000)
    g.one("lax.complex({0}, {1})", [v, w], v.shape, "complex64" if v.dtype == "float32" else "complex128", 1000)


@family(1)
def bits(g: Grower) -> None:
    v = g.pick(lambda v: v.dtype in ("int32", "uint32", "int8", "int16"))
    to = {"int32": "uint32", "uint32": "int32", "int8": "uint8", "int16": "uint16"}[v.dtype]
    g.one(f"lax.bitcast_convert_type({{0}}, '{to}')", [v], v.shape, to, 99)


@family(1)
def nan_tests(g: Grower) -> None:
    v = g.pick(lambda v: v.dtype in ("float32", "float64", "bfloat16"))
    text = g.rng.choice(("jnp.isnan({0})", "jnp.isfinite({0})", "jnp.isinf({0})"))
    g.one(text, [v], v.shape, "bool", 1)
    if v.wild:
        g.one("jnp.nan_to_num({0}, nan=1, posinf=2, neginf=-2)", [v], v.shape, v.dtype, max(2, v.bound), wild=False)


# -- reductions ----------------------------------------------------------------------------------


@family(7)
def reduce(g: Grower) -> None:
    v = g.pick(lambda v: v.rank >= 1 and not v.dtype.startswith("float8"), soft=True)
    dims = g.dims(v)
    n = math.prod(v.shape[d] for d in dims)
    keep = g.flip(0.3)
    out = tuple(1 if d in dims else s for d, s in enumerate(v.shape) if keep or d not in dims)
    where = f"axis={tuple(dims)}, keepdims={keep}"
    if v.dtype == "bool":
        g.one(f"jnp.{g.rng.choice(('any', 'all'))}({{0}}, {where})", [v], out, "bool", 1)
    elif v.soft or v.dtype.startswith("complex") or g.flip(0.45):
        v = g.room(v, n)
        g.one(f"jnp.sum({{0}}, {where}, dtype='{v.dtype}')", [v], out, v.dtype, n * v.bound)
    elif g.flip(0.2) and not g.smooth:
        v = g.fit(v, 1)
        g.one(f"jnp.prod({{0}}, {where}, dtype='{v.dtype}')", [v], out, v.dtype, 1)
    elif n:
        g.one(f"jnp.{g.rng.choice(('max', 'min'))}({{0}}, {where})", [v], out, v.dtype, v.bound)
    else:
        raise Skip


@family(3)
def lax_reduce(g: Grower) -> None:
    """`lax.reduce` from a start that is not neutral, or of two arrays at once."""
    v = g.pick(lambda v: v.rank >= 1 and not v.dtype.startswith(("float8", "complex")))
    dims = g.dims(v)
    n = math.prod(v.shape[d] for d in dims)
    out = tuple(s for d, s in enumerate(v.shape) if d not in dims)
    if v.dtype == "bool":
        kind = g.rng.choice(("bitwise_and", "bitwise_or", "bitwise_xor"))
        start = g.rng.choice((True, False))
    else:
        kinds = ["add", "add", "max", "min", "mul"] + ["bitwise_or", "bitwise_and", "bitwise_xor"] * v.is_int
        kind = g.rng.choice(kinds)
        start = g.rng.choice((0, 1, 3) if v.dtype.startswith("u") else (0, 1, 3, -2))
    if kind == "add":
        v = g.room(v, n + 1)
    elif kind == "mul":
        v = g.fit(v, 1)
    bound = {"add": n * v.bound + 3, "mul": 3}.get(kind, max(3, v.bound))
    init = f"np.array({start}, '{v.dtype}')" if v.dtype != "bfloat16" else f"jnp.array({start}, 'bfloat16')"
    if v.dtype not in ("bool",) and g.flip(0.2):
        w = g.like(v.shape, v.dtype, v.bound)
        text = (
            f"lax.reduce(({{0}}, {{1}}), ({init}, {init}), lambda a, b: (lax.{kind}(a[0], b[0]), lax.max(a[1], b[1])), "
            f"{tuple(dims)})"
        )
        g.add(text, [v, w], [(out, v.dtype, bound), (out, v.dtype, max(3, w.bound))])
        return
    g.one(f"lax.reduce({{0}}, {init}, lax.{kind}, {tuple(dims)})", [v], out, v.dtype, bound)


@family(2)
def argmax(g: Grower) -> None:
    v = g.pick(lambda v: v.rank >= 1 and (v.is_float or v.is_int) and not v.dtype.startswith("float8"))
    d = g.rng.randrange(v.rank)
    if not v.shape[d]:
        raise Skip
    out = tuple(s for i, s in enumerate(v.shape) if i != d)
    name = g.rng.choice(("argmax", "argmin"))
    g.one(f"jnp.{name}({{0}}, axis={d}).astype('int32')", [v], out, "int32", v.shape[d])


@family(4)
def cumulate(g: Grower) -> None:
    v = g.pick(lambda v: v.rank >= 1 and (v.is_float or v.is_int) and not v.dtype.startswith("float8"), soft=True)
    d = g.rng.randrange(v.rank)
    kind = "cumsum" if v.soft else g.rng.choice(("cumsum", "cumsum", "cummax", "cummin", "cumprod"))
    if g.smooth:
        kind = "cumsum"
    n = max(1, v.shape[d])
    v = g.room(v, n) if kind == "cumsum" else g.fit(v, 1) if kind == "cumprod" else v
    bound = n * v.bound if kind == "cumsum" else v.bound
    g.one(f"lax.{kind}({{0}}, axis={d}, reverse={g.flip(0.3)})", [v], v.shape, v.dtype, bound)


@family(3)
def normalise(g: Grower) -> None:
    """Softmax and its like."""
    v = g.fit(g.floating(1, soft=True, wild=False), 30)
    d = g.rng.randrange(v.rank)
    if not v.shape[d]:
        raise Skip
    reduced = tuple(s for i, s in enumerate(v.shape) if i != d)
    text, shape = g.rng.choice((
        (f"jax.nn.softmax({{0}}, axis={d})", v.shape), (f"jax.nn.log_softmax({{0}}, axis={d})", v.shape),
        (f"jax.nn.logsumexp({{0}}, axis={d})", reduced), (f"jnp.mean({{0}}, axis={d})", reduced),
        (f"jnp.var({{0}}, axis={d})", reduced), (f"lax.cumlogsumexp({{0}}, axis={d})", v.shape),
        (f"({{0}} - {{0}}.mean({d}, keepdims=True)) * lax.rsqrt({{0}}.var({d}, keepdims=True) + 1)", v.shape),
        (f"jax.nn.standardize({{0}}, axis={d}, epsilon=1)", v.shape),
    ))  # fmt: skip
    g.one(text, [v], shape, v.dtype, 999, soft=True)


# -- contractions --------------------------------------------------------------------------------


@family(8)
def einsum(g: Grower) -> None:
    v = g.pick(lambda v: v.rank >= 1 and v.dtype != "bool" and not v.dtype.startswith("float8"), soft=True)
    letters = "abcdefgh"[: v.rank]
    kinds = {x: g.rng.choices("ckb", (5, 4, 2))[0] for x in letters}  # contracted, kept, batch
    if v.rank > 1 and all(k == "c" for k in kinds.values()):
        kinds[letters[0]] = "k"
    sizes = dict(zip(letters, v.shape, strict=True))
    n = max(1, math.prod(sizes[x] for x, k in kinds.items() if k == "c"))
    right = [x for x, k in kinds.items() if k != "k"]
    out = [x for x, k in kinds.items() if k != "c"]
    if g.flip(0.75):
        room = LARGEST // max(1, math.prod(sizes[x] for x in set(right) | set(out)))
        sizes["z"] = g.rng.choice([s for s in (1, 2, 3, 5, 7, 8, 11) if s <= room] or [1])
        right.append("z")
        out.append("z")
    g.rng.shuffle(right)
    g.rng.shuffle(out)
    most = limit(v.dtype)
    v = g.fit(v, 99 if v.soft else math.sqrt(most / n) / 2)
    w = g.like([sizes[x] for x in right], v.dtype, math.sqrt(most / n) / 2)
    bound = 2 * n * max(1, v.bound) * max(1, w.bound)
    text = f"jnp.einsum('{letters},{''.join(right)}->{''.join(out)}', {{0}}, {{1}})"
    g.one(text, [v, w], [sizes[x] for x in out], v.dtype, bound)


@family(4)
def matmul(g: Grower) -> None:
    v = g.pick(lambda v: v.rank >= 2 and v.dtype in ("float32", "int32", "bfloat16", "int8", "float64"), soft=True)
    k = v.shape[-1]
    n = g.rng.choice((1, 2, 3, 5, 8))
    if v.dtype == "int8" or (v.dtype == "bfloat16" and g.flip()):
        wide = "int32" if v.dtype == "int8" else "float32"
        v = g.fit(v, 64)
        w = g.like((k, n), v.dtype, 64)
        bound = max(1, k) * 64 * 64
        if v.soft or bound > limit(wide):
            raise Skip
        text = f"lax.dot_general({{0}}, {{1}}, ((({v.rank - 1},), (0,)), ((), ())), preferred_element_type='{wide}')"
        g.one(text, [v, w], (*v.shape[:-1], n), wide, bound)
        return
    most = math.sqrt(limit(v.dtype) / max(1, k)) / 2
    v = g.fit(v, 99 if v.soft else most)
    w = g.like((k, n), v.dtype, most)
    g.one("{0} @ {1}", [v, w], (*v.shape[:-1], n), v.dtype, max(1, k) * max(1, v.bound) * max(1, w.bound))


@family(3)
def convolution(g: Grower) -> None:
    """One or two spatial dimensions: strides, padding, dilation, groups of features or batches, any layout."""
    spatial = g.rng.choice((1, 1, 2))
    groups, batches = g.rng.choice(((1, 1), (1, 1), (2, 1), (3, 1), (1, 2)))
    b, c = g.rng.choice((1, 2, 3, 5)) * batches, g.rng.choice((1, 2, 3)) * groups
    o = g.rng.choice((1, 2, 3)) * groups * batches
    sizes = [g.rng.choice((1, 5, 7, 8, 9) if spatial == 1 else (3, 4, 5)) for _ in range(spatial)]
    kernel = [g.rng.choice((1, 2, 3)) for _ in range(spatial)]
    strides = [g.rng.choice((1, 1, 2, 3)) for _ in range(spatial)]
    padding = [(g.rng.choice((0, 0, 1, 2)), g.rng.choice((0, 0, 1, -1))) for _ in range(spatial)]
    left, right = ([g.rng.choice((1, 1, 1, 2)) for _ in range(spatial)] for _ in range(2))
    out = []
    for s, k, t, p, l, r in zip(sizes, kernel, strides, padding, left, right, strict=True):
        n = (s - 1) * l + 1 + sum(p) - ((k - 1) * r + 1)
        if n < 0:
            raise Skip
        out.append(n // t + 1)
    dims = "HW"[:spatial]
    lhs, rhs, res = g.rng.choice((
        (f"N{dims}C", f"{dims}IO", f"N{dims}C"), (f"NC{dims}", f"OI{dims}", f"NC{dims}"),
        (f"{dims}NC", f"{dims}OI", f"N{dims}C"),
    ))  # fmt: skip
    def shape(layout: str, by: dict[str, int]) -> list[int]:
        return [by[x] for x in layout]

    at = dict(zip(dims, sizes, strict=True))
    kat, oat = dict(zip(dims, kernel, strict=True)), dict(zip(dims, out, strict=True))
    dtype = g.rng.choice(("float32", "float32", "float32", "int32")) if not g.smooth else "float32"
    x = g.like(shape(lhs, {"N": b, "C": c, **at}), dtype, 100, wild=False)
    k = g.like(shape(rhs, {"I": c // groups, "O": o, **kat}), dtype, 20, wild=False)
    n = math.prod(kernel) * c // groups * batches
    text = (
        f"lax.conv_general_dilated({{0}}, {{1}}, {tuple(strides)}, {padding}, {tuple(left)}, {tuple(right)}, "
        f"{(lhs, rhs, res)}, feature_group_count={groups}, batch_group_count={batches})"
    )
    g.one(text, [x, k], shape(res, {"N": b // batches, "C": o, **oat}), dtype, n * x.bound * k.bound)


@family(3)
def pool(g: Grower) -> None:
    """`lax.reduce_window`, from any start."""
    v = g.pick(lambda v: v.rank >= 1 and (v.is_float or v.is_int) and not v.dtype.startswith(("float8", "u")))
    rank, shape = v.rank, list(v.shape)
    window, strides, base, dilation, padding = [1] * rank, [1] * rank, [1] * rank, [1] * rank, [(0, 0)] * rank
    for d in g.rng.sample(range(rank), min(rank, g.rng.randint(1, 2))):
        window[d], strides[d], dilation[d] = g.rng.randint(1, 3), g.rng.choice((1, 1, 2, 3)), g.rng.choice((1, 1, 2))
        base[d] = g.rng.choice((1, 1, 1, 2))
        padding[d] = (g.rng.choice((0, 0, 1, 2)), g.rng.choice((0, 0, 1)))
        n = (shape[d] - 1) * base[d] + 1 + sum(padding[d]) - ((window[d] - 1) * dilation[d] + 1)
        if n < 0 or not shape[d]:
            raise Skip
        shape[d] = n // strides[d] + 1
    kind = g.rng.choice(("add", "add", "max", "min", "mul")) if not g.smooth else "add"
    n = math.prod(window)
    v = g.room(v, n + 1) if kind == "add" else g.fit(v, 1) if kind == "mul" else v
    neutral = {"add": 0, "max": -9, "min": 9, "mul": 1}[kind]
    start = neutral if g.smooth or g.flip(0.6) else g.rng.choice((0, 3, -2))
    init = f"np.array({start}, '{v.dtype}')" if v.dtype != "bfloat16" else f"jnp.array({start}, 'bfloat16')"
    bound = {"add": n * v.bound + 3, "mul": 9}.get(kind, max(9, v.bound))
    text = (
        f"lax.reduce_window({{0}}, {init}, lax.{kind}, {tuple(window)}, {tuple(strides)}, "
        f"{padding}, {tuple(base)}, {tuple(dilation)})"
    )
    g.one(text, [v], shape, v.dtype, bound)


@family(1)
def fourier(g: Grower) -> None:
    v = g.fit(g.pick(lambda v: v.rank >= 1 and v.dtype in ("float32", "complex64") and v.size > 0, wild=False), 9)
    d = g.rng.randrange(v.rank)
    if v.dtype == "float32" and g.flip():
        out = tuple(s // 2 + 1 if i == d else s for i, s in enumerate(v.shape))
        g.one(f"jnp.fft.rfft({{0}}, axis={d})", [v], out, "complex64", 9 * v.shape[d], soft=True)
        return
    name = g.rng.choice(("fft", "ifft"))
    g.one(f"jnp.fft.{name}({{0}}, axis={d})", [v], v.shape, "complex64", 9 * v.shape[d], soft=True)


@family(1)
def triangular(g: Grower) -> None:
    """A unit triangular matrix of small integers: its solutions are integers."""
    n, m = g.rng.choice((1, 2, 3)), g.rng.choice((1, 2, 5))
    batch = g.shape(g.rng.randint(0, 1), 16)
    a, b = g.like((*batch, n, n), "float32", 1, wild=False), g.like((*batch, n, m), "float32", 999, wild=False)
    text = (
        f"lax.linalg.triangular_solve({{0}}, {{1}}, left_side=True, lower={g.flip()}, unit_diagonal=True, "
        f"transpose_a={g.flip()})"
    )
    g.one(text, [a, b], b.shape, "float32", 8 * b.bound)
