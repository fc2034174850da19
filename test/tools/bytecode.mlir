// RUN: %pcg-opt %s --emit-bytecode -o %t.bc
// RUN: %pcg-opt %t.bc | FileCheck %s
// RUN: %pcg-opt %s --emit-bytecode | %pcg-opt --cse | FileCheck %s
// RUN: %pcg-opt %s --verify-roundtrip | FileCheck %s
// RUN: %pcg-opt %s --mesh data=2,model=4 --emit-bytecode | %pcg-opt | FileCheck %s --check-prefix=MESH

// MESH: "dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.tanh
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
