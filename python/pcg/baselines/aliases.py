"""Where the arguments of a program are read: values that are an argument in another shape, type, or a part of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir.shardings import CONSTRAINTS
from pcg.rules import rule_for, traits
from pcg.rules.traits import Trait

_BROADCAST = "stablehlo.broadcast_in_dim"

#: Per dimension of a value: the dimension of another value that it is (the major part of), None if it is none.
Dims = tuple[int | None, ...]


@dataclass(frozen=True)
class Alias:
    """A value that is argument `argument`: `dims[d]` is the argument's dimension that its dimension `d` is.

    `plain`: not broadcast on the way, so that no more elements than the argument has.
    """

    argument: int
    dims: Dims
    plain: bool = True


def aliases(block: ir.Block, arguments: Sequence[int]) -> dict[ir.Value, Alias]:
    """All values that are one of `arguments` of the function with body `block`, those included."""
    found: dict[ir.Value, Alias] = {}
    waiting: list[ir.Value] = []

    def add(value: ir.Value, alias: Alias) -> None:
        if value not in found:
            found[value] = alias
            waiting.append(value)

    for i in arguments:
        value = block.arguments[i]
        if isinstance(value.type, ir.RankedTensorType):
            add(value, Alias(i, tuple(range(value.type.rank))))
    while waiting:
        value = waiting.pop()
        alias = found[value]
        for use in value.uses:
            op, i = use.owner.operation, use.operand_number
            if op.name == "stablehlo.while":
                if carries_unchanged(op, i):
                    for inner in (*(r.blocks[0].arguments[i] for r in op.regions), op.results[i]):
                        add(inner, alias)
            elif is_alias_op(op) or op.name == _BROADCAST:
                j = i if op.name == "stablehlo.optimization_barrier" else 0
                if i == j:
                    dims = tuple(None if d is None else alias.dims[d] for d in through(op, i, j))
                    add(op.results[j], Alias(alias.argument, dims, alias.plain and op.name != _BROADCAST))
    return found


def is_alias_op(op: ir.Operation) -> bool:
    """Whether `aliases` looks through `op` without making the value larger."""
    name = op.operation.name
    if name in CONSTRAINTS or name == "stablehlo.optimization_barrier":
        return True
    return traits.has(name, Trait.FORWARDS | Trait.SLICE)


def carries_unchanged(loop: ir.Operation, i: int) -> bool:
    """Whether carry `i` of a loop is the same in every iteration."""
    body = loop.regions[1].blocks[0]
    last = body.operations[-1].operation
    return last.operands[i] == body.arguments[i]


def through(op: ir.Operation, operand: int, result: int, back: bool = False) -> Dims:
    """Per dimension of a result of `op` the operand's dimension with the same major factor; `back`: the other way."""
    if op.name in CONSTRAINTS:
        return tuple(range(op.results[0].type.rank))
    rule = rule_for(op)
    source, target = rule.operands[operand], rule.results[result]
    if back:
        source, target = target, source
    at = {dim[0]: d for d, dim in enumerate(source) if dim}
    return tuple(at.get(dim[0]) if dim and rule.factors[dim[0]].splittable else None for dim in target)
