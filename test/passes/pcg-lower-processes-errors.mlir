// RUN: %pcg-opt %s --split-input-file --verify-diagnostics --pcg-lower-processes

"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
// expected-error @+1 {{the entry function has no stages; run pcg-split-meshes first}}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
// expected-error @+1 {{argument 0 has no layout; run pcg-place-stages first}}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %t = stablehlo.tuple %x : tuple<tensor<8xf32>>
  %s = "pcg.stage"(%t) ({
  ^bb0(%y: tensor<8xf32>):
    %z = stablehlo.tuple %y : tuple<tensor<8xf32>>
    "pcg.yield"(%z) : (tuple<tensor<8xf32>>) -> ()
  }) {mesh = @a, index = 0} : (tuple<tensor<8xf32>>) -> tuple<tensor<8xf32>>
  %r = stablehlo.get_tuple_element %s[0] : (tuple<tensor<8xf32>>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {sym_name = "b", value = #dist.process_mesh<["y"], [3], [2, 3, 4]>} : () -> ()
func.func @main(%x: tensor<8xf32> {dist.spec = #dist.shard_spec<@a, [["x"]], {}>}) -> tensor<8xf32> {
  %t = stablehlo.tuple %x : tuple<tensor<8xf32>>
  %s = "pcg.stage"(%t) ({
  ^bb0(%y: tensor<8xf32>):
    %w = stablehlo.tanh %y {dist.specs = [#dist.shard_spec<@a, [["x"]], {}>]} : tensor<8xf32>
    %z = stablehlo.tuple %w : tuple<tensor<8xf32>>
    "pcg.yield"(%z) : (tuple<tensor<8xf32>>) -> ()
  }) {mesh = @a, index = 0, in_specs = [#dist.shard_spec<@a, [["x"]], {}>], out_specs = [#dist.shard_spec<@a, [["x"]], {}>]}
    : (tuple<tensor<8xf32>>) -> tuple<tensor<8xf32>>
  %r = stablehlo.get_tuple_element %s[0] : (tuple<tensor<8xf32>>) -> tensor<8xf32>
  // expected-error @+1 {{result 0 of 'pcg.transfer' (tensor<8xf32>) has layout [z]: unknown axis 'z'; the mesh has 'y'}}
  %u = "pcg.transfer"(%r) {mesh = @b, dist.specs = [#dist.shard_spec<@b, [["z"]], {}>]} : (tensor<8xf32>) -> tensor<8xf32>
  return %u : tensor<8xf32>
}
