from pcg.passes.base import Pass
from pcg.rewrite.uneven_data_parallelism import UnevenDataParallelism


class UnevenDataParallelismPass(UnevenDataParallelism, Pass):
    """Split the batch unevenly among the meshes of the module, in the order in which they are declared.

    Every op on the batch becomes one op per mesh on the mesh's share.  What each mesh then has only a partial sum of
    (a gradient, a loss) is reduced where all of it is needed.  Weights are distributed to the meshes by bytes: a
    weight, its optimizer state and its update are on one mesh, the other meshes receive it at the start of a step, and
    send their partial sums of its gradient.  The batch itself is replicated on a mesh @all of all devices, so nothing
    of it is transferred.  The function and its signature do not change; dist-propagate-meshes and pcg-split-meshes
    go on from here.

    Before, with meshes @a and @b and `shares=5,3`:
    ```mlir
    func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x2xf32>) -> tensor<8x2xf32> {
      %0 = stablehlo.dot_general %x, %w, ...
    ```
    After:
    ```mlir
    func.func @main(%x: tensor<8x4xf32> {dist.mesh = @all}, %w: tensor<4x2xf32> {dist.mesh = @a}) -> tensor<8x2xf32> {
      %0 = stablehlo.slice %x [0:5, 0:4] {dist.mesh = @a} : (tensor<8x4xf32>) -> tensor<5x4xf32>
      %1 = stablehlo.slice %x [5:8, 0:4] {dist.mesh = @b} : (tensor<8x4xf32>) -> tensor<3x4xf32>
      %2 = stablehlo.dot_general %0, %w, ... {dist.mesh = @a}
      %3 = stablehlo.dot_general %1, %w, ... {dist.mesh = @b}
      %4 = stablehlo.concatenate %2, %3, dim = 0
    ```
    """

    name = "pcg-uneven-data-parallelism"
