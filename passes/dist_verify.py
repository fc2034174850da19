from pcg.lower.verify import VerifyLayouts
from pcg.passes.base import Pass


class VerifyPass(VerifyLayouts, Pass):
    """Check that the layouts of a program are complete and fit together (V1 to V11 of the semantics page).

    Every tensor has a layout, on the mesh of the module, whose axes are known, used once, and divide
    the dimensions they split.  Every op has, through its factor rule, a strategy with exactly the
    layouts of its operands (`dist.operand_specs` where it has that) and results, so no partial value
    reaches an op that is not linear in it.  Operators that move tensors make their result's layout of
    their operand's; loops, conditionals and functions pass values on in one layout.  Nothing is changed.
    """

    name = "dist-verify"
