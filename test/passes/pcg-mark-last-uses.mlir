// RUN: %pcg-opt %s --pcg-mark-last-uses | FileCheck %s

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {island = "podB", sym_name = "b", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
func.func private @f(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
func.func private @g(tensor<4xf32>)

// CHECK-LABEL: func.func @main
func.func @main(
    %kept: tensor<4xf32> {dist.spec = #dist.shard_spec<@a, [[]], {}>},
    %donated: tensor<4xf32> {dist.spec = #dist.shard_spec<@a, [[]], {}>, jax.buffer_donor = true},
    %aliased: tensor<4xf32> {dist.spec = #dist.shard_spec<@a, [[]], {}>, tf.aliasing_output = 0 : i32},
    %passed: tensor<4xf32> {dist.spec = #dist.shard_spec<@a, [[]], {}>, jax.buffer_donor = true}) -> (tensor<4xf32>, tensor<4xf32>) {
  // An argument that the caller keeps has no last use, neither has one that is returned.
  // CHECK: %[[C0:.*]] = call @f(%arg0, %arg1) {in_specs = {{.*}}, last_uses = array<i64: 1>, mesh = @a
  %0 = call @f(%kept, %donated) {mesh = @a, in_specs = [#dist.shard_spec<@a, [[]], {}>, #dist.shard_spec<@a, [[]], {}>], out_specs = [#dist.shard_spec<@a, [[]], {}>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: call @g(%arg3) {in_specs = [{{[^=]*}}], mesh = @a}
  call @g(%passed) {mesh = @a, in_specs = [#dist.shard_spec<@a, [[]], {}>]} : (tensor<4xf32>) -> ()
  // CHECK: call @g(%[[C0]]) {in_specs = [{{[^=]*}}], mesh = @a}
  call @g(%0) {last_uses = array<i64: 0>, mesh = @a, in_specs = [#dist.shard_spec<@a, [[]], {}>]} : (tensor<4xf32>) -> ()
  // CHECK: %[[C1:.*]] = call @f(%arg2, %[[C0]]) {in_specs = {{.*}}, last_uses = array<i64: 0>, mesh = @a
  %1 = call @f(%aliased, %0) {mesh = @a, in_specs = [#dist.shard_spec<@a, [[]], {}>, #dist.shard_spec<@a, [[]], {}>], out_specs = [#dist.shard_spec<@a, [[]], {}>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // Transfers have last uses, too.
  // CHECK: %[[T:.*]] = "pcg.transfer"(%[[C0]]) {dist.specs = {{.*}}, last_uses = array<i64: 0>, mesh = @b}
  %2 = "pcg.transfer"(%0) {mesh = @b, dist.specs = [#dist.shard_spec<@b, [[]], {}>]} : (tensor<4xf32>) -> tensor<4xf32>
  // A value that is read twice by its last reader.
  // CHECK: call @f(%[[T]], %[[T]]) {in_specs = {{.*}}, last_uses = array<i64: 0, 1>, mesh = @b
  %3 = call @f(%2, %2) {mesh = @b, in_specs = [#dist.shard_spec<@b, [[]], {}>, #dist.shard_spec<@b, [[]], {}>], out_specs = [#dist.shard_spec<@b, [[]], {}>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1, %passed : tensor<4xf32>, tensor<4xf32>
}
