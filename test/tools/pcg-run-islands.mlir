// REQUIRES: jax
// Calls on slices, before and behind the passes, on islands that are parts of this process or processes.
// RUN: %pcg-run %s --islands 2 --check --repeat 1 | FileCheck %s
// RUN: %pcg-run %s --islands 2 --backend processes --check --repeat 1 | FileCheck %s --check-prefix=PROCESSES
// RUN: %pcg-run %s --islands 1 --repeat 1 | FileCheck %s --check-prefix=ONE
// RUN: %pcg-opt %s --pcg-assign-islands=slices=left=podA:0-1,right=podB:4+2-3+0 -o %t.assigned.mlir
// RUN: %pcg-run %t.assigned.mlir --islands 2 --check --repeat 1 --trace %t.json | FileCheck %s --check-prefix=ASSIGNED
// RUN: FileCheck %s --check-prefix=TRACE --input-file %t.json
// RUN: %pcg-opt %t.assigned.mlir --lower-islands -o %t.lowered.mlir
// RUN: %pcg-run %t.lowered.mlir --islands 2 --check --repeat 1 --reference %s | FileCheck %s --check-prefix=ASSIGNED
// RUN: sed 's/stablehlo.subtract/stablehlo.add/' %t.lowered.mlir > %t.wrong.mlir
// RUN: not %pcg-run %t.wrong.mlir --islands 2 --check --repeat 1 --reference %s | FileCheck %s --check-prefix=WRONG
// RUN: not %pcg-run %t.lowered.mlir --islands 2 --repeat 1 --check 2>&1 | FileCheck %s --check-prefix=REFERENCE
// RUN: not %pcg-run %t.lowered.mlir --islands 3 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not %pcg-run %s --islands 2 --mesh x=2 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not %pcg-run %s --backend processes 2>&1 | FileCheck %s --check-prefix=BACKEND
// RUN: not %pcg-run %S/pcg-run.mlir --islands 2 2>&1 | FileCheck %s --check-prefix=PLAIN
// RUN: not %pcg-run %S/../passes/lower-islands.mlir --islands 2 2>&1 | FileCheck %s --check-prefix=BODY

// CHECK: on islands island0 of 2, island1 of 4 (embedded)
// CHECK: slice @left island0 [0, 1]
// CHECK: slice @right island1 [0, 1, 2, 3]
// CHECK: run {{.*}}, 2 messages between islands
// CHECK: AGREES: 3 results, worst relative error {{.*}}, in double precision {{.*}} (seed 0)
// PROCESSES: on islands island0 of 2, island1 of 4 (processes)
// PROCESSES: AGREES: 3 results
// ONE: on islands island0 of 6 (embedded)
// ONE: run {{.*}}, 0 messages between islands
// ASSIGNED: on islands podA of 2, podB of 5 (embedded)
// ASSIGNED: slice @right podB [4, 2, 3, 0]
// ASSIGNED: AGREES: 3 results
// TRACE: "name": "island podA"
// WRONG: DIFFERS: 2 of 3 results
// REFERENCE: pcg-run: error: a module with a function per island does not say what it was made from; give --reference
// COUNT: pcg-run: error: {{.*}} is for 2 islands (podA, podB), not 3
// MESH: pcg-run: error: --mesh does not go with --islands
// BACKEND: pcg-run: error: --backend goes with --islands
// PLAIN: pcg-run.mlir has no calls on slices; allowed with islands: functions that are called with a mesh and layouts
// BODY: pcg-run: error: function @forward has no body; a program runs if all that it calls have one

"dist.mesh"() {sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
"dist.mesh"() {sym_name = "right", value = #dist.process_mesh<["data", "model"], [2, 2], []>} : () -> ()
func.func private @forward(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.tanh %0 : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
func.func private @loss(%y: tensor<8x4xf32>) -> (tensor<f32>, tensor<8x4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %y, %y : tensor<8x4xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
  %2 = stablehlo.add %y, %y : tensor<8x4xf32>
  return %1, %2 : tensor<f32>, tensor<8x4xf32>
}
func.func private @update(%w: tensor<4x4xf32>, %g: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.dot_general %g, %g, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.subtract %w, %0 : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
func.func @main(%w: tensor<4x4xf32> {dist.spec = #dist.shard_spec<@left, [[], []], {}>, tf.aliasing_output = 1 : i32}, %x: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@left, [["data"], []], {}>}) -> (tensor<f32>, tensor<4x4xf32>, tensor<8x4xf32>) {
  %y = call @forward(%x, %w) {mesh = @left, in_specs = [#dist.shard_spec<@left, [["data"], []], {}>, #dist.shard_spec<@left, [[], []], {}>], out_specs = [#dist.shard_spec<@left, [["data"], []], {}>]} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %l:2 = call @loss(%y) {mesh = @right, in_specs = [#dist.shard_spec<@right, [["data"], ["model"]], {}>], out_specs = [#dist.shard_spec<@right, [], {}>, #dist.shard_spec<@right, [["data"], ["model"]], {}>]} : (tensor<8x4xf32>) -> (tensor<f32>, tensor<8x4xf32>)
  %v = call @update(%w, %l#1) {mesh = @left, in_specs = [#dist.shard_spec<@left, [[], []], {}>, #dist.shard_spec<@left, [["data"], []], {}>], out_specs = [#dist.shard_spec<@left, [[], []], {}>]} : (tensor<4x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %z = call @forward(%y, %v) {mesh = @left, in_specs = [#dist.shard_spec<@left, [["data"], []], {}>, #dist.shard_spec<@left, [[], ["data"]], {}>], out_specs = [#dist.shard_spec<@left, [[], ["data"]], {}>]} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %l#0, %v, %z : tensor<f32>, tensor<4x4xf32>, tensor<8x4xf32>
}
