// RUN: %pcg-opt %s --split-input-file --pcg-sink-invariants | FileCheck %s
// RUN: %pcg-opt %s --split-input-file --pcg-sink-invariants --remarks 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: remark: pcg-sink-invariants: 1 values of 0.125 MiB are computed in the loops that read them

// A mask for every head, made of one per token, is made in the loop; what it is made of is read from outside. The loop
// carries it no longer, and what made it before the loop is gone.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> {{.*}} {
// CHECK-NOT: tensor<8x64x64xf32>
// CHECK: %[[MASK:.*]] = stablehlo.select
// CHECK-NEXT: %[[LOOP:.*]]:2 = stablehlo.while(%[[I:.*]] = %{{.*}}, %[[X:.*]] = %{{.*}}) : tensor<i32>, tensor<8x64x64xf32>
// CHECK: %[[ALL:.*]] = stablehlo.broadcast_in_dim %[[MASK]], dims = [1, 2]
// CHECK-NEXT: %[[S:.*]] = stablehlo.add %[[X]], %[[ALL]]
// CHECK: stablehlo.return %{{.*}}, %[[S]] :
// CHECK: return %[[LOOP]]#1
func.func @main(%a: tensor<8x64x64xf32>, %mask: tensor<64xf32>) -> tensor<8x64x64xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<2.0> : tensor<64x64xf32>
  %i0 = stablehlo.iota dim = 0 : tensor<64x64xi32>
  %i1 = stablehlo.iota dim = 1 : tensor<64x64xi32>
  %ge = stablehlo.compare GE, %i0, %i1 : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
  %mb = stablehlo.broadcast_in_dim %mask, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
  %k0 = stablehlo.select %ge, %mb, %n : tensor<64x64xi1>, tensor<64x64xf32>
  %m = stablehlo.broadcast_in_dim %k0, dims = [1, 2] : (tensor<64x64xf32>) -> tensor<8x64x64xf32>
  %l:3 = stablehlo.while(%i = %c0, %x = %a, %k = %m) : tensor<i32>, tensor<8x64x64xf32>, tensor<8x64x64xf32>
    cond {
      %t = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %t : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %s = stablehlo.add %x, %k : tensor<8x64x64xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %s, %k : tensor<i32>, tensor<8x64x64xf32>, tensor<8x64x64xf32>
    }
  return %l#1 : tensor<8x64x64xf32>
}

// -----

// Nothing is recomputed that is expensive (exponentials), changes in the loop, or is computed from as many bytes.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}})
func.func @main(%a: tensor<8x64x64xf32>, %b: tensor<8x64x64xf32>, %e: tensor<64xf32>) -> tensor<8x64x64xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %e0 = stablehlo.broadcast_in_dim %e, dims = [1] : (tensor<64xf32>) -> tensor<8x64x64xf32>
  %e1 = stablehlo.exponential %e0 : tensor<8x64x64xf32>
  %z = stablehlo.constant dense<0.0> : tensor<8x64x64xf32>
  %n = stablehlo.negate %b : tensor<8x64x64xf32>
  %l:5 = stablehlo.while(%i = %c0, %x = %a, %k = %e1, %y = %z, %m = %n) : tensor<i32>, tensor<8x64x64xf32>, tensor<8x64x64xf32>, tensor<8x64x64xf32>, tensor<8x64x64xf32>
    cond {
      %t = stablehlo.constant dense<3> : tensor<i32>
      %p = stablehlo.compare LT, %i, %t : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %s = stablehlo.add %x, %k : tensor<8x64x64xf32>
      %s1 = stablehlo.multiply %s, %m : tensor<8x64x64xf32>
      %y1 = stablehlo.add %y, %s1 : tensor<8x64x64xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %s, %k, %y1, %m : tensor<i32>, tensor<8x64x64xf32>, tensor<8x64x64xf32>, tensor<8x64x64xf32>, tensor<8x64x64xf32>
    }
  return %l#3 : tensor<8x64x64xf32>
}
