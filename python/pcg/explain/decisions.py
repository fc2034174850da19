"""The decisions behind a redistribution: why a value is made as it is, and why its reader wants it otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir import ir

from pcg.explain.origins import Chain, Origins, Result, Site
from pcg.explain.words import axis_place, maker, op_place, short
from pcg.ir.given import Given
from pcg.layout import ShardSpec
from pcg.lower.moves import MOVES
from pcg.rules import CONTROL_FLOW, TERMINATORS, traits
from pcg.rules.factor import Assignment, FactorRule
from pcg.rules.manual import is_manual
from pcg.rules.traits import Trait

#: An annotation and what it annotates.
Rival = tuple[Given, Site]


@dataclass(frozen=True)
class Decision:
    """One of the two decisions that meet, with the chains behind its layout (annotations come last in each).

    `rival` is the annotation because of which a reader does not take what it could take split otherwise.
    """

    text: str
    chains: tuple[Chain, ...] = ()
    rival: Rival | None = None


class Decisions:
    """The decisions that shaped a function, in words."""

    def __init__(self, origins: Origins) -> None:
        self.origins, self.mesh = origins, origins.mesh

    # -- what is made --------------------------------------------------------------------------

    def producer(self, value: ir.Value, spec: ShardSpec, lost: Sequence[str]) -> Decision:
        """Why `value` comes as it does in the axes that are taken away."""
        o = self.origins
        texts: list[str] = []
        chains: list[Chain] = []
        partial = [a for a in lost if a in spec.partial_axes]
        alike: dict[str, list[str]] = {}
        for axis in partial:
            text, more = self.partial(o.source(value), axis)
            alike.setdefault(text.replace(f" over {axis}", " over @"), []).append(axis)
            chains += more
        texts += [text.replace("@", o.axes(axes)) for text, axes in alike.items()]
        for d, axes in enumerate(spec.dims):
            split = [a for a in axes if a in lost]
            if not split:
                continue
            site = self._annotated(value)
            chain = o.chain(site, split[0])
            chains.append(chain)
            because = o.because(site, split[0])
            source = o.source(value)
            if o.spec(source) != spec and axis_place(o.spec(source), split[0]) is None:
                split = [a for a in axes if a in o.spec(source).used_axes] or split
                because = o.because(source if split[0] in o.spec(source).used_axes else site, split[0])
            if chain.given is not None and len(chain.links) == 1 and not chain.given.text:
                texts.append(because)
            else:
                texts.append(f"{o.name(value)} is split over {'+'.join(split)} in dimension {d}: {because}")
        return Decision("; ".join(texts) or f"{o.name(value)} comes as {o.shown(spec)}", tuple(chains))

    def _annotated(self, value: ir.Value) -> ir.Value:
        """`value`, or the source it was moved from where that is in the same layout."""
        source = self.origins.source(value)
        return source if self.origins.spec(source) == self.origins.spec(value) else value

    def partial(self, value: ir.Value, axis: str) -> tuple[str, list[Chain]]:
        """Why `value` is partial over `axis`, back through linear ops to the op that sums."""
        o = self.origins
        passed: list[ir.Operation] = []
        start = value
        kind = next((k for a, k in o.spec(value).partial if a == axis), "sum")
        for _ in range(10_000):
            op = maker(value)
            strategy = None if op is None or op.name in MOVES else o.strategy(op)
            if op is None or strategy is None:
                break
            rule, a = strategy
            f = next((f for f, axes in enumerate(a.axes) if axis in axes), None)
            if f is not None:
                word = "contracted" if traits.has(op.name, Trait.CONTRACTION) else "reduced"
                site, chain = self._through(op, rule, f, axis)
                text = f"{o.name(start)} is a partial {kind} over {axis}"
                if passed:
                    text += f" (made by {o.op(op)}, passed on by {short(passed[-1])})"
                whose = "the" if passed else "its"
                text += f": {whose} {word} dimension of size {rule.factors[f].size} is split over {axis}"
                which = next((i for i, v in enumerate(op.operands) if v == site), None)
                if which is not None and len(chain.links) > 1:
                    text += f" (operand {which}, {o.name(site)})"
                return text + f": {o.because(site, axis)}", [chain]
            following = [v for v in op.operands if axis in o.spec(v).partial_axes]
            if not following:
                break
            passed.append(op)
            value = o.source(following[0])
        return f"{o.name(start)} is a partial {kind} over {axis}", [o.chain(start, axis)]

    def _through(self, op: ir.Operation, rule: FactorRule, f: int, axis: str) -> tuple[ir.Value, Chain]:
        """The operand whose split of factor `f` has the nearest annotation."""
        o = self.origins
        sites = [v for v, t in zip(op.operands, rule.operands, strict=True) if any(f in dim for dim in t)]
        sites = [v for v in sites if axis in o.spec(v).used_axes] or list(op.results)
        best = min(sites, key=lambda v: ((c := o.chain(v, axis)).given is None, len(c.links)))
        return best, o.chain(best, axis)

    # -- what is wanted ------------------------------------------------------------------------

    def asked(self, value: ir.Value, spec: ShardSpec) -> list[Decision]:
        """Requests for the layout that a redistribution makes."""
        o = self.origins
        return [
            Decision(o.said(g, copy), tuple(o.chain(copy, a) for a in sorted(o.spec(copy).used_axes)))
            for copy in o.copies(value) for g in o.given.get(copy, ()) if g.text.startswith("a constraint")
        ]  # fmt: skip

    def consumer(
        self, op: ir.Operation, i: int, site: ir.Value, src: ShardSpec, dst: ShardSpec, lost: Sequence[str]
    ) -> Decision:
        """Why operand `i` of `op` cannot or shall not come in layout `src`."""
        o = self.origins
        if op.name == "func.return":
            return self._returned(i)
        if op.name in TERMINATORS:
            parent = op.parent.operation
            if parent.name == "stablehlo.while" and op.block == parent.regions[0].blocks[0]:
                return Decision(f"the condition of the loop{op_place(parent)} is needed whole")
            return self._kept(parent, i, site)
        if op.name in CONTROL_FLOW:
            return self._kept(op, i, site) if op.name == "stablehlo.while" else Decision(
                f"the predicate of {o.op(op)} is needed whole"
            )
        if is_manual(op):
            return Decision(f"a manual computation{op_place(op)} takes it as {o.shown(o.spec(site))}")
        strategy = o.strategy(op)
        if strategy is None:
            return Decision(f"{o.op(op)} wants it as {o.shown(o.spec(site))}")
        rule, a = strategy
        if rule.reason:
            return Decision(f"{o.op(op)} runs whole: {rule.reason}")
        texts: list[str] = []
        chains: list[Chain] = []
        rivals: list[Rival] = []
        want = o.spec(site)
        for axis in lost:
            place = axis_place(src, axis)
            assert place is not None
            if place >= 0 and axis_place(want, axis) == place:
                over = o.axes(want.dims[place])
                found = self._rival(f"{o.op(op)} takes dimension {place} split over {over}", site, want.dims[place][0])
            elif place < 0:
                found = Decision(self._nonlinear(op, i, rule, axis, src))
            else:
                found = self._whole(op, i, rule, a, axis, place)
            texts.append(found.text)
            chains += found.chains
            rivals += [found.rival] if found.rival is not None else []
        for d, axes in enumerate(want.dims):
            if any(f"dimension {d} split over" in text for text in texts):
                continue
            if come := [x for x in axes if axis_place(src, x) != d]:
                chain = o.chain(site, come[0])
                chains.append(chain)
                texts.append(f"{o.op(op)} takes dimension {d} split over {'+'.join(come)}: {o.because(site, come[0])}")
        text = "; ".join(dict.fromkeys(texts)) or f"{o.op(op)} takes {o.shown(want)}"
        return Decision(text, tuple(chains), next(iter(rivals), None))

    def _returned(self, i: int) -> Decision:
        o, site = self.origins, Result(i)
        spec = o.spec(site)
        chains = tuple(o.chain(site, a) for a in sorted(spec.used_axes))
        own = [g for g in o.given.get(site, ()) if not g.text]
        if own:
            return Decision(o.said(own[0], site), chains, (own[0], site))
        text = f"{o.name(site)} is returned " + ("whole" if spec.is_replicated else f"as {o.shown(spec)}")
        because = list(dict.fromkeys(o.because(site, a) for a in sorted(spec.used_axes))) or [o.decider()]
        return Decision(f"{text}: {'; '.join(because)}", chains)

    def _kept(self, op: ir.Operation, i: int, site: ir.Value) -> Decision:
        """What a loop carries, or a conditional gives."""
        o = self.origins
        spec, verb = o.spec(site), "carries it" if op.name == "stablehlo.while" else "gives it"
        because = list(dict.fromkeys(o.because(site, a) for a in sorted(spec.used_axes))) or [o.decider()]
        shown = "whole" if spec.is_replicated else f"as {o.shown(spec)}"
        chains = tuple(o.chain(site, a) for a in sorted(spec.used_axes))
        return Decision(f"{o.op(op)} {verb} {shown}: {'; '.join(because)}", chains)

    def _nonlinear(self, op: ir.Operation, i: int, rule: FactorRule, axis: str, src: ShardSpec) -> str:
        """Why `op` does not take a partial value."""
        o = self.origins
        kind = dict(src.partial)[axis]
        passes = [x for x in rule.linear if x.kind == kind and i in x.operands]
        if not passes:
            return f"{o.op(op)} needs whole values: it is not linear in operand {i}"
        for j in sorted(min(passes, key=lambda x: len(x.operands)).operands - {i}):
            value = o.source(op.operands[j])
            if axis not in o.spec(value).partial_axes:
                return f"{o.op(op)} needs whole values: its operand {j}, {o.name(value)}, is whole"
        return f"{o.op(op)} could pass partial values on, but they are added up before it: {o.decider()}"

    def _whole(self, op: ir.Operation, i: int, rule: FactorRule, a: Assignment, axis: str, d: int) -> Decision:
        """Why `op` does not take dimension `d` of operand `i` split over `axis`."""
        o, factors = self.origins, rule.operands[i][d]
        stuck = next((f for f in factors if not rule.factors[f].splittable), None)
        if stuck is not None:
            return Decision(f"{o.op(op)} needs dimension {d} whole: {rule.factors[stuck].reason}")
        if not factors:
            return Decision(f"{o.op(op)} needs dimension {d} whole")
        other = next((f for f, axes in enumerate(a.axes) if axis in axes), None)
        if other is not None and other not in factors:
            site, dim = self._where(op, rule, other, axis)
            at = f"dimension {dim} of {o.name(site)}" if dim is not None else "something else"
            return self._rival(f"{o.op(op)} uses {axis} for {at}", site, axis)
        if taken := [x for f in factors for x in a.axes[f] if x != axis]:
            site, _ = self._where(op, rule, next(f for f in factors if taken[0] in a.axes[f]), taken[0])
            return self._rival(f"{o.op(op)} has dimension {d} split over {o.axes(taken)}", site, taken[0])
        n, f = self.mesh.axis_size(axis), factors[0]
        if rule.factors[f].size % n and not rule.may_pad(f):
            return Decision(f"{o.op(op)} needs dimension {d} whole: {rule.factors[f].size} do not divide by {n}")
        text = f"{o.op(op)} takes dimension {d} whole"
        if (rival := self._neighbour(op, i, rule, factors)) is not None:
            return Decision(f"{text}: {o.said(*rival)}", rival=rival)
        if any(rule.factors[f].reduce for f in factors):
            text += " (split, its results would be partial)"
        return Decision(f"{text}: {o.decider()}")

    def _rival(self, text: str, site: ir.Value, axis: str) -> Decision:
        """A reader that wants something else, because of where `axis` is at `site`."""
        o = self.origins
        chain = o.chain(site, axis)
        rival = None if chain.given is None else (chain.given, chain.links[-1].site)
        return Decision(f"{text}: {o.because(site, axis)}", (chain,), rival)

    def _where(self, op: ir.Operation, rule: FactorRule, f: int, axis: str) -> tuple[ir.Value, int | None]:
        """The value around `op` that has factor `f` split over `axis` and the nearest annotation, and its dimension."""
        o = self.origins
        found = [
            (v, next((d for d, dim in enumerate(t) if f in dim), None))
            for v, t in zip((*op.operands, *op.results), (*rule.operands, *rule.results), strict=True)
            if axis in o.spec(v).used_axes
        ]
        return min(found, key=lambda x: ((c := o.chain(x[0], axis)).given is None, len(c.links)))

    def _neighbour(self, op: ir.Operation, i: int, rule: FactorRule, factors: Sequence[int]) -> Rival | None:
        """The annotation of another value around `op` that keeps these factors whole, if there is one."""
        o = self.origins
        sites: list[Site] = []
        for j, (value, t) in enumerate(zip(op.operands, rule.operands, strict=True)):
            if j != i and any(set(factors) & set(dim) for dim in t):
                sites.append(o.source(value))
        for value, t in zip(op.results, rule.results, strict=True):
            if any(set(factors) & set(dim) for dim in t):
                uses = [use for use in value.uses if use.owner.operation.name == "func.return"]
                sites += [value, *(Result(use.operand_number) for use in uses)]
        return next(((g, s) for s in sites for g in o.given.get(s, ())), None)
