from pcg.passes.base import Pass
from pcg.rewrite.accumulate import Microbatch


class MicrobatchPass(Microbatch, Pass):
    """Let a step work on one microbatch at a time, and accumulate gradients.

    Time becomes an axis: `pcg.pipeline` takes the microbatches from an argument, everything that is computed from one
    has the size of a microbatch and runs once for each, and `pcg.batch` adds up, or puts together, what the step needs
    of all of them.  What can be split, and how, follows from the rules that split over devices; see `pcg-accumulate`,
    which makes a loop of it.  Pipelines over several meshes begin with this form.

    Before:
    ```mlir
    %g = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x2xf32>) -> ...
    %n = stablehlo.subtract %w, %g : tensor<4x2xf32>
    ```
    After, with microbatches=2:
    ```mlir
    %xi = "pcg.pipeline"(%x) {dim = 0, block = 1, microbatches = 2} : (tensor<8x4xf32>) -> tensor<4x4xf32>
    %di = "pcg.pipeline"(%d) {dim = 0, block = 1, microbatches = 2} : (tensor<8x2xf32>) -> tensor<4x2xf32>
    %gi = stablehlo.dot_general %xi, %di, contracting_dims = [0] x [0] : (tensor<4x4xf32>, tensor<4x2xf32>) -> ...
    %g = "pcg.batch"(%gi) {kind = "sum", microbatches = 2} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    %n = stablehlo.subtract %w, %g : tensor<4x2xf32>
    ```
    """

    name = "pcg-microbatch"
