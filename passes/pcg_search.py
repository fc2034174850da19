"""pcg-search: choose a strategy for every op at once."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from typing import ClassVar

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.walk import entry
from pcg.layout import Mesh, MeshError
from pcg.machine import Machine
from pcg.passes.base import Bytes, Pass, PassError, option
from pcg.search.build import Builder, Built
from pcg.search.commit import commit
from pcg.search.memory import Lifetimes
from pcg.search.network import FORBIDDEN
from pcg.search.optimize import DoesNotFit, Optimizer, Outcome
from pcg.search.roles import data_of, state_of
from pcg.search.table import Tables


@dataclass
class SearchPass(Pass):
    """Choose the sharding of every op so that the estimated step time is least.

    Every op is given a strategy (an assignment of mesh axes to its factors) at once: compute
    (roofline), communication (alpha-beta per mesh axis) and resharding on every edge are minimised
    together, under a memory limit per device.  Layouts that are already in the IR are kept.  The
    result is `dist.specs` and `dist.operand_specs` on every op and layouts on the signature; the
    program itself does not change but for `dist.reshard` where a value is kept in another layout
    than it is produced in.

    Data parallelism, tensor parallelism and replication are always among the candidates; the plan
    is never worse than them by the same estimate.
    """

    name: ClassVar[str] = "pcg-search"

    mesh: str = option("", "mesh to plan for, as name=size,...; default: the module's dist.mesh")
    memory_limit: Bytes | None = option(None, "bytes per device that a plan may need, as 16GiB")
    progress: bool = option(True, "show progress on stderr when the search takes longer than two seconds")
    machine: Machine = field(default_factory=Machine.default)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.outcome: Outcome | None = None
        self.built: Built | None = None

    def run(self, module: ir.Operation) -> None:
        module = module.operation
        mesh = self._mesh(module)
        func = entry(module)
        if func is None:
            raise PassError(module, "the module has no entry function; it needs a public function, or one named main")
        model = CostModel(self.machine, mesh)
        tables = Tables(mesh)
        state = state_of(func)
        progress = _Progress(self.progress)
        start = time.perf_counter()
        self.built = built = Builder(model, tables, progress).build(func, state)
        build_seconds = time.perf_counter() - start
        data = [built.arguments[i] for i in data_of(func, state)]
        optimizer = Optimizer(
            built.graph, model, Lifetimes(built.births), built.arguments, data, self.memory_limit, progress
        )
        try:
            self.outcome = outcome = optimizer.run()
        except DoesNotFit as error:
            raise PassError(func, str(error)) from None
        finally:
            progress.done()
        if outcome.seconds >= FORBIDDEN / 2:
            text = "the layouts that are fixed in the program contradict each other: no plan has them all"
            raise PassError(func, text)
        outcome.phases = {"build": build_seconds, **outcome.phases}
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
        for op, node in built.ops:
            reason = built.rule_reason(node)
            if reason:
                self.remark(op, f"'{op.name}' runs replicated: {reason}")

    def _mesh(self, module: ir.Operation) -> Mesh:
        if self.mesh:
            try:
                mesh = Mesh.parse(self.mesh)
            except MeshError as error:
                raise PassError(module, str(error)) from None
            shardings.set_mesh(module, mesh)
            return mesh
        found = shardings.mesh_of(module)
        if found is None:
            raise PassError(module, "there is no mesh to plan for; give --mesh name=size,... or a dist.mesh")
        return found


class _Progress:
    """One line on stderr that is rewritten, on terminals only after two seconds."""

    def __init__(self, wanted: bool) -> None:
        self.start = time.perf_counter()
        self.wanted = wanted
        self.shown = False

    def __call__(self, text: str) -> None:
        if self.wanted and time.perf_counter() - self.start > 2:
            end = "\r" if sys.stderr.isatty() else "\n"
            sys.stderr.write(f"pcg-search: {text:70s}{end}")
            sys.stderr.flush()
            self.shown = True

    def done(self) -> None:
        if self.shown and sys.stderr.isatty():
            sys.stderr.write(" " * 84 + "\r")

