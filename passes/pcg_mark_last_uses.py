from pcg.passes.base import Pass
from pcg.rewrite.islands.last_uses import MarkLastUses


class MarkLastUsesPass(MarkLastUses, Pass):
    """Mark the operands of calls and transfers that nothing reads behind them.

    Their buffers are donated to the call, or freed behind it; a call with `takes = array<i64: ...>` takes over those of
    the operands with these numbers alone.  What the program returns has no last use, and neither
    has an argument, unless it is donated (`tf.aliasing_output` or `jax.buffer_donor`).  Runs after pcg-merge-transfers.

    Before:
    ```mlir
    %1 = call @f(%0, %w) {mesh = @left, ...} : ...
    %2 = call @g(%1, %0) {mesh = @left, ...} : ...
    ```
    After, for an argument %w that the caller keeps:
    ```mlir
    %1 = call @f(%0, %w) {mesh = @left, ...} : ...
    %2 = call @g(%1, %0) {last_uses = array<i64: 0, 1>, mesh = @left, ...} : ...
    ```
    """

    name = "pcg-mark-last-uses"
