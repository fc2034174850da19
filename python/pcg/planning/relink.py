"""The best plans with parts of others (path relinking, `search/relink.py`): as drafts, lowered where that is cheap."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pcg.ir.clone import clone_module
from pcg.ir.errors import PcgError
from pcg.ir.walk import entry_of
from pcg.layout import Mesh
from pcg.planning.attempt import Attempt, Candidate, Common, Draft, SearchAttempt
from pcg.planning.evaluate import evaluate
from pcg.planning.search import Search
from pcg.planning.target import cost_model
from pcg.planning.workers import Pending, Workers
from pcg.planning.workspace import Workspace
from pcg.rewrite.refine_mesh import RefineMesh
from pcg.search.commit import commit
from pcg.search.outcome import Outcome
from pcg.search.relink import relink
from pcg.search.table import Tables

#: Ops of all plans that relinking times as drafts.  A choice: 400,000 take ten seconds.
_DRAFTED_OPS = 400_000
#: Where the best plan takes so many times as long as its draft, that timing is wrong for the program, as where shards
#: are uneven: then plans are lowered, of so many ops.  Choices.
_WRONG, _LOWERED_OPS = 1.05, 40_000
#: Ops of plans that are lowered for exact timings after those of drafts, if that is enough for so many plans.  Measured
#: on the models of docs/quality.md: an MLP becomes up to 1.4% faster in three seconds.
_EXACT_OPS, _EXACT = 10_000, 25
#: How many times as long as the best draft others on its mesh may take that are relinked, too, as many as
#: `_DRAFTED_OPS` leaves room for: of small programs.  Measured: DLRM on 192 V100 with its updates of tables rewritten
#: takes 15.13 ms relinked from the best draft, 14.05 from one that took 5% longer.
_START = 1.1
#: How many times as long as the best plan a draft on another mesh may take to be relinked.  Measured: parts of others
#: make such a draft of Mixtral on 512 H100 8% faster.
_NEAR = 1.05
#: Share of its time that a plan of a large program must save by parts of others to be lowered.  A choice.
_WORTH = 0.002
#: The kind of a plan that takes parts of another search's plan, but for those of ours alone, which are of the search.
RELINKED = "relinked"
_NOTHING_KNOWN = Outcome([], math.inf, 0.0, 0.0, [], 0, 0)
_Choice = tuple[int, ...]


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


@dataclass
class Relink:
    """Tries plans that have parts of others.

    `tried` are the candidates that are simulated so far, `drafts` those that are timed; `finish` takes an attempt that
    is started, and adds what it finds to `tried`.
    """

    common: Common
    workers: Workers
    mesh: Mesh
    """Of the program."""
    refine: RefineMesh | None
    plain: Search
    """A search with the options of all."""
    drafts: Sequence[tuple[Draft, Attempt]]
    tried: Sequence[Candidate]
    most: int
    """Plans that are timed for one that is relinked; 0: none is."""
    large: bool
    """Whether the program is large, so that only what saves much is lowered."""
    finish: Callable[[Attempt, Pending], object]
    progress: Callable[[str], None]
    _begun: list[tuple[Relinking, Pending[list[tuple[list[int], float]]]]] = field(default_factory=list)
    """What is, or was, relinked, beside other work."""

    def run(self) -> None:
        """Relink the best plan, the best draft on another mesh if that is nearly as fast, and the best plan of the
        searches without Unity's if the best is Unity's; of a small program then other drafts."""
        order = sorted((c for c in self.tried if c.fits), key=lambda c: c.seconds)
        if not order or not self.most:
            return
        best = order[0]
        wanted = [(best.name, self.drafts)]
        unlike = [(d, a) for d, a in self.drafts if _layout(d.mesh) != _layout(best.mesh)]
        fitting = (f for f in unlike if f[0].peak_bytes <= self.common.limit)
        other = min(fitting, key=lambda f: f[0].seconds, default=None)
        if other is not None and other[0].seconds < _NEAR * best.seconds:
            wanted.append((other[1].name, self.drafts))
        ours = next((c for c in order if c.group == "search"), None)
        if ours is not None and best.group == "unity":
            wanted.append((ours.name, [(d, a) for d, a in self.drafts if a.group != "unity"]))
        for name, drafts in wanted:
            self._begin(name, drafts)
        for name, drafts in wanted:
            self._relink(name, drafts)
        self._relink_twice(best.name)

    def begin(self, last: Attempt) -> None:
        """Begin with the best plan so far, which is likely to stay that: of a large program, where it takes long.

        Where there is none, with the draft of `last`, the first that is simulated.
        """
        best = min((c for c in self.tried if c.fits), key=lambda c: c.seconds, default=None)
        if self.large and self.most:
            self._begin(last.name if best is None else best.name, self.drafts)

    def _begin(self, name: str, drafts: Sequence[tuple[Draft, Attempt]]) -> None:
        found = self._drafted(name, drafts)
        if found is not None:
            self._started(self._task(*found, drafts))

    def _started(self, task: Relinking) -> Pending[list[tuple[list[int], float]]]:
        """A task that runs, or has run; each is done once."""
        running = next((running for known, running in self._begun if known == task), None)
        if running is None:
            running = self.workers.start(task)
            self._begun.append((task, running))
        return running

    def _relink(self, name: str, drafts: Sequence[tuple[Draft, Attempt]]) -> None:
        """Try the plan of that name with parts of those of `drafts` on its mesh."""
        found = self._drafted(name, drafts)
        if found is None:
            return
        draft, attempt = found
        base = self._base(draft, attempt, drafts)
        task = self._task(draft, attempt, drafts)
        before = self._simulated(draft, attempt) if task.lowered else draft.seconds
        enough = (1 - _WORTH if self.large else 1.0) * before
        plans = {attempt.name: draft.choice, **self._tried(base, task, enough)}
        if not task.lowered:
            self._exactly(base, draft, attempt, plans)

    def _relink_twice(self, name: str) -> None:
        """Relink the best drafts on the mesh of the one of that name, and the best of what they become with parts of
        all of these."""
        found = self._drafted(name, self.drafts)
        many = _DRAFTED_OPS // max(1, self.workers.ops * self.most)
        if found is None or self.large or many < 2 or self._task(*found, self.drafts).lowered:
            return
        near = [f for f in self._fitting(found[0], self.drafts) if f[0].seconds < _START * found[0].seconds]
        unlike: dict[_Choice, tuple[Draft, Attempt]] = {}
        for f in sorted(near, key=lambda f: f[0].seconds):
            unlike.setdefault(f[0].choice, f)
        starts = list(unlike.values())[:many]
        if len(starts) < 2:
            return
        self.progress(f"{name} and {len(starts) - 1} others relinked")
        running = [self._started(self._drafted_task(*f, self.drafts)) for f in starts]
        better = []
        for (d, a), pending in zip(starts, running, strict=True):
            plan, seconds = pending.result()[-1]
            better.append((dataclasses.replace(d, choice=tuple(plan), seconds=seconds), a))
        draft, attempt = min(better, key=lambda f: f[0].seconds)
        drafts = [*self.drafts, *better]
        base = self._base(draft, attempt, drafts)
        base = dataclasses.replace(base, name=f"{base.name} twice")
        enough = min(c.seconds for c in self.tried if c.fits)
        plans = self._tried(base, self._drafted_task(draft, attempt, drafts), enough)
        self._exactly(base, draft, attempt, plans)

    def _exactly(self, base: SearchAttempt, draft: Draft, attempt: Attempt, plans: Mapping[str, _Choice]) -> None:
        """Relink the fastest of `plans`, by name, by the times of lowered programs, where these are small."""
        most = min(self.most, _EXACT_OPS // max(1, self.workers.ops))
        start = min((c for c in self.tried if c.name in plans and c.fits), key=lambda c: c.seconds, default=None)
        if most < _EXACT or start is None:
            return
        base = dataclasses.replace(base, name=f"{base.name} by simulation")
        exactly = self._task(dataclasses.replace(draft, choice=plans[start.name]), attempt, self.drafts)
        self._tried(base, dataclasses.replace(exactly, most=most, lowered=True), start.seconds)

    @staticmethod
    def _drafted(name: str, drafts: Sequence[tuple[Draft, Attempt]]) -> tuple[Draft, Attempt] | None:
        return next(((d, a) for d, a in drafts if a.name == name), None)

    def _simulated(self, draft: Draft, attempt: Attempt) -> float:
        """Seconds of the lowered program of a draft, or of that where it was not lowered."""
        return next((c.seconds for c in self.tried if c.name == attempt.name), draft.seconds)

    def _fitting(self, draft: Draft, drafts: Sequence[tuple[Draft, Attempt]]) -> list[tuple[Draft, Attempt]]:
        """Those of `drafts` on the mesh of one that fit."""
        at, limit = _layout(draft.mesh), self.common.limit
        return [(d, a) for d, a in drafts if _layout(d.mesh) == at and d.peak_bytes <= limit]

    def _base(self, draft: Draft, attempt: Attempt, drafts: Sequence[tuple[Draft, Attempt]]) -> SearchAttempt:
        """What a draft becomes with parts of others, but for its plan."""
        known = next((d.search for d, _ in self._fitting(draft, drafts) if d.search is not None), None) or self.plain
        mesh, refine = self._mesh(draft)
        group = RELINKED if attempt.group == "unity" else "search"
        return SearchAttempt(self.common, f"{attempt.name} relinked", group, search=known, mesh=mesh, refine=refine)

    def _task(self, draft: Draft, attempt: Attempt, drafts: Sequence[tuple[Draft, Attempt]]) -> Relinking:
        """A draft with parts of those of `drafts` on its mesh that fit."""
        lowered = self._simulated(draft, attempt) > _WRONG * draft.seconds
        ops = (_LOWERED_OPS if lowered else _DRAFTED_OPS) // max(1, self.workers.ops)
        fitting = [d for d, _ in self._fitting(draft, drafts)]
        choices = [d.choice for d in sorted(fitting, key=lambda d: (d.seconds, d.choice))]
        unlike = tuple(x for x in dict.fromkeys(choices) if x != draft.choice)
        mesh, refine = self._mesh(draft)
        return Relinking(self.common, draft.choice, unlike, min(self.most, ops), mesh, refine, lowered)

    def _drafted_task(self, draft: Draft, attempt: Attempt, drafts: Sequence[tuple[Draft, Attempt]]) -> Relinking:
        """The same, by the times of drafts whatever they are."""
        return dataclasses.replace(self._task(draft, attempt, drafts), most=self.most, lowered=False)

    def _mesh(self, draft: Draft) -> tuple[Mesh | None, RefineMesh | None]:
        """The mesh of a draft, and what refines that, as in `SearchAttempt`."""
        return (None, None) if draft.mesh == self.mesh else (draft.mesh.origin, self.refine)

    def _tried(self, base: SearchAttempt, task: Relinking, enough: float) -> dict[str, _Choice]:
        """The plans by name that `task` finds that take less than `enough`.

        Of all rounds where drafts of a small program are timed, else of the last.
        """
        self.progress(base.name)
        rounds = self._started(task).result()
        found: dict[str, _Choice] = {}
        for n, (plan, taken) in enumerate(rounds, 1):
            if taken < enough and (n == len(rounds) or not (self.large or task.lowered)):
                outcome = dataclasses.replace(base.search.outcome or _NOTHING_KNOWN, choice=list(plan))
                name = base.name + f" {n}" * (n > 1)
                attempt = dataclasses.replace(base, name=name, search=dataclasses.replace(base.search), known=outcome)
                self.finish(attempt, self.workers.start(attempt))
                found[name] = tuple(plan)
        return found


def _layout(mesh: Mesh) -> tuple[object, ...]:
    """What meshes share on which a plan, as choices of a graph, is the same: all but the names of axes."""
    return mesh.sizes, mesh.device_ids
