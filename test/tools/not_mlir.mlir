// RUN: not %pcg-opt %s 2>&1 | FileCheck %s
// CHECK: not_mlir.mlir:{{[0-9]+}}:1: error: custom op 'hello' is unknown
// CHECK-NEXT: hello world
// CHECK-NEXT: {{^}}^
// CHECK-NOT: Traceback
hello world
