"""Where two factor rules of one op differ: pcg's and Shardy's, taken apart into factors that lie at the same places.

A *place* is a position among the factors of one dimension of one operand or result.  Factors of the two sides that
share a place belong together; each group of them is compared:

| kind of difference | what it is |
|---|---|
| `equal` | the same places, size and kind |
| `no rule` | Shardy has no rule for the op, pcg splits it |
| `not read` | jaxlib does not read the op, so Shardy cannot say |
| `splits` | pcg splits what Shardy wants replicated |
| `whole` | Shardy gives it a factor that may be split, pcg keeps it whole |
| `whole, permuted`, `whole, reduced` | the same, where Shardy's factor is a permutation, a reduction |
| `whole, tied` | whole for both, but Shardy carries a sharding across it before it is replicated |
| `communication` | both split it, but they disagree on what must be sent (nothing, a neighbour's edge, totals) |
| `reduction` | one of the two makes the results partial, the other does not |
| `ties` | both split it, but different dimensions are split together |
| `factors` | both split it, but into different numbers of factors |
| `sizes` | the same, into factors of different sizes |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bench.shardy_rules import NO_RULE, Answer, Dims, ShardyRule
from pcg.rules import FactorRule
from pcg.rules.factor import factor_name

#: (tensor, dimension): tensors are numbered operands first.
Spot = tuple[int, int]


@dataclass(frozen=True)
class Part:
    """A factor of either side: its size, whether it may be split, what it reduces, what splitting it sends.

    `sizes`: those of its dimensions; Shardy names one of them.
    """

    size: int
    split: bool
    reduces: bool
    sends: str
    tied: bool
    spots: frozenset[Spot]
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Finding:
    """One group of factors: the kind of difference, and the factors of both sides as text."""

    kind: str
    ours: str
    shardy: str


def our_parts(rule: FactorRule) -> tuple[list[Part], list[Dims]]:
    """Factors of a rule of pcg and where they are."""
    tensors = [*rule.operands, *rule.results]
    sends: dict[int, str] = {}
    for e in rule.exchanges:
        if not e.padded:
            sends[e.factor] = e.kind
    parts = [
        Part(
            f.size, f.splittable, f.splittable and f.reduce is not None, sends.get(i, ""), f.splittable,
            _spots(tensors, i), f.sizes,
        )
        for i, f in enumerate(rule.factors)
    ]  # fmt: skip
    return parts, tensors


def shardy_parts(rule: ShardyRule) -> tuple[list[Part], list[Dims]]:
    """Factors of a rule of Shardy; a permutation factor is one whose splitting sends."""
    tensors = [*rule.operands, *rule.results]
    parts = []
    for i, (size, kind) in enumerate(zip(rule.sizes, rule.kinds, strict=True)):
        spots = _spots(tensors, i)
        across = len({t < len(rule.operands) for t, _ in spots}) == 2
        split = kind != "need_replication"
        tied = split or (across and i not in rule.blocked)
        parts.append(Part(size, split, kind == "reduction", "permute" if kind == "permutation" else "", tied, spots))
    return parts, tensors


def _spots(tensors: Sequence[Dims], f: int) -> frozenset[Spot]:
    return frozenset((t, d) for t, dims in enumerate(tensors) for d, factors in enumerate(dims) if f in factors)


def compare(
    ours: FactorRule, answer: Answer, shapes: Sequence[Sequence[int]], structural: bool = False
) -> list[Finding]:
    """All groups of factors of one op; `shapes` are those of its operands, then of its results.

    `structural`: the op is control flow, which both sides treat by its regions.
    """
    shardy = answer.rule
    if shardy is None and answer.why != NO_RULE:
        return [Finding("not read", describe(ours), answer.why)]
    if structural:
        return [Finding("equal" if shardy is None else "ties", "by its regions", shardy.text if shardy else "")]
    mine, my_tensors = our_parts(ours)
    if shardy is None:
        split = any(p.split and p.size > 1 for p in mine)
        return [Finding("no rule" if split else "equal", describe(ours), "no rule")]
    theirs, their_tensors = shardy_parts(shardy)
    groups = _groups((mine, theirs), (my_tensors, their_tensors), shapes)
    letters = list(shardy_names(shardy.sizes))
    found = []
    for our_group, their_group in groups:
        a, b = [mine[i] for i in our_group], [theirs[i] for i in their_group]
        found.append(
            Finding(
                _kind(a, b), " ".join(_text(factor_name(i), mine[i]) for i in our_group) or "-",
                " ".join(_text(letters[i], theirs[i]) for i in their_group) or "-",
            )
        )
    return found


def shardy_names(sizes: Sequence[int]) -> list[str]:
    """The letters that Shardy prints for its factors."""
    return [chr(ord("i") + f) if f < 18 else f"z_{f - 17}" for f in range(len(sizes))]


def _text(letter: str, p: Part) -> str:
    if not p.split:
        return f"{letter} whole"
    how = ["reduced"] if p.reduces else []
    how += [p.sends] if p.sends else []
    return " ".join([letter, *how])


def describe(rule: FactorRule) -> str:
    """A rule of pcg in one line, written like Shardy's."""
    parts, _ = our_parts(rule)
    notes = []
    for title, wanted in (
        ("whole", [i for i, p in enumerate(parts) if not p.split]),
        ("reduced", [i for i, p in enumerate(parts) if p.reduces]),
        ("permute", [i for i, p in enumerate(parts) if p.split and p.sends == "permute"]),
        ("gather", [i for i, p in enumerate(parts) if p.split and p.sends not in ("", "permute")]),
    ):
        if wanted:
            notes.append(f"{title}={{{', '.join(map(factor_name, wanted))}}}")
    return " ".join([str(rule).replace("->", " -> "), *notes])


