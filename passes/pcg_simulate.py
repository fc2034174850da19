"""pcg-simulate: one step of a lowered program on a machine."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.errors import PcgError
from pcg.ir.stages import stages_of
from pcg.ir.transformation import option
from pcg.ir.walk import entry
from pcg.layout import Mesh
from pcg.lower.lower_processes import lower_stages
from pcg.lower.processes import PROCESSES
from pcg.machine import Machine
from pcg.passes.base import Pass
from pcg.simulate import ProcessSimulation, Simulation, simulate, simulate_processes
from pcg.simulate.run import BACKENDS
from pcg.simulate.stages import StagedSimulation, simulate_stages


@dataclass
class SimulatePass(Pass):
    """Remark how long one step of a lowered program takes, what of it is hidden, and the memory that it needs.

    Every device computes on one stream and communicates on another; a collective starts when its operands are there,
    and compute goes on until a result is read.  `trace` is a file for the trace of the step, which
    ui.perfetto.dev opens.
    Placed stages on several meshes are lowered for that, and simulated together with their transfers.  Of processes
    each has its own streams, and runs at the pace of its own device.  The program is not changed.  Run it after
    `--lower`, `--split-meshes` or `--lower-processes`, with `--remarks`; `--cluster` is the machine.
    See docs/decisions/0011-simulator.md.

    Before:
    ```mlir
    func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %0 = stablehlo.tanh %x : tensor<4x4xf32>
    ```
    With `--remarks`: seconds of the step, of its compute and communication, and bytes at the peak.
    """

    name = "pcg-simulate"
    trace: str = option("", "File for a Chrome trace of the step (JSON).")
    backend: str = option("accelerator", "Whose habits of scheduling and memory to assume.", choices=BACKENDS)
    overlap: bool = option(True, "Whether collectives run beside compute; on the cpu backend they never do.")
    machine: Machine = field(default_factory=Machine.default)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.simulation: Simulation | None = None
        self.staged: StagedSimulation | None = None

    def run(self, module: ir.Operation) -> None:
        """Raises PcgError: the module is not a lowered one."""
        attrs, main = module.attributes, entry(module)
        overlap = self.overlap and self.backend != "cpu"
        if main is not None and (stages := stages_of(main)):
            self._stages(module, main, stages)
            return
        if PROCESSES in attrs:
            several = simulate_processes(module, self.machine, overlap=overlap)
            self.remark(module, str(several))
            self._write(module, several)
            return
        if "pcg.mesh" not in attrs:
            raise PcgError("the module has no pcg.mesh: it is not lowered; run --lower first", module)
        ids = list(ir.DenseI64ArrayAttr(attrs["pcg.device_ids"])) if "pcg.device_ids" in attrs else None
        mesh = Mesh(Mesh.parse(ir.StringAttr(attrs["pcg.mesh"]).value).axes, None if ids is None else tuple(ids))
        if main is None:
            raise PcgError("the module has no function @main to simulate", module)
        model = CostModel(self.machine, mesh)
        self.simulation = found = simulate(main, model, backend=self.backend, overlap=overlap)
        self.remark(main, str(found))
        self._write(main, found)

    def _stages(self, module: ir.Operation, func: ir.Operation, stages: list[ir.Operation]) -> None:
        """A program of placed stages: all of its meshes at once."""
        keep, local = lower_stages(self, module, stages, self.machine)
        self.staged = found = simulate_stages(func, local, self.machine)
        self.remark(func, f"step {1e6 * found.seconds:.1f} us, transfers {1e6 * found.transfers:.1f} us")
        for name, busy in found.busy.items():
            peak = found.peak_bytes[name] / 2**20
            self.remark(func, f"@{name} computes {1e6 * busy:.1f} us, {peak:.1f} MiB per device at the peak")
        self._write(func, found)
        del keep

    def _write(self, main: ir.Operation, found: Simulation | StagedSimulation | ProcessSimulation) -> None:
        if self.trace:
            try:
                found.write_trace(self.trace)
            except OSError as error:
                raise PcgError(f"cannot write the trace: {error}", main) from None
