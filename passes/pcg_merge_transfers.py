from pcg.passes.base import Pass
from pcg.rewrite.islands.transfers import MergeTransfers


class MergeTransfersPass(MergeTransfers, Pass):
    """Merge transfers of one value, so that it goes to each island once.

    Equal transfers become one.  A transfer of a transferred value starts from where the value was defined, or from what
    is on the island of its target already; one to a layout that the value has already becomes that.  What nobody reads
    disappears, and so does a layout that only other transfers read.  Transfers inside an island then stand before what
    reads them first.  Runs after pcg-insert-transfers.

    Before, with @a and @b on one island and @c on another one:
    ```mlir
    %0 = "pcg.transfer"(%x) {dist.specs = [#dist.shard_spec<@b, [[]], {}>], mesh = @b} : ...
    %1 = "pcg.transfer"(%x) {dist.specs = [#dist.shard_spec<@c, [[]], {}>], mesh = @c} : ...
    %2 = "pcg.transfer"(%1) {dist.specs = [#dist.shard_spec<@b, [[]], {}>], mesh = @b} : ...
    %3 = "pcg.transfer"(%x) {dist.specs = [#dist.shard_spec<@c, [["x"]], {}>], mesh = @c} : ...
    ```
    After, for readers of all four:
    ```mlir
    %0 = "pcg.transfer"(%x) {dist.specs = [#dist.shard_spec<@b, [[]], {}>], mesh = @b} : ...
    %1 = "pcg.transfer"(%x) {dist.specs = [#dist.shard_spec<@c, [[]], {}>], mesh = @c} : ...
    %3 = "pcg.transfer"(%1) {dist.specs = [#dist.shard_spec<@c, [["x"]], {}>], mesh = @c} : ...
    ```
    """

    name = "pcg-merge-transfers"
