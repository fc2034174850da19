"""Rewriting a program by proved rules where its best plan becomes faster: algebra and layouts are chosen together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import annotation, shardings
from pcg.ir.clone import clone_module, take_contents
from pcg.ir.errors import PcgError
from pcg.ir.locations import place
from pcg.ir.stages import has_stages
from pcg.ir.transformation import Transformation, option
from pcg.ir.walk import entry_of, walk
from pcg.layout import Mesh
from pcg.machine import Machine
from pcg.planning import rewritten
from pcg.planning.ahead import is_large
from pcg.planning.backtrack import Backtracking
from pcg.planning.choose_mesh import CHOSEN
from pcg.planning.fastest import Fastest
from pcg.planning.joint_answers import JointAnswers
from pcg.planning.joint_search import WORTH, JointSearch
from pcg.planning.progress import Progress
from pcg.planning.search import EFFORT, Search
from pcg.planning.target import cost_model, planned_mesh
from pcg.rewrite.substitutions.apply import rules_for
from pcg.rewrite.substitutions.extract import extract, extracted
from pcg.rewrite.substitutions.saturate import Saturation, rule_of
from pcg.search.choices import Annotated
from pcg.search.read_structure import StructureReader
from pcg.search.roles import state_of
from pcg.solve.answers import Answers
from pcg.solve.effort import EFFORTS, Effort
from pcg.substitute.applied import THEN, applied_rules, proofs
from pcg.substitute.schema import Schema

#: On meshes of more axes alternatives are chosen as on one axis of as many devices, and what they bring is found out on
#: the mesh.  Measured: on 2x2x2 the network of a transformer has 25 million entries, and a solution takes 2 s.
_AXES = 2
#: Share of a step, by the costs of the program with all alternatives, that a rule has to save to be used unseen.
#: Measured: XDL on 8 V100s takes 476.8 us by them, 473.3 by those of the program that is left; DLRM 12.49 and 12.44 ms.
_DOUBTFUL = 0.02


@dataclass
class Substitute(Transformation):
    """Rewrite a program where a faster plan follows from it."""

    rules: tuple[str, ...] = option((), "the rules, by name; default: all that programs are optimised with")
    exact: bool = option(False, "only rules that change no rounding")
    substitutions: bool = option(True, "rewrite at all")
    algorithm: str = option(
        "exact", "exact: alternatives and layouts chosen together, with a bound; unity: Unity's backtracking",
        ("exact", "unity"),
    )  # fmt: skip
    alpha: float = option(1.05, "unity: times the cost of the best program that one may cost to be gone on with")
    budget: int = option(30, "unity: how many programs rules are applied to")
    taken: tuple[int, ...] = option(
        (), "make these rewrites, numbered as `pcg-saturate` adds alternatives, without a search: as a plan has them"
    )
    effort: str = EFFORT
    keep_original: bool = option(
        True, "on a cluster leave the program as it was in an attribute, so that pcg-select can compare both"
    )
    machine: Machine = field(default_factory=Machine.default)
    explain: bool = field(default_factory=lambda: True)
    """Whether anybody reads remarks."""
    search: Search | None = field(default_factory=lambda: None)
    """What is to search the program next: it begins meanwhile, as mostly the program remains as it is.

    Where there is nothing to search for here, it begins anew: in a copy of the process it takes longer.
    """

    def run(self, module: ir.Operation) -> None:
        module = module.operation
        rules = rules_for(self.rules, only_exact=self.exact)
        if not self.substitutions or has_stages(module):
            return
        if any(op.name == "dist.reshard" for op in walk(module)):
            return  # it is placed already, in part
        if self.algorithm == "unity":
            self._backtrack(module, rules)
            return
        if self.search is not None and self.machine.cluster is None and is_large(module):
            self.search.begin(module)
        worthwhile = False
        try:
            worthwhile = self._rewrite(module, rules)
        finally:
            if self.search is not None and not worthwhile:
                self.search.abandon()

    def _rewrite(self, module: ir.Operation, rules: Sequence[Schema]) -> bool:
        """Rewrite `module` where a faster plan follows; whether it remains as it is after a search for one."""
        copy = clone_module(module).operation
        func = entry_of(copy)
        saturation = Saturation(func, rules)
        saturation.run()
        alternatives = saturation.alternatives
        self.statistics["alternatives"] += len(alternatives)
        if self.taken:
            self._repeat(module, copy, alternatives)
            return False
        if not alternatives:
            return False
        mesh = planned_mesh(module)
        model = joint_model = cost_model(module, self.machine, mesh)
        if len(mesh.axes) > _AXES:
            if annotation.names_axes(func):
                return False
            joint_model = cost_model(module, self.machine, Mesh.of({"devices": mesh.size}, mesh.device_ids))
        effort = EFFORTS[self.effort]
        # On a cluster pcg-select decides, which plans by itself.
        following = self.search if self.machine.cluster is None else None
        begun = self.search if self.search is not None and self.search.tells(effort) else None
        make = partial(self._search, module, func, alternatives, joint_model, rules)
        with ExitStack() as stack:

            def seconds_on(model: CostModel) -> Answers[frozenset[int] | None, float]:
                return stack.enter_context(Answers(partial(_seconds, module, copy, alternatives, model, effort)))

            elsewhere = joint_model is not model and begun is None
            joint = stack.enter_context(JointAnswers(make, _DOUBTFUL, elsewhere=elsewhere))
            seconds = of_rewritten = seconds_on(model)
            if joint.elsewhere:
                seconds.of(None)  # what is read of the mesh for it serves the other programs as well
            elif begun is None:
                seconds.expect(None)
            if not joint.rewritten:
                return True
            if joint.model is not None and joint.model is not joint_model:
                model, of_rewritten = joint.model, seconds_on(joint.model)
            taken, chosen, plan = _chosen(
                joint, of_rewritten, copy, alternatives, model, effort, memory=following is not None
            )
            known = None if begun is None else begun.begun_seconds()
            before, after = seconds.of(None) if known is None else known, plan.outcome.seconds
            if after > (1 - WORTH[self.effort]) * before:
                return True
            if self.search is not None:
                self.search.abandon()
            if following is not None:
                following.known = plan
            saved = joint.saved(taken)
            places = self._remarked((op.location, rule_of(op)) for i, op in enumerate(alternatives) if i in taken)
            if self.explain:
                uses = Counter(name for _, name in places)
                said = ", ".join(
                    f"{name} {n} times (without {1e6 * saved[name]:.1f} us more)" for name, n in sorted(uses.items())
                )
                self.remark(
                    entry_of(module),
                    f"substitutions: {1e6 * after:.1f} us per step by estimate, {1e6 * before:.1f} us without: {said}; "
                    f"the search of all alternatives found {joint}",
                )
        kept = self.keep_original and self.machine.cluster is not None
        text = module.get_asm(print_generic_op_form=True, enable_debug_info=True) if kept else ""
        take_contents(module, chosen)
        if model.mesh != mesh:
            shardings.set_mesh(module, model.mesh)
        self.statistics["substitutions"] += len(places)
        options = f"rules={','.join(s.name for s in rules)} taken={','.join(map(str, sorted(taken)))}"
        rewritten.note(module, applied_rules(places, saved), options, text)
        return False

    def _search(
        self, module: ir.Operation, func: ir.Operation, alternatives: list[ir.Operation], model: CostModel,
        rules: Sequence[Schema],
    ) -> JointSearch:  # fmt: skip
        """The best search: of a program whose mesh was chosen for it as it is, also with the axes the other way round.

        A dimension is split by axes in their order, so where it becomes two the plans differ; what is fastest for the
        program as it is need not be for what is made of it.  Where blocks bring nothing on the mesh as it is, they are
        not expected to on the other (no model of the zoo on the clusters of the quality page is an exception).
        """
        structure = StructureReader.read(func, state_of(func), Annotated(), memory=False)
        search = JointSearch(func, alternatives, model, self.effort, structure)
        mesh = model.mesh
        in_blocks = {schema.name for schema in rules if schema.chosen}
        used = (name for i in search.rewritten for name in rule_of(alternatives[i]).split(THEN))
        splits = not in_blocks.isdisjoint(used)
        if not splits or CHOSEN not in module.attributes or len(mesh.axes) != 2 or mesh.is_refined:
            return search
        on_transposed = cost_model(module, self.machine, mesh.transposed)
        cutoff = (1 - WORTH[self.effort]) * search.solution.cost
        other = JointSearch(func, alternatives, on_transposed, self.effort, structure, cutoff)
        better, worse = (other, search) if other.rewritten and other.solution.cost < cutoff else (search, other)
        worse.close()
        return better

    def _backtrack(self, module: ir.Operation, rules: Sequence[Schema]) -> None:
        model = cost_model(module, self.machine, planned_mesh(module))
        with Progress(True, "pcg-substitute") as progress:
            search = Backtracking(rules, model, self.alpha, self.budget, progress)
            best = search.run(module)
        self.statistics["programs"] += search.looked_at
        places = self._remarked(best.applied)
        self.statistics["substitutions"] += len(best.applied)
        self.remark(
            entry_of(module),
            f"substitutions: {1e6 * best.seconds:.1f} us per step by estimate of Unity's dynamic program; "
            f"{search.looked_at} programs",
        )
        if best.applied:
            take_contents(module, best.module)
            rewritten.note(module, applied_rules(places))

    def _repeat(self, module: ir.Operation, copy: ir.Operation, alternatives: list[ir.Operation]) -> None:
        wrong = [n for n in self.taken if not 0 <= n < len(alternatives)]
        if wrong:
            raise PcgError(
                f"taken has rewrite {wrong[0]}; allowed: 0 or more, and less than {len(alternatives)}, as rules find",
                module,
            )
        places = [(place(alternatives[n].location), rule_of(alternatives[n])) for n in sorted(set(self.taken))]
        extract(alternatives, self.taken)
        take_contents(module, copy)
        rewritten.note(module, applied_rules(places))
        self.statistics["substitutions"] += len(self.taken)

    def _remarked(self, applications: Iterable[tuple[ir.Location, str]]) -> list[tuple[str, str]]:
        """Remark which rules are applied where; the user's line of each application, and its rules."""
        found = list(applications)
        for where, name in found:
            self.remark(where, "; ".join(proofs(name)))
        return [(place(where), name) for where, name in found]


