// RUN: %pcg-opt %s --split-input-file --verify-diagnostics --dist-insert-reshards

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["model"], [4], []>} : () -> ()
func.func @count(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{'stablehlo.add' has 2 operands but 1 entries in dist.operand_specs}}
  %0 = stablehlo.add %x, %x {dist.operand_specs = [#dist.shard_spec<@mesh, [["model"]], {}>]} : tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
