// RUN: %pcg-opt %s --split-input-file --verify-diagnostics --pcg-split-meshes

"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
func.func @main(%x: tensor<8xf32> {dist.mesh = @a}) -> tensor<8xf32> {
  // expected-error @+1 {{'stablehlo.tanh' op has no mesh; run dist-propagate-meshes first}}
  %0 = stablehlo.tanh %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
func.func @main(%x: tensor<8xf32> {dist.mesh = @a}) -> tensor<8xf32> {
  // expected-error @+1 {{'func.call' op refers to the function @f; allowed: ops without calls}}
  %0 = func.call @f(%x) {dist.mesh = @a} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
func.func @main(%x: tensor<8xf32> {dist.mesh = @a}) -> tensor<8xf32> {
  // expected-error @+1 {{the program is split already: it has a 'pcg.transfer' op}}
  %0 = "pcg.transfer"(%x) {mesh = @a} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
