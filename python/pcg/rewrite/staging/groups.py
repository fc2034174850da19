"""The groups of devices of a pipeline, as a module declares them: meshes @group0, @group1, ..."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.pipeline_choice import pipeline_choice
from pcg.ir.walk import entry_of
from pcg.layout import Mesh, MeshError
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.placement import placement


def mesh_name(group: int) -> str:
    """The symbol of the mesh of a group of devices."""
    return f"group{group}"


def group_meshes(module: ir.Operation, axis: str) -> tuple[Mesh, ...]:
    """The mesh of each group: those that are declared, or those along an axis of the mesh; empty if there is neither.

    Raises:
      PcgError: the mesh has no such axis.
    """
    meshes = shardings.meshes_of(module)
    found: list[Mesh] = []
    while mesh_name(len(found)) in meshes:
        found.append(meshes[mesh_name(len(found))])
    if found or (mesh := shardings.mesh_of(module)) is None:
        return tuple(found)
    try:
        return mesh.along(axis)
    except MeshError as error:
        raise PcgError(f"groups of devices lie along an axis: {error}", entry_of(module)) from None


def declare_groups(module: ir.Operation, meshes: Sequence[Mesh]) -> None:
    """Declare the meshes of the groups, in place of all others."""
    shardings.erase_meshes(module)
    for g, mesh in enumerate(meshes):
        shardings.set_mesh(module, mesh, mesh_name(g))


def placed_on(module: ir.Operation, func: ir.Operation, form: str, stages: int, count: int) -> tuple[int, ...]:
    """The group of each stage, of `count` groups.

    `form`: a placement; "": what pcg-choose-pipeline has chosen, else linear, or interleaved where groups have several.

    Raises:
      PcgError: the stages cannot be placed so.
    """
    if stages % count:
        raise PcgError(f"{stages} stages on {count} groups of devices; allowed: a multiple of the groups", func)
    chunks, choice = stages // count, pipeline_choice(module)
    default = "linear" if chunks == 1 else "interleaved"
    try:
        return placement(form or (choice.placement if choice is not None else default), count, chunks)
    except PipelineError as error:
        raise PcgError(str(error), func) from None
