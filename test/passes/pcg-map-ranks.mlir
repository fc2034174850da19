// RUN: %pcg-opt %s --split-meshes --pcg-map-ranks --cluster=preset:dgx-h100:nodes=2,gpus=2 --remarks 2>&1 | FileCheck %s
// RUN: %pcg-opt %s --split-meshes --pcg-map-ranks --cluster=preset:dgx-h100:nodes=2,gpus=2 --pcg-map-ranks=method=naive --remarks 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: %pcg-opt %s --split-meshes --pcg-map-ranks | FileCheck %s --check-prefix=NONE
// RUN: not %pcg-opt %s --split-meshes --pcg-map-ranks=kinds=a=V100 --cluster=preset:dgx-h100:nodes=2,gpus=2 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not %pcg-opt %s --split-meshes --pcg-map-ranks=kinds=c=V100 --cluster=preset:dgx-h100:nodes=2,gpus=2 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not %pcg-opt %s --pcg-map-ranks --cluster=preset:dgx-h100:nodes=2,gpus=2 2>&1 | FileCheck %s --check-prefix=STAGES

// Each process of @a sends its shard to the one of @b at its position: the two belong in one node.
// CHECK: remark: pcg-map-ranks: 4 processes exchange for {{.*}} us per step (no device mapping is faster); in the order of numbers
// CHECK: sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 2]>
// CHECK: sym_name = "b", value = #dist.process_mesh<["x"], [2], [1, 3]>

// AGAIN: sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 2]>

// Without a cluster nothing happens.
// NONE: sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>

// KIND: error: pcg-map-ranks: process 0 needs kind 'V100'; there are
// MESH: error: pcg-map-ranks: option 'kinds': 'c=V100'; expected mesh=kind, of the meshes a, b
// STAGES: error: pcg-map-ranks: the entry function has no stages; run pcg-split-meshes and pcg-place-stages first
"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {sym_name = "b", value = #dist.process_mesh<["x"], [2], [2, 3]>} : () -> ()
func.func @main(%x: tensor<1024x512xf32> {dist.spec = #dist.shard_spec<@a, [["x"], []], {}>})
    -> (tensor<1024x512xf32> {dist.spec = #dist.shard_spec<@b, [["x"], []], {}>}) {
  %h = stablehlo.tanh %x {dist.specs = [#dist.shard_spec<@a, [["x"], []], {}>]} : tensor<1024x512xf32>
  %y = stablehlo.exponential %h {dist.specs = [#dist.shard_spec<@b, [["x"], []], {}>]} : tensor<1024x512xf32>
  return %y : tensor<1024x512xf32>
}
