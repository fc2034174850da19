// RUN: %pcg-opt %s --pcg-normalize --split-input-file | FileCheck %s
// RUN: %pcg-opt %s --pcg-normalize --split-input-file --mlir-print-debuginfo | FileCheck %s --check-prefix=LOC

// Calls, also nested and in loops, are inlined; attributes of the function that stays are kept.
// CHECK-LABEL: func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<4xf32> {jax.result_info = "result"})
func.func public @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<4xf32> {jax.result_info = "result"}) {
  // CHECK-NEXT: %[[S:.*]] = stablehlo.sine %arg0
  // LOC: stablehlo.sine {{.*}} loc(#[[SINE:.*]])
  // CHECK-NEXT: stablehlo.while(%[[I:.*]] = %[[S]])
  // CHECK: stablehlo.sine %[[I]]
  %0 = call @outer(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.while(%i = %0) : tensor<4xf32> cond {
    %p = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %2 = func.call @inner(%i) : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %2 : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}
// CHECK-NOT: func.func
func.func private @outer(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @inner(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @inner(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sine %a : tensor<4xf32> loc("sine here")
  return %0 : tensor<4xf32>
}
// LOC: #[[SINE]] = loc("sine here")

// -----

// What is broadcast from a constant is a constant, and each use has its own; a loop does not capture them.
// CHECK-LABEL: func.func @sources
func.func @sources(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c = stablehlo.constant dense<2.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4xf32>
  // CHECK: %[[B0:.*]] = stablehlo.constant dense<2.000000e+00> : tensor<4xf32>
  // CHECK-NEXT: %[[M:.*]] = stablehlo.multiply %arg0, %[[B0]]
  %0 = stablehlo.multiply %a, %b : tensor<4xf32>
  // CHECK-NEXT: %[[B1:.*]] = stablehlo.constant dense<2.000000e+00> : tensor<4xf32>
  // CHECK-NEXT: stablehlo.add %[[M]], %[[B1]]
  %1 = stablehlo.add %0, %b : tensor<4xf32>
  %2 = stablehlo.while(%i = %1) : tensor<4xf32> cond {
    %p = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    // CHECK: do
    // CHECK-NEXT: stablehlo.constant dense<2.000000e+00> : tensor<4xf32>
    // CHECK-NEXT: stablehlo.subtract
    %3 = stablehlo.subtract %i, %b : tensor<4xf32>
    stablehlo.return %3 : tensor<4xf32>
  }
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// An op that does not fuse what it reads needs the elements in memory: they stay a broadcast, as does what is annotated.
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
// CHECK-LABEL: func.func @written
func.func @written(%a: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xcomplex<f32>>) {
  %c = stablehlo.constant dense<2.0> : tensor<f32>
  // CHECK: stablehlo.broadcast_in_dim
  // CHECK-NEXT: stablehlo.dot_general
  %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: stablehlo.broadcast_in_dim
  // CHECK-NEXT: stablehlo.add
  %d = stablehlo.broadcast_in_dim %c, dims = [] {dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : (tensor<f32>) -> tensor<4x4xf32>
  %1 = stablehlo.add %a, %d : tensor<4x4xf32>
  %z = stablehlo.constant dense<(1.0, 2.0)> : tensor<complex<f32>>
  // CHECK: stablehlo.broadcast_in_dim
  // CHECK-NEXT: stablehlo.negate
  %y = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<complex<f32>>) -> tensor<4xcomplex<f32>>
  %2 = stablehlo.negate %y : tensor<4xcomplex<f32>>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xcomplex<f32>>
}

// -----

// What changes nothing and what nobody uses goes; side effects stay.
// CHECK-LABEL: func.func @trivial
func.func @trivial(%a: tensor<4x2xf32>) -> tensor<4x2xf32> {
  // CHECK-NEXT: stablehlo.custom_call @effect(%arg0) {has_side_effect = true}
  // CHECK-NEXT: return %arg0
  %0 = stablehlo.convert %a : tensor<4x2xf32>
  %1 = stablehlo.reshape %0 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %2 = stablehlo.transpose %1, dims = [0, 1] : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %4 = stablehlo.sine %3 : tensor<4x2xf32>
  %5 = stablehlo.add %4, %4 : tensor<4x2xf32>
  stablehlo.custom_call @effect(%3) {has_side_effect = true} : (tensor<4x2xf32>) -> ()
  return %3 : tensor<4x2xf32>
}

// -----

// A rotation takes each place from one of two shifts of the whole tensor.
// CHECK-LABEL: func.func @rotation
func.func @rotation(%a: tensor<8x2xf32>) -> tensor<8x2xf32> {
  // CHECK: %[[A:.*]] = stablehlo.pad %arg0, %{{.*}}, low = [-7, 0], high = [7, 0], interior = [0, 0]
  // CHECK: %[[B:.*]] = stablehlo.pad %arg0, %{{.*}}, low = [1, 0], high = [-1, 0], interior = [0, 0]
  // CHECK: %[[I:.*]] = stablehlo.iota dim = 0
  // CHECK: %[[C:.*]] = stablehlo.compare LT, %[[I]]
  // CHECK: stablehlo.select %[[C]], %[[A]], %[[B]]
  %0 = stablehlo.slice %a [7:8, 0:2] : (tensor<8x2xf32>) -> tensor<1x2xf32>
  %1 = stablehlo.slice %a [0:7, 0:2] : (tensor<8x2xf32>) -> tensor<7x2xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x2xf32>, tensor<7x2xf32>) -> tensor<8x2xf32>
  return %2 : tensor<8x2xf32>
}

// -----

// A square transpose changes the value.
// CHECK-LABEL: func.func @square
func.func @square(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: stablehlo.transpose
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// Composites are inlined; those of CHLO ops become the op.
// CHECK-LABEL: func.func @composites
func.func @composites(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[E:.*]] = chlo.erf %arg0
  %0 = stablehlo.composite "chlo.erf" %a {decomposition = @impl} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: stablehlo.tanh %[[E]]
  %1 = stablehlo.composite "my.op" %0 {decomposition = @impl} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @impl(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
