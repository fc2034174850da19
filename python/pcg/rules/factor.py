"""Factor rules: an op's dimensions as factors, like an einsum, and assignments of axes to them.

`dot: (i,k),(k,j)->(i,j)` with `k` a reduction factor.  Everything that pcg knows about an op
(propagation, strategies, communication, local form) derives from its rule.  No MLIR here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from pcg.layout import Mesh, ShardSpec
from pcg.layout.hashing import hashed_once

#: Factors of one tensor: per dimension, factor ids major to minor.  `()` is never split.
DimFactors = tuple[tuple[int, ...], ...]


class RuleError(ValueError):
    """Specs are not consistent with a rule; the text says which dimension or factor and why."""


@dataclass(frozen=True)
class Factor:
    """One index of an op.

    `reduce`: when the factor is split, every result is partial over the axes by this reduction.
    `splittable`: False when every device must hold all of it; `reason` then says why.
    `least`: the smallest part that a device may hold.
    `padding`: what the last shards may hold beyond the end when the parts do not divide the factor:
    "any" (it never reaches an element of a result), a reduction whose neutral element the
    operands must then hold there, or "own" (the local form tells padding from elements).  Empty:
    parts must divide it.
    `sizes`: those of its dimensions, if they differ: each is split by its own size, of which `size`
    is the smallest.
    """

    size: int
    reduce: str | None = None
    splittable: bool = True
    reason: str = ""
    least: int = 1
    padding: str = ""
    sizes: tuple[int, ...] = ()

    def divides(self, n: int) -> bool:
        """Whether `n` parts leave no dimension of the factor with padding."""
        return not any(size % n for size in self.sizes or (self.size,))


@dataclass(frozen=True)
class Linear:
    """If exactly `operands` are partial by `kind` over an axis on which nothing else varies, so are the results."""

    kind: str
    operands: frozenset[int]


@dataclass(frozen=True)
class Exchange:
    """What the local form sends when `factor` is split: a collective of `kind` over the factor's axes.

    `elements` are what one device contributes while no other factor is split; they have the element
    type of operand `operand`.  `padded`: it sends only where shards have padding.  `within` are the
    factors that make it less when they are split; `FactorRule` fills in those of the operand.
    """

    factor: int
    kind: str
    elements: float
    operand: int = 0
    padded: bool = False
    within: frozenset[int] | None = field(default=None, kw_only=True)

    def wire_elements(self, a: Assignment, mesh: Mesh) -> float:
        """Elements that one device sends under `a`: 0 if the factor is not split."""
        n = mesh.axes_size(a.axes[self.factor])
        if n == 1:
            return 0.0
        within = range(len(a.axes)) if self.within is None else self.within
        others = mesh.axes_size([x for f in within if f != self.factor for x in a.axes[f]])
        return self.elements / others * (n - 1 if self.kind == "all_gather" else 1)

    def launches(self, a: Assignment, mesh: Mesh) -> int:
        """How many collectives send that under `a`; what each of them waits for is not the wire."""
        return 1

    def extra_flops(self, a: Assignment, mesh: Mesh) -> float:
        """Work that the exchange adds on one device, beyond its part of the op's."""
        return 0.0


@hashed_once
@dataclass(frozen=True)
class Assignment:
    """A strategy of an op: per factor its axes major to minor, and axes passed through as partial.

    `linear` are `(axis, index into FactorRule.linear)` pairs.
    """

    axes: tuple[tuple[str, ...], ...]
    linear: tuple[tuple[str, int], ...] = ()

    @cached_property
    def used(self) -> frozenset[str]:
        """Axes that split something or are passed through."""
        return frozenset(a for f in self.axes for a in f) | frozenset(a for a, _ in self.linear)


