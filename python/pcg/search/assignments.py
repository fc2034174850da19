"""All strategies of an op, as what each mesh axis does in them; assignments are made of those that are looked at.

An op on three axes has up to hundreds of strategies, its operands fewer layouts: `(i,k),(k,j)->(i,j)` on two axes has
16 strategies without partial operands, in which its left operand has 9 layouts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import overload

import numpy as np

from pcg.layout import Mesh
from pcg.rules.factor import Assignment, DimFactors, FactorRule
from pcg.search.axis_specs import AxisSpecs
from pcg.search.port import Port


class Assignments(Sequence[Assignment]):
    """Assignments of a rule; `choices` are as of `FactorRule.choices`."""

    def __init__(self, rule: FactorRule, mesh: Mesh, choices: np.ndarray) -> None:
        self.choices = choices
        self._rule, self._mesh = rule, mesh
        self._known: dict[int, Assignment] = {}

    def __len__(self) -> int:
        return len(self.choices)

    @overload
    def __getitem__(self, k: int) -> Assignment: ...
    @overload
    def __getitem__(self, k: slice) -> list[Assignment]: ...
    def __getitem__(self, k: int | slice) -> Assignment | list[Assignment]:
        if isinstance(k, slice):
            return [self[n] for n in range(*k.indices(len(self)))]
        k = range(len(self))[k]
        found = self._known.get(k)
        if found is None:
            found = self._known[k] = self._rule.assignment(self.choices[k].tolist(), self._mesh)
        return found

    def __iter__(self) -> Iterator[Assignment]:
        return map(self.__getitem__, range(len(self)))

    def ports(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        """Those of the operands and of the results."""
        rule = self._rule
        ins = [
            self._port(tensor, {k: p.kind for k, p in enumerate(rule.linear) if i in p.operands}, {})
            or Port.of([rule.operand_spec(i, a) for a in self])
            for i, tensor in enumerate(rule.operands)
        ]
        passed = {k: p.kind for k, p in enumerate(rule.linear)}
        reduced = {f: x.reduce for f, x in enumerate(rule.factors) if x.reduce}
        outs = [
            self._port(tensor, passed, reduced) or Port.of([rule.result_spec(i, a) for a in self])
            for i, tensor in enumerate(rule.results)
        ]
        return tuple(ins), tuple(outs)

    def _port(self, tensor: DimFactors, passed: Mapping[int, str], reduced: Mapping[int, str]) -> Port | None:
        """The port of a tensor that is partial over what is passed or reduced; None if axes do not tell its specs.

        They do where each dimension is one factor: of several the major ones come first, whatever the order of axes.
        """
        factors = [f for dim in tensor for f in dim]
        if not self._rule.by_axis or any(len(dim) > 1 for dim in tensor):
            return None
        if len({*factors, *reduced}) < len(factors) + len(reduced):
            return None
        specs = AxisSpecs.on(len(tensor), self._mesh.names)
        does = np.full(1 + len(self._rule.factors) + len(self._rule.linear), AxisSpecs.IDLE, np.int64)
        for d, dim in enumerate(tensor):
            does[[1 + f for f in dim]] = specs.split(d)
        for f, kind in reduced.items():
            does[1 + f] = specs.partial(kind)
        for k, kind in passed.items():
            does[1 + len(self._rule.factors) + k] = specs.partial(kind)
        return Port(*specs.of(does[1 + self.choices]))
