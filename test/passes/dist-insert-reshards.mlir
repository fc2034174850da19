// RUN: %pcg-opt %s --dist-insert-reshards | FileCheck %s

/// A partial value is made whole for its consumer; what the strategies needed is used up.
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()
// CHECK-LABEL: func.func @reduce
func.func @reduce(%x: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], ["model"]], {}>},
                  %w: tensor<16x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], []], {}>})
    -> (tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>}) {
  // CHECK-NOT: operand_specs
  // CHECK: %[[P:.*]] = stablehlo.dot_general
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    {dist.specs = [#dist.shard_spec<@mesh, [["data"], []], {model = "sum"}>]} : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  // CHECK-NEXT: %[[R:.*]] = "pcg.reduce"(%[[P]]) {axes = ["model"]
  // CHECK-SAME: dist.specs = [#dist.shard_spec<@mesh, {{\[\["data"\], \[\]\]}}, {}>], kind = "sum"}
  // CHECK-NEXT: stablehlo.tanh %[[R]]
  // CHECK-NOT: operand_specs
  %1 = stablehlo.tanh %0 {dist.specs = [#dist.shard_spec<@mesh, [["data"], []], {}>],
    dist.operand_specs = [#dist.shard_spec<@mesh, [["data"], []], {}>]} : tensor<8x8xf32>
  func.return %1 : tensor<8x8xf32>
}

/// The function's result needs its layout; a reduce_scatter is spelled reduce, partition.
// CHECK-LABEL: func.func @scatter
func.func @scatter(%x: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["model"]], {}>},
                   %w: tensor<16x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], []], {}>})
    -> (tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], []], {}>}) {
  // CHECK: %[[P:.*]] = stablehlo.dot_general
  // CHECK-NEXT: %[[R:.*]] = "pcg.reduce"(%[[P]]) {axes = ["model"]
  // CHECK-NEXT: %[[S:.*]] = "pcg.partition"(%[[R]]) {axes = ["model"], dim = 0 : i64
  // CHECK-NEXT: return %[[S]]
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    {dist.specs = [#dist.shard_spec<@mesh, [[], []], {model = "sum"}>]} : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  func.return %0 : tensor<8x8xf32>
}

/// The operand layout that the rule needs is derived when nothing says it.
// CHECK-LABEL: func.func @derive
func.func @derive(%x: tensor<8xf32> {dist.spec = #dist.shard_spec<@mesh, [[]], {}>})
    -> (tensor<8xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"]], {}>}) {
  // CHECK-NEXT: %[[S:.*]] = "pcg.partition"(%arg0) {axes = ["data"]
  // CHECK-NEXT: stablehlo.tanh %[[S]]
  %0 = stablehlo.tanh %x {dist.specs = [#dist.shard_spec<@mesh, [["data"]], {}>]} : tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

/// Two consumers of a gathered value share the gather; a third gets its layout from the gathered value.
// CHECK-LABEL: func.func @share
func.func @share(%x: tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], []], {}>})
    -> (tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>},
        tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>},
        tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["data"]], {}>}) {
  // CHECK-NEXT: %[[G:.*]] = "pcg.combine"(%arg0) {axes = ["model"], dim = 0
  // CHECK-NEXT: %[[S:.*]] = "pcg.partition"(%[[G]]) {axes = ["data"], dim = 1
  // CHECK-NEXT: %[[T:.*]] = stablehlo.tanh %[[G]]
  // CHECK-NEXT: return %[[G]], %[[T]], %[[S]]
  %0 = stablehlo.tanh %x {dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>],
    dist.operand_specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : tensor<8x8xf32>
  func.return %x, %0, %x : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

/// Constraints become operators, all_to_all is spelled combine, partition.
// CHECK-LABEL: func.func @constraint
func.func @constraint(%x: tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], []], {}>})
    -> (tensor<8x8xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["model"]], {}>}) {
  // CHECK-NEXT: %[[G:.*]] = "pcg.combine"(%arg0) {axes = ["model"], dim = 0
  // CHECK-NEXT: %[[S:.*]] = "pcg.partition"(%[[G]]) {axes = ["model"], dim = 1
  // CHECK-NEXT: return %[[S]]
  %0 = "dist.constraint"(%x) {spec = #dist.shard_spec<@mesh, [[], ["model"]], {}>,
    dist.specs = [#dist.shard_spec<@mesh, [[], ["model"]], {}>]} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %0 : tensor<8x8xf32>
}

/// What a loop does not change is moved before it; carries are moved at its entry and at its end.
// CHECK-LABEL: func.func @loop
func.func @loop(%p: tensor<i1>, %x: tensor<8xf32> {dist.spec = #dist.shard_spec<@mesh, [[]], {}>},
                %w: tensor<8xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"]], {}>})
    -> (tensor<8xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"]], {}>}) {
  // CHECK-DAG: %[[X:.*]] = "pcg.partition"(%arg1) {axes = ["data"]
  // CHECK-DAG: %[[W:.*]] = "pcg.combine"(%arg2) {axes = ["model"]
  // CHECK: stablehlo.while(%[[I:.*]] = %[[X]])
  // CHECK: do {
  // CHECK-NEXT: %[[G:.*]] = "pcg.combine"(%[[I]]) {axes = ["data"]
  // CHECK-NEXT: %[[A:.*]] = stablehlo.add %[[G]], %[[W]]
  // CHECK-NEXT: %[[S:.*]] = "pcg.partition"(%[[A]]) {axes = ["data"]
  // CHECK-NEXT: stablehlo.return %[[S]]
  %0 = stablehlo.while(%i = %x) : tensor<8xf32> attributes {dist.specs = [#dist.shard_spec<@mesh, [["data"]], {}>]}
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %w {dist.specs = [#dist.shard_spec<@mesh, [[]], {}>],
      dist.operand_specs = [#dist.shard_spec<@mesh, [[]], {}>, #dist.shard_spec<@mesh, [[]], {}>]} : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }
  func.return %0 : tensor<8xf32>
}
