"""What a module is planned for: its mesh, the cost model of that mesh, and the memory of a device."""

from __future__ import annotations

from torch_mlir import ir

from pcg.cost import NO_OVERLAP, CostModel, Overlap
from pcg.ir import shardings
from pcg.ir.errors import PcgError
from pcg.layout import Mesh
from pcg.machine import ClusterError, Machine


def planned_mesh(module: ir.Operation) -> Mesh:
    """The mesh that a module declares.

    Raises:
      PcgError: it declares none.
    """
    mesh = shardings.mesh_of(module)
    if mesh is None:
        raise PcgError("there is no mesh to plan for; give --mesh name=size,... or a dist.mesh", module)
    return mesh


def cost_model(module: ir.Operation, machine: Machine, mesh: Mesh, overlap: Overlap = NO_OVERLAP) -> CostModel:
    """The cost model of `mesh` on `machine`.

    Raises:
      PcgError: the mesh does not go on the machine's cluster; at the module.
    """
    try:
        return CostModel(machine, mesh, overlap)
    except ClusterError as error:
        raise PcgError(str(error), module) from None


def limit_of(memory_limit: int | None, machine: Machine) -> float | None:
    """Bytes that a device may use: `memory_limit`, else what a device of the cluster has; None without either."""
    if memory_limit is not None or machine.cluster is None:
        return memory_limit
    return machine.device.memory
