// A step of eight layers in a loop, of JAX: see pcg-choose-pipeline.mlir.
module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x4x4xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<8x4xf32>) -> (tensor<8x4x4xf32> {jax.result_info = "result[0]"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x8x4xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x8x4xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x8x4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %3:6 = stablehlo.while(%iterArg = %arg0, %iterArg_8 = %c, %iterArg_9 = %arg1, %iterArg_10 = %0, %iterArg_11 = %1, %iterArg_12 = %2) : tensor<8x4x4xf32>, tensor<i32>, tensor<8x4xf32>, tensor<8x8x4xf32>, tensor<8x8x4xf32>, tensor<8x8x4xf32>
    cond {
      %c_13 = stablehlo.constant dense<8> : tensor<i32>
      %16 = stablehlo.compare LT, %iterArg_8, %c_13, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %16 : tensor<i1>
    } do {
      %16 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_8) : (tensor<8x4x4xf32>, tensor<i32>) -> tensor<4x4xf32>
      %17:4 = func.call @closed_call(%iterArg_9, %16) : (tensor<8x4xf32>, tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
      %18 = func.call @dynamic_update_index_in_dim(%iterArg_10, %17#1, %iterArg_8) : (tensor<8x8x4xf32>, tensor<8x4xf32>, tensor<i32>) -> tensor<8x8x4xf32>
      %19 = func.call @dynamic_update_index_in_dim(%iterArg_11, %17#2, %iterArg_8) : (tensor<8x8x4xf32>, tensor<8x4xf32>, tensor<i32>) -> tensor<8x8x4xf32>
      %20 = func.call @dynamic_update_index_in_dim(%iterArg_12, %17#3, %iterArg_8) : (tensor<8x8x4xf32>, tensor<8x4xf32>, tensor<i32>) -> tensor<8x8x4xf32>
      %c_13 = stablehlo.constant dense<1> : tensor<i32>
      %21 = stablehlo.add %iterArg_8, %c_13 : tensor<i32>
      stablehlo.return %iterArg, %21, %17#0, %18, %19, %20 : tensor<8x4x4xf32>, tensor<i32>, tensor<8x4xf32>, tensor<8x8x4xf32>, tensor<8x8x4xf32>, tensor<8x8x4xf32>
    }
    %4 = stablehlo.multiply %3#2, %3#2 : tensor<8x4xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.reduce(%4 init: %cst_2) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    %8 = stablehlo.multiply %3#2, %7 : tensor<8x4xf32>
    %9 = stablehlo.multiply %7, %3#2 : tensor<8x4xf32>
    %10 = stablehlo.add %8, %9 : tensor<8x4xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<8x4x4xf32>
    %c_6 = stablehlo.constant dense<0> : tensor<i32>
    %12:7 = stablehlo.while(%iterArg = %arg0, %iterArg_8 = %3#3, %iterArg_9 = %3#4, %iterArg_10 = %3#5, %iterArg_11 = %c_6, %iterArg_12 = %10, %iterArg_13 = %11) : tensor<8x4x4xf32>, tensor<8x8x4xf32>, tensor<8x8x4xf32>, tensor<8x8x4xf32>, tensor<i32>, tensor<8x4xf32>, tensor<8x4x4xf32>
    cond {
      %c_14 = stablehlo.constant dense<8> : tensor<i32>
      %16 = stablehlo.compare LT, %iterArg_11, %c_14, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %16 : tensor<i1>
    } do {
      %c_14 = stablehlo.constant dense<8> : tensor<i32>
      %16 = stablehlo.subtract %c_14, %iterArg_11 : tensor<i32>
      %c_15 = stablehlo.constant dense<1> : tensor<i32>
      %17 = stablehlo.subtract %16, %c_15 : tensor<i32>
      %18 = func.call @dynamic_index_in_dim(%iterArg, %17) : (tensor<8x4x4xf32>, tensor<i32>) -> tensor<4x4xf32>
      %19 = func.call @dynamic_index_in_dim_0(%iterArg_8, %17) : (tensor<8x8x4xf32>, tensor<i32>) -> tensor<8x4xf32>
      %20 = func.call @dynamic_index_in_dim_0(%iterArg_9, %17) : (tensor<8x8x4xf32>, tensor<i32>) -> tensor<8x4xf32>
      %21 = func.call @dynamic_index_in_dim_0(%iterArg_10, %17) : (tensor<8x8x4xf32>, tensor<i32>) -> tensor<8x4xf32>
      %22:2 = func.call @closed_call_1(%iterArg_12, %18, %19, %20, %21) : (tensor<8x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4x4xf32>)
      %23 = func.call @dynamic_update_index_in_dim_2(%iterArg_13, %22#1, %17) : (tensor<8x4x4xf32>, tensor<4x4xf32>, tensor<i32>) -> tensor<8x4x4xf32>
      %c_16 = stablehlo.constant dense<1> : tensor<i32>
      %24 = stablehlo.add %iterArg_11, %c_16 : tensor<i32>
      stablehlo.return %iterArg, %iterArg_8, %iterArg_9, %iterArg_10, %24, %22#0, %23 : tensor<8x4x4xf32>, tensor<8x8x4xf32>, tensor<8x8x4xf32>, tensor<8x8x4xf32>, tensor<i32>, tensor<8x4xf32>, tensor<8x4x4xf32>
    }
    %cst_7 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<8x4x4xf32>
    %14 = stablehlo.multiply %13, %12#6 : tensor<8x4x4xf32>
    %15 = stablehlo.subtract %arg0, %14 : tensor<8x4x4xf32>
    return %15, %5 : tensor<8x4x4xf32>, tensor<f32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<8x4x4xf32>, %arg1: tensor<i32>) -> tensor<4x4xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 4, 4] : (tensor<8x4x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x4xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }
  func.func private @closed_call(%arg0: tensor<8x4xf32>, %arg1: tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %1 = stablehlo.tanh %0 : tensor<8x4xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
    %3 = stablehlo.subtract %2, %1 : tensor<8x4xf32>
    return %1, %arg0, %1, %3 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<8x8x4xf32>, %arg1: tensor<8x4xf32>, %arg2: tensor<i32>) -> tensor<8x8x4xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<8x4xf32>) -> tensor<1x8x4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<8x8x4xf32>, tensor<1x8x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<8x8x4xf32>
    return %1 : tensor<8x8x4xf32>
  }
  func.func private @dynamic_index_in_dim_0(%arg0: tensor<8x8x4xf32>, %arg1: tensor<i32>) -> tensor<8x4xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 8, 4] : (tensor<8x8x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x4xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x8x4xf32>) -> tensor<8x4xf32>
    return %1 : tensor<8x4xf32>
  }
  func.func private @closed_call_1(%arg0: tensor<8x4xf32>, %arg1: tensor<4x4xf32>, %arg2: tensor<8x4xf32>, %arg3: tensor<8x4xf32>, %arg4: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4x4xf32>) {
    %0 = stablehlo.multiply %arg0, %arg4 : tensor<8x4xf32>
    %1 = stablehlo.multiply %0, %arg3 : tensor<8x4xf32>
    %2 = stablehlo.add %0, %1 : tensor<8x4xf32>
    %3 = stablehlo.dot_general %2, %arg2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %5 = stablehlo.dot_general %2, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    return %5, %4 : tensor<8x4xf32>, tensor<4x4xf32>
  }
  func.func private @dynamic_update_index_in_dim_2(%arg0: tensor<8x4x4xf32>, %arg1: tensor<4x4xf32>, %arg2: tensor<i32>) -> tensor<8x4x4xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<4x4xf32>) -> tensor<1x4x4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c, %c_0 : (tensor<8x4x4xf32>, tensor<1x4x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<8x4x4xf32>
    return %1 : tensor<8x4x4xf32>
  }
}
