// One all-to-all over two axes that split two dimensions and come to split a third; a replicated value that joins partial sums.
// RUN: %pcg-opt %s --dist-insert-reshards --dist-fuse-collectives --split-input-file | FileCheck %s
// RUN: %pcg-opt %s --dist-insert-reshards --dist-fuse-collectives --pcg-lower-spmd --split-input-file | FileCheck %s --check-prefix=LOCAL

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [4, 2], []>} : () -> ()
// CHECK-LABEL: @both
// CHECK: "dist.regroup"(%{{.*}}) {dist.specs = [#dist.shard_spec<@mesh, {{\[\[\], \["x", "y"\], \[\]\]}}, {}>]}
// CHECK-NEXT: return
// LOCAL-LABEL: @both
// LOCAL: stablehlo.reshape {{.*}} -> tensor<32x8x8x16xf32>
// LOCAL: "stablehlo.all_to_all"{{.*}}split_count = 8
// LOCAL-NOT: stablehlo.all_gather
// LOCAL: return %{{.*}} : tensor<64x8x64xf32>
func.func @both(%a: tensor<64x64x64xf32> {dist.spec = #dist.shard_spec<@mesh, [["y"], [], ["x"]], {}>})
    -> (tensor<64x64x64xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["x", "y"], []], {}>}) {
  return %a : tensor<64x64x64xf32>
}

// -----

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [4, 2], []>} : () -> ()
// CHECK-LABEL: @join
// CHECK: %[[MASKED:.*]] = "dist.mask"(%arg2) {axes = ["x"], {{.*}}kind = "sum"}
// CHECK: stablehlo.add %{{.*}}, %[[MASKED]]
// CHECK: "dist.all_reduce"
// LOCAL-LABEL: @join
// LOCAL: stablehlo.partition_id
// LOCAL: stablehlo.select
// LOCAL: stablehlo.all_reduce
func.func @join(%a: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["x"]], {}>},
                %b: tensor<16x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>},
                %c: tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>})
    -> (tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    {dist.specs = [#dist.shard_spec<@mesh, [[], []], {x = "sum"}>]} : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.add %0, %c {dist.specs = [#dist.shard_spec<@mesh, [[], []], {x = "sum"}>],
    dist.operand_specs = [#dist.shard_spec<@mesh, [[], []], {x = "sum"}>, #dist.shard_spec<@mesh, [[], []], {x = "sum"}>]} : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
