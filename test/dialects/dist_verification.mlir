// RUN: %pcg-opt %s --split-input-file --verify-diagnostics
// The numbers are those of docs/reference/semantics.md.

// D1: counts and kinds of a mesh.
// expected-error @+1 {{'dist.mesh' op mesh has 2 axis names but 1 sizes; one size per axis is needed}}
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2], []>} : () -> ()

// -----

// expected-error @+1 {{'dist.mesh' op axis names [1] are not strings; write e.g. ["data", "model"]}}
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<[1], [2], []>} : () -> ()

// -----

// D2: axes.
// expected-error @+1 {{'dist.mesh' op mesh has two axes named 'x'}}
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "x"], [2, 2], []>} : () -> ()

// -----

// expected-error @+1 {{'dist.mesh' op axis 'x' has size 0; sizes are at least 1}}
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [0], []>} : () -> ()

// -----

// expected-error @+1 {{'dist.mesh' op a mesh needs at least one axis}}
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<[], [], []>} : () -> ()

// -----

// expected-error @+1 {{'dist.mesh' op axis name 'a b' is not an identifier}}
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["a b"], [2], []>} : () -> ()

// -----

// D3: devices.
// expected-error @+1 {{'dist.mesh' op mesh has 2 positions but 3 device ids}}
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [2], [0, 1, 2]>} : () -> ()

// -----

// expected-error @+1 {{'dist.mesh' op device ids [1, 1] are not distinct and non-negative}}
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [2], [1, 1]>} : () -> ()

// -----

// expected-error @+1 {{attribute "value" is expected but not provided}}
"dist.mesh"() {sym_name = "mesh"} : () -> ()

// -----

func.func @d4(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{dimension 0 of #dist.shard_spec<@mesh, ["x", []], {}> is "x"; allowed: a list of axis names, e.g. ["data"] or []}}
  %0 = "dist.constraint"(%a) {spec = #dist.shard_spec<@mesh, ["x", []], {}>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @d5(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'dist.reshard' op spec: axis "x" is used twice in #dist.shard_spec<@mesh, [["x"], ["x"]], {}>; each axis may be used once}}
  %0 = "dist.reshard"(%a) {spec = #dist.shard_spec<@mesh, [["x"], ["x"]], {}>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @d5_partial(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{axis "x" is used twice}}
  %0 = "dist.reshard"(%a) {spec = #dist.shard_spec<@mesh, [["x"], []], {x = "sum"}>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @d6(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{axis "x" is partial by "mean" in #dist.shard_spec<@mesh, [[], []], {x = "mean"}>; allowed: sum, max, min, prod, and, or}}
  %0 = "dist.constraint"(%a) {spec = #dist.shard_spec<@mesh, [[], []], {x = "mean"}>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @d7(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{has 1 dimensions, the tensor has 2}}
  %0 = "dist.constraint"(%a) {spec = #dist.shard_spec<@mesh, [["x"]], {}>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @d8(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{result type tensor<8xf32> differs from operand type tensor<8x4xf32>}}
  %0 = "dist.reshard"(%a) {spec = #dist.shard_spec<@mesh, [[]], {}>} : (tensor<8x4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @d9(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'dist.all_to_all' op split_dim and concat_dim are both 1; they must differ}}
  %0 = "dist.all_to_all"(%a) {split_dim = 1, concat_dim = 1, axes = ["x"]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @kind(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'dist.all_reduce' op reduction kind "mean" is unknown; allowed: sum, max, min, prod, and, or}}
  %0 = "dist.all_reduce"(%a) {axes = ["x"], kind = "mean"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @d10(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'dist.send' op peer -1 is negative; allowed: 0, 1, 2, ...}}
  "dist.send"(%a) {peer = -1, tag = 0, start = array<i64: 0, 0>, limit = array<i64: 8, 4>} : (tensor<8x4xf32>) -> ()
  return
}

// -----

func.func @d11() {
  // expected-error @+1 {{'dist.recv' op box from [0, 4] to [8, 9] does not have the shape of tensor<8x4xf32>}}
  %0 = "dist.recv"() {peer = 1, tag = 0, start = array<i64: 0, 4>, limit = array<i64: 8, 9>} : () -> tensor<8x4xf32>
  return
}

// -----

func.func @d11_missing() {
  // expected-error @+1 {{'dist.recv' op has no box; start and limit (array<i64: ...>) are needed}}
  %0 = "dist.recv"() {peer = 1, tag = 0} : () -> tensor<8x4xf32>
  return
}
