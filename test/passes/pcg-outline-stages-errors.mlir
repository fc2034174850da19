// RUN: %pcg-opt %s --pcg-outline-stages --split-input-file --verify-diagnostics

// expected-error @+1 {{no op has a stage; run pcg-assign-stages first}}
func.func @main(%w: tensor<4xf32>) -> tensor<4xf32> {
  %n = stablehlo.negate %w : tensor<4xf32>
  return %n : tensor<4xf32>
}

// -----

// expected-error @+1 {{the module has no mesh; add one with --mesh stage=size,...}}
func.func @main(%w: tensor<4xf32>) -> tensor<4xf32> {
  %n = stablehlo.negate %w {pcg.stage = 0 : i64} : tensor<4xf32>
  return %n : tensor<4xf32>
}

// -----

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
// expected-error @+1 {{groups of devices lie along an axis: mesh data=2 has no axis 'stage'; its axes: data}}
func.func @main(%w: tensor<4xf32>) -> tensor<4xf32> {
  %n = stablehlo.negate %w {pcg.stage = 0 : i64} : tensor<4xf32>
  return %n : tensor<4xf32>
}

// -----

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["stage"], [2], []>} : () -> ()
// expected-error @+1 {{1 stages on 2 groups of devices; allowed: a multiple of the groups}}
func.func @main(%w: tensor<4xf32>) -> tensor<4xf32> {
  %n = stablehlo.negate %w {pcg.stage = 0 : i64} : tensor<4xf32>
  return %n : tensor<4xf32>
}

// -----

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["stage"], [1], []>} : () -> ()
func.func @main(%w: tensor<4xf32>, %x: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %p = "pcg.pipeline"(%x) {dim = 0, block = 1, microbatches = 2} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  // expected-error @+1 {{'stablehlo.negate' op of a microbatch has stage 0 and phase ''; run pcg-assign-stages and pcg-split-backward first}}
  %n = stablehlo.negate %p {pcg.stage = 0 : i64} : tensor<4x4xf32>
  %s = "pcg.batch"(%n) {kind = "sum", microbatches = 2, pcg.stage = 0 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}
