from pcg.passes.base import Pass
from pcg.rewrite.normalize import Normalize


class NormalizePass(Normalize, Pass):
    """Bring a program into the form that propagation and search work on.

    Every `func.call` and `stablehlo.composite` is replaced by the body of its function (a composite of
    a CHLO op without attributes by that op), and functions that nothing refers to any more are
    removed.  What is broadcast from a constant becomes a constant, unless it is read by an op that needs
    its elements in memory.  Constants, iotas and broadcasts of them get one copy per use, next to it, so
    that each use can have its own layout for nothing.  Ops that change nothing (conversions to the
    same type, reshapes to the same shape, identity transposes) and ops that nobody uses are removed.
    Shifts and rotations written as slices and concatenations become pads of the whole tensor (`low = 1,
    high = -1` is a shift by one), which devices can split as they do the tensor.
    Collectives among one device are replaced by what they are, their operands; others are refused, except
    inside of manual computations (`shard_map`), where they stay as they are.
    Locations and the attributes of the functions that stay are kept.

    Before:
    ```mlir
    func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
      %c = stablehlo.constant dense<2.0> : tensor<4xf32>
      %0 = func.call @f(%a, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %1 = stablehlo.add %0, %c : tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    func.func private @f(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.multiply %a, %b : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
    After:
    ```mlir
    func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
      %cst = stablehlo.constant dense<2.0> : tensor<4xf32>
      %0 = stablehlo.multiply %a, %cst : tensor<4xf32>
      %cst_0 = stablehlo.constant dense<2.0> : tensor<4xf32>
      %1 = stablehlo.add %0, %cst_0 : tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    ```
    """

    name = "pcg-normalize"
