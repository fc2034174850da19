"""Choose a strategy for every op at once."""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import given, shardings
from pcg.ir.errors import PcgError
from pcg.ir.loops import MOST_RUNS
from pcg.ir.stages import has_stages
from pcg.ir.transformation import Bytes, Transformation, option
from pcg.ir.walk import entry, entry_of
from pcg.layout import Mesh, MeshError
from pcg.machine import ClusterError, Machine
from pcg.planning.evaluate import Context
from pcg.planning.fit_memory import MemoryPlanner, Remembered, alternatives, planner_of
from pcg.planning.memory_plans import mark_given, take
from pcg.planning.progress import Progress
from pcg.search.build import Builder, Built
from pcg.search.commit import commit
from pcg.search.optimize import optimize
from pcg.search.outcome import RECOMPUTED, DoesNotFit, Outcome
from pcg.search.roles import state_of
from pcg.search.table import Tables
from pcg.search.terms import Moves, as_measured
from pcg.search.unity import ALGORITHMS, PARTS, Rules, UnityOptimizer
from pcg.solve.network import FORBIDDEN

#: On a module: pcg-select has decided, the next search leaves it as it is.
SELECTED = "pcg.selected"
#: Share of the memory limit that a plan must need, as the search counts it, for the simulator to be asked as well.
_NEAR = 0.75


