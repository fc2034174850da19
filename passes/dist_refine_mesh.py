from pcg.passes.base import Pass
from pcg.rewrite.refine_mesh import RefineMesh


class RefineMeshPass(RefineMesh, Pass):
    """Cut mesh axes where layouts use parts of them, and let every layout name the parts.

    A layout may use a part of an axis, in Shardy's spelling: `"x:(1)2"` is the major 2 of `x`.  The mesh
    of the module becomes a refined mesh, on which `x` of size 8 is there as `x.0` of size 2 and `x.1` of
    size 4; a layout that uses the whole of `x` then says `x.0`, `x.1`.  Devices keep their positions,
    so nothing moves.  All other passes see ordinary axes.

    With `reshapes` axes are also cut where a reshape could not keep them otherwise: a dimension of 16
    split by `x=8` that becomes `2x8` can stay split by `x:(1)2` and `x:(2)4`.

    Before:
    ```mlir
    "dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [8], []>} : () -> ()
    func.func @main(%a: tensor<16xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"]], {}>}) -> tensor<2x8xf32> {
      %0 = stablehlo.reshape %a : (tensor<16xf32>) -> tensor<2x8xf32>
      %1 = "dist.constraint"(%0) {spec = #dist.shard_spec<@mesh, [["x:(1)2"], ["x:(2)4"]], {}>}
        : (tensor<2x8xf32>) -> tensor<2x8xf32>
      return %1 : tensor<2x8xf32>
    }
    ```
    After:
    ```mlir
    "dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x.0", "x.1"], [2, 4], []>} : () -> ()
    func.func @main(%a: tensor<16xf32> {dist.spec = #dist.shard_spec<@mesh, [["x.0", "x.1"]], {}>}) -> tensor<2x8xf32> {
      %0 = stablehlo.reshape %a : (tensor<16xf32>) -> tensor<2x8xf32>
      %1 = "dist.constraint"(%0) {spec = #dist.shard_spec<@mesh, [["x.0"], ["x.1"]], {}>}
        : (tensor<2x8xf32>) -> tensor<2x8xf32>
      return %1 : tensor<2x8xf32>
    }
    ```
    """

    name = "dist-refine-mesh"
