from pcg.lower.lower_processes import LowerProcesses
from pcg.passes.base import Pass


class LowerProcessesPass(LowerProcesses, Pass):
    """Replace a program of placed stages by one module per process, nested in the module as @process_K.

    Each has its own `main` on local shapes: the local programs of the stages that run there, one after the
    other, with `dist.send` and `dist.recv` of the pieces of every transfer.  A piece crosses once, from one
    holder; several holders share the work.  `pcg.members` on a collective are the processes of the positions that
    its replica groups name; channels are numbered through the whole program.  `pcg.argument` and `pcg.result` with
    `pcg.start` and `pcg.limit` say which box of which argument or result of the program a process has (beyond the
    box is padding); `pcg.signature` on the outer module is the program's type.

    Before:
    ```mlir
    %t = "pcg.transfer"(%0) {mesh = @b, dist.specs = [#dist.shard_spec<@b, [["x"], []], {}>]} ...
    ```
    After, in @process_0 and in @process_2:
    ```mlir
    "dist.send"(%0) {limit = array<i64: 4, 4>, peer = 2, start = array<i64: 0, 0>, tag = 0} : (tensor<4x4xf32>) -> ()
    %0 = "dist.recv"() {limit = array<i64: 4, 4>, peer = 0, start = array<i64: 0, 0>, tag = 0} : () -> tensor<4x4xf32>
    ```
    """

    name = "pcg-lower-processes"
