"""The best of several plans, of the searches and the baselines, by simulation."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from torch_mlir import ir

from pcg.baselines import plans
from pcg.baselines.layouts import read_program
from pcg.baselines.plans import BaselinePlan, ModelTraits
from pcg.baselines.tensor import experts, tables
from pcg.cost import Overlap
from pcg.ir import annotation
from pcg.ir.clone import take_contents
from pcg.ir.errors import PcgError
from pcg.ir.stages import has_stages
from pcg.ir.transformation import Bytes, Transformation, option
from pcg.ir.walk import entry_of
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine, mapping
from pcg.planning.attempt import Attempt, BaselineAttempt, Candidate, Choice, Common, SearchAttempt
from pcg.planning.choose_mesh import CHOSEN
from pcg.planning.evaluate import Context
from pcg.planning.known_plans import known_plans
from pcg.planning.memory_plans import mark_own_reshards
from pcg.planning.progress import Progress
from pcg.planning.search import EFFORT, SELECTED, Search
from pcg.planning.target import cost_model, limit_of, planned_mesh
from pcg.planning.workers import JOBS, Pending, Workers
from pcg.rewrite.refine_mesh import RefineMesh
from pcg.search.outcome import SIMULATION, Alternative, Outcome
from pcg.search.relink import relink
from pcg.search.roles import state_of
from pcg.solve.pairwise import Pairwise

#: Overlap fractions that searches assume, besides the given.  A choice, as each costs a search and a simulation: of 22
#: sets tried for 18 cells of docs/quality.md, these come closest to the best one with the fewest.
OVERLAPS = (
    Overlap(0.1, 0.1), Overlap(0.5, 0.5), Overlap(0.5, 0.5, 0.9), Overlap(0.7, 0.2, 0.7), Overlap(0.9, 0.0, 0.5),
    Overlap(0.0, 0.0, 0.5), Overlap(0.8, 0.8, 0.8, 0.8),
)  # fmt: skip
#: Share of the state that must be embedding tables for plans that split these to be tried.  A choice.
MANY_TABLES = 0.1
#: ZeRO variants of a plan that takes so many times as long as the best one are not tried: ZeRO saves part of the time
#: of the update and sends as many bytes.  A choice: the update is much less than half of a step.
_ZERO_CUTOFF = 2.0
#: Decisions of all plans that relinking simulates.  A choice: on 40,000 it takes half a minute.
_RELINKED_NODES = 40_000
#: The kind of a plan that takes parts of another search's plan, but for those of ours alone, which are of the search.
RELINKED = "relinked"
#: Plans that the remark names beside the chosen one.  A choice.
_NAMED = 12
_NOTHING_KNOWN = Outcome([], math.inf, 0.0, 0.0, [], 0, 0)


@dataclass
class Select(Transformation):
    """Choose among plans by simulating them: those of the search, and the baselines."""

    candidates: str = option("all", "search: only plans of the search; all: also the baselines", ("all", "search"))
    meshes: str = option(
        "declared", "declared: plans on the module's mesh; any: also on others; auto: any if pcg-choose-mesh chose it",
        ("auto", "declared", "any"),
    )  # fmt: skip
    places: int = option(8, "with meshes=any: device mappings that are tried for one mesh")
    relinked: int = option(12, "how many plans are simulated that take parts of another search's plan; 0: none")
    jobs: int = JOBS
    effort: str = EFFORT
    generic: bool = option(True, "whether to select also where no cluster is given; else pcg-search decides")
    memory_limit: Bytes | None = option(None, "bytes per device that a plan may need, as in pcg-search")
    machine: Machine = field(default_factory=Machine.default)
    by_kind: bool = field(default_factory=bool)
    """Whether the best plan of every kind is wanted: none is left out because one of another kind is faster."""
    report: Callable[[Candidate], None] = field(default_factory=lambda: lambda _: None)
    """Called with every plan when it has been simulated; with one that equals an earlier one by its own name."""
    donated: Collection[int] = field(default_factory=tuple)
    """Arguments whose memory results may take over, beside those that the program marks."""
    search: Search = field(default_factory=Search)
    """Its options are those of every search; machine, limit and overlap fractions are set for each."""
    refine: RefineMesh | None = field(default_factory=lambda: RefineMesh(reshapes=True, max_axes=2))
    """What refines another mesh before it is searched, as the pipelines do."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.tried: list[Candidate] = []
        """All plans that were simulated, in the order in which they were."""
        self.chosen: Candidate | None = None
        self.outcome: Outcome | None = None
        """The chosen plan with times by simulation; `alternatives` are the others."""

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError where no candidate fits."""
        module = module.operation
        free = self.meshes == "any" or (self.meshes == "auto" and CHOSEN in module.attributes)
        if CHOSEN in module.attributes:
            del module.attributes[CHOSEN]
        if has_stages(module) or (self.machine.cluster is None and not self.generic):
            return
        dataclasses.replace(self.search, effort=self.effort).check_options(module)
        func, mesh = entry_of(module), planned_mesh(module)
        limit = limit_of(self.memory_limit, cost_model(module, self.machine, mesh).machine)
        self._limit = math.inf if limit is None else float(limit)
        self._seen: dict[str, Candidate] = {}
        self._common = Common(Context(self.machine, self.search.backend, self.donated), self._limit, self._seen.keys())
        self._seconds_of: dict[str, float] = {}
        self._failures: list[PcgError] = []
        self._dropped: list[str] = []
        annotated = annotation.names_axes(func)
        mark_own_reshards(module)
        # A planner that is left for the next search is of this process.
        jobs = 1 if self.search.planner_cache is not None else self.jobs
        with Progress(self.search.progress, "pcg-select") as self._progress, Workers(module, jobs) as self._workers:
            self._searches(None, "")
            if not annotated and free:
                self._other_meshes(module, mesh)
            elif not annotated and self.candidates == "all":
                self._baselines([(plan, ()) for plan in plans.on_mesh(mesh, self._kinds(module))])
            self._relink(mesh)
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
        shown = "; ".join(map(str, others[:_NAMED])) + (f"; {len(others) - _NAMED} more" if others[_NAMED:] else "")
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
        how = f"fastest of {len(self.tried)}, " + (f"by {gap:.1f}%" if gap else "first of equals")
        return how + (f"; {len(unfit)} faster do not fit" if unfit else "")

    # -- candidates ----------------------------------------------------------------------------

    def _searches(self, mesh: Mesh | None, where: str) -> None:
        """Try what the searches find on `mesh`: ours, for several overlap fractions, and Unity's."""
        plain = Overlap(*self.search.overlaps.values())
        refine = None if mesh is None else self.refine
        attempts: list[Attempt] = []
        for shares in dict.fromkeys((plain, *OVERLAPS)):
            search = dataclasses.replace(
                self._quiet_search(), gradient_overlap=shares.gradient, final_overlap=shares.final,
                branch_overlap=shares.branch, other_overlap=shares.other, effort=self.effort,
            )  # fmt: skip
            if shares != plain:
                search = dataclasses.replace(search, recompute=False, accumulate=False, effort="quick")
            name = "search" + "".join(f" {n}={v:g}" for n, v in search.overlaps.items() if v) + where
            attempts.append(SearchAttempt(self._common, name, "search", search=search, mesh=mesh, refine=refine))
        (first, running), *others = [(a, self._workers.start(a)) for a in attempts]
        unity = [self._unity(mesh, where, ())] if self.candidates == "all" else []
        found = self._finish(first, running)
        if found is None or found.algorithm != "exact":  # what does not fit does not depend on the overlap
            for _, p in (*others, *unity):
                p.cancel()
            return
        for a, p in others:
            # Fitting takes long, and memory decides more than overlap does.
            p.cancel() if found.fitted else self._finish(a, p)
        for a, p in unity:
            self._finish(a, p)

    def _quiet_search(self) -> Search:
        return dataclasses.replace(self.search, machine=self.machine, memory_limit=self.memory_limit, progress=False)

    def _unity(self, mesh: Mesh | None, where: str, mappings: Sequence[Mesh]) -> tuple[Attempt, Pending]:
        """Begin with the plan of Unity's algorithm on `mesh`, in the best of `mappings`."""
        search = dataclasses.replace(self._quiet_search(), algorithm="unity")
        attempt = SearchAttempt(self._common, "unity" + where, "unity", mappings, search=search, mesh=mesh)
        return attempt, self._workers.start(attempt)

    def _relink(self, mesh: Mesh) -> None:
        """Try the best plan with parts of others: of those that the searches have found, and of the best baseline."""
        order = sorted(self.tried, key=lambda c: (not c.fits, c.seconds))
        best = order[0] if order else None
        if best is None or not best.fits or (best.search is not None and best.search.fitted):
            return
        at, refine = (None, None) if best.mesh == mesh else (best.mesh.origin, self.refine)
        on = self._workers.workspace.on(at, refine)
        model = cost_model(on.module, self.machine, on.mesh)
        built = on.graph(model)
        most = min(self.relinked, _RELINKED_NODES // max(1, len(built.graph.nodes)))
        if most <= 0:
            return
        network = built.quotient(model).discrete().network()
        flat = Pairwise.of(network.unary, network.pair)

        def seconds(choices: list[list[int]]) -> list[float]:
            self._progress(f"{best.name}, with parts of others")
            running = [self._workers.start(Choice(self._common, choice, at, refine)) for choice in choices]
            return [p.result() for p in running]

        plans = known_plans(on, built, network, order)
        others = [plan for name, plan in plans.items() if name != best.name]
        if best.name not in plans or (best.search is not None and not others):
            return
        choice, taken = relink(
            built.graph, plans[best.name], others, best.seconds if best.search else seconds([plans[best.name]])[0],
            most=most, estimate=lambda choice: flat.energy(np.array(choice)), simulate=seconds,
        )  # fmt: skip
        # What the searches find is a kind of its own, of which the best counts.
        all_kinds = best.search is not None or not self.by_kind
        if taken < min((c.seconds for c in order if c.fits and (all_kinds or c.group == "search")), default=math.inf):
            found = next((c.search for c in order if c.search is not None and c.name in plans), None)
            known = dataclasses.replace((found and found.outcome) or _NOTHING_KNOWN, choice=choice)
            search = dataclasses.replace(found or self._quiet_search())
            group, name = RELINKED if best.group == "unity" else "search", f"{best.name} relinked"
            attempt = SearchAttempt(self._common, name, group, search=search, mesh=at, refine=refine, known=known)
            self._finish(attempt, self._workers.start(attempt))

    def _other_meshes(self, module: ir.Operation, mesh: Mesh) -> None:
        """Try the baselines on every mesh of as many devices, and the search on the best one's mesh."""
        cluster = self.machine.cluster
        unity = []
        if cluster is not None and self.candidates == "all":
            for small in unity_meshes(cluster):
                mapped = [p.mesh for p in mapping.device_mappings(cluster, small)][: self.places]
                unity.append(self._unity(mapped[0], f" on {small}", mapped))
        mappings: dict[tuple[tuple[str, int], ...], Sequence[Mesh]] = {}
        baselines = []
        for plan in plans.on_devices(mesh.size, self._kinds(module)) if self.candidates == "all" else ():
            axes = plan.mesh.axes
            if axes not in mappings:
                at = mapping.device_mappings(cluster, plan.mesh)[: self.places] if cluster is not None else ()
                mappings[axes] = [p.mesh for p in at] or [plan.mesh]
            baselines.append((plan, mappings[axes]))
        self._baselines(baselines)
        tried = {tuple(n for _, n in mesh.origin.axes)}
        fitting = [c for c in self.tried if c.fits]
        best = min(fitting, key=lambda c: c.seconds, default=None)
        devices = mesh.device_ids
        line = Mesh.of({"d0": mesh.size}, devices and sorted(devices))
        for other in (best.mesh if best is not None else None, line):
            if other is not None and (sizes := tuple(n for n in other.origin.sizes if n > 1)) not in tried:
                tried.add(sizes)
                self._searches(other.origin, f" on {other.origin}")
        for a, p in unity:
            self._finish(a, p)

    def _kinds(self, module: ir.Operation) -> ModelTraits:
        """Which kinds of baseline suit the program."""
        func = entry_of(module)
        program = read_program(func, state_of(func))
        state = {i: math.prod(shape) for i, shape in enumerate(program.shapes) if i not in program.data}
        found = tables(program.weight_uses)
        many = sum(state.get(a, 0) for a in found) > MANY_TABLES * sum(state.values())
        stacks = frozenset(program.shapes[a][t.stack] for a, t in found.items() if t.stack is not None)
        counts = frozenset(program.shapes[a][d] for a, d in experts(program.weight_uses).items())
        return ModelTraits(many, stacks, counts)

    def _baselines(self, found: Iterable[tuple[BaselinePlan, Sequence[Mesh]]]) -> None:
        """Try baselines, each on its mesh, or on that mesh in the best of several mappings; ZeRO variants last."""
        found = list(found)
        for zero in (False, True):
            attempts = []
            for plan, mappings in found:
                if zero != (plan.without_zero != plan):
                    continue
                rivals = [c for c in self.tried if c.fits and (c.group == plan.group or not self.by_kind)]
                most = _ZERO_CUTOFF * min((c.seconds for c in rivals), default=math.inf)
                if zero and self._seconds_of.get(plan.without_zero.label, 0.0) > most:
                    self.statistics["slow plans left out"] += 1
                    continue
                attempts.append(BaselineAttempt(self._common, plan.label, plan.group, mappings, most, plan=plan))
            for a, p in [(a, self._workers.start(a)) for a in attempts]:
                self._finish(a, p)

    # -- simulation ----------------------------------------------------------------------------

    def _finish(self, attempt: Attempt, pending: Pending) -> Search | None:
        """Take in what an attempt found; the search that did, None where there is no plan."""
        self._progress(attempt.name)
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
        if isinstance(attempt, BaselineAttempt):
            self._seconds_of[attempt.name] = found.seconds
        if tried.key in self._seen:
            self.report(dataclasses.replace(found, name=attempt.name, group=attempt.group))
        else:
            self._seen[tried.key] = found
            self.tried.append(found)
            self.report(found)
        return tried.search


def unity_meshes(cluster: Cluster) -> list[Mesh]:
    """The meshes on which Unity's algorithm plans for a cluster: one axis, and nodes x devices of a node."""
    count = len(cluster.devices)
    blocks = itertools.groupby(cluster.devices, lambda d: cluster.coordinates(d)[:2])
    node = max(len(list(inside)) for _, inside in blocks)
    meshes = [Mesh.of({"d0": count})]
    if 1 < node < count and count % node == 0:
        meshes.append(Mesh.of({"d0": count // node, "d1": node}))
    return meshes
