"""Stages of a program by its weights: which group of devices has which weights, and so the ops that use them."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir.types import tensor_bytes
from pcg.ir.walk import entry_of
from pcg.search.roles import data_of, state_of

#: How far a boundary between stages may be from where its share of the weights ends, as a share of all weights, to go
#: where fewer bytes of activations cross.  A choice: a fifth is two layers of ten.
_TOLERANCE = 0.2


def stages_by_weights(module: ir.Operation, order: Sequence[str], parts: Sequence[float]) -> dict[int, str]:
    """Weights (arguments that are neither data nor scalars) -> the stage of each, in order of their first use.

    Stage k has a part of the bytes in proportion to `parts[k]`, as nearly as a boundary that few bytes cross allows.
    """
    func = entry_of(module)
    block = func.regions[0].blocks[0]
    uses = first_uses(func)
    weights = [i for i in sorted(uses, key=lambda i: (uses[i][0], i)) if block.arguments[i].type.rank]
    sizes = [tensor_bytes(block.arguments[i].type) for i in weights]
    before = [sum(sizes[:n]) for n in range(len(sizes))]
    total, low = float(sum(sizes)), 1
    boundaries: list[int] = []
    for k in range(1, len(order)):
        target = sum(parts[:k]) / sum(parts) * total
        possible = range(low, len(weights) - (len(order) - 1 - k))
        if not possible:
            return {}
        near = [n for n in possible if abs(before[n] - target) <= _TOLERANCE * total]
        near = near or [min(possible, key=lambda n: abs(before[n] - target))]
        boundaries.append(min(near, key=lambda n: (uses[weights[n]][1], abs(before[n] - target), n)))
        low = boundaries[-1] + 1
    return {i: order[sum(n >= b for b in boundaries)] for n, i in enumerate(weights)}


def first_uses(func: ir.Operation) -> dict[int, tuple[int, float]]:
    """Weight -> (number of the first op that computes with it and with data, bytes of data that this op takes).

    What only updates use has the number of the update.
    """
    block = func.regions[0].blocks[0]
    data = set(data_of(func, state_of(func)))
    fed: set[ir.Value] = {block.arguments[i] for i in data}
    origin: dict[ir.Value, set[int]] = {a: {a.arg_number} for a in block.arguments if a.arg_number not in data}
    found: dict[int, tuple[int, float]] = {}
    for number, op in enumerate(o.operation for o in block.operations):
        sources = set().union(*(origin.get(v, set()) for v in op.operands))
        taken = [v for v in op.operands if v in fed]
        if taken:
            fed.update(op.results)
            size = sum(tensor_bytes(v.type) for v in taken)
            for i in sources:
                found.setdefault(i, (number, size))
        elif sources:
            origin.update(dict.fromkeys(op.results, sources))
    return found
