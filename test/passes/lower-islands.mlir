// RUN: %pcg-opt %s --pcg-assign-islands=slices=left=podA:0-1,right=podB:0-3 --lower-islands | FileCheck %s

// From calls on slices to a stream per island.  The number of messages does not depend on the number of shards.
"dist.mesh"() {sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
"dist.mesh"() {sym_name = "right", value = #dist.process_mesh<["data", "model"], [2, 2], []>} : () -> ()
func.func private @forward(tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
func.func private @loss(tensor<8x4xf32>) -> (tensor<f32>, tensor<8x4xf32>)
func.func private @update(tensor<4x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>

// CHECK: func.func @main.podA(%arg0: tensor<4x4xf32> {{.*}}pcg.argument = 0 : i64}, %arg1: tensor<8x4xf32> {{.*}}pcg.argument = 1 : i64}) -> (tensor<4x4xf32> {{.*}}) attributes {island = "podA", pcg.results = array<i64: 1>} {
// CHECK-NEXT: %[[Y:.*]] = call @forward(%arg1, %arg0)
// CHECK-NEXT: "pcg.send"(%[[Y]]) {last_uses = array<i64: 0>, peer = "podB", {{.*}}tag = 0 : i64}
// CHECK-NEXT: %[[G:.*]] = "pcg.receive"() {peer = "podB", {{.*}}tag = 1 : i64}
// CHECK-NEXT: %[[W:.*]] = call @update(%arg0, %[[G]]) {{.*}}last_uses = array<i64: 0, 1>
// CHECK-NEXT: return %[[W]]
// CHECK: func.func @main.podB() -> (tensor<f32> {{.*}}) attributes {island = "podB", pcg.results = array<i64: 0>} {
// CHECK-NEXT: %[[Y:.*]] = "pcg.receive"() {peer = "podA", {{.*}}tag = 0 : i64}
// CHECK-NEXT: %[[L:.*]]:2 = call @loss(%[[Y]]) {{.*}}last_uses = array<i64: 0>
// CHECK-NEXT: "pcg.send"(%[[L]]#1) {last_uses = array<i64: 0>, peer = "podA", {{.*}}tag = 1 : i64}
// CHECK-NEXT: return %[[L]]#0
func.func @main(%w: tensor<4x4xf32> {dist.spec = #dist.shard_spec<@left, [[], []], {}>, tf.aliasing_output = 1 : i32}, %x: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@left, [["data"], []], {}>}) -> (tensor<f32>, tensor<4x4xf32>) {
  %y = call @forward(%x, %w) {mesh = @left, in_specs = [#dist.shard_spec<@left, [["data"], []], {}>, #dist.shard_spec<@left, [[], []], {}>], out_specs = [#dist.shard_spec<@left, [["data"], []], {}>]} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %l:2 = call @loss(%y) {mesh = @right, in_specs = [#dist.shard_spec<@right, [["data"], ["model"]], {}>], out_specs = [#dist.shard_spec<@right, [], {}>, #dist.shard_spec<@right, [["data"], ["model"]], {}>]} : (tensor<8x4xf32>) -> (tensor<f32>, tensor<8x4xf32>)
  %v = call @update(%w, %l#1) {mesh = @left, in_specs = [#dist.shard_spec<@left, [[], []], {}>, #dist.shard_spec<@left, [["data"], []], {}>], out_specs = [#dist.shard_spec<@left, [[], []], {}>]} : (tensor<4x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  return %l#0, %v : tensor<f32>, tensor<4x4xf32>
}
