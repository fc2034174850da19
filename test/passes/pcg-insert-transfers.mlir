// RUN: %pcg-opt %s --pcg-insert-transfers | FileCheck %s

"dist.mesh"() {island = "podA", sym_name = "left", value = #dist.process_mesh<["data"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {island = "podA", sym_name = "beside", value = #dist.process_mesh<["data"], [2], [2, 3]>} : () -> ()
"dist.mesh"() {island = "podB", sym_name = "right", value = #dist.process_mesh<["data", "model"], [2, 2], [0, 1, 2, 3]>} : () -> ()
func.func private @f(tensor<8x4xf32>) -> tensor<8x4xf32>
func.func private @g(tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@left, [["data"], []], {}>})
    -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@left, [["data"], []], {}>}, tensor<8x4xf32>) {
  // The argument goes to the other island at once, and so does the result of the first call.
  // CHECK-NEXT: %[[T0:.*]] = "pcg.transfer"(%arg0) {dist.specs = [#dist.shard_spec<@right, {{.*}}>], mesh = @right}
  // CHECK-NEXT: %[[C0:.*]] = call @f(%arg0)
  // CHECK-NEXT: %[[T1:.*]] = "pcg.transfer"(%[[C0]]) {dist.specs = [#dist.shard_spec<@right, {{\[\[}}"data"], ["model"]], {}>], mesh = @right}
  %0 = call @f(%x) {mesh = @left, in_specs = [#dist.shard_spec<@left, [["data"], []], {}>], out_specs = [#dist.shard_spec<@left, [["data"], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // What stays on the island is brought to where it is needed: another slice, or another layout.
  // CHECK-NEXT: %[[T2:.*]] = "pcg.transfer"(%[[C0]]) {{.*}}mesh = @beside}
  // CHECK-NEXT: %[[C1:.*]] = call @f(%[[T2]])
  %1 = call @f(%0) {mesh = @beside, in_specs = [#dist.shard_spec<@beside, [["data"], []], {}>], out_specs = [#dist.shard_spec<@beside, [["data"], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: %[[T3:.*]] = "pcg.transfer"(%[[C1]]) {dist.specs = [#dist.shard_spec<@beside, {{\[\[}}], []], {}>], mesh = @beside}
  // CHECK-NEXT: %[[C2:.*]] = call @f(%[[T3]])
  %2 = call @f(%1) {mesh = @beside, in_specs = [#dist.shard_spec<@beside, [[], []], {}>], out_specs = [#dist.shard_spec<@beside, [["data"], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: %[[C3:.*]] = call @g(%[[T1]], %[[T0]])
  // CHECK-NEXT: %[[T4:.*]] = "pcg.transfer"(%[[C3]]) {{.*}}mesh = @left}
  %3 = call @g(%0, %x) {mesh = @right, in_specs = [#dist.shard_spec<@right, [["data"], ["model"]], {}>, #dist.shard_spec<@right, [["data"], []], {}>], out_specs = [#dist.shard_spec<@right, [["data"], []], {}>]} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  // The signature demands a layout of the first result alone.
  // CHECK-NEXT: return %[[T4]], %[[C2]]
  return %3, %2 : tensor<8x4xf32>, tensor<8x4xf32>
}
