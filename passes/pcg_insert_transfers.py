from pcg.passes.base import Pass
from pcg.rewrite.islands.transfers import InsertTransfers


class InsertTransfersPass(InsertTransfers, Pass):
    """Insert a transfer where a call, or the signature, demands another slice or layout than a value has.

    A program on islands is a function of calls, one per computation of all shards.  `mesh` of a call is its slice,
    `in_specs` and `out_specs` are the layouts of its operands and results; `dist.spec` is that of an argument, and, if
    there is one, what the program demands of a result.  A transfer to another island stands behind the op that defines
    its value, so that the value can go as soon as it is there; one inside an island stands before the op that needs it.
    Runs after pcg-assign-islands.

    Before:
    ```mlir
    %0 = call @f(%x) {in_specs = ..., mesh = @left, out_specs = [#dist.shard_spec<@left, [["data"], []], {}>]} : ...
    %1 = call @g(%0) {in_specs = [#dist.shard_spec<@right, [[], []], {}>], mesh = @right, out_specs = ...} : ...
    ```
    After:
    ```mlir
    %0 = call @f(%x) {in_specs = ..., mesh = @left, out_specs = [#dist.shard_spec<@left, [["data"], []], {}>]} : ...
    %t = "pcg.transfer"(%0) {dist.specs = [#dist.shard_spec<@right, [[], []], {}>], mesh = @right} : ...
    %1 = call @g(%t) {in_specs = [#dist.shard_spec<@right, [[], []], {}>], mesh = @right, out_specs = ...} : ...
    ```
    """

    name = "pcg-insert-transfers"
