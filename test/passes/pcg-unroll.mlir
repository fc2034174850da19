// RUN: %pcg-opt %s --split-input-file --pcg-unroll | FileCheck %s
// RUN: %pcg-opt %s --split-input-file --pcg-unroll="most=2" --remarks 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %pcg-opt %s --split-input-file --pcg-unroll="nested=true" | FileCheck %s --check-prefix=NESTED
// RUN: %pcg-opt %s --split-input-file --pcg-unroll="most=1" | FileCheck %s --check-prefix=MOST
// RUN: %pcg-opt %s --split-input-file --pcg-unroll="most=1" --remarks 2>&1 | FileCheck %s --check-prefix=STAYS

// A forward scan that stacks what it reads, and a reverse one that reads the stack: nothing is left of it.
// REMARK: remark: pcg-unroll: 2 loops are unrolled, of 2, 2 iterations
// CHECK-LABEL: @scans
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32>, %[[W:.*]]: tensor<2x3x3xf32>)
// CHECK-NOT: while
// CHECK: %[[S0:.*]] = stablehlo.slice %[[W]] [0:1, 0:3, 0:3]
// CHECK: %[[W0:.*]] = stablehlo.reshape %[[S0]]
// CHECK: %[[H1:.*]] = stablehlo.dot_general %[[X]], %[[W0]]
// CHECK: %[[S1:.*]] = stablehlo.slice %[[W]] [1:2, 0:3, 0:3]
// CHECK: %[[W1:.*]] = stablehlo.reshape %[[S1]]
// CHECK: %[[H2:.*]] = stablehlo.dot_general %[[H1]], %[[W1]]
// CHECK: %[[G1:.*]] = stablehlo.dot_general %[[H2]], %[[H1]], contracting_dims = [] x []
// CHECK: %[[ROW1:.*]] = stablehlo.reshape %[[G1]]
// CHECK: %[[G0:.*]] = stablehlo.dot_general %{{.*}}, %[[X]], contracting_dims = [] x []
// CHECK: %[[ROW0:.*]] = stablehlo.reshape %[[G0]]
// CHECK: %[[G:.*]] = stablehlo.concatenate %[[ROW0]], %[[ROW1]], dim = 0
// CHECK-NOT: dynamic
// CHECK: return %[[G]]

// STAYS: remark: pcg-unroll: a loop of 2 iterations stays; allowed: 1 (most=)
// MOST-LABEL: @scans
// MOST-COUNT-2: while
func.func @scans(%x: tensor<3xf32>, %w: tensor<2x3x3xf32>) -> tensor<2x3x3xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %rows = stablehlo.constant dense<0.0> : tensor<2x3xf32>
  %grads = stablehlo.constant dense<0.0> : tensor<2x3x3xf32>
  %f:4 = stablehlo.while(%i = %zero, %h = %x, %s = %rows, %ws = %w) : tensor<i32>, tensor<3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>
  cond {
    %c = stablehlo.compare LT, %i, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %n = stablehlo.compare LT, %i, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %wrapped = stablehlo.add %i, %two : tensor<i32>
    %at = stablehlo.select %n, %wrapped, %i : tensor<i1>, tensor<i32>
    %b = stablehlo.dynamic_slice %ws, %at, %zero, %zero, sizes = [1, 3, 3] : (tensor<2x3x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x3xf32>
    %m = stablehlo.reshape %b : (tensor<1x3x3xf32>) -> tensor<3x3xf32>
    %d = stablehlo.dot_general %h, %m, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3x3xf32>) -> tensor<3xf32>
    %r = stablehlo.broadcast_in_dim %h, dims = [1] : (tensor<3xf32>) -> tensor<1x3xf32>
    %u = stablehlo.dynamic_update_slice %s, %r, %at, %zero : (tensor<2x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %d, %u, %ws : tensor<i32>, tensor<3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>
  }
  %g:5 = stablehlo.while(%i = %zero, %d = %f#1, %out = %grads, %s = %f#2, %ws = %w) : tensor<i32>, tensor<3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>
  cond {
    %c = stablehlo.compare LT, %i, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %back = stablehlo.subtract %one, %i : tensor<i32>
    %a = stablehlo.dynamic_slice %s, %back, %zero, sizes = [1, 3] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
    %h = stablehlo.reshape %a : (tensor<1x3xf32>) -> tensor<3xf32>
    %o = stablehlo.dot_general %d, %h, contracting_dims = [] x [] : (tensor<3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
    %r = stablehlo.reshape %o : (tensor<3x3xf32>) -> tensor<1x3x3xf32>
    %u = stablehlo.dynamic_update_slice %out, %r, %back, %zero, %zero : (tensor<2x3x3xf32>, tensor<1x3x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x3x3xf32>
    %b = stablehlo.dynamic_slice %ws, %back, %zero, %zero, sizes = [1, 3, 3] : (tensor<2x3x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x3xf32>
    %m = stablehlo.reshape %b : (tensor<1x3x3xf32>) -> tensor<3x3xf32>
    %e = stablehlo.dot_general %d, %m, contracting_dims = [0] x [1] : (tensor<3xf32>, tensor<3x3xf32>) -> tensor<3xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %e, %u, %s, %ws : tensor<i32>, tensor<3xf32>, tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>
  }
  return %g#2 : tensor<2x3x3xf32>
}

// -----

// A loop inside of another stays without `nested`; one without contractions always does.
// CHECK-LABEL: @nested
// CHECK-COUNT-2: stablehlo.while
// CHECK: stablehlo.dot_general
// CHECK: stablehlo.while
// CHECK: stablehlo.dot_general
// NESTED-LABEL: @nested
// NESTED: stablehlo.while
// NESTED-COUNT-4: stablehlo.dot_general
// NESTED-NOT: stablehlo.while
// NESTED: return
func.func @nested(%x: tensor<3xf32>, %w: tensor<3x3xf32>) -> tensor<3xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<3xf32>
  cond {
    %c = stablehlo.compare LT, %i, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %t = stablehlo.tanh %h : tensor<3xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %t : tensor<i32>, tensor<3xf32>
  }
  %o:2 = stablehlo.while(%i = %zero, %h = %r#1) : tensor<i32>, tensor<3xf32>
  cond {
    %c = stablehlo.compare LT, %i, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %n:2 = stablehlo.while(%j = %zero, %k = %h) : tensor<i32>, tensor<3xf32>
    cond {
      %c = stablehlo.compare LT, %j, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %d = stablehlo.dot_general %k, %w, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3x3xf32>) -> tensor<3xf32>
      %next = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %next, %d : tensor<i32>, tensor<3xf32>
    }
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %n#1 : tensor<i32>, tensor<3xf32>
  }
  return %o#1 : tensor<3xf32>
}

// -----

// REMARK: remark: pcg-unroll: a loop with contractions stays: its trip count is not a constant
// CHECK-LABEL: @unknown
// CHECK: while
func.func @unknown(%n: tensor<i32>, %x: tensor<3xf32>, %w: tensor<3x3xf32>) -> tensor<3xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %one, %h = %x) : tensor<i32>, tensor<3xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %d = stablehlo.dot_general %h, %w, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3x3xf32>) -> tensor<3xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %d : tensor<i32>, tensor<3xf32>
  }
  return %r#1 : tensor<3xf32>
}
