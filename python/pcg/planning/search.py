"""Choose a strategy for every op at once."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch_mlir import ir

from pcg.cost import CostModel, Overlap
from pcg.ir import annotation, shardings
from pcg.ir.clone import clone_module
from pcg.ir.errors import PcgError
from pcg.ir.loops import MOST_RUNS
from pcg.ir.stages import has_stages
from pcg.ir.transformation import Bytes, Transformation, option
from pcg.ir.walk import entry_of
from pcg.layout import Mesh, MeshError
from pcg.machine import Machine
from pcg.planning.ahead import Ahead
from pcg.planning.evaluate import Context
from pcg.planning.fastest import Fastest
from pcg.planning.fit_memory import MemoryPlanner, PlannerCache
from pcg.planning.memory_plans import Microbatched, mark_own_reshards, write_plan
from pcg.planning.progress import Progress
from pcg.planning.target import cost_model, limit_of, planned_mesh
from pcg.planning.workspace import OnMesh
from pcg.search.build import Builder
from pcg.search.built import Built
from pcg.search.commit import commit
from pcg.search.frontier import Frontier
from pcg.search.optimize import optimize
from pcg.search.outcome import RECOMPUTED, DoesNotFit, Outcome
from pcg.search.quotient import Quotient
from pcg.search.roles import state_of
from pcg.search.table import Tables
from pcg.search.terms import ReshardCosts, as_measured
from pcg.search.unity import ALGORITHMS, PARTS, Rules, UnityOptimizer
from pcg.solve.effort import EFFORTS, Effort
from pcg.solve.network import FORBIDDEN
from pcg.solve.stop import Stop

EFFORT = option(
    "default", "when a plan is good enough: quick, if it costs at most 1% more than the bound; default, 0.1%, or 1% "
    "where closing the rest takes long, 2% where axes of the mesh are interchangeable; proof, 0.001%, however long "
    "that takes", tuple(EFFORTS),
)  # fmt: skip
#: On a module: pcg-select has decided, the next search leaves it as it is.
SELECTED = "pcg.selected"
#: Share of the memory limit that a plan must need, as the search counts it, for its peak to be simulated as well.  A
#: choice: the count and the simulation differ by less than the rest.
_NEAR = 0.75


@dataclass
class Search(Transformation):
    """Choose the sharding of every op so that the estimated step time is least."""

    mesh: str = option("", "mesh to plan for, as name=size,...; default: the module's dist.mesh")
    memory_limit: Bytes | None = option(
        None, "bytes per device that a plan may need, as 16GiB; default: what a device of the cluster, if any, has"
    )
    recompute: bool = option(True, "recompute values in the backward part where the limit needs it")
    accumulate: bool = option(True, "split the batch into microbatches where the limit needs it")
    backend: str = option(
        "accelerator",
        "whose use of memory counts: accelerator, or cpu for what XLA does there; where a profile says that devices "
        "share processors, a step takes what it takes there, too",
        ("accelerator", "cpu"),
    )
    algorithm: str = option("exact", "exact: the best plan, with a bound; unity: Unity's dynamic program", ALGORITHMS)
    effort: str = EFFORT
    time_limit: float | None = option(
        None, "seconds after which the search ends with the best plan so far, as it does after Ctrl-C; the plan then "
        "depends on the machine",
    )  # fmt: skip
    ablation: tuple[str, ...] = option((), f"parts of unity to leave out, of {', '.join(PARTS)}")
    disjoint: bool = option(False, "unity: also consider branches that run at the same time on disjoint devices")
    gradient_overlap: float = option(0.0, "share of the time of gradients' collectives that overlaps compute, 0 to 1")
    final_overlap: float = option(
        0.0, "share of the time of collectives at the end of the step, as gathers of new weights, that overlaps compute"
    )
    branch_overlap: float = option(
        0.0, "share of the time of collectives beside which other branches compute, as in a backward pass gradients of "
        "weights, that overlaps this"
    )  # fmt: skip
    other_overlap: float = option(0.0, "share of the time of all other collectives that overlaps compute, 0 to 1")
    progress: bool = option(True, "show progress on stderr when the search takes longer than two seconds")
    machine: Machine = field(default_factory=Machine.default)
    planner_cache: PlannerCache | None = field(default_factory=lambda: None)
    """The planner of a search for another memory limit, which this one takes up and leaves in turn."""
    fastest: Outcome | None = field(default_factory=lambda: None)
    """The plan that ignores memory, if it is known."""
    brief: bool = field(default_factory=bool)
    """Whether it is one of several whose plans are compared, and ends earlier for that: `Effort.brief`."""
    explain: bool = field(default_factory=lambda: True)
    """Whether anybody reads remarks; if not, rejected plans keep the times that the search has added up."""
    measures: bool = field(default_factory=lambda: True)
    """Whether the plan and its alternatives get the times that they are measured to take once written."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.outcome: Outcome | None = None
        self.built: Built | None = None
        self.shared: OnMesh | None = None
        """The program, read already, if it is; what is searched is a copy of it."""
        self.fitted = False
        """Whether the fastest plan did not fit, and time was traded for memory."""
        self.exceeds = False
        """Whether what `find` found exceeds the limit: time has to be traded for memory, which `run` does."""
        self.known: Fastest | None = None
        """The fastest plan of a program, which a run on it need not look for."""
        self.fastest_seconds: float | None = None
        """Seconds of a step of the fastest plan that ignores memory, as the search adds them up, if it was found."""
        self._ahead: Ahead[Search] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "built": None, "shared": None, "known": None, "_ahead": None}

    def begin(self, module: ir.Operation) -> None:
        """Begin on another core, if there is one: a `run` on the same program takes what is found there.

        Not with a time limit, which what comes before `run` does not count for, and only a search that Ctrl-C ends with
        a plan.
        """
        self.abandon()
        if self.time_limit is None and self.planner_cache is None and self.algorithm == "exact":
            self._ahead = Ahead(dataclasses.replace(self, progress=False), module)

    def tells(self, effort: Effort) -> bool:
        """Whether a search has begun that finds the fastest plan, memory aside, with an effort and nothing else."""
        alone = self.memory_limit is None and not any(self.overlaps.values())
        return self._ahead is not None and alone and self._effort == effort

    def begun_seconds(self) -> float | None:
        """Seconds of a step of the plan that the search that has begun finds, as it adds them up, if it finds one."""
        found = None if self._ahead is None else self._ahead.by()
        return None if found is None else found.fastest_seconds

    def abandon(self) -> None:
        """End what was begun."""
        if self._ahead is not None:
            self._ahead.abandon()
            self._ahead = None

    def run(self, module: ir.Operation) -> None:
        module = module.operation
        if has_stages(module):
            return  # pcg-choose-groups or pcg-place-stages has decided
        if SELECTED in module.attributes:
            del module.attributes[SELECTED]
            self.abandon()
            return
        self.check_options(module)
        interrupted = ""
        if self._ahead is not None:
            with Progress(self.progress), Stop() as stop:
                found, self._ahead = self._ahead.into(module, stop), None
            if found is not None:
                self.__dict__.update({**found.__dict__, "progress": self.progress})
                return
            interrupted = stop.why
        mesh = self._mesh(module)
        func = entry_of(module)
        state = state_of(func)
        annotation.record(func, "search", state)
        model = self._model(module, mesh)
        limit = limit_of(self.memory_limit, model.machine)
        # Where time may be traded for memory, the search ignores memory at first: mostly its plan fits.
        unlimited = self._trades and limit is not None
        cache = self.planner_cache if unlimited else None
        text = module.get_asm(print_generic_op_form=True, assume_verified=True) if cache is not None else ""
        if cache is not None and limit is not None and (planner := cache.of(text)) is not None:
            self._fit(module, planner, limit)
            return
        with Progress(self.progress) as progress:
            start = time.perf_counter()
            known = self._known(func, model) if limit is None or unlimited else None
            self.built = built = self._graph(module, model, progress) if known is None else known.built
            build_seconds = time.perf_counter() - start
            quotient = self._quotient(built, model) if known is None else known.quotient
            # Ctrl-C while a candidate is searched for is for who compares candidates.
            by_hand = self.shared is None and self.algorithm == "exact"
            with Stop(self._left(start), by_hand=by_hand) as stop:
                stop.why = interrupted
                outcome = known.outcome if known is not None else self.fastest if unlimited else None
                if outcome is None:
                    outcome = self._optimize(func, quotient, None if unlimited else limit, progress, stop)
                    outcome.ended_by = stop.why
            self.outcome = outcome
            self.fastest_seconds = outcome.seconds if limit is None or unlimited else None
        check_possible(func, outcome)
        outcome.phases = {"build": build_seconds, **outcome.phases}
        if unlimited and limit is not None and (outcome.peak_bytes > _NEAR * limit or cache is not None):
            mark_own_reshards(module)
            planner = self._memory_planner(module, built, quotient, outcome, progress)
            if cache is not None:
                cache.planner, cache.text = planner, text
            self._fit(module, planner, limit)
            return
        self._write(func, built, outcome, model)

    def write(self, module: ir.Operation, outcome: Outcome) -> None:
        """Make `module` the plan that `outcome` has chosen, as a run that found it would.

        The plan and its alternatives keep the times that the search has added up: they are not measured.
        """
        mesh, func = self._mesh(module.operation), entry_of(module)
        state = state_of(func)
        annotation.record(func, "search", state)
        model = self._model(module, mesh)
        self.built = built = self._graph(module, model)
        peak = built.lifetimes.peak(built.graph, outcome.choice, mesh)[0]
        commit(func, built, outcome.choice, Tables.on(mesh))
        self._explain(func, built, dataclasses.replace(outcome, peak_bytes=peak))

    def find(self, on: OnMesh) -> None:
        """Find the fastest plan of the program on `on` within the limit, without writing it: `outcome` has it.

        Where time may be traded for memory, it is the fastest plan that ignores memory; `exceeds` says if that decides.

        Raises:
          PcgError: there is none.
        """
        model = self._model(on.module, on.mesh)
        limit = limit_of(self.memory_limit, model.machine)
        trades = limit is not None and self._trades
        quotient = on.quotient(on.graph(model), model)
        with Stop(self.time_limit, by_hand=False) as stop:
            self.outcome = self._optimize(on.func, quotient, None if trades else limit, lambda _: None, stop)
        self.outcome.ended_by = stop.why
        check_possible(on.func, self.outcome)
        self.exceeds = trades and limit is not None and self.outcome.peak_bytes > limit

    def _known(self, func: ir.Operation, model: CostModel) -> Fastest | None:
        """What is known of this very function, with these costs and this effort."""
        known, self.known = self.known, None
        if known is None or self.shared is not None or self.algorithm != "exact" or self.fastest is not None:
            return None
        same = known.func == func and known.quotient.model == model and known.effort == self._effort
        return known if same else None

    @property
    def _effort(self) -> Effort:
        return dataclasses.replace(EFFORTS[self.effort], brief=self.brief)

    @property
    def _trades(self) -> bool:
        """Whether time may be traded for memory."""
        return self.algorithm == "exact" and (self.recompute or self.accumulate)

    def _left(self, start: float) -> float | None:
        """Seconds that are left of the time limit."""
        return None if self.time_limit is None else max(0.0, self.time_limit - (time.perf_counter() - start))

    @property
    def overlaps(self) -> dict[str, float]:
        """The overlap fractions, by option."""
        return {
            "gradient-overlap": self.gradient_overlap, "final-overlap": self.final_overlap,
            "branch-overlap": self.branch_overlap, "other-overlap": self.other_overlap,
        }  # fmt: skip

    def _model(self, module: ir.Operation, mesh: Mesh) -> CostModel:
        return cost_model(module, self.machine, mesh, Overlap(*self.overlaps.values()))

    def _graph(
        self, module: ir.Operation, model: CostModel, progress: Callable[[str], None] = lambda _: None
    ) -> Built:
        if self.shared is not None:
            return self.shared.graph_of(module, model)
        func = entry_of(module)
        return Builder(model, Tables.on(model.mesh)).build(func, state_of(func))

    def _quotient(self, built: Built, model: CostModel) -> Quotient:
        return built.quotient(model) if self.shared is None else self.shared.quotient(built, model)

    def _write(self, func: ir.Operation, built: Built, outcome: Outcome, model: CostModel) -> None:
        if not self.measures:
            commit(func, built, outcome.choice, Tables.on(model.mesh))
            self._explain(func, built, outcome)
            return
        measured = as_measured(
            outcome, built, ReshardCosts(model), lambda: commit(func, built, outcome.choice, Tables.on(model.mesh)),
            rejected=self.explain,
        )
        self._explain(func, built, measured)

    def _explain(self, func: ir.Operation, built: Built, outcome: Outcome) -> None:
        self.outcome = outcome
        rejected = "; ".join(
            f"{a.name} {_figures(a.seconds, a.peak_bytes)}{'' if a.fits else ' (does not fit)'}"
            for a in outcome.alternatives
        )
        self._report(func, built, outcome, f"per device; rejected: {rejected}")

    def _optimize(
        self, func: ir.Operation, quotient: Quotient, limit: float | None, progress: Callable[[str], None], stop: Stop
    ) -> Outcome:
        try:
            if self.algorithm == "unity":
                rules = Rules.without(self.ablation, disjoint=self.disjoint)
                return UnityOptimizer(quotient, limit, progress, rules).run()
            return optimize(quotient, limit=limit, progress=progress, effort=self._effort, stop=stop)
        except DoesNotFit as error:
            raise error.at(func) from None

    def _memory_planner(
        self, module: ir.Operation, built: Built, quotient: Quotient, outcome: Outcome, progress: Callable[[str], None]
    ) -> MemoryPlanner:
        """For a program that has no layouts yet, and the plan of it that ignores memory."""
        base = clone_module(module).operation
        cautious = built.quotient(quotient.model, quotient.class_of, cautious=True)
        frontier = Frontier.of(cautious, outcome, progress)
        unsplit = Microbatched(1, base, built.of_copy(module, base), outcome, frontier)
        context = Context(self.machine, self.backend)
        return MemoryPlanner(context, self.recompute, self.accumulate, quotient.model, unsplit)

    def _fit(self, module: ir.Operation, planner: MemoryPlanner, limit: float) -> None:
        """Make `module` the plan within `limit`: time is traded for memory where that is needed."""
        with Progress(self.progress) as progress:
            planner.progress = progress
            chosen = planner.run(limit)
        write_plan(module, chosen)
        variant, fastest = chosen.sharded.variant, planner.unsplit.outcome
        found, point = variant.outcome, chosen.sharded.point
        self.built = variant.built
        self.outcome = dataclasses.replace(
            found, choice=variant.frontier.quotient.per_node(point.choice), seconds=chosen.seconds,
            peak_bytes=chosen.peak, bound=min(found.bound, fastest.bound),
            alternatives=[*fastest.alternatives, *planner.alternatives(chosen, limit)], by=RECOMPUTED,
            ended_by=fastest.ended_by,
        )  # fmt: skip
        self.fitted = chosen.recompute is not None or chosen.sharded is not planner.free
        func = entry_of(module)
        how = "it fits"
        if self.fitted:
            how = f"to fit {limit / 2**20:.1f} MiB it takes {chosen}; the fastest plan that ignores memory "
            how += _figures(fastest.seconds, fastest.peak_bytes)
        memory = f"memory: to fit {limit / 2**20:.1f} MiB per device the plan uses {chosen}" if self.fitted else ""
        self._report(func, variant.built, self.outcome, f"per device; {how}", memory)

    def _report(self, func: ir.Operation, built: Built, outcome: Outcome, more: str, memory: str = "") -> None:
        """Statistics and remarks of the plan; which ops run replicated, and which loops longer than is counted."""
        self.statistics["decisions"] = len(built.graph.nodes)
        self.statistics["classes"] = outcome.classes
        self.statistics["ilp binaries"] = outcome.ilp_variables
        ended = f"; ended by {outcome.ended_by}" if outcome.ended_by else ""
        self.remark(
            func,
            f"plan: {1e6 * outcome.seconds:.1f} us per step by estimate (bound {1e6 * outcome.bound:.1f} us), "
            f"{outcome.peak_bytes / 2**20:.1f} MiB {more}{ended}",
        )
        if memory:
            self.remark(func, memory)
        if built.endless:
            text = f"runs its body more than {MOST_RUNS:.0e} times per step; counted as so often"
            self.remark(built.endless[0], text)
        for op, node in built.ops:
            if reason := built.rule_reason(node):
                self.remark(op, f"'{op.name}' runs replicated: {reason}")

    def check_options(self, module: ir.Operation) -> None:
        """Raise PcgError for an option that is none."""
        for name, share in self.overlaps.items():
            if not 0 <= share <= 1:
                raise PcgError(f"option '{name}' is {share:g}; allowed: 0 to 1", module)
        if self.algorithm not in ALGORITHMS:
            text = f"option 'algorithm' is {self.algorithm!r}; expected one of {', '.join(ALGORITHMS)}"
            raise PcgError(text, module)
        if self.time_limit is not None and self.time_limit < 0:
            raise PcgError(f"option 'time-limit' is {self.time_limit:g}; allowed: 0 or more", module)
        if self.time_limit is not None and self.algorithm != "exact":
            raise PcgError("option 'time-limit' is for algorithm=exact", module)
        if self.effort not in EFFORTS:
            raise PcgError(f"option 'effort' is {self.effort!r}; expected one of {', '.join(EFFORTS)}", module)
        if self.algorithm != "unity" and (self.ablation or self.disjoint):
            raise PcgError("options 'ablation' and 'disjoint' are for algorithm=unity", module)
        try:
            Rules.without(self.ablation)
        except ValueError as error:
            raise PcgError(f"option 'ablation': {error}", module) from None

    def _mesh(self, module: ir.Operation) -> Mesh:
        if not self.mesh:
            return planned_mesh(module)
        try:
            mesh = Mesh.parse(self.mesh)
        except MeshError as error:
            raise PcgError(str(error), module) from None
        shardings.set_mesh(module, mesh)
        return mesh


def check_possible(func: ir.Operation, outcome: Outcome) -> None:
    """Raises PcgError where the best plan breaks a layout that is fixed in the program."""
    if outcome.seconds == FORBIDDEN:
        text = "the layouts that are fixed in the program contradict each other: no plan has them all"
        raise PcgError(text, func)


def _figures(seconds: float, peak_bytes: float) -> str:
    return f"{1e6 * seconds:.1f} us, {peak_bytes / 2**20:.1f} MiB"
