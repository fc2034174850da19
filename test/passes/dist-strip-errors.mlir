// RUN: %pcg-opt %s --dist-strip --split-input-file --verify-diagnostics

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{a manual computation is written for its mesh; its placement cannot be removed}}
  %0 = stablehlo.custom_call @dist.manual(%a) {called_computations = [@body], in_specs = [#dist.shard_spec<@mesh, [["x"]], {}>], out_specs = [#dist.shard_spec<@mesh, [["x"]], {}>]} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @body(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

func.func @main() -> tensor<8xf32> {
  // expected-error @+1 {{'dist.recv' cannot be removed; allowed: operators on one value, stages, and meshes}}
  %0 = "dist.recv"() {peer = 1, tag = 0, start = array<i64: 0>, limit = array<i64: 8>} : () -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