@dataclass
class Search(Transformation):
    """Choose the sharding of every op so that the estimated step time is least."""

    mesh: str = option("", "mesh to plan for, as name=size,...; default: the module's dist.mesh")
    memory_limit: Bytes | None = option(
        None, "bytes per device that a plan may need, as 16GiB; default: what a device of the cluster, if any, has"
    )
    recompute: bool = option(True, "compute values again in the backward part where the limit needs it")
    accumulate: bool = option(True, "split the batch into microbatches where the limit needs it")
    backend: str = option(
        "accelerator", "whose use of memory counts: accelerator, or cpu for what XLA does there", ("accelerator", "cpu")
    )
    algorithm: str = option("exact", "exact: the best plan, with a bound; unity: Unity's dynamic programme", ALGORITHMS)
    ablation: tuple[str, ...] = option((), f"parts of unity to leave out, of {', '.join(PARTS)}")
    disjoint: bool = option(False, "unity: also price branches that run at the same time on disjoint devices")
    gradient_overlap: float = option(0.0, "share of the time of gradients' collectives that overlaps compute, 0 to 1")
    other_overlap: float = option(0.0, "share of the time of all other collectives that overlaps compute, 0 to 1")
    progress: bool = option(True, "show progress on stderr when the search takes longer than two seconds")
    machine: Machine = field(default_factory=Machine.default)
    quick: bool = field(default_factory=bool)
    """Whether a good plan is enough: the gap to the bound may be larger."""
    remembered: Remembered | None = field(default_factory=lambda: None)
    """What a search for another memory limit left, for this one to take up and to leave in turn."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.outcome: Outcome | None = None
        self.built: Built | None = None
        self.fitted = False
        """Whether the fastest plan did not fit, and memory was traded for time."""

    def run(self, module: ir.Operation) -> None:
        module = module.operation
        if has_stages(module):
            return  # pcg-choose-groups or pcg-place-stages has decided
        if SELECTED in module.attributes:
            del module.attributes[SELECTED]
            return
        for name, share in (("gradient-overlap", self.gradient_overlap), ("other-overlap", self.other_overlap)):
            if not 0 <= share <= 1:
                raise PcgError(f"option '{name}' is {share:g}; allowed: 0 to 1", module)
        mesh = self._mesh(module)
        func = entry_of(module)
        given.mark(func, "search", state_of(func))
        try:
            model = CostModel(self.machine, mesh, self.gradient_overlap, self.other_overlap)
        except ClusterError as error:
            raise PcgError(str(error), module) from None
        limit: float | None = self.memory_limit
        if limit is None and model.machine.cluster is not None:
            limit = model.machine.device.memory
        tables = Tables.on(mesh)
        state = state_of(func)
        # With means to save memory, what is fastest without a limit is looked at first: mostly it fits.
        means = limit is not None and (self.recompute or self.accumulate) and self.algorithm == "exact"
        means = means and not self.quick
        kept = self.remembered if means else None
        text = module.get_asm(print_generic_op_form=True, assume_verified=True) if kept is not None else ""
        if kept is not None and limit is not None and (planner := kept.of(text)) is not None:
            self._fit(module, planner, limit)
            return
        with Progress(self.progress) as progress:
            start = time.perf_counter()
            self.built = built = Builder(model, tables, progress).build(func, state)
            build_seconds = time.perf_counter() - start
            rules = self._rules(module)
            most = None if means else limit
            quotient = built.quotient(model)
            try:
                if self.algorithm == "unity":
                    outcome = UnityOptimizer(quotient, most, progress, rules).run()
                else:
                    outcome = optimize(quotient, limit=most, progress=progress, quick=self.quick)
            except DoesNotFit as error:
                raise error.at(func) from None
        self.outcome = outcome
        check_possible(func, outcome)
        outcome.phases = {"build": build_seconds, **outcome.phases}
        if means and limit is not None and (outcome.peak_bytes > _NEAR * limit or kept is not None):
            mark_given(module)
            planner = planner_of(
                Context(self.machine, self.backend), self.recompute, self.accumulate, module, built, quotient, outcome,
                progress,
            )
            if kept is not None:
                kept.planner, kept.text = planner, text
            self._fit(module, planner, limit)
            return
        self.outcome = outcome = as_measured(outcome, built, Moves(model))
        commit(func, built, outcome.choice, tables)
        self.statistics["decisions"] = len(built.graph.nodes)
        self.statistics["classes"] = outcome.classes
        self.statistics["ilp binaries"] = outcome.ilp_variables
        self.remark(
            func,
            f"plan: {1e6 * outcome.seconds:.1f} us per step by estimate (bound {1e6 * outcome.bound:.1f} us), "
            f"{outcome.peak_bytes / 2**20:.1f} MiB per device; rejected: "
            + "; ".join(
                f"{a.name} {1e6 * a.seconds:.1f} us, {a.peak_bytes / 2**20:.1f} MiB"
                + ("" if a.fits else " (does not fit)")
                for a in outcome.alternatives
            ),
        )
        self._reasons(built)

    def _fit(self, module: ir.Operation, planner: MemoryPlanner, limit: float) -> None:
        """Make `module` the plan within `limit`: memory is bought with time where that is needed."""
        with Progress(self.progress) as progress:
            planner.progress = progress
            chosen = planner.run(limit)
        take(module, chosen)
        variant, fastest = chosen.sharded.variant, planner.whole.outcome
        found, point = variant.outcome, chosen.sharded.point
        self.built = variant.built
        self.outcome = dataclasses.replace(
            found, choice=variant.frontier.quotient.per_node(point.choice), seconds=chosen.seconds,
            peak_bytes=chosen.peak, bound=min(found.bound, fastest.bound),
            alternatives=[*fastest.alternatives, *alternatives(planner, chosen, limit)], by=RECOMPUTED,
        )  # fmt: skip
        self.statistics["decisions"] = len(variant.built.graph.nodes)
        self.statistics["classes"] = found.classes
        self.statistics["ilp binaries"] = found.ilp_variables
        self.fitted = bought = chosen.recompute is not None or chosen.sharded is not planner.free
        how = f"to fit {limit / 2**20:.1f} MiB it takes {chosen}; the fastest plan that ignores memory"
        self.remark(
            func := entry(module),
            f"plan: {1e6 * chosen.seconds:.1f} us per step by estimate (bound {1e6 * self.outcome.bound:.1f} us), "
            f"{chosen.peak / 2**20:.1f} MiB per device; "
            + (f"{how} {1e6 * fastest.seconds:.1f} us, {fastest.peak_bytes / 2**20:.1f} MiB" if bought else "it fits"),
        )
        if bought:
            self.remark(func, f"memory: to fit {limit / 2**20:.1f} MiB per device the plan uses {chosen}")
        self._reasons(variant.built)

    def _reasons(self, built: Built) -> None:
        """Say which ops run replicated, and which loops longer than is counted."""
        if built.endless:
            text = f"runs its body more than {MOST_RUNS:.0e} times per step; counted as so often"
            self.remark(built.endless[0], text)
        for op, node in built.ops:
            reason = built.rule_reason(node)
            if reason:
                self.remark(op, f"'{op.name}' runs replicated: {reason}")

    def _rules(self, module: ir.Operation) -> Rules:
        """Which parts of Unity's algorithm are used; what is wrong with the options that say so."""
        if self.algorithm not in ALGORITHMS:
            text = f"option 'algorithm' is {self.algorithm!r}; expected one of {', '.join(ALGORITHMS)}"
            raise PcgError(text, module)
        if self.algorithm != "unity" and (self.ablation or self.disjoint):
            raise PcgError("options 'ablation' and 'disjoint' are for algorithm=unity", module)
        try:
            return Rules.without(self.ablation, disjoint=self.disjoint)
        except ValueError as error:
            raise PcgError(f"option 'ablation': {error}", module) from None

    def _mesh(self, module: ir.Operation) -> Mesh:
        if self.mesh:
            try:
                mesh = Mesh.parse(self.mesh)
            except MeshError as error:
                raise PcgError(str(error), module) from None
            shardings.set_mesh(module, mesh)
            return mesh
        found = shardings.mesh_of(module)
        if found is None:
            raise PcgError("there is no mesh to plan for; give --mesh name=size,... or a dist.mesh", module)
        return found


def check_possible(func: ir.Operation, outcome: Outcome) -> None:
    """Raises PcgError where the best plan breaks a layout that is fixed in the program."""
    if outcome.seconds == FORBIDDEN:
        text = "the layouts that are fixed in the program contradict each other: no plan has them all"
        raise PcgError(text, func)
