"""Conflicts: where two annotations need one op in different layouts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch_mlir import ir

from pcg.explain.causes import Cause, Causes
from pcg.explain.explainer import Rival
from pcg.explain.origins import Chain, Origins, Result, Site
from pcg.explain.words import dim_of_axis
from pcg.ir import shardings
from pcg.ir.annotation import Annotation


def conflicts(causes: Causes, found: Sequence[Cause]) -> Iterator[str]:
    """Where two annotations need one op in different layouts: both annotations, which one is kept, and why."""
    o = causes.origins
    seen: set[tuple] = set()
    for c in found:
        lost = next((x for x in c.producer.chains if dim_of_axis(o.spec(c.value), x.axis) not in (None, -1)), None)
        won = next((d.rival for d in c.consumers if d.rival is not None), None)
        if lost is None or lost.annotation is None or won is None or c.user is None or lost.links[-1].site == won[1]:
            continue
        key = (c.user[0], lost.annotation, won[0])
        if key in seen:
            continue
        seen.add(key)
        op = c.user[0]
        where = "where it is returned" if op.name == "func.return" else f"at {o.op(op)}"
        kept = f"the second is kept there, {_settled(causes, c, lost, won)}"
        if op.name != "func.return" and lost.axis in (want := o.spec(op.operands[c.user[1]])).used_axes:
            if dim_of_axis(want, lost.axis) == dim_of_axis(o.spec(c.value), lost.axis):
                kept = f"both are kept there, as {o.layout_text(want)}"
        both = f"{o.annotation_text(lost.annotation, lost.links[-1].site)} and {o.annotation_text(*won)}"
        yield f"{both} disagree {where}: {kept}; {c.kind} over {o.axes(c.axes)}"


def _settled(causes: Causes, c: Cause, lost: Chain, won: Rival) -> str:
    """By what a conflict was settled."""
    o = causes.origins
    assert lost.annotation is not None and c.user is not None
    if isinstance(won[1], Result) and c.user[0].name == "func.return":
        return "because an annotated layout is exact"
    ranks = _priority(o, lost.annotation, lost.links[-1].site), _priority(o, *won)
    if o.engine == "priority" and ranks[0] != ranks[1]:
        return f"by priority ({ranks[1]} before {ranks[0]})"
    other = causes.alternative(c)
    cost = f" (the alternative costs {1e6 * causes.more(other):.1f} us more by dist-measure)" if other else ""
    if o.engine in ("global", "search", ""):
        return f"as that costs least in total{cost}"
    if o.engine == "plan":
        return f"as the plan says{cost}"
    return f"as less is redistributed so{cost}"


def _priority(o: Origins, annotation: Annotation, site: Site) -> int:
    """The first of the priorities that an annotation gives to the dimensions it splits."""
    numbers: tuple[int, ...] = ()
    if isinstance(site, Result):
        numbers = shardings.signature_priorities(o.func, "res_attrs", site.index)
    elif isinstance(site, ir.BlockArgument) and site.owner == o.block:
        numbers = shardings.signature_priorities(o.func, "arg_attrs", site.arg_number)
    return min((n for n, axes in zip(numbers, annotation.spec.dims, strict=False) if axes), default=0)
