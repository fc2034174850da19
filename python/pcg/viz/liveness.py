"""Peak memory of a per-device program, from what is alive when.  Needs no jax."""

from __future__ import annotations

import math
from collections.abc import Collection

from torch_mlir import ir

from pcg.frontend.program import element_bytes

#: Ops whose results XLA never stores: they are computed where they are read, or are views.
_UNSTORED = frozenset(
    "stablehlo." + n
    for n in ("constant", "iota", "broadcast_in_dim", "reshape", "optimization_barrier", "get_tuple_element", "tuple")
)


def peak_bytes(function: ir.Operation, donated: Collection[int] = ()) -> float:
    """Most bytes alive at once in `function`.

    Arguments live to the end, donated ones to their last use.  Fusion is not modelled: every result
    that XLA might store counts from its definition to its last use.
    """
    block = function.regions[0].blocks[0]
    arguments = list(block.arguments)
    kept = sum(size(a) for i, a in enumerate(arguments) if i not in donated)
    return kept + _block_peak(block, [arguments[i] for i in donated])


def _block_peak(block: ir.Block, owned: Collection[ir.Value]) -> float:
    """Peak of what the ops of `block` define, and of `owned` values until their last use."""
    ops = [op.operation for op in block.operations]
    last: dict[ir.Value, int] = {}
    for i, op in enumerate(ops):
        for value in _reads(op):
            last[value] = i
    alive = {v: size(v) for v in owned}
    now = most = sum(alive.values())
    dying: dict[int, list[ir.Value]] = {}
    for v in alive:
        dying.setdefault(last.get(v, 0), []).append(v)
    for i, op in enumerate(ops):
        for result in op.results if op.name not in _UNSTORED else ():
            alive[result] = size(result)
            now += alive[result]
            dying.setdefault(last.get(result, i), []).append(result)
        inside = max((_block_peak(b, ()) for r in op.regions for b in r.blocks), default=0.0)
        most = max(most, now + inside)
        now -= sum(alive[v] for v in dying.pop(i, ()))
    return most


def _reads(op: ir.Operation) -> list[ir.Value]:
    """Values that `op` reads, also from inside its regions and through views."""
    found: list[ir.Value] = []
    work = list(op.operands)
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                work += _reads(inner.operation)
    while work:
        value = work.pop()
        found.append(value)
        if not isinstance(value, ir.BlockArgument):
            maker = value.owner.operation
            if maker.name in ("stablehlo.reshape", "stablehlo.broadcast_in_dim", "stablehlo.optimization_barrier"):
                work += list(maker.operands)
    return found


def size(value: ir.Value) -> float:
    """Bytes of a tensor; 0 for tokens."""
    t = value.type
    return math.prod(t.shape) * element_bytes(str(t.element_type)) if isinstance(t, ir.RankedTensorType) else 0.0
