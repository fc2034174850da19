"""Evaluate a candidate: the only path from layouts to a simulated step, for every strategy of planning."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.clone import clone_module
from pcg.layout import Mesh
from pcg.lower.fuse_collectives import FuseCollectives
from pcg.lower.lower_spmd import LowerSpmd
from pcg.machine import Machine
from pcg.rewrite.insert_reshards import InsertReshards
from pcg.rewrite.recompute import InsertRematBarriers, Recompute
from pcg.search.recompute import Recomputation
from pcg.simulate import Simulation, simulate
from pcg.simulate.kernels import OpWorks


@dataclass(frozen=True)
class Context:
    """What all candidates for one program have in common.

    `backend` is whose use of memory counts: `accelerator`, or `cpu` for what XLA does there (`step_of`).  `donated` are
    arguments whose memory results may take over, beside those that the program marks.
    """

    machine: Machine
    backend: str = "accelerator"
    donated: Collection[int] = ()

    @property
    def shares_processors(self) -> bool:
        """Whether the devices are those of XLA's CPU backend and wait for each other, as their profile says."""
        profile = self.machine.device.profile
        return self.backend == "cpu" and profile is not None and bool(profile.waits)


def resharded(module: ir.Operation, context: Context) -> ir.Operation:
    """A copy of a program with layouts, with its redistributions."""
    copy = clone_module(module).operation
    InsertReshards(context.machine, explain=False).run(copy)
    return copy


def lowered(module: ir.Operation, context: Context, recompute: Recomputation | None = None) -> ir.Operation:
    """The per-device program of a program with its redistributions, which stays as it is.

    `recompute` is what is to be recomputed in it; without it, what the program itself says.
    """
    copy = clone_module(module).operation
    recomputation = Recompute(machine=context.machine)
    recomputation.known = recompute
    recomputation.run(copy)
    FuseCollectives(machine=context.machine).run(copy)
    LowerSpmd().run(copy)
    if context.backend == "cpu":
        InsertRematBarriers().run(copy)
    return copy


def memory_of(module: ir.Operation, model: CostModel, context: Context) -> Simulation:
    """A simulated step of a lowered program whose bytes at the peak are those of the backend; its seconds are not."""
    return simulate(module, model, donated=context.donated, backend=context.backend)


def step_of(module: ir.Operation, model: CostModel, context: Context, works: OpWorks | None = None) -> Simulation:
    """A simulated step of a lowered program; `works` is as in `simulate`.

    The bytes at its peak are those of the backend.  So are its seconds on devices that share processors, by their
    profile: nothing overlaps there, they wait for each other, and new memory takes time.  Else they are those of the
    machine, which a plan for accelerators that is tried on processors is for.
    """
    if context.shares_processors:
        found = simulate(module, model, donated=context.donated, works=works, backend="cpu")
        return dataclasses.replace(found, seconds=found.seconds + model.dispatch(0, found.allocations))
    found = simulate(module, model, donated=context.donated, works=works)
    if context.backend == "accelerator":
        return found
    return dataclasses.replace(found, peak_bytes=memory_of(module, model, context).peak_bytes)


def evaluate(module: ir.Operation, context: Context, works: OpWorks | None = None) -> Simulation:
    """A step of a program with layouts, which stays as it is: lowered, and simulated on its mesh by `step_of`.

    Raises:
      PcgError: it cannot be lowered; at the op's location.
    """
    mesh = shardings.mesh_of(module)
    assert mesh is not None
    return step_of(lowered(resharded(module, context), context), CostModel(context.machine, mesh), context, works)


def replace_mesh(module: ir.Operation, mesh: Mesh) -> None:
    """Make `mesh` the mesh of a module, by the name of the mesh that it declares, if it does."""
    for symbol in list(shardings.meshes_of(module)) or [shardings.MESH]:
        shardings.set_mesh(module, mesh, symbol)
