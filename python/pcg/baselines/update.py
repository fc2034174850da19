"""The optimizer's part of a training step: which state belongs to which weight, and where gradients enter."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.baselines.aliases import Dims, carries_unchanged, through
from pcg.rules import rule_for, traits
from pcg.rules.traits import Trait

_WRITE = "stablehlo.dynamic_update_slice"
_BROADCAST = "stablehlo.broadcast_in_dim"
#: Where they neither repeat nor sum anything: over dimensions of size 1.
_RESHAPES = frozenset({_BROADCAST, "stablehlo.reduce"})


@dataclass
class UpdateGroup:
    """Arguments of one shape that are updated together: a weight and its moments.

    `arguments` and `results` are numbers; `values` are all values of the update, in no order; `gradients` those that
    enter it.
    """

    arguments: set[int] = field(default_factory=set)
    results: set[int] = field(default_factory=set)
    values: set[ir.Value] = field(default_factory=set)
    gradients: set[ir.Value] = field(default_factory=set)


def update_groups(func: ir.Operation, state: Mapping[int, int]) -> list[UpdateGroup]:
    """The groups of a step whose result `r` is the next value of argument `state[r]`."""
    block = func.regions[0].blocks[0]
    last = block.operations[-1].operation
    returned = last.operands
    number = {block.arguments[i]: i for i in state.values()}
    only = _only_for(block, {returned[r] for r in state})
    owner: dict[ir.Value, UpdateGroup] = {}
    for r, a in sorted(state.items()):
        own = UpdateGroup({a}, {r})
        for value in _region(returned[r], own, number, only):
            _join(own, value, owner, block)
        _join(own, block.arguments[a], owner, block)
    found: dict[int, UpdateGroup] = {id(g): g for g in owner.values()}
    return list(found.values())


def _join(group: UpdateGroup, value: ir.Value, owner: dict[ir.Value, UpdateGroup], block: ir.Block) -> None:
    """Make `group` the owner of a value, and of all that its owner had."""
    other = owner.get(value, group)
    if other is not group:
        owner.update(dict.fromkeys(other.values, group))
        owner.update((block.arguments[a], group) for a in other.arguments)
        for name in ("arguments", "results", "values", "gradients"):
            getattr(group, name).update(getattr(other, name))
    owner[value] = group


def _only_for(block: ir.Block, states: Container[ir.Value]) -> set[ir.Value]:
    """Results of pointwise ops that serve only to compute the values `states`.

    Statistics of a batch have the shape of the scale beside them, and its gradient is pointwise in them: what the model
    reads too is not the optimizer's.
    """
    found: set[ir.Value] = set()
    for op in reversed([op.operation for op in block.operations]):
        if len(op.results) == 1:
            value = op.results[0]
            users = (use.owner.operation for use in value.uses)
            if all(value in states if u.name == "func.return" else _in(u, found) for u in users) and pointwise(op):
                found.add(value)
    return found


def _in(op: ir.Operation, values: Container[ir.Value]) -> bool:
    return len(op.results) == 1 and op.results[0] in values


def _region(
    top: ir.Value, group: UpdateGroup, number: Mapping[ir.Value, int], only: Container[ir.Value]
) -> list[ir.Value]:
    """Arguments and inner values of the pointwise ops that make `top`; what enters them becomes a gradient."""
    seen, waiting, inner = {top}, [top], []
    shape = list(top.type.shape) if isinstance(top.type, ir.RankedTensorType) else None
    if not shape:
        return []
    while waiting:
        value = waiting.pop()
        if value in number:
            group.arguments.add(number[value])
            inner.append(value)
            continue
        op = None if isinstance(value, ir.BlockArgument) else value.owner.operation
        if op is None or value not in only:
            if op is None or not _is_filled(op):
                group.gradients.add(value)
            continue
        group.values.add(value)
        inner.append(value)
        for operand in op.operands:
            if list(operand.type.shape) == shape and operand not in seen:
                seen.add(operand)
                waiting.append(operand)
    return inner


def pointwise(op: ir.Operation) -> bool:
    """Whether every element of the result is made of the elements in the same place."""
    if len(op.regions) or len(op.results) != 1 or not len(op.operands) or op.name.startswith("dist."):
        return False
    rule = rule_for(op)
    if rule.exchanges or rule.reason or any(f.reduce for f in rule.factors):
        return False
    out = rule.results[0]
    ranked = [v for v in op.operands if v.type.rank]
    return bool(ranked) and all(
        dims == out for v, dims in zip(op.operands, rule.operands, strict=True) if v.type.rank
    )


def _is_filled(op: ir.Operation) -> bool:
    """Whether the op spreads a scalar, or a constant."""
    return traits.has(op.name, Trait.GENERATOR) or (op.name == _BROADCAST and op.operands[0].type.rank == 0)


@dataclass
class Gradients:
    """Where gradients are reduced for the first time, going back from the update.

    `sums`: the value there -> its dimensions as those of the weight.  `forwarded`: values between it and the update,
    which hold it in another shape or collect it over the iterations of a loop, likewise.
    """

    sums: dict[ir.Value, Dims] = field(default_factory=dict)
    forwarded: dict[ir.Value, Dims] = field(default_factory=dict)


def gradients(group: UpdateGroup) -> Gradients:
    """Follow the gradients that enter `group` back to the ops that make them."""
    out = Gradients()
    for value in group.gradients:
        rank = value.type.rank
        _follow(value, tuple(range(rank)), out)
    return out


def _follow(value: ir.Value, dims: Dims, out: Gradients) -> None:
    if isinstance(value, ir.BlockArgument) or value in out.sums or value in out.forwarded:
        return
    op, i = value.owner.operation, ir.OpResult(value).result_number
    if op.name == "stablehlo.while":
        if carries_unchanged(op, i):
            return
        body = op.regions[1].blocks[0]
        out.forwarded[value] = dims
        carry, made = body.arguments[i], body.operations[-1].operation.operands[i]
        _collect(made, carry, dims, out)
    elif traits.has(op.name, Trait.FORWARDS) or op.name == "stablehlo.negate" or (
        op.name in _RESHAPES and _size(op.operands[0]) == _size(value)
    ):
        out.forwarded[value] = dims
        back = through(op, 0, 0, back=True)  # per dimension of the operand, the result's
        _follow(op.operands[0], tuple(None if d is None else dims[d] for d in back), out)
    else:
        out.sums[value] = dims


def _collect(value: ir.Value, carry: ir.Value, dims: Dims, out: Gradients) -> None:
    """Follow what a loop writes into, or adds to, its carry in one iteration."""
    if isinstance(value, ir.BlockArgument):
        return
    op = value.owner.operation
    if op.name == _WRITE and op.operands[0] == carry:
        out.forwarded[value] = dims
        update = op.operands[1]
        sizes = zip(update.type.shape, value.type.shape, dims, strict=True)
        _follow(update, tuple(d if n == all_ else None for n, all_, d in sizes), out)
    elif op.name == "stablehlo.add" and carry in (op.operands[0], op.operands[1]):
        out.forwarded[value] = dims
        _follow(op.operands[1 if op.operands[0] == carry else 0], dims, out)
    else:
        _follow(value, dims, out)


def _size(value: ir.Value) -> int:
    return math.prod(value.type.shape)


def takes_part(op: ir.Operation, group: UpdateGroup, found: Gradients) -> bool:
    """Whether `op`, which reads a gradient, can take it in parts: the update, what leads there, and norms of it.

    Others compute with it (statistics of a batch on the way to the gradient of an input).
    """
    if op.name in ("stablehlo.return", "func.return"):
        return True
    if _in(op, group.values) or _in(op, found.forwarded):
        return True
    if op.name == "stablehlo.reduce":
        return all(r.type.rank == 0 for r in op.results)
    if not pointwise(op) or op.results[0].type.rank == 0:
        return False
    return all(takes_part(use.owner.operation, group, found) for use in op.results[0].uses)
