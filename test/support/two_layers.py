"""A training step of two layers as text: gradient descent, with a squared output for a loss."""

#: To be formatted: `donated` are attributes of the first weight.
STEP = """
func.func @main(%w1: tensor<64x256xf32>{donated}, %w2: tensor<256x64xf32>, %x: tensor<256x64xf32>) -> (tensor<64x256xf32>, tensor<256x64xf32>) {{
  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x256xf32>) -> tensor<256x256xf32>
  %1 = stablehlo.tanh %0 : tensor<256x256xf32>
  %2 = stablehlo.dot_general %1, %w2, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %3 = stablehlo.dot_general %1, %2, contracting_dims = [0] x [0] : (tensor<256x256xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %4 = stablehlo.dot_general %2, %w2, contracting_dims = [1] x [1] : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x256xf32>
  %5 = stablehlo.dot_general %x, %4, contracting_dims = [0] x [0] : (tensor<256x64xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
  %6 = stablehlo.subtract %w1, %5 : tensor<64x256xf32>
  %7 = stablehlo.subtract %w2, %3 : tensor<256x64xf32>
  return %6, %7 : tensor<64x256xf32>, tensor<256x64xf32>
}}
"""
