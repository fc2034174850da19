// RUN: %pcg-opt %s --split-input-file --pcg-split-backward --remarks 2>&1 | FileCheck %s
// RUN: %pcg-opt %s --split-input-file --pcg-split-backward=order=last | FileCheck %s --check-prefix=LAST

// Two layers and gradient descent. dw2 runs behind dh, the next product of input gradients, or behind all of these.
// CHECK: remark: pcg-split-backward: 66.67 % of the FLOPs of products in the backward part are of weight gradients
// CHECK-LABEL: func.func @main(%arg0
// CHECK: %[[Y:.*]] = stablehlo.dot_general %{{.*}}, %arg1, contracting_dims = [1] x [0] {pcg.phase = "forward"}
// CHECK: stablehlo.reduce{{.*}} {pcg.phase = "forward"}
// CHECK-NEXT: %[[DH:.*]] = stablehlo.dot_general %[[Y]], %arg1, contracting_dims = [1] x [1] {pcg.phase = "backward"}
// CHECK-NEXT: %[[DW2:.*]] = stablehlo.dot_general %{{.*}}, %[[Y]], contracting_dims = [0] x [0] {pcg.phase = "weight"}
// CHECK-NEXT: stablehlo.subtract %arg1, %[[DW2]] {pcg.phase = "weight"}
// CHECK: %[[E:.*]] = stablehlo.subtract %[[DH]], %{{.*}} {pcg.phase = "backward"}
// CHECK-NEXT: stablehlo.dot_general %arg2, %[[E]], contracting_dims = [0] x [0] {pcg.phase = "weight"}

// LAST-LABEL: func.func @main
// LAST: stablehlo.subtract %{{.*}} {pcg.phase = "backward"}
// LAST-NEXT: stablehlo.dot_general {{.*}}pcg.phase = "weight"
// LAST-NOT: "backward"
// LAST: return
func.func @main(%w1: tensor<4x4xf32>, %w2: tensor<4x4xf32>, %x: tensor<4x4xf32>) -> (tensor<4x4xf32> {pcg.state = 0 : i64}, tensor<4x4xf32> {pcg.state = 1 : i64}, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %h = stablehlo.tanh %a : tensor<4x4xf32>
  %y = stablehlo.dot_general %h, %w2, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = stablehlo.multiply %y, %y : tensor<4x4xf32>
  %loss = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
  %dw2 = stablehlo.dot_general %h, %y, contracting_dims = [0] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %dh = stablehlo.dot_general %y, %w2, contracting_dims = [1] x [1] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %hh = stablehlo.multiply %h, %h : tensor<4x4xf32>
  %e = stablehlo.subtract %dh, %hh : tensor<4x4xf32>
  %dw1 = stablehlo.dot_general %x, %e, contracting_dims = [0] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %n1 = stablehlo.subtract %w1, %dw1 : tensor<4x4xf32>
  %n2 = stablehlo.subtract %w2, %dw2 : tensor<4x4xf32>
  return %n1, %n2, %loss : tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>
}

// -----

// The backward part of a scan over layers: what it carries only to stack, %dw, becomes a loop of its own. That reads
// what the first loop stacks: %dx as it comes into each iteration.
// CHECK-LABEL: func.func @main(%arg0
// CHECK: %[[FIRST:.*]]:4 = stablehlo.while(%{{.*}} = %{{.*}}, %{{.*}} = %arg0, %[[DX:.*]] = %{{.*}}, %[[STACK:.*]] = %{{.*}}) : {{.*}} attributes {pcg.phase = "backward"}
// CHECK: stablehlo.dot_general %[[DX]]
// CHECK-NOT: stablehlo.dot_general
// CHECK: %[[BLOCK:.*]] = stablehlo.reshape %[[DX]] : (tensor<2x2xf32>) -> tensor<1x2x2xf32>
// CHECK: stablehlo.dynamic_update_slice %[[STACK]], %[[BLOCK]]
// CHECK: %[[SECOND:.*]]:3 = stablehlo.while(%{{.*}} = %{{.*}}, %[[DW:.*]] = %{{.*}}, %[[DXS:.*]] = %[[FIRST]]#3) : {{.*}} attributes {pcg.phase = "weight"}
// CHECK: stablehlo.dynamic_slice %[[DXS]]
// CHECK: stablehlo.dot_general
// CHECK-NOT: stablehlo.dot_general
// CHECK: stablehlo.dynamic_update_slice %[[DW]]
// CHECK: stablehlo.subtract %{{.*}}, %[[SECOND]]#1 {pcg.phase = "weight"}
func.func @main(%w: tensor<3x2x2xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<2x2xf32>, %n: tensor<i32>) -> (tensor<3x2x2xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %fw = stablehlo.slice %w [0:1, 0:2, 0:2] : (tensor<3x2x2xf32>) -> tensor<1x2x2xf32>
  %fr = stablehlo.reshape %fw : (tensor<1x2x2xf32>) -> tensor<2x2xf32>
  %y = stablehlo.dot_general %x, %fr, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %loss = stablehlo.reduce(%y init: %f) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<f32>
  %grads = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<3x2x2xf32>
  %l:4 = stablehlo.while(%i = %zero, %dx = %y, %dw = %grads, %ww = %w) : tensor<i32>, tensor<2x2xf32>, tensor<3x2x2xf32>, tensor<3x2x2xf32>
  cond {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %c = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %by = stablehlo.constant dense<1> : tensor<i32>
    %o = stablehlo.constant dense<0> : tensor<i32>
    %s = stablehlo.dynamic_slice %ww, %i, %o, %o, sizes = [1, 2, 2] : (tensor<3x2x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x2xf32>
    %wi = stablehlo.reshape %s : (tensor<1x2x2xf32>) -> tensor<2x2xf32>
    %d = stablehlo.dot_general %dx, %wi, contracting_dims = [1] x [1] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %g = stablehlo.dot_general %x, %dx, contracting_dims = [0] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %gr = stablehlo.reshape %g : (tensor<2x2xf32>) -> tensor<1x2x2xf32>
    %u = stablehlo.dynamic_update_slice %dw, %gr, %i, %o, %o : (tensor<3x2x2xf32>, tensor<1x2x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x2x2xf32>
    
    %j = stablehlo.add %i, %by : tensor<i32>
    stablehlo.return %j, %d, %u, %ww : tensor<i32>, tensor<2x2xf32>, tensor<3x2x2xf32>, tensor<3x2x2xf32>
  }
  %new = stablehlo.subtract %w, %l#2 : tensor<3x2x2xf32>
  return %new, %loss : tensor<3x2x2xf32>, tensor<f32>
}
