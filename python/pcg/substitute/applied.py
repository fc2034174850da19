"""What is said of rules that were applied to a program: where, from what they are proved, what they save."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pcg.substitute.library import named

#: What is between the names of rules of which one matches what the others add.
THEN = " then "


@dataclass(frozen=True)
class AppliedRules:
    """Rules that were applied one after another, at one or more places.

    `name` has the names of all with `THEN` between, `places` the user's line of each application (empty where the
    program has none), `proofs` of each rule what it replaces and from which properties it is proved.  `saved` is how
    many seconds more a step is estimated to take without all applications; None where that is not known.
    """

    name: str
    places: tuple[str, ...]
    proofs: tuple[str, ...]
    saved: float | None = None


def proofs(name: str) -> tuple[str, ...]:
    """Of each of the rules that `name` has with `THEN` between: what it replaces, and from what it is proved."""
    rules = [named(n) for n in name.split(THEN)]
    return tuple(
        f"{r.name}: {r.source} => {r.destination}" + (f", proved from properties: {r.proof}" if r.proof else "")
        for r in rules
    )


def applied_rules(
    applications: Iterable[tuple[str, str]], saved: dict[str, float] | None = None
) -> tuple[AppliedRules, ...]:
    """Applications, each the user's line and the names of the rules, by rules; `saved` is by the same names."""
    places: dict[str, list[str]] = {}
    for where, name in applications:
        places.setdefault(name, []).append(where)
    seconds = saved or {}
    return tuple(AppliedRules(n, tuple(found), proofs(n), seconds.get(n)) for n, found in places.items())
