"""Numbers of an update that depend on several groups of devices, and on which the state of each group depends.

They are what makes the end of a step a barrier: the factor of a clip by the global norm, whether all gradients are
finite. Each of them is usually what it was in the step before, so a group can update its state before it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torch_mlir import ir

from pcg.ir.walk import outer_values
from pcg.rules import traits
from pcg.rules.traits import Trait

#: Ops of which many operands have one result: where a prediction is likely to be right.
_SATURATING = frozenset(
    "stablehlo." + name
    for name in (
        "minimum", "maximum", "clamp", "compare", "is_finite", "and", "or", "not", "xor", "sign", "floor", "ceil",
        "round_nearest_afz", "round_nearest_even",
    )
)  # fmt: skip


class Unread(NamedTuple):
    """A number that no state depends on while a predicate, a number as well, has a value."""

    number: int
    predicate: int
    value: bool


@dataclass
class Predictions:
    """The numbers of an update to predict.

    A number is a tensor of one element. Of those on the way from other groups to a tensor of the state, or to a number
    of the state, it is the last one whose op has one result for many operands (a minimum, a comparison); where there is
    none the last one of all, as in what a select reads and does not take.
    """

    ops: Sequence[ir.Operation]
    """Of the update, in program order."""
    group: Mapping[ir.Operation, int]
    """Of each of them."""
    sums: Mapping[ir.Value, int]
    """The group of each sum over microbatches."""
    state: Iterable[ir.Value]
    """Next values of arguments."""
    values: list[ir.Value] = field(default_factory=list)
    """What is to be predicted."""
    needed: set[ir.Value] = field(default_factory=set)
    """What state depends on, other than by what is predicted."""

    def __post_init__(self) -> None:
        self._groups: dict[ir.Value, frozenset[int]] = {v: frozenset({g}) for v, g in self.sums.items()}
        for op in self.ops:
            found = frozenset().union(*(self._groups.get(v, frozenset()) for v in _reads(op)))
            self._groups.update(dict.fromkeys(op.results, found))
        state, wide = set(self.state), set[ir.Value]()
        for op in reversed(self.ops):
            if any(r in state or r in wide for r in op.results if not _is_number(r)):
                wide.update(v for v in _reads(op) if not _is_number(v))
        found_values: dict[ir.Value, None] = {}
        for op in self.ops:
            for r in op.results:
                if _is_number(r) and r in state and self._others(r, self.group[op]):
                    found_values.update(dict.fromkeys(self._resolve(r)))
                elif not _is_number(r) and (r in state or r in wide):
                    for v in _reads(op):
                        if _is_number(v) and self._others(v, self.group[op]):
                            found_values.update(dict.fromkeys(self._resolve(v)))
        order = {r: i for i, op in enumerate(self.ops) for r in op.results}
        self.values = sorted((v for v in found_values if v in order), key=order.__getitem__)
        self.needed |= state
        for op in reversed(self.ops):
            if any(r in self.needed and r not in found_values for r in op.results):
                self.needed.update(_reads(op))

    def _others(self, value: ir.Value, group: int) -> bool:
        """Whether a value depends on other groups than one."""
        return bool(self._groups.get(value, frozenset()) - {group})

    def _before(self, value: ir.Value) -> list[ir.Value]:
        """The numbers from other groups that an op on numbers reads."""
        op = value.owner.operation
        if op not in self.group or len(op.regions):
            return []
        return [v for v in op.operands if _is_number(v) and self._others(v, self.group[op])]

    def _saturates(self, value: ir.Value) -> bool:
        if isinstance(value, ir.BlockArgument) or value.owner.operation not in self.group:
            return False
        return _is_saturating(value.owner.operation) or any(map(self._saturates, self._before(value)))

    def _resolve(self, value: ir.Value) -> list[ir.Value]:
        if isinstance(value, ir.BlockArgument) or value.owner.operation not in self.group:
            return []
        if _is_saturating(value.owner.operation):
            return [value]
        before = self._before(value)
        if not any(map(self._saturates, before)):
            return [value]
        return [found for v in before for found in self._resolve(v)]

    def unread(self, is_after: Callable[[ir.Operation], bool], returned: Iterable[ir.Value]) -> list[Unread]:
        """Which of the values nothing that comes after a prediction depends on, for a value of another one.

        `is_after`: whether an op reads predictions, or what depends on them.
        """
        after = [op for op in self.ops if is_after(op)]
        results = set(returned)
        found = []
        for p, predicate in enumerate(self.values):
            if str(ir.RankedTensorType(predicate.type).element_type) != "i1":
                continue
            same = {predicate}
            for op in self.ops:
                if traits.has(op.name, Trait.SPREADS) and op.operands[0] in same:
                    if str(ir.RankedTensorType(op.results[0].type).element_type) == "i1":
                        same.update(op.results)
            for n, value in enumerate(self.values):
                found += [
                    Unread(n, p, taken) for taken in (True, False)
                    if n != p and not self._reaches(value, same, taken, after, results)
                ]  # fmt: skip
        return found

    def _reaches(
        self, value: ir.Value, predicates: set[ir.Value], taken: bool, after: Sequence[ir.Operation],
        returned: set[ir.Value],
    ) -> bool:  # fmt: skip
        """Whether a result depends on a value where predicates are `taken`."""
        others = set(self.values)
        depends = {value}
        for op in after:
            reads = _reads(op)
            if op.name == "stablehlo.select" and reads[0] in predicates:
                reads = [reads[1 if taken else 2]]
            if any(v in depends for v in reads):
                new = [r for r in op.results if r not in others]
                if any(r in returned for r in new):
                    return True
                depends.update(new)
        return False


def _reads(op: ir.Operation) -> list[ir.Value]:
    return list(op.operands) if not len(op.regions) else [*outer_values(op)]


def _is_number(value: ir.Value) -> bool:
    if not isinstance(value.type, ir.RankedTensorType):
        return False
    return all(n == 1 for n in ir.RankedTensorType(value.type).shape)


def _is_saturating(op: ir.Operation) -> bool:
    if op.name == "stablehlo.reduce" and len(op.results) == 1:
        body = [o.operation for o in op.regions[0].blocks[0].operations]
        return len(body) == 2 and body[0].name in _SATURATING
    return op.name in _SATURATING and _is_number(op.results[0])
