"""Rules of gather and scatter.

Dimensions of which a gather copies all, batch dimensions of the indices, and explicit batching
dimensions are plain factors.  The *row* dimension (the one the indices pick from, with slice size 1)
is a reduction factor of a gather: every device looks its own rows up and yields zero for the others,
so the results are partial sums.  (If no index picks from it, that is its first row.)  In a scatter the row
dimension is a factor of operand and result, and the batch dimensions of the updates are reduction
factors if the updates are accumulated.
"""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir import stablehlo as _stablehlo
from pcg.ir.identities import neutral_element
from pcg.ir.types import is_bool
from pcg.rules.build import PER_ELEMENT, Factors, linear, unfactored
from pcg.rules.factor import FactorRule, Linear
from pcg.rules.regions import is_neutral, reduction, returns_element
from pcg.rules.registry import rule, shape
from pcg.rules.traits import Trait
from pcg.rules.values import optional

_INDEX_VECTOR = "it holds the components of one index"
_WINDOW = "the indices pick windows out of it, and a window may cross shards"
_FIXED_WINDOW = "only its start is taken"
_OVERWRITES = "updates overwrite each other, so the order of their indices matters"


def gather_numbers(op: ir.Operation) -> _stablehlo.GatherDimensionNumbers:
    """Typed dimension numbers of a gather."""
    return _stablehlo.GatherDimensionNumbers(op.attributes["dimension_numbers"])


def scatter_numbers(op: ir.Operation) -> _stablehlo.ScatterDimensionNumbers:
    """Typed dimension numbers of a scatter."""
    return _stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])


@rule(
    "stablehlo.gather",
    traits=Trait.ANCHOR | Trait.HEAVY | Trait.EXPENSIVE | Trait.NONLOCAL | Trait.READS_WINDOW | Trait.SAME_ELEMENTS
    | Trait.KEEPS_INTEGERS,
    reads=(1,),
)  # fmt: skip
def gather(op: ir.Operation) -> FactorRule:
    operand, indices, result = shape(op.operands[0]), shape(op.operands[1]), shape(op.results[0])
    n = gather_numbers(op)
    sizes = list(op.attributes["slice_sizes"])
    offset, collapsed, batching = n.offset_dims, set(n.collapsed_slice_dims), n.operand_batching_dims
    index_batching, picked, vector = n.start_indices_batching_dims, set(n.start_index_map), n.index_vector_dim
    f = Factors()
    a, b, r = unfactored(operand, indices, result)
    batch = [d for d in range(len(indices)) if d != vector]
    result_batch = [d for d in range(len(result)) if d not in set(offset)]
    for d, of in zip(batch, result_batch, strict=True):
        b[d] = r[of] = f.new(indices[d])
        if d in index_batching:
            a[batching[index_batching.index(d)]] = b[d]
    if vector < len(indices):
        b[vector] = f.replicated(indices[vector], _INDEX_VECTOR)
    kind = "or" if is_bool(op.results[0].type) else "sum"
    offsets = iter(offset)
    for d, size in enumerate(operand):
        if d in batching:
            continue
        e = None if d in collapsed else next(offsets)
        if e is not None and sizes[d] == size:
            a[d] = r[e] = f.new(size)
        elif sizes[d] == 1:
            a[d] = f.new(size, kind, padding="any")  # lookups stay inside the shard
        else:
            a[d] = f.replicated(size, _WINDOW if d in picked else _FIXED_WINDOW)
            if e is not None:
                r[e] = f.replicated(sizes[d], _WINDOW)
    return f.rule([tuple(a), tuple(b)], [tuple(r)], [linear(kind, 0)], PER_ELEMENT)


def update_kind(op: ir.Operation) -> str | None:
    """The reduction by which a scatter accumulates its updates, None if it does something else."""
    return reduction(op.regions[0], len(op.results))


def adds_on(op: ir.Operation, kind: str) -> bool:
    """Whether every operand of a scatter is the neutral element of `kind`, so that updates may be distributed."""
    return all(is_neutral(op.operands[i], kind) for i in range(len(op.results)))


@rule(
    "stablehlo.scatter", traits=Trait.ANCHOR | Trait.UNFUSABLE | Trait.UPDATE | Trait.SCALAR_BODY, reads=(1, 2)
)
def scatter(op: ir.Operation) -> FactorRule:
    count = len(op.results)
    operand, indices, update = (shape(op.operands[i]) for i in (0, count, count + 1))
    n = scatter_numbers(op)
    windows, inserted, batching = n.update_window_dims, set(n.inserted_window_dims), n.input_batching_dims
    index_batching, picked = n.scatter_indices_batching_dims, set(n.scattered_dims_to_operand_dims)
    vector = n.index_vector_dim
    kind = update_kind(op)
    spread = kind is not None and all(neutral_element(r.type.element_type, kind) is not None for r in op.results)
    neutral = kind is not None and adds_on(op, kind)
    f = Factors()
    a, b, r = unfactored(operand, indices, update)
    batch = [d for d in range(len(indices)) if d != vector]
    update_batch = [d for d in range(len(update)) if d not in set(windows)]
    for d, of in zip(batch, update_batch, strict=True):
        if d in index_batching:
            a[batching[index_batching.index(d)]] = b[d] = r[of] = f.new(indices[d])
        elif spread or neutral:
            b[d] = r[of] = f.new(indices[d], kind)
        else:
            b[d] = r[of] = f.replicated(indices[d], _OVERWRITES)
    if vector < len(indices):
        b[vector] = f.replicated(indices[vector], _INDEX_VECTOR)
    window = iter(windows)
    for d, size in enumerate(operand):
        if d in batching:
            continue
        u: int | None = None if d in inserted else next(window)
        width = 1 if u is None else update[u]
        if u is not None and width == size:
            a[d] = r[u] = f.new(size)
        elif d in picked and width == 1:
            a[d] = f.new(size)
        else:
            a[d] = f.replicated(size, _WINDOW if d in picked else _FIXED_WINDOW)
            if u is not None:
                r[u] = f.replicated(width, _WINDOW)
    inputs, updates = frozenset(range(count)), frozenset(range(count + 1, 2 * count + 1))
    passes: list[Linear] = []
    if kind is not None:
        passes = [Linear(kind, updates if neutral else inputs | updates)]
    elif returns_element(op.regions[0], count) and optional(op, "unique_indices", False):
        passes = [Linear("sum", inputs | updates)]
    operands = [*[tuple(a)] * count, tuple(b), *[tuple(r)] * count]
    return f.rule(operands, [tuple(a)] * count, passes, PER_ELEMENT)
