// Upstream's own tool reads our IR, given the IRDL definition.
// REQUIRES: torch-mlir-opt
// RUN: %emit-irdl -o %t.irdl.mlir
// RUN: %pcg-opt %s -o %t.mlir
// RUN: torch-mlir-opt --irdl-file=%t.irdl.mlir %t.mlir | FileCheck %s
// RUN: sed -e 's/axes = \["data"\], //' %t.mlir > %t.bad.mlir
// RUN: not torch-mlir-opt --irdl-file=%t.irdl.mlir %t.bad.mlir 2>&1 | FileCheck %s --check-prefix=BAD

// CHECK: "dist.mesh"
// CHECK: #dist.shard_spec<@mesh
// CHECK: "pcg.partition"(%arg0)
// BAD: error: {{.*}}axes
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
func.func @main(%a: tensor<4xf32> {dist.spec = #dist.shard_spec<@mesh, [[]], {}>}) -> tensor<4xf32> {
  %0 = "pcg.partition"(%a) {axes = ["data"], dim = 0, dist.specs = [#dist.shard_spec<@mesh, [["data"]], {}>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
