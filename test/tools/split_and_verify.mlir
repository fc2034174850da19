// Line numbers are those of the whole file in every part.
// RUN: %pcg-opt %s --split-input-file --verify-diagnostics
// RUN: not %pcg-opt %s --split-input-file 2>&1 | FileCheck %s

// CHECK: split_and_verify.mlir:10:8: error: {{.*}}'stablehlo.tanh' op
// CHECK: split_and_verify.mlir:17:3: error: custom op 'nonsense'

func.func @types(%a: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'stablehlo.tanh' op}}
  %0 = "stablehlo.tanh"(%a) : (tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @unknown() {
  nonsense // expected-error {{custom op 'nonsense'}}
}

// -----

func.func @fine() { return }