def _chosen(
    joint: JointAnswers, seconds: Answers[frozenset[int] | None, float], module: ir.Operation,
    alternatives: list[ir.Operation], model: CostModel, effort: Effort, *, memory: bool,
) -> tuple[frozenset[int], ir.Operation, Fastest]:  # fmt: skip
    """The alternatives that are taken, the program with them, and its best plan; without `memory` nobody asks how much
    the plan needs.

    Of rules that save little by the costs of the program with all alternatives it is found out by those of the program
    that is left, whose ops are fused otherwise, whether it is better without them.
    """

    def program(taken: frozenset[int]) -> tuple[frozenset[int], ir.Operation, Fastest]:
        found = extracted(module, alternatives, taken)
        return taken, found, Fastest.of(entry_of(found), model, effort, memory=memory)

    if not joint.elsewhere:
        seconds.expect(joint.rewritten)
    first, *others = joint.compared
    if not others:
        seconds.forgo(first)
    for other in others:
        seconds.expect(other)
    best = program(first)  # without what saves least, which is mostly the best
    least = min((seconds.of(other) for other in others), default=math.inf)
    if best[2].outcome.seconds <= least:
        return best
    return program(next(other for other in others if seconds.of(other) == least))


def _seconds(
    module: ir.Operation, copy: ir.Operation, alternatives: list[ir.Operation], model: CostModel, effort: Effort,
    taken: frozenset[int] | None,
) -> float:  # fmt: skip
    """Seconds of a step of the best plan of a program, as the search adds them up: of `copy` with the alternatives that
    are `taken`, or of `module`, with None."""
    program = module if taken is None else extracted(copy, alternatives, taken)
    return Fastest.of(entry_of(program), model, effort, memory=False).outcome.seconds
