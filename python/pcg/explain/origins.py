"""Where a layout comes from: the shortest path through the program from an annotation to each axis of each value.

An op uses an axis for one thing: for one factor, or to pass partial sums through.  So the operands and results of an op
that name an axis name it because of each other, and the one nearest to an annotation is why the others have it.  A
redistribution passes an axis on where that stays in its dimension.  An axis that no annotation reaches was chosen by
the search, or by an engine of propagation.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from torch_mlir import ir

from pcg.explain.words import DECIDERS, at_location, dim_of_axis, names_all, short
from pcg.ir import shardings
from pcg.ir.annotation import Annotation, annotations_of, engine_of, state_arguments
from pcg.ir.locations import argument_names
from pcg.ir.walk import walk
from pcg.layout import Mesh, ShardSpec, refine
from pcg.lower.redistribution_ops import REDISTRIBUTION_OPS
from pcg.rules import CONTROL_FLOW, TERMINATORS, RuleError, rule_for
from pcg.rules.factor import Assignment, FactorRule, factor_name
from pcg.rules.manual import is_manual
from pcg.rules.registry import shape


@dataclass(frozen=True)
class Result:
    """Result `index` of the function."""

    index: int


#: What has a layout.
Site: TypeAlias = "ir.Value | Result"


@dataclass(frozen=True)
class ChainLink:
    """One value of a chain, and how the axis comes to it from the next one: through `op`, which `via` describes."""

    site: Site
    op: ir.Operation | None
    via: str


@dataclass(frozen=True)
class Chain:
    """How `axis` came to the first link's value: link by link to the value that `annotation` annotates.

    Without an annotation there is one link, and the axis was chosen.
    """

    axis: str
    links: tuple[ChainLink, ...]
    annotation: Annotation | None


def computing_ops(func: ir.Operation) -> Iterator[ir.Operation]:
    """The ops of a function that compute."""
    return (op for op in walk(func) if op.name not in REDISTRIBUTION_OPS | TERMINATORS | {"func.func"})


class Origins:
    """The origin of every axis of every value in a function that has its layouts."""

    def __init__(
        self, func: ir.Operation, mesh: Mesh, names: Sequence[str] = (), result_names: Sequence[str] = ()
    ) -> None:
        """`names` and `result_names` are what the user calls arguments and results, if not as the IR does."""
        self.func, self.mesh = func.operation, mesh
        self.engine = engine_of(func)
        self.block = self.func.regions[0].blocks[0]
        self.end = self.block.operations[-1].operation
        self._yielded: dict[ir.Operation, list[ir.Operation]] = {}
        self.names = list(names) or argument_names(self.func)
        self.results = shardings.function_result_specs(self.func)
        self.result_names = list(result_names) or [
            f"result {i}" if len(self.results) > 1 else "the result" for i in range(len(self.results))
        ]
        #: Result -> argument whose next value it is, and whose layout it therefore has.
        self.state = state_arguments(self.func)
        self.annotations: dict[Site, list[Annotation]] = {}
        self._specs: dict[ir.Value, ShardSpec] = {}
        self._strategies: dict[ir.Operation, tuple[FactorRule, Assignment] | None] = {}
        self._before: dict[tuple[Site, str], tuple[Site, ir.Operation | None]] = {}
        self._source: dict[tuple[Site, str], Annotation] = {}
        self._find_annotations()
        self._follow_axes()

    # -- what there is -------------------------------------------------------------------------

    def spec(self, site: Site) -> ShardSpec:
        """The layout at a site; replicated where there is none."""
        if isinstance(site, Result):
            return self.results[site.index] or ShardSpec(())
        found = self._specs.get(site)
        if found is None:
            found = self._specs[site] = shardings.get(site) or ShardSpec.replicated(len(shape(site)))
        return found

    def strategy(self, op: ir.Operation) -> tuple[FactorRule, Assignment] | None:
        """An op's rule and what its layouts assign to the factors; None for ops that have no strategy."""
        if op not in self._strategies:
            found = None
            if op.name not in REDISTRIBUTION_OPS | CONTROL_FLOW | TERMINATORS and not is_manual(op):
                rule = rule_for(op)
                needs = shardings.operand_specs(op) or [None] * len(op.operands)
                operands = [n or self.spec(v) for n, v in zip(needs, op.operands, strict=True)]
                with contextlib.suppress(RuleError):
                    found = rule, rule.infer(operands, [self.spec(r) for r in op.results], self.mesh)
            self._strategies[op] = found
        return self._strategies[op]

    def computing_ops(self) -> Iterator[ir.Operation]:
        """The ops that compute."""
        return computing_ops(self.func)

    def source(self, value: ir.Value) -> ir.Value:
        """The value that redistributions made `value` of."""
        while not isinstance(value, ir.BlockArgument) and value.owner.operation.name in REDISTRIBUTION_OPS:
            value = value.owner.operation.operands[0]
        return value

    def returned(self, result: Result) -> ir.Value:
        """What the function returns there."""
        return self.end.operands[result.index]

    def copies(self, value: ir.Value) -> Iterator[ir.Value]:
        """`value`, and what redistributions make of it."""
        yield value
        for use in value.uses:
            op = use.owner.operation
            if op.name in REDISTRIBUTION_OPS:
                yield from self.copies(op.results[0])

    def _find_annotations(self) -> None:
        for op in walk(self.func):
            for g in annotations_of(op):
                if op == self.func:
                    site: Site = Result(g.index) if g.slot == "result" else self.block.arguments[g.index]
                else:
                    site = op.results[g.index]
                sites = [site] if isinstance(site, Result) or not g.text else list(self.copies(site))
                for s in sites:
                    # A constraint is on the redistributed copy; the value itself may be in another layout.
                    if not g.text or self.spec(s) == g.spec or names_all(g.spec, self.spec(s)):
                        self.annotations.setdefault(s, []).append(g)
            if op != self.func and is_manual(op):
                text = f"a manual computation{at_location(op)}"
                for slot, values in (("argument", op.operands), ("result", op.results)):
                    for i, v in enumerate(values):
                        self.annotations.setdefault(v, []).append(Annotation(slot, i, self.spec(v), text))

    # -- how axes get from value to value ------------------------------------------------------

    def _follow_axes(self) -> None:
        """Breadth first from the annotations, all at once."""
        queue: deque[tuple[Site, str]] = deque()
        for site, found in self.annotations.items():
            for g in found:
                for axis in sorted(g.spec.used_axes):
                    key = (site, axis)
                    if key not in self._source and dim_of_axis(self.spec(site), axis) == dim_of_axis(g.spec, axis):
                        self._source[key] = g
                        self._before[key] = (site, None)
                        queue.append(key)
        while queue:
            site, axis = queue.popleft()
            for other, op in self._neighbours(site, axis):
                key = (other, axis)
                if key not in self._before:
                    self._before[key] = (site, op)
                    queue.append(key)

    def _neighbours(self, site: Site, axis: str) -> Iterator[tuple[Site, ir.Operation]]:
        """Sites that have `axis` because `site` has, or that `site` has it because of."""
        if isinstance(site, Result):
            yield from self._if_named([self.returned(site)], axis, self.end)
            if site.index in self.state:
                yield from self._if_named([self.block.arguments[self.state[site.index]]], axis, self.end)
            return
        for use in site.uses:
            yield from self._through(use.owner.operation, use.operand_number, site, axis)
        if isinstance(site, ir.BlockArgument):
            owner = site.owner.owner.operation
            if site.owner == self.block:
                for result, argument in self.state.items():
                    if argument == site.arg_number and axis in self.spec(Result(result)).used_axes:
                        yield Result(result), self.end
            if owner.name == "stablehlo.while":
                yield from self._if_named(self._carry(owner, site.arg_number), axis, owner)
            return
        op = site.owner.operation
        if op.name in CONTROL_FLOW:
            yield from self._if_named(self._carry(op, ir.OpResult(site).result_number), axis, op)
        else:
            yield from self._through(op, None, site, axis)

    def _through(
        self, op: ir.Operation, operand: int | None, site: Site, axis: str
    ) -> Iterator[tuple[Site, ir.Operation]]:
        """Neighbours by an op that reads `site` as `operand`, or defines it (None)."""
        if op.name in REDISTRIBUTION_OPS:
            mine = dim_of_axis(self.spec(site), axis)
            for other in (op.operands[0], op.results[0]):
                if other != site and mine is not None and dim_of_axis(self.spec(other), axis) == mine:
                    yield other, op
        elif op.name == "func.return":
            assert operand is not None
            if axis in self.spec(Result(operand)).used_axes:
                yield Result(operand), op
        elif op.name in TERMINATORS:
            parent = op.parent.operation
            body = parent.name != "stablehlo.while" or op.block == parent.regions[1].blocks[0]
            if parent.name in CONTROL_FLOW and body:
                assert operand is not None
                yield from self._if_named(self._carry(parent, operand), axis, parent)
        elif op.name == "stablehlo.while":
            assert operand is not None
            yield from self._if_named(self._carry(op, operand), axis, op)
        elif op.name not in CONTROL_FLOW and self.strategy(op) is not None:
            yield from self._if_named([*op.operands, *op.results], axis, op)

    def _carry(self, op: ir.Operation, i: int) -> list[ir.Value]:
        """The values that are carry or result `i` of a loop or conditional."""
        values = [op.results[i]]
        if op.name == "stablehlo.while":
            values += [op.operands[i], *(r.blocks[0].arguments[i] for r in op.regions)]
        if op not in self._yielded:
            regions = [op.regions[1]] if op.name == "stablehlo.while" else list(op.regions)
            self._yielded[op] = [r.blocks[0].operations[-1].operation for r in regions]
        return values + [end.operands[i] for end in self._yielded[op]]

    def _if_named(self, values: Iterable[ir.Value], axis: str, op: ir.Operation) -> Iterator[tuple[Site, ir.Operation]]:
        return ((v, op) for v in values if axis in self.spec(v).used_axes)

    # -- answers -------------------------------------------------------------------------------

    def chain(self, site: Site, axis: str) -> Chain:
        """How `axis`, which the layout of `site` names, came there."""
        if (site, axis) not in self._before:
            return Chain(axis, (ChainLink(site, None, ""),), None)
        links = []
        while True:
            before, op = self._before[site, axis]
            links.append(ChainLink(site, op, self._via(op, site, before, axis) if op is not None else ""))
            if op is None:
                return Chain(axis, tuple(links), self._source[site, axis])
            site = before

    def _via(self, op: ir.Operation, site: Site, before: Site, axis: str) -> str:
        """How `op` passes `axis` on."""
        if op.name == "func.return":
            tied = isinstance(site, Result) and isinstance(before, ir.BlockArgument) and site.index in self.state
            tied = tied or (isinstance(before, Result) and isinstance(site, ir.BlockArgument))
            return "kept for the next step" if tied else "returned"
        if op.name in REDISTRIBUTION_OPS:
            return "before it was redistributed"
        if op.name in CONTROL_FLOW:
            return f"{'the loop' if op.name == 'stablehlo.while' else short(op)} keeps one layout"
        found = self.strategy(op)
        if found is None:
            return "returned"
        rule, a = found
        for f, axes in enumerate(a.axes):
            if axis in axes:
                return f"{self.op(op)}, dimension {factor_name(f)}" + (", contracted" if rule.factors[f].reduce else "")
        return f"{self.op(op)}, which passes partial values on"

    # -- words ---------------------------------------------------------------------------------

    def op(self, op: ir.Operation) -> str:
        """`dot_general at model.py:88`."""
        return short(op) + at_location(op)

    def name(self, site: Site) -> str:
        """`params['up']`, `result 0`, `the result of dot_general at model.py:88`."""
        if isinstance(site, Result):
            return self.result_names[site.index]
        if isinstance(site, ir.BlockArgument):
            if site.owner == self.block:
                return self.names[site.arg_number]
            return f"carry {site.arg_number} of the loop" + at_location(site.owner.owner.operation)
        source = self.source(site)
        if source != site:
            return self.name(source)
        op = site.owner.operation
        many = f"result {ir.OpResult(site).result_number}" if len(op.results) > 1 else "the result"
        return f"{many} of {self.op(op)}"

    def annotation_text(self, g: Annotation, site: Site) -> str:
        """Who annotated a layout: `params['up'] is annotated [-, model]`."""
        if g.text:
            verb = "takes it as" if g.text.startswith("a manual") and g.slot == "argument" else "asks for"
            return f"{g.text} {verb} {self.layout_text(g.spec)}"
        return f"{self.name(site)} is annotated {self.layout_text(g.spec)}"

    def layout_text(self, spec: ShardSpec) -> str:
        """A layout by the user's axes."""
        return str(refine.to_origin(spec, self.mesh))

    def axes(self, names: Iterable[str]) -> str:
        """Axes by the user's names."""
        return "+".join(refine.origin_names(names, self.mesh))

    def reason(self, site: Site, axis: str) -> str:
        """The end of a chain in a clause: an annotation with its distance, or who chose."""
        chain = self.chain(site, axis)
        if chain.annotation is None:
            return self.decided_by()
        end = chain.links[-1].site
        ops = sum(x.op is not None and x.op.name not in REDISTRIBUTION_OPS | TERMINATORS for x in chain.links)
        text = self.annotation_text(chain.annotation, end)
        return text + (f", {ops} op{'s' * (ops > 1)} away" if end != site and ops > 1 else "")

    def decided_by(self) -> str:
        """Who decided what no annotation implies."""
        return DECIDERS.get(self.engine, f"chosen by {self.engine}")
