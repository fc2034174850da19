// REQUIRES: jax
// RUN: %pcg-run %s --check | FileCheck %s
// RUN: %pcg-run %s --check --strategy search | FileCheck %s
// CHECK: on meshes @first (x=2) on [0, 1]; @second (x=2) on [2, 3]
// CHECK-NEXT: 4 processes, 2 messages, all run on one device
// CHECK-NEXT: reference {{.*}} on one device
// CHECK-NEXT: AGREES: 1 results
"dist.mesh"() {sym_name = "first", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {sym_name = "second", value = #dist.process_mesh<["x"], [2], [2, 3]>} : () -> ()
func.func @main(%x: tensor<4x8xf32> {dist.spec = #dist.shard_spec<@first, [[], []], {}>},
                %w1: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@first, [[], ["x"]], {}>},
                %w2: tensor<16x8xf32> {dist.spec = #dist.shard_spec<@second, [["x"], []], {}>}) -> tensor<4x8xf32> {
  %h = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %y = stablehlo.dot_general %h, %w2, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
