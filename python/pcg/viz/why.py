"""Why the program is sharded as it is: the two decisions behind each collective, and where each layout comes from.

The facts are found in `pcg.explain` (`origins`, `causes`, `conflicts`); here they are matched with the collectives
of the lowered program, one for one, and with the user's names of arguments and results.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.driver.compilation import Compilation
from pcg.driver.cost import Collective, Cost
from pcg.driver.module_program import entry_function
from pcg.explain.causes import Cause, Causes
from pcg.explain.chains import annotated, chain_text, chains, elsewhere, steps
from pcg.explain.conflicts import conflicts
from pcg.explain.origins import Origins, Result, Site
from pcg.ir.locations import place
from pcg.ir.walk import walk
from pcg.lower.redistribution_ops import DIST_COLLECTIVES
from pcg.machine.units import bytes_text, time_text
from pcg.rules.manual import is_manual
from pcg.search.what_if import Other
from pcg.viz.names import listed

#: Groups of collectives in the report, those that take longest.  This and the next: choices.
TOP = 8
#: Names of tensors in one line.
_TENSORS = 6
#: Columns of the report.
_WIDTH = 120
#: Readers named per collective.
_READERS = 3


@dataclass(frozen=True)
class Reason:
    """One collective of the lowered program and why it is there.

    `other` is what the program costs, by the measure of `dist-measure`, if the first reader takes the value as it is,
    all else unchanged; `other_seconds` is how much longer a step takes then.  None where that is not possible.
    """

    collective: Collective
    cause: Cause
    other: Other | None
    other_seconds: float | None

    def lines(self) -> list[str]:
        """Why the value has its layout, why its readers need another, and what the alternative costs."""
        wants = [d.text for d in self.cause.consumers] or ["nobody reads it"]
        shown = wants[:_READERS] + ([f"(and {len(wants) - _READERS} more)"] if len(wants) > _READERS else [])
        out = [f"produced: {self.cause.producer.text}", *(f"read: {w}" for w in shown)]
        if self.other_seconds is not None:
            more = time_text(self.other_seconds)
            out.append(f"else: taken as it is, {more} more per step by dist-measure, all else unchanged")
        return out


class Reasons:
    """Everything that can be said about why `compilation` is sharded as it is."""

    def __init__(self, compilation: Compilation, stage: str = "collectives") -> None:
        self.compilation, self.mesh = compilation, compilation.mesh
        program, self.module = compilation.program, compilation.modules[stage]
        self.func = entry_function(self.module)
        names, results = ([x.name for x in leaves] for leaves in (program.arguments, program.results))
        with self.module.context:
            self.origins = Origins(self.func, self.mesh, names, results)
            self.causes = Causes(
                self.origins, CostModel(compilation.machine, self.mesh), entry_function(compilation.modules["plan"]),
                dict(compilation.plan.state),
            )  # fmt: skip

    def collectives(self, found: Sequence[Collective]) -> list[Reason]:
        """A reason for every collective of the lowered program, in its order."""
        ops = list(walk(self.func))
        bodies = {_body_number(op): op for op in ops if is_manual(op)}
        out = []
        with self.module.context:
            for c in found:
                number = self.compilation.sources.get(c.channel)
                op = ops[number] if number is not None else bodies.get((c.channel >> 16) - 1)
                if op is None:
                    raise LookupError(f"collective {c.kind} (channel {c.channel}) is of no op of the program")
                cause = self.causes.of(op)[0] if op.name in DIST_COLLECTIVES else self.causes.own(
                    op, c.kind, c.axes, c.bytes, c.seconds
                )
                out.append(self.reason(c, cause))
        return out

    def reason(self, collective: Collective, cause: Cause) -> Reason:
        """A collective with its cause and the other choice."""
        other = self.causes.alternative(cause)
        return Reason(collective, cause, other, None if other is None else self.causes.more(other))

    def conflicts(self) -> list[str]:
        """Where two annotations wanted different things, and how that was settled."""
        with self.module.context:
            return list(conflicts(self.causes, self.causes.all()))

    def find(self, tensor: str | int) -> list[Site]:
        """The values that a user means.

        Args:
          tensor: name or number of an argument, name of a result, `model.py:12` (what is computed on that line), or
            `%12` as the text of the stage names it.

        Raises:
          ValueError: there is none; says what there is.
        """
        o = self.origins
        arguments = list(o.block.arguments)
        if isinstance(tensor, int):
            if not 0 <= tensor < len(arguments):
                raise ValueError(f"argument {tensor}; the program has {len(arguments)} arguments, numbered from 0")
            return [arguments[tensor]]
        if tensor in o.names:
            return [arguments[o.names.index(tensor)]]
        if tensor in o.result_names:
            return [Result(o.result_names.index(tensor))]
        if tensor.startswith("%"):
            state = ir.AsmState(self.module.operation)
            values = [r for op in walk(self.func) for r in op.results] + arguments
            found: list[Site] = [v for v in values if v.get_name(state) == tensor]
        else:
            found = [r for op in o.computing_ops() if place(op.location) == tensor for r in op.results]
        if not found:
            names = ", ".join([*o.names[:6], *o.result_names[:3]])
            raise ValueError(
                f"no tensor {tensor!r}; expected the name of an argument or result ({names}, ...), the number of an"
                " argument, a line as model.py:12, or a value as %12 in as_text()"
            )
        return found


def why(compilation: Compilation, tensor: str | int) -> str:
    """Why one tensor is sharded as it is: its chain to an annotation, and what it is redistributed for.

    Raises:
      ValueError: no such tensor.
    """
    reasons = Reasons(compilation, "pcg")
    lines: list[str] = []
    for site in reasons.find(tensor):
        lines += _block(reasons.origins, site)
        value = None if isinstance(site, Result) else reasons.origins.source(site)
        for cause in reasons.causes.all():
            if value is not None and reasons.origins.source(cause.value) == value:
                reason = reasons.reason(_as_collective(cause), cause)
                lines.append(f"  {_head(reason.collective, 1)}")
                lines += _wrapped(reason.lines())
    return "\n".join(lines) + "\n"


def _block(o: Origins, site: Site) -> list[str]:
    """The layout of one value, each of its chains with a line per link."""
    head = f"{o.name(site)} is {o.layout_text(o.spec(site))}"
    if text := annotated(o, site):
        return [f"{head}: {text}"]
    lines = [head]
    for chain in chains(o, site):
        links = steps(o, chain)
        end = f"{o.decided_by()}, no annotation implies it"
        if chain.annotation is not None:
            end = o.annotation_text(chain.annotation, chain.links[-1].site)
        lines += [f"  {o.axes([chain.axis])}" + ("" if links else f": {end}"), *(f"    {x}" for x in links)]
        if links:
            lines.append(f"    {end}")
    return lines if len(lines) > 1 else [f"{head}: replicated, {o.decided_by()}{elsewhere(o, site)}"]


def collectives_section(reasons: Reasons, cost: Cost, verbose: bool = False) -> str:
    """The collectives with their two decisions, those that take longest first; those of repeated layers are one."""
    groups: dict[tuple, list[Reason]] = {}
    for r in reasons.collectives(cost.collectives):
        key = (r.collective.kind, r.collective.axes, r.collective.type, *map(_starred, r.lines()))
        groups.setdefault((len(groups),) if verbose else key, []).append(r)
    ordered = sorted(groups.values(), key=lambda g: -sum(r.collective.seconds * r.collective.times for r in g))
    lines = []
    for group in ordered if verbose else ordered[:TOP]:
        lines.append(f"  {_head(group[0].collective, sum(r.collective.times for r in group))}")
        lines += _wrapped(group[0].lines())
    if not verbose and (left := len(ordered) - TOP) > 0:
        lines.append(f"  and {left} kinds more, which take less time: explain(verbose=True)")
    return "\n".join(lines)


def layouts_section(reasons: Reasons, verbose: bool = False) -> str:
    """Which annotation the layouts of arguments and results come from; every chain by itself where `verbose`."""
    o = reasons.origins
    sites: list[Site] = [*o.block.arguments, *map(Result, range(len(o.results)))]
    if verbose:
        return "\n".join(f"  {line}" for site in sites for line in chain_text(o, site))
    groups: dict[str, list[str]] = {}
    for site in sites:
        found = chains(o, site)
        if text := annotated(o, site):
            groups.setdefault(text, []).append(f"{o.name(site)} {o.layout_text(o.spec(site))}")
            continue
        chosen = [c.axis for c in found if c.annotation is None]
        for c in found:
            if c.annotation is not None:
                end = o.annotation_text(c.annotation, c.links[-1].site)
                groups.setdefault(f"{o.axes([c.axis])}, as {end}", []).append(o.name(site))
        if chosen or not found:
            what = f"{o.axes(chosen)} {o.decided_by()}" if chosen else f"replicated, {o.decided_by()}"
            groups.setdefault(what, []).append(o.name(site))
    return "\n".join(f"  {why}: {_names(names)}" for why, names in groups.items())


def _names(names: Sequence[str]) -> str:
    """Names, those that differ in numbers only once, and not too many."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_starred(name), []).append(name)
    shown = [g[0] + (f" (and {len(g) - 1} like it)" if len(g) > 1 else "") for g in groups.values()]
    return listed(shown, _TENSORS)


