// RUN: %pcg-opt %s --pcg-verify-islands --split-input-file --verify-diagnostics

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
"dist.mesh"() {island = "podB", sym_name = "b", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
func.func @main.podB() -> tensor<4xf32> attributes {island = "podB", pcg.results = array<i64: 0>} {
  // expected-error @+1 {{%0: island podB, instruction 0 (Receive 3 from podA in slot 0): it has 0 sends; exactly one is needed}}
  %0 = "pcg.receive"() {tag = 3, peer = "podA", spec = #dist.shard_spec<@b, [[]], {}>} : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
"dist.mesh"() {island = "podB", sym_name = "b", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
func.func @main.podA(%x: tensor<4xf32> {dist.spec = #dist.shard_spec<@a, [[]], {}>, pcg.argument = 0}) attributes {island = "podA", pcg.results = array<i64>} {
  // expected-error @+1 {{%arg0: island podA, instruction 0 (Send 0 of slot 0 to podB): it has 0 receives; exactly one is needed}}
  "pcg.send"(%x) {tag = 0, peer = "podB", spec = #dist.shard_spec<@b, [[]], {}>} : (tensor<4xf32>) -> ()
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
"dist.mesh"() {island = "podB", sym_name = "b", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
func.func @main.podA(%x: tensor<4xf32> {dist.spec = #dist.shard_spec<@a, [[]], {}>, pcg.argument = 0}) attributes {island = "podA", pcg.results = array<i64>} {
  "pcg.send"(%x) {tag = 0, peer = "podB", spec = #dist.shard_spec<@b, [["x"]], {}>} : (tensor<4xf32>) -> ()
  return
}
func.func @main.podB() -> tensor<4xf32> attributes {island = "podB", pcg.results = array<i64: 0>} {
  // expected-error @+1 {{%0: island podB, instruction 0 (Receive 0 from podA in slot 0): it receives f32[4] on b [-], and f32[4] on b [x] is sent}}
  %0 = "pcg.receive"() {tag = 0, peer = "podA", spec = #dist.shard_spec<@b, [[]], {}>} : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
"dist.mesh"() {island = "podB", sym_name = "b", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
func.func @main.podA(%x: tensor<4xf32> {dist.spec = #dist.shard_spec<@a, [[]], {}>, pcg.argument = 0}, %y: tensor<4xf32> {dist.spec = #dist.shard_spec<@a, [[]], {}>, pcg.argument = 1}) attributes {island = "podA", pcg.results = array<i64>} {
  "pcg.send"(%x) {tag = 0, peer = "podB", spec = #dist.shard_spec<@b, [[]], {}>} : (tensor<4xf32>) -> ()
  "pcg.send"(%y) {tag = 1, peer = "podB", spec = #dist.shard_spec<@b, [[]], {}>} : (tensor<4xf32>) -> ()
  return
}
func.func @main.podB() -> (tensor<4xf32>, tensor<4xf32>) attributes {island = "podB", pcg.results = array<i64: 0, 1>} {
  // expected-error @+1 {{%0: island podB, instruction 0 (Receive 1 from podA in slot 0): podA sends 0 before it; allowed: one order}}
  %0 = "pcg.receive"() {tag = 1, peer = "podA", spec = #dist.shard_spec<@b, [[]], {}>} : () -> tensor<4xf32>
  %1 = "pcg.receive"() {tag = 0, peer = "podA", spec = #dist.shard_spec<@b, [[]], {}>} : () -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Each island waits for what the other one would send behind that.
"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
"dist.mesh"() {island = "podB", sym_name = "b", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
func.func @main.podA() attributes {island = "podA", pcg.results = array<i64>} {
  // expected-error @+1 {{%0: islands wait for ever: island podA, instruction 0 (Receive 1 from podB in slot 0); island podB, instruction 0 (Receive 0 from podA in slot 0)}}
  %0 = "pcg.receive"() {tag = 1, peer = "podB", spec = #dist.shard_spec<@a, [[]], {}>} : () -> tensor<4xf32>
  "pcg.send"(%0) {tag = 0, peer = "podB", spec = #dist.shard_spec<@b, [[]], {}>, last_uses = array<i64: 0>} : (tensor<4xf32>) -> ()
  return
}
func.func @main.podB() attributes {island = "podB", pcg.results = array<i64>} {
  %0 = "pcg.receive"() {tag = 0, peer = "podA", spec = #dist.shard_spec<@b, [[]], {}>} : () -> tensor<4xf32>
  "pcg.send"(%0) {tag = 1, peer = "podA", spec = #dist.shard_spec<@a, [[]], {}>, last_uses = array<i64: 0>} : (tensor<4xf32>) -> ()
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
func.func private @f(tensor<4xf32>)
func.func @main.podA(%x: tensor<4xf32> {dist.spec = #dist.shard_spec<@a, [[]], {}>, pcg.argument = 0, jax.buffer_donor = true}) attributes {island = "podA", pcg.results = array<i64>} {
  call @f(%x) {mesh = @a, in_specs = [#dist.shard_spec<@a, [[]], {}>], last_uses = array<i64: 0>} : (tensor<4xf32>) -> ()
  // expected-error @+1 {{'func.call' op reads %arg0 after its last use}}
  call @f(%x) {mesh = @a, in_specs = [#dist.shard_spec<@a, [[]], {}>]} : (tensor<4xf32>) -> ()
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
func.func private @f(tensor<4xf32>)
func.func @main.podA(%x: tensor<4xf32> {dist.spec = #dist.shard_spec<@a, [[]], {}>, pcg.argument = 0}) attributes {island = "podA", pcg.results = array<i64>} {
  // expected-error @+1 {{%arg0: island podA, instruction 0 (Call @f on a): slot 0 has an argument that is not donated}}
  call @f(%x) {mesh = @a, in_specs = [#dist.shard_spec<@a, [[]], {}>], last_uses = array<i64: 0>} : (tensor<4xf32>) -> ()
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
func.func private @f() -> tensor<4xf32>
func.func private @g(tensor<4xf32>)
// expected-error @+1 {{island podA: slot 0 is not freed}}
func.func @main.podA() attributes {island = "podA", pcg.results = array<i64>} {
  %0 = call @f() {mesh = @a, in_specs = [], out_specs = [#dist.shard_spec<@a, [[]], {}>]} : () -> tensor<4xf32>
  call @g(%0) {mesh = @a, in_specs = [#dist.shard_spec<@a, [[]], {}>]} : (tensor<4xf32>) -> ()
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
func.func private @f(tensor<4xf32>)
func.func @main.podA(%x: tensor<4xf32> {dist.spec = #dist.shard_spec<@a, [[]], {}>, pcg.argument = 0}) attributes {island = "podA", pcg.results = array<i64>} {
  // expected-error @+1 {{'func.call' op reads %arg0, whose layout is #dist.shard_spec<@a, [[]], {}>; it demands #dist.shard_spec<@a, [["x"]], {}>}}
  call @f(%x) {mesh = @a, in_specs = [#dist.shard_spec<@a, [["x"]], {}>]} : (tensor<4xf32>) -> ()
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
"dist.mesh"() {island = "podB", sym_name = "b", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
func.func private @f()
func.func @main.podA() attributes {island = "podA", pcg.results = array<i64>} {
  // expected-error @+1 {{island podA, instruction 0 (Call @f on b): slice b is not of this island}}
  call @f() {mesh = @b, in_specs = []} : () -> ()
  return
}

// -----

// expected-error @+1 {{the module has no functions of islands; run pcg-split-islands first}}
module {
  func.func @main() {
    return
  }
}

// -----

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
// expected-error @+1 {{argument 0 of the program is on no island}}
func.func @main.podA(%x: tensor<4xf32> {dist.spec = #dist.shard_spec<@a, [[]], {}>, pcg.argument = 1}) attributes {island = "podA", pcg.results = array<i64>} {
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
// expected-error @+1 {{pcg.results has 1 entries; one per result is needed, 0}}
func.func @main.podA() attributes {island = "podA", pcg.results = array<i64: 0>} {
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
func.func @main.podA() attributes {island = "podA", pcg.results = array<i64>} {
  return
}
// expected-error @+1 {{island podA has another function; allowed: one}}
func.func @other.podA() attributes {island = "podA", pcg.results = array<i64>} {
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
// expected-error @+1 {{argument 0 has no pcg.argument; it is a number}}
func.func @main.podA(%x: tensor<4xf32> {dist.spec = #dist.shard_spec<@a, [[]], {}>}) attributes {island = "podA", pcg.results = array<i64>} {
  return
}

// -----

"dist.mesh"() {island = "podA", sym_name = "a", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
func.func private @f()
func.func @main.podA() attributes {island = "podA", pcg.results = array<i64>} {
  // expected-error @+1 {{'func.call' op: last_uses has 0; it has 0 operands}}
  call @f() {mesh = @a, in_specs = [], last_uses = array<i64: 0>} : () -> ()
  return
}
