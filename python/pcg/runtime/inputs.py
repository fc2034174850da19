"""Seeded random inputs of a sensible range for any program.  Needs no jax.

What an argument is used for decides its range: indices stay inside what they index, what a root or
logarithm is taken of is positive, matrices keep activations near one, and integers are small.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from torch_mlir import ir

from pcg.driver.program import Leaf
from pcg.ir.walk import entry
from pcg.rules import traits
from pcg.rules.traits import Trait

#: Ops through which an element of a tensor goes unmixed with others of the same tensor.
_ELEMENTWISE = frozenset(
    "stablehlo." + n
    for n in (
        "add", "subtract", "multiply", "divide", "maximum", "minimum", "select", "clamp", "convert", "reshape",
        "broadcast_in_dim", "transpose", "slice", "concatenate", "optimization_barrier", "reverse", "pad",
    )
)  # fmt: skip
_POSITIVE = frozenset(("stablehlo.sqrt", "stablehlo.rsqrt", "stablehlo.log", "stablehlo.cbrt"))
#: Upper bound (exclusive) of integers that are no index.  A choice.
SMALL = 10


@dataclass
class Use:
    """What was found about one argument: it is below `bound` (an index), or must be positive."""

    bound: int | None = None
    positive: bool = False


def random_inputs(module: ir.Module, arguments: Sequence[Leaf], seed: int) -> list[np.ndarray]:
    """One array per argument of the entry function of `module`, the same for the same seed."""
    function = entry(module)
    assert function is not None
    return random_values(function.regions[0].blocks[0].arguments, arguments, seed)


def random_values(values: Iterable[ir.Value], leaves: Sequence[Leaf], seed: int) -> list[np.ndarray]:
    """One array for each of `values`, which are arguments of a program, the same for the same seed."""
    rng = np.random.default_rng(seed)
    return [_draw(rng, leaf, use_of(value)) for leaf, value in zip(leaves, values, strict=True)]


def use_of(value: ir.Value) -> Use:
    """Follow `value` through elementwise ops (and into loops) to what it is used for."""
    found, work = Use(), [value]
    seen: set[ir.Value] = set()
    integer = isinstance(ir.RankedTensorType(value.type).element_type, ir.IntegerType)
    while work and len(seen) < 2000:
        v = work.pop()
        if v in seen:
            continue
        seen.add(v)
        for use in v.uses:
            op, i = use.owner.operation, use.operand_number
            if op.name in _POSITIVE:
                found.positive = True
            elif integer and (limit := _index_bound(op, i)) is not None:
                found.bound = limit if found.bound is None else min(found.bound, limit)
            elif op.name == "stablehlo.while":
                work += [op.results[i], *(r.blocks[0].arguments[i] for r in op.regions)]
            elif op.name in _ELEMENTWISE or op.name.startswith(("dist.", "pcg.")):
                work += list(op.results)
    return found


def _index_bound(op: ir.Operation, i: int) -> int | None:
    """Size of what operand `i` of `op` indexes, None if it is no index there."""
    name = op.name.removeprefix("stablehlo.")
    if name == "gather" and i == 1:
        return _indexed(op, "start_index_map", "dimension_numbers")
    if name == "scatter" and i == (len(op.operands) - 1) // 2:
        return _indexed(op, "scattered_dims_to_operand_dims", "scatter_dimension_numbers")
    if name == "dynamic_slice" and i >= 1:
        dim = i - 1
        sizes = list(ir.DenseI64ArrayAttr(op.attributes["slice_sizes"]))
        return ir.RankedTensorType(op.operands[0].type).shape[dim] - sizes[dim] + 1
    if name == "dynamic_update_slice" and i >= 2:
        size, part = (ir.RankedTensorType(op.operands[k].type).shape[i - 2] for k in (0, 1))
        return size - part + 1
    if name == "compare":
        return _iota_size(op.operands[1 - i])
    return None


def _indexed(op: ir.Operation, what: str, dimension_numbers: str) -> int | None:
    """Smallest indexed dimension of a gather or scatter."""
    text = str(op.attributes[dimension_numbers])
    if what not in text:
        return None
    inside = text.split(what)[1].split("[")[1].split("]")[0]
    shape = ir.RankedTensorType(op.operands[0].type).shape
    dims = [int(d) for d in inside.split(",") if d.strip()]
    return min((shape[d] for d in dims), default=None)


def _iota_size(value: ir.Value) -> int | None:
    """Length of the iota that `value` is, through layout ops: the classes of a one-hot comparison."""
    for _ in range(6):
        if isinstance(value, ir.BlockArgument):
            return None
        op = value.owner.operation
        if op.name == "stablehlo.iota":
            dim = ir.IntegerAttr(op.attributes["iota_dimension"]).value
            return ir.RankedTensorType(value.type).shape[dim]
        if not traits.has(op.name, Trait.SPREADS):
            return None
        value = op.operands[0]
    return None


def _draw(rng: np.random.Generator, leaf: Leaf, use: Use) -> np.ndarray:
    dtype, shape = np_dtype(leaf.dtype), leaf.shape
    if leaf.element == "i1":
        return rng.integers(0, 2, shape).astype(bool)
    if np.issubdtype(dtype, np.complexfloating):
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    if leaf.element.lstrip("u").startswith("i"):
        low, high = (1, SMALL) if use.bound is None else (0, max(1, use.bound))
        if leaf.element in ("i2", "ui2"):
            high = 2
        top = min(high, 7) if leaf.element in ("i4", "ui4") else high
        return rng.integers(low if low < high else 0, top, shape).astype(dtype)
    if use.positive or not shape:
        return rng.uniform(0.1, 1.0, shape).astype(dtype)
    scale = 1 / math.sqrt(max(1, shape[-2])) if len(shape) >= 2 else 0.5
    return (scale * rng.standard_normal(shape)).astype(dtype)


def np_dtype(name: str) -> np.dtype:
    """numpy dtype by name, also those that only ml_dtypes has."""
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
