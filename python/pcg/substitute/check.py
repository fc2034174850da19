"""What is to be said of rules that somebody else wrote: proved, refuted, ill-typed or unknown."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from itertools import product
from random import Random

from pcg.substitute.errors import RuleError, TermError, UnknownOperatorError
from pcg.substitute.prove import Proof, prove
from pcg.substitute.refute import counterexample
from pcg.substitute.rule import Rule
from pcg.substitute.rule_file import PUBLISHED, FileRule

PROVED, REFUTED, ILL_TYPED, UNKNOWN = "proved", "refuted", "ill-typed", "unknown"
VERDICTS = (PROVED, REFUTED, ILL_TYPED, UNKNOWN)
#: Sizes of the dimensions of inputs that are tried, how many choices of them at most, and of how many a rule is
#: evaluated.
_SIZES, _CHOICES, _EVALUATED = (2, 4, 8, 12), 200, 3


@dataclass(frozen=True)
class Verdict:
    """What was found of one rule."""

    name: str
    verdict: str
    reason: str = ""
    """Of a rule that is refuted a counterexample, of an ill-typed one what is wrong."""
    rule: Rule | None = None
    """Its terms, for the sizes that it was proved or refuted for."""
    proof: Proof | None = None


def check_entry(entry: FileRule | RuleError) -> Verdict:
    """`check`, and of an entry of a file that is malformed what is wrong with it."""
    if isinstance(entry, RuleError):
        return Verdict(str(entry).partition(" ")[0].partition(".")[0], ILL_TYPED, str(entry))
    return check(entry)


def check(rule: FileRule) -> Verdict:
    """Build the rule for several sizes of its inputs, look for a counterexample, then for a proof."""
    try:
        candidates = [rule.rule(_published(rule))]
    except UnknownOperatorError as error:
        return Verdict(rule.name, UNKNOWN, str(error))
    except RuleError as error:
        return Verdict(rule.name, ILL_TYPED, str(error))
    except TermError as error:
        candidates = []
        wrong = str(error)
    others = _other_sizes(rule)
    candidates += others[:_EVALUATED]
    if not candidates:
        return Verdict(rule.name, ILL_TYPED, wrong)
    for candidate in candidates:
        if found := counterexample(candidate):
            return Verdict(rule.name, REFUTED, str(found), candidate)
    # With sizes that differ no property applies because of sizes that happen to be equal.
    for candidate in dict.fromkeys((*others[:1], candidates[0])):
        if proof := prove(candidate):
            return Verdict(rule.name, PROVED, "", candidate, proof)
    return Verdict(rule.name, UNKNOWN, "no counterexample and no proof was found", candidates[0])


def verify(rule: Rule) -> Verdict:
    """Look for a counterexample of a rule, then for a proof."""
    if found := counterexample(rule):
        return Verdict(rule.name, REFUTED, str(found), rule)
    proof = prove(rule)
    if proof is None:
        return Verdict(rule.name, UNKNOWN, "no counterexample and no proof was found", rule)
    return Verdict(rule.name, PROVED, "", rule, proof)


def _published(rule: FileRule) -> dict[str, tuple[int, ...]]:
    m, k, n = PUBLISHED["m"], PUBLISHED["k"], PUBLISHED["n"]
    return {name: (1, n, k) if weight else (1, m, k) for name, weight in rule.inputs().items()}


def _other_sizes(rule: FileRule) -> list[Rule]:
    """The rule for other sizes of its inputs for which it has terms, those with the most different sizes first."""
    names = list(rule.inputs())
    every = len(_SIZES) ** (2 * len(names))
    if every <= _CHOICES:
        choices = list(product(_SIZES, repeat=2 * len(names)))
    else:
        random = Random(zlib.crc32(rule.name.encode()))
        choices = [tuple(random.choice(_SIZES) for _ in range(2 * len(names))) for _ in range(_CHOICES)]
    # Of many inputs that are added, sizes chosen by chance are rarely equal.
    choices += [(size,) * (2 * len(names)) for size in _SIZES]
    found: list[tuple[int, Rule]] = []
    for sizes in choices:
        shapes = {name: (1, *sizes[2 * i : 2 * i + 2]) for i, name in enumerate(names)}
        try:
            found.append((len(set(sizes)), rule.rule(shapes)))
        except (TermError, RuleError):
            continue
    return [rule for _, rule in sorted(found, key=lambda f: -f[0])]
