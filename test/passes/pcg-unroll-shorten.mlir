// RUN: %pcg-opt %S/Inputs/layers_step.mlir --prepare --pcg-unroll="shorten=true" --pcg-unstack="shorten=true" | FileCheck %s
// RUN: not %pcg-opt %s --pcg-unroll="shorten=true" --pcg-unstack="shorten=true" 2>&1 | FileCheck %s --check-prefix=READ

// Of eight layers the first and the last one are left, forward and backward, with their state; marks are around them.
// CHECK: func.func public @main(%[[W0:.*]]: tensor<1x4x4xf32> {{.*}}, %[[W7:.*]]: tensor<1x4x4xf32> {{.*}}, %[[X:.*]]: tensor<8x4xf32>)
// CHECK-NOT: while
// CHECK: %[[A:.*]] = stablehlo.custom_call @pcg.stage_boundary(%[[X]]) {pcg.skipped = 0 : i64}
// CHECK: stablehlo.dot_general %[[A]],
// CHECK: %[[T:.*]] = stablehlo.tanh
// CHECK: %[[B:.*]] = stablehlo.custom_call @pcg.stage_boundary(%[[T]]) {pcg.skipped = 6 : i64}
// CHECK: stablehlo.dot_general %[[B]],
// CHECK: stablehlo.custom_call @pcg.stage_boundary(%{{.*}}) {pcg.skipped = 0 : i64}
// CHECK: stablehlo.reduce
// CHECK: stablehlo.custom_call @pcg.stage_boundary(%{{.*}}) {pcg.skipped = 0 : i64}
// CHECK: stablehlo.dot_general %{{.*}}, %[[B]], contracting_dims = [0] x [0]
// CHECK: stablehlo.custom_call @pcg.stage_boundary(%{{.*}}) {pcg.skipped = 6 : i64}
// CHECK: stablehlo.dot_general %{{.*}}, %[[A]], contracting_dims = [0] x [0]
// CHECK-NOT: tensor<8x4x4xf32>
// CHECK: %[[N0:.*]] = stablehlo.subtract %[[W0]]
// CHECK: %[[N7:.*]] = stablehlo.subtract %[[W7]]
// CHECK: return %[[N0]], %[[N7]],

// READ: error: {{.*}}all layers are read as one tensor; allowed with shorten: each by itself
func.func @main(%w: tensor<3x4xf32>, %m: tensor<3x4xf32>, %x: tensor<4xf32>) -> (tensor<3x4xf32> {pcg.state = 0 : i64}, tensor<3x4xf32> {pcg.state = 1 : i64}, tensor<3x4xf32>) {
  %w0 = stablehlo.slice %w [0:1, 0:4] : (tensor<3x4xf32>) -> tensor<1x4xf32>
  %r = stablehlo.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
  %g0 = stablehlo.multiply %w0, %r : tensor<1x4xf32>
  %g = stablehlo.concatenate %g0, %g0, %g0, dim = 0 : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
  %n = stablehlo.subtract %w, %g : tensor<3x4xf32>
  %q = stablehlo.add %m, %g : tensor<3x4xf32>
  return %n, %q, %q : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}
