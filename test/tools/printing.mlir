// RUN: %pcg-opt %s --cse --canonicalize --mlir-print-ir-before=canonicalize -o %t.out 2>&1 | FileCheck %s --check-prefix=BEFORE
// RUN: %pcg-opt %s --cse --canonicalize --mlir-print-ir-after=cse -o %t.out 2>&1 | FileCheck %s --check-prefix=AFTER
// RUN: %pcg-opt %s --cse --dist-strip --mlir-print-ir-after-all -o %t.out 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: %pcg-opt %s --cse --dist-strip --mlir-print-ir-before-all -o %t.out 2>&1 | FileCheck %s --check-prefix=BALL
// RUN: %pcg-opt %s --cse --dist-strip --mlir-print-ir-after-change -o %t.out 2>&1 | FileCheck %s --check-prefix=CHANGE
// RUN: %pcg-opt %s --cse --dist-strip --mlir-timing -o %t.out 2>&1 | FileCheck %s --check-prefix=TIME
// RUN: %pcg-opt %s --cse --mlir-pass-statistics -o %t.out 2>&1 | FileCheck %s --check-prefix=STATS
// RUN: %pcg-opt %s --mlir-print-op-generic | FileCheck %s --check-prefix=GENERIC
// RUN: %pcg-opt %s --mlir-print-debuginfo | FileCheck %s --check-prefix=DEBUG
// RUN: not %pcg-opt %s --cse --mlir-print-ir-after=sccp 2>&1 | FileCheck %s --check-prefix=ABSENT

// BEFORE: // -----// IR Dump Before canonicalize //----- //
// BEFORE: stablehlo.tanh
// BEFORE-NOT: IR Dump
// AFTER: // -----// IR Dump After cse //----- //
// AFTER: stablehlo.tanh
// AFTER-NOT: IR Dump
// ALL: IR Dump After CSEPass
// ALL: IR Dump After StripPass
// BALL: IR Dump Before CSEPass
// BALL: IR Dump Before StripPass
// CHANGE: IR Dump After CSEPass
// CHANGE-NOT: IR Dump
// TIME: Execution time report
// TIME: CSEPass
// TIME: StripPass
// TIME: parse {{.*}} s, passes {{.*}} s, print {{.*}} s; peak memory {{[0-9]+}} MiB
// STATS: Pass statistics report
// GENERIC: "builtin.module"() ({
// GENERIC: "func.func"() <{
// DEBUG: loc({{.*}}printing.mlir":{{[0-9]+}}:
// ABSENT: error: cannot print the IR around pass 'sccp': it is not in the pipeline builtin.module(cse)
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %a : tensor<4xf32>
  %1 = stablehlo.tanh %a : tensor<4xf32>
  %2 = stablehlo.add %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
