"""The measure by which propagation engines are compared: estimated seconds of one step of a placed program.

Compute (a roofline per op) and communication (every collective and every redistribution) are added up,
as the search does.  A value that several ops read is kept in the layout, between the one it is computed in and
those its readers want, that takes the least resharding.  A result that is the next value of an
argument is resharded to that argument's layout at the end of the step.  Constants, and what is only computed from
them, are computed wherever they are needed and cost nothing.  See docs/decisions/0005-propagation-measure.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from torch_mlir import ir

from pcg.cost import CostModel, Timing
from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.layout import ShardSpec
from pcg.rules.factor import FactorRule, RuleError
from pcg.search.build import Builder
from pcg.search.built import Built
from pcg.search.choices import Building
from pcg.search.graph import Edge, Source
from pcg.search.read_work import describe
from pcg.search.table import Table, Tables
from pcg.search.terms import Measure, ReshardCosts, cheapest, measured


class NotPlaced(PcgError):
    """An op has no layouts, or has some under which it cannot run."""


def measure(func: ir.Operation, model: CostModel, state: dict[int, int]) -> Measure:
    """The measure of a function in which every value and op has its layouts.

    Args:
      model: costs of work and links on a machine and a mesh.
      state: result number -> argument whose next value it is.

    Raises:
      NotPlaced: some op or value has no layout, or an impossible one.
    """
    reshard_costs = ReshardCosts(model)
    return measured(*placed_graph(func.operation, reshard_costs, state), reshard_costs)


def placed_graph(func: ir.Operation, reshard_costs: ReshardCosts, state: dict[int, int]) -> tuple[Built, list[int]]:
    """The graph of a function in which every value and op has its layouts, and the choice for every node.

    Raises:
      NotPlaced: as `measure`.
    """
    built = Builder(reshard_costs.model, Tables.on(reshard_costs.model.mesh), choices=Placed()).build(func, {})
    close_loop(built, state, func)
    choice = [0] * len(built.graph.nodes)
    keep_values(built, choice, reshard_costs)
    return built, choice


def keep_values(built: Built, choice: list[int], reshard_costs: ReshardCosts) -> None:
    """Choose, in place, the layout in which each value that several ops read is kept, all else being decided."""
    nodes = built.graph.nodes
    seconds_of = {node: np.zeros(len(nodes[node].table)) for _, node in built.layout_nodes}
    for e in built.graph.edges:
        for node, other, into in ((e.dst, e.src, True), (e.src, e.dst, False)):
            if node not in seconds_of:
                continue
            table = nodes[other].table
            known = table.outs[e.slot][choice[other]] if into else table.ins[e.index][choice[other]]
            seconds_of[node] += e.times * reshard_costs.row(known, nodes[node].table, e, into)
    for node, seconds in seconds_of.items():
        choice[node] = cheapest(seconds)


def close_loop(built: Built, state: dict[int, int], func: ir.Operation) -> None:
    """Add the resharding of each result that is the next value of an argument to that argument's layout."""
    arguments = func.regions[0].blocks[0].arguments
    for result, argument in state.items():
        src, dst = built.results[result], built.arguments[argument]
        if src != dst:
            shape, itemsize, _ = describe(arguments[argument])
            built.graph.edges.append(Edge(src, 0, dst, 0, shape, itemsize, 1.0, Timing.FINAL))


class Placed:
    """The layouts that everything has: a node has one choice, a value that several ops read has all."""

    counts_generated = False

    def __init__(self) -> None:
        self._inferred: dict[tuple, Table] = {}

    def is_free(self, op: ir.Operation, values: Mapping[ir.Value, Source]) -> bool:
        return False

    def of_value(
        self, what: ir.Value | int, shape: tuple[int, ...], fixed: ShardSpec | None, now: Building,
        open_dims: Sequence[int] = (), partial: str | None = None,
    ) -> Table:  # fmt: skip
        if fixed is None:
            if isinstance(what, ir.OpResult):
                raise NotPlaced(f"result {what.result_number} has no layout", what.owner)
            name = f"result {what}" if isinstance(what, int) else f"argument {ir.BlockArgument(what).arg_number}"
            raise NotPlaced(f"{name} has no layout", now.func)
        return now.tables.fixed(fixed)

    def of_op(self, op: ir.Operation, rule: FactorRule, now: Building) -> Table:
        operands, results = shardings.operand_specs(op) or [], shardings.result_specs(op)
        if len(operands) != len(op.operands) or None in operands or None in results:
            raise NotPlaced(f"'{op.name}' op lacks the layout of an operand or result", op)
        key = (rule, *operands, *results)  # not its id: that of a rule that is gone may be another's
        found = self._inferred.get(key)
        if found is None:
            try:
                a = rule.infer(operands, results, now.tables.mesh)  # type: ignore[arg-type]
            except RuleError as error:
                raise NotPlaced(f"'{op.name}' op cannot have these layouts: {error}", op) from None
            found = self._inferred[key] = now.tables.only(rule, a)
        return found

    def ruled_out(self, op: ir.Operation, table: Table) -> np.ndarray | None:
        return None
