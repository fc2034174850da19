// RUN: not %pcg-opt %s 2>&1 | FileCheck %s
// RUN: %pcg-opt %s --allow-unregistered-dialect | FileCheck %s --check-prefix=ALLOWED
// CHECK: unknown_op.mlir:{{[0-9]+}}:{{[0-9]+}}: error: unknown operation 'foo.bar'
// CHECK-NOT: Traceback
// ALLOWED: "foo.bar"()
func.func @main() {
  "foo.bar"() : () -> ()
  return
}
