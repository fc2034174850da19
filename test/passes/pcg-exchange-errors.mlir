// RUN: not %pcg-opt %s --split-input-file --pcg-assign-islands=slices=left=podA:0-1,right=podB:0-1 --pcg-insert-transfers 2>&1 | FileCheck %s

"dist.mesh"() {sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
"dist.mesh"() {sym_name = "right", value = #dist.process_mesh<["expert"], [2], []>} : () -> ()
// CHECK: 'pcg.exchange' op: it reads from @left and @right; allowed: one slice
func.func @main(%x: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@left, [["data"], []], {}>}, %d: tensor<8xi32> {dist.spec = #dist.shard_spec<@left, [["data"]], {}>}) -> tensor<2x8x4xf32> {
  %r, %n = "pcg.exchange"(%x, %d) {mesh = @right, in_specs = [#dist.shard_spec<@left, [["data"], []], {}>, #dist.shard_spec<@right, [["expert"]], {}>], out_specs = [#dist.shard_spec<@right, [["expert"], [], []], {}>, #dist.shard_spec<@right, [["expert"], []], {}>]} : (tensor<8x4xf32>, tensor<8xi32>) -> (tensor<2x8x4xf32>, tensor<2x2xi32>)
  return %r : tensor<2x8x4xf32>
}

// -----

"dist.mesh"() {sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
"dist.mesh"() {sym_name = "right", value = #dist.process_mesh<["expert"], [2], []>} : () -> ()
// CHECK: 'pcg.exchange_back' op: its destinations are on @right; allowed: @left
func.func @main(%r: tensor<2x8x4xf32> {dist.spec = #dist.shard_spec<@right, [["expert"], [], []], {}>}, %n: tensor<2x2xi32> {dist.spec = #dist.shard_spec<@right, [["expert"], []], {}>}, %d: tensor<8xi32> {dist.spec = #dist.shard_spec<@left, [["data"]], {}>}) -> tensor<8x4xf32> {
  %y = "pcg.exchange_back"(%r, %n, %d) {mesh = @left, in_specs = [#dist.shard_spec<@right, [["expert"], [], []], {}>, #dist.shard_spec<@right, [["expert"], []], {}>, #dist.shard_spec<@right, [["expert"]], {}>], out_specs = [#dist.shard_spec<@left, [["data"], []], {}>]} : (tensor<2x8x4xf32>, tensor<2x2xi32>, tensor<8xi32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

"dist.mesh"() {sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
"dist.mesh"() {sym_name = "right", value = #dist.process_mesh<["expert"], [2], []>} : () -> ()
// CHECK: 'pcg.exchange' has no in_specs; allowed: a list of 2 layouts
func.func @main(%x: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@left, [["data"], []], {}>}, %d: tensor<8xi32> {dist.spec = #dist.shard_spec<@left, [["data"]], {}>}) -> tensor<2x8x4xf32> {
  %r, %n = "pcg.exchange"(%x, %d) {mesh = @right, out_specs = [#dist.shard_spec<@right, [["expert"], [], []], {}>, #dist.shard_spec<@right, [["expert"], []], {}>]} : (tensor<8x4xf32>, tensor<8xi32>) -> (tensor<2x8x4xf32>, tensor<2x2xi32>)
  return %r : tensor<2x8x4xf32>
}
