"""The families of random jax programs that move data: shapes, slices, gathers, scatters, sorts, random bits."""

from __future__ import annotations

import math

from support.fuzzjaxgrow import LARGEST, Grower, Skip
from support.fuzzjaxops import family
from support.fuzzjaxprogram import Var

# -- shapes --------------------------------------------------------------------------------------


@family(5)
def reshape(g: Grower) -> None:
    v = g.pick(soft=True)
    old, n = list(v.shape), v.size
    if len(old) >= 2 and g.flip():
        d = g.rng.randrange(len(old) - 1)
        shape = [*old[:d], old[d] * old[d + 1], *old[d + 2 :]]
    elif old and len(old) < 4 and n:
        d = g.rng.randrange(len(old))
        a = g.rng.choice([x for x in range(1, old[d] + 1) if old[d] % x == 0])
        shape = [*old[:d], a, old[d] // a, *old[d + 1 :]]
    else:
        a = g.rng.choice([x for x in range(1, n + 1) if n % x == 0]) if n else 0
        shape = [a, n // a] if n else [0]
    g.one(f"{{0}}.reshape({tuple(shape)})", [v], shape, v.dtype, v.bound)


@family(4)
def transpose(g: Grower) -> None:
    v = g.pick(lambda v: v.rank >= 2, soft=True)
    p = list(range(v.rank))
    g.rng.shuffle(p)
    g.one(f"jnp.transpose({{0}}, {tuple(p)})", [v], [v.shape[d] for d in p], v.dtype, v.bound)


@family(3)
def broadcast(g: Grower) -> None:
    v = g.pick(lambda v: v.rank <= 3 and v.size <= LARGEST // 3, soft=True)
    if g.flip():
        at, n = g.rng.randint(0, v.rank), g.rng.choice((1, 2, 3, 5))
        shape = (*v.shape[:at], n, *v.shape[at:])
        dims = tuple(d + (d >= at) for d in range(v.rank))
        g.one(f"lax.broadcast_in_dim({{0}}, {shape}, {dims})", [v], shape, v.dtype, v.bound)
    elif v.rank:
        d, n = g.rng.randrange(v.rank), g.rng.choice((2, 3))
        shape = tuple(s * n if i == d else s for i, s in enumerate(v.shape))
        if g.flip():
            g.one(f"jnp.repeat({{0}}, {n}, axis={d})", [v], shape, v.dtype, v.bound)
        else:
            reps = tuple(n if i == d else 1 for i in range(v.rank))
            g.one(f"jnp.tile({{0}}, {reps})", [v], shape, v.dtype, v.bound)
    else:
        raise Skip


@family(4)
def join(g: Grower) -> None:
    v = g.pick(lambda v: v.rank >= 1 and v.size <= LARGEST // 2, soft=True)
    d = g.rng.randrange(v.rank)
    if g.flip(0.3):
        w = g.like(v.shape, v.dtype)
        at = g.rng.randint(0, v.rank)
        g.one(f"jnp.stack([{{0}}, {{1}}], {at})", [v, w], (*v.shape[:at], 2, *v.shape[at:]), v.dtype, max(v.bound, w.bound))
        return
    values = [v]
    for _ in range(g.rng.randint(1, 2)):
        n = v.shape[d] if g.flip(0.3) else g.size()
        w = v if g.flip(0.2) else g.like([n if i == d else s for i, s in enumerate(v.shape)], v.dtype)
        values.insert(g.rng.randrange(len(values) + 1), w)
    shape = [sum(w.shape[d] for w in values) if i == d else s for i, s in enumerate(v.shape)]
    names = ", ".join(f"{{{i}}}" for i in range(len(values)))
    g.one(f"jnp.concatenate([{names}], axis={d})", values, shape, v.dtype, max(w.bound for w in values))


@family(3)
def split(g: Grower) -> None:
    v = g.pick(lambda v: any(s > 1 for s in v.shape), soft=True)
    d = g.rng.choice([i for i, s in enumerate(v.shape) if s > 1])
    at = g.rng.randint(1, v.shape[d] - 1)

    def shape(n: int) -> tuple[int, ...]:
        return tuple(n if i == d else s for i, s in enumerate(v.shape))

    results = [(shape(at), v.dtype, v.bound), (shape(v.shape[d] - at), v.dtype, v.bound)]
    g.add(f"jnp.split({{0}}, [{at}], axis={d})", [v], results)


@family(4)
def rearrange(g: Grower) -> None:
    v = g.pick(lambda v: v.rank >= 1, soft=True)
    d = g.rng.randrange(v.rank)
    choices = [(f"jnp.flip({{0}}, {d})", v.shape), (f"jnp.roll({{0}}, {g.rng.randint(-3, 5)}, axis={d})", v.shape)]
    if v.rank == 2 and v.dtype != "bool":
        choices += [("jnp.tril({0})", v.shape), ("jnp.triu({0}, 1)", v.shape)]
        choices += [("jnp.diagonal({0})", (min(v.shape),)), ("jnp.rot90({0})", v.shape[::-1])]
    if v.rank == 1 and v.size <= 16:
        choices.append(("jnp.diag({0})", v.shape * 2))
    if 1 in v.shape:
        at = v.shape.index(1)
        choices.append((f"jnp.squeeze({{0}}, {at})", (*v.shape[:at], *v.shape[at + 1 :])))
    text, shape = g.rng.choice(choices)
    g.one(text, [v], shape, v.dtype, v.bound)


@family(4)
def pad(g: Grower) -> None:
    v = g.pick(lambda v: v.rank >= 1 and v.size <= LARGEST // 2, soft=True)
    config, shape = [], []
    for s in v.shape:
        low, high, inner = g.rng.choice((0, 0, 1, 2, -1)), g.rng.choice((0, 0, 1, 3, -1)), g.rng.choice((0, 0, 0, 1))
        if s + max(s - 1, 0) * inner + low + high < (0 if g.empty else 1) or (not s and not g.empty):
            low = high = inner = 0
        config.append((low, high, inner))
        shape.append(s + max(s - 1, 0) * inner + low + high)
    if all(low >= 0 and high >= 0 and not i for low, high, i in config) and min(v.shape) > 3 and g.flip():
        mode = g.rng.choice(("edge", "reflect", "wrap", "symmetric"))
        pairs = [(low, high) for low, high, _ in config]
        g.one(f"jnp.pad({{0}}, {pairs}, mode='{mode}')", [v], shape, v.dtype, v.bound)
        return
    fill = g.rng.choice((0, 0, 1))
    value = f"jnp.array({fill}, '{v.dtype}')"
    g.one(f"lax.pad({{0}}, {value}, {config})", [v], shape, v.dtype, max(v.bound, 1))


@family(2)
def make(g: Grower) -> None:
    """Arrays out of nothing: iota, one hot."""
    if g.flip():
        shape = g.shape(g.rng.randint(1, 3))
        d = g.rng.randrange(len(shape))
        dtype = g.rng.choice(("int32", "float32"))
        g.one(f"lax.broadcasted_iota('{dtype}', {shape}, {d})", [], shape, dtype, shape[d])
        return
    shape, n = g.shape(g.rng.randint(1, 2), 40), g.rng.choice((2, 3, 5, 7))
    i = g.index(shape, n)
    g.one(f"jax.nn.one_hot({{0}}, {n}, dtype='float32')", [i], (*shape, n), "float32", 1)


# -- slices --------------------------------------------------------------------------------------


@family(4)
def slice_(g: Grower) -> None:
    v = g.pick(lambda v: v.rank >= 1, soft=True)
    text, shape = [], []
    for s in v.shape:
        a = g.rng.randrange(s) if s and g.flip(0.4) else 0
        b = g.rng.randint(a + (a < s and not g.empty), s) if g.flip(0.4) else s
        k = g.rng.choice((1, 1, 1, 2, 3))
        n = -((a - b) // k)
        shape.append(n)
        text.append(f"{a}:{b}:{k}")
    if g.flip(0.3):
        d = g.rng.randrange(v.rank)
        text[d], shape[d] = "::-1", v.shape[d]
    g.one(f"{{0}}[{', '.join(text)}]", [v], shape, v.dtype, v.bound)


@family(4)
def dynamic_slice(g: Grower) -> None:
    v = g.pick(lambda v: v.rank >= 1, soft=True)
    sizes = [s if g.flip() or not s else g.rng.randint(1, s) for s in v.shape]
    starts = [_start(g, s) for s in v.shape]
    text, operands = _starts(starts, 1)
    g.one(f"lax.dynamic_slice({{0}}, ({text}), {tuple(sizes)})", [v, *operands], sizes, v.dtype, v.bound, soft=v.soft, wild=v.wild)


@family(4)
def dynamic_update_slice(g: Grower) -> None:
    v = g.pick(lambda v: v.rank >= 1, soft=True)
    sizes = [s if g.flip() or not s else g.rng.randint(1, s) for s in v.shape]
    update = g.like(sizes, v.dtype)
    text, operands = _starts([_start(g, s) for s in v.shape], 2)
    bound = max(v.bound, update.bound)
    text = f"lax.dynamic_update_slice({{0}}, {{1}}, ({text}))"
    g.one(text, [v, update, *operands], v.shape, v.dtype, bound, soft=v.soft, wild=v.wild or update.wild)


def _start(g: Grower, size: int) -> int | Var:
    """Where a slice starts: a number or computed, inside or not."""
    return g.rng.randint(-2, size + 2) if g.flip(0.4) else g.index((), max(size, 1))


def _starts(starts: list[int | Var], first: int) -> tuple[str, list[Var]]:
    parts, operands = [], []
    for s in starts:
        if isinstance(s, Var):
            parts.append(f"{{{first + len(operands)}}}")
            operands.append(s)
        else:
            parts.append(f"jnp.int32({s})")
    return ", ".join(parts) + ",", operands


# -- gathers and scatters ------------------------------------------------------------------------


@family(5)
def take(g: Grower) -> None:
    v = g.pick(lambda v: v.rank >= 1 and v.size > 0, soft=True)
    d = g.rng.randrange(v.rank)
    shape = g.shape(g.rng.randint(0, 2), 16)
    mode = g.rng.choice(("clip", "wrap", "fill", "promise_in_bounds", "clip"))
    if mode == "fill" and v.dtype not in ("float32", "int32"):
        mode = "clip"
    i = g.place(shape, v.shape[d], True if mode == "promise_in_bounds" else None)
    if mode == "promise_in_bounds":
        at = ", ".join([":"] * d + ["{1}"])
        text = f"{{0}}.at[{at}].get(mode='promise_in_bounds')"
    else:
        text = f"jnp.take({{0}}, {{1}}, axis={d}, mode='{mode}'" + (", fill_value=1)" if mode == "fill" else ")")
    out = (*v.shape[:d], *shape, *v.shape[d + 1 :])
    g.one(text, [v, i], out, v.dtype, max(1, v.bound), soft=v.soft, wild=v.wild)


@family(3)
def take_along(g: Grower) -> None:
    v = g.pick(lambda v: v.rank >= 1 and v.size > 0, soft=True)
    d = g.rng.randrange(v.rank)
    n = g.rng.choice((1, 2, 3, 5))
    shape = tuple(n if i == d else s for i, s in enumerate(v.shape))
    i = g.index(shape, v.shape[d], True)
    g.one(f"jnp.take_along_axis({{0}}, {{1}}, {d})", [v, i], shape, v.dtype, v.bound, soft=v.soft, wild=v.wild)


@family(2)
def index_many(g: Grower) -> None:
    """`x[i, j]` with arrays of indices, next to each other or not."""
    v = g.pick(lambda v: v.rank >= 2 and v.size > 0, soft=True)
    a, b = sorted(g.rng.sample(range(v.rank), 2))
    shape = g.shape(g.rng.randint(0, 2), 12)
    i, j = g.index(shape, v.shape[a]), g.index(shape, v.shape[b])
    at = ", ".join("{1}" if d == a else "{2}" if d == b else ":" for d in range(v.rank))
    rest = [s for d, s in enumerate(v.shape) if d not in (a, b)]
    front = a if b == a + 1 else 0
    out = (*rest[:front], *shape, *rest[front:])
    mode = g.rng.choice(("clip", "promise_in_bounds", "fill")) if v.dtype in ("float32", "int32") else "clip"
    if mode == "promise_in_bounds":
        i, j = (g.one(f"jnp.abs({{0}}) % {v.shape[d]}", [x], shape, "int32", v.shape[d]) for x, d in ((i, a), (j, b)))
    fill = ", fill_value=2" if mode == "fill" else ""
    text = f"{{0}}.at[{at}].get(mode='{mode}'{fill})"
    g.one(text, [v, i, j], out, v.dtype, max(2, v.bound), soft=v.soft, wild=v.wild)


@family(6)
def scatter(g: Grower) -> None:
    """`x.at[..., i].add(y)` and its like, by every mode; indices may repeat and lie outside."""
    v = g.pick(lambda v: v.rank >= 1 and v.size > 0 and not v.dtype.startswith("float8"), soft=True)
    d = g.rng.randrange(v.rank)
    kinds = ["set", "add"] if v.dtype == "bool" or v.dtype.startswith("complex") else ["set", "add", "add", "max", "min", "mul"]
    kind = g.rng.choice(["set", "max", "min"] if v.dtype == "bool" else ["set", "add"] if g.smooth or v.soft else kinds)
    mode = g.rng.choice(("drop", "clip", "drop", "fill", "promise_in_bounds"))
    single = g.flip(0.3)
    shape = () if single else g.shape(g.rng.randint(1, 2), 12)
    unique = kind == "set" and not single
    if unique and g.flip(0.6) and v.shape[d] >= 1:
        n = g.rng.randint(1, v.shape[d])
        k = g.rng.choice([k for k in (1, 2, 3, 5, 7) if math.gcd(k, v.shape[d]) == 1])
        i = g.one(f"(lax.iota('int32', {n}) * {k} + {g.rng.randint(0, 9)}) % {v.shape[d]}", [], (n,), "int32", v.shape[d])
        shape, more = (n,), ", unique_indices=True" if g.flip() else ""
    else:
        i, more = g.place(shape, v.shape[d], True if mode == "promise_in_bounds" else None), ""
    n = max(1, math.prod(shape))
    inner = (*v.shape[:d], *shape, *v.shape[d + 1 :])
    number = g.flip(0.25)
    u = g.like(() if number else inner, v.dtype)
    if kind == "add":
        v, u = g.room(v, 2), g.room(u, 2 * n)
    elif kind == "mul":
        v, u = g.room(v, 2), g.fit(u, 1)
    bound = v.bound + n * u.bound if kind == "add" else max(v.bound, u.bound)
    if kind == "mul" and v.is_float and u.bound > 1:
        raise Skip
    at = ", ".join([":"] * d + ["{1}"])
    text = f"{{0}}.at[{at}].{kind}({{2}}, mode='{mode}'{more})"
    g.one(text, [v, i, u], v.shape, v.dtype, bound, soft=v.soft, wild=v.wild or u.wild)


@family(2)
def segments(g: Grower) -> None:
    v = g.pick(lambda v: v.rank >= 1 and v.size > 0 and v.dtype in ("float32", "int32"), soft=True)
    n = g.rng.choice((1, 3, 4, 7))
    i = g.index((v.shape[0],), n)
    kind = g.rng.choice(("segment_sum", "segment_max")) if v.dtype == "int32" else "segment_sum"
    v = g.room(v, v.shape[0])
    g.one(f"jax.ops.{kind}({{0}}, {{1}}, {n})", [v, i], (n, *v.shape[1:]), v.dtype, v.shape[0] * v.bound, soft=v.soft, wild=v.wild)


@family(1)
def counting(g: Grower) -> None:
    """Where data says how much there is: sizes are fixed, contents are not."""
    v = g.pick(lambda v: v.rank == 1 and v.size > 0 and (v.is_int or v.is_float) and not v.dtype.startswith("float8"), wild=False)
    choices = [
        (f"jnp.nonzero({{0}} > 0, size={v.size}, fill_value=0)[0].astype('int32')", v.shape, "int32"),
        ("jnp.searchsorted(jnp.sort({0}), {0}).astype('int32')", v.shape, "int32"),
        ("jnp.bincount(jnp.abs({0}.astype('int32')) % 5, length=5).astype('int32')", (5,), "int32"),
    ]
    text, shape, dtype = g.rng.choice(choices)
    g.one(text, [v], shape, dtype, v.size)


# -- sorts and random bits -----------------------------------------------------------------------


@family(4)
def sort(g: Grower) -> None:
    v = g.pick(lambda v: v.rank >= 1 and (v.is_float or v.is_int) and not v.dtype.startswith("float8"))
    d = g.rng.randrange(v.rank)
    kind = g.rng.choice(("sort", "argsort", "pairs", "top_k", "top_k"))
    if kind == "sort":
        g.one(f"jnp.sort({{0}}, axis={d}, descending={g.flip(0.3)})", [v], v.shape, v.dtype, v.bound)
    elif kind == "argsort":
        g.one(f"jnp.argsort({{0}}, axis={d}).astype('int32')", [v], v.shape, "int32", max(v.shape))
    elif kind == "pairs":
        w = g.like(v.shape, "int32")
        keys = g.rng.choice((1, 2))
        text = f"lax.sort(({{0}}, {{1}}), dimension={d}, num_keys={keys})"
        g.add(text, [v, w], [(v.shape, v.dtype, v.bound), (v.shape, "int32", w.bound)])
    else:
        if not v.shape[-1] or v.dtype.endswith("int4"):  # XLA:CPU compiles no top_k of four bits
            raise Skip
        k = g.rng.randint(1, v.shape[-1])
        out = (*v.shape[:-1], k)
        g.add(f"lax.top_k({{0}}, {k})", [v], [(out, v.dtype, v.bound), (out, "int32", v.shape[-1])])


@family(2)
def random_bits(g: Grower) -> None:
    shape = g.shape(g.rng.randint(1, 3), 120)
    if g.flip():
        seed, operands = str(g.rng.randrange(99)), []
    else:
        operands = [g.like((), "int32")]
        seed = "{0}"
    key = f"jax.random.{g.rng.choice(('key', 'PRNGKey'))}({seed})"
    if g.flip(0.3):
        key = f"jax.random.fold_in({key}, 3)"
    elif g.flip(0.3):
        key = f"jax.random.split({key}, 3)[1]"
    text, dtype, bound = g.rng.choice((
        (f"jax.random.bits({key}, {shape}, 'uint32')", "uint32", 99), (f"jax.random.bernoulli({key}, 0.3, {shape})", "bool", 1),
        (f"jax.random.randint({key}, {shape}, -5, 9, 'int32')", "int32", 9),
        (f"jnp.floor(jax.random.uniform({key}, {shape}, 'float32') * 8)", "float32", 8),
        (f"jax.random.permutation({key}, {shape[0]}).astype('int32')", "int32", max(shape[0], 1)),
    ))  # fmt: skip
    if "permutation" in text:
        shape = shape[:1]
    g.one(text, operands, shape, dtype, bound, soft=False, wild=False)
