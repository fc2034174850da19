// RUN: %pcg-opt %s --pcg-assign-islands=slices=left=podA:0-1,right=podB:0-1 --lower-islands | FileCheck %s

// Rows go to the shards that data says, and back.  An exchange is one message in the program, whatever it moves.
"dist.mesh"() {sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
"dist.mesh"() {sym_name = "right", value = #dist.process_mesh<["expert"], [2], []>} : () -> ()
func.func private @expert(tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
func.func private @sum(tensor<8x4xf32>, tensor<8xi32>) -> tensor<f32>

// CHECK: func.func @main.podA
// CHECK-NEXT: "pcg.dispatch"(%arg0, %arg1) {peer = "podB", spec = {{.*}}@right{{.*}}, tag = 0 : i64, type = tensor<2x8x4xf32>} : (tensor<8x4xf32>, tensor<8xi32>) -> ()
// CHECK-NEXT: %[[Y:.*]] = "pcg.collect_back"(%arg1) {out_specs = {{.*}}@left{{.*}}, peer = "podB", spec = {{.*}}@right{{.*}}, tag = 1 : i64, type = tensor<2x8x4xf32>} : (tensor<8xi32>) -> tensor<8x4xf32>
// CHECK-NEXT: %[[S:.*]] = call @sum(%[[Y]], %arg1) {{.*}}last_uses = array<i64: 0>
// CHECK-NEXT: return %[[S]]
// CHECK: func.func @main.podB
// CHECK-NEXT: %[[R:.*]]:2 = "pcg.collect"() {drop, out_specs = {{.*}}, peer = "podA", spec = {{.*}}@left{{.*}}, tag = 0 : i64, type = tensor<8x4xf32>} : () -> (tensor<2x8x4xf32>, tensor<2x2xi32>)
// CHECK-NEXT: %[[E:.*]] = call @expert(%[[R]]#0) {{.*}}last_uses = array<i64: 0>
// CHECK-NEXT: "pcg.dispatch"(%[[E]], %[[R]]#1) {back, last_uses = array<i64: 0, 1>, peer = "podA", {{.*}}tag = 1 : i64, type = tensor<8x4xf32>} : (tensor<2x8x4xf32>, tensor<2x2xi32>) -> ()
// CHECK-NEXT: return
func.func @main(%x: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@left, [["data"], []], {}>}, %d: tensor<8xi32> {dist.spec = #dist.shard_spec<@left, [["data"]], {}>}) -> tensor<f32> {
  %r, %n = "pcg.exchange"(%x, %d) {mesh = @right, drop, in_specs = [#dist.shard_spec<@left, [["data"], []], {}>, #dist.shard_spec<@left, [["data"]], {}>], out_specs = [#dist.shard_spec<@right, [["expert"], [], []], {}>, #dist.shard_spec<@right, [["expert"], []], {}>]} : (tensor<8x4xf32>, tensor<8xi32>) -> (tensor<2x8x4xf32>, tensor<2x2xi32>)
  %e = call @expert(%r) {mesh = @right, in_specs = [#dist.shard_spec<@right, [["expert"], [], []], {}>], out_specs = [#dist.shard_spec<@right, [["expert"], [], []], {}>]} : (tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  %y = "pcg.exchange_back"(%e, %n, %d) {mesh = @left, in_specs = [#dist.shard_spec<@right, [["expert"], [], []], {}>, #dist.shard_spec<@right, [["expert"], []], {}>, #dist.shard_spec<@left, [["data"]], {}>], out_specs = [#dist.shard_spec<@left, [["data"], []], {}>]} : (tensor<2x8x4xf32>, tensor<2x2xi32>, tensor<8xi32>) -> tensor<8x4xf32>
  %s = call @sum(%y, %d) {mesh = @left, in_specs = [#dist.shard_spec<@left, [["data"], []], {}>, #dist.shard_spec<@left, [["data"]], {}>], out_specs = [#dist.shard_spec<@left, [], {}>]} : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<f32>
  return %s : tensor<f32>
}
