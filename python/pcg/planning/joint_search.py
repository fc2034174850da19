"""The best alternatives of a program and the best layouts of them, together."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.rewrite.substitutions.saturate import rule_of
from pcg.search.build import Builder
from pcg.search.joint import Joint
from pcg.search.joint_core import JointCore
from pcg.search.roles import state_of
from pcg.search.structure import Structure
from pcg.search.table import Tables
from pcg.solve.effort import EFFORTS, QUICK, Effort
from pcg.solve.ilp import Solution, solve
from pcg.solve.look_ahead import LookAhead
from pcg.solve.network import widened

#: Share of a step that substitutions have to save to be made, by effort.  A choice: half the gap that is good enough
#: where closing it takes long, as what they save is found out by planning the program once more.
WORTH = {"quick": 5e-3, "default": 5e-3, "proof": 1e-3}
#: Differences of costs that are none, and how many choices are tried at most, with layouts of how many positions in
#: all.  Measured: 12,000 take half a second (DLRM with 26 tables on 2x4).
_NOISE, _MOST, _LAYOUTS = 1e-6, 200, 50_000
#: How many edges away from a changed choice layouts change with it.  Measured on 2x4: 20 changes of GPT, 88 of DLRM and
#: 56 of a transformer cost what they do with all layouts open, which takes 25, 3 and 3 times as long; so they do with
#: 3, but choices for another DLRM are then 7% worse.
#: They do only of so many per changed choice: with twice as many a search takes up to a quarter longer and finds the
#: same.
_EDGES, _NEAR = 6, 75
#: Of programs that are compared.  Measured: plans of GPT on 2x4 and of every program tried for it cost the same as with
#: `QUICK`, in two thirds of the time; those of seven models on 2x4 and 8 what they do with ascents to 0.1%.
_TRIED = replace(QUICK, gap=2e-2, good=2e-2, near=2e-2, brief=True)
#: Programs chosen in part whose bounds are computed at most, by effort.  Measured: on 6 V100s the proof for DLRM takes
#: 2.4 s, that for XDL less than 0.1 s.
_NODES = {"quick": 0, "default": 0, "proof": 5000}


class JointSearch:
    """The best alternatives of a program, with their layouts.

    With all alternatives fixed the network is that of one program, and what a change of some costs is known soon, as
    layouts far from them stay.  So good choices are found by changing some, those of a rule and single ones, as long as
    that helps; and choices are *probed*: one whose bound is above the best cost is out.  What is left open, if anything
    is, makes the gap.
    """

    def __init__(
        self, func: ir.Operation, alternatives: list[ir.Operation], model: CostModel, effort: str,
        structure: Structure | None = None, cutoff: float = np.inf,
    ) -> None:
        """`structure` is that of `func`, where it is known; alternatives that cost more than `cutoff` are not taken."""
        self.model = model
        built = Builder(model, Tables.on(model.mesh)).build(func, state_of(func), structure)
        node_of = {op: node for op, node in built.ops}
        self._nodes = [node_of[op] for op in alternatives]
        self._names = [rule_of(op) for op in alternatives]
        self._core = JointCore(Joint(built.quotient(model), self._nodes))
        self._effort, self._nodes_at_most = EFFORTS[effort], _NODES[effort]
        self._network = self._core.network
        self._ends = self._network.edges.ei, self._network.edges.ej
        self._tried = 0
        """Positions whose layouts were looked for in all."""
        self._known: dict[frozenset[int], Solution] = {}
        """By alternatives that are taken, with all layouts open, or as `without` has found them."""
        self._changes_known: dict[frozenset[int], Solution] = {}
        """The same with those near a change."""
        self._chosen_known: dict[frozenset[int], tuple[list[np.ndarray], frozenset[int]]] = {}
        """What is open with them, and used."""
        classes: dict[int, list[int]] = {}
        for i, n in enumerate(self._nodes):
            classes.setdefault(self._core.position(n), []).append(i)
        self._classes = [frozenset(members) for members in classes.values()]
        """Alternatives that are chosen together."""
        self._look_ahead = LookAhead(self._change, len(self._classes))
        self._every = frozenset(range(len(alternatives)))
        self.rewritten = frozenset[int]()
        """The alternatives that are taken, by number."""
        start = self._solved(self.rewritten)
        found, near = self._climb(cutoff)
        # Better layouts may have been found on the way, which the program as it is could have as well.
        start = min(start, self._around(near, found, frozenset(), found), key=lambda s: s.cost)
        self._known[frozenset()] = start
        # To look for the layouts far from the changes again would save little more.
        if found and near.cost < min((1 - WORTH[effort]) * start.cost, cutoff):
            self.rewritten = self._used(found)
        elif not self._nodes_at_most:
            self.solution = replace(start, bound=0.0)
            return
        # Where nothing is to be proved, layouts that are found without an ILP tell as much of what is saved.
        last = self._effort if self._nodes_at_most else replace(self._effort, small=0)
        best = self._within(self._chosen(self.rewritten)[0], last)
        self.solution = self._proved(best) if self._nodes_at_most else replace(best, bound=0.0)
        taken = self._core.taken(self.solution.x)
        self.rewritten = frozenset(i for i in self._every if taken[self._nodes[i]] == 1)

    def close(self) -> None:
        """Look for nothing any more."""
        self._look_ahead.close()

    @cached_property
    def bound(self) -> float:
        """What any choice between alternatives costs at least, with any layouts."""
        if self._nodes_at_most:
            return self.solution.bound
        return min(self.solution.cost, self._bound(self._all, _Best(self.solution, 1 - self._effort.good)))

    def __str__(self) -> str:
        return f"{1e6 * self.solution.cost:.1f} us per step by estimate (bound {1e6 * self.bound:.1f} us)"

    def saved(self, rewritten: frozenset[int]) -> dict[str, float]:
        """By rule of these alternatives, how many seconds more a step takes without it."""
        cost = self._layouts(rewritten).cost
        # The climb may find something better on its way; then the rule saves nothing.
        return {
            name: max(0.0, self._without(name, rewritten)[1].cost - cost) for name in self._names_of(rewritten)
        }

    def without(self, name: str, rewritten: frozenset[int]) -> frozenset[int]:
        """The best alternatives that are found among those of other rules, beginning with those of them that are
        `rewritten`."""
        found, solution = self._without(name, rewritten)
        used = self._used(found)
        self._known.setdefault(used, solution)
        return used

    def _without(self, name: str, rewritten: frozenset[int]) -> tuple[frozenset[int], Solution]:
        others = frozenset(i for i in self._every if self._names[i] != name)
        start = self._changed(self._layouts(rewritten), rewritten, rewritten & others)
        # That one of a rule's places is better left alone hardly matters for what another rule saves.
        return self._climb_from(rewritten & others, start, self._of_rules(others), anew=False)

    def _layouts(self, rewritten: frozenset[int]) -> Solution:
        """The layouts that were found with these alternatives, or good ones."""
        return self.solution if rewritten == self.rewritten else self._solved(rewritten)

    def doubtful(self, share: float) -> list[str]:
        """The rules that are used and save less than this share of a step, those that save least first."""
        saved = self.saved(self.rewritten)
        return sorted((n for n in saved if saved[n] < share * self.solution.cost), key=saved.__getitem__)

    def _names_of(self, rewritten: frozenset[int]) -> list[str]:
        return list(dict.fromkeys(self._names[i] for i in sorted(rewritten)))

    def _climb(self, cutoff: float) -> tuple[frozenset[int], Solution]:
        """The best choice that is found: by rules, from nothing and from everything, then, if that costs less than
        `cutoff`, by places."""
        rules, nothing = self._of_rules(self._every), frozenset[int]()
        start = self._solved(nothing)
        every = self._changed(start, nothing, self._every)
        ends = [self._climb_from(nothing, start, rules), self._climb_from(self._every, every, rules)]
        best = min(ends, key=lambda end: end[1].cost)
        return self._climb_from(*best, self._changes(self._every)) if best[1].cost < cutoff else best

    def _changes(self, allowed: frozenset[int]) -> list[frozenset[int]]:
        """What is changed together, of what is `allowed`: everything, what a rule made, what is one choice."""
        return [*self._of_rules(allowed), *(c & allowed for c in self._classes)]

    def _of_rules(self, allowed: frozenset[int]) -> list[frozenset[int]]:
        """Everything that is `allowed`, and what each rule made of it."""
        rules = dict.fromkeys(self._names[i] for i in sorted(allowed))
        return [allowed, *(frozenset(i for i in allowed if self._names[i] == name) for name in rules)]

    def _climb_from(
        self, best: frozenset[int], found: Solution, changes: Sequence[frozenset[int]], *, anew: bool = True
    ) -> tuple[frozenset[int], Solution]:
        """The best choice that single `changes` lead to; with `anew` what is better is `_settled`, so that the next
        change is compared with its best layouts."""
        steps = [(change, made) for change in changes for made in (frozenset.union, frozenset.difference)]
        left, most = _MOST, self._tried + _LAYOUTS
        first: int | None = 0
        while first is not None:
            # All of them, from that behind the last one that helped.
            order = [*range(first, len(steps)), *range(first)]
            others = [steps[n][1](best, steps[n][0]) for n in order]
            first = None
            for n, other, solution in zip(order, others, self._tries(found, best, others), strict=True):
                left -= solution is not found
                if left < 0 or self._tried >= most:
                    return best, found
                if solution.cost < (1 - _NOISE) * found.cost:
                    best, found, first = other, solution, (n + 1) % len(steps)
                    if anew:
                        found = self._settled(found, best)
                    break
        return best, found

    def _tries(
        self, found: Solution, before: frozenset[int], others: Sequence[frozenset[int]]
    ) -> Iterator[Solution]:
        """`_changed` to each of `others`, which are looked at in a copy of this process as well."""
        unknown = dict.fromkeys(o for o in others if o != before and o not in self._changes_known)
        changes = self._look_ahead.answers((found, before), list(unknown))
        for other in others:
            if other in unknown and other not in self._changes_known:
                self._changes_known[other] = self._with(found, next(changes))
            yield found if other == before else self._changes_known[other]

    def _changed(self, found: Solution, before: frozenset[int], after: frozenset[int]) -> Solution:
        """Layouts with the alternatives `after`, from those `found` with the ones `before`: the same far from what is
        changed.

        What is known of `after` from a change of others is taken, so it is looked at once.
        """
        if after not in self._changes_known:
            self._changes_known[after] = self._with(found, self._change((found, before), after))
        return self._changes_known[after]

    def _with(self, found: Solution, change: _Change | None) -> Solution:
        """`found` with a change, which counts as looked for."""
        if change is None:
            return found
        self._tried += len(change.near)
        x = list(found.x)
        for c, choice in zip(change.near, change.choices, strict=True):
            x[c] = choice
        return Solution(x, change.cost, change.bound, change.variables)

    def _change(self, found: tuple[Solution, frozenset[int]], after: frozenset[int]) -> _Change | None:
        """What changes with the alternatives `after`, where those before and their layouts are `found`."""
        solution, before = found
        return self._near(solution, before, after, before ^ after)

    def _around(
        self, found: Solution, before: frozenset[int], after: frozenset[int], alternatives: frozenset[int]
    ) -> Solution:
        """What `_changed` is where it is not known, but near some `alternatives`."""
        return self._with(found, self._near(found, before, after, alternatives))

    def _near(
        self, found: Solution, before: frozenset[int], after: frozenset[int], alternatives: frozenset[int]
    ) -> _Change | None:
        """The best layouts near some `alternatives`; None where nothing needs what is changed."""
        (_, used_before), (open_, used) = self._chosen(before), self._chosen(after)
        choosing = {self._core.position(self._nodes[i]) for i in alternatives}
        changed = {c for c in choosing if c in used or c not in self._core.optional} | (used ^ used_before)
        if not changed:
            return None
        free, fixed = np.zeros((2, len(open_)), dtype=np.bool_)
        free[list(changed)] = True
        fixed[list(self._core.optional - used)] = True
        most = len(changed) + _NEAR * len(choosing)
        for _ in range(_EDGES):
            if int(free.sum()) >= most:
                break
            reached = free.copy()
            for here, there in (self._ends, self._ends[::-1]):
                reached[there[free[here]]] = True
            free |= reached & ~fixed
        free[list(used)] = True
        near = np.flatnonzero(free).tolist()
        rest = self._network.conditioned(found.x, near)
        elsewhere = found.cost - rest.cost([found.x[c] for c in near])
        masks = [open_[c] for c in near]
        solved = solve(rest.restrict(masks), effort=_TRIED)
        choices = widened(masks, solved.x)
        return _Change(near, choices, elsewhere + solved.cost, elsewhere + solved.bound, solved.variables)

    def _settled(self, found: Solution, rewritten: frozenset[int]) -> Solution:
        """The layouts that were `found` with these alternatives, or better ones around all that there are."""
        return min(found, self._around(found, rewritten, rewritten, self._every), key=lambda s: s.cost)

    def _solved(self, rewritten: frozenset[int]) -> Solution:
        """Good layouts of the program with these alternatives, found without an ILP."""
        if rewritten not in self._known:
            found = self._within(self._chosen(rewritten)[0], _TRIED)
            self._known[rewritten] = self._settled(found, rewritten)
        return self._known[rewritten]

    def _chosen(self, rewritten: frozenset[int]) -> tuple[list[np.ndarray], frozenset[int]]:
        """Which choices are open with these alternatives, and the classes that are used of those that need not be."""
        if rewritten not in self._chosen_known:
            operands = {n: int(i in rewritten) for i, n in enumerate(self._nodes)}
            self._chosen_known[rewritten] = self._core.chosen(operands)
        return self._chosen_known[rewritten]

    def _within(self, open_: list[np.ndarray], effort: Effort, cutoff: float = np.inf) -> Solution:
        """The best solution of those choices that are open."""
        found = solve(self._network.restrict(open_), effort=effort, cutoff=cutoff)
        return Solution(widened(open_, found.x), found.cost, found.bound, found.variables)

    def _used(self, rewritten: frozenset[int]) -> frozenset[int]:
        """Those of them whose results something reads."""
        used = self._chosen(rewritten)[1]
        of_nodes = {i: self._core.position(self._nodes[i]) for i in rewritten}
        return frozenset(i for i, c in of_nodes.items() if c in used or c not in self._core.optional)

    def _proved(self, best: Solution) -> Solution:
        """A solution that is as good as `best` or better, with a bound on all.

        Branch and bound over the choices between alternatives, those with the least bound first: bounds are those of
        the dual ascent, and a program of which everything is chosen is solved.
        """
        found = _Best(best, 1 - self._effort.good)
        states, count, leaves = self._all, 1, np.inf
        least = root = self._bound(states, found)
        if least < found.enough:
            states = self._probed(states, found)
        heap = [(least, 0, states)] if all(states.values()) else []
        while heap and heap[0][0] < found.enough and count < self._nodes_at_most:
            least, _, states = heapq.heappop(heap)
            open_ = [c for c, allowed in states.items() if len(allowed) > 1]
            if not open_:
                leaf = self._of(states, self._effort)
                found.add(leaf)
                leaves = min(leaves, leaf.bound)
                continue
            for state in sorted(states[open_[0]]):
                count += 1
                child = {**states, open_[0]: frozenset((state,))}
                heapq.heappush(heap, (max(least, self._bound(child, found)), count, child))
        # What was ruled out has a bound that is good enough.
        bound = max(root, min(found.enough, leaves, heap[0][0] if heap else np.inf))
        return Solution(found.best.x, found.best.cost, min(found.best.cost, bound), found.best.variables)

    @property
    def _all(self) -> _States:
        """Everything open."""
        return {c: self._core.states(self._nodes[min(c)]) for c in self._classes}

    def _probed(self, states: _States, found: _Best) -> _States:
        """What is left of states without those whose bounds are above the best cost; of a choice nothing if all are."""
        left = dict(states)
        for c, allowed in states.items():
            out = [s for s in allowed if self._bound({**left, c: frozenset((s,))}, found) >= found.enough]
            left[c] = allowed.difference(out)
            if not left[c]:
                break
        return left

    def _bound(self, states: _States, found: _Best) -> float:
        return self._of(states, QUICK, found.best.cost).bound

    def _of(self, states: _States, effort: Effort, cutoff: float = np.inf) -> Solution:
        return self._within(
            self._core.open({self._nodes[i]: allowed for c, allowed in states.items() for i in c}), effort, cutoff
        )


@dataclass(frozen=True)
class _Change:
    """Choices of the positions `near` a change, and the solution with them but for its other choices."""

    near: list[int]
    choices: list[int]
    cost: float
    bound: float
    variables: int


#: Of alternatives that are chosen together, by number, the states that they may be in.
_States = Mapping[frozenset[int], frozenset[int]]


@dataclass
class _Best:
    """The best solution so far; bounds of `share` of its cost are good enough."""

    best: Solution
    share: float

    def add(self, solution: Solution) -> None:
        if solution.cost < self.best.cost:
            self.best = solution

    @property
    def enough(self) -> float:
        """A bound from which on nothing better is possible."""
        return min(self.share, 1 - _NOISE) * self.best.cost
