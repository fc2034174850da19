// RUN: %pcg-opt %s --split-input-file --verify-diagnostics --pcg-lower-spmd

// expected-error @+1 {{the module has no dist.mesh; add one with --mesh name=size,...}}
module {
  func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> { func.return %x : tensor<8xf32> }
}

// -----

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["model"], [4], []>} : () -> ()
func.func @main(%x: tensor<8xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"]], {}>}) -> tensor<8xf32> {
  // expected-error @+1 {{'stablehlo.tanh' op with operands [model] and results [-]: factor i is split by ['model'] and by [] at once; its rule is (i)->(i)}}
  %0 = stablehlo.tanh %x : tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// -----

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["model"], [4], []>} : () -> ()
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %x = "pcg.mask"(%a) {axes = ["model"], kind = "sum", dist.specs = [#dist.shard_spec<@mesh, [[]], {model = "sum"}>]} : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error @+1 {{'func.return' op: operand 0 is partial ([-] sum(model)); results must be replicated or split}}
  func.return %x : tensor<8xf32>
}

// -----

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["model"], [4], []>} : () -> ()
func.func @main(%x: tensor<8xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"]], {}>}) -> tensor<8xf32> {
  // expected-error @+1 {{'dist.all_gather' op: it makes [-] of [model], but its result has layout [model]}}
  %0 = "dist.all_gather"(%x) {axes = ["model"], dim = 0, dist.specs = [#dist.shard_spec<@mesh, [["model"]], {}>]} : (tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}
