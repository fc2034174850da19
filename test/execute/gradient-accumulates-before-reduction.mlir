// RUN: %python %S/Inputs/execute.py %s | FileCheck %s

// Two partial products are added while partial; their sum is reduced once.
// CHECK: agree: 1 all_reduce
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["model"], [4], []>} : () -> ()
func.func @main(
    %x: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["model"]], {}>},
    %a: tensor<16x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], []], {}>},
    %b: tensor<16x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], []], {}>})
    -> (tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0]
    {dist.specs = [#dist.shard_spec<@mesh, [[], []], {model = "sum"}>]} : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.dot_general %x, %b, contracting_dims = [1] x [0]
    {dist.specs = [#dist.shard_spec<@mesh, [[], []], {model = "sum"}>]} : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.add %0, %1 {dist.specs = [#dist.shard_spec<@mesh, [[], []], {model = "sum"}>]} : tensor<8x8xf32>
  func.return %2 : tensor<8x8xf32>
}
