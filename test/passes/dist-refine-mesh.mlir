// RUN: %pcg-opt %s --split-input-file --dist-refine-mesh | FileCheck %s
// RUN: %pcg-opt %s --split-input-file --dist-refine-mesh='reshapes=true max-axes=3' --remarks 2>&1 | FileCheck %s --check-prefix=RESHAPES

// Layouts with parts of axes, wherever layouts are; a partial sum over a part.
// CHECK: #dist.process_mesh<["x.0", "x.1", "y"], [2, 4, 2], [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]>
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [8, 2], [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]>} : () -> ()
// CHECK: @main(%arg0: tensor<16xf32> {dist.open = [0], dist.spec = #dist.shard_spec<@mesh, {{\[\[}}"y", "x.0", "x.1"]], {}>})
func.func @main(%a: tensor<16xf32> {dist.open = [0], dist.spec = #dist.shard_spec<@mesh, [["y", "x"]], {}>}) -> tensor<2x8xf32> {
  // CHECK: stablehlo.reshape %arg0 {dist.operand_specs = [unit], dist.specs = [#dist.shard_spec<@mesh, {{\[\[}}], []], {x.0 = "sum"}>]}
  %0 = stablehlo.reshape %a {dist.operand_specs = [unit], dist.specs = [#dist.shard_spec<@mesh, [[], []], {"x:(1)2" = "sum"}>]} : (tensor<16xf32>) -> tensor<2x8xf32>
  // CHECK: "pcg.reduce"(%0) {axes = ["x.0", "x.1"]
  %1 = "pcg.reduce"(%0) {axes = ["x"], kind = "sum"} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  // CHECK: "dist.constraint"(%1) {spec = #dist.shard_spec<@mesh, {{\[\[}}"x.0"], ["x.1", "y"]], {}>}
  %2 = "dist.constraint"(%1) {spec = #dist.shard_spec<@mesh, [["x:(1)2"], ["x:(2)4", "y"]], {}>} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
}

// -----

// Nothing asks for parts: nothing changes, unless reshapes count.
// CHECK: #dist.process_mesh<["x", "y"], [8, 2], []>
// RESHAPES: remark: dist-refine-mesh: axis split for this reshape: x at 4
// RESHAPES: remark: dist-refine-mesh: axis not split (x at 2): mesh x.0=2,x.1=2,x.2=2,y=2 has more than max-axes=3
// RESHAPES: #dist.process_mesh<["x.0", "x.1", "y"], [4, 2, 2], []>
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [8, 2], []>} : () -> ()
func.func @main(%a: tensor<96xf32>, %b: tensor<16xf32>, %c: tensor<32xf32>) -> (tensor<12x8xf32>, tensor<2x8xf32>, tensor<8x4xf32>) {
  %0 = stablehlo.reshape %a : (tensor<96xf32>) -> tensor<12x8xf32>
  %1 = stablehlo.reshape %b : (tensor<16xf32>) -> tensor<2x8xf32>
  %2 = stablehlo.reshape %c : (tensor<32xf32>) -> tensor<8x4xf32>
  return %0, %1, %2 : tensor<12x8xf32>, tensor<2x8xf32>, tensor<8x4xf32>
}

// -----

// A mesh that is refined already is refined further; what is written stays what it was.
// CHECK: #dist.process_mesh<["x.0", "x.1", "x.2"], [2, 2, 2], []>
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x.0", "x.1"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<16xf32>) -> tensor<16xf32> {
  // CHECK: spec = #dist.shard_spec<@mesh, {{\[\[}}"x.1", "x.2", "x.0"]], {}>
  %0 = "dist.constraint"(%a) {spec = #dist.shard_spec<@mesh, [["x.1", "x.0"]], {}>} : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: spec = #dist.shard_spec<@mesh, {{\[\[}}"x.2"]], {}>
  %1 = "dist.constraint"(%0) {spec = #dist.shard_spec<@mesh, [["x:(4)2"]], {}>} : (tensor<16xf32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}
