// RUN: %pcg-opt %s --mesh x=2 --auto-parallel --split-input-file | FileCheck %s
// RUN: %pcg-opt %s --mesh x=2 --auto-parallel --no-substitutions --split-input-file | FileCheck %s --check-prefix=AS-IS
// RUN: %pcg-opt %s --mesh x=2 --auto-parallel --exact --split-input-file | FileCheck %s --check-prefix=AS-IS
// RUN: %pcg-opt %s --mesh x=2 --auto-parallel --split-input-file --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Examples of joint optimisation from the Unity paper (OSDI'22, figures 11b and 16).

// Figure 16a: the first product is split along what it sums over, so relu is not fused with it; one all-reduce.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = stablehlo.dot_general {{.*}} {x = "sum"}
// CHECK-NEXT: %[[R:.*]] = "pcg.reduce"(%[[P]])
// CHECK: stablehlo.maximum
// CHECK-NOT: pcg.reduce
// CHECK: return
// AS-IS-LABEL: func.func @main
func.func @main(%x: tensor<64x65536xf32>, %w1: tensor<65536x64xf32>, %w2: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<64x64xf32>
  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<64x65536xf32>, tensor<65536x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.maximum %0, %zero : tensor<64x64xf32>
  %2 = stablehlo.dot_general %1, %w2, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}

// -----

// Figure 16b: the product of concatenated lookups becomes one for each table, on the device that has its columns; one
// sum of what devices have instead of an all-to-all (a partition after a combine) of the lookups.
// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.concatenate
// CHECK-NOT: pcg.combine
// CHECK-COUNT-3: stablehlo.dot_general {{.*}} {x = "sum"}
// CHECK: stablehlo.add {{.*}} {x = "sum"}
// CHECK: stablehlo.add {{.*}} {x = "sum"}
// CHECK-NEXT: "pcg.reduce"
// CHECK-NOT: "pcg.reduce"
// CHECK: return
// AS-IS-LABEL: func.func @main
// AS-IS: stablehlo.concatenate
// AS-IS-COUNT-1: stablehlo.dot_general
// AS-IS: return
// REMARK: remark: pcg-substitute: split-contraction: matmul['none'](concat[2](x, y), w) => add({{.*}}), proved from properties: ours
// REMARK: remark: pcg-substitute: substitutions: {{.*}} us per step by estimate, {{.*}} us without: split-contraction 1 times (without {{.*}} us more)
func.func @main(%t0: tensor<100000x256xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["x"]], {}>},
                %t1: tensor<100000x256xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["x"]], {}>},
                %t2: tensor<100000x256xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["x"]], {}>},
                %i0: tensor<65536x1xi32>, %i1: tensor<65536x1xi32>, %i2: tensor<65536x1xi32>, %w: tensor<768x64xf32>) -> tensor<65536x64xf32> {
  %e0 = "stablehlo.gather"(%t0, %i0) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 256>}> : (tensor<100000x256xf32>, tensor<65536x1xi32>) -> tensor<65536x256xf32>
  %e1 = "stablehlo.gather"(%t1, %i1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 256>}> : (tensor<100000x256xf32>, tensor<65536x1xi32>) -> tensor<65536x256xf32>
  %e2 = "stablehlo.gather"(%t2, %i2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 256>}> : (tensor<100000x256xf32>, tensor<65536x1xi32>) -> tensor<65536x256xf32>
  %z = stablehlo.concatenate %e0, %e1, %e2, dim = 1 : (tensor<65536x256xf32>, tensor<65536x256xf32>, tensor<65536x256xf32>) -> tensor<65536x768xf32>
  %h = stablehlo.dot_general %z, %w, contracting_dims = [1] x [0] : (tensor<65536x768xf32>, tensor<768x64xf32>) -> tensor<65536x64xf32>
  return %h : tensor<65536x64xf32>
}

// -----

// Figure 16c: a lookup of bags is a lookup and a sum, so that the table may be split along its rows: each device sums the
// rows that it has, and the sums of bags are reduced, not the rows.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.gather{{.*}} {x = "sum"}
// CHECK-NEXT: stablehlo.reduce({{.*}} {x = "sum"}
// CHECK-NEXT: "pcg.reduce"
func.func @main(%t: tensor<100000x256xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>}, %i: tensor<1024x16x1xi32>) -> tensor<1024x256xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 256>}> : (tensor<100000x256xf32>, tensor<1024x16x1xi32>) -> tensor<1024x16x256xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x16x256xf32>, tensor<f32>) -> tensor<1024x256xf32>
  return %s : tensor<1024x256xf32>
}

// -----

// Figure 11b: a sum is a concatenation and a reduction: both products are split, and reduced together.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: stablehlo.dot_general {{.*}} {x = "sum"}
// CHECK-NEXT: stablehlo.add {{.*}} {x = "sum"}
// CHECK-NEXT: "pcg.reduce"
// CHECK-NOT: "pcg.reduce"
// CHECK: return
func.func @main(%x: tensor<64x32768xf32>, %w: tensor<32768x64xf32>, %y: tensor<64x16384xf32>, %v: tensor<16384x64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32768xf32>, tensor<32768x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.dot_general %y, %v, contracting_dims = [1] x [0] : (tensor<64x16384xf32>, tensor<16384x64xf32>) -> tensor<64x64xf32>
  %2 = stablehlo.add %0, %1 : tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}
