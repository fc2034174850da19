// RUN: %python %S/Inputs/execute.py %s | FileCheck %s

// A loop in a loop; the inner body gathers what the outer one carries split.
// CHECK: agree: 1 all_gather
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data"], [4], []>} : () -> ()
func.func @main(%x: tensor<8x8xi32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>})
    -> (tensor<8x8xi32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>}) {
  %c = stablehlo.constant {dist.specs = [#dist.shard_spec<@mesh, [], {}>]} dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c, %y = %x) : tensor<i32>, tensor<8x8xi32>
    attributes {dist.specs = [#dist.shard_spec<@mesh, [], {}>, #dist.shard_spec<@mesh, [["data"], []], {}>]}
  cond {
    %n = stablehlo.constant {dist.specs = [#dist.shard_spec<@mesh, [], {}>]} dense<2> : tensor<i32>
    %l = stablehlo.compare LT, %i, %n {dist.specs = [#dist.shard_spec<@mesh, [], {}>]} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  } do {
    %one = stablehlo.constant {dist.specs = [#dist.shard_spec<@mesh, [], {}>]} dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one {dist.specs = [#dist.shard_spec<@mesh, [], {}>]} : tensor<i32>
    %s:2 = stablehlo.while(%k = %c, %z = %y) : tensor<i32>, tensor<8x8xi32>
      attributes {dist.specs = [#dist.shard_spec<@mesh, [], {}>, #dist.shard_spec<@mesh, [["data"], []], {}>]}
    cond {
      %l = stablehlo.compare LE, %k, %i {dist.specs = [#dist.shard_spec<@mesh, [], {}>]} : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %l : tensor<i1>
    } do {
      %m = stablehlo.add %k, %one {dist.specs = [#dist.shard_spec<@mesh, [], {}>]} : tensor<i32>
      %t = stablehlo.transpose %z, dims = [1, 0] {dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>],
        dist.operand_specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : (tensor<8x8xi32>) -> tensor<8x8xi32>
      %u = stablehlo.add %t, %z {dist.specs = [#dist.shard_spec<@mesh, [["data"], []], {}>]} : tensor<8x8xi32>
      stablehlo.return %m, %u : tensor<i32>, tensor<8x8xi32>
    }
    stablehlo.return %j, %s#1 : tensor<i32>, tensor<8x8xi32>
  }
  func.return %r#1 : tensor<8x8xi32>
}
