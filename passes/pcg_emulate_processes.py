"""pcg-emulate-processes: all processes, and their messages, in one single-device program."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pcg.emulate.processes import emulate_processes
from pcg.ir.errors import PcgError
from pcg.ir.transformation import option
from pcg.lower.processes import PROCESSES, SIGNATURE, process_modules
from pcg.passes.base import Pass


@dataclass
class EmulateProcessesPass(Pass):
    """Run all processes in one program without communication, with the signature of the program before it was split.

    Every process goes on until it waits for a message or for the other members of a collective.  If all wait, that is a
    deadlock, an error that says who waits for what.  Input is what pcg-lower-processes leaves.

    Before:
    ```mlir
    module @process_0 { func.func @main(%x: tensor<4xf32> {...}) { "dist.send"(%x) {peer = 1, ...} ...
    module @process_1 { func.func @main() -> (tensor<4xf32> {...}) { %0 = "dist.recv"() {peer = 0, ...} ...
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    ```
    """

    name = "pcg-emulate-processes"
    check_replicas: bool = option(False, "add a last result: do processes that return the same box agree bit for bit")

    def run(self, module: ir.Operation) -> None:
        with module.context, module.location:
            try:
                programs = dict(process_modules(module))
                signature = ir.FunctionType(ir.TypeAttr(module.attributes[SIGNATURE]).value)
                self.statistics["messages"] += emulate_processes(module, programs, signature, self.check_replicas)
            except PcgError as error:
                raise PcgError(error.message, error.location or module) from None
        for program in programs.values():
            program.erase()
        for name in (PROCESSES, SIGNATURE):
            del module.attributes[name]
