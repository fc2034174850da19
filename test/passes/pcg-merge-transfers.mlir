// RUN: %pcg-opt %s --pcg-merge-transfers --split-input-file | FileCheck %s

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {island = "podA", sym_name = "b", value = #dist.process_mesh<["x"], [2], [2, 3]>} : () -> ()
"dist.mesh"() {island = "podB", sym_name = "c", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {island = "podC", sym_name = "d", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
func.func private @on_a(tensor<4xf32>)
func.func private @on_b(tensor<4xf32>)
func.func private @on_c(tensor<4xf32>)
func.func private @split_on_c(tensor<4xf32>)
func.func private @on_d(tensor<4xf32>)

// Equal transfers become one, and the value goes to each island once: there it is copied.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4xf32> {dist.spec = #dist.shard_spec<@a, [[]], {}>}) {
  // CHECK-NEXT: %[[C:.*]] = "pcg.transfer"(%arg0) {dist.specs = [#dist.shard_spec<@c, {{\[\[\]\]}}, {}>], mesh = @c}
  %0 = "pcg.transfer"(%x) {mesh = @c, dist.specs = [#dist.shard_spec<@c, [[]], {}>]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "pcg.transfer"(%x) {mesh = @c, dist.specs = [#dist.shard_spec<@c, [["x"]], {}>]} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "pcg.transfer"(%x) {mesh = @c, dist.specs = [#dist.shard_spec<@c, [[]], {}>]} : (tensor<4xf32>) -> tensor<4xf32>
  // A transfer of a transferred value starts where that came from.
  // CHECK-NEXT: %[[D:.*]] = "pcg.transfer"(%arg0) {{.*}}mesh = @d}
  %3 = "pcg.transfer"(%0) {mesh = @d, dist.specs = [#dist.shard_spec<@d, [[]], {}>]} : (tensor<4xf32>) -> tensor<4xf32>
  // One back to where the value is becomes the value.
  %4 = "pcg.transfer"(%3) {mesh = @a, dist.specs = [#dist.shard_spec<@a, [[]], {}>]} : (tensor<4xf32>) -> tensor<4xf32>
  // Nobody reads this one.
  %5 = "pcg.transfer"(%3) {mesh = @b, dist.specs = [#dist.shard_spec<@b, [["x"]], {}>]} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: call @on_a(%arg0)
  call @on_a(%4) {mesh = @a, in_specs = [#dist.shard_spec<@a, [[]], {}>]} : (tensor<4xf32>) -> ()
  // CHECK-NEXT: call @on_c(%[[C]])
  call @on_c(%0) {mesh = @c, in_specs = [#dist.shard_spec<@c, [[]], {}>]} : (tensor<4xf32>) -> ()
  // Inside the island it is not copied before it is needed.
  // CHECK-NEXT: %[[S:.*]] = "pcg.transfer"(%[[C]]) {{.*}}["x"]
  // CHECK-NEXT: call @split_on_c(%[[S]])
  call @split_on_c(%1) {mesh = @c, in_specs = [#dist.shard_spec<@c, [["x"]], {}>]} : (tensor<4xf32>) -> ()
  // CHECK-NEXT: call @on_c(%[[C]])
  call @on_c(%2) {mesh = @c, in_specs = [#dist.shard_spec<@c, [[]], {}>]} : (tensor<4xf32>) -> ()
  // CHECK-NEXT: call @on_d(%[[D]])
  call @on_d(%3) {mesh = @d, in_specs = [#dist.shard_spec<@d, [[]], {}>]} : (tensor<4xf32>) -> ()
  // CHECK-NEXT: return
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {island = "podA", sym_name = "b", value = #dist.process_mesh<["x"], [2], [2, 3]>} : () -> ()
"dist.mesh"() {island = "podB", sym_name = "c", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()

// A layout that only transfers read is left out; inside an island, a transfer of a transferred value starts from where
// the value was defined.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4xf32> {dist.spec = #dist.shard_spec<@a, [[]], {}>}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[C:.*]] = "pcg.transfer"(%arg0) {dist.specs = [#dist.shard_spec<@c, {{\[\[}}"x"]], {}>], mesh = @c}
  // CHECK-NEXT: %[[B:.*]] = "pcg.transfer"(%arg0) {dist.specs = [#dist.shard_spec<@b, {{\[\[\]\]}}, {}>], mesh = @b}
  // CHECK-NEXT: %[[S:.*]] = "pcg.transfer"(%arg0) {dist.specs = [#dist.shard_spec<@b, {{\[\[}}"x"]], {}>], mesh = @b}
  %0 = "pcg.transfer"(%x) {mesh = @c, dist.specs = [#dist.shard_spec<@c, [[]], {}>]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "pcg.transfer"(%0) {mesh = @c, dist.specs = [#dist.shard_spec<@c, [["x"]], {}>]} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "pcg.transfer"(%x) {mesh = @b, dist.specs = [#dist.shard_spec<@b, [[]], {}>]} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "pcg.transfer"(%2) {mesh = @b, dist.specs = [#dist.shard_spec<@b, [["x"]], {}>]} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: return %[[C]], %[[B]], %[[S]]
  return %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
