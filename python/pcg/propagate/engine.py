"""The fixpoint: layouts spread through factors, forwards and backwards, and only ever grow.

An axis that splits a factor in one tensor of an op should split it in all of them.  Each step
gives a tensor the longest list of axes that some tensor of the op has for the factor, as far as
the tensor's own axes are a prefix of it and none of the new ones is used in the tensor already.

When two factors claim one axis, annotated tensors win, then the larger tensor, then the first.
As conflicts are decided by who comes first, the safest steps are taken first: through ops that only
pass values through, both ways; then forwards through all ops; then both ways through all.
Everything is ordered by position in the program, so the result is deterministic.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from functools import lru_cache

from pcg.layout import Mesh, ShardSpec
from pcg.propagate.problem import PropagationProblem
from pcg.rules.factor import DimFactors, FactorRule

Axes = tuple[str, ...]


def project(rule: FactorRule, tensor: DimFactors, dims: tuple[Axes, ...], mesh: Mesh) -> dict[int, Axes]:
    """Axes of each factor of a tensor with layout `dims`; what does not fit a factor is left out."""
    found: dict[int, Axes] = {}
    for factors, axes in zip(tensor, dims, strict=True):
        if not axes or not factors:
            continue
        if len(factors) == 1:
            found[factors[0]] = axes
            continue
        left = list(axes)
        for f in factors:
            n, part = 1, []
            size = rule.factors[f].size
            while left and n < size and size % (n * mesh.axis_size(left[0])) == 0:
                n *= mesh.axis_size(left[0])
                part.append(left.pop(0))
            if part:
                found[f] = tuple(part)
            if n != size:
                break
    return found


@lru_cache(maxsize=1 << 14)
def passes_through(rule: FactorRule) -> bool:
    """Whether the op only maps operands to results: nothing is contracted, and no operand factor is lost."""
    if any(f.reduce for f in rule.factors):
        return False
    results = [{f for d in r for f in d} for r in rule.results]
    mine = [{f for d in o for f in d} for o in rule.operands]
    return all(any(o <= r for r in results) for o in mine)


class Engine:
    """State of one propagation."""

    #: Whether neighbours may not see all axes of a value; `visible` then says which they do.
    hides = False

    def __init__(self, problem: PropagationProblem) -> None:
        self.problem, self.mesh = problem, problem.mesh
        self.sizes = dict(problem.mesh.axes)
        self.dims: list[tuple[Axes, ...]] = []
        self.origins: list[dict[str, int]] = []
        self.closed = [frozenset(value.closed) for value in problem.values]
        for v, value in enumerate(problem.values):
            dims = value.fixed.dims if value.fixed else ((),) * len(value.shape)
            self.dims.append(dims)
            self.origins.append({a: v for d in dims for a in d})
        self.users = problem.nodes_of_values()
        self._unchanged: set[tuple[int, bool, tuple[tuple[Axes, ...], ...], int]] = set()
        self._role = [-1] * len(problem.nodes)
        self._role_numbers: dict[tuple[tuple[bool, float, frozenset[int]], ...], int] = {}
        self.plain = [node.structural or passes_through(node.rule) for node in problem.nodes]

    def run(self) -> list[ShardSpec]:
        """Layouts at the fixpoint."""
        plain = self.plain
        self.sweep(lambda n: plain[n], lambda n: True)
        self.sweep(lambda n: True, lambda n: plain[n])
        self.sweep(lambda n: True, lambda n: True)
        return [ShardSpec(d) for d in self.dims]

    def sweep(self, included: Callable[[int], bool], backwards: Callable[[int], bool]) -> None:
        """Visit nodes that may have changed, down and up the program in turn, until nothing changes."""
        waiting = {n for n in range(len(self.problem.nodes)) if included(n)}
        down = True
        while waiting:
            sign = 1 if down else -1
            heap = [sign * n for n in waiting]
            heapq.heapify(heap)
            queued, waiting = waiting, set()
            while heap:
                at = heapq.heappop(heap)
                n = sign * at
                queued.discard(n)
                for v in self.visit(n, backwards(n)):
                    for user in self.users[v]:
                        if not included(user) or user in queued or user in waiting:
                            continue
                        if sign * user > at:
                            queued.add(user)
                            heapq.heappush(heap, sign * user)
                        else:
                            waiting.add(user)
            down = not down

    def visit(self, n: int, backwards: bool) -> list[int]:
        """Spread layouts between the tensors of one op; returns the values that changed."""
        node = self.problem.nodes[n]
        rule = node.rule
        if not rule.factors:
            return []
        values = (*node.operands, *node.results)
        dims = self.dims
        have_dims = tuple([dims[v] for v in values])
        if not any(map(any, have_dims)):
            return []
        # Layers repeat: a visit that changed nothing changes nothing under the same layouts of an equal op.
        key = (id(rule), backwards, have_dims, self._roles(n, values))
        if key in self._unchanged:
            return []
        tensors = (*rule.operands, *rule.results)
        have = [project(rule, t, dims[v], self.mesh) for t, v in zip(tensors, values, strict=True)]
        seen = have
        if self.hides:
            seen = [project(rule, t, self.visible(v), self.mesh) for t, v in zip(tensors, values, strict=True)]
        claims: dict[int, list[int]] = {}
        for t, found in enumerate(seen):
            for f in found:
                if rule.factors[f].splittable:
                    claims.setdefault(f, []).append(t)
        if not claims:
            return []
        ranked = sorted((*self._best(f, who, seen, values), f) for f, who in claims.items())
        changed: list[int] = []
        first = 0 if backwards else len(node.operands)
        for t in range(first, len(values)):
            v = values[t]
            if len(self.closed[v]) < len(self.dims[v]) and self._extend(rule, tensors[t], have[t], ranked, v, values):
                changed.append(v)
        if not changed and not self.hides:
            self._unchanged.add(key)
        return changed

    def _roles(self, n: int, values: tuple[int, ...]) -> int:
        """A number for what ranks the tensors of node `n` beside layouts: annotations, sizes, closed dimensions."""
        found = self._role[n]
        if found < 0:
            known = self.problem.values
            parts = tuple((known[v].fixed is None, known[v].size, self.closed[v]) for v in values)
            found = self._role[n] = self._role_numbers.setdefault(parts, len(self._role_numbers))
        return found

    def visible(self, v: int) -> tuple[Axes, ...]:
        """What neighbours see of the layout of value `v`."""
        return self.dims[v]

    def _best(
        self, f: int, who: list[int], have: list[dict[int, Axes]], values: tuple[int, ...]
    ) -> tuple[tuple[int, float, int], Axes, int]:
        """The axes that factor `f` should have, by which tensor, and how they rank against other factors."""

        def rank(t: int) -> tuple[int, float, int]:
            value = self.problem.values[values[t]]
            return (0 if value.fixed else 1, -value.size, t)

        order = sorted(who, key=rank)
        best, source = have[order[0]][f], order[0]
        for t in order[1:]:
            axes = have[t][f]
            if len(axes) > len(best) and axes[: len(best)] == best:
                best, source = axes, t
        return rank(order[0]), best, source

    def _extend(
        self, rule: FactorRule, tensor: DimFactors, have: dict[int, Axes],
        ranked: list[tuple[tuple[int, float, int], Axes, int, int]], v: int, values: tuple[int, ...],
    ) -> bool:  # fmt: skip
        """Give value `v` what the op's factors have more than it; whether anything changed."""
        closed = self.closed[v]
        mine = {f for d, dim in enumerate(tensor) if d not in closed for f in dim}
        used = {a for dim in self.dims[v] for a in dim}
        new = dict(have)
        origin: dict[str, int] = {}
        for _, axes, source, f in ranked:
            old = new.get(f, ())
            if f not in mine or len(axes) <= len(old) or axes[: len(old)] != old:
                continue
            n = self.mesh.axes_size(old)
            grown = list(old)
            for a in axes[len(old) :]:
                if a in used or not rule.fits(f, n * self.sizes[a]):
                    break
                n *= self.sizes[a]
                grown.append(a)
                used.add(a)
                origin[a] = self.origins[values[source]].get(a, values[source])
            new[f] = tuple(grown)
        if not origin:
            return False
        dims = []
        for d, (dim, old) in enumerate(zip(tensor, self.dims[v], strict=True)):
            if d in closed:
                dims.append(old)
                continue
            axes = tuple(a for f in dim for a in new.get(f, ()))
            if len(dim) > 1 and not self._nested(rule, dim, new):
                axes = old
            # Axes that the rule could not place stay as they are.
            dims.append(axes if set(old) <= set(axes) else old)
        if tuple(dims) == self.dims[v]:
            return False
        self.dims[v] = tuple(dims)
        kept = {a for dim in dims for a in dim}
        self.origins[v].update((a, o) for a, o in origin.items() if a in kept)
        return True

    def _nested(self, rule: FactorRule, dim: tuple[int, ...], axes: dict[int, Axes]) -> bool:
        """Whether factors of one dimension are split only inside completely split ones."""
        return all(
            not axes.get(minor) or self.mesh.axes_size(axes.get(major, ())) == rule.factors[major].size
            for major, minor in itertools.pairwise(dim)
        )
