from pcg.passes.base import Pass
from pcg.rewrite.substitutions.saturate import Saturate


class SaturatePass(Saturate, Pass):
    """Add to a program what rules make of its parts.

    Every rule is applied wherever it matches, and to what rules have made, until nothing is new. The program then has
    all that they make beside what was there: `pcg.alternatives` says that two values are equal. `pcg-substitute`
    searches such a program for the alternatives, and their layouts, that take the least time together.

    Before:
    ```mlir
    %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x3xf32>) -> tensor<8x3xf32>
    ```
    After, where %0 is a concatenation and %r the sum of two products:
    ```mlir
    %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x3xf32>) -> tensor<8x3xf32>
    %2 = "pcg.alternatives"(%1, %r) {rule = "split-contraction"} : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
    ```
    """  # noqa: E501

    name = "pcg-saturate"
