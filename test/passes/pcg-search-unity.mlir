// RUN: %pcg-opt %s --mesh x=4 --pcg-search="algorithm=unity disjoint=true" --remarks -o - 2>&1 | FileCheck %s
// RUN: %pcg-opt %s --mesh x=4 --pcg-search="algorithm=unity ablation=split,cache,dp" -o - 2>&1 | FileCheck %s --check-prefix=SPECS
// RUN: not %pcg-opt %s --mesh x=4 --pcg-search="algorithm=unity ablation=memo" -o /dev/null 2>&1 | FileCheck %s --check-prefix=PART
// RUN: not %pcg-opt %s --mesh x=4 --pcg-search="algorithm=dynamic" -o /dev/null 2>&1 | FileCheck %s --check-prefix=NAME

// PART: error: pcg-search: option 'ablation': cannot leave out 'memo'; allowed: split, cache, dp
// NAME: 'algorithm'
// NAME-SAME: exact, unity

// Large weights and a batch too small to split: columns of the first, rows of the second, as the exact search does.
// CHECK: remark: pcg-search: plan: {{.*}} us per step by estimate{{.*}}branches on disjoint devices (estimated only)
// CHECK: func.func @main(%arg0
// SPECS: func.func @main(%arg0
// CHECK-SAME: tensor<4096x16384xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}], ["x"]], {}>}
// CHECK-SAME: tensor<16384x4096xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}"x"], []], {}>}
// SPECS-SAME: tensor<4096x16384xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}], ["x"]], {}>}
// SPECS-SAME: tensor<16384x4096xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}"x"], []], {}>}
func.func @main(%x: tensor<2x4096xf32>, %w1: tensor<4096x16384xf32>, %w2: tensor<16384x4096xf32>) -> tensor<2x4096xf32> {
  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<2x4096xf32>, tensor<4096x16384xf32>) -> tensor<2x16384xf32>
  %1 = stablehlo.tanh %0 : tensor<2x16384xf32>
  // CHECK: stablehlo.dot_general {{.*}}dist.specs = [#dist.shard_spec<@mesh, {{\[\[}}], []], {x = "sum"}>]
  %2 = stablehlo.dot_general %1, %w2, contracting_dims = [1] x [0] : (tensor<2x16384xf32>, tensor<16384x4096xf32>) -> tensor<2x4096xf32>
  func.return %2 : tensor<2x4096xf32>
}
