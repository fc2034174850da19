// RUN: %pcg-opt %s --mesh x=4 --pcg-search --split-input-file | FileCheck %s
// RUN: %pcg-opt %s --mesh x=4 --pcg-search --split-input-file --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %pcg-opt %s --mesh x=4 --pcg-search="time-limit=3600 effort=proof" --split-input-file | FileCheck %s
// RUN: not %pcg-opt %s --mesh x=4 --pcg-search="time-limit=-1" --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=LIMIT
// RUN: not %pcg-opt %s --mesh x=4 --pcg-search="memory-limit=1KiB" --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not %pcg-opt %s --pcg-search --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=MESH

// REMARK: remark: pcg-search: plan: {{.*}} us per step by estimate (bound {{.*}} us)
// MEMORY: error: pcg-search: no plan fits in 1.00 KiB per device; the smallest one found needs
// LIMIT: error: pcg-search: option 'time-limit' is -1; allowed: 0 or more
// MESH: error: pcg-search: there is no mesh to plan for; give --mesh name=size,... or a dist.mesh

// Large weights and a batch too small to split: columns of the first, rows of the second, one reduction.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<2x4096xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}], []], {}>}
// CHECK-SAME: tensor<4096x16384xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}], ["x"]], {}>}
// CHECK-SAME: tensor<16384x4096xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}"x"], []], {}>}
func.func @main(%x: tensor<2x4096xf32>, %w1: tensor<4096x16384xf32>, %w2: tensor<16384x4096xf32>) -> tensor<2x4096xf32> {
  // CHECK: stablehlo.dot_general {{.*}}dist.specs = [#dist.shard_spec<@mesh, {{\[\[}}], ["x"]], {}>]
  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<2x4096xf32>, tensor<4096x16384xf32>) -> tensor<2x16384xf32>
  // CHECK: stablehlo.tanh {{.*}}dist.specs = [#dist.shard_spec<@mesh, {{\[\[}}], ["x"]], {}>]
  %1 = stablehlo.tanh %0 : tensor<2x16384xf32>
  // CHECK: stablehlo.dot_general {{.*}}dist.specs = [#dist.shard_spec<@mesh, {{\[\[}}], []], {x = "sum"}>]
  %2 = stablehlo.dot_general %1, %w2, contracting_dims = [1] x [0] : (tensor<2x16384xf32>, tensor<16384x4096xf32>) -> tensor<2x4096xf32>
  func.return %2 : tensor<2x4096xf32>
}

// -----

// A large batch: rows of the data, weights whole, nothing moves.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<65536x512xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}"x"], []], {}>}
// CHECK-SAME: tensor<512x512xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}], []], {}>}
func.func @main(%x: tensor<65536x512xf32>, %w: tensor<512x512xf32>) -> tensor<65536x512xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<65536x512xf32>, tensor<512x512xf32>) -> tensor<65536x512xf32>
  %1 = stablehlo.tanh %0 : tensor<65536x512xf32>
  func.return %1 : tensor<65536x512xf32>
}
