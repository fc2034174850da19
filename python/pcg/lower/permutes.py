"""Joining collective_permutes that send the same value to different devices.

A rotation is two shifts: all devices but the last send their edge to the next one, and the last sends its edge to the
first.  Both are one permute if no device sends twice and none receives twice.
"""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.emit import create, tensor
from pcg.ir.walk import walk
from pcg.lower.collectives import per_device

_PERMUTE = "stablehlo.collective_permute"
#: Ops that slice pieces, and those that compute where: computed twice, they are the same.
_PLAIN = frozenset(
    "stablehlo." + n
    for n in (
        "add", "broadcast_in_dim", "concatenate", "constant", "convert", "dynamic_slice", "iota", "multiply", "pad",
        "partition_id", "reshape", "reverse", "slice", "subtract", "transpose",
    )
)  # fmt: skip
#: How far definitions are compared before two values count as different.  A choice; without a
#: bound, subexpressions that are used several times would be compared once per path.
_DEPTH = 12

Pairs = set[tuple[int, int]]


def join_permutes(func: ir.Operation, devices: int) -> int:
    """Join what can be joined in a lowered function for `devices` devices; returns how many permutes went.

    Each of the joined permutes keeps its meaning: zero on devices that are none of its targets.
    """
    joined = 0
    by_block: dict[ir.Block, list[ir.Operation]] = {}
    for op in walk(func):
        if op.name == _PERMUTE:
            by_block.setdefault(op.block, []).append(op)
    for ops in by_block.values():
        groups: list[tuple[ir.Operation, list[tuple[ir.Operation, Pairs]]]] = []
        for op in ops:
            pairs = _pairs(op)
            for first, members in groups:
                if _disjoint(pairs, members) and _equal(first.operands[0], op.operands[0]):
                    members.append((op, pairs))
                    break
            else:
                groups.append((op, [(op, pairs)]))
        for first, members in groups:
            if len(members) > 1:
                _join(first, members, devices)
                joined += len(members) - 1
    return joined


def _pairs(op: ir.Operation) -> Pairs:
    flat = list(ir.DenseIntElementsAttr(op.attributes["source_target_pairs"]))
    return set(zip(flat[::2], flat[1::2], strict=True))


def _disjoint(pairs: Pairs, members: list[tuple[ir.Operation, Pairs]]) -> bool:
    """Whether no device would send or receive twice."""
    taken = set().union(*(p for _, p in members))
    return not {s for s, _ in pairs} & {s for s, _ in taken} and not {t for _, t in pairs} & {t for _, t in taken}


def _equal(a: ir.Value, b: ir.Value, depth: int = _DEPTH) -> bool:
    """Whether two values are computed by the same ops from the same values."""
    if a == b:
        return True
    if a.type != b.type or isinstance(a.owner, ir.Block) or isinstance(b.owner, ir.Block) or not depth:
        return False
    one, other = a.owner.operation, b.owner.operation
    if one.name != other.name or one.name not in _PLAIN:
        return False
    if len(one.operands) != len(other.operands) or not _same_attributes(one, other):
        return False
    return all(_equal(x, y, depth - 1) for x, y in zip(one.operands, other.operands, strict=True))


def _same_attributes(one: ir.Operation, other: ir.Operation) -> bool:
    names = sorted(a if isinstance(a, str) else a.name for a in one.attributes)
    if names != sorted(a if isinstance(a, str) else a.name for a in other.attributes):
        return False
    try:
        return all(one.attributes[n] == other.attributes[n] for n in names)
    except TypeError:  # the bindings have no attribute of complex numbers
        return False


def _join(first: ir.Operation, members: list[tuple[ir.Operation, Pairs]], devices: int) -> None:
    """One permute in place of `first`; what each member was is selected from it."""
    every = sorted(set().union(*(p for _, p in members)), key=lambda pair: pair[::-1])
    attributes = {n: first.attributes[n] for n in first.attributes}
    attributes["source_target_pairs"] = ir.DenseElementsAttr.get(np.array(every, dtype=np.int64))
    type_ = first.results[0].type
    with ir.InsertionPoint(first), first.location:
        received = create(_PERMUTE, [first.operands[0]], type_, **attributes)
        zeros = _zeros(type_)
        for op, pairs in members:
            targets = {t for _, t in pairs}
            flag = per_device([int(d in targets) for d in range(devices)])
            is_target = emit.convert(flag, ir.IntegerType.get_signless(1))
            op.results[0].replace_all_uses_with(emit.select(is_target, received, zeros))
    for op, _ in members:
        op.erase()


def _zeros(type_: ir.RankedTensorType) -> ir.Value:
    """Zeros of any type, by a conversion."""
    i32 = tensor([], ir.IntegerType.get_signless(32))
    zero = create("stablehlo.constant", [], i32, value=ir.DenseElementsAttr.get(np.zeros((), np.int32), type=i32))
    zero = create("stablehlo.convert", [zero], tensor([], type_.element_type))
    return emit.broadcast(zero, type_)
