// RUN: %pcg-opt %s --mesh x=4 --pcg-select --split-input-file | FileCheck %s
// RUN: %pcg-opt %s --mesh x=4 --pcg-select --split-input-file --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %pcg-opt %s --auto-parallel --cluster=preset:dgx-h100:1 --mesh x=4 --split-input-file --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=CLUSTER
// RUN: %pcg-opt %s --auto-parallel --mesh x=4 --split-input-file --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=GENERIC
// RUN: %pcg-opt %s --pcg-normalize --pcg-choose-mesh --pcg-select=meshes=any --cluster=preset:dgx-h100:1 --devices=4 --split-input-file --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=FREE
// RUN: %pcg-opt %s --mesh x=4 --pcg-select=candidates=search --split-input-file --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=SEARCH
// RUN: not %pcg-opt %s --mesh x=4 --pcg-select=memory-limit=1KiB --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not %pcg-opt %s --pcg-select --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not %pcg-opt %s --pcg-select=candidates=some 2>&1 | FileCheck %s --check-prefix=OPTION

// MEMORY: error: pcg-select: no plan fits in 1.00 KiB per device; the smallest one found needs
// MESH: error: pcg-select: there is no mesh to plan for; give --mesh name=size,... or a dist.mesh
// OPTION: pass 'pcg-select', option 'candidates': expected one of all, search, got 'some'

// A step of two layers with momentum. All candidates are named, with what they take.
// REMARK: remark: pcg-select: plan: {{.*}} us per step by simulation, {{.*}} MiB per device, fastest of {{[0-9]+}}, {{.*}}; rejected: {{.*}}megatron x=4 model=x {{[0-9.]+}} us, {{[0-9.]+}} MiB; {{.*}}data x=4 {{[0-9.]+}} us
// A mesh that is given stays.
// CLUSTER: remark: pcg-select: plan: {{.*}}; rejected: {{.*}}data x=4
// CLUSTER-NOT: remark: pcg-search: plan
// Without a cluster the search decides alone.
// GENERIC-NOT: remark: pcg-select
// GENERIC: remark: pcg-search: plan:
// Where the mesh is free, experts may have another one.
// FREE: remark: pcg-choose-mesh: mesh d0=
// FREE: remark: pcg-select: plan: {{.*}}; rejected: {{.*}}data=2,model=2
// SEARCH: remark: pcg-select: plan: search
// SEARCH-NOT: megatron
// CHECK: module attributes {pcg.selected}
// CHECK-LABEL: func.func @main
// CHECK-SAME: dist.spec = #dist.shard_spec<@mesh
// CHECK: stablehlo.dot_general {{.*}}dist.specs = [#dist.shard_spec<@mesh
func.func @main(%w1: tensor<256x1024xf32>, %w2: tensor<1024x256xf32>, %m1: tensor<256x1024xf32>, %m2: tensor<1024x256xf32>, %x: tensor<512x256xf32>)
    -> (tensor<256x1024xf32>, tensor<1024x256xf32>, tensor<256x1024xf32>, tensor<1024x256xf32>, tensor<512x256xf16>) {
  %h = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<512x256xf32>, tensor<256x1024xf32>) -> tensor<512x1024xf32>
  %t = stablehlo.tanh %h : tensor<512x1024xf32>
  %y = stablehlo.dot_general %t, %w2, contracting_dims = [1] x [0] : (tensor<512x1024xf32>, tensor<1024x256xf32>) -> tensor<512x256xf32>
  %g2 = stablehlo.dot_general %t, %y, contracting_dims = [0] x [0] : (tensor<512x1024xf32>, tensor<512x256xf32>) -> tensor<1024x256xf32>
  %dt = stablehlo.dot_general %y, %w2, contracting_dims = [1] x [1] : (tensor<512x256xf32>, tensor<1024x256xf32>) -> tensor<512x1024xf32>
  %dh = stablehlo.multiply %dt, %t : tensor<512x1024xf32>
  %g1 = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0] : (tensor<512x256xf32>, tensor<512x1024xf32>) -> tensor<256x1024xf32>
  %v1 = stablehlo.add %m1, %g1 : tensor<256x1024xf32>
  %v2 = stablehlo.add %m2, %g2 : tensor<1024x256xf32>
  %n1 = stablehlo.subtract %w1, %v1 : tensor<256x1024xf32>
  %n2 = stablehlo.subtract %w2, %v2 : tensor<1024x256xf32>
  %out = stablehlo.convert %y : (tensor<512x256xf32>) -> tensor<512x256xf16>
  return %n1, %n2, %v1, %v2, %out : tensor<256x1024xf32>, tensor<1024x256xf32>, tensor<256x1024xf32>, tensor<1024x256xf32>, tensor<512x256xf16>
}

// -----

// A program with a layout of its own: baselines would contradict it.
// REMARK: remark: pcg-select: plan: search{{[^,]*}}, {{.*}} us per step by simulation
// REMARK-NOT: zero1
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<512x256xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}], ["x"]], {}>}
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [4], []>} : () -> ()
func.func @main(%x: tensor<512x256xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["x"]], {}>}, %w: tensor<256x256xf32>) -> tensor<512x256xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x256xf32>, tensor<256x256xf32>) -> tensor<512x256xf32>
  return %0 : tensor<512x256xf32>
}
