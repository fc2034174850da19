"""The best of several plans, of the searches and the baselines, by simulation."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from torch_mlir import ir

from pcg.baselines import plans
from pcg.baselines.layouts import read_program
from pcg.baselines.plans import BaselinePlan, ModelTraits
from pcg.baselines.tensor import experts, tables
from pcg.ir import annotation, shardings
from pcg.ir.clone import clone_module, take_contents
from pcg.ir.errors import PcgError
from pcg.ir.stages import has_stages
from pcg.ir.transformation import Bytes, Transformation, option
from pcg.ir.walk import entry_of
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine, mapping
from pcg.planning.baseline import Baseline
from pcg.planning.choose_mesh import CHOSEN
from pcg.planning.evaluate import Context, evaluate, replace_mesh
from pcg.planning.memory_plans import graph_of_copy, mark_own_reshards
from pcg.planning.progress import Progress
from pcg.planning.propagation import Propagate
from pcg.planning.search import SELECTED, Search
from pcg.planning.target import cost_model, limit_of, planned_mesh
from pcg.rewrite.refine_mesh import RefineMesh
from pcg.search.build import Builder, Built
from pcg.search.commit import commit
from pcg.search.outcome import SIMULATION, Alternative, Outcome
from pcg.search.relink import relink
from pcg.search.roles import state_of
from pcg.search.table import Tables
from pcg.solve.pairwise import Pairwise

#: Overlap fractions (of the time of gradients' collectives, of that of others) that searches assume, besides the given.
#: A choice: each costs a search and a simulation; docs/quality.md has which of them wins where.
OVERLAPS = ((0.1, 0.0), (0.5, 0.0), (0.5, 0.5), (0.8, 0.8))
#: Share of the state that must be embedding tables for plans that split these to be tried.  A choice.
MANY_TABLES = 0.1
#: ZeRO variants of a plan that takes so many times as long as the best one are not tried: ZeRO saves part of the time
#: of the update and sends as many bytes.  A choice: the update is much less than half of a step.
_ZERO_CUTOFF = 2.0
#: Decisions of all plans that relinking simulates.  A choice: on 40,000 it takes half a minute.
_RELINKED_NODES = 40_000
#: Plans that the remark names beside the chosen one.  A choice.
_NAMED = 12


@dataclass
class Candidate:
    """A plan, written in a copy of the program, and its simulated step."""

    name: str
    module: ir.Operation
    seconds: float
    peak_bytes: float
    fits: bool
    group: str
    """The kind of plan: `search`, `unity`, or a kind of baseline."""
    found: Mapping[str, float]
    """The simulated step, as by `Simulation.to_dict`."""
    search: Search | None = None
    """The search that found it; None for a baseline."""

    def __str__(self) -> str:
        size = f"{1e6 * self.seconds:.1f} us, {self.peak_bytes / 2**20:.1f} MiB"
        return f"{self.name} {size}" + ("" if self.fits else " (does not fit)")


@dataclass
class Select(Transformation):
    """Choose among plans by simulating them: those of the search, and the baselines."""

    candidates: str = option("all", "search: only plans of the search; all: also the baselines", ("all", "search"))
    meshes: str = option(
        "declared", "declared: plans on the module's mesh; any: also on others; auto: any if pcg-choose-mesh chose it",
        ("auto", "declared", "any"),
    )  # fmt: skip
    places: int = option(8, "with meshes=any: device mappings that are tried for one mesh")
    relinked: int = option(8, "how many plans are simulated that take parts of another search's plan; 0: none")
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
        self.built: Built | None = None
        """The graph of the search that found the chosen plan, if one did."""

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError where no candidate fits."""
        module = module.operation
        free = self.meshes == "any" or (self.meshes == "auto" and CHOSEN in module.attributes)
        if CHOSEN in module.attributes:
            del module.attributes[CHOSEN]
        if has_stages(module) or (self.machine.cluster is None and not self.generic):
            return
        func, mesh = entry_of(module), planned_mesh(module)
        limit = limit_of(self.memory_limit, cost_model(module, self.machine, mesh).machine)
        self._limit = math.inf if limit is None else float(limit)
        self._seen: dict[str, Candidate] = {}
        self._seconds_of: dict[str, float] = {}
        self._failures: list[PcgError] = []
        self._dropped: list[str] = []
        annotated = annotation.names_axes(func)
        mark_own_reshards(module)
        with Progress(self.search.progress, "pcg-select") as self._progress:
            self._searches(module, mesh, "")
            if not annotated and free:
                self._other_meshes(module, mesh)
            elif not annotated and self.candidates == "all":
                for plan in plans.on_mesh(mesh, self._kinds(module)):
                    self._baseline(module, plan, ())
            self._relink(module, mesh)
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
            self.built = best.search.built
            self.outcome = dataclasses.replace(
                found, seconds=best.seconds, peak_bytes=best.peak_bytes, bound=0.0, alternatives=alternatives,
                named=best.name, by=SIMULATION,
            )  # fmt: skip
            self.statistics.update(best.search.statistics)
        else:
            self.outcome = Outcome(
                [], best.seconds, 0.0, best.peak_bytes, alternatives, 0, 0, named=best.name, by=SIMULATION
            )
        take_contents(module, best.module)
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

    def _searches(self, module: ir.Operation, mesh: Mesh, where: str) -> None:
        """Try what the searches find on `mesh`: ours, for several overlap fractions, and Unity's."""
        plain = self.search.gradient_overlap, self.search.other_overlap
        for gradient, other in dict.fromkeys((plain, *OVERLAPS)):
            fractions = (("gradient-overlap", gradient), ("other-overlap", other))
            name = "search" + "".join(f" {n}={v:g}" for n, v in fractions if v) + where
            search = dataclasses.replace(
                self.search, machine=self.machine, memory_limit=self.memory_limit, gradient_overlap=gradient,
                other_overlap=other, progress=False, quick=(gradient, other) != plain,
            )  # fmt: skip
            if not self._search(module, mesh, name, search) or search.algorithm != "exact":
                return  # what does not fit does not depend on the overlap
            if search.fitted:
                break  # fitting takes long, and memory decides more than overlap does
        if self.candidates == "all":
            self._unity(module, mesh, where, ())

    def _unity(self, module: ir.Operation, mesh: Mesh, where: str, mappings: Sequence[Mesh]) -> None:
        """Try the plan of Unity's algorithm on `mesh`, in the best of `mappings`."""
        search = dataclasses.replace(
            self.search, machine=self.machine, memory_limit=self.memory_limit, progress=False, algorithm="unity"
        )
        self._search(module, mesh, "unity" + where, search, mappings)

    def _search(
        self, module: ir.Operation, mesh: Mesh, name: str, search: Search, mappings: Sequence[Mesh] = ()
    ) -> bool:
        """Try what one search finds on `mesh`; False if that is nothing."""
        self._progress(name)
        copy = clone_module(module).operation
        unity = search.algorithm == "unity" and self.search.algorithm != "unity"
        try:
            if shardings.mesh_of(copy) != mesh:
                replace_mesh(copy, mesh)
                if self.refine is not None and not unity:
                    RefineMesh(self.refine.reshapes, self.refine.max_axes).run(copy)
            search.run(copy)
        except PcgError as error:
            if unity:
                self._dropped.append(f"{name} is no candidate: {error.message}")
            else:
                self._failures.append(error)
            return False
        self._try(name, "unity" if unity else "search", copy, mappings, search)
        return True

    def _relink(self, module: ir.Operation, mesh: Mesh) -> None:
        """Try the best plan with parts of the others that the search has found on `mesh`."""
        found = [
            c for c in self.tried
            if c.search is not None and c.search.algorithm == "exact" and not c.search.fitted
            and c.search.outcome is not None and shardings.mesh_of(c.module) == mesh
        ]  # fmt: skip
        found.sort(key=lambda c: (not c.fits, c.seconds))
        best = min((c for c in self.tried if c.fits), key=lambda c: c.seconds, default=None)
        if len(found) < 2 or found[0] is not best or best.search is None or best.search.outcome is None:
            return
        base = clone_module(module).operation
        model = cost_model(base, self.machine, mesh)
        built = Builder(model, Tables.on(mesh)).build(entry_of(base), state_of(entry_of(base)))
        most = min(self.relinked, _RELINKED_NODES // max(1, len(built.graph.nodes)))
        if most <= 0:
            return
        context = Context(self.machine, self.search.backend, self.donated)

        def seconds(choice: list[int]) -> float:
            self._progress(f"{best.name}, with parts of others")
            copy = clone_module(base).operation
            commit(entry_of(copy), graph_of_copy(built, base, copy), choice, Tables.on(mesh))
            try:
                step = evaluate(copy, context).step
            except PcgError:
                return math.inf
            return step.seconds if step.peak_bytes <= self._limit else math.inf

        network = built.quotient(model).discrete().network()
        flat = Pairwise.of(network.unary, network.pair)
        first, *others = [x.choice for c in found if c.search is not None and (x := c.search.outcome) is not None]
        choice, taken = relink(
            built.graph, first, others, best.seconds, most=most,
            estimate=lambda choice: flat.energy(np.array(choice)), simulate=seconds,
        )  # fmt: skip
        if taken < best.seconds:
            copy = clone_module(module).operation
            search = dataclasses.replace(best.search)
            search.write(copy, dataclasses.replace(best.search.outcome, choice=choice))
            self._try(f"{best.name} relinked", "search", copy, (), search)

    def _other_meshes(self, module: ir.Operation, mesh: Mesh) -> None:
        """Try the baselines on every mesh of as many devices, and the search on the best one's mesh."""
        cluster = self.machine.cluster
        mappings: dict[tuple[tuple[str, int], ...], Sequence[Mesh]] = {}
        for plan in plans.on_devices(mesh.size, self._kinds(module)) if self.candidates == "all" else ():
            axes = plan.mesh.axes
            if axes not in mappings:
                at = mapping.device_mappings(cluster, plan.mesh)[: self.places] if cluster is not None else ()
                mappings[axes] = [p.mesh for p in at] or [plan.mesh]
            self._baseline(module, plan, mappings[axes])
        tried = {tuple(n for _, n in mesh.origin.axes)}
        fitting = [c for c in self.tried if c.fits]
        best = min(fitting, key=lambda c: c.seconds, default=None)
        devices = mesh.device_ids
        line = Mesh.of({"d0": mesh.size}, devices and sorted(devices))
        for other in (shardings.mesh_of(best.module) if best is not None else None, line):
            if other is not None and (sizes := tuple(n for n in other.origin.sizes if n > 1)) not in tried:
                tried.add(sizes)
                self._searches(module, other.origin, f" on {other.origin}")
        if cluster is not None and self.candidates == "all":
            for other in unity_meshes(cluster):
                mapped = [p.mesh for p in mapping.device_mappings(cluster, other)][: self.places]
                self._unity(module, mapped[0], f" on {other}", mapped)

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

    def _baseline(self, module: ir.Operation, plan: BaselinePlan, mappings: Sequence[Mesh]) -> None:
        """Try one baseline: on its mesh, or on that mesh in the best of `mappings`."""
        base = plan.without_zero
        rivals = [c for c in self.tried if c.fits and (c.group == plan.group or not self.by_kind)]
        best = min((c.seconds for c in rivals), default=math.inf)
        if base != plan and self._seconds_of.get(base.label, 0.0) > _ZERO_CUTOFF * best:
            self.statistics["slow plans left out"] += 1
            return
        self._progress(plan.label)
        copy = clone_module(module).operation
        if mappings:
            replace_mesh(copy, mappings[0])
        baseline = Baseline(plan.plan, plan.model, plan.experts, plan.zero)
        try:
            baseline.run(copy)
            Propagate(engine="dataflow", machine=self.machine, measured=False).run(copy)
            tried = self._try(plan.label, plan.group, copy, mappings, cutoff=_ZERO_CUTOFF * best)
            self._seconds_of[plan.label] = tried.seconds
        except PcgError as error:
            self._dropped.append(f"{plan.label} is no candidate: {error.message}")

    # -- simulation ----------------------------------------------------------------------------

    def _try(
        self, name: str, group: str, placed: ir.Operation, mappings: Sequence[Mesh], search: Search | None = None,
        cutoff: float = math.inf,
    ) -> Candidate:  # fmt: skip
        """Simulate a program with layouts, in the best of `mappings` (see `evaluate`); each program once."""
        key = hashlib.sha256(placed.get_asm(print_generic_op_form=True, assume_verified=True).encode()).hexdigest()
        if key in self._seen:
            self.report(dataclasses.replace(self._seen[key], name=name, group=group))
            return self._seen[key]
        context = Context(self.machine, self.search.backend, self.donated)
        done = evaluate(placed, context, mappings, cutoff)
        peak = done.step.peak_bytes
        fits = peak <= self._limit
        found = Candidate(name, done.module, done.step.seconds, peak, fits, group, done.step.to_dict(), search)
        self._seen[key] = found
        self.tried.append(found)
        self.report(found)
        return found


def unity_meshes(cluster: Cluster) -> list[Mesh]:
    """The meshes on which Unity's algorithm plans for a cluster: one axis, and nodes x devices of a node."""
    count = len(cluster.devices)
    blocks = itertools.groupby(cluster.devices, lambda d: cluster.coordinates(d)[:2])
    node = max(len(list(inside)) for _, inside in blocks)
    meshes = [Mesh.of({"d0": count})]
    if 1 < node < count and count % node == 0:
        meshes.append(Mesh.of({"d0": count // node, "d1": node}))
    return meshes
