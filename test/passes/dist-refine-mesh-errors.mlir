// RUN: %pcg-opt %s --split-input-file --verify-diagnostics --dist-refine-mesh

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [8], []>} : () -> ()
func.func @main(%a: tensor<16xf32>) -> tensor<16xf32> {
  // expected-error @+1 {{layout [x:(2)8]: x:(2)8 is not a part of axis 'x' of size 8}}
  %0 = "dist.constraint"(%a) {spec = #dist.shard_spec<@mesh, [["x:(2)8"]], {}>} : (tensor<16xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [8], []>} : () -> ()
func.func @main(%a: tensor<16x16xf32>) -> tensor<16x16xf32> {
  // expected-error @+1 {{x:(1)4 and x:(2)2 overlap in [x:(1)4, x:(2)2]}}
  %0 = "dist.constraint"(%a) {spec = #dist.shard_spec<@mesh, [["x:(1)4"], ["x:(2)2"]], {}>} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// -----

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [6], []>} : () -> ()
func.func @main(%a: tensor<12xf32>) -> tensor<12xf32> {
  %0 = "dist.constraint"(%a) {spec = #dist.shard_spec<@mesh, [["x:(1)2"]], {}>} : (tensor<12xf32>) -> tensor<12xf32>
  // expected-error @+1 {{axis 'x' of size 6 would be split after 2 and after 3}}
  %1 = "dist.constraint"(%0) {spec = #dist.shard_spec<@mesh, [["x:(1)3"]], {}>} : (tensor<12xf32>) -> tensor<12xf32>
  return %1 : tensor<12xf32>
}

// -----

// expected-error @+1 {{axis 'x.1' is a part of axis 'x', whose parts here are 'x.1'; allowed: x.0, x.1, ... in this order, side by side}}
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x.1"], [6], []>} : () -> ()
