// RUN: %pcg-opt %s --pcg-split-islands | FileCheck %s
// RUN: %pcg-opt %s --pcg-split-islands --pcg-verify-islands -o /dev/null

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {island = "podA", sym_name = "b", value = #dist.process_mesh<["x"], [2], [2, 3]>} : () -> ()
"dist.mesh"() {island = "podB", sym_name = "c", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {island = "podC", sym_name = "unused", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
func.func private @f(tensor<4xf32>) -> tensor<4xf32>
func.func private @g(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// An island has its own arguments and results; messages are numbered through the program.
// CHECK-NOT: @main(
// CHECK: func.func @main.podA(%arg0: tensor<4xf32> {dist.spec = #dist.shard_spec<@a, {{\[\[}}"x"]], {}>, jax.buffer_donor = true, pcg.argument = 1 : i64})
// CHECK-SAME: -> (tensor<4xf32> {dist.spec = #dist.shard_spec<@a, {{\[\[\]\]}}, {}>}) attributes {island = "podA", pcg.results = array<i64: 1>} {
// CHECK-NEXT:   "pcg.send"(%arg0) {peer = "podB", spec = #dist.shard_spec<@c, {{\[\[}}"x"]], {}>, tag = 0 : i64} : (tensor<4xf32>) -> ()
// CHECK-NEXT:   %[[B:.*]] = "pcg.transfer"(%arg0) {{.*}}last_uses = array<i64: 0>, mesh = @b}
// CHECK-NEXT:   %[[F:.*]] = call @f(%[[B]])
// CHECK-NEXT:   "pcg.send"(%[[F]]) {last_uses = array<i64: 0>, peer = "podB", spec = #dist.shard_spec<@c, {{\[\[}}"x"]], {}>, tag = 1 : i64}
// CHECK-NEXT:   %[[R:.*]] = "pcg.receive"() {peer = "podB", spec = #dist.shard_spec<@a, {{\[\[\]\]}}, {}>, tag = 2 : i64} : () -> tensor<4xf32>
// CHECK-NEXT:   return %[[R]] : tensor<4xf32>

// The first call needs message 1; message 0 is received before it, as it was sent.
// CHECK: func.func @main.podB(%arg0: tensor<4xf32> {dist.spec = #dist.shard_spec<@c, {{\[\[}}"x"]], {}>, pcg.argument = 0 : i64})
// CHECK-SAME: -> (tensor<4xf32> {{.*}}, tensor<4xf32> {{.*}}) attributes {island = "podB", pcg.results = array<i64: 0, 2>} {
// CHECK-NEXT:   %[[A:.*]] = call @f(%arg0)
// CHECK-NEXT:   %[[M0:.*]] = "pcg.receive"() {peer = "podA", {{.*}}tag = 0 : i64}
// CHECK-NEXT:   %[[M1:.*]] = "pcg.receive"() {peer = "podA", {{.*}}tag = 1 : i64}
// CHECK-NEXT:   %[[C:.*]] = call @g(%[[A]], %[[M1]])
// CHECK-NEXT:   %[[D:.*]] = call @g(%[[C]], %[[M0]])
// CHECK-NEXT:   "pcg.send"(%[[D]]) {peer = "podA", spec = #dist.shard_spec<@a, {{\[\[\]\]}}, {}>, tag = 2 : i64}
// CHECK-NEXT:   return %[[D]], %[[D]]
// CHECK-NOT: podC,
func.func @main(%y: tensor<4xf32> {dist.spec = #dist.shard_spec<@c, [["x"]], {}>}, %x: tensor<4xf32> {dist.spec = #dist.shard_spec<@a, [["x"]], {}>, jax.buffer_donor = true}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = "pcg.transfer"(%x) {mesh = @c, dist.specs = [#dist.shard_spec<@c, [["x"]], {}>]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "pcg.transfer"(%x) {mesh = @b, dist.specs = [#dist.shard_spec<@b, [["x"]], {}>], last_uses = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = call @f(%1) {mesh = @b, last_uses = array<i64: 0>, in_specs = [#dist.shard_spec<@b, [["x"]], {}>], out_specs = [#dist.shard_spec<@b, [["x"]], {}>]} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "pcg.transfer"(%2) {mesh = @c, dist.specs = [#dist.shard_spec<@c, [["x"]], {}>], last_uses = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = call @f(%y) {mesh = @c, in_specs = [#dist.shard_spec<@c, [["x"]], {}>], out_specs = [#dist.shard_spec<@c, [["x"]], {}>]} : (tensor<4xf32>) -> tensor<4xf32>
  %5 = call @g(%4, %3) {mesh = @c, last_uses = array<i64: 0, 1>, in_specs = [#dist.shard_spec<@c, [["x"]], {}>, #dist.shard_spec<@c, [["x"]], {}>], out_specs = [#dist.shard_spec<@c, [["x"]], {}>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %6 = call @g(%5, %0) {mesh = @c, last_uses = array<i64: 0, 1>, in_specs = [#dist.shard_spec<@c, [["x"]], {}>, #dist.shard_spec<@c, [["x"]], {}>], out_specs = [#dist.shard_spec<@c, [["x"]], {}>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %7 = "pcg.transfer"(%6) {mesh = @a, dist.specs = [#dist.shard_spec<@a, [[]], {}>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %6, %7, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
