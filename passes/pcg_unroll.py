from pcg.passes.base import Pass
from pcg.rewrite.layers.unroll import Unroll


class UnrollPass(Unroll, Pass):
    """Unroll loops over layers, so that ops of different layers can go to different stages.

    A counted `stablehlo.while` of the entry function with contractions in its body (a scan over layers, forward or
    backward) is replaced by its iterations.  Loops without contractions, such as the rounds of a random number
    generator, stay, and so do loops inside of the unrolled ones (attention over blocks) without `nested`.

    What the counter makes constant is evaluated: index arithmetic on integers, slices at constant indices, and updates
    of stacked values: a slice of a row that was written reads the row itself.  So nothing is left of the stacks that a
    forward loop writes for the backward loop; where a stack is read as a tensor (stacked gradients) it is a
    concatenation of its rows.  Numbers stay the same to the bit, but for what a compiler fuses differently.

    Before:
    ```mlir
    %r:3 = stablehlo.while(%i = %c0, %h = %x, %w = %ws) : tensor<i32>, tensor<8x4xf32>, tensor<2x4x4xf32>
    ... do {
      %s = stablehlo.dynamic_slice %w, %i, %z, %z, sizes = [1, 4, 4] : ... -> tensor<1x4x4xf32>
      %m = stablehlo.reshape %s : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
      %n = stablehlo.dot_general %h, %m, contracting_dims = [1] x [0] : ... -> tensor<8x4xf32>
      ...
    }
    ```
    After:
    ```mlir
    %s0 = stablehlo.slice %ws [0:1, 0:4, 0:4] : (tensor<2x4x4xf32>) -> tensor<1x4x4xf32>
    %m0 = stablehlo.reshape %s0 : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
    %h1 = stablehlo.dot_general %x, %m0, contracting_dims = [1] x [0] : ... -> tensor<8x4xf32>
    %s1 = stablehlo.slice %ws [1:2, 0:4, 0:4] : (tensor<2x4x4xf32>) -> tensor<1x4x4xf32>
    %m1 = stablehlo.reshape %s1 : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
    %h2 = stablehlo.dot_general %h1, %m1, contracting_dims = [1] x [0] : ... -> tensor<8x4xf32>
    ```
    """

    name = "pcg-unroll"