def _head(c: Collective, times: int) -> str:
    """`all_reduce over model of f32[8,16], 12 times, each 1.00 KiB sent in 3.0 us`."""
    each = f"{bytes_text(c.bytes)} sent in {time_text(c.seconds)}"
    count = f"{times} times, each {each}" if times > 1 else each
    return f"{c.kind} over {'+'.join(c.axes)} of {c.type}, {count}"


def _wrapped(lines: Sequence[str]) -> list[str]:
    """Lines under a head, long ones broken."""
    out = []
    for line in lines:
        out += textwrap.wrap(line, _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 10, break_on_hyphens=False)
    return out


def _as_collective(cause: Cause) -> Collective:
    """A cause before lowering, on the global tensor."""
    t = cause.value.type
    kind = f"{t.element_type}[{','.join(map(str, t.shape))}]" if isinstance(t, ir.RankedTensorType) else str(t)
    return Collective(cause.kind, cause.axes, kind, cause.bytes, cause.seconds, cause.times, place(cause.op.location))


def _body_number(op: ir.Operation) -> int:
    symbol = ir.FlatSymbolRefAttr(op.attributes["called_computations"][0]).value
    return int("".join(c for c in symbol if c.isdigit()) or 0)


def _starred(text: str) -> str:
    """A text with numbers starred, so that repeated layers have the same."""
    return re.sub(r"\d+(\.\d+)?", "*", text)
