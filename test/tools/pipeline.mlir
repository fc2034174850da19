// Flags run in the order given; C++ and Python passes mix; a pipeline may be wrapped or bare.
// RUN: %pcg-opt %s --cse --canonicalize | FileCheck %s
// RUN: %pcg-opt %s -cse -canonicalize | FileCheck %s
// RUN: %pcg-opt %s --pass-pipeline='builtin.module(dist-strip,func.func(cse,canonicalize))' | FileCheck %s
// RUN: %pcg-opt < %s --pass-pipeline=cse,dist-strip | FileCheck %s
// RUN: %pcg-opt %s --cse -o %t && FileCheck %s < %t
// RUN: %pcg-opt %s --cse --dist-strip --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=DUMP
// RUN: %pcg-opt %s --cse --canonicalize=max-iterations=3 | FileCheck %s

// DUMP: Pass Manager with 2 passes:
// DUMP-NEXT: builtin.module(cse,dist-strip)

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[T:.*]] = stablehlo.tanh
// CHECK-NEXT: stablehlo.add %[[T]], %[[T]]
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %a : tensor<4xf32>
  %1 = stablehlo.tanh %a : tensor<4xf32>
  %2 = stablehlo.add %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
