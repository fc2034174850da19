// RUN: %pcg-opt %s --pcg-recompute="memory-limit=21000" --remarks 2>&1 | FileCheck %s
// RUN: %pcg-opt %s --pcg-recompute="memory-limit=1MiB" | FileCheck %s --check-prefix=FITS
// RUN: not %pcg-opt %s --pcg-recompute="memory-limit=1KiB" 2>&1 | FileCheck %s --check-prefix=ERROR

// Three layers h = tanh(x w) keep 4 KiB each for the backward part, which reads them last to first.  One of them is
// recomputed from x, behind a barrier that waits for the gradient %g1.
// CHECK: remark: pcg-recompute: 1 ops are recomputed in the backward part: 0.02344 MiB become 0.01953 MiB per device
// CHECK: %[[H1:.*]] = stablehlo.tanh %arg0
// CHECK: %[[G1:.*]] = stablehlo.multiply
// CHECK: %[[B:.*]]:2 = stablehlo.optimization_barrier {pcg.remat} %arg0, %[[G:[0-9]+]]
// CHECK: %[[AGAIN:.*]] = stablehlo.tanh %[[B]]#0
// CHECK: stablehlo.dot_general %[[B]]#1, %[[AGAIN]]
// CHECK-NOT: %[[H1]],

// FITS-NOT: optimization_barrier

// ERROR: error: pcg-recompute: no plan fits in 1.00 KiB per device; the smallest one found needs
func.func @main(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %h1 = stablehlo.tanh %x : tensor<32x32xf32>
  %a = stablehlo.dot_general %h1, %h1, contracting_dims = [1] x [0] : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %h2 = stablehlo.tanh %a : tensor<32x32xf32>
  %b = stablehlo.dot_general %h2, %h2, contracting_dims = [1] x [0] : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %h3 = stablehlo.tanh %b : tensor<32x32xf32>
  %c = stablehlo.dot_general %h3, %h3, contracting_dims = [1] x [0] : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %g3 = stablehlo.multiply %c, %c : tensor<32x32xf32>
  %d3 = stablehlo.dot_general %g3, %h3, contracting_dims = [1] x [0] : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %g2 = stablehlo.multiply %d3, %h3 : tensor<32x32xf32>
  %d2 = stablehlo.dot_general %g2, %h2, contracting_dims = [1] x [0] : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %g1 = stablehlo.multiply %d2, %h2 : tensor<32x32xf32>
  %d1 = stablehlo.dot_general %g1, %h1, contracting_dims = [1] x [0] : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %g0 = stablehlo.multiply %d1, %h1 : tensor<32x32xf32>
  return %g0 : tensor<32x32xf32>
}
