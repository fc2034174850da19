// RUN: %pcg-opt %s --split-input-file --pcg-unstack | FileCheck %s
// RUN: %pcg-opt %s --split-input-file --pcg-unstack --remarks 2>&1 | FileCheck %s --check-prefix=REMARK

// Momentum, with gradients scaled by their norm.  The momentum is read by no slice, but updated with the weights.
// REMARK: remark: pcg-unstack: 2 arguments of 2 layers become one for each layer
// CHECK-LABEL: @update
// CHECK-SAME: (%[[W0:.*]]: tensor<1x3xf32> {tf.aliasing_output = 0 : i32}, %[[W1:.*]]: tensor<1x3xf32> {tf.aliasing_output = 1 : i32}, %[[V0:.*]]: tensor<1x3xf32>, %[[V1:.*]]: tensor<1x3xf32>, %[[X:.*]]: tensor<3xf32>)
// CHECK-SAME: -> (tensor<1x3xf32> {jax.result_info = "result['w'][0]", pcg.state = 0 : i64}, tensor<1x3xf32> {jax.result_info = "result['w'][1]", pcg.state = 1 : i64}, tensor<1x3xf32> {pcg.state = 2 : i64}, tensor<1x3xf32> {pcg.state = 3 : i64}, tensor<f32>)
// CHECK-SAME: pcg.stacked_arguments = array<i64: 2, 2, 0>, pcg.stacked_results = array<i64: 2, 2, 0>
// CHECK: %[[G0:.*]] = stablehlo.multiply %[[W0]]
// CHECK: %[[G1:.*]] = stablehlo.multiply %[[W1]]
// CHECK-NOT: concatenate
// CHECK: %[[Q0:.*]] = stablehlo.multiply %[[G0]], %[[G0]]
// CHECK: %[[Q1:.*]] = stablehlo.multiply %[[G1]], %[[G1]]
// CHECK: %[[N0:.*]] = stablehlo.reduce(%[[Q0]]
// CHECK: %[[N1:.*]] = stablehlo.reduce(%[[Q1]]
// CHECK: %[[N:.*]] = stablehlo.add %[[N0]], %[[N1]] : tensor<f32>
// CHECK: %[[B0:.*]] = stablehlo.broadcast_in_dim %[[N]], dims = [] : (tensor<f32>) -> tensor<1x3xf32>
// CHECK: %[[D0:.*]] = stablehlo.divide %[[G0]], %[[B0]]
// CHECK: %[[D1:.*]] = stablehlo.divide %[[G1]], %{{.*}}
// CHECK: %[[M0:.*]] = stablehlo.add %[[V0]], %[[D0]]
// CHECK: %[[M1:.*]] = stablehlo.add %[[V1]], %[[D1]]
// CHECK: %[[U0:.*]] = stablehlo.subtract %[[W0]], %[[M0]]
// CHECK: %[[U1:.*]] = stablehlo.subtract %[[W1]], %[[M1]]
// CHECK: return %[[U0]], %[[U1]], %[[M0]], %[[M1]], %[[N]]
func.func @update(%w: tensor<2x3xf32> {tf.aliasing_output = 0 : i32}, %v: tensor<2x3xf32>, %x: tensor<3xf32>)
    -> (tensor<2x3xf32> {pcg.state = 0 : i64, jax.result_info = "result['w']"}, tensor<2x3xf32> {pcg.state = 1 : i64}, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reshape %x : (tensor<3xf32>) -> tensor<1x3xf32>
  %w0 = stablehlo.slice %w [0:1, 0:3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %w1 = stablehlo.slice %w [1:2, 0:3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %g0 = stablehlo.multiply %w0, %r : tensor<1x3xf32>
  %g1 = stablehlo.multiply %w1, %r : tensor<1x3xf32>
  %g = stablehlo.concatenate %g0, %g1, dim = 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  %q = stablehlo.multiply %g, %g : tensor<2x3xf32>
  %n = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
  %b = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
  %d = stablehlo.divide %g, %b : tensor<2x3xf32>
  %m = stablehlo.add %v, %d : tensor<2x3xf32>
  %u = stablehlo.subtract %w, %m : tensor<2x3xf32>
  return %u, %m, %n : tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>
}

// -----

// The sort reads both layers.  What is computed layer by layer may be read as a tensor, by the return here.
// REMARK: remark: pcg-unstack: argument arg0 stays stacked over 2 layers, and so do those that are updated with it (1 arguments): 'stablehlo.sort' reads or yields all layers
// REMARK: remark: pcg-unstack: 1 arguments of 2 layers become one for each layer
// CHECK-LABEL: @reads
// CHECK-SAME: (%[[W:.*]]: tensor<2x3xf32>, %[[Y0:.*]]: tensor<1x3xf32>, %[[Y1:.*]]: tensor<1x3xf32>)
// CHECK-SAME: pcg.stacked_arguments = array<i64: 0, 2>, pcg.stacked_results = array<i64: 0, 2, 0, 0, 0, 0>
// CHECK-DAG: %[[T0:.*]] = stablehlo.tanh %[[Y0]]
// CHECK-DAG: %[[T1:.*]] = stablehlo.tanh %[[Y1]]
// CHECK: %[[T:.*]] = stablehlo.concatenate %[[T0]], %[[T1]], dim = 0
// CHECK: %[[Z:.*]] = stablehlo.add %{{.*}}, %[[T1]]
// CHECK: return %{{.*}}, %[[T0]], %[[T1]], %{{.*}}, %[[T]], %{{.*}}, %[[Z]]
func.func @reads(%w: tensor<2x3xf32>, %y: tensor<2x3xf32>)
    -> (tensor<2x3xf32> {pcg.state = 0 : i64}, tensor<2x3xf32> {pcg.state = 1 : i64}, tensor<2x3xf32>, tensor<2x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>) {
  %w0 = stablehlo.slice %w [0:1, 0:3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %y1 = stablehlo.slice %y [1:2, 0:3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %y2 = stablehlo.multiply %y1, %y1 : tensor<1x3xf32>
  %s = "stablehlo.sort"(%w) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %n = stablehlo.negate %w : tensor<2x3xf32>
  %t = stablehlo.tanh %y : tensor<2x3xf32>
  %t1 = stablehlo.slice %t [1:2, 0:3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %z = stablehlo.add %w0, %t1 : tensor<1x3xf32>
  return %n, %t, %s, %t, %y2, %z : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<1x3xf32>, tensor<1x3xf32>
}
