// RUN: %pcg-opt %s --pass-pipeline="dist-propagate{engine=bfs strategies=true}" --remarks -o /dev/null 2>&1 | FileCheck %s
// RUN: %pcg-opt %s --pass-pipeline="dist-propagate{engine=bfs},dist-insert-reshards,dist-fuse-collectives{reduce-scatter=false}" | FileCheck %s --check-prefix=WHOLE
// RUN: %pcg-opt %s --pass-pipeline="dist-propagate{engine=bfs},dist-insert-reshards,dist-fuse-collectives" | FileCheck %s --check-prefix=SCATTER
// RUN: not %pcg-opt %s --dist-propagate=engine=dfs 2>&1 | FileCheck %s --check-prefix=ERROR

// MindSpore's example from the first bias on: the row-split result of the second product is cut over all devices.
// CHECK: 'stablehlo.add' op has strategy ((2,4),(4))
// CHECK: 'stablehlo.maximum' op has strategy ((2,4))
// CHECK: 'stablehlo.dot_general' op has strategy ((2,4),(4,1))
// CHECK: 'stablehlo.tanh' op has strategy ((2,4))
// WHOLE: [[P:%.*]] = stablehlo.dot_general
// WHOLE-NEXT: [[R:%.*]] = "dist.all_reduce"([[P]])
// WHOLE-NEXT: "dist.slice"([[R]])
// SCATTER: [[P:%.*]] = stablehlo.dot_general
// SCATTER-NEXT: "dist.reduce_scatter"([[P]])
// ERROR: option 'engine': expected one of global, dataflow, bfs, priority, got 'dfs'
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(
    %h: tensor<64x64xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], ["y"]], {}>}, %b: tensor<64xf32>,
    %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.add %h, %0 : tensor<64x64xf32>
  %z = stablehlo.constant dense<0.0> : tensor<64x64xf32>
  %2 = stablehlo.maximum %1, %z : tensor<64x64xf32>
  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = stablehlo.tanh %3 : tensor<64x64xf32>
  return %4 : tensor<64x64xf32>
}
