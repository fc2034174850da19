// Collectives of a program for one device are the identity, whatever the layout; its number is 0.
// RUN: %pcg-opt %s --pcg-normalize | FileCheck %s
// RUN: %pcg-opt %s --dist-insert-reshards --pcg-lower-spmd | FileCheck %s --check-prefix=LOCAL
// CHECK-LABEL: func.func @main(%arg0: tensor<8x4xf32>
// CHECK-NOT: all_reduce
// CHECK-NOT: permute
// CHECK-NOT: _id
// CHECK: stablehlo.convert
// LOCAL-LABEL: func.func @main(%arg0: tensor<4x4xf32>
// LOCAL-NOT: all_reduce
// LOCAL-NOT: all_gather
// LOCAL-NOT: permute
// LOCAL-NOT: _id
// LOCAL: return
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
func.func @main(%x: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>})
    -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>}) {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>}>
    {dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = "stablehlo.all_to_all"(%1) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 1 : i64,
    replica_groups = dense<0> : tensor<1x1xi64>}>
    {dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = "stablehlo.collective_permute"(%2) <{source_target_pairs = dense<0> : tensor<1x2xi64>}>
    {dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %4 = "stablehlo.collective_permute"(%2) <{source_target_pairs = dense<> : tensor<0x2xi64>}>
    {dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %5 = stablehlo.add %3, %4 {dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {}>]} : tensor<8x4xf32>
  %6 = stablehlo.partition_id {dist.specs = [#dist.shard_spec<@mesh, [], {}>]} : tensor<ui32>
  %7 = stablehlo.replica_id {dist.specs = [#dist.shard_spec<@mesh, [], {}>]} : tensor<ui32>
  %8 = stablehlo.add %6, %7 {dist.specs = [#dist.shard_spec<@mesh, [], {}>]} : tensor<ui32>
  %9 = stablehlo.convert %8 {dist.specs = [#dist.shard_spec<@mesh, [], {}>]} : (tensor<ui32>) -> tensor<f32>
  %10 = stablehlo.broadcast_in_dim %9, dims = [] {dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {}>]} : (tensor<f32>) -> tensor<8x4xf32>
  %11 = stablehlo.add %5, %10 {dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {}>]} : tensor<8x4xf32>
  func.return %11 : tensor<8x4xf32>
}
