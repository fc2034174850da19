"""What a plan costs on a machine, without a search.  Needs no jax."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.driver import memory, plan_ir, rewrites
from pcg.driver.decide import run
from pcg.driver.module_program import entry_function
from pcg.driver.plan import Plan
from pcg.driver.plan_document import PlanError
from pcg.driver.program import module_source
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.layout import Mesh
from pcg.layout.brief import brief
from pcg.machine import Cluster, Machine, mapping
from pcg.passes import pipelines
from pcg.passes.pipelines import Settings
from pcg.planning.rewritten import forget
from pcg.rewrite.refine_mesh import rewrite
from pcg.search.measure import NotPlaced, placed_graph
from pcg.search.terms import ReshardCosts, measured
from pcg.simulate import Simulation
from pcg.simulate import simulate as simulate_step


@dataclass(frozen=True)
class PlanCost:
    """What one step of a plan costs on a machine, per device.

    `seconds` (of which `compute` and `communication`), `bytes` sent and `peak_bytes` held are the estimate of the
    search (see `dist-measure`), which knows nothing of recomputation; `simulation` is a step of the lowered program,
    None where none was asked for.  `mesh` names the devices that it lies on.
    """

    machine: str
    mesh: Mesh
    seconds: float
    compute: float
    communication: float
    bytes: float
    peak_bytes: float
    fits: bool
    simulation: Simulation | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        row = {k: getattr(self, k) for k in (
            "machine", "seconds", "compute", "communication", "bytes", "peak_bytes", "fits"
        )}  # fmt: skip
        row["mesh"], row["devices"] = dict(self.mesh.origin.axes), list(self.mesh.device_ids or ())
        if (s := self.simulation) is not None:
            row["simulated"] = {
                "seconds": s.seconds, "compute": s.compute, "communication": s.communication, "exposed": s.exposed,
                "peak_bytes": s.peak_bytes,
            }  # fmt: skip
        return row


def plan_cost(
    plan: Plan, cluster: Cluster | str | None = None, *, program: str | bytes | Path | None = None,
    remap: bool = False, simulate: bool = True,
) -> PlanCost:  # fmt: skip
    """What a plan costs on a machine, as it is: nothing is searched, so equal plans have equal costs.

    Args:
      cluster: the machine, as for `pcg.compile`; None: the one that the plan was made for.
      program: the program, where the document was saved without it: StableHLO text, bytes or a path.
      remap: lay the mesh where the plan runs fastest on the cluster, instead of on the devices it names.
      simulate: lower the program, too, and simulate a step.

    Raises:
      PlanError: the program is missing, or another one.
      ClusterError: the mesh does not fit on the cluster.
    """
    if isinstance(cluster, str):
        cluster = Cluster.parse(cluster)
    elif cluster is None and plan.cluster:
        cluster = Cluster.loads(plan.cluster)
    machine = Machine.of(cluster) if cluster is not None else Machine.of_platform(plan.platform, plan.mesh.size)
    meshes = [plan.mesh]
    if remap and cluster is not None:
        parts = {axis: [plan.mesh.axis_size(p) for p in names] for axis, names in plan.mesh.parts.items()}
        places = [p.mesh.device_ids for p in mapping.device_mappings(cluster, Mesh(plan.mesh.origin.axes))]
        meshes = [Mesh(plan.mesh.origin.axes, ids).refined(parts) for ids in places]
    module = placed(plan, program)
    # Where several places cost the same, the first stays: the same input gives the same answer.
    best = min((_estimate(plan, module, machine, mesh) for mesh in meshes), key=lambda p: p.seconds)
    return _simulated(plan, module, machine, best) if simulate else best


def placed(plan: Plan, program: str | bytes | Path | None = None) -> ir.Module:
    """The program of `plan` with every layout that the plan gives, on the mesh of the plan.

    Raises:
      PlanError: neither the document nor the caller has the program, or it is another one.
    """
    if program is not None:
        found = module_source(program)
        assert found is not None
        module = load_module(found[0], make_context(), found[1] or "<program>")
        _declare(module, plan.mesh.origin)
        run(module, pipelines.prepare(Settings()), [], {})
    elif plan.source:
        module = load_module(plan.source, make_context(), "<plan>")
        _declare(module, plan.mesh.origin)
    else:
        raise PlanError(f"the plan of {brief(plan.program)} was saved without its program; give the program, too")
    if passes := rewrites.of_plan(plan):
        run(module, passes, [], {})
        forget(module.operation)
    plan_ir.check(plan, module)
    here = shardings.mesh_of(module)
    if here is None or plan.mesh.axes != here.axes:
        rewrite(module.operation, Mesh(plan.mesh.axes, plan.mesh.device_ids))
    plan_ir.write(plan, module)
    memory.write(module, plan.memory)
    return module


def _declare(module: ir.Module, mesh: Mesh) -> None:
    found = shardings.mesh_of(module)
    if found is not None and found.origin.axes != mesh.axes:
        raise PlanError(f"the plan is for mesh {mesh}; the program has shardings on mesh {found}")
    shardings.set_mesh(module, Mesh(found.axes, mesh.device_ids) if found is not None else mesh)


def _estimate(plan: Plan, module: ir.Module, machine: Machine, mesh: Mesh) -> PlanCost:
    """The measure of `module` with its mesh at the devices of `mesh`.

    Raises:
      ClusterError: the cluster lacks a device that the mesh names, or is too small.
    """
    model = CostModel(machine, mesh)
    reshard_costs = ReshardCosts(model)
    try:
        built, choice = placed_graph(entry_function(module), reshard_costs, dict(plan.state))
    except NotPlaced as error:
        where = plan_ir.where(error.location)
        raise PlanError(f"malformed plan: {error.message}" + (f" ({where})" if where else "")) from None
    found = measured(built, choice, reshard_costs)
    peak, _ = built.lifetimes.peak(built.graph, choice, mesh)
    name = machine.cluster.name if machine.cluster is not None else machine.device.name
    return PlanCost(
        name, mesh, found.seconds, found.compute, found.communication, found.bytes, peak,
        peak <= model.machine.device.memory,
    )  # fmt: skip


def _simulated(plan: Plan, module: ir.Module, machine: Machine, found: PlanCost) -> PlanCost:
    """`found` with a simulation of the lowered program."""
    symbol = next(iter(shardings.meshes_of(module)))
    shardings.set_mesh(module, found.mesh, symbol)
    settings = Settings(machine)
    run(module, [*pipelines.place(settings), *pipelines.lower(settings)], [], {})
    model = CostModel(machine, found.mesh)
    done = simulate_step(module, model, donated=plan.donated)
    # The estimate of memory knows nothing of recomputation.
    fits = done.peak_bytes <= model.machine.device.memory if memory.RECOMPUTE in plan.memory else found.fits
    return dataclasses.replace(found, simulation=done, fits=fits)
