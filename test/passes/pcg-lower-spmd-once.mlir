// RUN: pcg-opt --mesh a=2 --pcg-normalize --pcg-lower-spmd %s | filecheck %s
// RUN: pcg-opt --mesh a=2 --pcg-normalize --pcg-lower-spmd --pcg-emulate %s | filecheck %s --check-prefix=ORACLE

// What is done besides computing is done by one device, whose results go to all; it is kept though nobody uses them.
// CHECK-LABEL: func.func @main
// CHECK:         "stablehlo.if"
// CHECK:           stablehlo.custom_call @counts(%{{.*}}) {has_side_effect = true} : (tensor<4xf32>) -> ()
// CHECK-NOT:     @counts
// CHECK:         %[[R:.*]] = "stablehlo.if"
// CHECK:           stablehlo.custom_call @draws(%{{.*}}) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK:         %[[BITS:.*]] = stablehlo.bitcast_convert %[[R]] : (tensor<4xf32>) -> tensor<4xui32>
// CHECK:         "stablehlo.all_reduce"(%[[BITS]])
// CHECK-NOT:     @draws
// CHECK:         stablehlo.custom_call @computes
// ORACLE-LABEL: func.func @main
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  stablehlo.custom_call @counts(%x) {has_side_effect = true} : (tensor<4xf32>) -> ()
  %0 = stablehlo.custom_call @draws(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @computes(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
