// RUN: %pcg-opt %s --pcg-assign-islands=slices=left=podA:0-1,right=podB:0-1 --lower-islands | FileCheck %s

// Rows that return are collected as far behind as what reads them, but before what ends their destinations.
"dist.mesh"() {sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
"dist.mesh"() {sym_name = "right", value = #dist.process_mesh<["expert"], [2], []>} : () -> ()
func.func private @load(tensor<8xi32>) -> tensor<8xi32>
func.func private @own(tensor<8x4xf32>) -> tensor<8x4xf32>

// CHECK: func.func @main.podA
// CHECK-NEXT: "pcg.dispatch"(%arg0, %arg1)
// CHECK-NEXT: %[[X:.*]] = call @own(%arg0)
// CHECK-NEXT: %[[Y:.*]] = "pcg.collect_back"(%arg1)
// CHECK-NEXT: %[[L:.*]] = call @load(%arg1) {{.*}}last_uses = array<i64: 0>
// CHECK-NEXT: return %[[Y]], %[[X]], %[[L]]
// CHECK: func.func @main.podB
// CHECK-NEXT: %[[R:.*]]:2 = "pcg.collect"()
// CHECK-NEXT: "pcg.dispatch"(%[[R]]#0, %[[R]]#1) {back, last_uses = array<i64: 0, 1>
func.func @main(%x: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@left, [["data"], []], {}>}, %d: tensor<8xi32> {dist.spec = #dist.shard_spec<@left, [["data"]], {}>, jax.buffer_donor = true}) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xi32>) {
  %r, %n = "pcg.exchange"(%x, %d) {mesh = @right, in_specs = [#dist.shard_spec<@left, [["data"], []], {}>, #dist.shard_spec<@left, [["data"]], {}>], out_specs = [#dist.shard_spec<@right, [["expert"], [], []], {}>, #dist.shard_spec<@right, [["expert"], []], {}>]} : (tensor<8x4xf32>, tensor<8xi32>) -> (tensor<2x8x4xf32>, tensor<2x2xi32>)
  %y = "pcg.exchange_back"(%r, %n, %d) {mesh = @left, in_specs = [#dist.shard_spec<@right, [["expert"], [], []], {}>, #dist.shard_spec<@right, [["expert"], []], {}>, #dist.shard_spec<@left, [["data"]], {}>], out_specs = [#dist.shard_spec<@left, [["data"], []], {}>]} : (tensor<2x8x4xf32>, tensor<2x2xi32>, tensor<8xi32>) -> tensor<8x4xf32>
  %o = call @own(%x) {mesh = @left, in_specs = [#dist.shard_spec<@left, [["data"], []], {}>], out_specs = [#dist.shard_spec<@left, [["data"], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %l = call @load(%d) {mesh = @left, in_specs = [#dist.shard_spec<@left, [["data"]], {}>], out_specs = [#dist.shard_spec<@left, [["data"]], {}>]} : (tensor<8xi32>) -> tensor<8xi32>
  return %y, %o, %l : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xi32>
}
