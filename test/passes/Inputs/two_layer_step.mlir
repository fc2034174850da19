func.func @main(%w0: tensor<4x4xf32>, %w1: tensor<4x4xf32>, %x: tensor<8x4xf32>) -> (tensor<4x4xf32> {pcg.state = 0 : i64}, tensor<4x4xf32> {pcg.state = 1 : i64}, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %h = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %t = stablehlo.tanh %h : tensor<8x4xf32>
  %y = stablehlo.dot_general %t, %w1, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %q = stablehlo.multiply %y, %y : tensor<8x4xf32>
  %loss = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
  %dy = stablehlo.add %y, %y : tensor<8x4xf32>
  %g1 = stablehlo.dot_general %t, %dy, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %dt = stablehlo.dot_general %dy, %w1, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %tt = stablehlo.multiply %t, %t : tensor<8x4xf32>
  %d = stablehlo.multiply %dt, %tt : tensor<8x4xf32>
  %dh = stablehlo.subtract %dt, %d : tensor<8x4xf32>
  %g0 = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %n0 = stablehlo.subtract %w0, %g0 : tensor<4x4xf32>
  %n1 = stablehlo.subtract %w1, %g1 : tensor<4x4xf32>
  return %n0, %n1, %loss : tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>
}
