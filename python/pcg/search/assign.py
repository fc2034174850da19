"""The global engine of propagation: the assignment that costs least, subject to the annotations.

It is the search of `search.optimize` (exact simplification, dual ascent, ILP) over the strategies of all
ops and the layouts of all values at once, with the annotations kept.  What the other engines decide is part
of the space, even where the search alone would not look (axes in another order than the mesh's), and the
solver starts from it: by the measure of `search.measure` the outcome is never worse than theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.shardings import CONSTRAINTS
from pcg.layout import ShardSpec
from pcg.rules.factor import Assignment, FactorRule
from pcg.search.build import Builder
from pcg.search.built import Built
from pcg.search.choices import Annotated, Building, uses
from pcg.search.commit import commit
from pcg.search.graph import Source
from pcg.search.measure import close_loop, keep_values
from pcg.search.optimize import optimize
from pcg.search.outcome import Outcome
from pcg.search.table import Table, Tables
from pcg.search.terms import Measure, ReshardCosts, as_measured, measured
from pcg.solve.network import FORBIDDEN


@dataclass
class Decided:
    """What an engine decided.

    `strategies` are those of ops; `kept` the layouts of values that stand for themselves (arguments, what
    loops and branches give, requests); `results` those of the function's results.
    """

    name: str
    strategies: dict[ir.Operation, Assignment]
    kept: dict[ir.Value, ShardSpec]
    results: Sequence[ShardSpec]


@dataclass
class Assigned:
    """What the global engine decided for a function."""

    func: ir.Operation
    built: Built
    outcome: Outcome
    tables: Tables
    measure: Measure

    @property
    def possible(self) -> bool:
        """Whether the annotations can be had all at once."""
        return self.outcome.seconds < FORBIDDEN

    def write(self) -> None:
        """Write it into the IR."""
        commit(self.func, self.built, self.outcome.choice, self.tables)


def assign(
    func: ir.Operation,
    decided: Sequence[Decided],
    model: CostModel,
    state: dict[int, int],
    memory_limit: float | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Assigned:
    """The cheapest assignment for `func`, not yet written back.

    Args:
      decided: plans of other engines to start from.
      state: result number -> argument whose next value it is, and whose layout it keeps.
      memory_limit: bytes per device, or no limit.

    Raises:
      DoesNotFit: no plan that was found fits in `memory_limit`.
    """
    tables = Tables.on(model.mesh)
    built = Builder(model, tables, WithPlans(decided)).build(func, state)
    close_loop(built, state, func)
    reshard_costs = ReshardCosts(model)
    plans = [(d.name, place(func, built, d, reshard_costs)) for d in decided]
    nodes = built.graph.nodes
    for n, node in enumerate(nodes):
        # Ops that some engine treats differently never decide together, so every plan can be expressed.
        nodes[n] = replace(node, label="/".join([node.label, *(str(x[n]) for _, x in plans)]))
    outcome = optimize(built.quotient(model), limit=memory_limit, plans=plans, progress=progress)
    if memory_limit is None:
        # Values that are equivalent were decided together; each by itself may do better still.
        before = list(outcome.choice)
        keep_values(built, outcome.choice, reshard_costs)
        if outcome.choice != before:
            outcome = replace(outcome, named="")
    found = measured(built, outcome.choice, reshard_costs)
    return Assigned(func, built, as_measured(outcome, built, reshard_costs), tables, found)


def place(func: ir.Operation, built: Built, decided: Decided, reshard_costs: ReshardCosts) -> list[int]:
    """A choice for every node of the graph that is what an engine decided."""
    nodes = built.graph.nodes
    choice = [0] * len(nodes)
    known: dict[tuple[int, Assignment], int] = {}
    for op, n in built.ops:
        table, a = nodes[n].table, decided.strategies[op]
        key = (table.index, a)
        if key not in known:
            assert table.assignments is not None
            known[key] = table.assignments.index(a)
        choice[n] = known[key]

    def keep(n: int, spec: ShardSpec) -> None:
        found = nodes[n].table.outs[0].find(spec)
        assert found is not None, f"{spec} is not a choice of node {n}"
        choice[n] = found

    for value, n in zip(func.regions[0].blocks[0].arguments, built.arguments, strict=True):
        keep(n, decided.kept[value])
    for i, n in enumerate(built.results):
        if n not in built.arguments:
            keep(n, decided.results[i])
    for op, group in (*built.carries, *built.barriers, *((op, [n]) for op, n in built.constraints)):
        for value, n in zip(op.results, group, strict=True):
            keep(n, decided.kept[value])
    keep_values(built, choice, reshard_costs)
    return choice


@dataclass
class WithPlans:
    """What the annotations leave open, with what other engines have `decided` among it."""

    decided: Sequence[Decided]
    counts_generated = False

    def __post_init__(self) -> None:
        self._open = Annotated()

    def is_free(self, op: ir.Operation, values: Mapping[ir.Value, Source]) -> bool:
        """Only what has one reader, and can be computed in whatever layout that needs.

        Not so a reshape, which has fewer strategies, and what a constraint reads, which may need any layout.
        """
        if not self._open.is_free(op, values) or uses(op.results[0]) > 1 or op.name == "stablehlo.reshape":
            return False
        return all(use.owner.operation.name not in CONSTRAINTS for use in op.results[0].uses)

    def of_value(
        self, what: ir.Value | int, shape: tuple[int, ...], fixed: ShardSpec | None, now: Building,
        open_dims: Sequence[int] = (), partial: str | None = None,
    ) -> Table:  # fmt: skip
        table = self._open.of_value(what, shape, fixed, now, open_dims, partial)
        more = [d.results[what] if isinstance(what, int) else d.kept[what] for d in self.decided]
        return now.tables.with_specs(table, more)

    def of_op(self, op: ir.Operation, rule: FactorRule, now: Building) -> Table:
        return now.tables.with_strategies(rule, [d.strategies[op] for d in self.decided])

    def ruled_out(self, op: ir.Operation, table: Table) -> np.ndarray | None:
        """An annotated op has a strategy that yields its layouts, reduced or partial, or one that an engine took."""
        annotated = shardings.result_specs(op)
        if not any(annotated):
            return None
        bad = np.zeros(len(table), dtype=bool)
        for port, spec in zip(table.outs, annotated, strict=True):
            if spec is not None:
                bad |= np.array([s.dims != spec.dims for s in port.specs])[port.ids]
        assert table.assignments is not None
        taken = {d.strategies[op] for d in self.decided}
        return bad & np.array([a not in taken for a in table.assignments])
