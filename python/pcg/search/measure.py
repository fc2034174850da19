"""The measure by which propagation engines are compared: estimated seconds of one step of a placed program.

Compute (a roofline per op) and communication (every collective and every redistribution) are added up,
as the search does.  A value that several ops read is kept in the layout, between the one it is made in and
those its readers want, for which the least has to be moved.  A result that is the next value of an
argument is moved to that argument's layout at the end of the step.  Constants, and what is only made of
them, are made wherever they are needed and cost nothing.  See docs/decisions/0005-propagation-measure.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.layout import ShardSpec
from pcg.reshard.planner import ReshardError
from pcg.reshard.planner import cost as reshard_cost
from pcg.rules import traits
from pcg.rules.factor import FactorRule, RuleError
from pcg.rules.traits import Trait
from pcg.search.build import Builder, Built, describe, uses
from pcg.search.graph import Edge
from pcg.search.network import FORBIDDEN
from pcg.search.table import Table, Tables


class NotPlaced(PcgError):
    """An op has no layouts, or has some under which it cannot run."""


@dataclass(frozen=True)
class Measure:
    """Seconds of one step by estimate, of which compute and communication, and the bytes that one device sends."""

    seconds: float
    compute: float
    communication: float
    bytes: float

    def __str__(self) -> str:
        return (
            f"{1e6 * self.seconds:.2f} us per step (compute {1e6 * self.compute:.2f} us, redistribution "
            f"{1e6 * self.communication:.2f} us, {self.bytes:.0f} bytes sent per device)"
        )


def measure(func: ir.Operation, model: CostModel, state: dict[int, int]) -> Measure:
    """The measure of a function in which every value and op has its layouts.

    Args:
      model: prices work and links on a machine and a mesh.
      state: result number -> argument whose next value it is.

    Raises:
      NotPlaced: some op or value has no layout, or an impossible one.
    """
    builder = PlacedBuilder(model, Tables.on(model.mesh))
    built = builder.build(func.operation, {})
    close_loop(built, state, func.operation)
    moves = Moves(model)
    choice = [0] * len(built.graph.nodes)
    keep_values(built, choice, moves)
    return builder.measure(choice, moves)


@dataclass
class Moves:
    """Prices of redistributions, remembered."""

    model: CostModel
    _known: dict[tuple, tuple[float, float]] = field(default_factory=dict)
    _rows: dict[tuple, np.ndarray] = field(default_factory=dict)

    def __call__(
        self, src: ShardSpec, dst: ShardSpec, shape: tuple[int, ...], itemsize: float, late: bool = False
    ) -> tuple[float, float]:
        """(seconds, bytes that one device sends); `late` as in `Edge`."""
        link = self.model.late_link if late else self.model.link
        key = (src, dst, shape, itemsize, late)
        found = self._known.get(key)
        if found is None:
            try:
                found = reshard_cost(src, dst, shape, itemsize, self.model.mesh, link)
            except ReshardError:
                found = FORBIDDEN, 0.0
            self._known[key] = found
        return found

    def row(self, known: ShardSpec, table: Table, e: Edge, into: bool) -> np.ndarray:
        """Seconds between `known` and every choice of a value with `table`: to it if `into`, else from it."""
        key = (known, table.index, e.shape, e.itemsize, e.late, into)
        found = self._rows.get(key)
        if found is None:
            pairs = ((known, s) if into else (s, known) for s in table.outs[0].specs)
            found = self._rows[key] = np.array([self(a, b, e.shape, e.itemsize, e.late)[0] for a, b in pairs])
        return found

    def total(self, edges: Iterable[Edge], built: Built, choice: Sequence[int]) -> tuple[float, float]:
        """(seconds, bytes) of all `edges` under `choice`."""
        nodes = built.graph.nodes
        seconds = sent = 0.0
        for e in edges:
            src = nodes[e.src].table.outs[e.slot][choice[e.src]]
            dst = nodes[e.dst].table.ins[e.index][choice[e.dst]]
            if src != dst:
                s, b = self(src, dst, e.shape, e.itemsize, e.late)
                seconds, sent = seconds + e.times * s, sent + e.times * b
        return seconds, sent


def keep_values(built: Built, choice: list[int], moves: Moves) -> None:
    """Choose, in place, the layout in which each value that several ops read is kept, all else being decided."""
    nodes = built.graph.nodes
    hubs = {hub: np.zeros(len(nodes[hub].table)) for _, hub in built.hubs}
    for e in built.graph.edges:
        for hub, other, into in ((e.dst, e.src, True), (e.src, e.dst, False)):
            if hub not in hubs:
                continue
            table = nodes[other].table
            known = table.outs[e.slot][choice[other]] if into else table.ins[e.index][choice[other]]
            hubs[hub] += e.times * moves.row(known, nodes[hub].table, e, into)
    for hub, seconds in hubs.items():
        choice[hub] = int(seconds.argmin())


def close_loop(built: Built, state: dict[int, int], func: ir.Operation) -> None:
    """Add the move of each result that is the next value of an argument to that argument's layout."""
    arguments = func.regions[0].blocks[0].arguments
    for result, argument in state.items():
        src, dst = built.results[result], built.arguments[argument]
        if src != dst:
            shape, itemsize, _ = describe(arguments[argument])
            built.graph.edges.append(Edge(src, 0, dst, 0, shape, itemsize, 1.0, late=True))


