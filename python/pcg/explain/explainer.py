"""Both sides of a redistribution: why a value has its layout, and why its reader needs another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir import ir

from pcg.explain.origins import Chain, Origins, Result, Site
from pcg.explain.words import at_location, dim_of_axis, short
from pcg.ir.annotation import Annotation
from pcg.ir.walk import defining_op
from pcg.layout import ShardSpec
from pcg.lower.redistribution_ops import REDISTRIBUTION_OPS
from pcg.rules import CONTROL_FLOW, TERMINATORS, traits
from pcg.rules.factor import Assignment, FactorRule
from pcg.rules.manual import is_manual
from pcg.rules.traits import Trait

#: An annotation and what it annotates.
Rival = tuple[Annotation, Site]


@dataclass(frozen=True)
class Explanation:
    """Why one side has its layout, with the chains behind that (annotations come last in each).

    `rival` is the annotation because of which a reader does not take the value split as it is.
    """

    text: str
    chains: tuple[Chain, ...] = ()
    rival: Rival | None = None


class Explainer:
    """Explains the layouts of a function in words."""

    def __init__(self, origins: Origins) -> None:
        self.origins, self.mesh = origins, origins.mesh

    # -- the producer --------------------------------------------------------------------------

    def producer(self, value: ir.Value, spec: ShardSpec, lost: Sequence[str]) -> Explanation:
        """Why `value` is split, or partial, over the axes `lost`, which a redistribution removes."""
        o = self.origins
        chains: list[Chain] = []
        axes_by_text: dict[str, list[str]] = {}
        for axis in [a for a in lost if a in spec.partial_axes]:
            text, chain = self.partial(o.source(value), axis)
            axes_by_text.setdefault(text.replace(f" over {axis}", " over @"), []).append(axis)
            chains.append(chain)
        texts = [text.replace("@", o.axes(axes)) for text, axes in axes_by_text.items()]
        for d, axes in enumerate(spec.dims):
            split = [a for a in axes if a in lost]
            if not split:
                continue
            site = self._annotated(value)
            chain = o.chain(site, split[0])
            chains.append(chain)
            because = o.reason(site, split[0])
            source = o.source(value)
            if o.spec(source) != spec and dim_of_axis(o.spec(source), split[0]) is None:
                split = [a for a in axes if a in o.spec(source).used_axes] or split
                because = o.reason(source if split[0] in o.spec(source).used_axes else site, split[0])
            if chain.annotation is not None and len(chain.links) == 1 and not chain.annotation.text:
                texts.append(because)
            else:
                texts.append(f"{o.name(value)} is split over {'+'.join(split)} in dimension {d}: {because}")
        return Explanation("; ".join(texts) or f"{o.name(value)} comes as {o.layout_text(spec)}", tuple(chains))

    def _annotated(self, value: ir.Value) -> ir.Value:
        """`value`, or the source it was redistributed from where that is in the same layout."""
        source = self.origins.source(value)
        return source if self.origins.spec(source) == self.origins.spec(value) else value

    def partial(self, value: ir.Value, axis: str) -> tuple[str, Chain]:
        """Why `value` is partial over `axis`, back through linear ops to the op that sums."""
        o = self.origins
        passed: list[ir.Operation] = []
        start = value
        kind = next((k for a, k in o.spec(value).partial if a == axis), "sum")
        for _ in range(10_000):
            op = defining_op(value)
            strategy = None if op is None or op.name in REDISTRIBUTION_OPS else o.strategy(op)
            if op is None or strategy is None:
                break
            rule, a = strategy
            f = next((f for f, axes in enumerate(a.axes) if axis in axes), None)
            if f is not None:
                word = "contracted" if traits.has(op.name, Trait.CONTRACTION) else "reduced"
                site, chain = self._through(op, rule, f, axis)
                text = f"{o.name(start)} is a partial {kind} over {axis}"
                if passed:
                    text += f" (computed by {o.op(op)}, passed on by {short(passed[-1])})"
                whose = "the" if passed else "its"
                text += f": {whose} {word} dimension of size {rule.factors[f].size} is split over {axis}"
                which = next((i for i, v in enumerate(op.operands) if v == site), None)
                if which is not None and len(chain.links) > 1:
                    text += f" (operand {which}, {o.name(site)})"
                return text + f": {o.reason(site, axis)}", chain
            following = [v for v in op.operands if axis in o.spec(v).partial_axes]
            if not following:
                break
            passed.append(op)
            value = o.source(following[0])
        return f"{o.name(start)} is a partial {kind} over {axis}", o.chain(start, axis)

    def _through(self, op: ir.Operation, rule: FactorRule, f: int, axis: str) -> tuple[ir.Value, Chain]:
        """The operand whose split of factor `f` has the nearest annotation."""
        o = self.origins
        sites = [v for v, t in zip(op.operands, rule.operands, strict=True) if any(f in dim for dim in t)]
        sites = [v for v in sites if axis in o.spec(v).used_axes] or list(op.results)
        best = min(sites, key=lambda v: self._remoteness(v, axis))
        return best, o.chain(best, axis)

    def _remoteness(self, value: ir.Value, axis: str) -> tuple[bool, int]:
        """By which values are ordered: how far it is from one to the annotation that `axis` comes from."""
        chain = self.origins.chain(value, axis)
        return chain.annotation is None, len(chain.links)

    # -- the readers ---------------------------------------------------------------------------

    def constraints(self, value: ir.Value) -> list[Explanation]:
        """The constraints on what redistributions make of `value`."""
        o = self.origins
        return [
            Explanation(o.annotation_text(g, copy), tuple(o.chain(copy, a) for a in sorted(o.spec(copy).used_axes)))
            for copy in o.copies(value) for g in o.annotations.get(copy, ()) if g.text.startswith("a constraint")
        ]  # fmt: skip

    def consumer(
        self, op: ir.Operation, i: int, site: ir.Value, src: ShardSpec, dst: ShardSpec, lost: Sequence[str]
    ) -> Explanation:
        """Why `op` cannot or does not take its operand `i` in layout `src`."""
        o = self.origins
        if op.name == "func.return":
            return self._returned(i)
        if op.name in TERMINATORS:
            parent = op.parent.operation
            if parent.name == "stablehlo.while" and op.block == parent.regions[0].blocks[0]:
                return Explanation(f"the condition of the loop{at_location(parent)} is needed replicated")
            verb = "carries" if parent.name == "stablehlo.while" else "returns"
            return self._kept(f"{o.op(parent)} {verb} it", site)
        if op.name == "stablehlo.while":
            return self._kept(f"{o.op(op)} carries it", site)
        if op.name in CONTROL_FLOW:
            return Explanation(f"the predicate of {o.op(op)} is needed replicated")
        if is_manual(op):
            return Explanation(f"a manual computation{at_location(op)} takes it as {o.layout_text(o.spec(site))}")
        strategy = o.strategy(op)
        if strategy is None:
            return Explanation(f"{o.op(op)} needs it as {o.layout_text(o.spec(site))}")
        rule, a = strategy
        if rule.reason:
            return Explanation(f"{o.op(op)} runs replicated: {rule.reason}")
        texts: list[str] = []
        chains: list[Chain] = []
        rival: Rival | None = None
        want = o.spec(site)
        for axis in lost:
            place = dim_of_axis(src, axis)
            assert place is not None
            if place >= 0 and dim_of_axis(want, axis) == place:
                over = o.axes(want.dims[place])
                found = self._rival(f"{o.op(op)} takes dimension {place} split over {over}", site, want.dims[place][0])
            elif place < 0:
                found = Explanation(self._nonlinear(op, i, rule, axis, src))
            else:
                found = self._unsplit(op, i, rule, a, axis, place)
            texts.append(found.text)
            chains += found.chains
            rival = rival or found.rival
        for d, axes in enumerate(want.dims):
            if any(f"dimension {d} split over" in text for text in texts):
                continue
            if come := [x for x in axes if dim_of_axis(src, x) != d]:
                chain = o.chain(site, come[0])
                chains.append(chain)
                texts.append(f"{o.op(op)} takes dimension {d} split over {'+'.join(come)}: {o.reason(site, come[0])}")
        text = "; ".join(dict.fromkeys(texts)) or f"{o.op(op)} takes {o.layout_text(want)}"
        return Explanation(text, tuple(chains), rival)

    def _returned(self, i: int) -> Explanation:
        o, site = self.origins, Result(i)
        if own := [g for g in o.annotations.get(site, ()) if not g.text]:
            chains = tuple(o.chain(site, a) for a in sorted(o.spec(site).used_axes))
            return Explanation(o.annotation_text(own[0], site), chains, (own[0], site))
        return self._kept(f"{o.name(site)} is returned", site)

    def _kept(self, head: str, site: Site) -> Explanation:
        """The reader keeps the layout of `site`: the function's result, a loop that carries it, a conditional."""
        o = self.origins
        spec = o.spec(site)
        axes = sorted(spec.used_axes)
        reasons = list(dict.fromkeys(o.reason(site, a) for a in axes)) or [o.decided_by()]
        layout = "replicated" if spec.is_replicated else f"as {o.layout_text(spec)}"
        return Explanation(f"{head} {layout}: {'; '.join(reasons)}", tuple(o.chain(site, a) for a in axes))

    def _nonlinear(self, op: ir.Operation, i: int, rule: FactorRule, axis: str, src: ShardSpec) -> str:
        """Why `op` does not take a partial value."""
        o = self.origins
        kind = dict(src.partial)[axis]
        passes = [x for x in rule.linear if x.kind == kind and i in x.operands]
        if not passes:
            return f"{o.op(op)} needs reduced values: it is not linear in operand {i}"
        for j in sorted(min(passes, key=lambda x: len(x.operands)).operands - {i}):
            value = o.source(op.operands[j])
            if axis not in o.spec(value).partial_axes:
                return f"{o.op(op)} needs reduced values: its operand {j}, {o.name(value)}, is not partial"
        return f"{o.op(op)} could pass partial values on, but they are reduced before it: {o.decided_by()}"

    def _unsplit(self, op: ir.Operation, i: int, rule: FactorRule, a: Assignment, axis: str, d: int) -> Explanation:
        """Why `op` does not take dimension `d` of operand `i` split over `axis`."""
        o, factors = self.origins, rule.operands[i][d]
        stuck = next((f for f in factors if not rule.factors[f].splittable), None)
        if stuck is not None:
            return Explanation(f"{o.op(op)} needs dimension {d} unsplit: {rule.factors[stuck].reason}")
        if not factors:
            return Explanation(f"{o.op(op)} needs dimension {d} unsplit")
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
            return Explanation(f"{o.op(op)} needs dimension {d} unsplit: {rule.factors[f].size} do not divide by {n}")
        text = f"{o.op(op)} takes dimension {d} unsplit"
        if (rival := self._neighbour(op, i, rule, factors)) is not None:
            return Explanation(f"{text}: {o.annotation_text(*rival)}", rival=rival)
        partial = " (split, its results would be partial)" if any(rule.factors[f].reduce for f in factors) else ""
        return Explanation(f"{text}{partial}: {o.decided_by()}")

    def _rival(self, text: str, site: ir.Value, axis: str) -> Explanation:
        """Why a reader needs another layout: because `axis` is where it is at `site`."""
        o = self.origins
        chain = o.chain(site, axis)
        rival = None if chain.annotation is None else (chain.annotation, chain.links[-1].site)
        return Explanation(f"{text}: {o.reason(site, axis)}", (chain,), rival)

    def _where(self, op: ir.Operation, rule: FactorRule, f: int, axis: str) -> tuple[ir.Value, int | None]:
        """The value around `op` that has factor `f` split over `axis` and the nearest annotation, and its dimension."""
        o = self.origins
        found = [
            (v, next((d for d, dim in enumerate(t) if f in dim), None))
            for v, t in zip((*op.operands, *op.results), (*rule.operands, *rule.results), strict=True)
            if axis in o.spec(v).used_axes
        ]
        return min(found, key=lambda x: self._remoteness(x[0], axis))

    def _neighbour(self, op: ir.Operation, i: int, rule: FactorRule, factors: Sequence[int]) -> Rival | None:
        """The annotation of another value around `op` that leaves these factors unsplit, if there is one."""
        o = self.origins
        sites: list[Site] = []
        for j, (value, t) in enumerate(zip(op.operands, rule.operands, strict=True)):
            if j != i and any(set(factors) & set(dim) for dim in t):
                sites.append(o.source(value))
        for value, t in zip(op.results, rule.results, strict=True):
            if any(set(factors) & set(dim) for dim in t):
                uses = [use for use in value.uses if use.owner.operation.name == "func.return"]
                sites += [value, *(Result(use.operand_number) for use in uses)]
        return next(((g, s) for s in sites for g in o.annotations.get(s, ())), None)
