// RUN: %pcg-opt %s --split-input-file --sdy-export --mlir-print-op-generic | FileCheck %s
// RUN: %pcg-opt %s --split-input-file --pass-pipeline='sdy-export{constraints=all}' --mlir-print-op-generic | FileCheck %s --check-prefix=ALL

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()

// CHECK: "sdy.mesh"() {mesh = #sdy.mesh<["data"=2, "model"=4]>, sym_name = "mesh"}
// CHECK: arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, {{\[}}{"data"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, {{\[}}{}, {"model"}]>, tf.aliasing_output = 0 : i32}]
// CHECK-SAME: res_attrs = [{sdy.sharding = #sdy.sharding<@mesh, {{\[}}{"data"}, {"model"}]>}]
func.func @main(%x: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>},
    %w: tensor<4x8xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["model"]], {}>, tf.aliasing_output = 0 : i32})
    -> (tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], ["model"]], {}>}) {
  /// Contractions get a constraint, elementwise ops only with constraints=all.
  // CHECK: %[[T:.*]] = "stablehlo.tanh"(%{{.*}}) : (tensor<8x4xf32>)
  // CHECK-NEXT: %[[D:.*]] = "stablehlo.dot_general"(%[[T]],
  // CHECK-NEXT: %[[C:.*]] = "sdy.sharding_constraint"(%[[D]]) {sharding = #sdy.sharding<@mesh, {{\[}}{"data"}, {"model"}]>}
  // CHECK-NEXT: "func.return"(%[[C]])
  // ALL: "stablehlo.tanh"
  // ALL-NEXT: "sdy.sharding_constraint"({{.*}}) {sharding = #sdy.sharding<@mesh, {{\[}}{"data"}, {}]>}
  // ALL-NEXT: "stablehlo.dot_general"
  %0 = stablehlo.tanh %x {dist.specs = [#dist.shard_spec<@mesh, [["data"], []], {}>]} : tensor<8x4xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] {dist.specs = [#dist.shard_spec<@mesh, [["data"], ["model"]], {}>]} : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  func.return %1 : tensor<8x8xf32>
}

// -----

/// A reshard becomes a constraint; a partial value gets none; moves disappear; a device order is kept.
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["a"], [2], [1, 0]>} : () -> ()
// CHECK: #sdy.mesh<["a"=2], device_ids=[1, 0]>
// CHECK: %[[D:.*]] = "stablehlo.dot_general"
// CHECK-NEXT: %[[C:.*]] = "sdy.sharding_constraint"(%[[D]]) {sharding = #sdy.sharding<@mesh, {{\[}}{}, {}]>}
// CHECK-NEXT: %[[R:.*]] = "sdy.sharding_constraint"(%[[C]]) {sharding = #sdy.sharding<@mesh, {{\[}}{}, {"a"}]>}
// CHECK-NEXT: "func.return"(%[[R]])
func.func @main(%x: tensor<4x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["a"]], {}>},
    %w: tensor<4x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["a"], []], {}>}) -> tensor<4x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {dist.specs = [#dist.shard_spec<@mesh, [[], []], {a = "sum"}>]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "pcg.reduce"(%0) {axes = ["a"], kind = "sum", dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "dist.reshard"(%1) {spec = #dist.shard_spec<@mesh, [[], ["a"]], {}>, dist.specs = [#dist.shard_spec<@mesh, [[], ["a"]], {}>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %2 : tensor<4x4xf32>
}

// -----

/// A manual computation gets its body back.
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["a"], [2], []>} : () -> ()
// CHECK: "sdy.manual_computation"(%{{.*}}) ({
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<2xf32>):
// CHECK-NEXT: %[[N:.*]] = "stablehlo.negate"(%[[A]]) : (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NEXT: "sdy.return"(%[[N]])
// CHECK-NEXT: }) {in_shardings = #sdy.sharding_per_value<[<@mesh, {{\[}}{"a"}]>]>, manual_axes = #sdy<manual_axes{"a"}>,
// CHECK-NOT: sym_name = "body"
func.func private @body(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.negate %x {dist.specs = [#dist.shard_spec<@mesh, [[]], {}>]} : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
func.func @main(%x: tensor<4xf32> {dist.spec = #dist.shard_spec<@mesh, [["a"]], {}>}) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @dist.manual(%x) {called_computations = [@body],
    dist.specs = [#dist.shard_spec<@mesh, [["a"]], {}>],
    in_specs = [#dist.shard_spec<@mesh, [["a"]], {}>], out_specs = [#dist.shard_spec<@mesh, [["a"]], {}>]} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}

// -----

// A refined mesh goes out as the mesh that it refines.
// CHECK: "sdy.mesh"() {mesh = #sdy.mesh<["x"=8]>, sym_name = "mesh"} : () -> ()
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x.0", "x.1", "x.2"], [2, 2, 2], []>} : () -> ()
// CHECK: sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>
// CHECK: sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {"x":(2)4}]>
func.func @main(%a: tensor<16xf32> {dist.spec = #dist.shard_spec<@mesh, [["x.0", "x.1", "x.2"]], {}>}) -> (tensor<2x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["x.0"], ["x.1", "x.2"]], {}>}) {
  %0 = stablehlo.reshape %a : (tensor<16xf32>) -> tensor<2x8xf32>
  // CHECK: "sdy.sharding_constraint"(%{{.*}}) {sharding = #sdy.sharding<@mesh, [{"x":(4)2, "x":(1)2}, {}]>}
  %1 = "dist.constraint"(%0) {spec = #dist.shard_spec<@mesh, [["x.2", "x.0"], []], {}>, dist.specs = [#dist.shard_spec<@mesh, [["x.2", "x.0"], []], {}>]} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}
