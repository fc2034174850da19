"""Rewriting a program by proved rules where that makes the best plan faster: algebra and layouts are chosen together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.clone import clone_module, take_contents
from pcg.ir.stages import has_stages
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import entry_of
from pcg.machine import Machine
from pcg.planning.search import EFFORT
from pcg.planning.target import cost_model, planned_mesh
from pcg.rewrite.substitutions.apply import rules_for
from pcg.rewrite.substitutions.extract import extract
from pcg.rewrite.substitutions.saturate import RULE, Saturation
from pcg.search.build import Builder
from pcg.search.joint import Joint
from pcg.search.optimize import optimize
from pcg.search.roles import state_of
from pcg.search.table import Tables
from pcg.solve.effort import EFFORTS, Effort
from pcg.solve.ilp import Solution, solve
from pcg.solve.network import widened
from pcg.substitute.library import known

#: Share of a step that substitutions have to save to be made.  A choice: the gap that a search may leave.
_WORTH = 1e-3
#: Differences of costs that are none, and how many choices are tried, and probed, at most.
_NOISE, _MOST = 1e-6, 200


@dataclass
class Substitute(Transformation):
    """Rewrite a program where a faster plan follows from it."""

    rules: tuple[str, ...] = option((), "the rules, by name; default: all that programs are optimised with")
    exact: bool = option(False, "only rules that change no rounding")
    substitutions: bool = option(True, "rewrite at all")
    effort: str = EFFORT
    machine: Machine = field(default_factory=Machine.default)

    def run(self, module: ir.Operation) -> None:
        module = module.operation
        rules = rules_for(self.rules, only_exact=self.exact)
        if not self.substitutions or has_stages(module):
            return
        copy = clone_module(module).operation
        func = entry_of(copy)
        saturation = Saturation(func, rules)
        saturation.run()
        alternatives = saturation.alternatives
        self.statistics["alternatives"] += len(alternatives)
        if not alternatives:
            return
        effort = EFFORTS[self.effort]
        model = cost_model(module, self.machine, planned_mesh(module))
        search = JointSearch(func, alternatives, model, effort)
        if not search.rewritten:
            return
        saved = search.saved()
        places = [(op.location, _name(op)) for i, op in enumerate(alternatives) if i in search.rewritten]
        extract(alternatives, search.rewritten)
        before, after = (_seconds(m, model, effort) for m in (module, copy))
        if after > (1 - _WORTH) * before:
            return
        for where, name in places:
            self.remark(where, f"{name}: {known()[name].source} => {known()[name].destination}{_reason(name)}")
        uses = Counter(name for _, name in places)
        said = ", ".join(
            f"{name} {n} times, without it {1e6 * saved[name]:.1f} us more" for name, n in sorted(uses.items())
        )
        self.remark(
            entry_of(module),
            f"substitutions: {1e6 * after:.1f} us per step by estimate, {1e6 * before:.1f} us without: {said}; algebra "
            f"and layouts together {1e6 * search.solution.cost:.1f} us (bound {1e6 * search.solution.bound:.1f} us)",
        )
        take_contents(module, copy)
        self.statistics["substitutions"] += len(places)


def _name(op: ir.Operation) -> str:
    return str(ir.StringAttr(op.attributes[RULE]).value)


def _reason(name: str) -> str:
    proof = known()[name].proof
    return f" (proved from {proof})" if proof else ""


def _seconds(module: ir.Operation, model: CostModel, effort: Effort) -> float:
    """Seconds of a step of the best plan of a program, as the search adds them up."""
    func = entry_of(module)
    built = Builder(model, Tables.on(model.mesh)).build(func, state_of(func))
    return optimize(built.quotient(model), effort=effort).seconds


class JointSearch:
    """The best alternatives of a program, with their layouts.

    With all alternatives fixed the network is that of one program, which takes milliseconds.  So good choices are found
    by changing some, those of a rule and single ones, as long as that helps; and choices are *probed*: one whose bound
    is above the best cost is out.  What is left open, if anything is, makes the gap.
    """

    def __init__(
        self, func: ir.Operation, alternatives: list[ir.Operation], model: CostModel, effort: Effort
    ) -> None:
        built = Builder(model, Tables.on(model.mesh)).build(func, state_of(func))
        node_of = {op: node for op, node in built.ops}
        self._nodes = [node_of[op] for op in alternatives]
        self._names = [_name(op) for op in alternatives]
        self._joint = Joint(built.quotient(model), self._nodes)
        self._effort = effort
        self._network = self._joint.network()
        self._known: dict[frozenset[int], Solution] = {}
        classes: dict[int, list[int]] = {}
        for i, n in enumerate(self._nodes):
            classes.setdefault(self._joint.quotient.class_of[n], []).append(i)
        self._classes = [frozenset(members) for members in classes.values()]
        """Alternatives that are chosen together."""
        self._every = frozenset(range(len(alternatives)))
        self.rewritten = self._used(self._climb(self._every))
        """The alternatives that are taken, by number."""
        best = self._solved(self.rewritten)
        self.solution = Solution(best.x, best.cost, min(best.cost, self._bound(best.cost)), best.variables)

    def saved(self) -> dict[str, float]:
        """By rule that is used, how many seconds more a step takes without it."""
        used = dict.fromkeys(self._names[i] for i in sorted(self.rewritten))
        found = {}
        for name in used:
            others = frozenset(i for i in self._every if self._names[i] != name)
            found[name] = self._solved(self._climb(others)).cost - self.solution.cost
        return found

    def _climb(self, allowed: frozenset[int]) -> frozenset[int]:
        """The best choice that is found among those that are `allowed`."""
        rules = dict.fromkeys(self._names[i] for i in sorted(allowed))
        of_rule = [frozenset(i for i in allowed if self._names[i] == name) for name in rules]
        moves = [allowed, *of_rule, *(c & allowed for c in self._classes)]
        best = frozenset[int]()
        cost, improved, tried = self._solved(best).cost, True, 0
        while improved and tried < _MOST:
            improved = False
            for move in moves:
                for other in (best | move, best - move):
                    if other == best or tried >= _MOST:
                        continue
                    tried += 1
                    found = self._solved(other)
                    if found.cost < (1 - _NOISE) * cost:
                        best, cost, improved = other, found.cost, True
        return best

    def _solved(self, rewritten: frozenset[int]) -> Solution:
        """The best layouts of the program with these alternatives."""
        if rewritten not in self._known:
            self._known[rewritten] = self._within(rewritten, self._every - rewritten, self._effort)
        return self._known[rewritten]

    def _within(
        self, rewritten: frozenset[int], original: frozenset[int], effort: Effort, cutoff: float = np.inf
    ) -> Solution:
        """The best solution in which some alternatives are rewritten if they are used, and others are not."""
        nodes = self._nodes
        open_ = self._joint.open([nodes[i] for i in rewritten], [nodes[i] for i in original])
        found = solve(self._network.restrict(open_), effort=effort, cutoff=cutoff)
        return Solution(widened(open_, found.x), found.cost, found.bound, found.variables)

    def _used(self, rewritten: frozenset[int]) -> frozenset[int]:
        """Those of them whose results something reads."""
        taken = self._joint.taken(self._solved(rewritten).x)
        return frozenset(i for i in rewritten if taken.get(self._nodes[i]))

    def _bound(self, cost: float) -> float:
        """A bound on all choices: the least of those that probing leaves, by fixing what it rules out."""
        quick, none = EFFORTS["quick"], frozenset[int]()
        fixed, against = none, none
        bound = self._within(none, none, quick).bound
        for members in self._classes[:_MOST]:
            if bound >= (1 - _NOISE) * cost:
                break
            taken = bool(members & self.rewritten)
            # The other way round from what is taken.
            other = (fixed, against | members) if taken else (fixed | members, against)
            if self._within(*other, quick, cost).bound >= (1 - _NOISE) * cost:
                fixed, against = (fixed | members, against) if taken else (fixed, against | members)
                bound = max(bound, self._within(fixed, against, quick).bound)
        if fixed | against == self._every:
            bound = max(bound, self._within(fixed, against, self._effort).bound)
        return bound
