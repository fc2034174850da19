from pcg.passes.base import Pass
from pcg.planning.propagation import Propagate


class PropagatePass(Propagate, Pass):
    """Propagate annotated layouts to all values and choose each op's strategy.

    Annotations are `dist.spec` on arguments and results of functions, `dist.specs` on ops, and
    `dist.constraint`; dimensions that `dist.open` lists may be split further.  Every op gets the layouts
    it yields (`dist.specs`, partial sums included) and those it needs (`dist.operand_specs`).  `engine`
    says how they are found; every engine gives the same output for the same input:
    - `global` (default): the assignment of layouts and strategies to the whole program whose estimated step
      time is least, subject to the annotations, by exact simplification, bounds and an ILP as in
      `pcg-search`.  By that measure it is never worse than any of the others.
    - `dataflow`: annotations spread through the ops' factor rules, forwards and backwards, until nothing
      changes; a value that none reaches is replicated.
    - `bfs`: they spread breadth first, as in MindSpore: each op that is reached takes the strategy, over as
      many devices as it can use, that redistributes least between it and its decided neighbours; what
      is annotated stops the spreading.
    - `priority`: as in Shardy: round by round of the priorities that `dist.priorities` gives to
      dimensions, in each ops that pass operands through before those that move data before those that
      contract; where factors claim one axis that of the larger tensor wins.

    The remark on each function has the measure of its outcome: compute and redistribution time of a
    step, and bytes sent.  An op that must gather a split operand because nothing splits it gets a remark.
    Private functions are always propagated by `dataflow`; bodies of manual computations, which have local
    shapes, not at all.

    Before:
    ```mlir
    func.func @main(%x: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>}) -> tensor<8x4xf32> {
      %0 = stablehlo.tanh %x : tensor<8x4xf32>
    ```
    After:
    ```mlir
      %0 = stablehlo.tanh %x {dist.operand_specs = [#dist.shard_spec<@mesh, [["data"], []], {}>],
                              dist.specs = [#dist.shard_spec<@mesh, [["data"], []], {}>]} : tensor<8x4xf32>
    ```
    """

    name = "dist-propagate"
    plain_axes = True
