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
from pcg.search.fusion import Fusion
from pcg.search.measure import placed_graph
from pcg.search.op_cost import OpCost
from pcg.search.table import Tables
from pcg.search.terms import Measure, ReshardCosts, Tally, Terms


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
        self._costs = OpCost(model, Fusion(func))
        self._tally = Tally(*placed_graph(func, reshard_costs, state), reshard_costs)
        self._terms = self._tally.terms()
        self._number = {id(e): i for i, e in enumerate(self._tally.edges)}
        self._nodes = dict(self._tally.built.ops)
        self.now = self._terms.measure()

    def taking(self, op: ir.Operation, operand: int) -> Other | None:
        """The cheapest strategy of `op` that takes an operand in the layout it is computed in; None if none does."""
        tally, n = self._tally, self._nodes.get(op)
        if n is None:
            return None
        edge = next((e for e in tally.around[n] if e.dst == n and e.index == operand), None)
        if edge is None:
            return None
        if edge.src in tally.layout_nodes:
            edge = tally.feeds[edge.src]
        have, rule = tally.source_spec(edge), rule_for(op)
        found = [a for a in rule.strategies(self.mesh) if rule.factors and rule.operand_spec(operand, a) == have]
        others = (Other(op, a, self.measure(op, a)) for a in found)
        return min(others, key=lambda x: x.measure.seconds, default=None)

    def measure(self, op: ir.Operation, a: Assignment) -> Measure:
        """What the program costs with `op` under `a`."""
        n, rule = self._nodes[op], rule_for(op)
        tally = copy(self._tally)
        tally.nodes, tally.choice = list(tally.nodes), list(tally.choice)
        times, table = tally.nodes[n].times, Tables.on(self.mesh).only(rule, a)
        seconds, inside = times * self._costs.compute(op, rule, table), dict(self._terms.inside)
        if rule.exchanges:
            sends = times * self._costs.exchanges(op, rule, table)
            seconds = seconds + sends
            wire = sum(self._costs.exchange(op, x, a)[1] for x in rule.exchanges)
            inside[n] = float(sends[0]), times * wire
        tally.nodes[n] = replace(tally.nodes[n], table=table, seconds=seconds)
        kept = {m for e in tally.around[n] for m in (e.src, e.dst) if m in tally.layout_nodes}
        for node in kept:
            tally.keep(node)
        work, resharding = list(self._terms.work), list(self._terms.resharding)
        work[n] = tally.work(n)
        for m in (n, *kept):
            for e in tally.around[m]:
                resharding[self._number[id(e)]] = tally.resharding(e)
        return Terms(work, inside, resharding).measure()
