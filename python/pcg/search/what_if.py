"""What a placed program would cost if one op ran otherwise, every other decision as it is.

The answer is the measure of the program (`pcg.search.measure`) with that decision in the place of its own: what
`plan_cost` says of the plan with the decision changed, to the last digit.  Only the terms that the op has a part in
are computed anew: its own, those of its edges, and those of the values around it that several ops read, for which the
layout that they are kept in is chosen anew.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.rules import rule_for
from pcg.rules.factor import Assignment
from pcg.search.measure import placed_graph
from pcg.search.table import Tables
from pcg.search.terms import Measure, ReshardCosts, Tallies, Tally, Terms
from pcg.search.work import WorkCosts


@dataclass(frozen=True)
class Other:
    """Another strategy of an op, and what the program costs with it."""

    op: ir.Operation
    assignment: Assignment
    measure: Measure


class WhatIf:
    """Other strategies for the ops of a function in which every value and op has its layouts."""

    def __init__(self, func: ir.Operation, model: CostModel, state: dict[int, int]) -> None:
        """`state`: result number -> argument whose next value it is.

        Raises:
          NotPlaced: some op or value has no layout, or an impossible one.
        """
        self.mesh, reshard_costs = model.mesh, ReshardCosts(model)
        self._costs = WorkCosts(model)
        built, choice = placed_graph(func, reshard_costs, state)
        self._shared = Tallies(built, reshard_costs)
        self._tally = Tally(self._shared, choice)
        self._terms = self._tally.terms()
        self._nodes, self._works = dict(built.ops), built.works
        self.now = self._terms.measure()

    def taking(self, op: ir.Operation, operand: int) -> Other | None:
        """The cheapest strategy of `op` that takes an operand in the layout it is computed in; None if none does."""
        shared, n = self._shared, self._nodes.get(op)
        if n is None:
            return None
        around = (shared.edges[i] for i in shared.around[n])
        edge = next((e for e in around if e.dst == n and e.index == operand), None)
        if edge is None:
            return None
        if edge.src in shared.layout_nodes:
            edge = shared.edges[shared.feeds[edge.src]]
        have, rule = self._tally.source_spec(edge), rule_for(op)
        found = [a for a in rule.strategies(self.mesh) if rule.factors and rule.operand_spec(operand, a) == have]
        others = (Other(op, a, self.measure(op, a)) for a in found)
        return min(others, key=lambda x: x.measure.seconds, default=None)

    def measure(self, op: ir.Operation, a: Assignment) -> Measure:
        """What the program costs with `op` under `a`."""
        n = self._nodes[op]
        work = self._works[n]
        tally = copy(self._tally)
        tally.nodes, tally.choice = list(tally.nodes), list(tally.choice)
        times, table = tally.nodes[n].times, Tables.on(self.mesh).only(work.rule, a)
        seconds, inside = times * self._costs.compute(work, table), dict(self._terms.inside)
        if work.rule.exchanges:
            sends = times * self._costs.exchanges(work, table)
            seconds = seconds + sends
            inside[n] = float(sends[0]), times * self._costs.wire_bytes(work, a)
        tally.nodes[n] = replace(tally.nodes[n], table=table, seconds=seconds)
        around, edges = self._shared.around, self._shared.edges
        kept = {m for i in around[n] for m in (edges[i].src, edges[i].dst) if m in self._shared.layout_nodes}
        for node in kept:
            tally.keep(node)
        seconds_of, resharding = list(self._terms.work), list(self._terms.resharding)
        seconds_of[n] = tally.work(n)
        for m in (n, *kept):
            for i in around[m]:
                resharding[i] = tally.resharding(i)
        return Terms(seconds_of, inside, resharding).measure()
