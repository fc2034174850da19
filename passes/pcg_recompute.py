from pcg.passes.base import Pass
from pcg.rewrite.recompute import Recompute


class RecomputePass(Recompute, Pass):
    """Rematerialise values where they are next needed instead of keeping them, to fit a memory limit.

    A value that the forward part makes for the backward part of a training step may be dropped and rematerialised right
    before its first use there, from values that are kept.  Which ones is chosen so that the step fits the limit
    and takes the least more time, by an integer program over all values (see docs/decisions/0015-memory.md).  The
    copies stand behind a `stablehlo.optimization_barrier` (marked `pcg.remat`) together with a gradient that their
    reader needs too, so that they are neither merged with what they copy nor made too early.  Collectives may be run
    a second time as well: a weight that is gathered for the forward part is gathered anew for the backward part.

    Runs on a placed program (behind dist-insert-reshards) or on one for a single device.  Without a limit, given or
    left by pcg-search, nothing changes.

    Before, where x fits and h does not:
    ```mlir
    %h = stablehlo.tanh %x : tensor<1024xf32>
    ...
    %d = stablehlo.multiply %g, %h : tensor<1024xf32>
    ```
    After:
    ```mlir
    %h = stablehlo.tanh %x : tensor<1024xf32>
    ...
    %b:2 = stablehlo.optimization_barrier {pcg.remat} %x, %g : tensor<1024xf32>, tensor<1024xf32>
    %h2 = stablehlo.tanh %b#0 : tensor<1024xf32>
    %d = stablehlo.multiply %b#1, %h2 : tensor<1024xf32>
    ```
    """

    name = "pcg-recompute"
    plain_axes = True
