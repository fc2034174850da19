from pcg.passes.base import Pass
from pcg.rewrite.accumulate import Accumulate


class AccumulatePass(Accumulate, Pass):
    """Turn a step into a loop over microbatches that accumulates gradients.

    The batch is split over a temporal axis by the same factor rules that split it over devices: what is reduced over
    the batch becomes a partial sum over time, which the loop adds up; what is made of these sums (the optimizer) runs
    once, after the loop.  Activations are those of one microbatch.  An op that combines each example with a reduction
    over the whole batch (batch normalisation) can no more be split in time than in space by a partial sum: the pass
    fails and names it.  Means are right because the program divides by its own batch size.

    Data are the arguments that are not state; their first dimension is the batch.  Results with a batch dimension are
    combined afterwards.  Runs before layouts are chosen.

    Before:
    ```mlir
    %g = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x2xf32>) -> ...
    %n = stablehlo.subtract %w, %g : tensor<4x2xf32>
    ```
    After, with microbatches=2:
    ```mlir
    %xs = stablehlo.reshape %x : (tensor<8x4xf32>) -> tensor<4x2x1x4xf32>
    %l:4 = stablehlo.while(%i = %c0, %sum = %zeros, %xs_ = %xs, %ds_ = %ds) ... do {
      ...
      %g = stablehlo.dot_general %xi, %di, contracting_dims = [0] x [0] : (tensor<4x4xf32>, tensor<4x2xf32>) -> ...
      %s = stablehlo.add %sum, %g : tensor<4x2xf32>
      ...
    }
    %n = stablehlo.subtract %w, %l#1 : tensor<4x2xf32>
    ```
    """

    name = "pcg-accumulate"
