// RUN: %pcg-opt %s --pcg-accumulate="microbatches=2" --split-input-file --verify-diagnostics

// Normalisation by a statistic of the batch: no partial sum splits it, over devices or over time.
func.func @main(%w: tensor<4xf32>, %v: tensor<4xf32>, %x: tensor<8x4xf32>) -> (tensor<4xf32> {pcg.state = 0 : i64}, tensor<4xf32> {pcg.state = 1 : i64}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %wide = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %h = stablehlo.dot_general %x, %wide, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  %mean = stablehlo.reduce(%h init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  %m = stablehlo.broadcast_in_dim %mean, dims = [1] : (tensor<8xf32>) -> tensor<8x8xf32>
  // expected-error @+1 {{'stablehlo.subtract' op combines each example with what is reduced over the whole batch (by 'stablehlo.reduce')}}
  %c = stablehlo.subtract %h, %m : tensor<8x8xf32>
  %s = stablehlo.reduce(%c init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4xf32>
  return %b, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @+1 {{a batch of 7 does not divide into 2 microbatches}}
func.func @main(%w: tensor<4xf32>, %v: tensor<4xf32>, %x: tensor<7x4xf32>) -> (tensor<4xf32> {pcg.state = 0 : i64}, tensor<4xf32> {pcg.state = 1 : i64}) {
  return %w, %v : tensor<4xf32>, tensor<4xf32>
}

// -----

// What depends on where in the batch an example is cannot run on a part of it.
func.func @main(%w: tensor<4xf32>, %v: tensor<4xf32>, %x: tensor<8x4xf32>) -> (tensor<4xf32> {pcg.state = 0 : i64}, tensor<4xf32> {pcg.state = 1 : i64}, tensor<8x4xf32>) {
  // expected-error @+1 {{'stablehlo.reverse' op}}
  %r = stablehlo.reverse %x, dims = [0] : tensor<8x4xf32>
  return %w, %v, %r : tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32>
}
