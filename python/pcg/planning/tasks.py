"""Tasks over several plans: drafts of a baseline and its variants, and one plan with parts of others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pcg.ir.clone import clone_module
from pcg.ir.errors import PcgError
from pcg.ir.walk import entry_of
from pcg.layout import Mesh
from pcg.planning.attempt import BaselineAttempt, Common, Draft
from pcg.planning.evaluate import evaluate
from pcg.planning.target import cost_model
from pcg.planning.workspace import Workspace
from pcg.rewrite.refine_mesh import RefineMesh
from pcg.search.commit import commit
from pcg.search.relink import relink
from pcg.search.table import Tables


@dataclass(frozen=True)
class Drafts:
    """A task: drafts of a baseline and of its ZeRO variants on one mesh, or why there is none.

    A variant is left out (None) where what it saves, the update of state, does not make it as fast as `fastest`: the
    seconds of the fastest plans that are known, by kind if `by_kind`, else under the empty name; with `few` as soon as
    any plan fits.
    """

    attempts: Sequence[BaselineAttempt]
    fastest: Mapping[str, float]
    by_kind: bool
    few: bool

    def __call__(self, workspace: Workspace) -> list[Draft | PcgError | None]:
        fastest = dict(self.fastest)
        least: dict[str, float] = {}
        found: list[Draft | PcgError | None] = []
        for attempt in self.attempts:
            plan = attempt.plan
            assert plan is not None
            kind = plan.group if self.by_kind else ""
            base = plan.without_zero
            best = fastest.get(kind, math.inf)
            if base != plan and (least.get(base.label, 0.0) > best or (self.few and best < math.inf)):
                found.append(None)
                continue
            try:
                draft = attempt.draft(workspace)
            except PcgError as error:
                found.append(error)
                continue
            found.append(draft)
            if base == plan:
                least[plan.label] = draft.seconds - attempt.update_seconds(workspace, draft)
            if draft.peak_bytes <= attempt.common.limit:
                fastest[kind] = min(fastest.get(kind, math.inf), draft.seconds)
        return found


@dataclass(frozen=True)
class Relinking:
    """A task: the plan `choice` with the parts of `others` that save time, by `most` timings, and its seconds.

    That of every round of relinking, the last one being the fastest.

    The timings are of the graph, or of lowered programs if `lowered`.
    """

    common: Common
    choice: Sequence[int]
    others: Sequence[Sequence[int]]
    most: int
    mesh: Mesh | None = None
    refine: RefineMesh | None = None
    lowered: bool = False

    def __call__(self, workspace: Workspace) -> list[tuple[list[int], float]]:
        if not self.others:
            return []
        on = workspace.on(self.mesh, self.refine)
        model = cost_model(on.module, self.common.context.machine, on.mesh)
        network, timer, built = on.network(model), on.timer(model), on.graph(model)

        def counted(choice: Sequence[int]) -> float:
            return built.lifetimes.peak(built.graph, choice, on.mesh)[0]

        def timed(choice: Sequence[int]) -> float:
            return timer.seconds(choice) if counted(choice) <= limit else math.inf

        def simulated(choice: Sequence[int]) -> float:
            copy = clone_module(on.module).operation
            try:
                commit(entry_of(copy), on.graph_of(copy, model), choice, Tables.on(on.mesh))
                step = evaluate(copy, self.common.context, workspace.works)
            except PcgError:
                return math.inf
            return step.seconds if step.peak_bytes <= self.common.limit else math.inf

        # The plan itself fits, though the search may count more for it.
        limit = max(self.common.limit, counted(self.choice))
        seconds = simulated if self.lowered else timed

        return relink(
            built.graph, self.choice, self.others, seconds(self.choice), most=self.most,
            estimate=network.difference, before=network.cost(self.choice),
            simulate=lambda choices: [*map(seconds, choices)],
        )  # fmt: skip
