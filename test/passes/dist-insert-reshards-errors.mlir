// RUN: %pcg-opt %s --split-input-file --verify-diagnostics --dist-insert-reshards

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["model"], [4], []>} : () -> ()
func.func @nonlinear(%x: tensor<8xf32> {dist.spec = #dist.shard_spec<@mesh, [[]], {}>}) -> tensor<8xf32> {
  // expected-error @+1 {{partial over 'model' by sum: a value is only ever made whole}}
  %0 = stablehlo.tanh %x {dist.specs = [#dist.shard_spec<@mesh, [[]], {}>],
    dist.operand_specs = [#dist.shard_spec<@mesh, [[]], {model = "sum"}>]} : tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// -----

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["model"], [4], []>} : () -> ()
func.func @indivisible(%x: tensor<6xf32> {dist.spec = #dist.shard_spec<@mesh, [[]], {}>}) -> tensor<6xf32> {
  // expected-error @+1 {{'stablehlo.tanh' op operand 0: cannot redistribute [-] to [model]: a shard count does not divide [6]}}
  %0 = stablehlo.tanh %x {dist.specs = [#dist.shard_spec<@mesh, [["model"]], {}>],
    dist.operand_specs = [#dist.shard_spec<@mesh, [["model"]], {}>]} : tensor<6xf32>
  func.return %0 : tensor<6xf32>
}

// -----

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["model"], [4], []>} : () -> ()
func.func @count(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'stablehlo.add' op has 2 operands but 1 dist.operand_specs}}
  %0 = stablehlo.add %x, %x {dist.operand_specs = [#dist.shard_spec<@mesh, [["model"]], {}>]} : tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