def _groups(
    sides: tuple[list[Part], list[Part]], tensors: tuple[list[Dims], list[Dims]], shapes: Sequence[Sequence[int]]
) -> list[tuple[list[int], list[int]]]:
    """Factors that share places, each group once; factors of size 1 and dimensions of size 0 or 1 do not count."""
    leader: dict[tuple[int, int], tuple[int, int]] = {}

    def find(x: tuple[int, int]) -> tuple[int, int]:
        while leader.setdefault(x, x) != x:
            x = leader[x]
        return x

    def union(items: list[tuple[int, int]]) -> None:
        for x in items:
            leader[find(x)] = find(items[0])

    for t, shape in enumerate(shapes):
        for d, size in enumerate(shape):
            if size < 2:
                continue
            rows = [
                [(side, f) for f in (tensors[side][t][d] if t < len(tensors[side]) else ()) if sides[side][f].size > 1]
                for side in (0, 1)
            ]
            at = 0
            while all(at < len(r) for r in rows) and len({sides[s][f].size for s, f in (r[at] for r in rows)}) == 1:
                union([r[at] for r in rows])
                at += 1
            union([x for r in rows for x in r[at:]])
    members: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
    for side, f in sorted(leader):
        members.setdefault(find((side, f)), ([], []))[side].append(f)
    return list(members.values())


def _kind(ours: list[Part], theirs: list[Part]) -> str:
    a, b = any(p.split for p in ours), any(p.split for p in theirs)
    if not a and not b:
        return "whole, tied" if any(p.tied for p in theirs) else "equal"
    if not b:
        return "splits"
    if not a:
        reduced, permuted = any(p.reduces for p in theirs), any(p.sends for p in theirs)
        return "whole, reduced" if reduced else "whole, permuted" if permuted else "whole"
    live = [[p for p in side if p.split] for side in (ours, theirs)]
    if len(live[1]) < len(theirs) and len(live[0]) == len(ours):
        return "splits"
    if len(live[0]) != len(live[1]):
        return "factors"
    if {p.spots for p in live[0]} != {p.spots for p in live[1]}:
        return "ties"
    if any(p.reduces for p in live[0]) != any(p.reduces for p in live[1]):
        return "reduction"
    if len(live[0]) == 1 and live[1][0].size in live[0][0].sizes:
        pass
    elif math.prod(p.size for p in live[0]) != math.prod(p.size for p in live[1]):
        return "sizes"
    return "communication" if {p.sends for p in live[0]} != {p.sends for p in live[1]} else "equal"
