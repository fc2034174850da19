// RUN: %pcg-opt %s --dist-strip | FileCheck %s
// RUN: %pcg-opt %s --dist-strip | %pcg-opt --dist-strip | FileCheck %s

// CHECK-NOT: dist.
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
// CHECK: func.func @main(%arg0: tensor<8x4xf32> {jax.buffer_donor = true}) -> tensor<8x4xf32> {
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>, jax.buffer_donor = true})
    -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  // CHECK-NEXT: %0 = stablehlo.tanh %arg0 : tensor<8x4xf32>
  %0 = stablehlo.tanh %a {dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {}>], dist.operand_specs = [unit]} : tensor<8x4xf32>
  %1 = "pcg.combine"(%0) {dim = 0, axes = ["x"], dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = "dist.constraint"(%1) {spec = #dist.shard_spec<@mesh, [[], []], {}>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: return %0
  return %2 : tensor<8x4xf32>
}
// CHECK-NOT: {{dist|pcg}}.
