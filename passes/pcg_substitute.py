from pcg.passes.base import Pass
from pcg.planning.substitute import Substitute


class SubstitutePass(Substitute, Pass):
    """Rewrite a program by proved rules where a faster plan follows from it.

    The program is saturated (`pcg-saturate`); one search chooses among the alternatives and the layouts of their ops at
    once, with a bound for both. What it chooses is extracted if the best plan of the new program takes less time than
    that of the old one by the same estimate; else the program stays as it is. The layouts are left to the passes that
    follow. Where columns are put in blocks, a mesh that was chosen for the program is also tried with its axes the
    other way round, and becomes that if it is better for the new program.

    The module's attribute `pcg.applied_rules` has the same as data: rules, places, proofs, seconds.

    Rules are proved for the sizes at hand (docs/substitutions.md). Most change how sums are rounded; with `exact`, only
    those are used that do not. Remarks say which rules were used where, from which properties they are proved, and how
    much longer a step takes without each.

    Before:
    ```mlir
    %g = "stablehlo.scatter"(%zeros, %rows, %u) ... : (tensor<1000000x64xf32>, tensor<1024x1xi32>, tensor<1024x64xf32>) -> tensor<1000000x64xf32>
    %s = stablehlo.multiply %g, %rate : tensor<1000000x64xf32>
    %n = stablehlo.subtract %table, %s : tensor<1000000x64xf32>
    ```
    After: only the rows that were looked up are updated.
    ```mlir
    %s = stablehlo.multiply %u, %rate : tensor<1024x64xf32>
    %m = stablehlo.negate %s : tensor<1024x64xf32>
    %n = "stablehlo.scatter"(%table, %rows, %m) ... : (tensor<1000000x64xf32>, tensor<1024x1xi32>, tensor<1024x64xf32>) -> tensor<1000000x64xf32>
    ```
    """  # noqa: E501

    name = "pcg-substitute"
    plain_axes = True
