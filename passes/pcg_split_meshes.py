from pcg.passes.base import Pass
from pcg.rewrite.split_meshes import SplitMeshes


class SplitMeshesPass(SplitMeshes, Pass):
    """Outline a program on several meshes into stages, each on one mesh, with transfers between meshes.

    Every op must say its mesh, as dist-propagate-meshes leaves it.  An op's *turn* is the largest number of
    times that data must have changed mesh before it can run; ops of one mesh and one turn are a `pcg.stage`
    (without products or loops, and without values for other meshes, they join the mesh's next stage).
    Stages are in an order in which they can run.  A value that another mesh needs gets one `pcg.transfer`
    to it, behind the stage that makes it; stages of one mesh pass values on as they are.  What depends on no
    argument (constants, iotas, what follows from them) is recomputed wherever it is used.

    Before:
    ```mlir
    %0 = stablehlo.tanh %x {dist.mesh = @a} : tensor<8x4xf32>
    %1 = stablehlo.exponential %0 {dist.mesh = @b} : tensor<8x4xf32>
    ```
    After:
    ```mlir
    %in0 = stablehlo.tuple %x : tuple<tensor<8x4xf32>>
    %out0 = "pcg.stage"(%in0) ({
    ^bb0(%a: tensor<8x4xf32>):
      %2 = stablehlo.tanh %a : tensor<8x4xf32>
      ...
    }) {index = 0, mesh = @a} : (tuple<tensor<8x4xf32>>) -> tuple<tensor<8x4xf32>>
    %0 = stablehlo.get_tuple_element %out0[0] : (tuple<tensor<8x4xf32>>) -> tensor<8x4xf32>
    %t = "pcg.transfer"(%0) {mesh = @b} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %in1 = stablehlo.tuple %t : tuple<tensor<8x4xf32>>
    %out1 = "pcg.stage"(%in1) ... {index = 1, mesh = @b}
    ```
    """

    name = "pcg-split-meshes"
