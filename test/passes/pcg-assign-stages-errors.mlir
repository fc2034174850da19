// RUN: %pcg-opt %s --pcg-assign-stages="stages=2" --split-input-file --verify-diagnostics

// expected-error @+1 {{the program has no microbatches; run pcg-microbatch first}}
func.func @main(%w: tensor<4xf32>) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}

// -----

// expected-error @+1 {{2 stages for 1 ops of the forward pass; allowed: 1 to 1}}
func.func @main(%w: tensor<4xf32>, %v: tensor<4xf32>, %x: tensor<8x4xf32>) -> (tensor<4xf32> {pcg.state = 0 : i64}, tensor<4xf32> {pcg.state = 1 : i64}, tensor<4x4xf32>) {
  %p = "pcg.pipeline"(%x) {dim = 0, block = 1, microbatches = 2} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %n = stablehlo.negate %p : tensor<4x4xf32>
  %s = "pcg.batch"(%n) {kind = "sum", microbatches = 2} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %w, %v, %s : tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>
}

// -----

func.func @main(%w: tensor<4xf32>, %v: tensor<4xf32>, %x: tensor<8x4xf32>) -> (tensor<4xf32> {pcg.state = 0 : i64}, tensor<4xf32> {pcg.state = 1 : i64}, tensor<4x4xf32>) {
  %p = "pcg.pipeline"(%x) {dim = 0, block = 1, microbatches = 2} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  %n = stablehlo.negate %p : tensor<4x4xf32>
  // expected-error @+1 {{2 stages, but 2 pcg.stage_boundary; allowed: 3 stages}}
  %a = stablehlo.custom_call @pcg.stage_boundary(%n) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = stablehlo.custom_call @pcg.stage_boundary(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %m = stablehlo.negate %b : tensor<4x4xf32>
  %s = "pcg.batch"(%m) {kind = "sum", microbatches = 2} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %w, %v, %s : tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>
}
