"""The op families of random programs that take places from data: slices, gathers, scatters, sorts; and control flow."""

from __future__ import annotations

from collections.abc import Callable

from support.fuzzexotic import EXOTIC
from support.fuzzfamilies import FAMILIES, family
from support.fuzzops import HALF, LARGEST, LIMIT, Grower, Skip, array, comparator, reducer
from support.fuzzprogram import Region, Type, Value

_DEPTH = 2
_SCATTERS = ("add", "add", "maximum", "minimum", "multiply", "set", "unique")


def _index(g: Grower, element: str = "i32") -> Value:
    """A scalar index: constant, argument, or computed."""
    scalar = Type((), element)
    return g.constant(scalar, g.rng.randrange(-1, 6)) if g.flip(0.4) else g.like(scalar, 20)


@family(3)
def dynamic_slice(g: Grower) -> None:
    v = g.pick(lambda v: len(v.type.shape) >= 1, wild=True)
    sizes = [s if g.flip(0.6) or not s else g.rng.randint(1, s) for s in v.type.shape]
    starts = [_index(g) for _ in sizes]
    g.one("dynamic_slice", [v, *starts], v.type.with_shape(sizes), v.bound, f"slice_sizes = {array(sizes)}")


@family(3)
def dynamic_update_slice(g: Grower) -> None:
    v = g.pick(lambda v: len(v.type.shape) >= 1, wild=True)
    sizes = [s if g.flip(0.6) or not s else g.rng.randint(1, s) for s in v.type.shape]
    update = g.like(v.type.with_shape(sizes))
    starts = [_index(g) for _ in sizes]
    v = g.constant(v.type, 0) if g.flip(0.15) else v
    g.one("dynamic_update_slice", [v, update, *starts], v.type, max(v.bound, update.bound))


@family(4)
def embedding(g: Grower) -> None:
    """Whole slices of one dimension, picked by a tensor of indices (`take`)."""
    v = g.pick(lambda v: 1 <= len(v.type.shape) <= 3 and v.type.size, wild=True)
    d = g.rng.randrange(len(v.type.shape))
    rest = [s for i, s in enumerate(v.type.shape) if i != d]
    batch = list(g.shape(g.rng.randint(0, 2), 16))
    trailing = g.flip()
    indices = g.like(Type((*batch, 1) if trailing else tuple(batch), "i32"), 20)
    at = g.rng.randint(0, len(batch))  # where the slice dimensions go
    out = [*batch[:at], *rest, *batch[at:]]
    if len(out) > 4 or Type(tuple(out)).size > LARGEST:
        raise Skip
    sizes = [1 if i == d else s for i, s in enumerate(v.type.shape)]
    numbers = (
        f"#stablehlo.gather<offset_dims = {list(range(at, at + len(rest)))}, collapsed_slice_dims = [{d}], "
        f"start_index_map = [{d}], index_vector_dim = {len(batch)}>"
    )
    attributes = f"dimension_numbers = {numbers}, slice_sizes = {array(sizes)}, indices_are_sorted = false"
    g.one("gather", [v, indices], v.type.with_shape(out), v.bound, attributes)


@family(2)
def gather_windows(g: Grower) -> None:
    """Windows of several dimensions, with explicit batch dimensions or not (`take_along_axis`, crops)."""
    v = g.pick(lambda v: 2 <= len(v.type.shape) <= 3 and v.type.size, wild=True)
    shape = v.type.shape
    batching = g.flip(0.5)
    others = list(range(1 if batching else 0, len(shape)))
    picked = g.rng.sample(others, g.rng.randint(1, min(2, len(others))))
    collapsed = [d for d in picked if g.flip()]
    sizes = [s if d not in picked else 1 if d in collapsed else g.rng.randint(1, s) for d, s in enumerate(shape)]
    if batching:
        sizes[0] = 1
    kept = [sizes[d] for d in others if d not in collapsed]
    batch = [*([shape[0]] if batching else []), *g.shape(1, 8)]
    indices = g.like(Type((*batch, len(picked)), "i32"), 20)
    out = [*batch, *kept]
    if len(out) > 4 or Type(tuple(out)).size > LARGEST:
        raise Skip
    numbers = (
        f"#stablehlo.gather<offset_dims = {list(range(len(batch), len(out)))}, collapsed_slice_dims = "
        f"{sorted(collapsed)}, operand_batching_dims = {[0] if batching else []}, start_indices_batching_dims = "
        f"{[0] if batching else []}, start_index_map = {picked}, index_vector_dim = {len(batch)}>"
    )
    attributes = f"dimension_numbers = {numbers}, slice_sizes = {array(sizes)}, indices_are_sorted = false"
    g.one("gather", [v, indices], v.type.with_shape(out), v.bound, attributes)


