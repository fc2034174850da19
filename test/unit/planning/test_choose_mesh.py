"""Candidates for a mesh that are left out could not have been chosen."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine
from pcg.passes.pcg_choose_mesh import ChooseMeshPass
from pcg.passes.pipeline import Pipeline
from pcg.planning import choose_mesh
from pcg.planning.choose_mesh import ChooseMesh, Estimate
from pcg.planning.workers import Workers
from pcg.planning.workspace import OnMesh, Workspace
from pcg.rewrite.refine_mesh import RefineMesh

EXAMPLES = Path(__file__).parents[3] / "examples"
CLUSTERS = ["preset:summit:nodes=2,sockets=2,gpus=3", "preset:dgx-h100:2", "preset:summit:nodes=3,sockets=2,gpus=2"]


def estimated(program: str, cluster: str) -> tuple[ChooseMesh, list[Mesh], list[Estimate], str]:
    """The pass that chose a mesh, its candidates, what became of each, and what it says."""
    machine = Machine.of(Cluster.parse(cluster))
    module = load_module((EXAMPLES / program).read_text(), make_context(), program)
    Pipeline(["prepare"]).run(module)
    chooses = ChooseMeshPass(machine=machine, jobs=1)
    with module.context, Workers(module.operation, 1) as workers:
        candidates = list(chooses._candidates(None))
        found = chooses._estimates(candidates, lambda _: None, workers)
        # On which axes a program is planned on each.
        meshes = [Mesh(workers.workspace.on(c.mesh, chooses.refine).mesh.axes, c.mesh.device_ids) for c in candidates]
    pipeline = Pipeline([chooses])
    pipeline.run(module)
    return chooses, meshes, found, "".join(text for _, _, text in pipeline.remarks())


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("program", ["mlp.mlir", "transformer_step.mlir"])
def test_what_bounds_exclude_is_never_chosen(program: str, cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    some, _, few, said = estimated(program, cluster)
    monkeypatch.setattr(choose_mesh, "_SLOWER", math.inf)
    every, meshes, all_, same = estimated(program, cluster)
    assert some.chosen == every.chosen and some.bound == every.bound and said == same and "best of" in said
    assert some.statistics["excluded by bound"] == every.statistics["excluded by bound"]
    best = min(e.seconds for e in all_)
    left_out = [full for e, full in zip(few, all_, strict=True) if e.seconds == math.inf]
    assert left_out and all(full.seconds > best for full in left_out)
    # Where a mesh has all plans of another, its bound is one for those.
    pairs = [(f, c) for f, fine in zip(all_, meshes, strict=True) for c, coarse in zip(all_, meshes, strict=True)
             if choose_mesh._refines(fine, coarse)]  # fmt: skip
    assert len(pairs) > len(meshes)
    assert all(f.bound <= c.seconds * (1 + 1e-9) for f, c in pairs)


@pytest.mark.parametrize("slow, estimated_too", [(1.004, False), (1.002, True)])
def test_a_mesh_is_not_tried_where_one_that_has_its_plans_is_slower(
    slow: float, estimated_too: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Mesh] = []

    def estimate(self: object, workspace: object, mesh: Mesh, cutoff: float, limit: float) -> Estimate:
        tried.append(mesh)
        seconds = 1.0 if mesh.device_ids is not None else slow
        return Estimate(seconds, bound=seconds) if seconds <= cutoff else Estimate(bound=seconds)

    monkeypatch.setattr(choose_mesh.EstimateMeshes, "_estimate", estimate)
    chooses, _, found, _ = estimated("mlp.mlir", CLUSTERS[0])
    assert (Mesh.of({"d0": 12}) in tried) == estimated_too
    assert all(e.bound in (1.0, slow) for e in found)
    assert chooses.chosen is not None and chooses.bound == 1.0


def test_a_mesh_that_a_program_does_not_go_on_is_left_to_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    line, on = Mesh.of({"d0": 12}), Workspace.on

    def refused(self: Workspace, mesh: Mesh | None = None, refine: RefineMesh | None = None) -> OnMesh:
        if mesh == line and refine is not None:
            raise PcgError("is refused")
        return on(self, mesh, refine)

    def estimate(self: object, workspace: Workspace, mesh: Mesh, cutoff: float, limit: float) -> Estimate:
        if mesh == line:
            return Estimate(failure=PcgError("is refused"))
        seconds = 1.0 if mesh.device_ids is not None else 2.0
        return Estimate(seconds, bound=seconds)

    monkeypatch.setattr(Workspace, "on", refused)
    monkeypatch.setattr(choose_mesh.EstimateMeshes, "_estimate", estimate)
    machine = Machine.of(Cluster.parse(CLUSTERS[0]))
    module = load_module((EXAMPLES / "mlp.mlir").read_text(), make_context(), "<test>")
    chooses = ChooseMeshPass(machine=machine, jobs=1)
    chooses.run(module.operation)
    assert chooses.chosen is not None and chooses.bound == 1.0 and chooses.chosen.mesh.device_ids is not None


@pytest.mark.parametrize(
    "fine, coarse, refines",
    [
        ({"a": 4, "b": 3}, {"x": 12}, True),
        ({"a": 4, "b": 3}, {"x": 4, "y": 3}, True),
        ({"a": 2, "b": 2, "c": 3}, {"x": 4, "y": 3}, True),
        ({"a": 2, "b": 2, "c": 3}, {"x": 2, "y": 6}, True),
        ({"a": 4, "b": 3}, {"x": 3, "y": 4}, False),
        ({"a": 4, "b": 3}, {"x": 2, "y": 6}, False),
        ({"x": 12}, {"a": 4, "b": 3}, False),
    ],
)
def test_which_meshes_have_all_plans_of_another(fine: dict[str, int], coarse: dict[str, int], refines: bool) -> None:
    assert choose_mesh._refines(Mesh.of(fine), Mesh.of(coarse)) == refines
    backward = list(reversed(range(12)))
    assert choose_mesh._refines(Mesh.of(fine, backward), Mesh.of(coarse, backward)) == refines
    assert not choose_mesh._refines(Mesh.of(fine, backward), Mesh.of(coarse))
