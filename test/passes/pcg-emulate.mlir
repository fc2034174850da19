// RUN: %pcg-opt %s --pcg-emulate | FileCheck %s
// RUN: %pcg-opt %s --pcg-emulate=check-replicas | FileCheck %s --check-prefix=REPLICAS

// CHECK: module {
module attributes {mhlo.num_partitions = 2 : i32, pcg.mesh = "data=2", pcg.in_specs = ["[data]"], pcg.out_specs = ["[-]", "[data]"]} {
  // CHECK-NEXT: func.func @main(%arg0: tensor<8xf32>) -> (tensor<4xf32>, tensor<2xf32>)
  // REPLICAS: func.func @main(%arg0: tensor<8xf32>) -> (tensor<4xf32>, tensor<2xf32>, tensor<i1>)
  func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<1xf32>) {
    // CHECK-NEXT: %[[A:.*]] = stablehlo.slice %arg0 [0:4]
    // CHECK-NEXT: %[[B:.*]] = stablehlo.slice %arg0 [4:8]
    // CHECK-NEXT: %[[S:.*]] = stablehlo.add %[[A]], %[[B]] : tensor<4xf32>
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK-NEXT: stablehlo.constant dense<0> : tensor<ui32>
    // CHECK-NEXT: stablehlo.constant dense<1> : tensor<ui32>
    %1 = stablehlo.partition_id : tensor<ui32>
    %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<f32>
    %3 = stablehlo.reshape %2 : (tensor<f32>) -> tensor<1xf32>
    // CHECK: %[[C:.*]] = stablehlo.concatenate
    // CHECK-NEXT: return %[[S]], %[[C]]
    func.return %0, %3 : tensor<4xf32>, tensor<1xf32>
  }
}
