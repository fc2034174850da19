"""Properties that follow from others: they are there since proofs are shorter with them."""

from __future__ import annotations

from collections.abc import Sequence

from pcg.substitute.property import Property
from pcg.substitute.prove import prove
from pcg.substitute.rule import Rule
from pcg.substitute.term import Term, variables
from pcg.substitute.validate import Sizes, instances

#: Instances of a property that are proved, and up to which size.
_INSTANCES, _SIZE = 3, 2


def follows_from(p: Property, others: Sequence[Property]) -> tuple[str, ...] | None:
    """Sources of the properties by which a few instances of one are proved without it; None unless there are such
    proofs of each.

    The instances are those with the most elements, each of other parameters.
    """
    rest = tuple(q for q in others if q is not p)
    sources: dict[str, None] = {}
    chosen = _largest(p)
    for left, right in chosen:
        all_here = variables(right).keys() <= variables(left).keys()
        proof = prove(Rule("", (left,), (right,)) if all_here else Rule("", (right,), (left,)), rest)
        if proof is None:
            return None
        sources |= dict.fromkeys(proof.sources)
    return tuple(sources) if chosen else None


def _largest(p: Property) -> list[tuple[Term, Term]]:
    best: dict[str, tuple[int, tuple[Term, Term]]] = {}
    for left, right in instances(p, Sizes(_SIZE)):
        elements = sum(t.elements for t in variables(left, right).values())
        if elements > best.get(str(left), (0, None))[0]:
            best[str(left)] = elements, (left, right)
    return [pair for _, pair in sorted(best.values(), key=lambda b: -b[0])[:_INSTANCES]]
