// RUN: %pcg-opt %s --split-input-file --verify-diagnostics --pcg-emulate

// expected-error @+1 {{the module has no pcg.mesh; only what pcg-lower-spmd made can be emulated}}
module {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { func.return %x : tensor<8xf32> }
}
