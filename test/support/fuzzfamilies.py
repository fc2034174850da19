"""The op families of random programs: elementwise, contractions, reductions, shapes, windows."""

from __future__ import annotations

import math
from collections.abc import Callable

from support.fuzzops import (
    HALF,
    LARGEST,
    LIMIT,
    NARROW,
    Grower,
    Skip,
    array,
    comparator,
    compare_type,
    pairs,
    reducer,
)  # fmt: skip
from support.fuzzprogram import Type

Family = Callable[[Grower], None]
FAMILIES: list[tuple[Family, int]] = []


def family(weight: int) -> Callable[[Family], Family]:
    """Register a family; programs have ops of it in proportion to `weight`."""

    def register(function: Family) -> Family:
        FAMILIES.append((function, weight))
        return function

    return register


# -- elementwise ---------------------------------------------------------------------------------


@family(6)
def unary(g: Grower) -> None:
    v = g.pick(empty=True, wild=True)
    element = v.type.element
    if element == "i1":
        g.one("not", [v], v.type, 1)
    elif element in ("i32", "i64", *NARROW):
        names = ("not", "popcnt", "count_leading_zeros", *(("negate", "abs", "sign") * (element[0] != "u")))
        name = g.rng.choice(names)
        bound = {"sign": 1, "not": v.bound + 1, "popcnt": 32, "count_leading_zeros": 32}.get(name, v.bound)
        g.one(name, [v], v.type, bound)
    else:
        name = g.rng.choice(("negate", "abs", "sign", "floor", "ceil", "round_nearest_even", "round_nearest_afz"))
        g.one(name, [v], v.type, 1 if name == "sign" else v.bound)


@family(3)
def transcendental(g: Grower) -> None:
    """A function that is not exact, rounded to integers far from where rounding could differ."""
    v = g.pick(lambda v: v.type.element in ("f32", "f64"))
    name = g.rng.choice(("tanh", "logistic", "sine", "cosine", "exponential", "sqrt", "cbrt", "log_plus_one", "rsqrt"))
    if name in ("sqrt", "log_plus_one", "rsqrt"):
        v = g.one("abs", [v], v.type, v.bound)
    if name == "rsqrt":
        v = g.one("add", [v, g.constant(v.type, 1)], v.type, v.bound + 1)
    if name == "exponential":
        v = g.fit(v, 3)
    bound = {"sqrt": math.isqrt(int(v.bound)) + 1, "cbrt": v.bound, "exponential": 21, "log_plus_one": 20}.get(name, 1)
    x = g.hidden(name, [v], v.type)
    x = g.hidden("multiply", [x, g.constant(v.type, 4)], v.type)
    g.one("round_nearest_even", [x], v.type, 4 * bound + 1)


