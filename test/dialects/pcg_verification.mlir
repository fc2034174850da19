// RUN: %pcg-opt %s --split-input-file --verify-diagnostics
// The numbers are those of docs/reference/semantics.md.

func.func @p1(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'pcg.partition' op result type tensor<4x4xf32> differs from operand type tensor<8x4xf32>; the op is the identity on the value}}
  %0 = "pcg.partition"(%a) {dim = 0, axes = ["x"]} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @p2(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'pcg.combine' op dim 2 is out of range; allowed: 0 to 1}}
  %0 = "pcg.combine"(%a) {dim = 2, axes = ["x"]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @p2_scalar(%a: tensor<f32>) {
  // expected-error @+1 {{dim 0 is out of range; allowed: none, the tensor has rank 0}}
  %0 = "pcg.partition"(%a) {dim = 0, axes = ["x"]} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @p3(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'pcg.replicate' op axes name "x" twice; each axis may be used once}}
  %0 = "pcg.replicate"(%a) {axes = ["x", "x"]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @p3_empty(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'pcg.partition' op has no axes; at least one is needed}}
  %0 = "pcg.partition"(%a) {dim = 0, axes = []} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @p3_kind(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'pcg.partition' op axes [0] are not axis names; write strings, e.g. ["data"]}}
  %0 = "pcg.partition"(%a) {dim = 0, axes = [0]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @p4(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'pcg.reduce' op reduction kind "avg" is unknown; allowed: sum, max, min, prod, and, or}}
  %0 = "pcg.reduce"(%a) {axes = ["x"], kind = "avg"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @p5(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'pcg.pipeline' op microbatches 0 is not positive; at least 1 is needed}}
  %0 = "pcg.pipeline"(%a) {dim = 0, block = 1, microbatches = 0} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @p6(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'pcg.pipeline' op dim 0 of size 8 is not divisible by 3 microbatches}}
  %0 = "pcg.pipeline"(%a) {dim = 0, block = 1, microbatches = 3} : (tensor<8x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @p7(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'pcg.batch' op has neither dim nor kind; exactly one is needed}}
  %0 = "pcg.batch"(%a) {microbatches = 2} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @p7_both(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'pcg.batch' op has both dim and kind; exactly one is needed}}
  %0 = "pcg.batch"(%a) {microbatches = 2, dim = 0, kind = "sum"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @p6_part(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'pcg.pipeline' op a microbatch of tensor<8x4xf32> is tensor<4x4xf32>; allowed: tensor<2x4xf32>}}
  %0 = "pcg.pipeline"(%a) {dim = 0, block = 1, microbatches = 4} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @p6_block(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'pcg.pipeline' op dim 0 of size 8 is not divisible by 2 microbatches of blocks of 3}}
  %0 = "pcg.pipeline"(%a) {dim = 0, block = 3, microbatches = 2} : (tensor<8x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @p6_batch(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'pcg.batch' op a microbatch of tensor<8x4xf32> is tensor<8x4xf32>; allowed: tensor<4x4xf32>}}
  %0 = "pcg.batch"(%a) {dim = 0, block = 1, microbatches = 2} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @p7_no_block(%a: tensor<4x4xf32>) {
  // expected-error @+1 {{'pcg.batch' op block is None; allowed: an i64}}
  %0 = "pcg.batch"(%a) {dim = 0, microbatches = 2} : (tensor<4x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @p1_rank(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'pcg.pipeline' op operand tensor<8x4xf32> and result tensor<8xf32> differ in rank; allowed: one rank}}
  %0 = "pcg.pipeline"(%a) {dim = 0, block = 1, microbatches = 2} : (tensor<8x4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @missing(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{attribute "dim" is expected but not provided}}
  %0 = "pcg.partition"(%a) {axes = ["x"]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @p11(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'pcg.transfer' op dist.specs 0 is a layout on @other; the op is on @mesh}}
  %0 = "pcg.transfer"(%a) {mesh = @mesh, dist.specs = [#dist.shard_spec<@other, [[], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @p11_rank(%t: tuple<tensor<4xf32>>) {
  // expected-error @+1 {{'pcg.stage' op in_specs 0: #dist.shard_spec<@mesh, [[], []], {}> has 2 dimensions, the tensor has 1}}
  %0 = "pcg.stage"(%t) ({
  ^bb0(%a: tensor<4xf32>):
    %1 = stablehlo.tuple %a : tuple<tensor<4xf32>>
    "pcg.yield"(%1) : (tuple<tensor<4xf32>>) -> ()
  }) {mesh = @mesh, index = 0, in_specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : (tuple<tensor<4xf32>>) -> tuple<tensor<4xf32>>
  return
}

// -----

func.func @p11_count(%t: tuple<tensor<4xf32>>) {
  // expected-error @+1 {{'pcg.stage' op out_specs has 0 entries; one per value is needed, 1}}
  %0 = "pcg.stage"(%t) ({
  ^bb0(%a: tensor<4xf32>):
    %1 = stablehlo.tuple %a : tuple<tensor<4xf32>>
    "pcg.yield"(%1) : (tuple<tensor<4xf32>>) -> ()
  }) {mesh = @mesh, index = 0, out_specs = []} : (tuple<tensor<4xf32>>) -> tuple<tensor<4xf32>>
  return
}

// -----

func.func @p8(%t: tuple<tensor<4xf32>>) {
  // expected-error @+1 {{'pcg.stage' op index -1 is negative; allowed: 0, 1, 2, ...}}
  %0 = "pcg.stage"(%t) ({
  ^bb0(%a: tensor<4xf32>):
    %1 = stablehlo.tuple %a : tuple<tensor<4xf32>>
    "pcg.yield"(%1) : (tuple<tensor<4xf32>>) -> ()
  }) {mesh = @mesh, index = -1} : (tuple<tensor<4xf32>>) -> tuple<tensor<4xf32>>
  return
}

// -----

func.func @p9(%t: tuple<tensor<4xf32>>) {
  // expected-error @+1 {{'pcg.stage' op block arguments are (tensor<2xf32>); allowed: the inputs, (tensor<4xf32>)}}
  %0 = "pcg.stage"(%t) ({
  ^bb0(%a: tensor<2xf32>):
    %1 = stablehlo.tuple %a : tuple<tensor<2xf32>>
    "pcg.yield"(%1) : (tuple<tensor<2xf32>>) -> ()
  }) {mesh = @mesh, index = 0} : (tuple<tensor<4xf32>>) -> tuple<tensor<2xf32>>
  return
}

// -----

func.func @p9_tuple(%t: tensor<4xf32>) {
  // expected-error @+1 {{'pcg.stage' op inputs are a tensor<4xf32>; allowed: a tuple}}
  %0 = "pcg.stage"(%t) ({
  ^bb0(%a: tensor<4xf32>):
    %1 = stablehlo.tuple %a : tuple<tensor<4xf32>>
    "pcg.yield"(%1) : (tuple<tensor<4xf32>>) -> ()
  }) {mesh = @mesh, index = 0} : (tensor<4xf32>) -> tuple<tensor<4xf32>>
  return
}

// -----

func.func @p10(%t: tuple<tensor<4xf32>>) {
  // expected-error @+1 {{'pcg.stage' op yields a tuple<tensor<4xf32>>, its result is a tuple<tensor<2xf32>>}}
  %0 = "pcg.stage"(%t) ({
  ^bb0(%a: tensor<4xf32>):
    %1 = stablehlo.tuple %a : tuple<tensor<4xf32>>
    "pcg.yield"(%1) : (tuple<tensor<4xf32>>) -> ()
  }) {mesh = @mesh, index = 0} : (tuple<tensor<4xf32>>) -> tuple<tensor<2xf32>>
  return
}

// -----

func.func @p13(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{'pcg.send' op tag -1 is negative; allowed: 0, 1, 2, ...}}
  "pcg.send"(%a) {tag = -1, peer = "podB", spec = #dist.shard_spec<@mesh, [[], []], {}>} : (tensor<8x4xf32>) -> ()
  return
}

// -----

func.func @p13_peer() {
  // expected-error @+1 {{'pcg.receive' op peer is empty; allowed: the name of an island}}
  %0 = "pcg.receive"() {tag = 0, peer = "", spec = #dist.shard_spec<@mesh, [[], []], {}>} : () -> tensor<8x4xf32>
  return
}

// -----

func.func @p14(%a: tensor<8x?xf32>) {
  // expected-error @+1 {{'pcg.send' op moves a tensor<8x?xf32>; allowed: ranked tensors of static shape}}
  "pcg.send"(%a) {tag = 0, peer = "podB", spec = #dist.shard_spec<@mesh, [[], []], {}>} : (tensor<8x?xf32>) -> ()
  return
}

// -----

func.func @p14_rank() {
  // expected-error @+1 {{'pcg.receive' op spec: #dist.shard_spec<@mesh, [[]], {}> has 1 dimensions, the tensor has 2}}
  %0 = "pcg.receive"() {tag = 0, peer = "podA", spec = #dist.shard_spec<@mesh, [[]], {}>} : () -> tensor<8x4xf32>
  return
}

// -----

func.func @p15_rows(%a: tensor<8x4xf32>, %d: tensor<8xi32>) {
  // expected-error @+1 {{'pcg.exchange' op rows of tensor<8x4xf32> are tensor<2x8x3xf32>; allowed: [receivers, capacity, ...] of [rows, ...]}}
  %0, %1 = "pcg.exchange"(%a, %d) {mesh = @mesh} : (tensor<8x4xf32>, tensor<8xi32>) -> (tensor<2x8x3xf32>, tensor<2x2xi32>)
  return
}

// -----

func.func @p15_element(%a: tensor<8x4xf32>, %d: tensor<8xi32>) {
  // expected-error @+1 {{'pcg.exchange' op rows of f32 are bf16; allowed: one type}}
  %0, %1 = "pcg.exchange"(%a, %d) {mesh = @mesh} : (tensor<8x4xf32>, tensor<8xi32>) -> (tensor<2x8x4xbf16>, tensor<2x2xi32>)
  return
}

// -----

func.func @p15_destination(%a: tensor<8x4xf32>, %d: tensor<7xi32>) {
  // expected-error @+1 {{'pcg.exchange' op destinations are tensor<7xi32>; allowed: tensor<8xi32>}}
  %0, %1 = "pcg.exchange"(%a, %d) {mesh = @mesh} : (tensor<8x4xf32>, tensor<7xi32>) -> (tensor<2x8x4xf32>, tensor<2x2xi32>)
  return
}

// -----

func.func @p15_counts(%r: tensor<2x8x4xf32>, %n: tensor<3x2xi32>, %d: tensor<8xi32>) {
  // expected-error @+1 {{'pcg.exchange_back' op counts are tensor<3x2xi32>; allowed: tensor<2x(senders)xi32>}}
  %0 = "pcg.exchange_back"(%r, %n, %d) {mesh = @mesh} : (tensor<2x8x4xf32>, tensor<3x2xi32>, tensor<8xi32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @p13_dispatch(%a: tensor<8x4xf32>, %d: tensor<8xi32>) {
  // expected-error @+1 {{'pcg.dispatch' op tag -1 is negative; allowed: 0, 1, 2, ...}}
  "pcg.dispatch"(%a, %d) {tag = -1, peer = "podB", type = tensor<2x8x4xf32>, spec = #dist.shard_spec<@mesh, [[], [], []], {}>} : (tensor<8x4xf32>, tensor<8xi32>) -> ()
  return
}

// -----

func.func @p14_collect(%d: tensor<8xi32>) {
  // expected-error @+1 {{'pcg.collect_back' op spec: #dist.shard_spec<@mesh, [[]], {}> has 1 dimensions, the tensor has 3}}
  %0 = "pcg.collect_back"(%d) {tag = 0, peer = "podB", type = tensor<2x8x4xf32>, spec = #dist.shard_spec<@mesh, [[]], {}>, out_specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : (tensor<8xi32>) -> tensor<8x4xf32>
  return
}
