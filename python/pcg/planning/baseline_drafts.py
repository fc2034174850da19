"""Drafts of all baselines, but for those that cannot be the fastest or cannot fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pcg.baselines.plans import BaselinePlan
from pcg.ir.errors import PcgError
from pcg.planning.attempt import BaselineAttempt, Draft
from pcg.planning.workers import Workers
from pcg.planning.workspace import Workspace

#: How many times as long as the fastest plan a tensor degree takes behind which higher ones are not tried.  Seconds by
#: degree fall, as gradients are summed over fewer devices, and then rise, as activations of more examples are, by 1.2
#: to 2.5 times each time that it doubles (measured: an MLP, two transformers, Evoformer, Mixtral; 64 to 512 devices).
_HOPELESS = 2.0
#: Plans are tried in waves by how many prime factors their degree has: so many, so many, and more.  A choice.
_WAVES = (2, 4)
#: On so many meshes the plans of one mesh are one task, so that its graph is made once; on fewer each baseline with its
#: variants is.  A choice.
_MESHES = 3


@dataclass(frozen=True)
class Unfit:
    """Of a baseline that is not drafted: its arguments alone need more bytes on a device than there may be."""

    argument_bytes: float


Found = Draft | PcgError | Unfit | None


@dataclass(frozen=True)
class Drafts:
    """A task: drafts of baselines and their ZeRO variants on meshes of the same sizes, or why there is none.

    A variant is left out (None) where what it saves, the update of state, does not make it as fast as `fastest`: the
    seconds of the fastest plans that are known, by kind if `by_kind`, else under the empty name; with `few` as soon as
    any plan fits.  Unless `by_kind`, one that splits no state is, too, and what cannot fit is `Unfit`.
    """

    attempts: Sequence[BaselineAttempt]
    fastest: Mapping[str, float]
    by_kind: bool
    few: bool

    def __call__(self, workspace: Workspace) -> list[Found]:
        fastest = dict(self.fastest)
        least: dict[str, float] = {}
        found: list[Found] = []
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
                annotated = attempt.annotated(workspace)
                if not self.by_kind and annotated.argument_bytes > attempt.common.limit:
                    found.append(Unfit(annotated.argument_bytes))
                    continue
                if not self.by_kind and base != plan and not annotated.splits_state:
                    found.append(None)
                    continue
                draft = attempt.draft_of(workspace, annotated)
            except PcgError as error:
                found.append(error)
                continue
            found.append(draft)
            if base == plan:
                least[plan.label] = draft.seconds - attempt.update_seconds(workspace, draft)
            if draft.peak_bytes <= attempt.common.limit:
                fastest[kind] = min(fastest.get(kind, math.inf), draft.seconds)
        return found


@dataclass
class BaselineDrafts:
    """Drafts baselines in processes, in waves of increasing tensor degree."""

    workers: Workers
    progress: Callable[[str], None]
    fastest: dict[str, float]
    """As in `Drafts`; changes."""
    by_kind: bool
    few: bool
    _tried: list[tuple[BaselinePlan, float]] = field(default_factory=list)
    """What was drafted without ZeRO, and its seconds."""

    def run(self, attempts: Sequence[BaselineAttempt]) -> list[tuple[BaselineAttempt, Found]]:
        """What becomes of each, in their order; None: it cannot be the fastest."""
        found: dict[str, Found] = {}
        for wave in _waves(attempts):
            hopeful = [a for a in wave if not self._hopeless(a)]
            tasks = [Drafts(several, dict(self.fastest), self.by_kind, self.few) for several in _tasks(hopeful)]
            for task, running in [(t, self.workers.start(t)) for t in tasks]:
                self.progress(task.attempts[0].name)
                for attempt, one in zip(task.attempts, running.result(), strict=True):
                    found[attempt.name] = one
                    if isinstance(one, Draft):
                        self._note(attempt, one)
        return [(a, found.get(a.name)) for a in attempts]

    def _note(self, attempt: BaselineAttempt, draft: Draft) -> None:
        assert attempt.plan is not None
        if attempt.plan == attempt.plan.without_zero:
            self._tried.append((attempt.plan, draft.seconds))
        if draft.peak_bytes <= attempt.common.limit:
            kind = attempt.plan.group if self.by_kind else ""
            self.fastest[kind] = min(self.fastest.get(kind, math.inf), draft.seconds)

    def _hopeless(self, attempt: BaselineAttempt) -> bool:
        """Whether a divisor of its tensor degree is slow already, and slower than one of its own divisors."""
        plan = attempt.plan
        assert plan is not None
        slow = _HOPELESS * self.fastest.get("", math.inf)  # of kinds, each of which is wanted, nothing is known there
        tried = [(p.tensor_degree, seconds) for p, seconds in self._tried if p.series == plan.series]
        lower = [(k, seconds) for k, seconds in tried if plan.tensor_degree % k == 0 and k < plan.tensor_degree]
        return any(
            seconds > slow and any(k % j == 0 and less < seconds for j, less in lower) for k, seconds in lower
        )


def _waves(attempts: Iterable[BaselineAttempt]) -> Iterator[list[BaselineAttempt]]:
    waves: list[list[BaselineAttempt]] = [[] for _ in range(len(_WAVES) + 1)]
    for a in attempts:
        assert a.plan is not None
        factors = _prime_factors(a.plan.tensor_degree)
        waves[sum(factors > most for most in _WAVES)].append(a)
    yield from filter(None, waves)


def _tasks(attempts: Collection[BaselineAttempt]) -> Iterator[list[BaselineAttempt]]:
    """Attempts that are one task, baselines before their ZeRO variants."""
    plans = [a.plan for a in attempts if a.plan is not None]
    several = len({p.mesh.sizes for p in plans}) >= _MESHES
    tasks: dict[object, list[BaselineAttempt]] = {}
    for a, plan in sorted(zip(attempts, plans, strict=True), key=lambda f: f[1].without_zero != f[1]):
        tasks.setdefault(plan.mesh.sizes if several else (plan.mesh.axes, plan.without_zero.label), []).append(a)
    yield from tasks.values()


def _prime_factors(n: int) -> int:
    """How many there are, with repetition."""
    found, divisor = 0, 2
    while n > 1:
        while n % divisor == 0:
            n, found = n // divisor, found + 1
        divisor += 1
    return found
