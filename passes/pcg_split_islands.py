from pcg.passes.base import Pass
from pcg.rewrite.islands.split import SplitIslands


class SplitIslandsPass(SplitIslands, Pass):
    """Split a program into one function per island, with sends and receives for the transfers between islands.

    Each function has what runs on its island, in the order of the program.  Messages are numbered through the program;
    there is one for all shards of a value.  A value is received before the first op that reads it, or that reads what
    the same island sends later, so that receives are in the order of sends.  `pcg.argument` on an argument and
    `pcg.results` on the function are numbers in the program.  Runs after pcg-mark-last-uses.

    Before:
    ```mlir
    func.func @main(%x: ... {dist.spec = #dist.shard_spec<@left, ...>}) -> ... {
      %0 = call @f(%x) {mesh = @left, ...} : ...
      %1 = "pcg.transfer"(%0) {dist.specs = [#dist.shard_spec<@right, ...>], last_uses = array<i64: 0>, ...} : ...
      %2 = call @g(%1) {last_uses = array<i64: 0>, mesh = @right, ...} : ...
      return %2 : ...
    ```
    After:
    ```mlir
    func.func @main.podA(%x: ... {..., pcg.argument = 0 : i64}) attributes {island = "podA", pcg.results = array<i64>} {
      %0 = call @f(%x) {mesh = @left, ...} : ...
      "pcg.send"(%0) {last_uses = array<i64: 0>, peer = "podB", spec = #dist.shard_spec<@right, ...>, tag = 0} : ...
      return
    }
    func.func @main.podB() -> ... attributes {island = "podB", pcg.results = array<i64: 0>} {
      %0 = "pcg.receive"() {peer = "podA", spec = #dist.shard_spec<@right, ...>, tag = 0} : ...
      %1 = call @g(%0) {last_uses = array<i64: 0>, mesh = @right, ...} : ...
      return %1 : ...
    }
    ```
    """

    name = "pcg-split-islands"
