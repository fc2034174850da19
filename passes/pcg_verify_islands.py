from pcg.passes.base import Pass
from pcg.rewrite.islands.verify import VerifyIslands


class VerifyIslandsPass(VerifyIslands, Pass):
    """Check the functions of islands: that they can run together, and in the memory of their devices.

    Every receive has one send, of the same type and layout; two islands send and receive what goes from one to the
    other in the same order, and no island waits for ever (a receive waits for its send, a send for nothing).  Calls get
    their operands in the layouts that they demand, and nothing reads a value after its last use.  At the end results
    and arguments that are not donated are there, and nothing else.  With `memory`, no device has more bytes of values
    than that at once; what a call needs inside is not known here.  The program is not changed.

    Before:
    ```mlir
    func.func @main.podB() -> ... attributes {island = "podB", pcg.results = array<i64: 0>} {
      %0 = "pcg.receive"() {peer = "podA", spec = #dist.shard_spec<@right, [[], []], {}>, tag = 7 : i64} : ...
    ```
    After, if podA sends no message 7, an error: `%0: island podB, instruction 0 (Receive 7 from podA in slot 0): it has
    0 sends; exactly one is needed`.
    """

    name = "pcg-verify-islands"
