"""Add the results of contractions to each other first."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir import emit, shardings
from pcg.ir.transformation import Transformation
from pcg.ir.walk import defining_op, functions, walk
from pcg.rules import traits
from pcg.rules.traits import Trait


@dataclass
class Reassociate(Transformation):
    """Reorder sums of several terms so that results of contractions are added to each other first."""

    def run(self, module: ir.Operation) -> None:
        for func in functions(module):
            for op in [op for op in walk(func) if op.name == "stablehlo.add"]:
                users = list(op.results[0].uses)
                if len(users) == 1 and _inner(op, users[0].owner.operation):
                    continue  # part of a longer sum
                terms: list[ir.Value] = []
                adds: list[ir.Operation] = []
                _flatten(op, terms, adds)
                if len(terms) > 2:
                    self.reorder(op, terms, adds)

    def reorder(self, root: ir.Operation, terms: list[ir.Value], adds: list[ir.Operation]) -> None:
        first = [is_contraction(t) for t in terms]
        if sum(first) < 2 or all(first) or first == sorted(first, reverse=True):
            return
        ordered = [t for wanted in (True, False) for t, c in zip(terms, first, strict=True) if c == wanted]
        with ir.InsertionPoint(root), root.location:
            total = functools.reduce(functools.partial(emit.binary, "add"), ordered)
        root.results[0].replace_all_uses_with(total)
        for add in adds:  # from the root down, so each is unused when it is erased
            add.erase()
        self.statistics["sums reordered"] += 1


def _inner(op: ir.Operation, user: ir.Operation) -> bool:
    """Whether `op` may be flattened into its only user."""
    same = user.name == "stablehlo.add" and user.block == op.block
    return same and shardings.SPECS not in op.attributes and shardings.SPECS not in user.attributes


def _flatten(root: ir.Operation, terms: list[ir.Value], adds: list[ir.Operation]) -> None:
    """Terms of the sum `root` in order, and the additions it is made of, users before producers."""
    stack: list[ir.Value] = list(reversed(root.operands))
    adds.append(root)
    while stack:
        value = stack.pop()
        op = defining_op(value)
        if op is not None and op.name == "stablehlo.add" and _uses(value) == 1 and _inner(op, adds[0]):
            adds.append(op)
            stack.extend(reversed(op.operands))
        else:
            terms.append(value)


def _uses(value: ir.Value) -> int:
    return len(list(value.uses))


def is_contraction(value: ir.Value) -> bool:
    """Whether `value` is the result of a contraction that is used nowhere else, perhaps transposed or negated."""
    while not isinstance(value, ir.BlockArgument) and _uses(value) == 1:
        op = value.owner.operation
        if traits.has(op.name, Trait.CONTRACTION):
            return op.name != "stablehlo.dot"  # sums of the deprecated one stay as they are written
        # Partial sums pass through these.
        if not traits.has(op.name, Trait.FORWARDS) and op.name != "stablehlo.negate":
            return False
        value = op.operands[0]
    return False
