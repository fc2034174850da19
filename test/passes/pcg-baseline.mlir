// RUN: %pcg-opt %s --pcg-baseline=plan=megatron | FileCheck %s --check-prefix=LAYOUT
// RUN: %pcg-opt %s --pcg-baseline=plan=megatron --dist-propagate=engine=dataflow --dist-insert-reshards --dist-verify --dist-fuse-collectives | FileCheck %s --check-prefix=MEGATRON
// RUN: %pcg-opt %s --pcg-baseline=plan=zero3 --dist-propagate=engine=dataflow --dist-insert-reshards --dist-verify --dist-fuse-collectives | FileCheck %s --check-prefix=ZERO
// RUN: not %pcg-opt %s --pcg-baseline=plan=pipeline 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: not %pcg-opt %s "--pcg-baseline=plan=megatron model=rows" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not %pcg-opt %s --pcg-baseline=plan=dlrm-whole 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: error: pcg-baseline: no embedding tables are stacked in one array, which lets each lie on one device
// PLAN: pass 'pcg-baseline', option 'plan': expected one of data, zero1, zero3, megatron
// AXIS: error: pcg-baseline: axis 'rows'; the mesh has 'model'

// Two layers and their gradients, that of the input too: columns, then rows, found from the graph alone.  One sum
// forwards and one backwards is all that is sent.
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["model"], [4], []>} : () -> ()
// LAYOUT: func.func @main
// LAYOUT-SAME: %arg0: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}], ["model"]], {}>}
// LAYOUT-SAME: %arg1: tensor<16x12xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}"model"], []], {}>}
// LAYOUT-SAME: %arg2: tensor<4x8xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}], []], {}>}
// MEGATRON: stablehlo.dot_general
// MEGATRON: %[[Y:.*]] = stablehlo.dot_general
// MEGATRON-NEXT: "dist.all_reduce"(%[[Y]]) {axes = ["model"],
// MEGATRON-NOT: "dist.{{(all|reduce|perm)}}
// MEGATRON: %[[X:.*]] = stablehlo.dot_general {{.*}} -> tensor<4x8xf32>
// MEGATRON-NEXT: "dist.all_reduce"(%[[X]]) {axes = ["model"],
// MEGATRON-NOT: "dist.{{(all|reduce|perm)}}
// Weights come together for each use, and each gradient goes to its parts.
// ZERO: "dist.all_gather"({{.*}}) {axes = ["model"],
// ZERO: stablehlo.dot_general
// ZERO: "dist.all_gather"({{.*}}) {axes = ["model"],
// ZERO: stablehlo.dot_general
// ZERO: "dist.reduce_scatter"({{.*}}) {axes = ["model"],
// ZERO: "dist.reduce_scatter"({{.*}}) {axes = ["model"],
func.func @main(%w1: tensor<8x16xf32>, %w2: tensor<16x12xf32>, %x: tensor<4x8xf32>)
    -> (tensor<8x16xf32>, tensor<16x12xf32>, tensor<4x12xf32>, tensor<4x8xf32>) {
  %h = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %t = stablehlo.tanh %h : tensor<4x16xf32>
  %y = stablehlo.dot_general %t, %w2, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x12xf32>) -> tensor<4x12xf32>
  %e = stablehlo.tanh %y : tensor<4x12xf32>
  %g2 = stablehlo.dot_general %t, %e, contracting_dims = [0] x [0] : (tensor<4x16xf32>, tensor<4x12xf32>) -> tensor<16x12xf32>
  %dt = stablehlo.dot_general %e, %w2, contracting_dims = [1] x [1] : (tensor<4x12xf32>, tensor<16x12xf32>) -> tensor<4x16xf32>
  %dh = stablehlo.multiply %dt, %t : tensor<4x16xf32>
  %g1 = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0] : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %dx = stablehlo.dot_general %dh, %w1, contracting_dims = [1] x [1] : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  %n1 = stablehlo.subtract %w1, %g1 : tensor<8x16xf32>
  %n2 = stablehlo.subtract %w2, %g2 : tensor<16x12xf32>
  return %n1, %n2, %y, %dx : tensor<8x16xf32>, tensor<16x12xf32>, tensor<4x12xf32>, tensor<4x8xf32>
}
