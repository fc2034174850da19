// RUN: %pcg-opt %s --pcg-reassociate | FileCheck %s

// CHECK-LABEL: func.func @gradients
// CHECK: %[[Q:.*]] = stablehlo.dot_general %arg1, %arg3
// CHECK: %[[K:.*]] = stablehlo.dot_general %arg2, %arg3
// CHECK: %[[T:.*]] = stablehlo.transpose %[[K]]
// CHECK: %[[S:.*]] = stablehlo.add %[[Q]], %[[T]]
// CHECK: %[[R:.*]] = stablehlo.add %[[S]], %arg0
// CHECK: return %[[R]]
func.func @gradients(%r: tensor<8x8xf32>, %q: tensor<8x8xf32>, %k: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %q, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.add %r, %0 : tensor<8x8xf32>
  %2 = stablehlo.dot_general %k, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = stablehlo.add %1, %3 : tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}

// An intermediate sum with another use stays.
// CHECK-LABEL: func.func @used_between
// CHECK: stablehlo.add %arg0, %0
func.func @used_between(%r: tensor<8x8xf32>, %q: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = stablehlo.dot_general %q, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.add %r, %0 : tensor<8x8xf32>
  %2 = stablehlo.dot_general %w, %q, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = stablehlo.add %1, %2 : tensor<8x8xf32>
  return %1, %3 : tensor<8x8xf32>, tensor<8x8xf32>
}
