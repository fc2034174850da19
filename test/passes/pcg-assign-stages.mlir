// RUN: %pcg-opt %S/Inputs/two_layer_step.mlir --pcg-microbatch="microbatches=2" --pcg-assign-stages="stages=2" --remarks 2>&1 | FileCheck %s
// RUN: %pcg-opt %S/Inputs/two_layer_step.mlir --pcg-microbatch="microbatches=2" --pcg-assign-stages="stages=1" | FileCheck %s --check-prefix=ONE
// RUN: %pcg-opt %s --pcg-microbatch="microbatches=2" --pcg-assign-stages="stages=2" | FileCheck %s --check-prefix=MARK

// The second layer is on stage 1, with its part of the backward pass and the update of its parameters.
// CHECK: remark: pcg-assign-stages: 2 stages with
// CHECK: stablehlo.dot_general %{{.*}}, %arg0, contracting_dims = [1] x [0] {pcg.stage = 0 : i64}
// CHECK: stablehlo.dot_general %[[T:.*]], %arg1, contracting_dims = [1] x [0] {pcg.stage = 1 : i64}
// CHECK: stablehlo.reduce{{.*}}pcg.stage = 1
// CHECK: stablehlo.dot_general %{{.*}}, contracting_dims = [0] x [0] {pcg.stage = 1 : i64}
// CHECK: stablehlo.dot_general %{{.*}}, %arg1, contracting_dims = [1] x [1] {pcg.stage = 1 : i64}
// CHECK: stablehlo.dot_general %{{.*}}, contracting_dims = [0] x [0] {pcg.stage = 0 : i64}
// CHECK: stablehlo.subtract %arg0, %{{.*}} {pcg.stage = 0 : i64}
// CHECK: stablehlo.subtract %arg1, %{{.*}} {pcg.stage = 1 : i64}
// ONE-NOT: pcg.stage = 1

// The mark says where the stage ends, and is gone.  The terms of the gradient of a weight that both stages read are
// accumulated where they are computed.
// MARK: stablehlo.tanh {{.*}}pcg.stage = 0
// MARK-NOT: stage_boundary
// MARK: stablehlo.negate {{.*}}pcg.stage = 1
// MARK: %[[A:.*]] = "pcg.batch"(%{{.*}}) {kind = "sum", microbatches = 2 : i64, pcg.stage = 1 : i64} : (tensor<4x4xf32>)
// MARK: %[[B:.*]] = "pcg.batch"(%{{.*}}) {kind = "sum", microbatches = 2 : i64, pcg.stage = 0 : i64} : (tensor<4x4xf32>)
// MARK: stablehlo.add %[[A]], %[[B]]
func.func @main(%w: tensor<4x4xf32>, %m: tensor<4x4xf32>, %x: tensor<8x4xf32>) -> (tensor<4x4xf32> {pcg.state = 0 : i64}, tensor<4x4xf32> {pcg.state = 1 : i64}, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %t = stablehlo.tanh %h : tensor<8x4xf32>
  %b = stablehlo.custom_call @pcg.stage_boundary(%t) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %n = stablehlo.negate %b : tensor<8x4xf32>
  %y = stablehlo.dot_general %n, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %q = stablehlo.multiply %y, %y : tensor<8x4xf32>
  %loss = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
  %dy = stablehlo.add %y, %y : tensor<8x4xf32>
  %g1 = stablehlo.dot_general %n, %dy, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %dn = stablehlo.dot_general %dy, %w, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %dt = stablehlo.negate %dn : tensor<8x4xf32>
  %tt = stablehlo.multiply %t, %t : tensor<8x4xf32>
  %d = stablehlo.multiply %dt, %tt : tensor<8x4xf32>
  %g0 = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %g = stablehlo.add %g1, %g0 : tensor<4x4xf32>
  %k = stablehlo.add %m, %g : tensor<4x4xf32>
  %new = stablehlo.subtract %w, %k : tensor<4x4xf32>
  return %new, %k, %loss : tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>
}