@dataclass
class MadeBuilder(Builder):
    """A builder for which whatever is made of constants costs nothing, annotated or not.

    It knows what a choice for its graph costs.
    """

    made: set[ir.Value] = field(default_factory=set)

    def measure(self, choice: Sequence[int], moves: Moves) -> Measure:
        """What a choice for every node costs."""
        nodes = self.graph.nodes
        seconds, sent = moves.total(self.graph.edges, self.built, choice)
        inside = 0.0
        for op, rule, n, each in self.built.exchanging:
            times, a = nodes[n].times, (nodes[n].table.assignments or ())[choice[n]]
            inside += float(each[choice[n]])
            for x in rule.exchanges:
                sent += times * x.wire_elements(a, self.tables.mesh) * describe(op.operands[x.operand])[1]
        work = sum(float(n.seconds[k]) for n, k in zip(nodes, choice, strict=True))
        return Measure(work + seconds, work - inside, seconds + inside, sent)

    def _op(self, op: ir.Operation, times: float) -> None:
        follows = traits.has(op.name, Trait.PROPAGATES_GENERATOR) and uses(op.results[0]) < 2
        if len(op.results) == 1 and (follows or traits.has(op.name, Trait.GENERATOR)):
            if all(v in self.made or self.built.values[v].free for v in op.operands):
                self.made.add(op.results[0])
        super()._op(op, times)

    def _constraint(self, op: ir.Operation, times: float) -> None:
        if op.operands[0] in self.made:
            self.made.add(op.results[0])
        super()._constraint(op, times)

    def _work(self, op: ir.Operation, rule: FactorRule, table: Table) -> np.ndarray:
        if len(op.results) == 1 and op.results[0] in self.made:
            return np.zeros(len(table))
        return super()._work(op, rule, table)


@dataclass
class PlacedBuilder(MadeBuilder):
    """Builds the graph of a function whose layouts are all given: a node has one choice, a value read often has all."""

    _inferred: dict[tuple, Table] = field(default_factory=dict)

    def _is_free(self, op: ir.Operation) -> bool:
        return False

    def _value_table(
        self, what: ir.Value | int, shape: tuple[int, ...], fixed: ShardSpec | None, open_dims: Sequence[int] = (),
        partial: str | None = None,
    ) -> Table:
        if fixed is None:
            if isinstance(what, ir.OpResult):
                raise NotPlaced(f"result {what.result_number} has no layout", what.owner)
            name = f"result {what}" if isinstance(what, int) else f"argument {ir.BlockArgument(what).arg_number}"
            raise NotPlaced(f"{name} has no layout", self.func)
        return self.tables.fixed(fixed)

    def _strategies(self, op: ir.Operation, rule: FactorRule) -> Table:
        operands, results = shardings.operand_specs(op) or [], shardings.result_specs(op)
        if len(operands) != len(op.operands) or None in operands or None in results:
            raise NotPlaced(f"'{op.name}' op lacks the layout of an operand or result", op)
        key = (rule, *operands, *results)  # not its id: that of a rule that is gone may be another's
        found = self._inferred.get(key)
        if found is None:
            try:
                a = rule.infer(operands, results, self.tables.mesh)  # type: ignore[arg-type]
            except RuleError as error:
                raise NotPlaced(f"'{op.name}' op cannot have these layouts: {error}", op) from None
            found = self._inferred[key] = self.tables.only(rule, a)
        return found

    def _fix(self, op: ir.Operation, node: int) -> None:
        pass

