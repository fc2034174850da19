// RUN: %pcg-opt %s --mesh data=2 | FileCheck %s
// RUN: not %pcg-opt %s --mesh data=4 2>&1 | FileCheck %s --check-prefix=BAD
// CHECK: "dist.mesh"
// CHECK-NOT: "dist.mesh"
// BAD: mesh_conflict.mlir:{{[0-9]+}}:1: error: --mesh=data=4 disagrees with the mesh of the program, data=2
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
