from pcg.passes.base import Pass
from pcg.rewrite.insert_reshards import InsertReshards


class InsertReshardsPass(InsertReshards, Pass):
    """Insert PCG operators where a value's layout is not what its consumer needs.

    What an op needs is its `dist.operand_specs` (removed afterwards); without them it is derived from
    the op's factor rule.  Function results, loop carries and branch results need the layout that the
    function, the loop or the conditional gives its results.  `dist.constraint` and `dist.reshard`
    become operators too.  Operators stand behind the producer, so those of loop-invariant values
    are outside the loop, and consumers that need the same layout share them.  An op that runs
    replicated over axes by which an operand was split gets a remark with the reason and the cost.

    Before:
    ```mlir
    %0 = stablehlo.dot_general %x, %w, ... {dist.specs = [#dist.shard_spec<@mesh, [[], []], {model = "sum"}>]}
    %1 = stablehlo.tanh %0 {dist.operand_specs = [#dist.shard_spec<@mesh, [[], []], {}>], ...}
    ```
    After:
    ```mlir
    %0 = stablehlo.dot_general %x, %w, ... {dist.specs = [#dist.shard_spec<@mesh, [[], []], {model = "sum"}>]}
    %1 = "pcg.reduce"(%0) {axes = ["model"], kind = "sum", dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>]}
    %2 = stablehlo.tanh %1 {...}
    ```
    """

    name = "dist-insert-reshards"
    plain_axes = True
