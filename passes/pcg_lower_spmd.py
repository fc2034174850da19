from pcg.lower.lower_spmd import LowerSpmd
from pcg.passes.base import Pass


class LowerSpmdPass(LowerSpmd, Pass):
    """Replace the annotated program by per-device StableHLO with collectives.

    `main` gets local shapes; layouts, `dist.mesh` and `dist` collectives disappear.  Replica groups
    are positions in the mesh.  What a caller must know is left as module attributes:
    `mhlo.num_partitions`, `pcg.mesh` (with `pcg.device_ids` if it names its devices), and per argument and
    result `pcg.in_specs`, `pcg.out_specs`; where the shards of one have padding also `pcg.global_type`, the
    signature before.
    Indices of dynamic slices and updates, and those of gathers and scatters of one index, are clamped where they may be
    out of range: XLA loses the clamp that they imply where one slice meets another.
    Layouts must be complete and consistent, as dist-insert-reshards leaves them.

    Before:
    ```mlir
    func.func @main(%x: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>}) ... {
      %0 = stablehlo.tanh %x {dist.specs = [#dist.shard_spec<@mesh, [["data"], []], {}>]} : tensor<8x4xf32>
    ```
    After, with `data` of size 2:
    ```mlir
    func.func @main(%x: tensor<4x4xf32>) ... {
      %0 = stablehlo.tanh %x : tensor<4x4xf32>
    ```
    """

    name = "pcg-lower-spmd"
    plain_axes = True
