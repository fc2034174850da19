"""One plan for a program: a draft of it on the search's graph, or written into a copy, lowered and simulated."""

from __future__ import annotations

import abc
import dataclasses
import hashlib
import math
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from torch_mlir import ir

from pcg.baselines.plans import BaselinePlan
from pcg.ir import shardings
from pcg.ir.clone import clone_module
from pcg.ir.native import run_native
from pcg.ir.types import tensor_bytes
from pcg.ir.walk import entry_of
from pcg.layout import Mesh
from pcg.planning.baseline import Baseline
from pcg.planning.baseline_choice import plan_of_baseline
from pcg.planning.evaluate import Context, evaluate, replace_mesh
from pcg.planning.propagation import Propagate
from pcg.planning.search import Search
from pcg.planning.target import cost_model, planned_mesh
from pcg.planning.workspace import OnMesh, Workspace
from pcg.planning.written import Written
from pcg.rewrite.refine_mesh import RefineMesh
from pcg.search.outcome import Outcome


def digest(module: ir.Operation) -> str:
    """A key that only equal programs have in common; where their ops come from does not count."""
    copy = clone_module(module).operation  # whose values list their readers in the order of the program
    run_native(copy, "strip-debuginfo")
    return hashlib.sha256(Written(copy).bytecode()).hexdigest()


@dataclass
class Candidate:
    """A plan, written in a copy of the program, and its simulated step."""

    name: str
    written: Written
    mesh: Mesh
    seconds: float
    peak_bytes: float
    fits: bool
    group: str
    """The kind of plan: `search`, `unity`, `relinked` (Unity's with parts of others), or a kind of baseline."""
    found: Mapping[str, float]
    """The simulated step, as by `Simulation.to_dict`."""
    search: Search | None = None
    """The search that found it; None for a baseline."""

    def __str__(self) -> str:
        size = f"{1e6 * self.seconds:.1f} us, {self.peak_bytes / 2**20:.1f} MiB"
        return f"{self.name} {size}" + ("" if self.fits else " (does not fit)")


@dataclass(frozen=True)
class Tried:
    """What became of an attempt: equal programs with layouts have equal keys, `candidate` is None where one is known.

    `search` found the plan, if a search did.
    """

    key: str
    candidate: Candidate | None
    search: Search | None


@dataclass(frozen=True)
class Draft:
    """A plan that is not written yet: a choice per node of the search's graph on `mesh`.

    `seconds` of its step are those of `GraphTimer`, `peak_bytes` those that the search counts.  `search` found it, if
    one did; `apart` is as in `GraphTimer`.
    """

    seconds: float
    peak_bytes: float
    mesh: Mesh
    choice: tuple[int, ...]
    apart: Collection[tuple[int, int]] = ()
    search: Search | None = None


@dataclass(frozen=True)
class Common:
    """What all attempts for a program have in common.

    `limit`: bytes per device that a plan may need.  `seen`: keys of programs whose candidates are known by now; another
    process knows those that were when it was given its task.
    """

    context: Context
    limit: float
    seen: Set[str] = frozenset()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "seen": frozenset(self.seen)}


@dataclass(frozen=True)
class Attempt(abc.ABC):
    """A plan to be made and simulated, in the first of `mappings` of its mesh, if there are any; to be drafted, in the
    fastest of them."""

    common: Common
    name: str
    group: str
    mappings: Sequence[Mesh] = ()

    @abc.abstractmethod
    def write(self, workspace: Workspace) -> tuple[ir.Operation, Search | None]:
        """A copy of the program with layouts, and the search that found them."""

    @abc.abstractmethod
    def draft(self, workspace: Workspace) -> Draft:
        """The plan in the fastest of `mappings`.

        Raises:
          PcgError: there is no such plan, or it is none of the search's graph.
        """

    def of(self, draft: Draft) -> Attempt:
        """The attempt to write and simulate what it has drafted."""
        return dataclasses.replace(self, mappings=self.fastest(draft))

    def fastest(self, draft: Draft) -> list[Mesh]:
        """The one of `mappings` that a draft is in, if there are any."""
        return [m for m in self.mappings if m.device_ids == draft.mesh.device_ids]

    def drafted(
        self, on: OnMesh, choice: Sequence[int], apart: Collection[tuple[int, int]] = (),
        search: Search | None = None,
    ) -> Draft:  # fmt: skip
        """A plan on `on`, in the fastest of `mappings`."""
        meshes = [Mesh(on.mesh.axes, m.device_ids) for m in self.mappings] or [on.mesh]
        best, at = math.inf, on.mesh
        for mesh in meshes:
            seconds = on.timer(cost_model(on.module, self.common.context.machine, mesh)).seconds(choice, apart)
            if seconds < best:
                best, at = seconds, mesh
        built = on.graph(cost_model(on.module, self.common.context.machine, at))
        peak = built.lifetimes.peak(built.graph, choice, at)[0]
        return Draft(best, peak, at, tuple(choice), apart, search)

    def __call__(self, workspace: Workspace) -> Tried:
        """Make the plan and simulate it.

        Raises:
          PcgError: there is no such plan.
        """
        module, search = self.write(workspace)
        key = digest(module)
        if key in self.common.seen:
            return Tried(key, None, search)
        step = evaluate(module, self.common.context, workspace.works)
        fits = step.peak_bytes <= self.common.limit
        found = Candidate(
            self.name, Written(module), planned_mesh(module), step.seconds, step.peak_bytes, fits, self.group,
            step.to_dict(), search,
        )  # fmt: skip
        return Tried(key, found, search)