@hashed_once
@dataclass(frozen=True)
class FactorRule:
    """The rule of one op instance.

    `operands[i]` / `results[i]` give the factors of each dimension.  `flops` is the work of the
    unsplit op; `reason` is set when the op can only run replicated.
    """

    factors: tuple[Factor, ...]
    operands: tuple[DimFactors, ...]
    results: tuple[DimFactors, ...]
    linear: tuple[Linear, ...] = ()
    flops: float = 0.0
    reason: str = ""
    exchanges: tuple[Exchange, ...] = ()
    by_axis: ClassVar[bool] = True  # whether specs follow from what each axis does

    def __post_init__(self) -> None:
        if any(e.within is None for e in self.exchanges):
            found = tuple(
                replace(e, within=frozenset(f for dim in self.operands[e.operand] for f in dim)) for e in self.exchanges
            )
            object.__setattr__(self, "exchanges", found)

    def __str__(self) -> str:
        def tensor(t: DimFactors) -> str:
            return "(" + ",".join("*".join(map(factor_name, d)) or "1" for d in t) + ")"

        return ",".join(map(tensor, self.operands)) + "->" + ",".join(map(tensor, self.results))

    @cached_property
    def sums(self) -> bool:
        """Whether results may be partial sums."""
        return any(f.reduce == "sum" for f in self.factors) or any(x.kind == "sum" for x in self.linear)

    @cached_property
    def _structure(self) -> _Structure:
        """What the specs of a strategy depend on."""
        return _structure(self.operands, self.results, self.linear, tuple(f.reduce for f in self.factors))

    # -- specs ---------------------------------------------------------------------------------

    def specs(self, a: Assignment) -> tuple[list[ShardSpec], list[ShardSpec]]:
        """Specs that operands must have, and those that results have, under `a`."""
        return _specs(self._structure, a)

    def operand_spec(self, i: int, a: Assignment) -> ShardSpec:
        """Spec that operand `i` must have under `a`."""
        return self.specs(a)[0][i]

    def result_spec(self, i: int, a: Assignment) -> ShardSpec:
        """Spec that result `i` has under `a`."""
        return self.specs(a)[1][i]

    # -- legality and enumeration --------------------------------------------------------------

    def why_illegal(self, a: Assignment, mesh: Mesh) -> str:
        """Empty when `a` is a legal strategy on `mesh`, else the reason."""
        kinds = {self.factors[f].reduce for f, axes in enumerate(a.axes) if axes and self.factors[f].reduce}
        kinds |= {self.linear[k].kind for _, k in a.linear}
        if len(kinds) > 1:
            return f"results would be partial by {' and '.join(sorted(map(str, kinds)))} at once"
        for f, axes in enumerate(a.axes):
            if not axes:
                continue
            if not self.factors[f].splittable:
                return f"factor {factor_name(f)} cannot be split: {self.factors[f].reason}"
            n = mesh.axes_size(axes)
            size = self.factors[f].size
            if not self.factors[f].divides(n) and not self.may_pad(f):
                return f"factor {factor_name(f)} of size {size} is not divisible by {n} ({'+'.join(axes)})"
            part, least = -(-size // n), self.factors[f].least
            if part < least:
                return f"parts of factor {factor_name(f)} would be of size {part}; they must be {least} at least"
        for tensor in (*self.operands, *self.results):
            for dim in tensor:
                for major, minor in itertools.pairwise(dim):
                    n = mesh.axes_size(a.axes[major])
                    if a.axes[minor] and n != self.factors[major].size:
                        return f"factor {factor_name(minor)} lies inside {factor_name(major)}, which is not fully split"
        return ""

    def may_pad(self, f: int) -> bool:
        """Whether the parts of factor `f` need not divide it."""
        factor = self.factors[f]
        if not factor.padding:
            return False
        if factor.padding == "any" and any(e.factor == f for e in self.exchanges):
            return False  # what is sent would be padding
        return all(len(dim) == 1 for t in (*self.operands, *self.results) for dim in t if f in dim)

    def fits(self, f: int, n: int) -> bool:
        """Whether factor `f` can be split into `n` parts, with padding if need be."""
        return self.factors[f].divides(n) or self.may_pad(f)

    def assignment(self, choices: Sequence[int], mesh: Mesh) -> Assignment:
        """Assignment from one choice per mesh axis: -1 nothing, f < len(factors) a factor, then linears."""
        n = len(self.factors)
        axes: list[list[str]] = [[] for _ in self.factors]
        linear = []
        for name_, c in zip(mesh.names, choices, strict=True):
            if 0 <= c < n:
                axes[c].append(name_)
            elif c >= n:
                linear.append((name_, c - n))
        return Assignment(tuple(map(tuple, axes)), tuple(linear))

    def strategies(self, mesh: Mesh, uneven: bool = False) -> Iterator[Assignment]:
        """Every legal assignment on `mesh` (axes on one factor in mesh order); replicated comes first.

        With `uneven` also those whose parts do not divide a factor, if it has two elements per part at least.
        """
        return (self.assignment(choices, mesh) for choices in self.choices(mesh, uneven).tolist())

    def choices(self, mesh: Mesh, uneven: bool = False) -> np.ndarray:
        """`strategies`, a row for each with a column per mesh axis, as for `assignment`."""
        open_ = [f for f, x in enumerate(self.factors) if x.splittable and x.size > 1]
        passed = range(len(self.factors), len(self.factors) + len(self.linear))
        options = [
            [-1, *(f for f in open_ if self._worth(f, n, uneven)), *passed] if n > 1 else [-1] for n in mesh.sizes
        ]
        every = np.stack(np.meshgrid(*options, indexing="ij"), axis=-1).reshape(-1, len(options))
        return every[self._legal(every, self.counts(every, mesh), uneven)]

    def counts(self, choices: np.ndarray, mesh: Mesh) -> np.ndarray:
        """Into how many parts each row of `choices` splits each factor."""
        counts = np.ones((len(choices), len(self.factors)), np.int64)
        for size, does in zip(mesh.sizes, choices.T, strict=True):
            splits = np.flatnonzero((0 <= does) & (does < len(self.factors)))
            counts[splits, does[splits]] *= size
        return counts

    def _legal(self, choices: np.ndarray, counts: np.ndarray, uneven: bool) -> np.ndarray:
        """Which rows are strategies: those that are not illegal (`why_illegal`), and whose padding is worth it."""
        kinds = [None, *(x.reduce for x in self.factors), *(x.kind for x in self.linear)]
        partial = np.array([0 if k is None else 1 + kinds.index(k) for k in kinds])[1 + choices]
        legal = ((partial == 0) | (partial == partial.max(axis=1, initial=0)[:, None])).all(axis=1)
        for f, x in enumerate(self.factors):
            numbers, which = np.unique(counts[:, f], return_inverse=True)
            fits = [n == 1 or (-(-x.size // n) >= x.least and self._worth(f, n, uneven)) for n in numbers.tolist()]
            legal &= np.array(fits)[which]
        for dim in itertools.chain(*self.operands, *self.results):
            for major, minor in itertools.pairwise(dim):
                legal &= (counts[:, minor] == 1) | (counts[:, major] == self.factors[major].size)
        return legal

    def _worth(self, f: int, n: int, uneven: bool) -> bool:
        """Whether `n` parts of factor `f` are equal, or may be `uneven` and have two elements at least."""
        return self.factors[f].divides(n) or (uneven and self.factors[f].size >= 2 * n and self.may_pad(f))

    def legality(self, mesh: Mesh) -> Hashable:
        """All that `strategies` with uneven ones depends on, and their specs: rules in which it is equal have the same.

        Of sizes it is not more than what the numbers of parts that axes make divide, and where parts are large enough.
        """
        factors = tuple(
            (
                x.reduce, x.splittable, x.size > 1, self.may_pad(f),
                *((x.divides(n), x.size >= 2 * n, -(-x.size // n) >= x.least, x.size == n) for n in numbers_of(mesh)),
            )
            for f, x in enumerate(self.factors)
        )  # fmt: skip
        return self.operands, self.results, self.linear, factors

    def infer(self, operands: Sequence[ShardSpec], results: Sequence[ShardSpec], mesh: Mesh) -> Assignment:
        """The assignment under which the op has exactly these operand and result specs.

        Raises:
          RuleError: there is none.
        """
        return _inferred(self, tuple(operands), tuple(results), mesh)

    def _distribute(
        self, dim: tuple[int, ...], have: tuple[str, ...], d: int, mesh: Mesh
    ) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Split the axes of one dimension over its factors, major to minor."""
        left = list(have)
        for f in dim:
            if len(dim) == 1 and self.may_pad(f):
                yield f, tuple(left)
                return
            part: list[str] = []
            n = 1
            while left and self.factors[f].size % (n * mesh.axis_size(left[0])) == 0:
                if n == self.factors[f].size:
                    break
                n *= mesh.axis_size(left[0])
                part.append(left.pop(0))
            yield f, tuple(part)
            if left and n != self.factors[f].size:
                break
        if left:
            raise RuleError(f"dimension {d} cannot be split by {'+'.join(left)}")


@lru_cache(maxsize=64)
def numbers_of(mesh: Mesh) -> tuple[int, ...]:
    """The numbers of parts that axes of the mesh make."""
    subsets = (c for k in range(len(mesh.axes) + 1) for c in itertools.combinations(mesh.sizes, k))
    return tuple(sorted(set(map(math.prod, subsets))))


@hashed_once
@dataclass(frozen=True)
class _Structure:
    """A rule without its sizes: dimensions as factors, linear operands, and the reduction of each factor."""

    operands: tuple[DimFactors, ...]
    results: tuple[DimFactors, ...]
    linear: tuple[Linear, ...]
    reductions: tuple[str | None, ...]


#: One object for each, so that they are compared by identity.
_structure = lru_cache(maxsize=1 << 12)(_Structure)


@lru_cache(maxsize=1 << 16)
def _specs(rule: _Structure, a: Assignment) -> tuple[list[ShardSpec], list[ShardSpec]]:
    """Specs of the operands and of the results of an op under `a`."""

    def dims(tensor: DimFactors) -> tuple[tuple[str, ...], ...]:
        return tuple([tuple([x for f in dim for x in a.axes[f]]) for dim in tensor])

    passed = [(x, rule.linear[k]) for x, k in a.linear]
    terms = [[(x, p.kind) for x, p in passed if i in p.operands] for i in range(len(rule.operands))]
    partial = [(x, p.kind) for x, p in passed]
    partial += [(x, kind) for kind, axes in zip(rule.reductions, a.axes, strict=True) if kind for x in axes]
    return (
        [ShardSpec.of(dims(t), own) for t, own in zip(rule.operands, terms, strict=True)],
        [ShardSpec.of(dims(t), partial) for t in rule.results],
    )


#: Layers repeat, and the layouts of an op are read when they are measured, verified and lowered.
@lru_cache(maxsize=1 << 14)
def _inferred(
    rule: FactorRule, operands: tuple[ShardSpec, ...], results: tuple[ShardSpec, ...], mesh: Mesh
) -> Assignment:
    axes: list[tuple[str, ...] | None] = [None] * len(rule.factors)
    tensors = [*zip(rule.operands, operands, strict=True), *zip(rule.results, results, strict=True)]
    for tensor, spec in tensors:
        for d, (dim, have) in enumerate(zip(tensor, spec.dims, strict=True)):
            for f, part in rule._distribute(dim, have, d, mesh):
                if axes[f] is None:
                    axes[f] = part
                elif axes[f] != part:
                    raise RuleError(
                        f"factor {factor_name(f)} is split by {list(axes[f] or ())} and by {list(part)} at once"
                    )
    found = tuple(x or () for x in axes)
    reduced = {x for f, ax in enumerate(found) if rule.factors[f].reduce for x in ax}
    linear = []
    for axis in mesh.names:
        who = {i: k for i, s in enumerate(operands) for x, k in s.partial if x == axis}
        if not who:
            continue
        if (wanted := Linear(min(who.values()), frozenset(who))) not in rule.linear or len(set(who.values())) > 1:
            raise RuleError(f"operand {min(who)} is partial over {axis!r}, which the op cannot pass through")
        linear.append((axis, rule.linear.index(wanted)))
    a = Assignment(found, tuple(linear))
    if why := rule.why_illegal(a, mesh):
        raise RuleError(why)
    for i, spec in enumerate(results):
        want = rule.result_spec(i, a)
        if want != spec:
            raise RuleError(f"result {i} is {spec}, but its operands make it {want}")
    for x in reduced & {x for x, _ in linear}:
        raise RuleError(f"axis {x!r} is used twice")
    return a


def factor_name(f: int) -> str:
    """Letter of factor `f`: i, j, k, ..., z, then f18, f19, ..."""
    return chr(ord("i") + f) if f < 18 else f"f{f}"


def replicated_rule(
    operand_ranks: Sequence[int], result_ranks: Sequence[int], reason: str, flops: float = 0.0
) -> FactorRule:
    """The rule of an op that every device must run entirely."""
    return FactorRule(
        (), tuple(((),) * r for r in operand_ranks), tuple(((),) * r for r in result_ranks), (), flops, reason
    )
