"""The layout of one value in words: per axis the chain of values from it to the annotation, else who chose it."""

from __future__ import annotations

from pcg.explain.origins import Chain, Origins, Result, Site

#: Values of a chain that are named in one line; those between are counted.
_NAMED = 6


def annotated(origins: Origins, site: Site) -> str:
    """Who annotated `site` with the layout that it has; empty if nobody did."""
    own = [g for g in origins.annotations.get(site, ()) if g.spec == origins.spec(site)]
    if not own:
        return ""
    return "annotated" if not own[0].text else origins.annotation_text(own[0], site)


def chains(origins: Origins, site: Site) -> list[Chain]:
    """The chain of each axis that the layout of `site` names, in mesh order."""
    return [origins.chain(site, a) for a in origins.mesh.names if a in origins.spec(site).used_axes]


def steps(origins: Origins, chain: Chain) -> list[str]:
    """A line per link of a chain: the value that the axis comes from, its layout, and what hands the axis on."""
    o = origins
    return [
        f"<- {o.name(after).removeprefix('the result of ')} {o.layout_text(o.spec(after))} ({link.via})"
        for link, after in zip(chain.links, (x.site for x in chain.links[1:]), strict=False)
    ]


def chain_text(origins: Origins, site: Site) -> list[str]:
    """A line per axis with an annotation behind it, one for the axes that were chosen; one for a replicated value."""
    o = origins
    head = f"{o.name(site)} is {o.layout_text(o.spec(site))}"
    if text := annotated(o, site):
        return [f"{head}: {text}"]
    lines, chosen = [], []
    for chain in chains(o, site):
        if chain.annotation is None:
            chosen.append(chain.axis)
            continue
        links = steps(o, chain)
        if (left := len(links) - _NAMED) > 0:
            links[_NAMED // 2 : -_NAMED // 2] = [f"<- {left} value{'s' * (left > 1)} more"]
        end = o.annotation_text(chain.annotation, chain.links[-1].site)
        lines.append(f"{head}: {' '.join([o.axes([chain.axis]), *links])}: {end}")
    if chosen:
        lines.append(f"{head}: {o.axes(chosen)} {o.decided_by()}, no annotation implies it")
    return lines or [f"{head}: replicated, {o.decided_by()}{elsewhere(o, site)}"]


def elsewhere(origins: Origins, site: Site) -> str:
    """For a replicated value: the layout it is redistributed from, or those that it is split to; else empty."""
    o = origins
    value = o.returned(site) if isinstance(site, Result) else site
    source = o.source(value)
    if (computed := o.spec(source)) != o.spec(site):
        return f"; it is computed as {o.layout_text(computed)} and redistributed"
    found = list(dict.fromkeys(o.layout_text(o.spec(v)) for v in o.copies(source) if o.spec(v) != computed))
    return f"; split to {', '.join(found)} for readers" if found else ""
