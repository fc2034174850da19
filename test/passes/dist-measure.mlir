// RUN: %pcg-opt %s --dist-propagate=engine=dataflow --dist-measure --remarks -o /dev/null 2>&1 | FileCheck %s
// RUN: %pcg-opt %s --pcg-search --dist-measure --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=SEARCH
// RUN: not %pcg-opt %s --dist-measure 2>&1 | FileCheck %s --check-prefix=ERROR

// Propagation says the same of its outcome.  The search sends as much here.
// CHECK: remark: dist-propagate: engine=dataflow: [[US:[0-9.]+]] us per step ([[REST:.*]])
// CHECK: remark: dist-measure: [[US]] us per step ([[REST]])
// SEARCH: remark: dist-measure: {{[0-9.]+}} us per step (compute {{[0-9.]+}} us, redistribution {{[0-9.]+}} us, 256 bytes sent per device)
// ERROR: error: dist-measure: {{.*}}'stablehlo.dot_general' op lacks the layout of an operand or result
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
func.func @main(%x: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["x"]], {}>},
                %w: tensor<16x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>})
    -> (tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
