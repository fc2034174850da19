// RUN: %pcg-opt %s --pcg-accumulate="microbatches=2" --remarks 2>&1 | FileCheck %s

// The gradient of w is a sum over the batch: the loop adds it up. The optimizer's ops run once, after it. The result with
// a batch dimension is gathered. Microbatch i holds the examples i, i + 2, ...
// CHECK: remark: pcg-accumulate: a batch of 8 runs in 2 microbatches; 1 values are added up over them
// CHECK-LABEL: func.func @main
// CHECK: pcg.microbatches = 2
// CHECK: stablehlo.reshape %{{.*}} : (tensor<8x4xf32>) -> tensor<4x2x1x4xf32>
// CHECK: %[[LOOP:.*]]:{{[0-9]+}} = stablehlo.while(%[[I:[a-zA-Z0-9_]+]] = %{{[a-z0-9_]+}}, %[[SUM:[a-zA-Z0-9_]+]] = %{{[a-z0-9_]+}}, %[[STACK:[a-zA-Z0-9_]+]] = %{{[a-z0-9_]+}}
// CHECK: stablehlo.compare LT, %[[I]]
// CHECK: stablehlo.dynamic_slice %{{.*}} -> tensor<4x1x1x4xf32>
// CHECK: stablehlo.dot_general {{.*}} : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK: stablehlo.tanh %{{.*}} : tensor<4x2xf32>
// CHECK: %[[G:[a-zA-Z0-9_]+]] = stablehlo.dot_general {{.*}}contracting_dims = [0] x [0]
// CHECK: stablehlo.add %[[SUM]], %[[G]]
// CHECK: stablehlo.dynamic_update_slice %[[STACK]], %{{.*}} : (tensor<4x2x1x2xf32>, tensor<4x1x1x2xf32>
// CHECK: stablehlo.reshape %[[LOOP]]#2 : (tensor<4x2x1x2xf32>) -> tensor<8x2xf32>
// CHECK: stablehlo.subtract %{{.*}}, %[[LOOP]]#1
func.func @main(%w: tensor<4x2xf32>, %m: tensor<4x2xf32>, %x: tensor<8x4xf32>) -> (tensor<4x2xf32> {pcg.state = 0 : i64}, tensor<4x2xf32> {pcg.state = 1 : i64}, tensor<8x2xf32>) {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %t = stablehlo.tanh %y : tensor<8x2xf32>
  %g = stablehlo.dot_general %x, %t, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %n = stablehlo.subtract %w, %g : tensor<4x2xf32>
  %q = stablehlo.multiply %g, %g : tensor<4x2xf32>
  %k = stablehlo.add %m, %q : tensor<4x2xf32>
  return %n, %k, %t : tensor<4x2xf32>, tensor<4x2xf32>, tensor<8x2xf32>
}
