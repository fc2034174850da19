// REQUIRES: torch-mlir-opt
// RUN: %emit-irdl -o %t.irdl
// RUN: torch-mlir-opt --irdl-file=%t.irdl %s | FileCheck %s
// RUN: %pcg-opt %s | torch-mlir-opt --irdl-file=%t.irdl | FileCheck %s
// Upstream's tool reads our programs; only pcg.stage is beyond it (IRDL has no terminators).

// CHECK: "dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()
// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {model = "sum"}>}) -> tensor<8x4xf32> {
  // CHECK: "pcg.reduce"(%arg0) {axes = ["model"], dist.specs = [#dist.shard_spec<@mesh, {{\[\[}}"data"], []], {}>], kind = "sum"}
  %0 = "pcg.reduce"(%a) {axes = ["model"], kind = "sum", dist.specs = [#dist.shard_spec<@mesh, [["data"], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: stablehlo.tanh
  %1 = stablehlo.tanh %0 {dist.specs = [#dist.shard_spec<@mesh, [["data"], []], {}>]} : tensor<8x4xf32>
  // CHECK: "dist.all_to_all"
  %2 = "dist.all_to_all"(%1) {split_dim = 1, concat_dim = 0, axes = ["data"]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
