// RUN: %pcg-opt %s --pcg-accumulate="microbatches=2" --split-input-file --verify-diagnostics

// expected-error @+1 {{the program runs in microbatches already; allowed: no microbatches=}}
func.func @main(%w: tensor<4xf32>, %v: tensor<4xf32>, %x: tensor<8x4xf32>) -> (tensor<4xf32> {pcg.state = 0 : i64}, tensor<4xf32> {pcg.state = 1 : i64}, tensor<4x4xf32>) {
  %p = "pcg.pipeline"(%x) {dim = 0, block = 1, microbatches = 2} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %s = "pcg.batch"(%p) {kind = "sum", microbatches = 2} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %w, %v, %s : tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>
}
