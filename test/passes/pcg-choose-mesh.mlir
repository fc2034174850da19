// RUN: %pcg-opt %s --pcg-choose-mesh="devices=12" --split-input-file | FileCheck %s --check-prefixes=CHECK,FREE
// RUN: %pcg-opt %s --pcg-choose-mesh="devices=12" --split-input-file --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=FREE-REMARK
// RUN: %pcg-opt %s --pcg-choose-mesh --cluster=preset:summit:2 --split-input-file | FileCheck %s --check-prefixes=CHECK,SUMMIT
// RUN: %pcg-opt %s --pcg-choose-mesh --cluster=preset:summit:2 --split-input-file --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=SUMMIT-REMARK
// RUN: %pcg-opt %s --pcg-choose-mesh --split-input-file | FileCheck %s --check-prefix=NOTHING
// RUN: not %pcg-opt %s --pcg-choose-mesh="devices=12 memory-limit=1KiB" --pcg-search="memory-limit=1KiB recompute=false accumulate=false" --split-input-file --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not %pcg-opt %s --pcg-choose-mesh="devices=13" --cluster=preset:summit:2 --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=MANY

// Where no plan fits, the mesh is the one on which the least memory is needed; the search says how much that is.
// MEMORY-DAG: error: pcg-search: no plan fits in 1.00 KiB per device
// MEMORY-DAG: remark: pcg-choose-mesh: mesh d0={{.*}}: no plan fits as it is, this mesh needs the least memory
// MANY: error: pcg-choose-mesh: mesh d0=13 has 13 positions; cluster 'summit' has 12 usable devices

// A number of devices: every mesh of them is tried; on a cluster, in every place.
// FREE-REMARK: remark: pcg-choose-mesh: mesh d0={{.*}} (any), best of 3, {{.*}} us per step by estimate; no other can be more than {{.*}}% better
// SUMMIT-REMARK: remark: pcg-choose-mesh: mesh d0={{.*}}(d0: {{.*}}), best of {{[0-9]+}}
// FREE: "dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["d0"
// SUMMIT: "dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["d0"
// NOTHING-LABEL: func.func @free
func.func @free(%x: tensor<1536x3072xf32>, %w: tensor<3072x3072xf32>) -> tensor<1536x3072xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1536x3072xf32>, tensor<3072x3072xf32>) -> tensor<1536x3072xf32>
  func.return %0 : tensor<1536x3072xf32>
}

// -----

// A mesh that names no devices stays, in its best place: the product is reduced over `model`, so `model` lies
// inside the nodes, which the order of the axes alone would not give.
// SUMMIT-REMARK: remark: pcg-choose-mesh: mesh model=6,data=2 (model: sockets x gpus; data: nodes), best of
// SUMMIT: #dist.process_mesh<["model", "data"], [6, 2], [0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]>
// FREE: #dist.process_mesh<["model", "data"], [6, 2], []>
// NOTHING: #dist.process_mesh<["model", "data"], [6, 2], []>
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["model", "data"], [6, 2], []>} : () -> ()
func.func @given(
    %x: tensor<1536x3072xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], ["model"]], {}>},
    %w: tensor<3072x1536xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], []], {}>})
    -> (tensor<1536x1536xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1536x3072xf32>, tensor<3072x1536xf32>) -> tensor<1536x1536xf32>
  func.return %0 : tensor<1536x1536xf32>
}

// -----

// A mesh that names its devices is as the user wants it.
// CHECK: #dist.process_mesh<["a"], [2], [1, 0]>
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["a"], [2], [1, 0]>} : () -> ()
func.func @named(%x: tensor<8xf32>) -> tensor<8xf32> {
  func.return %x : tensor<8xf32>
}
