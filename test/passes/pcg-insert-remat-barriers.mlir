// RUN: %pcg-opt %s --pcg-insert-remat-barriers | FileCheck %s

// The barrier of pcg-recompute becomes a select on a flag that is true whatever the gradient is; the user's stays.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[G:.*]]: tensor<4xf32>)
// CHECK: %[[ONE:.*]] = stablehlo.slice %[[G]] [0:1]
// CHECK: %[[E:.*]] = stablehlo.reshape %[[ONE]] : (tensor<1xf32>) -> tensor<f32>
// CHECK: %[[EQ:.*]] = stablehlo.compare EQ, %[[E]], %[[E]]
// CHECK: %[[NE:.*]] = stablehlo.compare NE, %[[E]], %[[E]]
// CHECK: %[[FLAG:.*]] = stablehlo.or %[[EQ]], %[[NE]]
// CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0.000000e+00>
// CHECK: %[[KEPT:.*]] = stablehlo.select %[[FLAG]], %[[X]], %[[ZERO]]
// CHECK: stablehlo.tanh %[[KEPT]]
// CHECK: stablehlo.optimization_barrier %[[G]]
func.func @main(%x: tensor<4xf32>, %g: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %b:2 = stablehlo.optimization_barrier {pcg.remat} %x, %g : tensor<4xf32>, tensor<4xf32>
  %h = stablehlo.tanh %b#0 : tensor<4xf32>
  %d = stablehlo.multiply %b#1, %h : tensor<4xf32>
  %u = stablehlo.optimization_barrier %g : tensor<4xf32>
  return %d, %u : tensor<4xf32>, tensor<4xf32>
}
