// RUN: %pcg-opt %s --split-input-file --pcg-lower-spmd | FileCheck %s

// CHECK: module attributes {mhlo.num_partitions = 8 : i32, pcg.in_specs = ["[data, -]", "[-, model]", "[model, -]"]
// CHECK-SAME: pcg.mesh = "data=2,model=4", pcg.out_specs = ["[data, -]"]}
// CHECK-NOT: dist
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()
// CHECK: func.func @main(%arg0: tensor<4x16xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<16x8xf32>, %arg2: tensor<8x16xf32>)
// CHECK-SAME: -> (tensor<4x16xf32> {jax.result_info = "y"})
func.func @main(%x: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>, tf.aliasing_output = 0 : i32},
                %w1: tensor<16x32xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["model"]], {}>},
                %w2: tensor<32x16xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], []], {}>})
    -> (tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>, jax.result_info = "y"}) {
  // CHECK-NEXT: %[[H:.*]] = stablehlo.dot_general %arg0, %arg1, {{.*}} -> tensor<4x8xf32>
  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] {dist.specs = [#dist.shard_spec<@mesh, [["data"], ["model"]], {}>]}
    : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  // CHECK-NEXT: %[[P:.*]] = stablehlo.dot_general %[[H]], %arg2, {{.*}} -> tensor<4x16xf32>
  %1 = stablehlo.dot_general %0, %w2, contracting_dims = [1] x [0] {dist.specs = [#dist.shard_spec<@mesh, [["data"], []], {model = "sum"}>]}
    : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  // CHECK-NEXT: "stablehlo.all_reduce"(%[[P]])
  // CHECK-SAME: handle = 1, type = 1>, replica_groups = dense<{{\[\[0, 1, 2, 3\], \[4, 5, 6, 7\]\]}}> : tensor<2x4xi64>, use_global_device_ids
  // CHECK: stablehlo.add
  // CHECK: return
  %2 = "dist.all_reduce"(%1) {axes = ["model"], kind = "sum", dist.specs = [#dist.shard_spec<@mesh, [["data"], []], {}>]}
    : (tensor<8x16xf32>) -> tensor<8x16xf32>
  func.return %2 : tensor<8x16xf32>
}

// -----

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 2], []>} : () -> ()
// CHECK: func.func @main(%arg0: tensor<4x8xi1>) -> tensor<8x4xi1>
func.func @main(%x: tensor<8x8xi1> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>})
    -> (tensor<8x8xi1> {dist.spec = #dist.shard_spec<@mesh, [[], ["model"]], {}>}) {
  // CHECK-NEXT: "stablehlo.all_to_all"(%arg0) <{{.*}}handle = 1, {{.*}}concat_dimension = 0 : i64, replica_groups = dense<{{\[\[0, 2\], \[1, 3\]\]}}>
  // CHECK-SAME: split_count = 2 : i64, split_dimension = 1 : i64
  %0 = "dist.all_to_all"(%x) {axes = ["data"], split_dim = 1, concat_dim = 0, dist.specs = [#dist.shard_spec<@mesh, [[], ["data"]], {}>]} : (tensor<8x8xi1>) -> tensor<8x8xi1>
  // CHECK-NEXT: "stablehlo.collective_permute"{{.*}}handle = 2, {{.*}}source_target_pairs = dense<{{\[\[0, 0\], \[2, 1\], \[1, 2\], \[3, 3\]\]}}>
  %1 = "dist.permute"(%0) {dist.specs = [#dist.shard_spec<@mesh, [[], ["model"]], {}>]} : (tensor<8x8xi1>) -> tensor<8x8xi1>
  func.return %1 : tensor<8x8xi1>
}