@family(4)
def scatter(g: Grower) -> None:
    """Slices of one dimension, added to or put in the place of others (the gradient of `take`)."""
    v = g.pick(lambda v: 1 <= len(v.type.shape) <= 3 and v.type.size, wild=True)
    shape, e = v.type.shape, v.type.element
    d = g.rng.randrange(len(shape))
    batch = list(g.shape(g.rng.randint(0, 2), 12))
    rest = [s for i, s in enumerate(shape) if i != d]
    update_type = v.type.with_shape([*batch, *rest])
    if len(update_type.shape) > 4 or update_type.size > LARGEST:
        raise Skip
    n = Type(tuple(batch)).size
    kinds = ("or", "set") if e == "i1" else ("maximum", "set", "unique") if e in HALF else _SCATTERS
    kind = g.rng.choice(kinds)
    indices = g.like(Type((*batch, 1) if g.flip() else tuple(batch), "i32"), 20)
    unique = "false"
    if kind == "unique":
        if len(batch) != 1 or batch[0] > shape[d]:
            raise Skip
        indices = g.hidden("iota", [], Type(tuple(batch), "i32"), "iota_dimension = 0 : i64")
        kind, unique = "set", "true"
    update = g.like(update_type, LIMIT / (2 * max(n, 1)))
    v = g.constant(v.type, 0) if g.flip(0.4) else g.fit(v, LIMIT / 2)
    region = reducer(kind, e) if kind != "set" else (
        f'{{^bb0(%ra0: tensor<{e}>, %rb0: tensor<{e}>):\n"stablehlo.return"(%rb0) : (tensor<{e}>) -> ()}}'
    )  # fmt: skip
    numbers = (
        f"#stablehlo.scatter<update_window_dims = {list(range(len(batch), len(batch) + len(rest)))}, "
        f"inserted_window_dims = [{d}], scatter_dims_to_operand_dims = [{d}], index_vector_dim = {len(batch)}>"
    )
    attributes = f"scatter_dimension_numbers = {numbers}, indices_are_sorted = false, unique_indices = {unique}"
    bound = v.bound + n * update.bound if kind == "add" else max(v.bound, update.bound)
    if kind == "multiply":
        update = g.fit(update, 1)
    g.one("scatter", [v, indices, update], v.type, bound, attributes, [region])


@family(2)
def sort(g: Grower) -> None:
    keys = g.number(1)
    if keys.wild:
        raise Skip
    values = [keys]
    if g.flip():
        other = g.like(Type(keys.type.shape, g.rng.choice(("f32", "i32"))))
        values.append(other)
    d = g.rng.randrange(len(keys.type.shape))
    region = comparator(g.rng.choice(("LT", "GT")), *(v.type.element for v in values))
    attributes = f"dimension = {d} : i64, is_stable = true"
    g.emit("sort", values, [(v.type, v.bound) for v in values], attributes, [region])


# -- control flow --------------------------------------------------------------------------------


def _region(g: Grower, arguments: list[Value], finish: Callable[[], list[Value]], ops: int) -> Region:
    """A region that `ops` random ops are added to, which may capture what is visible."""
    outer_nodes, visible = g.nodes, {v.id for v in g.values}
    region = Region(arguments)
    g.nodes = region.nodes
    g.values += arguments
    g.depth += 1
    grow(g, ops)
    region.yields = finish()
    g.depth -= 1
    g.nodes = outer_nodes
    function = {v.id for v in g.program.arguments}
    g.values = [v for v in g.values if v.id in visible or v.id in function]
    return region


@family(3)
def while_(g: Grower) -> None:
    """A counted loop, of a fixed number of trips or one that depends on data."""
    if g.depth >= _DEPTH:
        raise Skip
    scalar = Type((), "i32")
    limit = g.constant(scalar, g.rng.randrange(4)) if g.flip(0.7) else g.like(scalar, 3)
    inits = [g.fit(g.pick(), 20) for _ in range(g.rng.randint(1, 3))]
    counter = g.constant(scalar, 0)
    operands = [counter, *inits]
    carried = [g.new(v.type, 1 if v.type.element == "i1" else 20) for v in operands]
    condition = Region(list(carried))
    outer, g.nodes = g.nodes, condition.nodes
    less = g.hidden(
        "compare", [carried[0], limit], Type((), "i1"),
        "comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type SIGNED>",
    )  # fmt: skip
    condition.yields = [less]
    g.nodes = outer
    inner = [g.new(v.type, v.bound) for v in carried]

    def finish() -> list[Value]:
        one = g.constant(scalar, 1)
        out = [g.one("add", [inner[0], one], scalar, 20)]
        for v in inner[1:]:
            same = [w for w in g.values if w.type == v.type and w.id != v.id]
            made = g.rng.choice(same[-4:]) if same and g.flip(0.8) else v
            if made is not v and v.type.element != "i1" and g.flip():
                made = g.one("add", [g.fit(made, LIMIT / 2), v], v.type, min(made.bound, LIMIT / 2) + v.bound)
            out.append(g.fit(made, 20))
        return out

    body = _region(g, inner, finish, g.rng.randint(1, 5))
    g.emit("while", operands, [(v.type, 20) for v in carried], "", [condition, body])


@family(2)
def case(g: Grower) -> None:
    if g.depth >= _DEPTH:
        raise Skip
    many = g.flip(0.6)
    index = _index(g) if many else g.like(Type((), "i1"))
    types = [g.pick().type for _ in range(g.rng.randint(1, 2))]
    regions = []
    for _ in range(g.rng.randint(1, 3) if many else 2):
        regions.append(_region(g, [], lambda: [g.like(t, 1000) for t in types], g.rng.randint(0, 3)))
    g.emit("case" if many else "if", [index], [(t, 1000) for t in types], "", regions)


def grow(g: Grower, ops: int) -> None:
    """Add about `ops` ops."""
    functions, weights = zip(*FAMILIES, strict=True)
    for _ in range(ops):
        for _ in range(20):
            if not g.values:
                g.argument(Type(g.shape()))
            try:
                chosen = g.rng.choice(EXOTIC) if g.exotic and g.flip(0.4) else g.rng.choices(functions, weights)[0]
                chosen(g)
                break
            except Skip:
                continue
