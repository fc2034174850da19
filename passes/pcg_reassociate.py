from pcg.passes.base import Pass
from pcg.rewrite.reassociate import Reassociate


class ReassociatePass(Reassociate, Pass):
    """Reorder sums of several terms so that results of contractions are added to each other first.

    When a contraction is split, its result is a partial sum.  Partial sums can be added before they
    are reduced, but not to a value that is whole; in the order in which a program accumulates
    gradients, `((residual + dq) + dk) + dv`, three reductions are needed where one would do.
    Terms of each kind keep their order.  Only floating-point rounding changes, as in any reduction over
    devices.

    Before:
    ```mlir
    %0 = stablehlo.add %r, %dq : tensor<8xf32>
    %1 = stablehlo.add %0, %dk : tensor<8xf32>
    %2 = stablehlo.add %1, %dv : tensor<8xf32>
    ```
    After (where %dq, %dk, %dv are results of `dot_general`):
    ```mlir
    %0 = stablehlo.add %dq, %dk : tensor<8xf32>
    %1 = stablehlo.add %0, %dv : tensor<8xf32>
    %2 = stablehlo.add %1, %r : tensor<8xf32>
    ```
    """

    name = "pcg-reassociate"
