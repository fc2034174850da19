// RUN: %pcg-opt %s --verify-roundtrip | FileCheck %s
// RUN: %pcg-opt %s | %pcg-opt | FileCheck %s

// CHECK: "dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()
// CHECK: "dist.mesh"() {sym_name = "other", value = #dist.process_mesh<["x"], [2], [5, 3]>} : () -> ()
"dist.mesh"() {sym_name = "other", value = #dist.process_mesh<["x"], [2], [5, 3]>} : () -> ()

// CHECK-LABEL: func.func @dist
// CHECK-SAME: {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}"data"], []], {model = "sum"}>}
// CHECK-SAME: (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[}}"data", "model"], []], {}>})
func.func @dist(%a: tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {model = "sum"}>})
    -> (tensor<8x4xf32> {dist.spec = #dist.shard_spec<@mesh, [["data", "model"], []], {}>}) {
  // CHECK: "dist.constraint"(%arg0) {spec = #dist.shard_spec<@mesh, {{\[\[}}"data"], ["model"]], {}>}
  %0 = "dist.constraint"(%a) {spec = #dist.shard_spec<@mesh, [["data"], ["model"]], {}>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: "dist.reshard"
  %1 = "dist.reshard"(%0) {spec = #dist.shard_spec<@mesh, [[], []], {}>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: "dist.all_reduce"(%{{.*}}) {axes = ["model"], kind = "max"}
  %2 = "dist.all_reduce"(%1) {axes = ["model"], kind = "max"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: "dist.all_gather"(%{{.*}}) {axes = ["model"], dim = 1 : i64}
  %3 = "dist.all_gather"(%2) {dim = 1, axes = ["model"]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: "dist.reduce_scatter"(%{{.*}}) {axes = ["data", "model"], dim = 0 : i64, kind = "sum"}
  %4 = "dist.reduce_scatter"(%3) {dim = 0, axes = ["data", "model"], kind = "sum"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: "dist.all_to_all"(%{{.*}}) {axes = ["data"], concat_dim = 1 : i64, split_dim = 0 : i64}
  %5 = "dist.all_to_all"(%4) {split_dim = 0, concat_dim = 1, axes = ["data"]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: "dist.permute"
  %6 = "dist.permute"(%5) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: "dist.slice"
  %7 = "dist.slice"(%6) {dim = 0, axes = ["data"]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %7 : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @pcg
func.func @pcg(%a: tensor<8x4xf32>, %w: tensor<4x2xf32>) -> tensor<8x2xf32> {
  // CHECK-NEXT: "pcg.partition"(%arg0) {axes = ["data"], dim = 0 : i64}
  %0 = "pcg.partition"(%a) {dim = 0, axes = ["data"]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: "pcg.combine"
  %1 = "pcg.combine"(%0) {dim = 0, axes = ["data"]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: "pcg.replicate"(%{{.*}}) {axes = ["model"]}
  %2 = "pcg.replicate"(%1) {axes = ["model"]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: "pcg.reduce"(%{{.*}}) {axes = ["model"], kind = "sum"}
  %3 = "pcg.reduce"(%2) {axes = ["model"], kind = "sum"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: "pcg.pipeline"(%{{.*}}) {block = 1 : i64, dim = 0 : i64, microbatches = 4 : i64}
  %4 = "pcg.pipeline"(%3) {dim = 0, block = 1, microbatches = 4} : (tensor<8x4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: "pcg.batch"(%{{.*}}) {block = 1 : i64, dim = 0 : i64, microbatches = 4 : i64}
  %5 = "pcg.batch"(%4) {dim = 0, block = 1, microbatches = 4} : (tensor<2x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: "pcg.transfer"
  %6 = "pcg.transfer"(%5) {mesh = @other, dist.specs = [#dist.shard_spec<@other, [["x"], []], {}>]} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %in = stablehlo.tuple %6, %w : tuple<tensor<8x4xf32>, tensor<4x2xf32>>
  // CHECK: %[[OUT:.*]] = "pcg.stage"
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<8x4xf32>, %{{.*}}: tensor<4x2xf32>):
  %out = "pcg.stage"(%in) ({
  ^bb0(%x: tensor<8x4xf32>, %y: tensor<4x2xf32>):
    %7 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
    %8 = stablehlo.tuple %7 : tuple<tensor<8x2xf32>>
    // CHECK: "pcg.yield"
    "pcg.yield"(%8) : (tuple<tensor<8x2xf32>>) -> ()
  // CHECK-NEXT: }) {index = 0 : i64, mesh = @other}
  }) {mesh = @other, index = 0} : (tuple<tensor<8x4xf32>, tensor<4x2xf32>>) -> tuple<tensor<8x2xf32>>
  %9 = stablehlo.get_tuple_element %out[0] : (tuple<tensor<8x2xf32>>) -> tensor<8x2xf32>
  return %9 : tensor<8x2xf32>
}

// CHECK-LABEL: func.func @messages
func.func @messages(%a: tensor<8x4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: "dist.send"(%arg0) {limit = array<i64: 8, 8>, peer = 2 : i64, start = array<i64: 0, 4>, tag = 0 : i64} : (tensor<8x4xf32>) -> ()
  "dist.send"(%a) {peer = 2, tag = 0, start = array<i64: 0, 4>, limit = array<i64: 8, 8>} : (tensor<8x4xf32>) -> ()
  // CHECK-NEXT: "dist.recv"() {limit = array<i64: 4>, peer = 1 : i64, start = array<i64: 0>, tag = 3 : i64} : () -> tensor<4xf32>
  %0 = "dist.recv"() {peer = 1, tag = 3, start = array<i64: 0>, limit = array<i64: 4>} : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @between_islands
func.func @between_islands(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK-NEXT: "pcg.send"(%arg0) {peer = "podB", spec = #dist.shard_spec<@other, {{\[\[}}"x"], []], {}>, tag = 0 : i64} : (tensor<8x4xf32>) -> ()
  "pcg.send"(%a) {tag = 0, peer = "podB", spec = #dist.shard_spec<@other, [["x"], []], {}>} : (tensor<8x4xf32>) -> ()
  // CHECK-NEXT: "pcg.receive"() {peer = "podB", spec = #dist.shard_spec<@other, {{\[\[}}], []], {}>, tag = 3 : i64} : () -> tensor<8x4xf32>
  %0 = "pcg.receive"() {tag = 3, peer = "podB", spec = #dist.shard_spec<@other, [[], []], {}>} : () -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @exchanges
func.func @exchanges(%a: tensor<8x4xf32>, %d: tensor<8xi32>) -> tensor<8x4xf32> {
  // CHECK-NEXT: "pcg.exchange"(%arg0, %arg1) {drop, in_specs
  %0, %1 = "pcg.exchange"(%a, %d) {mesh = @other, drop, in_specs = [#dist.shard_spec<@other, [["x"], []], {}>, #dist.shard_spec<@other, [["x"]], {}>], out_specs = [#dist.shard_spec<@other, [["x"], [], []], {}>, #dist.shard_spec<@other, [["x"], []], {}>]} : (tensor<8x4xf32>, tensor<8xi32>) -> (tensor<2x8x4xf32>, tensor<2x2xi32>)
  // CHECK-NEXT: "pcg.exchange_back"(%{{.*}}, %{{.*}}, %arg1) {in_specs
  %2 = "pcg.exchange_back"(%0, %1, %d) {mesh = @other, in_specs = [#dist.shard_spec<@other, [["x"], [], []], {}>, #dist.shard_spec<@other, [["x"], []], {}>, #dist.shard_spec<@other, [["x"]], {}>], out_specs = [#dist.shard_spec<@other, [["x"], []], {}>]} : (tensor<2x8x4xf32>, tensor<2x2xi32>, tensor<8xi32>) -> tensor<8x4xf32>
  // CHECK-NEXT: "pcg.dispatch"(%arg0, %arg1) {peer = "podB", spec = {{.*}}, tag = 4 : i64, type = tensor<2x8x4xf32>} : (tensor<8x4xf32>, tensor<8xi32>) -> ()
  "pcg.dispatch"(%a, %d) {tag = 4, peer = "podB", type = tensor<2x8x4xf32>, spec = #dist.shard_spec<@other, [["x"], [], []], {}>} : (tensor<8x4xf32>, tensor<8xi32>) -> ()
  // CHECK-NEXT: "pcg.collect"() {out_specs = {{.*}}, peer = "podB", spec = {{.*}}, tag = 5 : i64, type = tensor<8x4xf32>} : () -> (tensor<2x8x4xf32>, tensor<2x2xi32>)
  %3, %4 = "pcg.collect"() {tag = 5, peer = "podB", type = tensor<8x4xf32>, spec = #dist.shard_spec<@other, [["x"], []], {}>, out_specs = [#dist.shard_spec<@other, [["x"], [], []], {}>, #dist.shard_spec<@other, [["x"], []], {}>]} : () -> (tensor<2x8x4xf32>, tensor<2x2xi32>)
  // CHECK-NEXT: "pcg.collect_back"(%arg1) {out_specs
  %5 = "pcg.collect_back"(%d) {tag = 6, peer = "podB", type = tensor<2x8x4xf32>, spec = #dist.shard_spec<@other, [["x"], [], []], {}>, out_specs = [#dist.shard_spec<@other, [["x"], []], {}>]} : (tensor<8xi32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
