// RUN: %pcg-opt %s --split-input-file --dist-propagate=engine=dataflow | FileCheck %s
// RUN: %pcg-opt %s --split-input-file --dist-propagate=engine=dataflow --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The second weight is split by its rows, and its product is a partial sum.
// CHECK-LABEL: func.func @column_row
// CHECK-SAME: %arg2: tensor<32x16xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\["model"\], \[\]\]}}, {}>}
// CHECK: dot_general %arg0, %arg1{{.*}}dist.specs = [#dist.shard_spec<@mesh, {{\[\["data"\], \["model"\]\]}}, {}>]
// CHECK: dot_general %1, %arg2{{.*}}dist.specs = [#dist.shard_spec<@mesh, {{\[\["data"\], \[\]\]}}, {model = "sum"}>]
// CHECK: stablehlo.add{{.*}}dist.operand_specs = [#dist.shard_spec<@mesh, {{\[\["data"\], \[\]\]}}, {}>, #dist.shard_spec<@mesh, {{\[\["data"\], \[\]\]}}, {}>]
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()
func.func @column_row(
    %x: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>},
    %w1: tensor<16x32xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["model"]], {}>},
    %w2: tensor<32x16xf32>) -> tensor<8x16xf32> {
  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %1 = stablehlo.tanh %0 : tensor<8x32xf32>
  %2 = stablehlo.dot_general %1, %w2, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  %3 = stablehlo.add %2, %x : tensor<8x16xf32>
  return %3 : tensor<8x16xf32>
}

// -----

// The carry of a loop has one layout, which the body decides; constraints spread both ways.
// CHECK-LABEL: func.func @loop
// CHECK-SAME: %arg0: tensor<8xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\["data"\]\]}}, {}>}
// CHECK: stablehlo.while
// CHECK: attributes {dist.specs = [#dist.shard_spec<@mesh, [], {}>, #dist.shard_spec<@mesh, {{\[\["data"\]\]}}, {}>]}
// CHECK: stablehlo.sine{{.*}}dist.specs = [#dist.shard_spec<@mesh, {{\[\["data"\]\]}}, {}>]
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
func.func @loop(%x: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<8xf32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.sine %c : tensor<8xf32>
    %3 = "dist.constraint"(%2) {spec = #dist.shard_spec<@mesh, [["data"]], {}>} : (tensor<8xf32>) -> tensor<8xf32>
    stablehlo.return %1, %3 : tensor<i32>, tensor<8xf32>
  }
  return %0#1 : tensor<8xf32>
}

// -----

// Branches give their results to one value; the predicate is held by all.
// CHECK-LABEL: func.func @branches
// CHECK-SAME: %arg1: tensor<8xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\["data"\]\]}}, {}>}
// CHECK-SAME: -> (tensor<8xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\["data"\]\]}}, {}>})
// CHECK: stablehlo.cosine{{.*}}dist.specs = [#dist.shard_spec<@mesh, {{\[\["data"\]\]}}, {}>]
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
func.func @branches(%p: tensor<i1>, %x: tensor<8xf32>)
    -> (tensor<8xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"]], {}>}) {
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.cosine %x : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }, {
    stablehlo.return %x : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// REMARK: remark: {{.*}}'stablehlo.custom_call' op runs replicated: operand 0 is split as [data], but custom call @foo is opaque
// REMARK: remark: {{.*}}'stablehlo.fft' op gathers dimension 0 of operand 0, split by data: it is transformed as a whole
// CHECK-LABEL: func.func @stuck
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
func.func @stuck(%x: tensor<8xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"]], {}>}) -> (tensor<8xf32>, tensor<5xcomplex<f32>>) {
  %0 = stablehlo.custom_call @foo(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.fft %x, type = RFFT, length = [8] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  return %0, %1 : tensor<8xf32>, tensor<5xcomplex<f32>>
}
