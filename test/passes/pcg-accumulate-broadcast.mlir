// RUN: %pcg-opt %s --pcg-accumulate="microbatches=2" | FileCheck %s

// What is broadcast along the batch is broadcast for one microbatch at a time, and nothing is left of the whole batch.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tensor<8x2xf32>
// CHECK: stablehlo.while
// CHECK: stablehlo.broadcast_in_dim %{{.*}} : (tensor<2xf32>) -> tensor<4x2xf32>
// CHECK-NOT: tensor<8x2xf32>
// CHECK: stablehlo.subtract
// CHECK-NOT: tensor<8x2xf32>
func.func @main(%w: tensor<4x2xf32>, %m: tensor<4x2xf32>, %b: tensor<2xf32>, %x: tensor<8x4xf32>) -> (tensor<4x2xf32> {pcg.state = 0 : i64}, tensor<4x2xf32> {pcg.state = 1 : i64}, tensor<2xf32> {pcg.state = 2 : i64}) {
  %c = stablehlo.constant dense<0.5> : tensor<f32>
  %half = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<8x2xf32>
  %s = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<2xf32>) -> tensor<8x2xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %z = stablehlo.add %y, %s : tensor<8x2xf32>
  %t = stablehlo.multiply %z, %half : tensor<8x2xf32>
  %g = stablehlo.dot_general %x, %t, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %n = stablehlo.subtract %w, %g : tensor<4x2xf32>
  %k = stablehlo.add %m, %g : tensor<4x2xf32>
  return %n, %k, %b : tensor<4x2xf32>, tensor<4x2xf32>, tensor<2xf32>
}