@family(14)
def binary(g: Grower) -> None:
    v = g.pick(empty=True, wild=True)
    element = v.type.element
    if element == "i1":
        g.one(g.rng.choice(("and", "or", "xor", "add", "multiply", "maximum", "minimum")), [v, g.like(v.type)], v.type, 1)
        return
    names = ["add", "subtract", "multiply", "maximum", "minimum", "add", "multiply", "remainder", "divide"]
    whole = element in ("i32", "i64", *NARROW)
    if whole:
        names += ["and", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical"]
    name = "maximum" if element in HALF else g.rng.choice(names)
    if name == "shift_right_logical" and element in ("i32", "i64"):
        name = "shift_right_arithmetic"  # whose results stay small
    if name == "divide":
        if whole:
            g.one(name, [v, g.constant(v.type, g.rng.choice((2, 3, -2)))], v.type, v.bound)
            return
        if v.wild:
            raise Skip
        v = g.fit(v, LIMIT / 64)
        x = g.hidden(name, [v, g.constant(v.type, 4)], v.type)
        g.one("multiply", [x, g.constant(v.type, 8)], v.type, 2 * v.bound)
        return
    if name == "remainder":
        g.one(name, [v, g.constant(v.type, g.rng.choice((3, 5, 7)))], v.type, min(v.bound, 7))
        return
    if name.startswith("shift"):
        v = g.fit(v, LIMIT / 8)
        g.one(name, [v, g.constant(v.type, g.rng.randrange(3))], v.type, 4 * v.bound + 1)
        return
    w = g.like(v.type)
    if name == "multiply":
        v = g.fit(v, 1000)
        w = g.fit(w, LIMIT / 1000)
        bound = v.bound * w.bound
    elif name in ("and", "or", "xor"):
        bound = 2 ** (1 + int(max(v.bound, w.bound)).bit_length())
    else:
        v, w = g.fit(v, LIMIT / 2), g.fit(w, LIMIT / 2)
        bound = max(v.bound, w.bound) if name in ("maximum", "minimum") else v.bound + w.bound
    g.one(name, [v, w] if g.flip() else [w, v], v.type, bound)


@family(4)
def compare_select(g: Grower) -> None:
    v = g.pick(empty=True, wild=True)
    w = g.like(v.type)
    e = v.type.element
    kind = compare_type(e)
    direction = g.rng.choice(("EQ", "NE", "LT", "LE", "GT", "GE"))
    p = g.one(
        "compare", [v, w], Type(v.type.shape, "i1"), 1,
        f"comparison_direction = #stablehlo<comparison_direction {direction}>, "
        f"compare_type = #stablehlo<comparison_type {kind}>",
    )  # fmt: skip
    if g.flip(0.7):
        same = [w for w in g.values if w.type.shape == v.type.shape and w.wild]
        a = g.rng.choice(same) if same and g.flip(0.3) else g.like(Type(v.type.shape, g.element()))
        b = g.constant(a.type, 0) if g.flip(0.4) else g.like(a.type)
        a, b = (a, b) if g.flip() else (b, a)
        scalar = [q for q in g.values if q.type == Type((), "i1")]
        p = g.rng.choice(scalar) if scalar and g.flip(0.2) else p
        g.one("select", [p, a, b], a.type, max(a.bound, b.bound))


@family(1)
def clamp(g: Grower) -> None:
    v = g.number(wild=True)
    low = g.like(v.type if g.flip() else Type((), v.type.element), 4)
    high = g.like(low.type, 4)
    g.one("clamp", [low, v, high], v.type, max(low.bound, high.bound, v.bound))


@family(2)
def convert(g: Grower) -> None:
    v = g.pick(empty=True)
    to = g.element() if g.types and g.flip() else g.rng.choice(("f32", "f32", "i32", "f64", "i1", "i64"))
    bound = v.bound
    if v.type.element in NARROW:
        if to not in NARROW and v.type.element not in ("i8", "ui8", "i16"):
            v = g.one("remainder", [v, g.constant(v.type, 97)], v.type, 97)
        bound = min(v.bound, 97) if v.type.element not in ("i8", "ui8", "i16") else 1 << 15
    if to[0] == "u" and v.type.element[0] in "fb":
        v = g.one("abs", [v], v.type, v.bound)  # what a negative float becomes is not defined
    small = {"i8": 100, "ui8": 100, "i16": 30000, "ui16": 30000, "f16": 1024, "bf16": 128}.get(to, LIMIT)
    if to in HALF and v.type.element in NARROW:
        raise Skip
    v = g.fit(v, small)
    g.one("convert", [v], Type(v.type.shape, to), min(bound, v.bound) if v.type.element not in NARROW else bound)


# -- contractions and reductions -----------------------------------------------------------------


@family(10)
def dot_general(g: Grower) -> None:
    a = g.number(1, empty=True, wild=True)
    dims = list(range(len(a.type.shape)))
    g.rng.shuffle(dims)
    nbatch = min(g.rng.choices((0, 1, 2), (6, 3, 1))[0], len(dims) - 1)
    ncontract = min(g.rng.choices((1, 2, 0), (10, 2, 1))[0], len(dims) - nbatch)
    batch, contract = dims[:nbatch], dims[nbatch : nbatch + ncontract]
    free = [d for d in range(len(dims)) if d not in batch and d not in contract]
    kept = [a.type.shape[d] for d in batch] + [a.type.shape[d] for d in free]
    k = math.prod(a.type.shape[d] for d in contract)
    if not k:
        raise Skip  # the reference interpreter aborts on it
    labels = [("b", d) for d in batch] + [("c", d) for d in contract]
    room = LARGEST // max(1, math.prod(kept))
    if len(kept) < 4 and g.flip(0.85):
        labels.append(("n", g.rng.choice([s for s in (1, 2, 3, 4, 6, 8, 12, 16) if s <= room] or [1])))
    g.rng.shuffle(labels)
    shape = tuple(x if kind == "n" else a.type.shape[x] for kind, x in labels)
    if Type(shape).size > 2 * LARGEST:
        raise Skip
    a = g.fit(a, 30)
    b = g.like(Type(shape, a.type.element), max(1, LIMIT / max(1, 30 * k)))
    out = kept + [x for kind, x in labels if kind == "n"]
    where = {key: i for i, key in enumerate(labels)}
    attribute = (
        "dot_dimension_numbers = #stablehlo.dot<"
        f"lhs_batching_dimensions = {batch}, rhs_batching_dimensions = {[where['b', d] for d in batch]}, "
        f"lhs_contracting_dimensions = {contract}, rhs_contracting_dimensions = {[where['c', d] for d in contract]}>"
    )
    g.one("dot_general", [a, b], a.type.with_shape(out), max(1, k) * a.bound * b.bound, attribute)


@family(8)
def reduce(g: Grower) -> None:
    v = g.pick(lambda v: len(v.type.shape) >= 1 and v.type.element not in HALF, empty=True, wild=True)
    e, shape = v.type.element, v.type.shape
    dims = sorted(g.rng.sample(range(len(shape)), g.rng.randint(1, len(shape))))
    out = v.type.with_shape([s for d, s in enumerate(shape) if d not in dims])
    n = math.prod(shape[d] for d in dims)
    kinds = ["and", "or", "add", "maximum"] if e == "i1" else ["add", "add", "maximum", "minimum", "multiply"]
    kinds += ["and", "or", "xor"] * (e in ("i32", "i64", *NARROW))
    kind = g.rng.choice(kinds)
    neutral = {"add": 0, "maximum": -9, "minimum": 9, "multiply": 1, "and": -1, "or": 0, "xor": 0}[kind]
    if e[0] == "u":
        neutral = abs(neutral)
    if e == "i1":
        neutral = {"and": 1}.get(kind, 0)
    elif kind == "multiply":
        v = g.fit(v, 1)
    elif kind == "add":
        v = g.fit(v, LIMIT / max(1, n) / 2)
    start = neutral if g.flip(0.7) else g.rng.randrange(2) if e == "i1" else g.rng.choice((0, 1, 3, -2))
    bound = {"add": n * v.bound + 3, "multiply": 3}.get(kind, max(v.bound, 9))
    if kind in ("and", "or", "xor"):
        bound = 2 ** (1 + int(max(v.bound, 9)).bit_length())
    scalar = Type((), e)
    init = g.constant(scalar, start)
    if e != "i1" and g.flip(0.15):  # two operands at once
        w = g.like(v.type, v.bound)
        attributes = f"dimensions = {array(dims)}"
        init2 = g.constant(scalar, start)
        g.emit("reduce", [v, w, init, init2], [(out, bound), (out, bound)], attributes, [reducer(kind, e, e)])
        return
    g.one("reduce", [v, init], out, bound, f"dimensions = {array(dims)}", [reducer(kind, e)])


@family(2)
def argmax(g: Grower) -> None:
    """A reducer that combines its operands: the largest element and its index."""
    v = g.number(1, narrow=False)
    e, shape = v.type.element, v.type.shape
    d = g.rng.randrange(len(shape))
    index = Type(shape, "i32")
    iota = g.hidden("iota", [], index, f"iota_dimension = {d} : i64")
    te, ti = f"tensor<{e}>", "tensor<i32>"
    kind = "FLOAT" if e.startswith("f") else "SIGNED"
    region = (
        f"{{^bb0(%ra0: {te}, %ra1: {ti}, %rb0: {te}, %rb1: {ti}):\n"
        f'%rg = "stablehlo.compare"(%ra0, %rb0) {{comparison_direction = #stablehlo<comparison_direction GT>, '
        f"compare_type = #stablehlo<comparison_type {kind}>}} : ({te}, {te}) -> tensor<i1>\n"
        f'%re = "stablehlo.compare"(%ra0, %rb0) {{comparison_direction = #stablehlo<comparison_direction EQ>, '
        f"compare_type = #stablehlo<comparison_type {kind}>}} : ({te}, {te}) -> tensor<i1>\n"
        f'%rl = "stablehlo.compare"(%ra1, %rb1) {{comparison_direction = #stablehlo<comparison_direction LT>, '
        f"compare_type = #stablehlo<comparison_type SIGNED>}} : ({ti}, {ti}) -> tensor<i1>\n"
        '%rt = "stablehlo.and"(%re, %rl) : (tensor<i1>, tensor<i1>) -> tensor<i1>\n'
        '%rp = "stablehlo.or"(%rg, %rt) : (tensor<i1>, tensor<i1>) -> tensor<i1>\n'
        f'%rv = "stablehlo.select"(%rp, %ra0, %rb0) : (tensor<i1>, {te}, {te}) -> {te}\n'
        f'%ri = "stablehlo.select"(%rp, %ra1, %rb1) : (tensor<i1>, {ti}, {ti}) -> {ti}\n'
        f'"stablehlo.return"(%rv, %ri) : ({te}, {ti}) -> ()}}'
    )
    out = tuple(s for i, s in enumerate(shape) if i != d)
    inits = [g.constant(Type((), e), -int(LIMIT)), g.constant(Type((), "i32"), 99)]
    results = [(Type(out, e), v.bound), (Type(out, "i32"), max(shape[d], 1))]
    g.emit("reduce", [v, iota, *inits], results, f"dimensions = {array([d])}", [region])


@family(4)
def normalise(g: Grower) -> None:
    """`x - broadcast(reduce(x))`, the pattern of softmax and of layer norms."""
    v = g.number(1, wild=True, narrow=False)
    e, shape = v.type.element, v.type.shape
    d = g.rng.randrange(len(shape))
    kind = g.rng.choice(("add", "maximum"))
    v = g.fit(v, LIMIT / 64)
    bound = shape[d] * v.bound if kind == "add" else max(v.bound, 999)
    out = v.type.with_shape([s for i, s in enumerate(shape) if i != d])
    init = g.constant(Type((), e), 0 if kind == "add" else -999)
    r = g.one("reduce", [v, init], out, bound, f"dimensions = {array([d])}", [reducer(kind, e)])
    where = [i for i in range(len(shape)) if i != d]
    b = g.one("broadcast_in_dim", [r], v.type, bound, f"broadcast_dimensions = {array(where)}")
    g.one("subtract", [v, b], v.type, v.bound + bound)


# -- shapes --------------------------------------------------------------------------------------


@family(6)
def reshape(g: Grower) -> None:
    v = g.pick(wild=True)
    n = v.type.size
    shape: list[int] = []
    while n > 1 and len(shape) < 3 and g.flip(0.8):
        divisors = [d for d in range(1, n + 1) if n % d == 0]
        shape.append(g.rng.choice(divisors))
        n //= shape[-1]
    shape.append(n)
    if len(shape) == 1 and n == 1 and g.flip():
        shape = []
    if g.flip(0.4):  # merge or split neighbours of the old shape instead
        old = list(v.type.shape)
        if len(old) >= 2 and g.flip():
            d = g.rng.randrange(len(old) - 1)
            shape = [*old[:d], old[d] * old[d + 1], *old[d + 2 :]]
        elif old and len(old) < 4:
            d = g.rng.randrange(len(old))
            a = g.rng.choice([x for x in range(1, old[d] + 1) if old[d] % x == 0])
            shape = [*old[:d], a, old[d] // a, *old[d + 1 :]]
    g.one("reshape", [v], v.type.with_shape(shape), v.bound)


@family(5)
def transpose(g: Grower) -> None:
    v = g.pick(lambda v: len(v.type.shape) >= 2, empty=True, wild=True)
    p = list(range(len(v.type.shape)))
    g.rng.shuffle(p)
    g.one("transpose", [v], v.type.with_shape([v.type.shape[d] for d in p]), v.bound, f"permutation = {array(p)}")


@family(5)
def broadcast(g: Grower) -> None:
    v = g.pick(lambda v: len(v.type.shape) < 4 and v.type.size <= LARGEST // 4, wild=True)
    shape = list(v.type.shape)
    where = list(range(len(shape)))
    for _ in range(g.rng.randint(0 if 1 in shape else 1, 4 - len(shape))):
        at = g.rng.randint(0, len(shape))
        shape.insert(at, g.rng.choice((2, 3, 4, 8)))
        where = [w + (w >= at) for w in where]
    if len(where) > 1 and g.flip(0.2):
        i, j = g.rng.sample(range(len(where)), 2)
        where[i], where[j] = where[j], where[i]
        shape[where[i]], shape[where[j]] = shape[where[j]], shape[where[i]]
    for w in where:
        if shape[w] == 1 and g.flip():
            shape[w] = g.rng.choice((2, 4, 6))
    out = v.type.with_shape(shape)
    if out.size > LARGEST:
        raise Skip
    g.one("broadcast_in_dim", [v], out, v.bound, f"broadcast_dimensions = {array(where)}")


@family(4)
def concatenate(g: Grower) -> None:
    v = g.pick(lambda v: len(v.type.shape) >= 1 and v.type.size <= LARGEST // 2, empty=True, wild=True)
    d = g.rng.randrange(len(v.type.shape))
    values = [v]
    for _ in range(g.rng.randint(1, 2)):
        shape = list(v.type.shape)
        shape[d] = g.rng.choice((shape[d], 1, 2, 4, 8))
        w = v if g.flip(0.2) else g.like(v.type.with_shape(shape))
        w = g.constant(w.type, 0) if g.flip(0.15) else w
        values.insert(g.rng.randrange(len(values) + 1), w)
    shape = list(v.type.shape)
    shape[d] = sum(x.type.shape[d] for x in values)
    out = v.type.with_shape(shape)
    if out.size > LARGEST:
        raise Skip
    g.one("concatenate", values, out, max(x.bound for x in values), f"dimension = {d} : i64")


@family(4)
def slice_(g: Grower) -> None:
    v = g.pick(lambda v: len(v.type.shape) >= 1, empty=True, wild=True)
    start, limit, strides = [], [], []
    for s in v.type.shape:
        a = g.rng.randrange(s) if s and g.flip(0.4) else 0
        b = g.rng.randint(a + (a < s and not g.empty), s) if g.flip(0.4) else s
        start.append(a)
        limit.append(b)
        strides.append(g.rng.choice((1, 1, 1, 2, 3)))
    out = v.type.with_shape([-((a - b) // k) for a, b, k in zip(start, limit, strides, strict=True)])
    attributes = f"start_indices = {array(start)}, limit_indices = {array(limit)}, strides = {array(strides)}"
    g.one("slice", [v], out, v.bound, attributes)


@family(3)
def pad(g: Grower) -> None:
    v = g.pick(lambda v: 1 <= len(v.type.shape) and v.type.size <= LARGEST // 2, wild=True)
    low, high, inner, shape = [], [], [], []
    for s in v.type.shape:
        a, b, i = (g.rng.choice((0, 0, 0, 1, 2, -1)), g.rng.choice((0, 0, 0, 1, 3, -1)), g.rng.choice((0, 0, 0, 1)))
        if s + max(s - 1, 0) * i + a + b < (0 if g.empty else 1) or (not s and not g.empty):
            a = b = i = 0
        low.append(a)
        high.append(b)
        inner.append(i)
        shape.append(s + max(s - 1, 0) * i + a + b)
    out = v.type.with_shape(shape)
    if out.size > LARGEST:
        raise Skip
    value = g.constant(Type((), v.type.element), 0 if g.flip(0.6) else 1)
    attributes = f"edge_padding_low = {array(low)}, edge_padding_high = {array(high)}, interior_padding = {array(inner)}"
    g.one("pad", [v, value], out, max(v.bound, 1), attributes)


@family(2)
def reverse(g: Grower) -> None:
    v = g.pick(lambda v: len(v.type.shape) >= 1, wild=True)
    dims = sorted(g.rng.sample(range(len(v.type.shape)), g.rng.randint(1, len(v.type.shape))))
    g.one("reverse", [v], v.type, v.bound, f"dimensions = {array(dims)}")


@family(2)
def iota(g: Grower) -> None:
    shape = g.shape(g.rng.randint(1, 3))
    d = g.rng.randrange(len(shape))
    g.one("iota", [], Type(shape, g.rng.choice(("f32", "i32"))), shape[d], f"iota_dimension = {d} : i64")


@family(1)
def barrier(g: Grower) -> None:
    values = [g.pick() for _ in range(g.rng.randint(1, 3))]
    g.emit("optimization_barrier", values, [(v.type, v.bound) for v in values])


# -- windows -------------------------------------------------------------------------------------


@family(3)
def reduce_window(g: Grower) -> None:
    """Pooling and cumulative sums."""
    v = g.number(1, wild=True)
    rank, e = len(v.type.shape), v.type.element
    window, strides, base, dilation, padding = [1] * rank, [1] * rank, [1] * rank, [1] * rank, [(0, 0)] * rank
    shape = list(v.type.shape)
    cumulative = g.flip(0.4)
    for d in [g.rng.randrange(rank)] if cumulative else g.rng.sample(range(rank), min(rank, g.rng.randint(1, 2))):
        if cumulative:
            window[d] = shape[d]
            padding[d] = (shape[d] - 1, 0) if g.flip() else (0, shape[d] - 1)
            continue
        window[d], strides[d], dilation[d] = g.rng.randint(1, 3), g.rng.choice((1, 1, 2)), g.rng.choice((1, 1, 2))
        base[d] = g.rng.choice((1, 1, 1, 2))
        strides[d] = g.rng.choice((strides[d], strides[d], 3))
        padding[d] = (g.rng.choice((0, 0, 1)), g.rng.choice((0, 0, 1, 2)))
        n = (shape[d] - 1) * base[d] + 1 + sum(padding[d]) - ((window[d] - 1) * dilation[d] + 1)
        if n < 0:
            raise Skip
        shape[d] = n // strides[d] + 1
    if Type(tuple(shape)).size > LARGEST:
        raise Skip
    kind = g.rng.choice(("add", "add", "maximum", "minimum", "multiply"))
    n = math.prod(window)
    v = g.fit(v, LIMIT / max(1, n) / 2) if kind == "add" else g.fit(v, 1) if kind == "multiply" else v
    neutral = {"add": 0, "maximum": -5, "minimum": 5, "multiply": 1}[kind]
    start = neutral if cumulative or kind == "multiply" or g.flip(0.6) else g.rng.choice((0, 3, -2))
    init = g.constant(Type((), e), start)
    attributes = (
        f"window_dimensions = {array(window)}, window_strides = {array(strides)}, base_dilations = {array(base)}, "
        f"window_dilations = {array(dilation)}, padding = {pairs(padding)}"
    )
    bound = n * v.bound + 3 if kind == "add" else max(v.bound, 5)
    g.one("reduce_window", [v, init], v.type.with_shape(shape), bound, attributes, [reducer(kind, e)])


@family(1)
def select_and_scatter(g: Grower) -> None:
    v = g.number(1, narrow=False)
    rank, e = len(v.type.shape), v.type.element
    window, strides, shape = [1] * rank, [1] * rank, list(v.type.shape)
    d = g.rng.randrange(rank)
    window[d], strides[d] = g.rng.randint(1, 3), g.rng.randint(1, 2)
    if shape[d] < window[d]:
        raise Skip
    shape[d] = (shape[d] - window[d]) // strides[d] + 1
    source = g.like(v.type.with_shape(shape), LIMIT / 4)
    init = g.constant(Type((), e), 2 if g.exotic and g.flip(0.4) else 0)  # interpreted, another start counts twice
    attributes = (
        f"window_dimensions = {array(window)}, window_strides = {array(strides)}, padding = {pairs([(0, 0)] * rank)}"
    )
    regions = [comparator("GE", e), reducer("add", e)]
    g.one("select_and_scatter", [v, source, init], v.type, 3 * source.bound + 2, attributes, regions)


@family(3)
def convolution(g: Grower) -> None:
    """One or two spatial dimensions, groups of features or batches, strides, padding, dilation."""
    spatial = g.rng.choice((1, 1, 2))
    groups, batch_groups = g.rng.choice(((1, 1), (1, 1), (2, 1), (4, 1), (1, 2)))
    b, c = g.rng.choice((1, 2, 4)) * batch_groups, g.rng.choice((1, 2)) * groups
    o = g.rng.choice((1, 2, 4)) * groups * batch_groups
    sizes = [g.rng.choice((1, 4, 6, 8) if spatial == 1 else (2, 4, 5)) for _ in range(spatial)]
    kernel = [g.rng.choice((1, 1, 2, 3)) for _ in range(spatial)]
    strides = [g.rng.choice((1, 1, 2)) for _ in range(spatial)]
    padding = [(g.rng.choice((0, 0, 1)), g.rng.choice((0, 0, 1))) for _ in range(spatial)]
    left = [g.rng.choice((1, 1, 1, 2)) for _ in range(spatial)]
    right = [g.rng.choice((1, 1, 1, 2)) for _ in range(spatial)]
    out = []
    for s, k, t, p, l, r in zip(sizes, kernel, strides, padding, left, right, strict=True):
        n = (s - 1) * l + 1 + sum(p) - ((k - 1) * r + 1)
        if n < 0:
            raise Skip
        out.append(n // t + 1)

    # The one layout that the reference interpreter knows.
    dims = [str(i) for i in range(spatial)]
    x_text, k_text = (f"[{', '.join(n)}]" for n in (["b", *dims, "f"], [*dims, "i", "o"]))
    x_shape, k_shape = (b, *sizes, c), (*kernel, c // groups, o)
    o_text, o_shape = x_text, (b // batch_groups, *out, o)
    if max(Type(x_shape).size, Type(o_shape).size) > LARGEST:
        raise Skip
    element = g.rng.choice(("f32", "f32", "i32"))
    x, k = g.like(Type(x_shape, element), 100), g.like(Type(k_shape, element), 30)
    n = math.prod(kernel) * c // groups
    attributes = (
        f"dimension_numbers = #stablehlo.conv<{x_text}x{k_text}->{o_text}>, window_strides = {array(strides)}, "
        f"padding = {pairs(padding)}, lhs_dilation = {array(left)}, rhs_dilation = {array(right)}, "
        f"window_reversal = array<i1: {', '.join(['false'] * spatial)}>, "
        f"feature_group_count = {groups} : i64, batch_group_count = {batch_groups} : i64"
    )
    g.one("convolution", [x, k], Type(o_shape, element), n * batch_groups * x.bound * k.bound, attributes)

