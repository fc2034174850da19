from pcg.passes.base import Pass
from pcg.rewrite.propagate_meshes import PropagateMeshes


class PropagateMeshesPass(PropagateMeshes, Pass):
    """Say of every op on which of the program's meshes it runs.

    A layout on an argument, a result, an op or in a `dist.constraint` names a mesh and stays there; so does
    `dist.mesh = @symbol` on an op, an argument or a result, which names a mesh alone.  What is made directly from an
    annotated argument, or from an op with a mesh of its own (other than a constraint), runs there.  Everything else
    runs on the mesh of the nearest annotated thing that it is made from or, without any, that is made from it, and
    is moved to a neighbour's mesh if fewer bytes cross between meshes then.  Of meshes that are equally near, one
    that contains another wins, else the one that has more bytes of the operands.

    Before:
    ```mlir
    func.func @main(%x: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@a, [[], []], {}>}) -> tensor<8x4xf32> {
      %0 = stablehlo.tanh %x : tensor<8x4xf32>
      %1 = "dist.constraint"(%0) {spec = #dist.shard_spec<@b, [["x"], []], {}>} ...
    ```
    After:
    ```mlir
      %0 = stablehlo.tanh %x {dist.mesh = @a} : tensor<8x4xf32>
      %1 = "dist.constraint"(%0) {dist.mesh = @b, spec = #dist.shard_spec<@b, [["x"], []], {}>} ...
    ```
    """

    name = "dist-propagate-meshes"
