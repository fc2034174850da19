"""Rules of a space: enumerated, pruned, proved."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pcg.solve.pool import each
from pcg.substitute.egraph import Directions, Equation
from pcg.substitute.errors import RuleError
from pcg.substitute.generate.enumerate import Enumeration
from pcg.substitute.generate.prune import as_property, bound, follows, general, named, other_sizes
from pcg.substitute.generate.space import Space
from pcg.substitute.library import line, rule_of
from pcg.substitute.properties import PROPERTIES
from pcg.substitute.prove import Proof, prove
from pcg.substitute.refute import counterexample
from pcg.substitute.rule import Rule
from pcg.substitute.term import Term

#: Candidates that are looked at before rules that were kept meanwhile are used.
_BATCH = 128


@dataclass
class Generated:
    """What was found in a space, step by step."""

    space: str
    size: int
    counts: dict[str, int] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    """Proved, smallest first."""
    proofs: list[Proof] = field(default_factory=list)
    unknown: list[Rule] = field(default_factory=list)
    """Of equal values wherever they were evaluated, and not proved: they are not used."""
    refuted: list[Rule] = field(default_factory=list)
    """Candidates of unequal values for other sizes, or on floats."""


def generate(
    space: Space, jobs: int = 1, state: Path | None = None, notify: Callable[[str, int, int], None] = lambda *_: None
) -> Generated:
    """All rules between terms of a space.

    What was found so far is kept in the file `state`, if there is one, from which a later call goes on.  The rules do
    not depend on `jobs`, the number of processes.

    Raises:
      RuleError: the file is not of this space.
    """
    progress = _State.load(state, space)
    if progress is None:
        progress = _candidates(space, notify)
        progress.save(state)
    kept = [rule_of(text) for text in progress.kept]
    refuted = [rule_of(text) for text in progress.refuted]
    directions = Directions(as_property(rule) for rule in kept)
    todo = [rule_of(text) for text in progress.candidates]
    while progress.done < len(todo):
        notify("candidates", progress.done, len(todo))
        batch = todo[progress.done : progress.done + _BATCH]
        before = len(kept)
        for rule, derived in zip(batch, _follow(batch, kept, jobs), strict=True):
            if derived or (len(kept) > before and follows(rule, directions)):
                continue
            if any(counterexample(r) is not None for r in (rule, *other_sizes(rule))):
                refuted.append(rule)
                continue
            kept.append(rule)
            directions.add(as_property(rule))
        progress.done += len(batch)
        progress.kept, progress.refuted = [line(r) for r in kept], [line(r) for r in refuted]
        progress.save(state)
    found = Generated(space.name, space.size, dict(progress.counts), refuted=refuted)
    for i, (rule, proof) in enumerate(zip(kept, each(_proved, kept, jobs), strict=True)):
        notify("proofs", i, len(kept))
        if proof is None:
            found.unknown.append(rule)
        else:
            found.rules.append(Rule(f"{space.name}-{len(found.rules) + 1}", rule.source, rule.destination))
            found.proofs.append(Proof(tuple(Equation(PROPERTIES[n], left, right) for n, left, right in proof)))
    found.counts |= {
        "kept": len(kept),
        "refuted": len(refuted),
        "proved": len(found.rules),
        "unknown": len(found.unknown),
    }
    return found


def _candidates(space: Space, notify: Callable[[str, int, int], None]) -> _State:
    enumeration = Enumeration(space)
    enumeration.run(lambda size: notify("operators", size, space.size))
    counts = enumeration.counts
    pairs = named(space, enumeration.candidates())
    rules = bound(pairs)
    left = general(rules)
    return _State(
        space.name,
        space.size,
        {
            "terms": counts.terms, "distinct": counts.distinct, "equal": counts.equal, "renamed": len(pairs),
            "bound": len(rules), "general": len(left),
        },
        [line(r) for r in left],
    )  # fmt: skip


@dataclass
class _State:
    """How far it is."""

    space: str
    size: int
    counts: dict[str, int]
    candidates: list[str]
    kept: list[str] = field(default_factory=list)
    refuted: list[str] = field(default_factory=list)
    done: int = 0

    @staticmethod
    def load(path: Path | None, space: Space) -> _State | None:
        if path is None or not path.exists():
            return None
        try:
            found = _State(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise RuleError(f"{path}: is no state of a generation: {error}") from None
        if (found.space, found.size) != (space.name, space.size):
            raise RuleError(
                f"{path}: is of {found.space} with {found.size} operators; allowed: {space.name} with {space.size}"
            )
        return found

    def save(self, path: Path | None) -> None:
        if path is not None:
            beside = path.with_name(path.name + ".new")
            beside.write_text(json.dumps(vars(self)), encoding="utf-8")
            os.replace(beside, path)


def _follow(rules: list[Rule], kept: list[Rule], jobs: int) -> list[bool]:
    """Of each rule whether it follows from those kept."""
    parts = [(rules[i::jobs], kept) for i in range(jobs)]
    found = list(each(_followed, parts, jobs))
    return [found[i % jobs][i // jobs] for i in range(len(rules))]


def _followed(part: tuple[list[Rule], list[Rule]]) -> list[bool]:
    directions = Directions(as_property(rule) for rule in part[1])
    return [follows(rule, directions) for rule in part[0]]


def _proved(rule: Rule) -> list[tuple[int, Term, Term]] | None:
    """The proof of a rule, with the numbers of its properties, whose conditions are functions and not pickled."""
    proof = prove(rule)
    if proof is None:
        return None
    numbers = {id(p): i for i, p in enumerate(PROPERTIES)}
    return [(numbers[id(e.property)], e.left, e.right) for e in proof.equations]
