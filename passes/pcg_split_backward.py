from pcg.passes.base import Pass
from pcg.rewrite.backward.split import SplitBackward


class SplitBackwardPass(SplitBackward, Pass):
    """Split the backward part of a training step into input gradients and weight gradients.

    Every op of the function gets `pcg.phase`: "forward" (the loss depends on it), "backward" (input gradients: what the
    stage before needs, or other weight gradients do), "weight" (the rest: gradients of weights, and the optimizer
    behind them) or "update" (what runs once per step where gradients are accumulated by `pcg.batch`).  Weight gradients
    then run behind the next product of input gradients, so that the all-reduce of that runs beside them.

    Runs on one traced step: nothing is differentiated or recomputed for the split.  What ties both together is taken
    apart first: loops over layers become two loops, the second one with the products for weights and without a
    dependence between iterations other than sums; barriers are split by phase; `@pcg.matmul_grad` becomes two products.
    `pcg.stage` on ops makes them stages of a pipeline.

    Before, y = x w and its gradients for the loss sum(y y):
    ```mlir
    %dw = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0]
    %dx = stablehlo.dot_general %dy, %w, contracting_dims = [1] x [1]
    ```
    After, where dx leads to further weights:
    ```mlir
    %dx = stablehlo.dot_general %dy, %w, contracting_dims = [1] x [1] {pcg.phase = "backward"}
    %dw = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] {pcg.phase = "weight"}
    ```
    """

    name = "pcg-split-backward"
