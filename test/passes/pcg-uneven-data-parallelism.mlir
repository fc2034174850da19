// RUN: %pcg-opt %s --pcg-uneven-data-parallelism=shares=5,3 --mlir-pass-statistics 2>&1 | FileCheck %s
// RUN: not %pcg-opt %s --pcg-uneven-data-parallelism=shares=5,4 2>&1 | FileCheck %s --check-prefix=SUM
// RUN: not %pcg-opt %s --pcg-uneven-data-parallelism 2>&1 | FileCheck %s --check-prefix=NONE

// SUM: error: pcg-uneven-data-parallelism: shares 5,4 of a batch of 8 for 2 meshes; allowed: a positive number for each
// NONE: error: pcg-uneven-data-parallelism: shares none of a batch of 8 for 2 meshes

// The batch is split unevenly; the gradient, a sum over the batch, is reduced; the update of a weight is on its mesh.
// CHECK: 84 bytes summed
// CHECK: "dist.mesh"() {sym_name = "all", value = #dist.process_mesh<["device"], [3], []>}
// CHECK: func.func @main(%arg0: tensor<4x5xf32> {dist.mesh = @a}, %arg1: tensor<8x4xf32> {dist.mesh = @all}
// CHECK-SAME: -> (tensor<4x5xf32>, tensor<3xf32>)
// CHECK-DAG: stablehlo.slice %arg1 [0:5, 0:4] {dist.mesh = @a}
// CHECK-DAG: stablehlo.slice %arg1 [5:8, 0:4] {dist.mesh = @b}
// CHECK: %[[A:.*]] = stablehlo.dot_general {{.*}} {dist.mesh = @a} : (tensor<5x4xf32>, tensor<5x5xf32>) -> tensor<4x5xf32>
// CHECK: %[[B:.*]] = stablehlo.dot_general {{.*}} {dist.mesh = @b} : (tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
// CHECK: stablehlo.add %[[A]], %[[B]] : tensor<4x5xf32>
"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {sym_name = "b", value = #dist.process_mesh<["x"], [1], [2]>} : () -> ()
func.func @main(%w: tensor<4x5xf32>, %x: tensor<8x4xf32>, %t: tensor<8x5xf32>) -> (tensor<4x5xf32>, tensor<3xf32>) {
  %c = stablehlo.constant dense<1.0> : tensor<3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x5xf32>) -> tensor<8x5xf32>
  %d = stablehlo.subtract %y, %t : tensor<8x5xf32>
  %g = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x5xf32>) -> tensor<4x5xf32>
  %l = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x5xf32>, tensor<f32>) -> tensor<f32>
  %b = stablehlo.broadcast_in_dim %l, dims = [] : (tensor<f32>) -> tensor<3xf32>
  %s = stablehlo.add %b, %c : tensor<3xf32>
  %n = stablehlo.subtract %w, %g : tensor<4x5xf32>
  return %n, %s : tensor<4x5xf32>, tensor<3xf32>
}
