// RUN: %pcg-opt %s --sdy-import --split-input-file | FileCheck %s

// Meshes, argument and result shardings, constraints; open dimensions; a mesh without axes demands nothing.
// CHECK: "dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
// CHECK-NOT: sdy
sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}]}}
sdy.mesh @same_axes = <["x"=2, "y"=4]>
sdy.mesh @empty_mesh = <[]>
// CHECK-LABEL: func.func public @main
// CHECK-SAME: %arg0: tensor<8x16xf32> {dist.priorities = [1, 0], dist.spec = #dist.shard_spec<@mesh, {{\[\[}}"x"], []], {}>}
// CHECK-SAME: %arg1: tensor<8x16xf32> {dist.open = [1], dist.spec = #dist.shard_spec<@mesh, {{\[\[}}"y", "x"], []], {}>, tf.aliasing_output = 0 : i32}
// CHECK-SAME: %arg2: tensor<8x16xf32>,
// CHECK-SAME: %arg3: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}], []], {}>}
// CHECK-SAME: -> (tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}], []], {}>, jax.result_info = "result"})
func.func public @main(
    %arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}p1, {}]>},
    %arg1: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@same_axes, [{"y", "x"}, {?}]>, tf.aliasing_output = 0 : i32},
    %arg2: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>},
    %arg3: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})
    -> (tensor<8x16xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  // CHECK-NEXT: %[[T:.*]] = stablehlo.tanh %arg0
  %0 = stablehlo.tanh %arg0 : tensor<8x16xf32>
  // CHECK-NEXT: %[[C:.*]] = "dist.constraint"(%[[T]]) {dist.open = [0], spec = #dist.shard_spec<@mesh, {{\[\[}}], ["y"]], {}>}
  %1 = sdy.sharding_constraint %0 <@mesh, [{?}, {"y"}]> : tensor<8x16xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{?}, {?}]> : tensor<8x16xf32>
  %3 = sdy.sharding_constraint %2 <@empty_mesh, [{}, {}]> : tensor<8x16xf32>
  // CHECK-NEXT: %[[R:.*]] = "dist.constraint"(%[[C]]) {spec = #dist.shard_spec<@mesh, {{\[\[}}"x"], []], {}>}
  %4 = sdy.reshard %3 <@mesh, [{"x"}, {}], replicated={"y"}> : tensor<8x16xf32>
  // CHECK-NEXT: %[[A:.*]] = stablehlo.add %[[R]], %arg2 : tensor
  // CHECK-NEXT: %[[D:.*]] = "dist.constraint"(%[[A]]) {spec = #dist.shard_spec<@mesh, {{\[\[}}"y"], []], {}>}
  %5 = stablehlo.add %4, %arg2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>]>} : tensor<8x16xf32>
  // CHECK-NEXT: call @helper(%[[D]])
  %6 = call @helper(%5) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %6 : tensor<8x16xf32>
}
// A function that is not the entry gets constraints: its signature is about to disappear.
// CHECK-LABEL: func.func private @helper(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32>
func.func private @helper(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x16xf32> {
  // CHECK-NEXT: %[[I:.*]] = "dist.constraint"(%arg0)
  // CHECK-NEXT: stablehlo.sine %[[I]]
  %0 = stablehlo.sine %arg0 : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

// shard_map, printed in the generic form: the body becomes a function that every device runs.
"sdy.mesh"() <{mesh = #sdy.mesh<["x"=2, "y"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>, sym_name = "mesh"}> : () -> ()
// CHECK: #dist.process_mesh<["x", "y"], [2, 4], [7, 6, 5, 4, 3, 2, 1, 0]>
// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x32xf32>) -> tensor<8x32xf32> {
  // CHECK-NEXT: stablehlo.custom_call @dist.manual(%arg0, %arg1) {called_computations = [@shard_map_0],
  // CHECK-SAME: in_specs = [#dist.shard_spec<@mesh, {{\[\[}}"x"], ["y"]], {}>, #dist.shard_spec<@mesh, {{\[\[}}"y"], []], {}>]
  // CHECK-SAME: out_specs = [#dist.shard_spec<@mesh, {{\[\[}}"x"], []], {}>]
  %0 = sdy.manual_computation(%a, %b) in_shardings=[<@mesh, [{"x"}, {"y"}]>, <@mesh, [{"y"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "y"} (%c: tensor<4x4xf32>, %d: tensor<4x32xf32>) {
    %1 = stablehlo.dot_general %c, %d, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
    sdy.return %1 : tensor<4x32xf32>
  } : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}
// CHECK-LABEL: func.func private @shard_map_0(%arg0: tensor<4x4xf32>, %arg1: tensor<4x32xf32>) -> tensor<4x32xf32>
// CHECK-NEXT: stablehlo.dot_general
// CHECK-NEXT: return

// -----

// Sub-axes: the mesh is refined where any sharding cuts an axis, and whole axes become all their parts.
// CHECK: #dist.process_mesh<["x.0", "x.1", "x.2", "y"], [2, 2, 2, 3], []>
sdy.mesh @mesh = <["x"=8, "y"=3]>
// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg0: tensor<48xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}"x.0", "x.1", "x.2", "y"]], {}>}
// CHECK-SAME: -> (tensor<2x24xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}"x.0"], ["x.1", "x.2", "y"]], {}>})
func.func @main(%a: tensor<48xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}) -> (tensor<2x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {"x":(2)4, "y"}]>}) {
  %0 = stablehlo.reshape %a : (tensor<48xf32>) -> tensor<2x24xf32>
  // CHECK: "dist.constraint"(%0) {spec = #dist.shard_spec<@mesh, {{\[\[}}], ["x.2"]], {x.0 = "sum"}>}
  %1 = sdy.sharding_constraint %0 <@mesh, [{}, {"x":(4)2}], replicated={"x":(2)2}, unreduced={"x":(1)2}> : tensor<2x24xf32>
  return %1 : tensor<2x24xf32>
}
