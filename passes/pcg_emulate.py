"""pcg-emulate: all devices of a lowered program in one single-device program."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pcg.emulate import emulate_in_place, global_types, lowered_layouts
from pcg.ir.check_lowered import GLOBAL_TYPE
from pcg.ir.errors import PcgError
from pcg.ir.transformation import option
from pcg.passes.base import Pass


@dataclass
class EmulatePass(Pass):
    """Run every device of a per-device program in lock step inside one program without collectives.

    The result has the signature of the program before it was distributed: running both on equal
    inputs shows whether distribution kept the meaning.  Input is what pcg-lower-spmd leaves.

    Before, on a mesh `data` of size 2:
    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = "stablehlo.all_reduce"(%x) ...
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<8xf32>) -> tensor<4xf32> {
      %0 = stablehlo.slice %x [0:4] : (tensor<8xf32>) -> tensor<4xf32>
      %1 = stablehlo.slice %x [4:8] : (tensor<8xf32>) -> tensor<4xf32>
      %2 = stablehlo.add %0, %1 : tensor<4xf32>
    ```
    """

    name = "pcg-emulate"

    check_replicas: bool = option(False, "add a last result: do devices that hold the same shard agree bit for bit")

    def run(self, module: ir.Operation) -> None:
        try:
            mesh, ins, outs = lowered_layouts(module)
            emulate_in_place(module, mesh, ins, outs, self.check_replicas, global_types(module))
        except PcgError as error:
            raise PcgError(error.message, error.location or module) from None
        for name in ("pcg.mesh", "pcg.in_specs", "pcg.out_specs", GLOBAL_TYPE, "mhlo.num_partitions"):
            if name in module.attributes:
                del module.attributes[name]
