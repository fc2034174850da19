"""pcg-lower-processes: one program per process, with the transfers between them as sends and receives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.ir.stages import functions_besides, mesh_symbol, stage_module, stages_of
from pcg.ir.walk import entry, entry_of
from pcg.lower.processes import ProcessLowering
from pcg.machine import Machine
from pcg.passes.base import Pass
from pcg.passes.fuse_collectives import FuseCollectivesPass
from pcg.passes.lower_spmd import LowerSpmdPass


@dataclass
class LowerProcessesPass(Pass):
    """Replace a program of placed stages by one module per process, nested in the module as @process_K.

    Each has its own `main` on local shapes: the local programs of the stages that run there, one after the
    other, with `dist.send` and `dist.recv` of the pieces of every transfer.  A piece crosses once, from one
    holder; several holders share the work.  `pcg.members` on a collective are the processes of the positions that
    its replica groups name; channels are numbered through the whole program.  `pcg.argument` and `pcg.result` with
    `pcg.start` and `pcg.limit` say which box of which argument or result of the program a process has (beyond the
    box is padding); `pcg.driver.signature` on the outer module is the program's type.

    Before:
    ```mlir
    %t = "pcg.transfer"(%0) {mesh = @b, dist.specs = [#dist.shard_spec<@b, [["x"], []], {}>]} ...
    ```
    After, in @process_0 and in @process_2:
    ```mlir
    "dist.send"(%0) {limit = array<i64: 4, 4>, peer = 2, start = array<i64: 0, 0>, tag = 0} : (tensor<4x4xf32>) -> ()
    %0 = "dist.recv"() {limit = array<i64: 4, 4>, peer = 0, start = array<i64: 0, 0>, tag = 0} : () -> tensor<4x4xf32>
    ```
    """

    name: ClassVar[str] = "pcg-lower-processes"
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
    owner: Pass, module: ir.Operation, stages: Sequence[ir.Operation], machine: Machine
) -> tuple[list[ir.Module], dict[ir.Operation, ir.Operation]]:
    """The per-device program of each placed stage: modules, which must be kept, and the function by stage.

    Remarks and statistics of the lowering go to the pass `owner`.
    """
    meshes = shardings.meshes_of(module)
    inner: list[ir.Module] = []
    local: dict[ir.Operation, ir.Operation] = {}
    for stage in stages:
        if mesh_symbol(stage) not in meshes:
            names = ", ".join("@" + m for m in meshes) or "none"
            raise PcgError(f"stage on @{mesh_symbol(stage)}; declared meshes: {names}", stage)
        made = stage_module(stage, meshes[mesh_symbol(stage)])
        for step in (FuseCollectivesPass(machine=machine), LowerSpmdPass()):
            step.run(made.operation)
            owner.remarks += step.remarks
            owner.statistics.update({f"{step.name}: {k}": n for k, n in step.statistics.items()})
        main = entry(made)
        assert main is not None
        inner.append(made)
        local[stage] = main
    return inner, local
