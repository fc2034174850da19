"""One program per process, with the transfers between them as sends and receives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.stages import functions_besides, stage_mesh, stage_module, stages_of
from pcg.ir.transformation import Transformation
from pcg.ir.walk import entry, entry_of
from pcg.lower.fuse_collectives import FuseCollectives
from pcg.lower.lower_spmd import LowerSpmd
from pcg.lower.processes import ProcessLowering
from pcg.machine import Machine


@dataclass
class LowerProcesses(Transformation):
    """Replace a program of placed stages by one module per process, nested in the module as @process_K."""

    machine: Machine = field(default_factory=Machine.default)

    def run(self, module: ir.Operation) -> None:
        func = entry_of(module)
        stages = stages_of(func)
        if not stages:
            raise PcgError("the entry function has no stages; run pcg-split-meshes first", func)
        if others := functions_besides(module, func):
            raise PcgError("only the entry function can be lowered to processes; run pcg-normalize first", others[0])
        inner, local = lower_stages(self, module, stages, self.machine)
        with module.context, func.location:
            try:
                lowering = ProcessLowering(module, func, local)
                lowering.run()
            except PcgError as error:
                raise PcgError(error.message, error.location or func) from None
        del inner
        self.statistics["processes"] += len(lowering.processes)
        self.statistics["messages"] += len(lowering.messages)
        func.erase()
        for op in list(module.regions[0].blocks[0].operations):
            if op.operation.name == "dist.mesh":
                op.operation.erase()


def lower_stages(
    owner: Transformation, module: ir.Operation, stages: Sequence[ir.Operation], machine: Machine
) -> tuple[list[ir.Module], dict[ir.Operation, ir.Operation]]:
    """The per-device program of each placed stage: modules, which must be kept, and the function by stage.

    Remarks and statistics of the lowering go to `owner`.
    """
    meshes = shardings.meshes_of(module)
    inner: list[ir.Module] = []
    local: dict[ir.Operation, ir.Operation] = {}
    for stage in stages:
        if stage_mesh(stage) not in meshes:
            names = ", ".join("@" + m for m in meshes) or "none"
            raise PcgError(f"stage on @{stage_mesh(stage)}; declared meshes: {names}", stage)
        made = stage_module(stage, meshes[stage_mesh(stage)])
        fuse, lower = FuseCollectives(machine=machine), LowerSpmd()
        for name, step in (("dist-fuse-collectives", fuse), ("pcg-lower-spmd", lower)):
            step.run(made.operation)
            owner.take_notes(step, name)
        main = entry(made)
        assert main is not None
        inner.append(made)
        local[stage] = main
    return inner, local
