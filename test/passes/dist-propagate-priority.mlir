// RUN: %pcg-opt %s --split-input-file --sdy-import --dist-propagate=engine=priority | FileCheck %s
// RUN: %pcg-opt %s --split-input-file --sdy-import | FileCheck %s --check-prefix=IMPORT

// Both operands claim "x".  The first has its claim in a later round, so the second decides, and nothing
// overrides what the first is.
// IMPORT-LABEL: func.func @later
// IMPORT-SAME: %arg0: tensor<8x16xf32> {dist.open = [1], dist.priorities = [1, 0], dist.spec = #dist.shard_spec<@mesh, {{\[\["x"\], \[\]\]}}, {}>}
// IMPORT-SAME: %arg1: tensor<8x16xf32> {dist.open = [0], dist.spec
// CHECK-LABEL: func.func @later
// CHECK-SAME: %arg0: tensor<8x16xf32> {{{.*}}dist.spec = #dist.shard_spec<@mesh, {{\[\["x"\], \[\]\]}}, {}>}
// CHECK-SAME: -> (tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[\], \["x"\]\]}}, {}>})
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @later(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}p1, {?}]>},
                 %b: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"x"}]>}) -> tensor<8x16xf32> {
  %0 = stablehlo.add %a, %b : tensor<8x16xf32>
  %1 = stablehlo.tanh %0 : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// -----

// The same without priorities: of two tensors of one size the first decides.
// CHECK-LABEL: func.func @together
// CHECK-SAME: -> (tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\["x"\], \[\]\]}}, {}>})
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @together(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>},
                    %b: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"x"}]>}) -> tensor<8x16xf32> {
  %0 = stablehlo.add %a, %b : tensor<8x16xf32>
  %1 = stablehlo.tanh %0 : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// -----

// Open dimensions take what their neighbours have, closed ones do not; the request is then settled.
// CHECK-LABEL: func.func @open
// CHECK: %[[OPEN:.*]] = "dist.constraint"(%{{.*}}) {dist.annotated = {{.*}}, dist.specs = [#dist.shard_spec<@mesh, {{\[\["x"\], \["y"\]\]}}, {}>], spec = #dist.shard_spec<@mesh, {{\[\["x"\], \["y"\]\]}}, {}>}
// CHECK: "dist.constraint"(%[[OPEN]]) {dist.specs = [#dist.shard_spec<@mesh, {{\[\["x"\], \[\]\]}}, {}>]
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @open(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<8x16xf32> {
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {?}p2]> : tensor<8x16xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
