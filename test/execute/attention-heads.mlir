// RUN: %python %S/Inputs/execute.py %s | FileCheck %s

// Heads split over "model", batch over "data": one reduction of the output projection, by reduce_scatter here.
// CHECK: agree: 1 reduce_scatter
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()
func.func @main(
    %q: tensor<2x4x8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], ["model"], [], []], {}>},
    %k: tensor<2x4x8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], ["model"], [], []], {}>},
    %v: tensor<2x4x8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], ["model"], [], []], {}>},
    %o: tensor<4x8x16xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], [], []], {}>})
    -> (tensor<2x8x16xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], ["model"], []], {}>}) {
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3]
    {dist.specs = [#dist.shard_spec<@mesh, [["data"], ["model"], [], []], {}>]}
    : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %1 = stablehlo.tanh %0 {dist.specs = [#dist.shard_spec<@mesh, [["data"], ["model"], [], []], {}>]} : tensor<2x4x8x8xf32>
  %2 = stablehlo.dot_general %1, %v, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2]
    {dist.specs = [#dist.shard_spec<@mesh, [["data"], ["model"], [], []], {}>]}
    : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %3 = stablehlo.dot_general %2, %o, contracting_dims = [1, 3] x [0, 1]
    {dist.specs = [#dist.shard_spec<@mesh, [["data"], [], []], {model = "sum"}>]}
    : (tensor<2x4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<2x8x16xf32>
  func.return %3 : tensor<2x8x16xf32>
}