@dataclass(frozen=True)
class SearchAttempt(Attempt):
    """What `search` finds on `mesh`, which is refined by `refine`, if given; or the plan `known` of that search."""

    search: Search = dataclasses.field(default_factory=Search)
    mesh: Mesh | None = None
    """None: that of the program, as it is."""
    refine: RefineMesh | None = None
    known: Outcome | None = None

    def write(self, workspace: Workspace) -> tuple[ir.Operation, Search | None]:
        on = workspace.on(self.mesh, self.refine)
        copy = clone_module(on.module).operation
        search = dataclasses.replace(self.search)
        search.shared = on
        if self.known is None:
            search.run(copy)
        else:
            search.write(copy, self.known)
        search.shared = None
        if self.mappings:
            replace_mesh(copy, self.mappings[0])
        return copy, search

    def draft(self, workspace: Workspace) -> Draft:
        on = workspace.on(self.mesh, self.refine)
        search = dataclasses.replace(self.search)
        search.outcome = self.known
        if search.outcome is None:
            search.find(on)
        assert search.outcome is not None
        if search.exceeds:
            return Draft(math.inf, search.outcome.peak_bytes, on.mesh, tuple(search.outcome.choice), (), search)
        return self.drafted(on, search.outcome.choice, (), search)

    def of(self, draft: Draft) -> Attempt:
        assert draft.search is not None
        found, mappings = draft.search, self.fastest(draft)
        return dataclasses.replace(self, mappings=mappings, search=found, known=found.outcome)


@dataclass(frozen=True)
class Annotated:
    """A copy of the program with the layouts that a baseline gives its arguments.

    `argument_bytes` of them are on a device in every plan with these layouts, whatever is recomputed.  `splits_state`:
    whether ZeRO splits anything more than the baseline without it.
    """

    module: ir.Operation
    argument_bytes: float
    splits_state: bool


@dataclass(frozen=True)
class BaselineAttempt(Attempt):
    """The layouts of a baseline, propagated; on the mesh of the program or the first of `mappings`."""

    plan: BaselinePlan | None = None
    refine: RefineMesh | None = None
    """What refines the first of `mappings` before a search, as in `SearchAttempt`."""

    def write(self, workspace: Workspace) -> tuple[ir.Operation, Search | None]:
        assert self.plan is not None
        copy, _ = self._annotated(workspace, self.plan, self.mappings[0] if self.mappings else None)
        self._propagate(copy)
        return copy, None

    def annotated(self, workspace: Workspace) -> Annotated:
        """The layouts of its arguments, in a copy of the program.

        Raises:
          PcgError: there are none.
        """
        copy, baseline = self._annotated(workspace, *self._numbered)
        return Annotated(copy, _argument_bytes(copy), baseline.splits_more)

    def draft(self, workspace: Workspace) -> Draft:
        return self.draft_of(workspace, self.annotated(workspace))

    def draft_of(self, workspace: Workspace, annotated: Annotated) -> Draft:
        """As `draft`, of the arguments' layouts, whose program changes."""
        self._propagate(annotated.module)
        on = self._on(workspace)
        model = cost_model(on.module, self.common.context.machine, on.mesh)
        choice, apart = plan_of_baseline(on, model, annotated.module)
        return self.drafted(on, choice, apart)

    def update_seconds(self, workspace: Workspace, draft: Draft) -> float:
        """Seconds of computing the new state in a step of what it has drafted."""
        on = self._on(workspace)
        model = cost_model(on.module, self.common.context.machine, draft.mesh)
        return on.timer(model).update_seconds(draft.choice)

    @property
    def _numbered(self) -> tuple[BaselinePlan, Mesh | None]:
        """The plan, and the first of `mappings`, if there is one, on numbered axes: so all plans on meshes of these
        sizes have one graph."""
        assert self.plan is not None
        if not self.mappings:
            return self.plan, None
        plan = self.plan.on_numbered_axes
        return plan, Mesh(plan.mesh.axes, self.mappings[0].device_ids)

    def _on(self, workspace: Workspace) -> OnMesh:
        _, mesh = self._numbered
        return workspace.on() if mesh is None else workspace.on(mesh, self.refine)

    def _annotated(self, workspace: Workspace, plan: BaselinePlan, mesh: Mesh | None) -> tuple[ir.Operation, Baseline]:
        copy = clone_module(workspace.module).operation
        if mesh is not None:
            replace_mesh(copy, mesh)
        baseline = Baseline(plan.plan, plan.model, plan.experts, plan.zero)
        baseline.run(copy)
        return copy, baseline

    def _propagate(self, module: ir.Operation) -> None:
        Propagate(engine="dataflow", machine=self.common.context.machine, measured=False).run(module)


def _argument_bytes(module: ir.Operation) -> float:
    """Bytes of all arguments on a device, in the layouts that they have."""
    mesh, total = planned_mesh(module), 0.0
    for a in entry_of(module).regions[0].blocks[0].arguments:
        spec = shardings.get(a)
        total += tensor_bytes(a.type, None if spec is None else spec.local_shape(a.type.shape, mesh))
    return total
