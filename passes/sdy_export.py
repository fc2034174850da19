from pcg.passes.base import Pass
from pcg.rewrite.export_sdy import ExportSdy


class SdyExportPass(ExportSdy, Pass):
    """Write layouts as `sdy.mesh`, `sdy.sharding` and `sdy.sharding_constraint`, and drop `dist` and `pcg`.

    What comes out is plain StableHLO with Shardy annotations (print it in generic form): JAX and XLA
    take it, and Shardy's partitioner carries the plan out.  Constraints are put where a value's
    layout changes and, with `constraints=all`, on every value that is split.  Axes over which a
    value is partial are left to Shardy as unreduced: it reduces where the next constraint says.
    A refined mesh is written as the mesh it refines: parts of an axis become sub-axes, and those that
    make up the whole of it the axis.

    Before:
    ```mlir
    func.func @main(%x: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>}) ...
      %0 = stablehlo.tanh %x {dist.specs = [#dist.shard_spec<@mesh, [["data"], []], {}>]} : tensor<8x4xf32>
    ```
    After:
    ```mlir
    "sdy.mesh"() <{mesh = #sdy.mesh<["data"=2, "model"=4]>, sym_name = "mesh"}> : () -> ()
    func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) ...
      %0 = stablehlo.tanh %x : tensor<8x4xf32>
    ```
    """

    name = "sdy-export"
