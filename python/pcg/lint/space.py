"""The plans of a program with some of its annotations dropped: one graph, reduced once, solved for any of them.

An annotation is a set of choices of some decisions.  So all variants share the graph of the program without
annotations.  Its decisions that no annotation concerns are eliminated exactly, as far as that goes; a variant is the
core that is left, without the choices that its annotations forbid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.shardings import CONSTRAINTS
from pcg.layout import ShardSpec
from pcg.lint.annotations import collect
from pcg.rules.factor import FactorRule
from pcg.search.assign import Decided, WithPlans, place
from pcg.search.build import Builder, adds
from pcg.search.choices import Building
from pcg.search.fit import fit
from pcg.search.graph import Source
from pcg.search.measure import close_loop
from pcg.search.outcome import DoesNotFit
from pcg.search.pure_plans import pure_plans
from pcg.search.table import Table, Tables
from pcg.search.terms import ReshardCosts, measured
from pcg.solve.effort import DEFAULT
from pcg.solve.ilp import first_guess, solve
from pcg.solve.network import FORBIDDEN
from pcg.solve.reduce import reduce
from pcg.solve.trws import ascend

#: Of every variant; many are alike, and the plans of those before are known.
_EFFORT = replace(DEFAULT, patience=1e-3, small=0, large=0)


@dataclass(frozen=True, eq=False)
class Figures:
    """The best plan found that keeps some annotations.

    `seconds` of a step are infinite where no plan keeps them all; `bytes` are what one device sends, `peak_bytes`
    what it holds at most, `fits` whether that is within the limit.  `choice` is per class of decisions.
    """

    seconds: float
    compute: float
    communication: float
    bytes: float
    peak_bytes: float
    fits: bool
    choice: tuple[int, ...] = field(repr=False)

    @property
    def possible(self) -> bool:
        """Whether there is a plan at all."""
        return math.isfinite(self.seconds)


#: Layouts that take the place of an annotation: choice by class of decisions.
Fixed = Mapping[int, int]


@dataclass
class Unannotated:
    """All choices of a program without annotations; annotated layouts, and those of the plans, are among them."""

    plans: WithPlans
    counts_generated = False

    def is_free(self, op: ir.Operation, values: Mapping[ir.Value, Source]) -> bool:
        return self.plans.is_free(op, values)

    def of_value(
        self, what: ir.Value | int, shape: tuple[int, ...], fixed: ShardSpec | None, now: Building,
        open_dims: Sequence[int] = (), partial: str | None = None,
    ) -> Table:  # fmt: skip
        if fixed is None:
            return self.plans.of_value(what, shape, None, now, (), partial)
        more: list[ShardSpec] = []
        if isinstance(what, ir.OpResult):
            partial, more = _partial(what, now)
        table = self.plans.of_value(what, shape, None, now, (), partial)
        annotated = now.tables.extending(fixed, open_dims, shape).outs[0].specs
        return now.tables.with_specs(table, (*annotated, *more))

    def of_op(self, op: ir.Operation, rule: FactorRule, now: Building) -> Table:
        return self.plans.of_op(op, rule, now)

    def ruled_out(self, op: ir.Operation, table: Table) -> np.ndarray | None:
        """Nothing: the annotations of ops are masks of `Space` too."""
        return None


def _partial(value: ir.OpResult, now: Building) -> tuple[str | None, list[ShardSpec]]:
    """By which reduction a value without annotation may be partial, and further layouts that its defining op yields."""
    op = value.owner.operation
    if op.name == "stablehlo.while":
        return ("sum" if adds(op.operands[value.result_number]) else None), []
    if op.name not in CONSTRAINTS:
        return None, []
    source = now.values[op.operands[0]]
    if source.free:
        return None, []
    port = now.graph.nodes[source.node].table.outs[source.slot]
    kinds = [k for s in port.specs for _, k in s.partial]
    return (kinds[0] if kinds else None), list(port.specs)


class Space:
    """All plans of one function, with its annotations as conditions that can be dropped or replaced one by one."""

    def __init__(
        self,
        func: ir.Operation,
        decided: Sequence[Decided],
        model: CostModel,
        state: dict[int, int],
        names: tuple[Sequence[str], Sequence[str]],
        memory_limit: float | None = None,
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Build the graph and reduce it.

        Args:
          decided: what the engines of propagation derive from all annotations: plans to start from.
          state: result number -> argument whose next value it is.
          names: what arguments and results are called.
          memory_limit: bytes per device, or no limit.
        """
        self.func, self.model, self.state, self.limit = func, model, state, memory_limit
        self.mesh = model.mesh
        self.progress = progress
        builder = Builder(model, Tables.on(model.mesh), Unannotated(WithPlans(decided)))
        self.built = built = builder.build(func, state)
        close_loop(built, state, func)
        self.annotations = collect(func, built, state, self.mesh, names)
        self.resharding = ReshardCosts(model)
        plans = [(d.name, place(func, built, d, self.resharding)) for d in decided]
        nodes = built.graph.nodes
        owner = {s.node: a.index for a in self.annotations for s in a.sites}
        for n, node in enumerate(nodes):
            # Decisions of different annotations, or that an engine takes differently, are not equivalent.
            labels = [node.label, str(owner.get(n, "")), *(str(x[n]) for _, x in plans)]
            nodes[n] = replace(node, label="/".join(labels))
        self.quotient = built.quotient(model)
        self.network = self.quotient.network()
        #: Per annotation and class that it concerns: the choices that have its layout.
        self.masks: list[dict[int, np.ndarray]] = []
        for a in self.annotations:
            mine: dict[int, np.ndarray] = {}
            for s in a.sites:
                c = self.quotient.class_of[s.node]
                mine[c] = mine[c] & s.allowed if c in mine else s.allowed
            self.masks.append(mine)
        annotated = sorted({c for m in self.masks for c in m})
        self.base = reduce(self.network, keep=annotated)
        self._at = {c: p for p, c in enumerate(self.base.kept)}
        self._core = self.base.core
        #: Per variable of the core: which of its choices some variant may use.
        self._open = [np.ones(len(u), dtype=bool) for u in self._core.unary]
        starts = [self.quotient.per_class(x) for _, x in plans]
        starts += [x for _, x in pure_plans(self.quotient, self.network)]
        self._seeds = [self.base.project(x) for x in starts]
        self._known: dict[tuple, Figures] = {}
        self.solved = 0
        """How many variants were solved."""
        self._bound()

    def _bound(self) -> None:
        """Reparametrise the core by dual ascent, and leave out choices that no variant uses (reduced-cost fixing).

        Forbidding choices only raises the cost of plans: a choice with which the bound of the core exceeds the cost of
        the plan with all annotations is in the best plan of no variant that drops some.
        """
        if not self._core.unary:
            return
        start = min([first_guess(self._core), *self._seeds], key=self._core.cost)
        found = ascend(self._core, start, patience=1e-3)
        self._seeds.append(found.x)
        self._core = found.network()
        all_kept = self.best(range(len(self.annotations)))
        if all_kept.possible and all_kept.fits:
            self._open = found.open(self.base.core.cost(self.base.restricted(all_kept.choice)) * (1 + 1e-3))
            for mask, seed in zip(self._open, zip(*self._seeds, strict=True), strict=True):
                mask[list(seed)] = True

    # -- variants ------------------------------------------------------------------------------

    def best(
        self, kept: Sequence[int], fixed: Fixed | None = None, near: Sequence[Figures] = (), cutoff: float = math.inf
    ) -> Figures:
        """The best plan found with the annotations `kept` as they are, the choices `fixed`, and no other annotations.

        It is no worse than any plan in `near` that satisfies them.  The search ends once no plan takes less than
        `cutoff` seconds, by the bound.
        """
        fixed = fixed or {}
        key = (tuple(sorted(kept)), tuple(sorted(fixed.items())), cutoff)
        if key not in self._known:
            self._known[key] = self._solve(self._penalties(kept, fixed), near, cutoff)
        return self._known[key]

    def layouts(self, annotation: int, of: Figures) -> Fixed:
        """What a plan has in the places of an annotation."""
        return {c: of.choice[c] for c in self.masks[annotation]}

    def specs(self, annotation: int, of: Figures) -> tuple[ShardSpec, ...]:
        """The layouts that a plan has in the places of an annotation, without repetition, as users write them."""
        nodes, class_of = self.built.graph.nodes, self.quotient.class_of
        mine = (
            nodes[s.node].table.outs[s.slot][of.choice[class_of[s.node]]].without_partial()
            for s in self.annotations[annotation].sites
        )
        return tuple(dict.fromkeys(mine))

    def node_choice(self, of: Figures) -> list[int]:
        """A plan as a choice per node of the graph."""
        return self.quotient.per_node(of.choice)

    def _penalties(self, kept: Sequence[int], fixed: Fixed) -> dict[int, np.ndarray]:
        """Per class: what each of its choices costs because the annotations forbid it."""
        out: dict[int, np.ndarray] = {}
        for a in sorted(kept):
            for c, allowed in self.masks[a].items():
                out[c] = np.where(allowed, out.get(c, 0.0), FORBIDDEN)
        for c, k in fixed.items():
            others = np.arange(len(self.network.unary[c])) != k
            out[c] = np.where(others, FORBIDDEN, out.get(c, 0.0))
        return out

    def _solve(self, penalties: dict[int, np.ndarray], near: Sequence[Figures], cutoff: float) -> Figures:
        self.solved += 1
        if not self._core.unary:
            return self._figures(self.base.expand([]), penalties)
        core = self._core.penalised({self._at[c]: p for c, p in penalties.items()}).restrict(self._open)
        starts = [*self._seeds, *(self.base.restricted(f.choice) for f in near)]
        kept = [np.flatnonzero(m) for m in self._open]
        # What has a choice that is left out is no start.
        allowed = [x for x in starts if all(m[k] for m, k in zip(self._open, x, strict=True))]
        inside = [[int(np.searchsorted(kept[p], k)) for p, k in enumerate(x)] for x in allowed]
        found = solve(core, inside, effort=_EFFORT, cutoff=cutoff - self.base.constant).x
        return self._figures(self.base.expand([int(kept[p][k]) for p, k in enumerate(found)]), penalties)

    def _figures(self, x: list[int], penalties: dict[int, np.ndarray]) -> Figures:
        """What the plan `x` costs; one that fits is looked for if it does not."""
        peak, fits = self.quotient.peak(x), True
        if self.limit is not None and peak > self.limit:
            fits = False
            try:
                network = self.network.penalised(penalties)
                other = fit(self.quotient, self.limit, network, [x], progress=self.progress)
            except DoesNotFit:
                pass
            else:
                if not any(p[other[c]] for c, p in penalties.items()):  # else it fits without the annotations alone
                    x, peak, fits = other, self.quotient.peak(other), True
        found = measured(self.built, self.quotient.per_node(x), self.resharding)
        wrong = any(p[x[c]] for c, p in penalties.items()) or found.seconds == FORBIDDEN
        seconds = math.inf if wrong else found.seconds
        return Figures(seconds, found.compute, found.communication, found.bytes, peak, fits, tuple(x))
