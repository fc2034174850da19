"""pcg-search: choose a strategy for every op at once."""

from __future__ import annotations

import math
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import given, shardings
from pcg.ir.walk import entry
from pcg.layout import Mesh, MeshError
from pcg.machine import ClusterError, Machine
from pcg.passes.base import Bytes, Pass, PassError, option
from pcg.search.build import Builder, Built
from pcg.search.commit import commit
from pcg.search.memory import Lifetimes
from pcg.search.network import FORBIDDEN
from pcg.search.optimize import DoesNotFit, Optimizer, Outcome
from pcg.search.roles import data_of, state_of
from pcg.search.table import Tables

if TYPE_CHECKING:
    from rich.status import Status

#: Seconds without a word about progress.
_QUIET = 2.0


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
    memory_limit: Bytes | None = option(
        None, "bytes per device that a plan may need, as 16GiB; default: what a device of the cluster, if any, has"
    )
    progress: bool = option(True, "show progress on stderr when the search takes longer than two seconds")
    machine: Machine = field(default_factory=Machine.default)
    cutoff: float = field(default_factory=lambda: math.inf)
    """Seconds that a plan must beat: one that provably cannot is not written, `outcome` tells its bound."""
    quick: bool = field(default_factory=bool)
    """Whether a good plan is enough: the gap to the bound may be larger."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.outcome: Outcome | None = None
        self.built: Built | None = None
        self.needed = math.inf
        """Where no plan fits: the least bytes per device that one was found for."""

    def run(self, module: ir.Operation) -> None:
        module = module.operation
        mesh = self._mesh(module)
        func = entry(module)
        if func is None:
            raise PassError(module, "the module has no entry function; it needs a public function, or one named main")
        given.mark(func, "search", state_of(func))
        try:
            model = CostModel(self.machine, mesh)
        except ClusterError as error:
            raise PassError(module, str(error)) from None
        limit: float | None = self.memory_limit
        if limit is None and model.machine.cluster is not None:
            limit = model.machine.device.memory
        tables = Tables(mesh)
        state = state_of(func)
        with Progress(self.progress) as progress:
            start = time.perf_counter()
            self.built = built = Builder(model, tables, progress).build(func, state)
            build_seconds = time.perf_counter() - start
            data = [built.arguments[i] for i in data_of(func, state)]
            optimizer = Optimizer(
                built.graph, model, Lifetimes(built.births), built.arguments, data, limit, progress, self.cutoff,
                self.quick,
            )
            try:
                self.outcome = outcome = optimizer.run()
            except DoesNotFit as error:
                self.needed = error.needed
                raise PassError(func, str(error)) from None
        if outcome.bound > self.cutoff:
            return
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


class Progress:
    """What the search is doing, on stderr, once it has taken `_QUIET` seconds.

    On a terminal one line that is rewritten and vanishes at the end; elsewhere a plain line per step.
    """

    def __init__(self, wanted: bool, name: str = "pcg-search") -> None:
        self.name = name
        self.start = time.perf_counter()
        self.wanted = wanted
        self.text = ""
        self.lock = threading.Lock()
        self.over = False
        self.status: Status | None = None
        self.timer: threading.Timer | None = None

    def __enter__(self) -> Progress:
        if self.wanted and sys.stderr.isatty():
            # A step may take long: the line appears in time even if none is reported then.
            self.timer = threading.Timer(_QUIET, self._show)
            self.timer.daemon = True
            self.timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.timer is not None:
            self.timer.cancel()
        with self.lock:
            self.over = True
            if self.status is not None:
                self.status.stop()

    def __call__(self, text: str) -> None:
        with self.lock:
            self.text = f"{self.name}: {text}"
            if self.status is not None:
                self.status.update(self.text)
            elif self.wanted and self.timer is None and time.perf_counter() - self.start > _QUIET:
                print(self.text, file=sys.stderr, flush=True)

    def _show(self) -> None:
        from rich.console import Console

        with self.lock:
            if not self.over:
                console = Console(stderr=True)
                self.status = console.status(self.text or self.name, spinner="line", spinner_style="none")
                self.status.start()
