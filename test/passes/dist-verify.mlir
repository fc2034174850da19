// RUN: %pcg-opt %s --dist-verify --split-input-file --verify-diagnostics
// The numbers are those of docs/reference/semantics.md.

// A complete and consistent program passes: sharded matmul, partial sum, reduction, loop.
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @good(%x: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], ["y"]], {}>}, %w: tensor<16x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["y"], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {y = "sum"}>]} : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.negate %0 {dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {y = "sum"}>]} : tensor<8x4xf32>
  %2 = "pcg.reduce"(%1) {axes = ["y"], kind = "sum", dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = stablehlo.while(%i = %2) : tensor<8x4xf32> attributes {dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {}>]} cond {
    %p = stablehlo.constant {dist.specs = [#dist.shard_spec<@mesh, [], {}>]} dense<true> : tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %4 = stablehlo.tanh %i {dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {}>]} : tensor<8x4xf32>
    stablehlo.return %4 : tensor<8x4xf32>
  }
  return %3 : tensor<8x4xf32>
}

// -----

// V1
// expected-error @+1 {{argument 0 of function 'main' has a layout on @mesh; declared meshes: none}}
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  return %a : tensor<8x4xf32>
}

// -----

// V1
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  // expected-error @+1 {{result 0 of 'stablehlo.tanh' has a layout on @other; declared meshes: @mesh}}
  %0 = stablehlo.tanh %a {dist.specs = [#dist.shard_spec<@other, [[], []], {}>]} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// V2
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  // expected-error @+1 {{result 0 of 'stablehlo.tanh' (tensor<8x4xf32>) has layout [z, -]: unknown axis 'z'; the mesh has 'x', 'y'}}
  %0 = stablehlo.tanh %a {dist.specs = [#dist.shard_spec<@mesh, [["z"], []], {}>]} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// V2
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  // expected-error @+1 {{axis 'x' is used twice in [x, x]}}
  %0 = stablehlo.tanh %a {dist.specs = [#dist.shard_spec<@mesh, [["x"], ["x"]], {}>]} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// V3
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  // expected-error @+1 {{axis 'x' is used twice in [x, x+y]}}
  %0 = stablehlo.tanh %a {dist.specs = [#dist.shard_spec<@mesh, [["x"], ["x", "y"]], {}>]} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// V4
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  // expected-error @+1 {{result 0 of 'stablehlo.tanh' has no layout; every tensor needs one}}
  %0 = stablehlo.tanh %a : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// V4
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
// expected-error @+1 {{argument 0 of function 'main' has no layout}}
func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  return %a : tensor<8x4xf32>
}

// -----

// V5
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  // expected-error @+1 {{'stablehlo.tanh' has 1 results but 2 entries in dist.specs}}
  %0 = stablehlo.tanh %a {dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>, #dist.shard_spec<@mesh, [[], []], {}>]} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// V6: operand and result disagree.
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  // expected-error @+1 {{'stablehlo.tanh' with operands [-, -] and results [x, -]: factor i is split by [] and by ['x'] at once}}
  %0 = stablehlo.tanh %a {dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {}>]} : tensor<8x4xf32>
  %1 = stablehlo.tanh %0 {dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// V6: a partial value must not reach an op that is not linear.
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  %p = "pcg.mask"(%a) {axes = ["x"], kind = "sum", dist.specs = [#dist.shard_spec<@mesh, [[], []], {x = "sum"}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-error @+1 {{operand 0 is partial over 'x', which the op cannot pass through}}
  %0 = stablehlo.tanh %p {dist.specs = [#dist.shard_spec<@mesh, [[], []], {x = "sum"}>]} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// V6: dist.operand_specs say what the op will get.
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>}) {
  %0 = stablehlo.tanh %a {dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {}>], dist.operand_specs = [#dist.shard_spec<@mesh, [["x"], []], {}>]} : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// V7
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  // expected-error @+1 {{'pcg.partition' makes [x, -] of [-, -], but its result has layout [y, -]}}
  %0 = "pcg.partition"(%a) {dim = 0, axes = ["x"], dist.specs = [#dist.shard_spec<@mesh, [["y"], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// V7
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["x", "y"], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  // expected-error @+1 {{x are not the minor-most axes of dimension 0 of [x+y, -]}}
  %0 = "pcg.combine"(%a) {dim = 0, axes = ["x"], dist.specs = [#dist.shard_spec<@mesh, [["y"], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// V7
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  // expected-error @+1 {{is not partial over 'x' by sum}}
  %0 = "pcg.reduce"(%a) {axes = ["x"], kind = "sum", dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// V7
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  // expected-error @+1 {{'dist.all_to_all': unknown axis 'z'; the mesh has 'x', 'y'}}
  %0 = "dist.all_to_all"(%a) {split_dim = 1, concat_dim = 0, axes = ["z"], dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// V7
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>}) {
  // expected-error @+1 {{'pcg.replicate': [x, -] already uses axis 'x'}}
  %0 = "pcg.replicate"(%a) {axes = ["x"], dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// V7
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  // expected-error @+1 {{a permute needs as many shards per dimension}}
  %0 = "dist.permute"(%a) {dist.specs = [#dist.shard_spec<@mesh, [["y"], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// V8
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  // expected-error @+1 {{init 0 of 'stablehlo.while' has layout [-, -]; allowed: [x, -]}}
  %0 = stablehlo.while(%i = %a) : tensor<8x4xf32> attributes {dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {}>]} cond {
    %p = stablehlo.constant {dist.specs = [#dist.shard_spec<@mesh, [], {}>]} dense<true> : tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %i : tensor<8x4xf32>
  }
  return %0 : tensor<8x4xf32>
}

// -----

// V8
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>}) {
  // expected-error @+1 {{operand 0 of 'func.return' has layout [-, -]; allowed: [x, -]}}
  return %a : tensor<8x4xf32>
}

// -----

// V9
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
// expected-error @+1 {{argument 0 of function 'main' has layout [-, -] sum(x), which is partial over 'x'; allowed: no partial axes}}
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {x = "sum"}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  return %a : tensor<8x4xf32>
}

// -----

// V9
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 4], []>} : () -> ()
// expected-error @+1 {{result 0 of function 'main' has layout [-, -] max(x, y), which is partial over 'x', 'y'; allowed: no partial axes}}
func.func @main(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {x = "max", y = "max"}>}) {
  return %a : tensor<8x4xf32>
}

// -----

// V10
"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {sym_name = "b", value = #dist.process_mesh<["x"], [2], [2, 3]>} : () -> ()
func.func @main(%x: tensor<8xf32> {dist.spec = #dist.shard_spec<@a, [["x"]], {}>}) -> (tensor<8xf32> {dist.spec = #dist.shard_spec<@b, [["x"]], {}>}) {
  %t = stablehlo.tuple %x : tuple<tensor<8xf32>>
  // expected-error @+1 {{input 0 of the stage on @b is on @a; pcg.transfer moves it}}
  %s = "pcg.stage"(%t) ({
  ^bb0(%y: tensor<8xf32>):
    %z = stablehlo.tuple %y : tuple<tensor<8xf32>>
    "pcg.yield"(%z) : (tuple<tensor<8xf32>>) -> ()
  }) {mesh = @b, index = 0, in_specs = [#dist.shard_spec<@b, [["x"]], {}>], out_specs = [#dist.shard_spec<@b, [["x"]], {}>]} : (tuple<tensor<8xf32>>) -> tuple<tensor<8xf32>>
  %r = stablehlo.get_tuple_element %s[0] : (tuple<tensor<8xf32>>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// V10: inside a stage, V6 holds.
"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
func.func @main(%x: tensor<8x8xf32> {dist.spec = #dist.shard_spec<@a, [["x"], []], {}>}) -> (tensor<8x8xf32> {dist.spec = #dist.shard_spec<@a, [["x"], []], {}>}) {
  %t = stablehlo.tuple %x : tuple<tensor<8x8xf32>>
  %s = "pcg.stage"(%t) ({
  ^bb0(%y: tensor<8x8xf32>):
    // expected-error @+1 {{'stablehlo.transpose' with operands [x, -] and results [x, -]}}
    %w = stablehlo.transpose %y, dims = [1, 0] {dist.specs = [#dist.shard_spec<@a, [["x"], []], {}>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %z = stablehlo.tuple %w : tuple<tensor<8x8xf32>>
    "pcg.yield"(%z) : (tuple<tensor<8x8xf32>>) -> ()
  }) {mesh = @a, index = 0, in_specs = [#dist.shard_spec<@a, [["x"], []], {}>], out_specs = [#dist.shard_spec<@a, [["x"], []], {}>]} : (tuple<tensor<8x8xf32>>) -> tuple<tensor<8x8xf32>>
  %r = stablehlo.get_tuple_element %s[0] : (tuple<tensor<8x8xf32>>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

// V11
"dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
"dist.mesh"() {sym_name = "b", value = #dist.process_mesh<["x"], [2], [2, 3]>} : () -> ()
func.func @main(%x: tensor<8x8xf32> {dist.spec = #dist.shard_spec<@a, [[], ["x"]], {}>}) -> (tensor<8xf32> {dist.spec = #dist.shard_spec<@b, [["x"]], {}>}) {
  %t = stablehlo.tuple %x : tuple<tensor<8x8xf32>>
  %s = "pcg.stage"(%t) ({
  ^bb0(%y: tensor<8x8xf32>):
    %o = stablehlo.constant {dist.specs = [#dist.shard_spec<@a, [["x"]], {}>]} dense<1.0> : tensor<8xf32>
    %w = stablehlo.dot_general %y, %o, contracting_dims = [1] x [0] {dist.specs = [#dist.shard_spec<@a, [[]], {x = "sum"}>]} : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %v = "pcg.reduce"(%w) {axes = ["x"], kind = "sum", dist.specs = [#dist.shard_spec<@a, [[]], {}>]} : (tensor<8xf32>) -> tensor<8xf32>
    %z = stablehlo.tuple %v : tuple<tensor<8xf32>>
    "pcg.yield"(%z) : (tuple<tensor<8xf32>>) -> ()
  }) {mesh = @a, index = 0, in_specs = [#dist.shard_spec<@a, [[], ["x"]], {}>], out_specs = [#dist.shard_spec<@a, [[]], {}>]} : (tuple<tensor<8x8xf32>>) -> tuple<tensor<8xf32>>
  %r = stablehlo.get_tuple_element %s[0] : (tuple<tensor<8xf32>>) -> tensor<8xf32>
  // expected-error @+1 {{result 0 of 'pcg.transfer' is partial ([-] sum(x)); allowed: no partial axes}}
  %u = "pcg.transfer"(%r) {mesh = @b, dist.specs = [#dist.shard_spec<@b, [[]], {x = "sum"}>]} : (tensor<8xf32>) -> tensor<8xf32>
  return %u : tensor<8xf32>
}
