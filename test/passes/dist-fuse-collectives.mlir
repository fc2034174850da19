// RUN: %pcg-opt %s --dist-fuse-collectives | FileCheck %s

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()

// CHECK-LABEL: func.func @reduce_scatter
func.func @reduce_scatter(%a: tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: "dist.mask"(%arg0)
  // CHECK-NEXT: %[[X:.*]] = stablehlo.negate
  // CHECK-NEXT: "dist.reduce_scatter"(%[[X]]) {axes = ["model"], dim = 1 : i64, {{.*}}kind = "sum"}
  // CHECK-NEXT: return
  %m = "pcg.mask"(%a) {axes = ["model"], kind = "sum", dist.specs = [#dist.shard_spec<@mesh, [[], []], {model = "sum"}>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %x = stablehlo.negate %m {dist.specs = [#dist.shard_spec<@mesh, [[], []], {model = "sum"}>]} : tensor<8x8xf32>
  %0 = "pcg.reduce"(%x) {axes = ["model"], kind = "sum", dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = "pcg.partition"(%0) {axes = ["model"], dim = 1, dist.specs = [#dist.shard_spec<@mesh, [[], ["model"]], {}>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %1 : tensor<8x8xf32>
}

/// A second use keeps the whole value: the reduction stays whole and the partition is a local slice.
// CHECK-LABEL: func.func @second_use
func.func @second_use(%a: tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK-NEXT: "dist.mask"(%arg0)
  // CHECK-NEXT: %[[X:.*]] = stablehlo.exponential
  // CHECK-NEXT: %[[R:.*]] = "dist.all_reduce"(%[[X]]) {axes = ["model"], {{.*}}kind = "max"}
  // CHECK-NEXT: %[[S:.*]] = "dist.slice"(%[[R]]) {axes = ["model"], dim = 1
  // CHECK-NEXT: return %[[R]], %[[S]]
  %m = "pcg.mask"(%a) {axes = ["model"], kind = "max", dist.specs = [#dist.shard_spec<@mesh, [[], []], {model = "max"}>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %x = stablehlo.exponential %m {dist.specs = [#dist.shard_spec<@mesh, [[], []], {model = "max"}>]} : tensor<8x8xf32>
  %0 = "pcg.reduce"(%x) {axes = ["model"], kind = "max", dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = "pcg.partition"(%0) {axes = ["model"], dim = 1, dist.specs = [#dist.shard_spec<@mesh, [[], ["model"]], {}>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// CHECK-LABEL: func.func @all_to_all
func.func @all_to_all(%x: tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], []], {}>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: "dist.all_to_all"(%arg0) {axes = ["model"], concat_dim = 0 : i64, {{.*}}split_dim = 1 : i64}
  // CHECK-NEXT: return
  %0 = "pcg.combine"(%x) {axes = ["model"], dim = 0, dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = "pcg.partition"(%0) {axes = ["model"], dim = 1, dist.specs = [#dist.shard_spec<@mesh, [[], ["model"]], {}>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %1 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @permute
func.func @permute(%x: tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["data", "model"], []], {}>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: "dist.permute"(%arg0) {dist.specs = [#dist.shard_spec<@mesh, {{\[\["model", "data"\], \[\]\]}}, {}>]}
  // CHECK-NEXT: return
  %0 = "pcg.combine"(%x) {axes = ["data", "model"], dim = 0, dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = "pcg.partition"(%0) {axes = ["model", "data"], dim = 0, dist.specs = [#dist.shard_spec<@mesh, [["model", "data"], []], {}>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %1 : tensor<8x8xf32>
}

/// What undoes itself, and what moves nothing, vanishes.
// CHECK-LABEL: func.func @nothing
func.func @nothing(%x: tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], []], {}>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: return %arg0
  %0 = "pcg.combine"(%x) {axes = ["model"], dim = 0, dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = "pcg.replicate"(%0) {axes = ["model"], dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = "pcg.partition"(%1) {axes = ["model"], dim = 0, dist.specs = [#dist.shard_spec<@mesh, [["model"], []], {}>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %2 : tensor<8x8xf32>
}

/// Two gathers of one dimension are one.
// CHECK-LABEL: func.func @merge
func.func @merge(%x: tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["data", "model"], []], {}>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: "dist.all_gather"(%arg0) {axes = ["data", "model"], dim = 0
  // CHECK-NEXT: return
  %0 = "pcg.combine"(%x) {axes = ["model"], dim = 0, dist.specs = [#dist.shard_spec<@mesh, [["data"], []], {}>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = "pcg.combine"(%0) {axes = ["data"], dim = 0, dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %1 : tensor<8x8xf32>
}
