// RUN: %pcg-opt %s --mesh=a=2,b=2 --pcg-substitute --split-input-file | FileCheck %s
// RUN: %pcg-opt %s --mesh=a=2,b=2 --pcg-substitute --split-input-file --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: %pcg-opt %s --mesh=a=2,b=2 --pcg-substitute=algorithm=unity --split-input-file | FileCheck %s --check-prefix=UNITY
// RUN: %pcg-opt %s --mesh=a=2,b=2 --pcg-substitute=exact --split-input-file | FileCheck %s --check-prefix=EXACT
// RUN: %pcg-opt %s --mesh=a=2,b=2 --pcg-substitute=substitutions=false --split-input-file | FileCheck %s --check-prefix=NONE
// RUN: not %pcg-opt %s --mesh=a=2,b=2 --pcg-substitute=taken=99 --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=BEYOND
// RUN: not %pcg-opt %s --mesh=a=2,b=2 --pcg-substitute=rules=none --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %pcg-opt %s --pcg-substitute --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=MESH

// REMARK: remark: pcg-substitute: scaled-rows: {{.*}}; subtract-from-table: add(t, neg(scatter_add(zeros[v, n](), i, g))) => scatter_add(t, i, neg(g)), proved from properties: ours
// REMARK: remark: pcg-substitute: substitutions: {{[0-9.]+}} us per step by estimate, {{[0-9.]+}} us without: scaled-rows then subtract-from-table 1 times (without {{[0-9.]+}} us more); the search of all alternatives found {{[0-9.]+}} us per step by estimate (bound {{[0-9.]+}} us)
// REMARK: remark: pcg-substitute: columns-of-product: slice[2, s, l]
// BEYOND: error: pcg-substitute: taken has rewrite 99; allowed: 0 or more, and less than {{[0-9]+}}, as rules find
// UNKNOWN: error: pcg-substitute: rule 'none' is not known; allowed: split-contraction,
// MESH: error: pcg-substitute: there is no mesh to plan for; give --mesh name=size,... or a dist.mesh

// Only the rows that were looked up are updated.  The order of sums changes where rows are named twice.
// CHECK: module attributes {pcg.applied_rules = [{name = "scaled-rows then subtract-from-table", places = ["pcg-substitute.mlir:47"],
// CHECK-SAME: proofs = ["scaled-rows: {{[^"]*}}, proved from properties: ours", "subtract-from-table: {{[^"]*}}, proved from properties: ours"], saved = {{[0-9.E-]+}} : f64}],
// CHECK-SAME: pcg.substitutions = "rules=split-contraction,{{.*}} taken={{[0-9,]+}}"}
// UNITY: module attributes {pcg.applied_rules = [{name = "{{[a-z-]+}}", places = ["pcg-substitute.mlir:{{[0-9]+}}"],
// UNITY-NOT: saved
// UNITY-NOT: pcg.substitutions
// UNITY-LABEL: func.func @main
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> tensor<1000000x64xf32> {
// CHECK-NEXT: %[[K:.*]] = stablehlo.broadcast_in_dim %arg3
// CHECK-NEXT: %[[M:.*]] = stablehlo.multiply %arg2, %[[K]] : tensor<1024x64xf32>
// CHECK-NEXT: %[[N:.*]] = stablehlo.negate %[[M]] : tensor<1024x64xf32>
// CHECK-NEXT: %[[S:.*]] = "stablehlo.scatter"(%arg0, %arg1, %[[N]])
// CHECK-NOT: pcg.alternatives
// CHECK: return %[[S]]
// EXACT-LABEL: func.func @main
// EXACT: stablehlo.subtract {{.*}} : tensor<1000000x64xf32>
// NONE-NOT: pcg.{{substitutions|applied_rules}}
// NONE-LABEL: func.func @main
// NONE: stablehlo.subtract {{.*}} : tensor<1000000x64xf32>
func.func @main(%t: tensor<1000000x64xf32>, %i: tensor<1024x1xi32>, %g: tensor<1024x64xf32>, %c: tensor<f32>) -> tensor<1000000x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<1000000x64xf32>
  %s = "stablehlo.scatter"(%zero, %i, %g) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %p : tensor<f32>
  }) : (tensor<1000000x64xf32>, tensor<1024x1xi32>, tensor<1024x64xf32>) -> tensor<1000000x64xf32>
  %k = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<1000000x64xf32>
  %m = stablehlo.multiply %s, %k : tensor<1000000x64xf32>
  %r = stablehlo.subtract %t, %m : tensor<1000000x64xf32>
  return %r : tensor<1000000x64xf32>
}

// -----

// Nothing to gain: the program stays.
// CHECK-NOT: pcg.{{substitutions|applied_rules}}
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = stablehlo.dot_general %arg0, %arg1
// CHECK-NEXT: %[[T:.*]] = stablehlo.tanh %[[P]]
// CHECK-NEXT: %[[Q:.*]] = stablehlo.dot_general %[[T]], %arg2
// CHECK-NEXT: return %[[Q]]
// EXACT-LABEL: func.func @main
// NONE-LABEL: func.func @main
func.func @main(%x: tensor<256x512xf32>, %y: tensor<512x512xf32>, %z: tensor<512x512xf32>) -> tensor<256x512xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<256x512xf32>, tensor<512x512xf32>) -> tensor<256x512xf32>
  %1 = stablehlo.tanh %0 : tensor<256x512xf32>
  %2 = stablehlo.dot_general %1, %z, contracting_dims = [1] x [0] : (tensor<256x512xf32>, tensor<512x512xf32>) -> tensor<256x512xf32>
  return %2 : tensor<256x512xf32>
}

// -----

// A few columns of a product: exact, and so made with `exact` as well.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = stablehlo.slice %arg1 [0:512, 64:128]
// CHECK-NEXT: %[[P:.*]] = stablehlo.dot_general %arg0, %[[W]]
// CHECK-NEXT: return %[[P]]
// EXACT: pcg.substitutions = "rules=split-rows,split-columns,rows-of-product,columns-of-product,one-product-of-rows,one-product-of-columns,concat-of-blocks,slice-of-blocks,negated-rows taken=
// EXACT-LABEL: func.func @main
// EXACT: %[[W:.*]] = stablehlo.slice %arg1 [0:512, 64:128]
// EXACT-NEXT: stablehlo.dot_general %arg0, %[[W]]
// NONE-LABEL: func.func @main
// NONE: %[[P:.*]] = stablehlo.dot_general %arg0, %arg1
// NONE-NEXT: stablehlo.slice %[[P]] [0:256, 64:128]
func.func @main(%x: tensor<256x512xf32>, %w: tensor<512x4096xf32>) -> tensor<256x64xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x512xf32>, tensor<512x4096xf32>) -> tensor<256x4096xf32>
  %1 = stablehlo.slice %0 [0:256, 64:128] : (tensor<256x4096xf32>) -> tensor<256x64xf32>
  return %1 : tensor<256x64xf32>
}
