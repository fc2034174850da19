// RUN: %pcg-opt %s --pcg-split-backward --split-input-file --verify-diagnostics

// expected-error @+1 {{pcg-split-backward: cannot tell the forward part from the backward part: no result is a loss}}
func.func @main(%w1: tensor<4x4xf32>, %w2: tensor<4x4xf32>, %x: tensor<4x4xf32>) -> (tensor<4x4xf32> {pcg.state = 0 : i64}, tensor<4x4xf32> {pcg.state = 1 : i64}) {
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
  return %n1, %n2 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

func.func @main(%w: tensor<4x4xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {pcg.stage = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // expected-error @+1 {{'stablehlo.reduce' has no pcg.stage, and other ops have; allowed: all of them, or none}}
  %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
  return %w, %loss : tensor<4x4xf32>, tensor<f32>
}

// -----

func.func @main(%w: tensor<4x8xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<2x4xf32>) -> (tensor<4x8xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x8xf32>, tensor<f32>) -> tensor<f32>
  // expected-error @+1 {{@pcg.matmul_grad has types tensor<2x4xf32>, tensor<4x8xf32>, tensor<2x8xf32>, tensor<4x8xf32>, tensor<2x4xf32>; allowed: x: [..., k], w: [k, n] and dy: [..., n] to dx: [..., k] and dw: [k, n]}}
  %dw, %dx = stablehlo.custom_call @pcg.matmul_grad(%x, %w, %y) : (tensor<2x4xf32>, tensor<4x8xf32>, tensor<2x8xf32>) -> (tensor<4x8xf32>, tensor<2x4xf32>)
  return %dw, %loss : tensor<4x8xf32>, tensor<f32>
}

