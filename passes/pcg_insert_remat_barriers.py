from pcg.passes.base import Pass
from pcg.rewrite.recompute import InsertRematBarriers


class InsertRematBarriersPass(InsertRematBarriers, Pass):
    """Replace the barriers of pcg-recompute by selects that XLA's CPU backend cannot remove.

    That backend removes `stablehlo.optimization_barrier` before it merges equal ops, so that a rematerialised op
    (also one of `jax.checkpoint`) is merged with the original and no memory is saved.  Here each value goes through a
    `select` on a flag that is always true, but computed from an element of the gradient that was an operand of the
    barrier: rematerialised ops wait for the gradient and differ from the originals for every pass of the compiler.
    Values are the same to the bit.  `pcg.compile` does this on CPU devices; elsewhere barriers stay and cost nothing.

    Before:
    ```mlir
    %b:2 = stablehlo.optimization_barrier {pcg.remat} %x, %g : tensor<4xf32>, tensor<4xf32>
    ```
    After:
    ```mlir
    %e = stablehlo.slice %g [0:1] : (tensor<4xf32>) -> tensor<1xf32>
    %s = stablehlo.reshape %e : (tensor<1xf32>) -> tensor<f32>
    %is = stablehlo.compare EQ, %s, %s : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %not = stablehlo.compare NE, %s, %s : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %true = stablehlo.or %is, %not : tensor<i1>
    %b = stablehlo.select %true, %x, %zero : tensor<i1>, tensor<4xf32>
    ```
    """

    name = "pcg-insert-remat-barriers"
