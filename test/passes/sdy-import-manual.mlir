// A manual computation that leaves an axis automatic, with one over that axis and a call inside.
// RUN: %pcg-opt %s --sdy-import | FileCheck %s
// RUN: %pcg-opt %s --auto-parallel --lower | FileCheck %s --check-prefix=LOCAL
// RUN: %pcg-opt %s | FileCheck %s --check-prefix=PRINTED
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.custom_call @dist.manual(%arg0)
// CHECK-SAME: in_specs = [#dist.shard_spec<@mesh, {{\[\[}}"x"], []], {}>]
// CHECK-SAME: repeats = 4 : i64
// CHECK: func.func private @shard_map_0(%arg0: tensor<4x16xf32>)
// CHECK: call @double
// CHECK: stablehlo.custom_call @dist.manual
// CHECK-SAME: in_specs = [#dist.shard_spec<@mesh, {{\[}}[], ["y"]], {}>]
// CHECK-SAME: repeats = 2 : i64
// PRINTED: "sdy.return"(%{{[0-9]+}}) : (tensor<4x16xf32>) -> ()
// PRINTED-NEXT: })
// LOCAL-LABEL: func.func @main(%arg0: tensor<4x16xf32>)
// LOCAL: stablehlo.add
// LOCAL: stablehlo.partition_id
// LOCAL: sizes = [4, 4] : (tensor<4x16xf32>
// LOCAL: "stablehlo.all_reduce"
// LOCAL-SAME: [0, 1, 2, 3], [4, 5, 6, 7]
// LOCAL: "stablehlo.all_gather"
// LOCAL-SAME: [0, 1, 2, 3], [4, 5, 6, 7]
// LOCAL-SAME: (tensor<4x4xf32>) -> tensor<4x16xf32>
// LOCAL-NOT: func.func private
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{"x", ?}, {?}]>] manual_axes={"x"} (%b: tensor<4x16xf32>) {
    %1 = func.call @double(%b) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>] manual_axes={"y"} (%c: tensor<4x4xf32>) {
      %3 = "stablehlo.all_reduce"(%c) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
      ^bb0(%d: tensor<f32>, %e: tensor<f32>):
        %4 = stablehlo.add %d, %e : tensor<f32>
        stablehlo.return %4 : tensor<f32>
      }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
      sdy.return %3 : tensor<4x4xf32>
    } : (tensor<4x16xf32>) -> tensor<4x16xf32>
    sdy.return %2 : tensor<4x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
func.func private @double(%a: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = stablehlo.add %a, %a : tensor<4x16xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{?}, {?}]> : tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}
