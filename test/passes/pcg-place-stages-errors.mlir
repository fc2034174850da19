// RUN: %pcg-opt %s --split-input-file --verify-diagnostics --pcg-place-stages

"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
// expected-error @+1 {{the entry function has no stages; run pcg-split-meshes first}}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %t = stablehlo.tuple %x : tuple<tensor<8xf32>>
  // expected-error @+1 {{'pcg.stage': mesh is @a; declared meshes: none}}
  %s = "pcg.stage"(%t) ({
  ^bb0(%y: tensor<8xf32>):
    %z = stablehlo.tuple %y : tuple<tensor<8xf32>>
    "pcg.yield"(%z) : (tuple<tensor<8xf32>>) -> ()
  }) {mesh = @a, index = 0} : (tuple<tensor<8xf32>>) -> tuple<tensor<8xf32>>
  %r = stablehlo.get_tuple_element %s[0] : (tuple<tensor<8xf32>>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}
