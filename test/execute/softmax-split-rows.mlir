// RUN: %python %S/Inputs/execute.py %s | FileCheck %s

// Softmax over a split dimension: a reduction by max and one by sum.
// CHECK: agree: 2 all_reduce
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()
func.func @main(%x: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], ["model"]], {}>})
    -> (tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], ["model"]], {}>}) {
  %low = stablehlo.constant {dist.specs = [#dist.shard_spec<@mesh, [], {}>]} dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant {dist.specs = [#dist.shard_spec<@mesh, [], {}>]} dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1]
    {dist.specs = [#dist.shard_spec<@mesh, [["data"]], {model = "max"}>]} : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] {dist.specs = [#dist.shard_spec<@mesh, [["data"], ["model"]], {}>],
    dist.operand_specs = [#dist.shard_spec<@mesh, [["data"]], {}>]} : (tensor<8xf32>) -> tensor<8x16xf32>
  %2 = stablehlo.subtract %x, %1 {dist.specs = [#dist.shard_spec<@mesh, [["data"], ["model"]], {}>]} : tensor<8x16xf32>
  %3 = stablehlo.exponential %2 {dist.specs = [#dist.shard_spec<@mesh, [["data"], ["model"]], {}>]} : tensor<8x16xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1]
    {dist.specs = [#dist.shard_spec<@mesh, [["data"]], {model = "sum"}>]} : (tensor<8x16xf32>, tensor<f32>) -> tensor<8xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] {dist.specs = [#dist.shard_spec<@mesh, [["data"], ["model"]], {}>],
    dist.operand_specs = [#dist.shard_spec<@mesh, [["data"]], {}>]} : (tensor<8xf32>) -> tensor<8x16xf32>
  %6 = stablehlo.divide %3, %5 {dist.specs = [#dist.shard_spec<@mesh, [["data"], ["model"]], {}>]} : tensor<8x16xf32>
  func.return %6 : tensor<8x16xf32>
}
