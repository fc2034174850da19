from pcg.passes.base import Pass
from pcg.rewrite.layers.unstack import Unstack


class UnstackPass(Unstack, Pass):
    """Give every layer its own arguments and results for state that is stacked over layers.

    Runs behind pcg-unroll.  State (results that are the next value of an argument) of shape [L, ...] that is read
    layer by layer, by slices of dimension 0, becomes L arguments and L results of shape [1, ...], called `name[i]`;
    so does what is updated with it: the moments of an optimizer.  The update is computed layer by layer, as far as
    the factor rules can split it over layers: elementwise ops, reductions of each layer, and reductions over all
    layers (the norm of all gradients), which are added up.  That changes the order of sums.

    Where an op reads all layers of an argument (a loop that was not unrolled), or the next value is not computed
    layer by layer, the argument stays as it is, with those that are updated with it; a remark names it and the op.  A
    value computed layer by layer that another op reads as a tensor is concatenated for it.

    The function gets `pcg.stacked_arguments` and `pcg.stacked_results`: for each argument, and result, that it had,
    the number of those that it became, 0 where it stays.

    Before:
    ```mlir
    func.func @main(%w: tensor<2x4x4xf32> loc("w"), ...) -> (tensor<2x4x4xf32> {pcg.state = 0 : i64}) {
      %s = stablehlo.slice %w [0:1, 0:4, 0:4] : (tensor<2x4x4xf32>) -> tensor<1x4x4xf32>
      ...
      %g = stablehlo.concatenate %g0, %g1, dim = 0 : ... -> tensor<2x4x4xf32>
      %n = stablehlo.subtract %w, %g : tensor<2x4x4xf32>
      return %n : tensor<2x4x4xf32>
    ```
    After:
    ```mlir
    func.func @main(%w0: tensor<1x4x4xf32> loc("w[0]"), %w1: tensor<1x4x4xf32> loc("w[1]"), ...)
        -> (tensor<1x4x4xf32> {pcg.state = 0 : i64}, tensor<1x4x4xf32> {pcg.state = 1 : i64})
        attributes {pcg.stacked_arguments = array<i64: 2, ...>, pcg.stacked_results = array<i64: 2>} {
      ...
      %n0 = stablehlo.subtract %w0, %g0 : tensor<1x4x4xf32>
      %n1 = stablehlo.subtract %w1, %g1 : tensor<1x4x4xf32>
      return %n0, %n1 : tensor<1x4x4xf32>, tensor<1x4x4xf32>
    ```
    """

    name = "pcg-unstack"
