// RUN: %pcg-opt %s --auto-parallel --cluster=%S/Inputs/two-groups.toml --remarks 2>&1 | FileCheck %s
// RUN: %pcg-opt %s --auto-parallel --cluster=%S/Inputs/two-groups.toml --lower-processes | FileCheck %s --check-prefix=PROCESSES
// RUN: %pcg-opt %s --pcg-normalize --pcg-choose-groups=strategies=alone --cluster=%S/Inputs/two-groups.toml | FileCheck %s --check-prefix=ALONE
// RUN: %pcg-opt %s --pcg-normalize --pcg-choose-groups --cluster=preset:cpu:2 | FileCheck %s --check-prefix=LIKE
// RUN: not %pcg-opt %s --auto-parallel --cluster=%S/Inputs/two-groups.toml --lower 2>&1 | FileCheck %s --check-prefix=LOWER

// Compute is most of the step: each group gets a share of the batch, the faster one more of it.
// CHECK: remark: pcg-choose-groups: batch shared fast {{[0-9]+}}, slow {{[0-9]+}} {{.*}} us, {{.*}} MiB per device; rejected: all devices as the slowest ({{.*}}; fast alone ({{.*}}; slow alone
// CHECK-DAG: sym_name = "fast", value = #dist.process_mesh<["d0"], [2], []>
// CHECK-DAG: sym_name = "slow", value = #dist.process_mesh<["d0"], [2], [2, 3]>
// CHECK: "pcg.stage"
// PROCESSES-COUNT-4: module @process_{{[0-3]}}
// ALONE: "dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["d0"], [2], []>}
// A cluster of one kind is for pcg-choose-mesh.
// LIKE-NOT: dist.mesh
// LOWER: error: dist-fuse-collectives: the program is in stages on several meshes; lower it with --lower-processes
func.func @main(%w: tensor<32x32xf32>, %v: tensor<32x32xf32>, %x: tensor<64x32xf32>, %t: tensor<64x32xf32>) -> (tensor<32x32xf32>, tensor<32x32xf32>) {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %a = stablehlo.tanh %h : tensor<64x32xf32>
  %y = stablehlo.dot_general %a, %v, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %d = stablehlo.subtract %y, %t : tensor<64x32xf32>
  %gv = stablehlo.dot_general %a, %d, contracting_dims = [0] x [0] : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
  %e = stablehlo.dot_general %d, %v, contracting_dims = [1] x [1] : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %gw = stablehlo.dot_general %x, %e, contracting_dims = [0] x [0] : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
  %nw = stablehlo.subtract %w, %gw : tensor<32x32xf32>
  %nv = stablehlo.subtract %v, %gv : tensor<32x32xf32>
  return %nw, %nv : tensor<32x32xf32>, tensor<32x32xf32>
}
