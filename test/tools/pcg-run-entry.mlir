// The function that a program runs need not be called main.

// RUN: %pcg-run %s --mesh x=2 --check --repeat 1 | FileCheck %s

// CHECK: AGREES: 1 results
func.func @step(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %r = stablehlo.reverse %x, dims = [0] : tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
