// RUN: %pcg-opt %s --cluster=preset:summit:1 --mesh=a=6 --pcg-substitute --pcg-select --split-input-file | FileCheck %s
// RUN: %pcg-opt %s --cluster=preset:summit:1 --mesh=a=6 --pcg-substitute --pcg-select --split-input-file --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A program that was rewritten is compared with what it was, by simulation.  Here the rewritten one is faster.
// REMARK: remark: pcg-select: plan: {{.*}} us per step by simulation
// REMARK: remark: pcg-select: without substitutions {{[0-9.]+}} us per step by simulation
// CHECK-NOT: pcg.original
// CHECK: pcg.applied_rules = [{name = "scaled-rows then subtract-from-table", {{.*}}saved = {{.*}} : f64}], pcg.selected, pcg.substitutions = "rules=
// CHECK-NOT: pcg.original
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.negate {{.*}} : tensor<1024x64xf32>
// CHECK: "stablehlo.scatter"(%arg0
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

// Here the original is: a program that says it was rewritten from a product that takes a tenth of the time.
// REMARK: remark: pcg-select: plan: {{.*}} us per step by simulation
// REMARK: remark: pcg-select: no substitutions: with them {{[0-9.]+}} us per step by simulation
// CHECK-NOT: pcg.applied_rules
// CHECK-NOT: pcg.substitutions
// CHECK-NOT: pcg.original
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: stablehlo.dot_general
// CHECK-NOT: stablehlo.dot_general
// CHECK: return
module attributes {pcg.applied_rules = [{name = "split-rows", places = [""], proofs = ["split-rows"]}], pcg.substitutions = "rules=split-rows taken=0", pcg.original = "\22dist.mesh\22() {sym_name = \22mesh\22, value = #dist.process_mesh<[\22a\22], [6], []>} : () -> () func.func @main(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> { %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> return %0 : tensor<4096x4096xf32> }"} {
  func.func @main(%x: tensor<4096x4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %1 = stablehlo.tanh %0 : tensor<4096x4096xf32>
    %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    return %2 : tensor<4096x4096xf32>
  }
}
