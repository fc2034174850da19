// RUN: %pcg-opt %s --pcg-saturate --split-input-file | FileCheck %s
// RUN: %pcg-opt %s --pcg-saturate=exact --split-input-file | FileCheck %s --check-prefix=EXACT
// RUN: %pcg-opt %s --pcg-saturate=rules=scaled-rows,split-rows --split-input-file | FileCheck %s --check-prefix=SOME
// RUN: not %pcg-opt %s --pcg-saturate=rules=none --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: pcg-saturate: rule 'none' is not known; allowed: split-contraction,

// Both products are there; what follows reads either.  The sum is rounded in another order.  So are both forms of the
// concatenation, of which columns in blocks are exact.
// CHECK-LABEL: func.func @main
// CHECK: %[[B:.*]] = stablehlo.concatenate %{{.*}}, %{{.*}}, dim = 1 : (tensor<8x2x8xf32>, tensor<8x1x8xf32>) -> tensor<8x3x8xf32>
// CHECK-NEXT: %[[R:.*]] = stablehlo.reshape %[[B]]
// CHECK-NEXT: %[[C:.*]] = stablehlo.concatenate %arg0, %arg1
// CHECK-NEXT: %[[D:.*]] = "pcg.alternatives"(%[[C]], %[[R]]) {rule = "concat-of-blocks"} : (tensor<8x24xf32>, tensor<8x24xf32>) -> tensor<8x24xf32>
// CHECK: %[[S:.*]] = stablehlo.add
// CHECK-NEXT: %[[P:.*]] = stablehlo.dot_general %[[D]], %arg2
// CHECK-NEXT: %[[A:.*]] = "pcg.alternatives"(%[[P]], %[[S]]) {rule = "split-contraction"} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
// CHECK-NEXT: stablehlo.tanh %[[A]]
// EXACT-LABEL: func.func @main
// EXACT: "pcg.alternatives"(%{{.*}}, %{{.*}}) {rule = "concat-of-blocks"}
// EXACT-NOT: pcg.alternatives
// EXACT: return
// SOME-LABEL: func.func @main
// SOME-NOT: pcg.alternatives
// SOME: return
func.func @main(%x: tensor<8x16xf32>, %y: tensor<8x8xf32>, %w: tensor<24x4xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<8x16xf32>, tensor<8x8xf32>) -> tensor<8x24xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<8x24xf32>, tensor<24x4xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.tanh %1 : tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}

// -----

// Rows of a product are rounded as they were.
// CHECK-LABEL: func.func @main
// CHECK: "pcg.alternatives"(%{{.*}}, %{{.*}}) {rule = "split-rows"}
// EXACT-LABEL: func.func @main
// EXACT: "pcg.alternatives"(%{{.*}}, %{{.*}}) {rule = "split-rows"}
// SOME-LABEL: func.func @main
// SOME: "pcg.alternatives"(%{{.*}}, %{{.*}}) {rule = "split-rows"}
func.func @main(%x: tensor<8x16xf32>, %y: tensor<4x16xf32>, %w: tensor<16x4xf32>) -> tensor<12x4xf32> {
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<12x16xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<12x16xf32>, tensor<16x4xf32>) -> tensor<12x4xf32>
  return %1 : tensor<12x4xf32>
}

// -----

// The second rule matches what the first has made.
// CHECK-LABEL: func.func @main
// CHECK: %[[M:.*]] = stablehlo.multiply %arg2, %{{.*}} : tensor<4x8xf32>
// CHECK: %[[A:.*]] = "pcg.alternatives"(%{{.*}}, %{{.*}}) {rule = "scaled-rows"}
// CHECK: %[[N:.*]] = stablehlo.negate %[[M]]
// CHECK: %[[U:.*]] = "stablehlo.scatter"(%arg0, %arg1, %[[N]])
// CHECK: %[[S:.*]] = stablehlo.subtract %arg0, %[[A]]
// CHECK: %[[B:.*]] = "pcg.alternatives"(%[[S]], %[[U]]) {rule = "{{.*}}subtract-from-table"}
// CHECK: return %[[B]]
// EXACT-LABEL: func.func @main
// EXACT-NOT: pcg.alternatives
// EXACT: return
// SOME-LABEL: func.func @main
// SOME: "pcg.alternatives"(%{{.*}}, %{{.*}}) {rule = "scaled-rows"}
// SOME-NOT: pcg.alternatives
// SOME: return
func.func @main(%t: tensor<500x8xf32>, %i: tensor<4x1xi32>, %g: tensor<4x8xf32>, %c: tensor<f32>) -> tensor<500x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<500x8xf32>
  %s = "stablehlo.scatter"(%zero, %i, %g) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %p : tensor<f32>
  }) : (tensor<500x8xf32>, tensor<4x1xi32>, tensor<4x8xf32>) -> tensor<500x8xf32>
  %k = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<500x8xf32>
  %m = stablehlo.multiply %s, %k : tensor<500x8xf32>
  %r = stablehlo.subtract %t, %m : tensor<500x8xf32>
  return %r : tensor<500x8xf32>
}

// -----

// The other order computes much more.
// CHECK-LABEL: func.func @main
// CHECK-NOT: pcg.alternatives
// CHECK: return
func.func @main(%x: tensor<2x40xf32>, %y: tensor<40x40xf32>, %z: tensor<40x40xf32>) -> tensor<2x40xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x40xf32>, tensor<40x40xf32>) -> tensor<2x40xf32>
  %1 = stablehlo.dot_general %0, %z, contracting_dims = [1] x [0] : (tensor<2x40xf32>, tensor<40x40xf32>) -> tensor<2x40xf32>
  return %1 : tensor<2x40xf32>
}
