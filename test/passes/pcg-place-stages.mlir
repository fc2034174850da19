// RUN: %pcg-opt %s --dist-propagate-meshes --pcg-split-meshes --pcg-place-stages --dist-verify | FileCheck %s

// Rows of w2 on the second mesh ask for columns of h there; on the way back nothing asks for anything, so dh goes
// as it is.
// CHECK: func.func @main({{.*}}%arg3: tensor<4x6xf32> {dist.spec = #dist.shard_spec<@second, {{\[\[}}], []], {}>})
// CHECK-SAME: -> (tensor<8x16xf32> {dist.spec = #dist.shard_spec<@first, {{\[\[}}], ["x"]], {}>})
// CHECK: "pcg.stage"
// CHECK: dist.specs = [#dist.shard_spec<@first, {{\[\[}}], ["x"]], {}>]
// CHECK: }) {in_specs = [#dist.shard_spec<@first, {{.*}}, #dist.shard_spec<@first, {{\[\[}}], ["x"]], {}>], index = 0
// CHECK: "pcg.transfer"{{.*}} {dist.specs = [#dist.shard_spec<@second, {{\[\[}}], ["x"]], {}>], mesh = @second}
// CHECK: dot_general {{.*}}dist.specs = [#dist.shard_spec<@second, {{\[\[}}], []], {x = "sum"}>]
// CHECK-NEXT: "pcg.reduce"
// CHECK: index = 1 : i64, mesh = @second
// CHECK: "pcg.transfer"{{.*}} {dist.specs = [#dist.shard_spec<@first, {{\[\[}}], ["x"]], {}>], mesh = @first}
"dist.mesh"() {sym_name = "first", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {sym_name = "second", value = #dist.process_mesh<["x"], [2], [2, 3]>} : () -> ()
func.func @main(%x: tensor<4x8xf32> {dist.spec = #dist.shard_spec<@first, [[], []], {}>},
                %w1: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@first, [[], ["x"]], {}>},
                %w2: tensor<16x6xf32> {dist.spec = #dist.shard_spec<@second, [["x"], []], {}>},
                %t: tensor<4x6xf32>) -> tensor<8x16xf32> {
  %h = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %y = stablehlo.dot_general %h, %w2, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x6xf32>) -> tensor<4x6xf32>
  %dy = stablehlo.subtract %y, %t : tensor<4x6xf32>
  %dh = stablehlo.dot_general %dy, %w2, contracting_dims = [1] x [1] : (tensor<4x6xf32>, tensor<16x6xf32>) -> tensor<4x16xf32>
  %dw1 = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0] : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  return %dw1 : tensor<8x16xf32>
}
