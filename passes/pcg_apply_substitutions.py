from pcg.passes.base import Pass
from pcg.rewrite.substitutions.apply import ApplySubstitutions


class ApplySubstitutionsPass(ApplySubstitutions, Pass):
    """Apply a rule where it matches.

    Rules are proved (docs/substitutions.md); what they read as a product, a sum, a concatenation may have transposes
    and reshapes around it. A rule is applied to an op if both sides are proved to be equal for the sizes there.

    `rule=split-contraction`, before:
    ```mlir
    %0 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
    %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x3xf32>) -> tensor<8x3xf32>
    ```
    After:
    ```mlir
    %0 = stablehlo.slice %w [0:4, 0:3] : (tensor<6x3xf32>) -> tensor<4x3xf32>
    %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>
    %2 = stablehlo.slice %w [4:6, 0:3] : (tensor<6x3xf32>) -> tensor<2x3xf32>
    %3 = stablehlo.dot_general %y, %2, contracting_dims = [1] x [0] : (tensor<8x2xf32>, tensor<2x3xf32>) -> tensor<8x3xf32>
    %4 = stablehlo.add %1, %3 : tensor<8x3xf32>
    ```
    """  # noqa: E501

    name = "pcg-apply-substitutions"
