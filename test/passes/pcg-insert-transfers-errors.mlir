// RUN: %pcg-opt %s --pcg-insert-transfers --split-input-file --verify-diagnostics

// expected-error @+1 {{slice @left is on no island; run pcg-assign-islands first}}
"dist.mesh"() {sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
func.func @main() {
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
// expected-error @+1 {{argument 0 has no layout; write dist.spec = #dist.shard_spec<@slice, ...>}}
func.func @main(%x: tensor<4xf32> {dist.mesh = @left}) {
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
func.func @main(%x: tensor<4xf32> {dist.spec = #dist.shard_spec<@left, [[]], {}>}) {
  // expected-error @+1 {{'stablehlo.tanh' op in a program on islands; allowed: func.call, pcg.transfer, pcg.send, pcg.receive}}
  %0 = stablehlo.tanh %x : tensor<4xf32>
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
func.func private @f(tensor<4xf32>)
func.func @main(%x: tensor<4xf32> {dist.spec = #dist.shard_spec<@left, [[]], {}>}) {
  // expected-error @+1 {{'func.call' op: mesh is None; allowed: the symbol of a dist.mesh}}
  call @f(%x) : (tensor<4xf32>) -> ()
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
func.func private @f(tensor<4xf32>)
func.func @main(%x: tensor<4xf32> {dist.spec = #dist.shard_spec<@left, [[]], {}>}) {
  // expected-error @+1 {{'func.call' op: in_specs 0 is None; allowed: a #dist.shard_spec}}
  call @f(%x) {mesh = @left, in_specs = []} : (tensor<4xf32>) -> ()
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
func.func private @f(tensor<4xf32>)
func.func @main(%x: tensor<4xf32> {dist.spec = #dist.shard_spec<@left, [[]], {}>}) {
  // expected-error @+1 {{'func.call' op: in_specs 0 is on @other; the op is on @left}}
  call @f(%x) {mesh = @left, in_specs = [#dist.shard_spec<@other, [[]], {}>]} : (tensor<4xf32>) -> ()
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
"dist.mesh"() {island = "podB", sym_name = "right", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
func.func private @f() -> tensor<4xf32>
func.func @main() {
  // expected-error @+1 {{'func.call' op: layout of result 0 is on @right; the op is on @left}}
  %0 = call @f() {mesh = @left, in_specs = [], out_specs = [#dist.shard_spec<@right, [[]], {}>]} : () -> tensor<4xf32>
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
func.func private @f() -> tensor<4xf32>
func.func @main() {
  // expected-error @+1 {{'func.call' op: layout of result 0: unknown axis 'model'}}
  %0 = call @f() {mesh = @left, in_specs = [], out_specs = [#dist.shard_spec<@left, [["model"]], {}>]} : () -> tensor<4xf32>
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
func.func private @f(tensor<4xf32>)
func.func @main(%x: tensor<4xf32> {dist.spec = #dist.shard_spec<@left, [[]], {}>}) {
  // expected-error @+1 {{'func.call' op: in_specs 0 is on @other; declared: @left}}
  call @f(%x) {mesh = @other, in_specs = [#dist.shard_spec<@other, [[]], {}>]} : (tensor<4xf32>) -> ()
  return
}
