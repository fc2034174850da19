// RUN: %pcg-opt %s --pcg-microbatch="microbatches=2" --remarks 2>&1 | FileCheck %s
// RUN: %pcg-opt %s --pcg-microbatch="microbatches=2" --pcg-accumulate | FileCheck %s --check-prefix=LOOP

// One microbatch of the data, ops of its size, and what the step needs of all of them.
// CHECK: remark: pcg-microbatch: a batch of 8 runs in 2 microbatches; 1 values are added up over them
// CHECK-LABEL: func.func @main
// CHECK: pcg.microbatches = 2
// CHECK: %[[X:.*]] = "pcg.pipeline"(%{{.*}}) {block = 1 : i64, dim = 0 : i64, microbatches = 2 : i64} : (tensor<8x4xf32>) -> tensor<4x4xf32>
// CHECK: stablehlo.dot_general %[[X]], {{.*}} : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK: %[[G:.*]] = stablehlo.dot_general %[[X]], {{.*}}contracting_dims = [0] x [0]
// CHECK: %[[S:.*]] = "pcg.batch"(%[[G]]) {kind = "sum", microbatches = 2 : i64} : (tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK: "pcg.batch"(%{{.*}}) {block = 1 : i64, dim = 0 : i64, microbatches = 2 : i64} : (tensor<4x2xf32>) -> tensor<8x2xf32>
// CHECK: stablehlo.subtract %{{.*}}, %[[S]]
// LOOP-NOT: pcg.pipeline
// LOOP-NOT: pcg.batch
// LOOP: stablehlo.while
func.func @main(%w: tensor<4x2xf32>, %m: tensor<4x2xf32>, %x: tensor<8x4xf32>) -> (tensor<4x2xf32> {pcg.state = 0 : i64}, tensor<4x2xf32> {pcg.state = 1 : i64}, tensor<8x2xf32>) {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %t = stablehlo.tanh %y : tensor<8x2xf32>
  %g = stablehlo.dot_general %x, %t, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %n = stablehlo.subtract %w, %g : tensor<4x2xf32>
  %q = stablehlo.multiply %g, %g : tensor<4x2xf32>
  %k = stablehlo.add %m, %q : tensor<4x2xf32>
  return %n, %k, %t : tensor<4x2xf32>, tensor<4x2xf32>, tensor<8x2xf32>
}
