// RUN: %pcg-opt %s --split-input-file --dist-propagate-meshes --pcg-split-meshes | FileCheck %s
// RUN: %pcg-opt %s --split-input-file --dist-propagate-meshes --pcg-split-meshes --dist-strip | FileCheck %s --check-prefix=STRIP

// Data goes to the other mesh and back: three stages; what the first keeps for the third does not travel, and
// the constant is made where it is used.
// CHECK-LABEL: func.func @main
// CHECK: %[[IN0:.*]] = stablehlo.tuple %arg0 : tuple<tensor<8x4xf32>>
// CHECK-NEXT: %[[OUT0:.*]] = "pcg.stage"(%[[IN0]]) ({
// CHECK: stablehlo.tanh
// CHECK: }) {index = 0 : i64, mesh = @a}
// CHECK-NEXT: %[[H:.*]] = stablehlo.get_tuple_element %[[OUT0]][0]
// CHECK-NEXT: %[[T:.*]] = "pcg.transfer"(%[[H]]) {mesh = @b}
// CHECK: stablehlo.tuple %[[T]] : tuple<tensor<8x4xf32>>
// CHECK: stablehlo.exponential
// CHECK: }) {index = 1 : i64, mesh = @b}
// CHECK-NEXT: %[[E:.*]] = stablehlo.get_tuple_element
// CHECK-NEXT: %[[U:.*]] = "pcg.transfer"(%[[E]]) {mesh = @a}
// CHECK-NEXT: stablehlo.tuple %[[U]], %[[H]] : tuple<tensor<8x4xf32>, tensor<8x4xf32>>
// CHECK: stablehlo.constant
// CHECK: }) {index = 2 : i64, mesh = @a}
// STRIP-LABEL: func.func @main
// STRIP-NEXT: stablehlo.tanh
// STRIP-NEXT: stablehlo.exponential
// STRIP-NEXT: stablehlo.constant
// STRIP-NEXT: stablehlo.add
// STRIP-NEXT: stablehlo.multiply
// STRIP-NEXT: return
"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {sym_name = "b", value = #dist.process_mesh<["x"], [2], [2, 3]>} : () -> ()
func.func @main(%x: tensor<8x4xf32> {dist.mesh = @a}) -> (tensor<8x4xf32> {dist.mesh = @a}) {
  %c = stablehlo.constant dense<2.0> : tensor<8x4xf32>
  %0 = stablehlo.tanh %x : tensor<8x4xf32>
  %1 = stablehlo.exponential %0 {dist.mesh = @b} : tensor<8x4xf32>
  %2 = stablehlo.add %1, %0 {dist.mesh = @a} : tensor<8x4xf32>
  %3 = stablehlo.multiply %2, %c : tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}

// -----

// The cast of a weight does not make a stage of its own; a product does.
// CHECK-LABEL: func.func @main
// CHECK-NOT: }) {index = 0 : i64, mesh = @b}
// CHECK: }) {index = 1 : i64, mesh = @b}
// CHECK-NOT: index = 2
"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {sym_name = "b", value = #dist.process_mesh<["x"], [2], [2, 3]>} : () -> ()
func.func @main(%x: tensor<4x4xf32> {dist.mesh = @a}, %w: tensor<4x4xbf16> {dist.mesh = @b}) -> tensor<4x4xf32> {
  %0 = stablehlo.tanh %x : tensor<4x4xf32>
  %1 = stablehlo.convert %w : (tensor<4x4xbf16>) -> tensor<4x4xf32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] {dist.mesh = @b} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
