// RUN: %pcg-opt %s --split-input-file --dist-propagate-meshes | FileCheck %s

// Paddle's example: nothing but the arguments says a mesh.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<4x8xf32> {dist.mesh = @second})
// CHECK: dot_general {{.*}}dist.mesh = @first
// CHECK-NEXT: dot_general {{.*}}dist.mesh = @second
"dist.mesh"() {sym_name = "first", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {sym_name = "second", value = #dist.process_mesh<["x"], [2], [2, 3]>} : () -> ()
func.func @main(%x: tensor<4x8xf32> {dist.spec = #dist.shard_spec<@first, [[], []], {}>},
                %w1: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@first, [[], ["x"]], {}>},
                %w2: tensor<16x8xf32> {dist.spec = #dist.shard_spec<@second, [["x"], []], {}>}) -> tensor<4x8xf32> {
  %h = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %y = stablehlo.dot_general %h, %w2, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// Of meshes that are equally near, the one that contains the other; producers come before consumers.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.add {{.*}}dist.mesh = @all
// CHECK-NEXT: stablehlo.tanh {{.*}}dist.mesh = @all
// CHECK-NEXT: dist.constraint{{.*}}dist.mesh = @part
// CHECK-NEXT: stablehlo.exponential {{.*}}dist.mesh = @part
"dist.mesh"() {sym_name = "part", value = #dist.process_mesh<["x"], [2], [1, 2]>} : () -> ()
"dist.mesh"() {sym_name = "all", value = #dist.process_mesh<["x"], [4], []>} : () -> ()
func.func @main(%a: tensor<8xf32> {dist.spec = #dist.shard_spec<@part, [[]], {}>},
                %b: tensor<8xf32> {dist.mesh = @all}) -> tensor<8xf32> {
  %0 = stablehlo.add %a, %b : tensor<8xf32>
  %1 = stablehlo.tanh %0 : tensor<8xf32>
  %2 = "dist.constraint"(%1) {spec = #dist.shard_spec<@part, [["x"]], {}>} : (tensor<8xf32>) -> tensor<8xf32>
  %3 = stablehlo.exponential %2 : tensor<8xf32>
  return %3 : tensor<8xf32>
}

// -----

// The gradient of w2 touches no annotation: it goes where nothing has to cross for it.
// CHECK-LABEL: func.func @main
// CHECK: %[[DY:.*]] = stablehlo.subtract {{.*}}dist.mesh = @second
// CHECK-NEXT: dot_general %{{.*}}, %[[DY]], {{.*}}dist.mesh = @second
"dist.mesh"() {sym_name = "first", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {sym_name = "second", value = #dist.process_mesh<["x"], [2], [2, 3]>} : () -> ()
func.func @main(%x: tensor<4x8xf32> {dist.spec = #dist.shard_spec<@first, [[], []], {}>},
                %w1: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@first, [[], ["x"]], {}>},
                %w2: tensor<16x6xf32> {dist.spec = #dist.shard_spec<@second, [["x"], []], {}>},
                %t: tensor<4x6xf32>) -> tensor<16x6xf32> {
  %h = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %y = stablehlo.dot_general %h, %w2, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x6xf32>) -> tensor<4x6xf32>
  %dy = stablehlo.subtract %y, %t : tensor<4x6xf32>
  %dw2 = stablehlo.dot_general %h, %dy, contracting_dims = [0] x [0] : (tensor<4x16xf32>, tensor<4x6xf32>) -> tensor<16x6xf32>
  return %dw2 : tensor<16x6xf32>
}
