// RUN: %pcg-opt %s --split-input-file --verify-diagnostics --dist-propagate-meshes

"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {sym_name = "b", value = #dist.process_mesh<["x"], [2], [1, 2]>} : () -> ()
func.func @main(%a: tensor<8xf32> {dist.spec = #dist.shard_spec<@a, [["x"]], {}>},
                %b: tensor<8xf32> {dist.spec = #dist.shard_spec<@b, [["x"]], {}>}) -> tensor<8xf32> {
  // expected-error @+1 {{'stablehlo.add' op has neighbours on @a and @b, which share devices [1] while neither contains the other; annotate on which mesh it runs}}
  %0 = stablehlo.add %a, %b : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
// expected-error @+1 {{argument 0 of function 'main' has a layout on @b; declared meshes: @a}}
func.func @main(%a: tensor<8xf32> {dist.spec = #dist.shard_spec<@b, [["x"]], {}>}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}

// -----

"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'stablehlo.tanh': dist.mesh is @b; declared meshes: @a}}
  %0 = stablehlo.tanh %a {dist.mesh = @b} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {sym_name = "b", value = #dist.process_mesh<["x"], [2], [2, 3]>} : () -> ()
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'stablehlo.tanh' op has layouts on @a and @b; allowed: one mesh per op}}
  %0 = stablehlo.tanh %a {dist.mesh = @a, dist.specs = [#dist.shard_spec<@b, [["x"]], {}>]} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{spec of 'dist.constraint' (tensor<8xf32>) has layout [q]: unknown axis 'q'; the mesh has 'x'}}
  %0 = "dist.constraint"(%a) {spec = #dist.shard_spec<@a, [["q"]], {}>} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// expected-error @+1 {{the module has no dist.mesh}}
module {
  func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
    return %a : tensor<8xf32>
  }
}
