// RUN: %pcg-opt %s --pcg-emulate-processes=check-replicas | FileCheck %s

// CHECK-NOT: module @process
// CHECK: func.func @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<i1>)
// CHECK-NEXT: %[[A:.*]] = stablehlo.slice %arg0 [0:2]
// CHECK-NEXT: %[[B:.*]] = stablehlo.slice %arg0 [2:4]
// CHECK-NEXT: %[[S:.*]] = stablehlo.add %[[A]], %[[B]] : tensor<2xf32>
// CHECK-NEXT: %[[T:.*]] = stablehlo.tanh %[[S]]
// CHECK-NEXT: stablehlo.concatenate %[[S]], %[[T]], dim = 0
module attributes {pcg.processes = [0, 1, 5], pcg.signature = (tensor<4xf32>) -> tensor<4xf32>} {
  module @process_0 {
    func.func @main(%a: tensor<2xf32> {pcg.argument = 0 : i64, pcg.start = array<i64: 0>, pcg.limit = array<i64: 2>})
        -> (tensor<2xf32> {pcg.result = 0 : i64, pcg.start = array<i64: 0>, pcg.limit = array<i64: 2>}) {
      %0 = "stablehlo.all_reduce"(%a) ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %s = stablehlo.add %x, %y : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids,
          replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, pcg.members = array<i64: 0, 1>} : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }
  }
  module @process_1 {
    func.func @main(%a: tensor<2xf32> {pcg.argument = 0 : i64, pcg.start = array<i64: 2>, pcg.limit = array<i64: 4>}) {
      %0 = "stablehlo.all_reduce"(%a) ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %s = stablehlo.add %x, %y : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids,
          replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, pcg.members = array<i64: 0, 1>} : (tensor<2xf32>) -> tensor<2xf32>
      "dist.send"(%0) {peer = 5, tag = 7, start = array<i64: 0>, limit = array<i64: 2>} : (tensor<2xf32>) -> ()
      return
    }
  }
  module @process_5 {
    func.func @main() -> (tensor<2xf32> {pcg.result = 0 : i64, pcg.start = array<i64: 2>, pcg.limit = array<i64: 4>}) {
      %0 = "dist.recv"() {peer = 1, tag = 7, start = array<i64: 0>, limit = array<i64: 2>} : () -> tensor<2xf32>
      %1 = stablehlo.tanh %0 : tensor<2xf32>
      return %1 : tensor<2xf32>
    }
  }
}
