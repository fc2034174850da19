"""The best of several plans, of the searches and the baselines, by simulation.

All are drafts at first, which are timed on the graph of the search; the fastest are written, lowered and simulated.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

from torch_mlir import ir

from pcg.baselines import plans
from pcg.baselines.plans import BaselinePlan
from pcg.ir import annotation
from pcg.ir.clone import take_contents
from pcg.ir.errors import PcgError
from pcg.ir.parse import parse_written
from pcg.ir.stages import has_stages
from pcg.ir.transformation import Bytes, Transformation, option
from pcg.ir.walk import entry_of
from pcg.layout import Mesh
from pcg.machine import Machine, mapping
from pcg.planning.attempt import Attempt, BaselineAttempt, Candidate, Common, Draft, SearchAttempt
from pcg.planning.baseline import suitable
from pcg.planning.baseline_drafts import BaselineDrafts, Unfit
from pcg.planning.choose_mesh import CHOSEN, ChooseMesh, unity_meshes
from pcg.planning.evaluate import Context
from pcg.planning.memory_plans import mark_own_reshards
from pcg.planning.overlaps import searches
from pcg.planning.progress import Progress
from pcg.planning.relink import Relink
from pcg.planning.rewritten import SUBSTITUTIONS, forget, original_of
from pcg.planning.search import EFFORT, SELECTED, Search
from pcg.planning.target import cost_model, limit_of, planned_mesh
from pcg.planning.workers import JOBS, Pending, Workers
from pcg.rewrite.refine_mesh import RefineMesh
from pcg.search.outcome import SIMULATION, Alternative, Outcome

#: Ops of all plans that are lowered and simulated, and the fewest of these.  A choice: plans of programs of less than
#: 2,000 ops all are; one of 10,000 takes four seconds.  Four drafts of Inception-v3 on 512 H100 take 0.5 to 2% more
#: than their lowered programs, and the fastest of these is that of the fourth.
_SIMULATED_OPS, _SIMULATED = 60_000, 3
#: A draft that takes so many times as long as the fastest is not simulated if not all are.  Measured: of plans of one
#: program the times on the graph and those of lowered programs differ by no more, relative to each other.
_SLOWER = 1.01
#: Kinds of plans of which the fastest draft is simulated in any case.  Measured: of GPT-3 13B on 512 H100 drafts of
#: ZeRO take as long as lowered, that of the search 5% longer; lowered it is the fastest, as it is of Llama-3 8B.
_UNLIKE = frozenset({"search"})
#: A draft that needs so many times the limit, as the search counts, may fit.  A choice from when the search counted up
#: to half more than lowered programs need (GPT-3 on 48 V100).
_COUNTED = 1.5
#: Plans that are lowered at the same time, when it is known how long the fastest draft really takes.  A choice.
_WAVE = 2
#: Ops of a large program, for which there are fewer searches, none by Unity's algorithm, which takes longer than all of
#: them, and no ZeRO variants of baselines once anything (of their kind) fits.  A choice.
_LARGE = 8_000
#: How much slower than the fastest draft one on another mesh may be for the searches to run there, too.  Measured: they
#: have found plans a quarter faster than the best baseline of a mesh (XDL on 192 V100).
_NEAR = 1.25
#: Plans that the remark names beside the chosen one.  A choice.
_NAMED = 12


@dataclass
class Select(Transformation):
    """Choose among plans by simulating them: those of the search, and the baselines."""

    candidates: str = option("all", "search: only plans of the search; all: also the baselines", ("all", "search"))
    meshes: str = option(
        "auto", "declared: plans on the module's mesh; any: also on others; auto: any if pcg-choose-mesh chose it and "
        "the program is not large", ("auto", "declared", "any"),
    )  # fmt: skip
    places: int = option(8, "with meshes=any: device mappings that are tried for one mesh")
    relinked: int = option(200, "how many plans are timed that take parts of another plan into the best; 0: none")
    jobs: int = JOBS
    effort: str = EFFORT
    generic: bool = option(True, "whether to select also where no cluster is given; else pcg-search decides")
    memory_limit: Bytes | None = option(None, "bytes per device that a plan may need, as in pcg-search")
    machine: Machine = field(default_factory=Machine.default)
    by_kind: bool = field(default_factory=bool)
    """Whether the best plan of every kind is wanted: none is left out because one of another kind is faster."""
    report: Callable[[Candidate, bool], None] = field(default_factory=lambda: lambda _, __: None)
    """Called with every plan when it has been simulated; with one that equals an earlier one by its own name.

    Also with whether it is a plan of the program that `pcg-substitute` has made.
    """
    donated: Collection[int] = field(default_factory=tuple)
    """Arguments whose memory results may take over, beside those that the program marks."""
    search: Search = field(default_factory=Search)
    """Its options are those of every search; machine, limit and overlap fractions are set for each."""
    refine: RefineMesh | None = field(default_factory=lambda: RefineMesh(reshapes=True, max_axes=2))
    """What refines another mesh before it is searched, as the pipelines do."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.tried: list[Candidate] = []
        """All plans that were simulated, in order."""
        self.chosen: Candidate | None = None
        self.outcome: Outcome | None = None
        """The chosen plan by simulation; `alternatives` are the others."""

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError where no candidate fits."""
        module = module.operation
        text = original_of(module)
        if not text or has_stages(module) or (self.machine.cluster is None and not self.generic):
            self._select(module)
            return
        # What has been rewritten because that is faster by the estimate of the search may not be so by simulation.
        with module.context:
            other = parse_written(text).operation
        without = copy.copy(self)
        without.__post_init__()
        errors = [selection._attempt(of) for selection, of in ((without, other), (self, module))]
        if errors[0] is not None and errors[1] is not None:
            raise errors[0]
        if without.outcome is None or (self.outcome is not None and self.outcome.seconds < without.outcome.seconds):
            self.remark(entry_of(module), f"without substitutions {_simulated(without.outcome)}")
            return
        rejected = _simulated(self.outcome)
        self.__dict__.update(without.__dict__)
        take_contents(module, other)
        forget(module)
        with module.context:
            module.attributes[SELECTED] = ir.UnitAttr.get()
        self.remark(entry_of(module), f"no substitutions: with them {rejected}")

    def _attempt(self, module: ir.Operation) -> PcgError | None:
        """Select; why there is no plan, if there is none."""
        try:
            self._select(module)
        except PcgError as error:
            self.outcome = None
            return error
        return None

    def _select(self, module: ir.Operation) -> None:
        chosen = CHOSEN in module.attributes
        if chosen:
            del module.attributes[CHOSEN]
        if has_stages(module) or (self.machine.cluster is None and not self.generic):
            return
        dataclasses.replace(self.search, effort=self.effort).check_options(module)
        func, mesh = entry_of(module), planned_mesh(module)
        self._rewritten = SUBSTITUTIONS in module.attributes
        limit = limit_of(self.memory_limit, cost_model(module, self.machine, mesh).machine)
        self._limit = math.inf if limit is None else float(limit)
        self._seen: dict[str, Candidate] = {}
        self._common = Common(Context(self.machine, self.search.backend, self.donated), self._limit, self._seen.keys())
        self._drafts: list[tuple[Draft, Attempt]] = []
        self._lowered: set[str] = set()  # by name; also what could not be lowered
        self._untraded: list[SearchAttempt] = []  # may trade time for memory; a draft fits without
        self._failures: list[PcgError] = []
        self._dropped: list[str] = []
        annotated = annotation.names_axes(func)
        self._suitable = cache(lambda: suitable(func))
        mark_own_reshards(module)
        # A planner that is left for the next search is of this process.
        jobs = 1 if self.search.planner_cache is not None else self.jobs
        with Progress(self.search.progress, "pcg-select") as self._progress, Workers(module, jobs) as self._workers:
            self._large = self._workers.ops > _LARGE
            free = self.meshes == "any" or (self.meshes == "auto" and chosen and not self._large)
            self._searches(None, "", meanwhile=not annotated and self.candidates == "all")
            if not annotated and free:
                self._other_meshes(module, mesh)
            elif not annotated and self.candidates == "all":
                self._baselines([(plan, ()) for plan in plans.on_mesh(mesh, self._suitable())])
            relinking = Relink(
                self._common, self._workers, mesh, self.refine, self._quiet_search(), self._drafts, self.tried,
                self.relinked, self._large, self._finish, self._progress,
            )  # fmt: skip
            self._simulate(relinking.begin)
            relinking.run()
        self._choose(module, func)

    def _choose(self, module: ir.Operation, func: ir.Operation) -> None:
        """Write the best candidate into the module, and say why."""
        searched = [c for c in self.tried if c.search is not None]
        # Where no plan fits by simulation, those of the search fit by its own count of memory.
        fitting = [c for c in self.tried if c.fits] or searched
        if not fitting:
            if self._failures:
                raise self._failures[0]
            why = f"; the one that needs least is {min(self.tried, key=lambda c: c.peak_bytes)}" if self.tried else ""
            raise PcgError(f"no plan fits in {self._limit / 2**20:.1f} MiB per device{why}", func)
        best = self.chosen = min(fitting, key=lambda c: c.seconds)  # of equals the first: the exact search
        others = sorted((c for c in self.tried if c is not best), key=lambda c: (not c.fits, c.seconds))
        found = best.search.outcome if best.search is not None else None
        alternatives = [Alternative(c.name, c.seconds, c.peak_bytes, c.fits) for c in others]
        if found is not None and best.search is not None:
            # A bound on the sum of times is none on the time of a step in which they overlap.
            best.search.here(module.context)
            self.outcome = dataclasses.replace(
                found, seconds=best.seconds, peak_bytes=best.peak_bytes, bound=0.0, alternatives=alternatives,
                named=best.name, by=SIMULATION,
            )  # fmt: skip
            self.statistics.update(best.search.statistics)
        else:
            self.outcome = Outcome(
                [], best.seconds, 0.0, best.peak_bytes, alternatives, 0, 0, named=best.name, by=SIMULATION
            )
        take_contents(module, best.written.module(module.context))
        with module.context:
            module.attributes[SELECTED] = ir.UnitAttr.get()
        func = entry_of(module)
        self.statistics["plans simulated"] = len(self.tried)
        self.statistics["plans timed"] = len(self._drafts)
        named = [*map(str, others), *(f"{a.name} {1e6 * d.seconds:.1f} us before lowering" for d, a in self._left())]
        shown = "; ".join(named[:_NAMED]) + (f"; {len(named) - _NAMED} more" if named[_NAMED:] else "")
        self.remark(
            func,
            f"plan: {best.name}, {1e6 * best.seconds:.1f} us per step by simulation, "
            f"{best.peak_bytes / 2**20:.1f} MiB per device, {self._why(best, others)}; rejected: {shown or 'none'}",
        )
        for text in self._dropped:
            self.remark(func, text)
        for location, text in best.search.remarks if best.search is not None else ():
            self.remark(location, text if not text.startswith("plan:") else f"{best.name}, by its own estimate: {text}")

    def _why(self, best: Candidate, others: Sequence[Candidate]) -> str:
        """Why the best one is the best."""
        if not best.fits:
            return "fits by the estimate of the search only"
        unfit = [c for c in others if not c.fits and c.seconds < best.seconds]
        beaten = next((c for c in others if c.fits), None)
        if beaten is None:
            return "the only one that fits" if unfit else "the only one"
        gap = 100 * (beaten.seconds / best.seconds - 1) if best.seconds else 0.0
        how = f"fastest of {len(self.tried) + len(self._left())}, " + (f"by {gap:.1f}%" if gap else "first of equals")
        return how + (f"; {len(unfit)} faster do not fit" if unfit else "")

    # -- candidates ----------------------------------------------------------------------------

    def _searches(self, mesh: Mesh | None, where: str, meanwhile: bool = False) -> None:
        """Try what the searches find on `mesh`: ours, for several overlap fractions, and Unity's.

        `meanwhile`, while others may search, the program is read for the baselines.
        """
        plain = dataclasses.replace(self._quiet_search(), effort=self.effort)
        refine = None if mesh is None else self.refine
        first, *others = searches(self._common, plain, mesh, refine, where, self._large)
        early = self._workers.start(first.draft)
        drafts: list[tuple[Attempt, Pending]] = [(a, self._workers.start(a.draft)) for a in others]
        if self.candidates == "all":
            drafts += self._unity(mesh, where, ())
        if meanwhile:
            self._suitable()
        found = self._draft_or_fit(first, early)
        if found is None or found.algorithm != "exact":
            for _, p in drafts:
                p.cancel()
            return
        # Fitting takes long for a large program, and what does not fit does not depend on the overlap.
        hopeless = found.fitted and self._large
        for a, p in drafts:
            if hopeless and a.group == "search":
                p.cancel()
            elif not self._take(a, p):
                hopeless = hopeless or (found.fitted and a.group == "search")

    def _draft_or_fit(self, attempt: SearchAttempt, early: Pending) -> Search | None:
        """Take in the draft of a search, or what it trades time for memory for; None where it finds nothing."""
        try:
            draft: Draft = early.result()
        except PcgError:
            return self._finish(attempt, self._workers.start(attempt))
        assert draft.search is not None
        fastest = dataclasses.replace(attempt, search=dataclasses.replace(attempt.search, fastest=draft.search.outcome))
        if draft.search.exceeds:
            return self._finish(fastest, self._workers.start(fastest))
        self._drafts.append((draft, attempt))
        self._untraded.append(fastest)
        return draft.search

    def _quiet_search(self) -> Search:
        return dataclasses.replace(self.search, machine=self.machine, memory_limit=self.memory_limit, progress=False)

    def _unity(self, mesh: Mesh | None, where: str, mappings: Sequence[Mesh]) -> list[tuple[Attempt, Pending]]:
        """Begin with Unity's plan on `mesh`, in the best of `mappings`; not for a large program."""
        search = dataclasses.replace(self._quiet_search(), algorithm="unity")
        attempt = SearchAttempt(self._common, "unity" + where, "unity", mappings, search=search, mesh=mesh)
        if self._large:
            self._dropped.append(f"{attempt.name} is no candidate: the program has more than {_LARGE} ops")
            return []
        return [(attempt, self._workers.start(attempt.draft))]

    def _other_meshes(self, module: ir.Operation, mesh: Mesh) -> None:
        """Try the baselines on every mesh of as many devices, and the search on the best one's mesh."""
        cluster = self.machine.cluster
        unity: list[tuple[Attempt, Pending]] = []
        if cluster is not None and self.candidates == "all":
            for small in unity_meshes(cluster):
                mapped = [p.mesh for p in mapping.device_mappings(cluster, small)][: self.places]
                unity += self._unity(mapped[0], f" on {small}", mapped)
        mappings: dict[tuple[tuple[str, int], ...], Sequence[Mesh]] = {}
        baselines = []
        for plan in plans.on_devices(mesh.size, self._suitable()) if self.candidates == "all" else ():
            axes = plan.mesh.axes
            if axes not in mappings:
                at = mapping.device_mappings(cluster, plan.mesh)[: self.places] if cluster is not None else ()
                mappings[axes] = [p.mesh for p in at] or [plan.mesh]
            baselines.append((plan, mappings[axes]))
        self._baselines(baselines)
        tried = {tuple(n for _, n in mesh.origin.axes)}
        fitting = sorted((d for d, _ in self._drafts if d.peak_bytes <= self._limit), key=lambda d: d.seconds)
        near = 1.0 if self._large else _NEAR
        others = (d for d in fitting if d.mesh.origin != mesh.origin and d.seconds <= near * fitting[0].seconds)
        best = next(others, None)
        line = Mesh.of({"d0": mesh.size}, mesh.device_ids and sorted(mesh.device_ids))
        rewritten = None  # the mesh for what has been rewritten since one was chosen
        if self._rewritten:
            choose = ChooseMesh(mesh.size, memory_limit=self.memory_limit, machine=self.machine, refine=self.refine)
            rewritten = choose.best(self._progress, self._workers)
        for other in (best.mesh if best is not None else None, line, rewritten):
            if other is not None and (sizes := tuple(n for n in other.origin.sizes if n > 1)) not in tried:
                tried.add(sizes)
                self._searches(other.origin, f" on {other.origin}")
        for a, p in unity:
            self._take(a, p)

    def _baselines(self, found: Iterable[tuple[BaselinePlan, Sequence[Mesh]]]) -> None:
        """Draft baselines, each on its mesh, or on that mesh in the best of several mappings."""
        attempts = [
            BaselineAttempt(
                self._common, plan.label, plan.group, mappings, plan=plan, refine=self.refine if mappings else None
            )
            for plan, mappings in found
        ]
        known: dict[str, float] = {}
        for d, a in self._drafts:
            if d.peak_bytes <= self._limit:
                kind = a.group if self.by_kind else ""
                known[kind] = min(known.get(kind, math.inf), d.seconds)
        drafts = BaselineDrafts(self._workers, self._progress, known, self.by_kind, self._large)
        unfit: list[tuple[float, str]] = []
        for attempt, draft in drafts.run(attempts):
            if draft is None:
                self.statistics["slow plans left out"] += 1
            elif isinstance(draft, Unfit):
                unfit.append((draft.argument_bytes, attempt.name))
            elif isinstance(draft, PcgError):
                self._dropped.append(f"{attempt.name} is no candidate: {draft.message}")
            else:
                self._drafts.append((draft, attempt))
        if unfit:
            least, name = min(unfit)
            self._dropped.append(
                f"{len(unfit)} baselines are no candidates: on each device their arguments alone need more than "
                f"{self._limit / 2**20:.1f} MiB ({name} the least, {least / 2**20:.1f} MiB)"
            )

    # -- simulation ----------------------------------------------------------------------------

    def _take(self, attempt: Attempt, pending: Pending) -> bool:
        """Take in a draft; whether there is one."""
        self._progress(attempt.name)
        try:
            self._drafts.append((pending.result(), attempt))
        except PcgError as error:
            self._dropped.append(f"{attempt.name} is no candidate: {error.message}")
            return False
        return True

    def _left(self) -> list[tuple[Draft, Attempt]]:
        """Drafts that were not lowered, the fastest that fit first."""
        left = [(d, a) for d, a in self._drafts if a.name not in self._lowered]
        return sorted(left, key=lambda f: (f[0].peak_bytes > self._limit, f[0].seconds))

    def _simulate(self, meanwhile: Callable[[Attempt], None]) -> None:
        """Write, lower and simulate drafts, the fastest first: all, or those that may be the best.

        A lowered program takes at most a little less time than its draft, at times more: as long as a draft is faster
        than the best lowered program it may be better.  `meanwhile` gets the last of the first, once others are known.
        """
        wave = self._left()
        most = max(_SIMULATED, _SIMULATED_OPS // max(1, self._workers.ops))
        if len(wave) > most:
            fitting = (d.seconds for d, _ in self._drafts if d.peak_bytes <= self._limit)
            wave = self._faster(_SLOWER * min(fitting, default=math.inf), most)
            # Drafts know nothing of devices that wait for each other, which kinds of plans differ in.
            every = self.by_kind or self._common.context.shares_processors
            wave += [f for f in self._best_of_kinds({a.group for _, a in wave}) if every or f[1].group in _UNLIKE]
        best = math.inf
        while wave:
            running = [(a, self._workers.start(a.of(d))) for d, a in wave]
            for n, (a, p) in enumerate(running, 1):
                if n == len(running) and best == math.inf:
                    meanwhile(a)
                self._finish(a, p)
            most -= len(wave)
            best = min((c.seconds for c in self.tried if c.fits), default=math.inf)
            wave = self._faster(best, min(_WAVE, max(0, most)))
        # The search counted less memory than the lowered program needs.
        unfit = {c.name for c in self.tried if not c.fits and c.seconds < best}
        for attempt in [a for a in self._untraded if a.name in unfit or best == math.inf]:
            traded = dataclasses.replace(attempt, name=f"{attempt.name} within the limit")
            self._finish(traded, self._workers.start(traded))

    def _faster(self, seconds: float, most: int) -> list[tuple[Draft, Attempt]]:
        """At most `most` of the drafts left that take less and may fit, the fastest first."""
        may = [f for f in self._left() if f[0].peak_bytes <= _COUNTED * self._limit and f[0].seconds < seconds]
        return sorted(may, key=lambda f: f[0].seconds)[:most]

    def _best_of_kinds(self, known: set[str]) -> list[tuple[Draft, Attempt]]:
        """The fastest draft of each kind that is not among the `known`; that with least memory where none fits."""
        kinds = known | {c.group for c in self.tried if c.fits}
        order = sorted(self._left(), key=lambda f: max(f[0].peak_bytes, self._limit))  # stable: by time where they fit
        first = {a.group: (d, a) for d, a in reversed(order)}
        return [f for kind, f in first.items() if kind not in kinds]

    def _finish(self, attempt: Attempt, pending: Pending) -> Search | None:
        """Take in what an attempt found; the search that did, None where there is no plan."""
        self._progress(attempt.name)
        self._lowered.add(attempt.name)
        try:
            tried = pending.result()
        except PcgError as error:
            if attempt.group == "search":
                self._failures.append(error)
            else:
                self._dropped.append(f"{attempt.name} is no candidate: {error.message}")
            return None
        found = self._seen.get(tried.key, tried.candidate)
        assert found is not None
        if tried.key in self._seen:
            self.report(dataclasses.replace(found, name=attempt.name, group=attempt.group), self._rewritten)
        else:
            self._seen[tried.key] = found
            self.tried.append(found)
            self.report(found, self._rewritten)
        return tried.search


def _simulated(outcome: Outcome | None) -> str:
    return f"{1e6 * outcome.seconds:.1f} us per step by simulation" if outcome is not None else "no plan fits"
