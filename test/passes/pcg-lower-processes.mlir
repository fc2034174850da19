// RUN: %pcg-opt %s --split-meshes --lower-processes | FileCheck %s

// Paddle's example: two matmuls on two meshes are four programs.  One shard goes 0 -> 2, one 1 -> 3; then 2 and 3
// add up.
// CHECK: module attributes {pcg.processes = [0, 1, 2, 3], pcg.signature = (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16x6xf32>) -> tensor<4x6xf32>}
// CHECK: module @process_0
// CHECK-NEXT: func.func @main(%arg0: tensor<4x8xf32> {{{.*}}}, %arg1: tensor<8x8xf32> {pcg.argument = 1 : i64, pcg.limit = array<i64: 8, 8>, pcg.start = array<i64: 0, 0>}) {
// CHECK-NEXT: %[[H:.*]] = stablehlo.dot_general %arg0, %arg1
// CHECK-NEXT: "dist.send"(%[[H]]) {limit = array<i64: 4, 8>, peer = 2 : i64, start = array<i64: 0, 0>, tag = 0 : i64} : (tensor<4x8xf32>) -> ()
// CHECK-NEXT: return
// CHECK: module @process_1
// CHECK-NEXT: func.func @main(%arg0: tensor<4x8xf32> {{{.*}}}, %arg1: tensor<8x8xf32> {pcg.argument = 1 : i64, pcg.limit = array<i64: 8, 16>, pcg.start = array<i64: 0, 8>}) {
// CHECK-NEXT: %[[H:.*]] = stablehlo.dot_general %arg0, %arg1
// CHECK-NEXT: "dist.send"(%[[H]]) {limit = array<i64: 4, 16>, peer = 3 : i64, start = array<i64: 0, 8>, tag = 1 : i64} : (tensor<4x8xf32>) -> ()
// CHECK-NEXT: return
// CHECK: module @process_2
// CHECK-NEXT: func.func @main(%arg0: tensor<8x6xf32> {pcg.argument = 2 : i64, pcg.limit = array<i64: 8, 6>, pcg.start = array<i64: 0, 0>}) -> (tensor<4x6xf32> {pcg.limit = array<i64: 4, 6>, pcg.result = 0 : i64, pcg.start = array<i64: 0, 0>}) {
// CHECK-NEXT: %[[H:.*]] = "dist.recv"() {limit = array<i64: 4, 8>, peer = 0 : i64, start = array<i64: 0, 0>, tag = 0 : i64} : () -> tensor<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = stablehlo.dot_general %[[H]], %arg0
// CHECK-NEXT: %[[R:.*]] = "stablehlo.all_reduce"(%[[Y]]) {{.*}}replica_groups = dense<{{\[\[}}0, 1]]>
// CHECK: {pcg.members = array<i64: 2, 3>}
// CHECK-NEXT: return %[[R]]
// CHECK: module @process_3
// CHECK: "dist.recv"() {limit = array<i64: 4, 16>, peer = 1 : i64, start = array<i64: 0, 8>, tag = 1 : i64} : () -> tensor<4x8xf32>
// CHECK-NOT: module
"dist.mesh"() {sym_name = "first", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {sym_name = "second", value = #dist.process_mesh<["x"], [2], [2, 3]>} : () -> ()
func.func @main(%x: tensor<4x8xf32> {dist.spec = #dist.shard_spec<@first, [[], []], {}>},
                %w1: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@first, [[], ["x"]], {}>},
                %w2: tensor<16x6xf32> {dist.spec = #dist.shard_spec<@second, [["x"], []], {}>})
    -> (tensor<4x6xf32> {dist.spec = #dist.shard_spec<@second, [[], []], {}>}) {
  %h = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %y = stablehlo.dot_general %h, %w2, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}
