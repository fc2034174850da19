"""What the nodes of a search graph may be: the part of building it in which the search, reports and linting differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from torch_mlir import ir

from pcg.ir import shardings
from pcg.layout import ShardSpec
from pcg.rules import traits
from pcg.rules.factor import FactorRule
from pcg.rules.traits import Trait
from pcg.search.graph import Graph, Source
from pcg.search.table import Table, Tables


class Building(Protocol):
    """What is known of a graph while it is built."""

    @property
    def func(self) -> ir.Operation: ...
    @property
    def tables(self) -> Tables: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def values(self) -> dict[ir.Value, Source]: ...


class Choices(Protocol):
    """What is open in a graph."""

    @property
    def counts_generated(self) -> bool:
        """Whether work on what is computed from constants alone counts; reports leave it out, annotated or not."""

    def is_free(self, op: ir.Operation, values: Mapping[ir.Value, Source]) -> bool:
        """Whether any device can make any part of the op's result, at no cost worth counting.

        `values` says where each value comes from that is computed before.
        """

    def of_value(
        self, what: ir.Value | int, shape: tuple[int, ...], fixed: ShardSpec | None, now: Building,
        open_dims: Sequence[int] = (), partial: str | None = None,
    ) -> Table:  # fmt: skip
        """What a value (or result `what` of the function) may be kept in; `fixed` is how it is annotated.

        With `partial` it may also wait for a reduction of that kind.
        """

    def of_op(self, op: ir.Operation, rule: FactorRule, now: Building) -> Table:
        """What an op may do."""

    def ruled_out(self, op: ir.Operation, table: Table) -> np.ndarray | None:
        """Which strategies the annotated layouts of the results rule out; None if they do not."""


class Annotated:
    """Everything that the annotations of the program leave open: what the search chooses among."""

    counts_generated = True

    def is_free(self, op: ir.Operation, values: Mapping[ir.Value, Source]) -> bool:
        name = op.name
        generator = traits.has(name, Trait.GENERATOR)
        if not generator and not traits.has(name, Trait.PROPAGATES_GENERATOR):
            return False
        if len(op.results) != 1 or shardings.result_specs(op)[0] is not None:
            return False
        return generator or (all(values[v].free for v in op.operands) and uses(op.results[0]) <= 1)

    def of_value(
        self, what: ir.Value | int, shape: tuple[int, ...], fixed: ShardSpec | None, now: Building,
        open_dims: Sequence[int] = (), partial: str | None = None,
    ) -> Table:  # fmt: skip
        return now.tables.extending(fixed, open_dims, shape) if fixed else now.tables.of_value(shape, partial)

    def of_op(self, op: ir.Operation, rule: FactorRule, now: Building) -> Table:
        return now.tables.of_rule(rule)

    def ruled_out(self, op: ir.Operation, table: Table) -> np.ndarray | None:
        bad = None
        for i, spec in enumerate(shardings.result_specs(op)):
            if spec is not None:
                other = np.array([s != spec for s in table.outs[i].specs])[table.outs[i].ids]
                if other.any() and not other.all():
                    bad = other if bad is None else bad | other
        return bad


def uses(value: ir.Value) -> int:
    """How many ops read a value: 0, 1, or 2 for more."""
    n = 0
    for _ in value.uses:
        n += 1
        if n > 1:
            break
    return n

