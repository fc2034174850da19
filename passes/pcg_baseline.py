from pcg.passes.base import Pass
from pcg.planning.baseline import Baseline


class BaselinePass(Baseline, Pass):
    """Give the arguments of a program the layouts of a plan that experts use, to be propagated from there.

    Nothing of the plan need be in the program: what is data, weight and optimizer state, which contractions are the
    forward pass and which weights make a column and row pair is read from the graph.  Plans:

    - `data`: the batch is split over all axes, the rest is replicated.
    - `zero1` (or `zero2`): also optimizer state is split, each device updates its part; gradients are reduce-scattered,
      new weights gathered.  `zero3` (`zero`, `fsdp`): weights are split too, and gathered at each use.
    - `megatron`: over the model axes the first of two weights is split by columns, the second by rows, attention by
      heads, embeddings and the logits by vocabulary; the batch over the other axes.  `megatron-zero1`,
      `megatron-zero3`: with optimizer state, or all state, split over the other axes.
    - `dlrm`: embedding tables are split over all axes by their columns, as far as these go, then by rows (`dlrm-rows`:
      the other way round); the rest is data parallel.  `dlrm-whole`: each of several tables that are stacked in one
      array lies on one device, on some none if there are more of these.
    - `experts`: stacked experts are split over the expert axis, the rest is data parallel; also `experts-zero1`,
      `experts-zero3`, `experts-megatron`, `experts-megatron-zero1`, `experts-megatron-zero3`.

    Layouts that arguments have already are kept.  `dist-propagate{engine=dataflow}` completes the plan.

    Before:
    ```mlir
    func.func @main(%w: tensor<4x4xf32>, %x: tensor<8x4xf32>) -> tensor<8x4xf32> {
    ```
    After, with `plan=data`:
    ```mlir
    func.func @main(%w: tensor<4x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>},
                    %x: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>}) -> tensor<8x4xf32> {
    ```
    """

    name = "pcg-baseline"
    plain_axes = True
