// RUN: %pcg-opt %s --pcg-normalize --split-input-file --verify-diagnostics

module attributes {mhlo.num_partitions = 8 : i32} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @+1 {{'stablehlo.all_reduce' op is between the devices [[0, 1], [2, 3]], but the program is for one device; allowed: groups of one device, which change nothing; for collectives between devices, jax.shard_map (sdy.manual_computation)}}
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'stablehlo.collective_permute' op sends between devices, [[0, 1], [1, 0]], but the program is for one device}}
  %0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'stablehlo.collective_broadcast' op is on the devices [[3]], but the one of the program, 0, is not among them}}
  %0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<3> : tensor<1x1xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

module attributes {mhlo.num_partitions = 4 : i32} {
  func.func @main() -> tensor<ui32> {
    // expected-error @+1 {{'stablehlo.partition_id' op: the program is for 4 devices at once, and each has another number}}
    %0 = stablehlo.partition_id : tensor<ui32>
    return %0 : tensor<ui32>
  }
}

// -----

// expected-error @+1 {{the module is for 8 replicas (mhlo.num_replicas), each of which runs it on data of its own; allowed: 1}}
module attributes {mhlo.num_replicas = 8 : i32} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
}

// -----

func.func @main(%t: !stablehlo.token, %x: tensor<4xf32>) -> !stablehlo.token {
  // expected-error @+1 {{'stablehlo.send' op sends between devices; allowed}}
  %0 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return %0 : !stablehlo.token
}
