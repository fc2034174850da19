module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<512xf32>, %arg1: tensor<512xf32>, %arg2: tensor<512xf32>, %arg3: tensor<8192xf32>, %arg4: tensor<512xf32>, %arg5: tensor<512xf32>, %arg6: tensor<512xf32>, %arg7: tensor<512xf32>, %arg8: tensor<512xf32>, %arg9: tensor<512xf32>, %arg10: tensor<2048xf32>, %arg11: tensor<512xf32>, %arg12: tensor<2048x512xf32>, %arg13: tensor<512x512xf32>, %arg14: tensor<512x512xf32>, %arg15: tensor<512x512xf32>, %arg16: tensor<512xf32>, %arg17: tensor<512xf32>, %arg18: tensor<512x2048xf32>, %arg19: tensor<512x512xf32>, %arg20: tensor<512xf32>, %arg21: tensor<512xf32>, %arg22: tensor<512xf32>, %arg23: tensor<512xf32>, %arg24: tensor<512xf32>, %arg25: tensor<512xf32>, %arg26: tensor<2048xf32>, %arg27: tensor<512xf32>, %arg28: tensor<2048x512xf32>, %arg29: tensor<512x512xf32>, %arg30: tensor<512x512xf32>, %arg31: tensor<512x512xf32>, %arg32: tensor<512xf32>, %arg33: tensor<512xf32>, %arg34: tensor<512x2048xf32>, %arg35: tensor<512x512xf32>, %arg36: tensor<512xf32>, %arg37: tensor<512xf32>, %arg38: tensor<256x512xf32>, %arg39: tensor<2x512xf32>, %arg40: tensor<8192x512xf32>, %arg41: tensor<512x512xf32>, %arg42: tensor<i32>, %arg43: tensor<512xf32>, %arg44: tensor<512xf32>, %arg45: tensor<512xf32>, %arg46: tensor<8192xf32>, %arg47: tensor<512xf32>, %arg48: tensor<512xf32>, %arg49: tensor<512xf32>, %arg50: tensor<512xf32>, %arg51: tensor<512xf32>, %arg52: tensor<512xf32>, %arg53: tensor<2048xf32>, %arg54: tensor<512xf32>, %arg55: tensor<2048x512xf32>, %arg56: tensor<512x512xf32>, %arg57: tensor<512x512xf32>, %arg58: tensor<512x512xf32>, %arg59: tensor<512xf32>, %arg60: tensor<512xf32>, %arg61: tensor<512x2048xf32>, %arg62: tensor<512x512xf32>, %arg63: tensor<512xf32>, %arg64: tensor<512xf32>, %arg65: tensor<512xf32>, %arg66: tensor<512xf32>, %arg67: tensor<512xf32>, %arg68: tensor<512xf32>, %arg69: tensor<2048xf32>, %arg70: tensor<512xf32>, %arg71: tensor<2048x512xf32>, %arg72: tensor<512x512xf32>, %arg73: tensor<512x512xf32>, %arg74: tensor<512x512xf32>, %arg75: tensor<512xf32>, %arg76: tensor<512xf32>, %arg77: tensor<512x2048xf32>, %arg78: tensor<512x512xf32>, %arg79: tensor<512xf32>, %arg80: tensor<512xf32>, %arg81: tensor<256x512xf32>, %arg82: tensor<2x512xf32>, %arg83: tensor<8192x512xf32>, %arg84: tensor<512x512xf32>, %arg85: tensor<512xf32>, %arg86: tensor<512xf32>, %arg87: tensor<512xf32>, %arg88: tensor<8192xf32>, %arg89: tensor<512xf32>, %arg90: tensor<512xf32>, %arg91: tensor<512xf32>, %arg92: tensor<512xf32>, %arg93: tensor<512xf32>, %arg94: tensor<512xf32>, %arg95: tensor<2048xf32>, %arg96: tensor<512xf32>, %arg97: tensor<2048x512xf32>, %arg98: tensor<512x512xf32>, %arg99: tensor<512x512xf32>, %arg100: tensor<512x512xf32>, %arg101: tensor<512xf32>, %arg102: tensor<512xf32>, %arg103: tensor<512x2048xf32>, %arg104: tensor<512x512xf32>, %arg105: tensor<512xf32>, %arg106: tensor<512xf32>, %arg107: tensor<512xf32>, %arg108: tensor<512xf32>, %arg109: tensor<512xf32>, %arg110: tensor<512xf32>, %arg111: tensor<2048xf32>, %arg112: tensor<512xf32>, %arg113: tensor<2048x512xf32>, %arg114: tensor<512x512xf32>, %arg115: tensor<512x512xf32>, %arg116: tensor<512x512xf32>, %arg117: tensor<512xf32>, %arg118: tensor<512xf32>, %arg119: tensor<512x2048xf32>, %arg120: tensor<512x512xf32>, %arg121: tensor<512xf32>, %arg122: tensor<512xf32>, %arg123: tensor<256x512xf32>, %arg124: tensor<2x512xf32>, %arg125: tensor<8192x512xf32>, %arg126: tensor<512x512xf32>, %arg127: tensor<16x32xi32>, %arg128: tensor<16x32xi32>, %arg129: tensor<16x256xf32>, %arg130: tensor<16x256xi32>, %arg131: tensor<16x256xi32>) -> (tensor<512xf32> {jax.result_info = "result[0]['bias_embed']"}, tensor<512xf32> {jax.result_info = "result[0]['bias_head']"}, tensor<512xf32> {jax.result_info = "result[0]['bias_transform']"}, tensor<8192xf32> {jax.result_info = "result[0]['bias_vocab']"}, tensor<512xf32> {jax.result_info = "result[0]['layers'][0]['bias_attention']"}, tensor<512xf32> {jax.result_info = "result[0]['layers'][0]['bias_down']"}, tensor<512xf32> {jax.result_info = "result[0]['layers'][0]['bias_ffn']"}, tensor<512xf32> {jax.result_info = "result[0]['layers'][0]['bias_key']"}, tensor<512xf32> {jax.result_info = "result[0]['layers'][0]['bias_out']"}, tensor<512xf32> {jax.result_info = "result[0]['layers'][0]['bias_query']"}, tensor<2048xf32> {jax.result_info = "result[0]['layers'][0]['bias_up']"}, tensor<512xf32> {jax.result_info = "result[0]['layers'][0]['bias_value']"}, tensor<2048x512xf32> {jax.result_info = "result[0]['layers'][0]['down']"}, tensor<512x512xf32> {jax.result_info = "result[0]['layers'][0]['key']"}, tensor<512x512xf32> {jax.result_info = "result[0]['layers'][0]['out']"}, tensor<512x512xf32> {jax.result_info = "result[0]['layers'][0]['query']"}, tensor<512xf32> {jax.result_info = "result[0]['layers'][0]['scale_attention']"}, tensor<512xf32> {jax.result_info = "result[0]['layers'][0]['scale_ffn']"}, tensor<512x2048xf32> {jax.result_info = "result[0]['layers'][0]['up']"}, tensor<512x512xf32> {jax.result_info = "result[0]['layers'][0]['value']"}, tensor<512xf32> {jax.result_info = "result[0]['layers'][1]['bias_attention']"}, tensor<512xf32> {jax.result_info = "result[0]['layers'][1]['bias_down']"}, tensor<512xf32> {jax.result_info = "result[0]['layers'][1]['bias_ffn']"}, tensor<512xf32> {jax.result_info = "result[0]['layers'][1]['bias_key']"}, tensor<512xf32> {jax.result_info = "result[0]['layers'][1]['bias_out']"}, tensor<512xf32> {jax.result_info = "result[0]['layers'][1]['bias_query']"}, tensor<2048xf32> {jax.result_info = "result[0]['layers'][1]['bias_up']"}, tensor<512xf32> {jax.result_info = "result[0]['layers'][1]['bias_value']"}, tensor<2048x512xf32> {jax.result_info = "result[0]['layers'][1]['down']"}, tensor<512x512xf32> {jax.result_info = "result[0]['layers'][1]['key']"}, tensor<512x512xf32> {jax.result_info = "result[0]['layers'][1]['out']"}, tensor<512x512xf32> {jax.result_info = "result[0]['layers'][1]['query']"}, tensor<512xf32> {jax.result_info = "result[0]['layers'][1]['scale_attention']"}, tensor<512xf32> {jax.result_info = "result[0]['layers'][1]['scale_ffn']"}, tensor<512x2048xf32> {jax.result_info = "result[0]['layers'][1]['up']"}, tensor<512x512xf32> {jax.result_info = "result[0]['layers'][1]['value']"}, tensor<512xf32> {jax.result_info = "result[0]['scale_embed']"}, tensor<512xf32> {jax.result_info = "result[0]['scale_head']"}, tensor<256x512xf32> {jax.result_info = "result[0]['table_position']"}, tensor<2x512xf32> {jax.result_info = "result[0]['table_type']"}, tensor<8192x512xf32> {jax.result_info = "result[0]['table_word']"}, tensor<512x512xf32> {jax.result_info = "result[0]['transform']"}, tensor<i32> {jax.result_info = "result[1]['count']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['bias_embed']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['bias_head']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['bias_transform']"}, tensor<8192xf32> {jax.result_info = "result[1]['mean']['bias_vocab']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['layers'][0]['bias_attention']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['layers'][0]['bias_down']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['layers'][0]['bias_ffn']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['layers'][0]['bias_key']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['layers'][0]['bias_out']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['layers'][0]['bias_query']"}, tensor<2048xf32> {jax.result_info = "result[1]['mean']['layers'][0]['bias_up']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['layers'][0]['bias_value']"}, tensor<2048x512xf32> {jax.result_info = "result[1]['mean']['layers'][0]['down']"}, tensor<512x512xf32> {jax.result_info = "result[1]['mean']['layers'][0]['key']"}, tensor<512x512xf32> {jax.result_info = "result[1]['mean']['layers'][0]['out']"}, tensor<512x512xf32> {jax.result_info = "result[1]['mean']['layers'][0]['query']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['layers'][0]['scale_attention']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['layers'][0]['scale_ffn']"}, tensor<512x2048xf32> {jax.result_info = "result[1]['mean']['layers'][0]['up']"}, tensor<512x512xf32> {jax.result_info = "result[1]['mean']['layers'][0]['value']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['layers'][1]['bias_attention']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['layers'][1]['bias_down']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['layers'][1]['bias_ffn']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['layers'][1]['bias_key']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['layers'][1]['bias_out']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['layers'][1]['bias_query']"}, tensor<2048xf32> {jax.result_info = "result[1]['mean']['layers'][1]['bias_up']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['layers'][1]['bias_value']"}, tensor<2048x512xf32> {jax.result_info = "result[1]['mean']['layers'][1]['down']"}, tensor<512x512xf32> {jax.result_info = "result[1]['mean']['layers'][1]['key']"}, tensor<512x512xf32> {jax.result_info = "result[1]['mean']['layers'][1]['out']"}, tensor<512x512xf32> {jax.result_info = "result[1]['mean']['layers'][1]['query']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['layers'][1]['scale_attention']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['layers'][1]['scale_ffn']"}, tensor<512x2048xf32> {jax.result_info = "result[1]['mean']['layers'][1]['up']"}, tensor<512x512xf32> {jax.result_info = "result[1]['mean']['layers'][1]['value']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['scale_embed']"}, tensor<512xf32> {jax.result_info = "result[1]['mean']['scale_head']"}, tensor<256x512xf32> {jax.result_info = "result[1]['mean']['table_position']"}, tensor<2x512xf32> {jax.result_info = "result[1]['mean']['table_type']"}, tensor<8192x512xf32> {jax.result_info = "result[1]['mean']['table_word']"}, tensor<512x512xf32> {jax.result_info = "result[1]['mean']['transform']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['bias_embed']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['bias_head']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['bias_transform']"}, tensor<8192xf32> {jax.result_info = "result[1]['square']['bias_vocab']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['layers'][0]['bias_attention']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['layers'][0]['bias_down']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['layers'][0]['bias_ffn']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['layers'][0]['bias_key']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['layers'][0]['bias_out']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['layers'][0]['bias_query']"}, tensor<2048xf32> {jax.result_info = "result[1]['square']['layers'][0]['bias_up']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['layers'][0]['bias_value']"}, tensor<2048x512xf32> {jax.result_info = "result[1]['square']['layers'][0]['down']"}, tensor<512x512xf32> {jax.result_info = "result[1]['square']['layers'][0]['key']"}, tensor<512x512xf32> {jax.result_info = "result[1]['square']['layers'][0]['out']"}, tensor<512x512xf32> {jax.result_info = "result[1]['square']['layers'][0]['query']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['layers'][0]['scale_attention']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['layers'][0]['scale_ffn']"}, tensor<512x2048xf32> {jax.result_info = "result[1]['square']['layers'][0]['up']"}, tensor<512x512xf32> {jax.result_info = "result[1]['square']['layers'][0]['value']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['layers'][1]['bias_attention']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['layers'][1]['bias_down']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['layers'][1]['bias_ffn']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['layers'][1]['bias_key']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['layers'][1]['bias_out']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['layers'][1]['bias_query']"}, tensor<2048xf32> {jax.result_info = "result[1]['square']['layers'][1]['bias_up']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['layers'][1]['bias_value']"}, tensor<2048x512xf32> {jax.result_info = "result[1]['square']['layers'][1]['down']"}, tensor<512x512xf32> {jax.result_info = "result[1]['square']['layers'][1]['key']"}, tensor<512x512xf32> {jax.result_info = "result[1]['square']['layers'][1]['out']"}, tensor<512x512xf32> {jax.result_info = "result[1]['square']['layers'][1]['query']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['layers'][1]['scale_attention']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['layers'][1]['scale_ffn']"}, tensor<512x2048xf32> {jax.result_info = "result[1]['square']['layers'][1]['up']"}, tensor<512x512xf32> {jax.result_info = "result[1]['square']['layers'][1]['value']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['scale_embed']"}, tensor<512xf32> {jax.result_info = "result[1]['square']['scale_head']"}, tensor<256x512xf32> {jax.result_info = "result[1]['square']['table_position']"}, tensor<2x512xf32> {jax.result_info = "result[1]['square']['table_type']"}, tensor<8192x512xf32> {jax.result_info = "result[1]['square']['table_word']"}, tensor<512x512xf32> {jax.result_info = "result[1]['square']['transform']"}, tensor<f32> {jax.result_info = "result[2]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x256xi32>
    %1 = stablehlo.compare LT, %arg131, %0, SIGNED : (tensor<16x256xi32>, tensor<16x256xi32>) -> tensor<16x256xi1>
    %c_0 = stablehlo.constant dense<8192> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<16x256xi32>
    %3 = stablehlo.add %arg131, %2 : tensor<16x256xi32>
    %4 = stablehlo.select %1, %3, %arg131 : tensor<16x256xi1>, tensor<16x256xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<16x256xi32>) -> tensor<16x256x1xi32>
    %6 = "stablehlo.gather"(%arg40, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 512>}> : (tensor<8192x512xf32>, tensor<16x256x1xi32>) -> tensor<16x256x512xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<16x256xi32>
    %8 = stablehlo.compare LT, %arg130, %7, SIGNED : (tensor<16x256xi32>, tensor<16x256xi32>) -> tensor<16x256xi1>
    %c_2 = stablehlo.constant dense<2> : tensor<i32>
    %9 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<16x256xi32>
    %10 = stablehlo.add %arg130, %9 : tensor<16x256xi32>
    %11 = stablehlo.select %8, %10, %arg130 : tensor<16x256xi1>, tensor<16x256xi32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<16x256xi32>) -> tensor<16x256x1xi32>
    %13 = "stablehlo.gather"(%arg39, %12) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 512>}> : (tensor<2x512xf32>, tensor<16x256x1xi32>) -> tensor<16x256x512xf32>
    %14 = stablehlo.add %6, %13 : tensor<16x256x512xf32>
    %15 = stablehlo.broadcast_in_dim %arg38, dims = [1, 2] : (tensor<256x512xf32>) -> tensor<1x256x512xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<1x256x512xf32>) -> tensor<16x256x512xf32>
    %17 = stablehlo.add %14, %16 : tensor<16x256x512xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %cst_3 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %21 = stablehlo.divide %19, %20 : tensor<16x256x1xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] : (tensor<16x256x1xf32>) -> tensor<16x256x512xf32>
    %23 = stablehlo.subtract %17, %22 : tensor<16x256x512xf32>
    %24 = stablehlo.multiply %23, %23 : tensor<16x256x512xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.reduce(%24 init: %cst_4) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %cst_5 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %27 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %28 = stablehlo.divide %26, %27 : tensor<16x256x1xf32>
    %cst_6 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %30 = stablehlo.add %28, %29 : tensor<16x256x1xf32>
    %31 = stablehlo.rsqrt %30 : tensor<16x256x1xf32>
    %32 = stablehlo.divide %31, %30 : tensor<16x256x1xf32>
    %cst_7 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %34 = stablehlo.multiply %33, %32 : tensor<16x256x1xf32>
    %35 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2] : (tensor<16x256x1xf32>) -> tensor<16x256x512xf32>
    %36 = stablehlo.multiply %23, %35 : tensor<16x256x512xf32>
    %37 = stablehlo.broadcast_in_dim %arg36, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %38 = stablehlo.broadcast_in_dim %37, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %39 = stablehlo.multiply %36, %38 : tensor<16x256x512xf32>
    %40 = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %42 = stablehlo.add %39, %41 : tensor<16x256x512xf32>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x256xf32>
    %44 = stablehlo.subtract %43, %arg129 : tensor<16x256xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 3] : (tensor<16x256xf32>) -> tensor<16x1x1x256xf32>
    %cst_9 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %46 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16x1x1x256xf32>
    %47 = stablehlo.multiply %45, %46 : tensor<16x1x1x256xf32>
    %48 = stablehlo.dot_general %42, %arg15, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<512x512xf32>) -> tensor<16x256x512xf32>
    %49 = stablehlo.broadcast_in_dim %arg9, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %51 = stablehlo.add %48, %50 : tensor<16x256x512xf32>
    %52 = stablehlo.reshape %51 : (tensor<16x256x512xf32>) -> tensor<16x256x8x64xf32>
    %53 = stablehlo.dot_general %42, %arg13, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<512x512xf32>) -> tensor<16x256x512xf32>
    %54 = stablehlo.broadcast_in_dim %arg7, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %55 = stablehlo.broadcast_in_dim %54, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %56 = stablehlo.add %53, %55 : tensor<16x256x512xf32>
    %57 = stablehlo.reshape %56 : (tensor<16x256x512xf32>) -> tensor<16x256x8x64xf32>
    %58 = stablehlo.dot_general %42, %arg19, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<512x512xf32>) -> tensor<16x256x512xf32>
    %59 = stablehlo.broadcast_in_dim %arg11, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %60 = stablehlo.broadcast_in_dim %59, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %61 = stablehlo.add %58, %60 : tensor<16x256x512xf32>
    %62 = stablehlo.reshape %61 : (tensor<16x256x512xf32>) -> tensor<16x256x8x64xf32>
    %63 = stablehlo.dot_general %52, %57, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x256x8x64xf32>, tensor<16x256x8x64xf32>) -> tensor<16x8x256x256xf32>
    %cst_10 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %64 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x8x256x256xf32>
    %65 = stablehlo.divide %63, %64 : tensor<16x8x256x256xf32>
    %66 = stablehlo.broadcast_in_dim %47, dims = [0, 1, 2, 3] : (tensor<16x1x1x256xf32>) -> tensor<16x8x256x256xf32>
    %67 = stablehlo.add %65, %66 : tensor<16x8x256x256xf32>
    %cst_11 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %68 = stablehlo.reduce(%67 init: %cst_11) applies stablehlo.maximum across dimensions = [3] : (tensor<16x8x256x256xf32>, tensor<f32>) -> tensor<16x8x256xf32>
    %cst_12 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %69 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<16x8x256xf32>
    %70 = stablehlo.maximum %69, %68 : tensor<16x8x256xf32>
    %71 = stablehlo.broadcast_in_dim %70, dims = [0, 1, 2] : (tensor<16x8x256xf32>) -> tensor<16x8x256x1xf32>
    %72 = stablehlo.broadcast_in_dim %71, dims = [0, 1, 2, 3] : (tensor<16x8x256x1xf32>) -> tensor<16x8x256x256xf32>
    %73 = stablehlo.subtract %67, %72 : tensor<16x8x256x256xf32>
    %74 = stablehlo.exponential %73 : tensor<16x8x256x256xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %75 = stablehlo.reduce(%74 init: %cst_13) applies stablehlo.add across dimensions = [3] : (tensor<16x8x256x256xf32>, tensor<f32>) -> tensor<16x8x256xf32>
    %76 = stablehlo.broadcast_in_dim %75, dims = [0, 1, 2] : (tensor<16x8x256xf32>) -> tensor<16x8x256x1xf32>
    %77 = stablehlo.broadcast_in_dim %76, dims = [0, 1, 2, 3] : (tensor<16x8x256x1xf32>) -> tensor<16x8x256x256xf32>
    %78 = stablehlo.divide %74, %77 : tensor<16x8x256x256xf32>
    %79 = stablehlo.multiply %76, %76 : tensor<16x8x256x1xf32>
    %cst_14 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %80 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<16x8x256x1xf32>
    %81 = stablehlo.divide %80, %79 : tensor<16x8x256x1xf32>
    %82 = stablehlo.dot_general %62, %78, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x256x8x64xf32>, tensor<16x8x256x256xf32>) -> tensor<16x8x64x256xf32>
    %83 = stablehlo.transpose %82, dims = [0, 3, 1, 2] : (tensor<16x8x64x256xf32>) -> tensor<16x256x8x64xf32>
    %84 = stablehlo.reshape %83 : (tensor<16x256x8x64xf32>) -> tensor<16x256x512xf32>
    %85 = stablehlo.dot_general %84, %arg14, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<512x512xf32>) -> tensor<16x256x512xf32>
    %86 = stablehlo.broadcast_in_dim %arg8, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %87 = stablehlo.broadcast_in_dim %86, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %88 = stablehlo.add %85, %87 : tensor<16x256x512xf32>
    %89 = stablehlo.add %42, %88 : tensor<16x256x512xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %90 = stablehlo.reduce(%89 init: %cst_15) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %91 = stablehlo.broadcast_in_dim %90, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %cst_16 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %92 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %93 = stablehlo.divide %91, %92 : tensor<16x256x1xf32>
    %94 = stablehlo.broadcast_in_dim %93, dims = [0, 1, 2] : (tensor<16x256x1xf32>) -> tensor<16x256x512xf32>
    %95 = stablehlo.subtract %89, %94 : tensor<16x256x512xf32>
    %96 = stablehlo.multiply %95, %95 : tensor<16x256x512xf32>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %97 = stablehlo.reduce(%96 init: %cst_17) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %98 = stablehlo.broadcast_in_dim %97, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %cst_18 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %99 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %100 = stablehlo.divide %98, %99 : tensor<16x256x1xf32>
    %cst_19 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %101 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %102 = stablehlo.add %100, %101 : tensor<16x256x1xf32>
    %103 = stablehlo.rsqrt %102 : tensor<16x256x1xf32>
    %104 = stablehlo.divide %103, %102 : tensor<16x256x1xf32>
    %cst_20 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %105 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %106 = stablehlo.multiply %105, %104 : tensor<16x256x1xf32>
    %107 = stablehlo.broadcast_in_dim %103, dims = [0, 1, 2] : (tensor<16x256x1xf32>) -> tensor<16x256x512xf32>
    %108 = stablehlo.multiply %95, %107 : tensor<16x256x512xf32>
    %109 = stablehlo.broadcast_in_dim %arg16, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %110 = stablehlo.broadcast_in_dim %109, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %111 = stablehlo.multiply %108, %110 : tensor<16x256x512xf32>
    %112 = stablehlo.broadcast_in_dim %arg4, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %113 = stablehlo.broadcast_in_dim %112, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %114 = stablehlo.add %111, %113 : tensor<16x256x512xf32>
    %115 = stablehlo.dot_general %114, %arg18, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<512x2048xf32>) -> tensor<16x256x2048xf32>
    %116 = stablehlo.broadcast_in_dim %arg10, dims = [2] : (tensor<2048xf32>) -> tensor<1x1x2048xf32>
    %117 = stablehlo.broadcast_in_dim %116, dims = [0, 1, 2] : (tensor<1x1x2048xf32>) -> tensor<16x256x2048xf32>
    %118 = stablehlo.add %115, %117 : tensor<16x256x2048xf32>
    %cst_21 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %119 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<16x256x2048xf32>
    %120 = stablehlo.multiply %119, %118 : tensor<16x256x2048xf32>
    %121 = stablehlo.negate %118 : tensor<16x256x2048xf32>
    %cst_22 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %122 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<16x256x2048xf32>
    %123 = stablehlo.multiply %121, %122 : tensor<16x256x2048xf32>
    %124 = chlo.erfc %123 : tensor<16x256x2048xf32> -> tensor<16x256x2048xf32>
    %125 = chlo.square %123 : tensor<16x256x2048xf32> -> tensor<16x256x2048xf32>
    %126 = stablehlo.negate %125 : tensor<16x256x2048xf32>
    %127 = stablehlo.exponential %126 : tensor<16x256x2048xf32>
    %128 = stablehlo.multiply %120, %124 : tensor<16x256x2048xf32>
    %129 = stablehlo.dot_general %128, %arg12, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x256x2048xf32>, tensor<2048x512xf32>) -> tensor<16x256x512xf32>
    %130 = stablehlo.add %114, %129 : tensor<16x256x512xf32>
    %131 = stablehlo.broadcast_in_dim %arg5, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %132 = stablehlo.broadcast_in_dim %131, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %133 = stablehlo.add %130, %132 : tensor<16x256x512xf32>
    %cst_23 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %134 = stablehlo.reduce(%133 init: %cst_23) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %135 = stablehlo.broadcast_in_dim %134, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %cst_24 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %136 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %137 = stablehlo.divide %135, %136 : tensor<16x256x1xf32>
    %138 = stablehlo.broadcast_in_dim %137, dims = [0, 1, 2] : (tensor<16x256x1xf32>) -> tensor<16x256x512xf32>
    %139 = stablehlo.subtract %133, %138 : tensor<16x256x512xf32>
    %140 = stablehlo.multiply %139, %139 : tensor<16x256x512xf32>
    %cst_25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %141 = stablehlo.reduce(%140 init: %cst_25) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %142 = stablehlo.broadcast_in_dim %141, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %cst_26 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %143 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %144 = stablehlo.divide %142, %143 : tensor<16x256x1xf32>
    %cst_27 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %145 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %146 = stablehlo.add %144, %145 : tensor<16x256x1xf32>
    %147 = stablehlo.rsqrt %146 : tensor<16x256x1xf32>
    %148 = stablehlo.divide %147, %146 : tensor<16x256x1xf32>
    %cst_28 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %149 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %150 = stablehlo.multiply %149, %148 : tensor<16x256x1xf32>
    %151 = stablehlo.broadcast_in_dim %147, dims = [0, 1, 2] : (tensor<16x256x1xf32>) -> tensor<16x256x512xf32>
    %152 = stablehlo.multiply %139, %151 : tensor<16x256x512xf32>
    %153 = stablehlo.broadcast_in_dim %arg17, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %154 = stablehlo.broadcast_in_dim %153, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %155 = stablehlo.multiply %152, %154 : tensor<16x256x512xf32>
    %156 = stablehlo.broadcast_in_dim %arg6, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %157 = stablehlo.broadcast_in_dim %156, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %158 = stablehlo.add %155, %157 : tensor<16x256x512xf32>
    %159 = stablehlo.dot_general %158, %arg31, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<512x512xf32>) -> tensor<16x256x512xf32>
    %160 = stablehlo.broadcast_in_dim %arg25, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %161 = stablehlo.broadcast_in_dim %160, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %162 = stablehlo.add %159, %161 : tensor<16x256x512xf32>
    %163 = stablehlo.reshape %162 : (tensor<16x256x512xf32>) -> tensor<16x256x8x64xf32>
    %164 = stablehlo.dot_general %158, %arg29, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<512x512xf32>) -> tensor<16x256x512xf32>
    %165 = stablehlo.broadcast_in_dim %arg23, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %166 = stablehlo.broadcast_in_dim %165, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %167 = stablehlo.add %164, %166 : tensor<16x256x512xf32>
    %168 = stablehlo.reshape %167 : (tensor<16x256x512xf32>) -> tensor<16x256x8x64xf32>
    %169 = stablehlo.dot_general %158, %arg35, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<512x512xf32>) -> tensor<16x256x512xf32>
    %170 = stablehlo.broadcast_in_dim %arg27, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %171 = stablehlo.broadcast_in_dim %170, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %172 = stablehlo.add %169, %171 : tensor<16x256x512xf32>
    %173 = stablehlo.reshape %172 : (tensor<16x256x512xf32>) -> tensor<16x256x8x64xf32>
    %174 = stablehlo.dot_general %163, %168, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x256x8x64xf32>, tensor<16x256x8x64xf32>) -> tensor<16x8x256x256xf32>
    %cst_29 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %175 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<16x8x256x256xf32>
    %176 = stablehlo.divide %174, %175 : tensor<16x8x256x256xf32>
    %177 = stablehlo.broadcast_in_dim %47, dims = [0, 1, 2, 3] : (tensor<16x1x1x256xf32>) -> tensor<16x8x256x256xf32>
    %178 = stablehlo.add %176, %177 : tensor<16x8x256x256xf32>
    %cst_30 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %179 = stablehlo.reduce(%178 init: %cst_30) applies stablehlo.maximum across dimensions = [3] : (tensor<16x8x256x256xf32>, tensor<f32>) -> tensor<16x8x256xf32>
    %cst_31 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %180 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<16x8x256xf32>
    %181 = stablehlo.maximum %180, %179 : tensor<16x8x256xf32>
    %182 = stablehlo.broadcast_in_dim %181, dims = [0, 1, 2] : (tensor<16x8x256xf32>) -> tensor<16x8x256x1xf32>
    %183 = stablehlo.broadcast_in_dim %182, dims = [0, 1, 2, 3] : (tensor<16x8x256x1xf32>) -> tensor<16x8x256x256xf32>
    %184 = stablehlo.subtract %178, %183 : tensor<16x8x256x256xf32>
    %185 = stablehlo.exponential %184 : tensor<16x8x256x256xf32>
    %cst_32 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %186 = stablehlo.reduce(%185 init: %cst_32) applies stablehlo.add across dimensions = [3] : (tensor<16x8x256x256xf32>, tensor<f32>) -> tensor<16x8x256xf32>
    %187 = stablehlo.broadcast_in_dim %186, dims = [0, 1, 2] : (tensor<16x8x256xf32>) -> tensor<16x8x256x1xf32>
    %188 = stablehlo.broadcast_in_dim %187, dims = [0, 1, 2, 3] : (tensor<16x8x256x1xf32>) -> tensor<16x8x256x256xf32>
    %189 = stablehlo.divide %185, %188 : tensor<16x8x256x256xf32>
    %190 = stablehlo.multiply %187, %187 : tensor<16x8x256x1xf32>
    %cst_33 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %191 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<16x8x256x1xf32>
    %192 = stablehlo.divide %191, %190 : tensor<16x8x256x1xf32>
    %193 = stablehlo.dot_general %173, %189, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x256x8x64xf32>, tensor<16x8x256x256xf32>) -> tensor<16x8x64x256xf32>
    %194 = stablehlo.transpose %193, dims = [0, 3, 1, 2] : (tensor<16x8x64x256xf32>) -> tensor<16x256x8x64xf32>
    %195 = stablehlo.reshape %194 : (tensor<16x256x8x64xf32>) -> tensor<16x256x512xf32>
    %196 = stablehlo.dot_general %195, %arg30, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<512x512xf32>) -> tensor<16x256x512xf32>
    %197 = stablehlo.broadcast_in_dim %arg24, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %198 = stablehlo.broadcast_in_dim %197, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %199 = stablehlo.add %196, %198 : tensor<16x256x512xf32>
    %200 = stablehlo.add %158, %199 : tensor<16x256x512xf32>
    %cst_34 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %201 = stablehlo.reduce(%200 init: %cst_34) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %202 = stablehlo.broadcast_in_dim %201, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %cst_35 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %203 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %204 = stablehlo.divide %202, %203 : tensor<16x256x1xf32>
    %205 = stablehlo.broadcast_in_dim %204, dims = [0, 1, 2] : (tensor<16x256x1xf32>) -> tensor<16x256x512xf32>
    %206 = stablehlo.subtract %200, %205 : tensor<16x256x512xf32>
    %207 = stablehlo.multiply %206, %206 : tensor<16x256x512xf32>
    %cst_36 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %208 = stablehlo.reduce(%207 init: %cst_36) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %209 = stablehlo.broadcast_in_dim %208, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %cst_37 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %210 = stablehlo.broadcast_in_dim %cst_37, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %211 = stablehlo.divide %209, %210 : tensor<16x256x1xf32>
    %cst_38 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %212 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %213 = stablehlo.add %211, %212 : tensor<16x256x1xf32>
    %214 = stablehlo.rsqrt %213 : tensor<16x256x1xf32>
    %215 = stablehlo.divide %214, %213 : tensor<16x256x1xf32>
    %cst_39 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %216 = stablehlo.broadcast_in_dim %cst_39, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %217 = stablehlo.multiply %216, %215 : tensor<16x256x1xf32>
    %218 = stablehlo.broadcast_in_dim %214, dims = [0, 1, 2] : (tensor<16x256x1xf32>) -> tensor<16x256x512xf32>
    %219 = stablehlo.multiply %206, %218 : tensor<16x256x512xf32>
    %220 = stablehlo.broadcast_in_dim %arg32, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %221 = stablehlo.broadcast_in_dim %220, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %222 = stablehlo.multiply %219, %221 : tensor<16x256x512xf32>
    %223 = stablehlo.broadcast_in_dim %arg20, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %224 = stablehlo.broadcast_in_dim %223, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %225 = stablehlo.add %222, %224 : tensor<16x256x512xf32>
    %226 = stablehlo.dot_general %225, %arg34, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<512x2048xf32>) -> tensor<16x256x2048xf32>
    %227 = stablehlo.broadcast_in_dim %arg26, dims = [2] : (tensor<2048xf32>) -> tensor<1x1x2048xf32>
    %228 = stablehlo.broadcast_in_dim %227, dims = [0, 1, 2] : (tensor<1x1x2048xf32>) -> tensor<16x256x2048xf32>
    %229 = stablehlo.add %226, %228 : tensor<16x256x2048xf32>
    %cst_40 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %230 = stablehlo.broadcast_in_dim %cst_40, dims = [] : (tensor<f32>) -> tensor<16x256x2048xf32>
    %231 = stablehlo.multiply %230, %229 : tensor<16x256x2048xf32>
    %232 = stablehlo.negate %229 : tensor<16x256x2048xf32>
    %cst_41 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %233 = stablehlo.broadcast_in_dim %cst_41, dims = [] : (tensor<f32>) -> tensor<16x256x2048xf32>
    %234 = stablehlo.multiply %232, %233 : tensor<16x256x2048xf32>
    %235 = chlo.erfc %234 : tensor<16x256x2048xf32> -> tensor<16x256x2048xf32>
    %236 = chlo.square %234 : tensor<16x256x2048xf32> -> tensor<16x256x2048xf32>
    %237 = stablehlo.negate %236 : tensor<16x256x2048xf32>
    %238 = stablehlo.exponential %237 : tensor<16x256x2048xf32>
    %239 = stablehlo.multiply %231, %235 : tensor<16x256x2048xf32>
    %240 = stablehlo.dot_general %239, %arg28, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x256x2048xf32>, tensor<2048x512xf32>) -> tensor<16x256x512xf32>
    %241 = stablehlo.add %225, %240 : tensor<16x256x512xf32>
    %242 = stablehlo.broadcast_in_dim %arg21, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %243 = stablehlo.broadcast_in_dim %242, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %244 = stablehlo.add %241, %243 : tensor<16x256x512xf32>
    %cst_42 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %245 = stablehlo.reduce(%244 init: %cst_42) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %246 = stablehlo.broadcast_in_dim %245, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %cst_43 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %247 = stablehlo.broadcast_in_dim %cst_43, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %248 = stablehlo.divide %246, %247 : tensor<16x256x1xf32>
    %249 = stablehlo.broadcast_in_dim %248, dims = [0, 1, 2] : (tensor<16x256x1xf32>) -> tensor<16x256x512xf32>
    %250 = stablehlo.subtract %244, %249 : tensor<16x256x512xf32>
    %251 = stablehlo.multiply %250, %250 : tensor<16x256x512xf32>
    %cst_44 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %252 = stablehlo.reduce(%251 init: %cst_44) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %253 = stablehlo.broadcast_in_dim %252, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %cst_45 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %254 = stablehlo.broadcast_in_dim %cst_45, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %255 = stablehlo.divide %253, %254 : tensor<16x256x1xf32>
    %cst_46 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %256 = stablehlo.broadcast_in_dim %cst_46, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %257 = stablehlo.add %255, %256 : tensor<16x256x1xf32>
    %258 = stablehlo.rsqrt %257 : tensor<16x256x1xf32>
    %259 = stablehlo.divide %258, %257 : tensor<16x256x1xf32>
    %cst_47 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %260 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %261 = stablehlo.multiply %260, %259 : tensor<16x256x1xf32>
    %262 = stablehlo.broadcast_in_dim %258, dims = [0, 1, 2] : (tensor<16x256x1xf32>) -> tensor<16x256x512xf32>
    %263 = stablehlo.multiply %250, %262 : tensor<16x256x512xf32>
    %264 = stablehlo.broadcast_in_dim %arg33, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %265 = stablehlo.broadcast_in_dim %264, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %266 = stablehlo.multiply %263, %265 : tensor<16x256x512xf32>
    %267 = stablehlo.broadcast_in_dim %arg22, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %268 = stablehlo.broadcast_in_dim %267, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %269 = stablehlo.add %266, %268 : tensor<16x256x512xf32>
    %270 = stablehlo.broadcast_in_dim %arg128, dims = [0, 1] : (tensor<16x32xi32>) -> tensor<16x32x1xi32>
    %271:2 = call @take_along_axis(%269, %270) : (tensor<16x256x512xf32>, tensor<16x32x1xi32>) -> (tensor<16x32x512xf32>, tensor<16x32x1xi32>)
    %272 = stablehlo.dot_general %271#0, %arg41, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x512xf32>, tensor<512x512xf32>) -> tensor<16x32x512xf32>
    %273 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %274 = stablehlo.broadcast_in_dim %273, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x32x512xf32>
    %275 = stablehlo.add %272, %274 : tensor<16x32x512xf32>
    %cst_48 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %276 = stablehlo.broadcast_in_dim %cst_48, dims = [] : (tensor<f32>) -> tensor<16x32x512xf32>
    %277 = stablehlo.multiply %276, %275 : tensor<16x32x512xf32>
    %278 = stablehlo.negate %275 : tensor<16x32x512xf32>
    %cst_49 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %279 = stablehlo.broadcast_in_dim %cst_49, dims = [] : (tensor<f32>) -> tensor<16x32x512xf32>
    %280 = stablehlo.multiply %278, %279 : tensor<16x32x512xf32>
    %281 = chlo.erfc %280 : tensor<16x32x512xf32> -> tensor<16x32x512xf32>
    %282 = chlo.square %280 : tensor<16x32x512xf32> -> tensor<16x32x512xf32>
    %283 = stablehlo.negate %282 : tensor<16x32x512xf32>
    %284 = stablehlo.exponential %283 : tensor<16x32x512xf32>
    %285 = stablehlo.multiply %277, %281 : tensor<16x32x512xf32>
    %cst_50 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %286 = stablehlo.reduce(%285 init: %cst_50) applies stablehlo.add across dimensions = [2] : (tensor<16x32x512xf32>, tensor<f32>) -> tensor<16x32xf32>
    %287 = stablehlo.broadcast_in_dim %286, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %cst_51 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %288 = stablehlo.broadcast_in_dim %cst_51, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %289 = stablehlo.divide %287, %288 : tensor<16x32x1xf32>
    %290 = stablehlo.broadcast_in_dim %289, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x512xf32>
    %291 = stablehlo.subtract %285, %290 : tensor<16x32x512xf32>
    %292 = stablehlo.multiply %291, %291 : tensor<16x32x512xf32>
    %cst_52 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %293 = stablehlo.reduce(%292 init: %cst_52) applies stablehlo.add across dimensions = [2] : (tensor<16x32x512xf32>, tensor<f32>) -> tensor<16x32xf32>
    %294 = stablehlo.broadcast_in_dim %293, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %cst_53 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %295 = stablehlo.broadcast_in_dim %cst_53, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %296 = stablehlo.divide %294, %295 : tensor<16x32x1xf32>
    %cst_54 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %297 = stablehlo.broadcast_in_dim %cst_54, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %298 = stablehlo.add %296, %297 : tensor<16x32x1xf32>
    %299 = stablehlo.rsqrt %298 : tensor<16x32x1xf32>
    %300 = stablehlo.divide %299, %298 : tensor<16x32x1xf32>
    %cst_55 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %301 = stablehlo.broadcast_in_dim %cst_55, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %302 = stablehlo.multiply %301, %300 : tensor<16x32x1xf32>
    %303 = stablehlo.broadcast_in_dim %299, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x512xf32>
    %304 = stablehlo.multiply %291, %303 : tensor<16x32x512xf32>
    %305 = stablehlo.broadcast_in_dim %arg37, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %306 = stablehlo.broadcast_in_dim %305, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x32x512xf32>
    %307 = stablehlo.multiply %304, %306 : tensor<16x32x512xf32>
    %308 = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %309 = stablehlo.broadcast_in_dim %308, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x32x512xf32>
    %310 = stablehlo.add %307, %309 : tensor<16x32x512xf32>
    %311 = stablehlo.transpose %arg40, dims = [1, 0] : (tensor<8192x512xf32>) -> tensor<512x8192xf32>
    %312 = stablehlo.dot_general %310, %311, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x32x512xf32>, tensor<512x8192xf32>) -> tensor<16x32x8192xf32>
    %313 = stablehlo.broadcast_in_dim %arg3, dims = [2] : (tensor<8192xf32>) -> tensor<1x1x8192xf32>
    %314 = stablehlo.broadcast_in_dim %313, dims = [0, 1, 2] : (tensor<1x1x8192xf32>) -> tensor<16x32x8192xf32>
    %315 = stablehlo.add %312, %314 : tensor<16x32x8192xf32>
    %316:3 = call @log_softmax(%315) : (tensor<16x32x8192xf32>) -> (tensor<16x32x8192xf32>, tensor<16x32x8192xf32>, tensor<16x32x1xf32>)
    %317 = stablehlo.broadcast_in_dim %arg127, dims = [0, 1] : (tensor<16x32xi32>) -> tensor<16x32x1xi32>
    %318:2 = call @take_along_axis_0(%316#0, %317) : (tensor<16x32x8192xf32>, tensor<16x32x1xi32>) -> (tensor<16x32x1xf32>, tensor<16x32x1x1xi32>)
    %cst_56 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %319 = stablehlo.reduce(%318#0 init: %cst_56) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<16x32x1xf32>, tensor<f32>) -> tensor<f32>
    %cst_57 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %320 = stablehlo.divide %319, %cst_57 : tensor<f32>
    %321 = stablehlo.negate %320 : tensor<f32>
    %cst_58 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %322 = stablehlo.negate %cst_58 : tensor<f32>
    %cst_59 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %323 = stablehlo.divide %322, %cst_59 : tensor<f32>
    %324 = stablehlo.broadcast_in_dim %323, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %325 = call @take_along_axis_1(%318#1, %324) : (tensor<16x32x1x1xi32>, tensor<16x32x1xf32>) -> tensor<16x32x8192xf32>
    %326 = call @log_softmax_2(%316#1, %316#2, %325) : (tensor<16x32x8192xf32>, tensor<16x32x1xf32>, tensor<16x32x8192xf32>) -> tensor<16x32x8192xf32>
    %cst_60 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %327 = stablehlo.reduce(%326 init: %cst_60) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x32x8192xf32>, tensor<f32>) -> tensor<8192xf32>
    %328 = stablehlo.reshape %327 : (tensor<8192xf32>) -> tensor<1x1x8192xf32>
    %cst_61 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %329 = stablehlo.reduce(%328 init: %cst_61) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x8192xf32>, tensor<f32>) -> tensor<8192xf32>
    %330 = stablehlo.dot_general %326, %310, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x8192xf32>, tensor<16x32x512xf32>) -> tensor<8192x512xf32>
    %331 = stablehlo.transpose %330, dims = [1, 0] : (tensor<8192x512xf32>) -> tensor<512x8192xf32>
    %332 = stablehlo.dot_general %326, %311, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x8192xf32>, tensor<512x8192xf32>) -> tensor<16x32x512xf32>
    %333 = stablehlo.transpose %331, dims = [1, 0] : (tensor<512x8192xf32>) -> tensor<8192x512xf32>
    %cst_62 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %334 = stablehlo.reduce(%332 init: %cst_62) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x32x512xf32>, tensor<f32>) -> tensor<512xf32>
    %335 = stablehlo.reshape %334 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %cst_63 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %336 = stablehlo.reduce(%335 init: %cst_63) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %337 = stablehlo.multiply %304, %332 : tensor<16x32x512xf32>
    %cst_64 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %338 = stablehlo.reduce(%337 init: %cst_64) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x32x512xf32>, tensor<f32>) -> tensor<512xf32>
    %339 = stablehlo.reshape %338 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %340 = stablehlo.broadcast_in_dim %305, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x32x512xf32>
    %341 = stablehlo.multiply %332, %340 : tensor<16x32x512xf32>
    %cst_65 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %342 = stablehlo.reduce(%339 init: %cst_65) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %343 = stablehlo.multiply %291, %341 : tensor<16x32x512xf32>
    %cst_66 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %344 = stablehlo.reduce(%343 init: %cst_66) applies stablehlo.add across dimensions = [2] : (tensor<16x32x512xf32>, tensor<f32>) -> tensor<16x32xf32>
    %345 = stablehlo.reshape %344 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %346 = stablehlo.broadcast_in_dim %299, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x512xf32>
    %347 = stablehlo.multiply %341, %346 : tensor<16x32x512xf32>
    %348 = stablehlo.multiply %345, %302 : tensor<16x32x1xf32>
    %cst_67 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %349 = stablehlo.broadcast_in_dim %cst_67, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %350 = stablehlo.divide %348, %349 : tensor<16x32x1xf32>
    %cst_68 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %351 = stablehlo.reduce(%350 init: %cst_68) applies stablehlo.add across dimensions = [2] : (tensor<16x32x1xf32>, tensor<f32>) -> tensor<16x32xf32>
    %352 = stablehlo.broadcast_in_dim %351, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x512xf32>
    %353 = stablehlo.multiply %291, %352 : tensor<16x32x512xf32>
    %354 = stablehlo.add %347, %353 : tensor<16x32x512xf32>
    %355 = stablehlo.multiply %352, %291 : tensor<16x32x512xf32>
    %356 = stablehlo.add %354, %355 : tensor<16x32x512xf32>
    %357 = stablehlo.negate %356 : tensor<16x32x512xf32>
    %cst_69 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %358 = stablehlo.reduce(%357 init: %cst_69) applies stablehlo.add across dimensions = [2] : (tensor<16x32x512xf32>, tensor<f32>) -> tensor<16x32xf32>
    %359 = stablehlo.reshape %358 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %cst_70 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %360 = stablehlo.broadcast_in_dim %cst_70, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %361 = stablehlo.divide %359, %360 : tensor<16x32x1xf32>
    %cst_71 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %362 = stablehlo.reduce(%361 init: %cst_71) applies stablehlo.add across dimensions = [2] : (tensor<16x32x1xf32>, tensor<f32>) -> tensor<16x32xf32>
    %363 = stablehlo.broadcast_in_dim %362, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x512xf32>
    %364 = stablehlo.add %356, %363 : tensor<16x32x512xf32>
    %365 = stablehlo.multiply %277, %364 : tensor<16x32x512xf32>
    %366 = stablehlo.multiply %364, %281 : tensor<16x32x512xf32>
    %cst_72 = stablehlo.constant dense<-1.12837923> : tensor<f32>
    %367 = stablehlo.broadcast_in_dim %cst_72, dims = [] : (tensor<f32>) -> tensor<16x32x512xf32>
    %368 = stablehlo.multiply %367, %365 : tensor<16x32x512xf32>
    %369 = stablehlo.multiply %368, %284 : tensor<16x32x512xf32>
    %cst_73 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %370 = stablehlo.broadcast_in_dim %cst_73, dims = [] : (tensor<f32>) -> tensor<16x32x512xf32>
    %371 = stablehlo.multiply %369, %370 : tensor<16x32x512xf32>
    %372 = stablehlo.negate %371 : tensor<16x32x512xf32>
    %cst_74 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %373 = stablehlo.broadcast_in_dim %cst_74, dims = [] : (tensor<f32>) -> tensor<16x32x512xf32>
    %374 = stablehlo.multiply %373, %366 : tensor<16x32x512xf32>
    %375 = stablehlo.add %372, %374 : tensor<16x32x512xf32>
    %cst_75 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %376 = stablehlo.reduce(%375 init: %cst_75) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x32x512xf32>, tensor<f32>) -> tensor<512xf32>
    %377 = stablehlo.reshape %376 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %cst_76 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %378 = stablehlo.reduce(%377 init: %cst_76) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %379 = stablehlo.dot_general %375, %271#0, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x512xf32>, tensor<16x32x512xf32>) -> tensor<512x512xf32>
    %380 = stablehlo.transpose %379, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %381 = stablehlo.dot_general %375, %arg41, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x32x512xf32>, tensor<512x512xf32>) -> tensor<16x32x512xf32>
    %382 = call @take_along_axis_3(%271#1, %381) : (tensor<16x32x1xi32>, tensor<16x32x512xf32>) -> tensor<16x256x512xf32>
    %cst_77 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %383 = stablehlo.reduce(%382 init: %cst_77) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %384 = stablehlo.reshape %383 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %cst_78 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %385 = stablehlo.reduce(%384 init: %cst_78) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %386 = stablehlo.multiply %263, %382 : tensor<16x256x512xf32>
    %cst_79 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %387 = stablehlo.reduce(%386 init: %cst_79) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %388 = stablehlo.reshape %387 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %389 = stablehlo.broadcast_in_dim %264, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %390 = stablehlo.multiply %382, %389 : tensor<16x256x512xf32>
    %cst_80 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %391 = stablehlo.reduce(%388 init: %cst_80) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %392 = stablehlo.multiply %250, %390 : tensor<16x256x512xf32>
    %cst_81 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %393 = stablehlo.reduce(%392 init: %cst_81) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %394 = stablehlo.reshape %393 : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %395 = stablehlo.broadcast_in_dim %258, dims = [0, 1, 2] : (tensor<16x256x1xf32>) -> tensor<16x256x512xf32>
    %396 = stablehlo.multiply %390, %395 : tensor<16x256x512xf32>
    %397 = stablehlo.multiply %394, %261 : tensor<16x256x1xf32>
    %cst_82 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %398 = stablehlo.broadcast_in_dim %cst_82, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %399 = stablehlo.divide %397, %398 : tensor<16x256x1xf32>
    %cst_83 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %400 = stablehlo.reduce(%399 init: %cst_83) applies stablehlo.add across dimensions = [2] : (tensor<16x256x1xf32>, tensor<f32>) -> tensor<16x256xf32>
    %401 = stablehlo.broadcast_in_dim %400, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x512xf32>
    %402 = stablehlo.multiply %250, %401 : tensor<16x256x512xf32>
    %403 = stablehlo.add %396, %402 : tensor<16x256x512xf32>
    %404 = stablehlo.multiply %401, %250 : tensor<16x256x512xf32>
    %405 = stablehlo.add %403, %404 : tensor<16x256x512xf32>
    %406 = stablehlo.negate %405 : tensor<16x256x512xf32>
    %cst_84 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %407 = stablehlo.reduce(%406 init: %cst_84) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %408 = stablehlo.reshape %407 : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %cst_85 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %409 = stablehlo.broadcast_in_dim %cst_85, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %410 = stablehlo.divide %408, %409 : tensor<16x256x1xf32>
    %cst_86 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %411 = stablehlo.reduce(%410 init: %cst_86) applies stablehlo.add across dimensions = [2] : (tensor<16x256x1xf32>, tensor<f32>) -> tensor<16x256xf32>
    %412 = stablehlo.broadcast_in_dim %411, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x512xf32>
    %413 = stablehlo.add %405, %412 : tensor<16x256x512xf32>
    %cst_87 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %414 = stablehlo.reduce(%413 init: %cst_87) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %415 = stablehlo.reshape %414 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %cst_88 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %416 = stablehlo.reduce(%415 init: %cst_88) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %417 = stablehlo.dot_general %413, %239, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<16x256x2048xf32>) -> tensor<512x2048xf32>
    %418 = stablehlo.transpose %417, dims = [1, 0] : (tensor<512x2048xf32>) -> tensor<2048x512xf32>
    %419 = stablehlo.dot_general %413, %arg28, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<2048x512xf32>) -> tensor<16x256x2048xf32>
    %420 = stablehlo.multiply %231, %419 : tensor<16x256x2048xf32>
    %421 = stablehlo.multiply %419, %235 : tensor<16x256x2048xf32>
    %cst_89 = stablehlo.constant dense<-1.12837923> : tensor<f32>
    %422 = stablehlo.broadcast_in_dim %cst_89, dims = [] : (tensor<f32>) -> tensor<16x256x2048xf32>
    %423 = stablehlo.multiply %422, %420 : tensor<16x256x2048xf32>
    %424 = stablehlo.multiply %423, %238 : tensor<16x256x2048xf32>
    %cst_90 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %425 = stablehlo.broadcast_in_dim %cst_90, dims = [] : (tensor<f32>) -> tensor<16x256x2048xf32>
    %426 = stablehlo.multiply %424, %425 : tensor<16x256x2048xf32>
    %427 = stablehlo.negate %426 : tensor<16x256x2048xf32>
    %cst_91 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %428 = stablehlo.broadcast_in_dim %cst_91, dims = [] : (tensor<f32>) -> tensor<16x256x2048xf32>
    %429 = stablehlo.multiply %428, %421 : tensor<16x256x2048xf32>
    %430 = stablehlo.add %427, %429 : tensor<16x256x2048xf32>
    %cst_92 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %431 = stablehlo.reduce(%430 init: %cst_92) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x2048xf32>, tensor<f32>) -> tensor<2048xf32>
    %432 = stablehlo.reshape %431 : (tensor<2048xf32>) -> tensor<1x1x2048xf32>
    %cst_93 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %433 = stablehlo.reduce(%432 init: %cst_93) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x2048xf32>, tensor<f32>) -> tensor<2048xf32>
    %434 = stablehlo.dot_general %430, %225, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x2048xf32>, tensor<16x256x512xf32>) -> tensor<2048x512xf32>
    %435 = stablehlo.transpose %434, dims = [1, 0] : (tensor<2048x512xf32>) -> tensor<512x2048xf32>
    %436 = stablehlo.dot_general %430, %arg34, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x2048xf32>, tensor<512x2048xf32>) -> tensor<16x256x512xf32>
    %437 = stablehlo.add %413, %436 : tensor<16x256x512xf32>
    %cst_94 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %438 = stablehlo.reduce(%437 init: %cst_94) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %439 = stablehlo.reshape %438 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %cst_95 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %440 = stablehlo.reduce(%439 init: %cst_95) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %441 = stablehlo.multiply %219, %437 : tensor<16x256x512xf32>
    %cst_96 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %442 = stablehlo.reduce(%441 init: %cst_96) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %443 = stablehlo.reshape %442 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %444 = stablehlo.broadcast_in_dim %220, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %445 = stablehlo.multiply %437, %444 : tensor<16x256x512xf32>
    %cst_97 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %446 = stablehlo.reduce(%443 init: %cst_97) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %447 = stablehlo.multiply %206, %445 : tensor<16x256x512xf32>
    %cst_98 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %448 = stablehlo.reduce(%447 init: %cst_98) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %449 = stablehlo.reshape %448 : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %450 = stablehlo.broadcast_in_dim %214, dims = [0, 1, 2] : (tensor<16x256x1xf32>) -> tensor<16x256x512xf32>
    %451 = stablehlo.multiply %445, %450 : tensor<16x256x512xf32>
    %452 = stablehlo.multiply %449, %217 : tensor<16x256x1xf32>
    %cst_99 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %453 = stablehlo.broadcast_in_dim %cst_99, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %454 = stablehlo.divide %452, %453 : tensor<16x256x1xf32>
    %cst_100 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %455 = stablehlo.reduce(%454 init: %cst_100) applies stablehlo.add across dimensions = [2] : (tensor<16x256x1xf32>, tensor<f32>) -> tensor<16x256xf32>
    %456 = stablehlo.broadcast_in_dim %455, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x512xf32>
    %457 = stablehlo.multiply %206, %456 : tensor<16x256x512xf32>
    %458 = stablehlo.add %451, %457 : tensor<16x256x512xf32>
    %459 = stablehlo.multiply %456, %206 : tensor<16x256x512xf32>
    %460 = stablehlo.add %458, %459 : tensor<16x256x512xf32>
    %461 = stablehlo.negate %460 : tensor<16x256x512xf32>
    %cst_101 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %462 = stablehlo.reduce(%461 init: %cst_101) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %463 = stablehlo.reshape %462 : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %cst_102 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %464 = stablehlo.broadcast_in_dim %cst_102, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %465 = stablehlo.divide %463, %464 : tensor<16x256x1xf32>
    %cst_103 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %466 = stablehlo.reduce(%465 init: %cst_103) applies stablehlo.add across dimensions = [2] : (tensor<16x256x1xf32>, tensor<f32>) -> tensor<16x256xf32>
    %467 = stablehlo.broadcast_in_dim %466, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x512xf32>
    %468 = stablehlo.add %460, %467 : tensor<16x256x512xf32>
    %cst_104 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %469 = stablehlo.reduce(%468 init: %cst_104) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %470 = stablehlo.reshape %469 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %cst_105 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %471 = stablehlo.reduce(%470 init: %cst_105) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %472 = stablehlo.dot_general %468, %195, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<16x256x512xf32>) -> tensor<512x512xf32>
    %473 = stablehlo.transpose %472, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %474 = stablehlo.dot_general %468, %arg30, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<512x512xf32>) -> tensor<16x256x512xf32>
    %475 = stablehlo.reshape %474 : (tensor<16x256x512xf32>) -> tensor<16x256x8x64xf32>
    %476 = stablehlo.transpose %475, dims = [0, 2, 3, 1] : (tensor<16x256x8x64xf32>) -> tensor<16x8x64x256xf32>
    %477 = stablehlo.dot_general %476, %173, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x8x64x256xf32>, tensor<16x256x8x64xf32>) -> tensor<16x8x256x256xf32>
    %478 = stablehlo.dot_general %476, %189, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x8x64x256xf32>, tensor<16x8x256x256xf32>) -> tensor<16x8x64x256xf32>
    %479 = stablehlo.transpose %478, dims = [0, 3, 1, 2] : (tensor<16x8x64x256xf32>) -> tensor<16x256x8x64xf32>
    %480 = stablehlo.broadcast_in_dim %192, dims = [0, 1, 2, 3] : (tensor<16x8x256x1xf32>) -> tensor<16x8x256x256xf32>
    %481 = stablehlo.multiply %477, %480 : tensor<16x8x256x256xf32>
    %482 = stablehlo.multiply %481, %185 : tensor<16x8x256x256xf32>
    %cst_106 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %483 = stablehlo.reduce(%482 init: %cst_106) applies stablehlo.add across dimensions = [3] : (tensor<16x8x256x256xf32>, tensor<f32>) -> tensor<16x8x256xf32>
    %484 = stablehlo.reshape %483 : (tensor<16x8x256xf32>) -> tensor<16x8x256x1xf32>
    %485 = stablehlo.negate %484 : tensor<16x8x256x1xf32>
    %486 = stablehlo.broadcast_in_dim %187, dims = [0, 1, 2, 3] : (tensor<16x8x256x1xf32>) -> tensor<16x8x256x256xf32>
    %487 = stablehlo.divide %477, %486 : tensor<16x8x256x256xf32>
    %cst_107 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %488 = stablehlo.reduce(%485 init: %cst_107) applies stablehlo.add across dimensions = [3] : (tensor<16x8x256x1xf32>, tensor<f32>) -> tensor<16x8x256xf32>
    %489 = stablehlo.broadcast_in_dim %488, dims = [0, 1, 2] : (tensor<16x8x256xf32>) -> tensor<16x8x256x256xf32>
    %490 = stablehlo.add %487, %489 : tensor<16x8x256x256xf32>
    %491 = stablehlo.multiply %490, %185 : tensor<16x8x256x256xf32>
    %cst_108 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %492 = stablehlo.broadcast_in_dim %cst_108, dims = [] : (tensor<f32>) -> tensor<16x8x256x256xf32>
    %493 = stablehlo.divide %491, %492 : tensor<16x8x256x256xf32>
    %494 = stablehlo.dot_general %493, %163, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x256x256xf32>, tensor<16x256x8x64xf32>) -> tensor<16x8x256x64xf32>
    %495 = stablehlo.transpose %494, dims = [0, 2, 1, 3] : (tensor<16x8x256x64xf32>) -> tensor<16x256x8x64xf32>
    %496 = stablehlo.dot_general %493, %168, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x256x256xf32>, tensor<16x256x8x64xf32>) -> tensor<16x8x256x64xf32>
    %497 = stablehlo.transpose %496, dims = [0, 2, 1, 3] : (tensor<16x8x256x64xf32>) -> tensor<16x256x8x64xf32>
    %498 = stablehlo.reshape %479 : (tensor<16x256x8x64xf32>) -> tensor<16x256x512xf32>
    %cst_109 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %499 = stablehlo.reduce(%498 init: %cst_109) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %500 = stablehlo.reshape %499 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %cst_110 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %501 = stablehlo.reduce(%500 init: %cst_110) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %502 = stablehlo.dot_general %498, %158, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<16x256x512xf32>) -> tensor<512x512xf32>
    %503 = stablehlo.transpose %502, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %504 = stablehlo.dot_general %498, %arg35, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<512x512xf32>) -> tensor<16x256x512xf32>
    %505 = stablehlo.add %468, %504 : tensor<16x256x512xf32>
    %506 = stablehlo.reshape %495 : (tensor<16x256x8x64xf32>) -> tensor<16x256x512xf32>
    %cst_111 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %507 = stablehlo.reduce(%506 init: %cst_111) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %508 = stablehlo.reshape %507 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %cst_112 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %509 = stablehlo.reduce(%508 init: %cst_112) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %510 = stablehlo.dot_general %506, %158, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<16x256x512xf32>) -> tensor<512x512xf32>
    %511 = stablehlo.transpose %510, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %512 = stablehlo.dot_general %506, %arg29, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<512x512xf32>) -> tensor<16x256x512xf32>
    %513 = stablehlo.add %505, %512 : tensor<16x256x512xf32>
    %514 = stablehlo.reshape %497 : (tensor<16x256x8x64xf32>) -> tensor<16x256x512xf32>
    %cst_113 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %515 = stablehlo.reduce(%514 init: %cst_113) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %516 = stablehlo.reshape %515 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %cst_114 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %517 = stablehlo.reduce(%516 init: %cst_114) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %518 = stablehlo.dot_general %514, %158, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<16x256x512xf32>) -> tensor<512x512xf32>
    %519 = stablehlo.transpose %518, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %520 = stablehlo.dot_general %514, %arg31, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<512x512xf32>) -> tensor<16x256x512xf32>
    %521 = stablehlo.add %513, %520 : tensor<16x256x512xf32>
    %cst_115 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %522 = stablehlo.reduce(%521 init: %cst_115) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %523 = stablehlo.reshape %522 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %cst_116 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %524 = stablehlo.reduce(%523 init: %cst_116) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %525 = stablehlo.multiply %152, %521 : tensor<16x256x512xf32>
    %cst_117 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %526 = stablehlo.reduce(%525 init: %cst_117) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %527 = stablehlo.reshape %526 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %528 = stablehlo.broadcast_in_dim %153, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %529 = stablehlo.multiply %521, %528 : tensor<16x256x512xf32>
    %cst_118 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %530 = stablehlo.reduce(%527 init: %cst_118) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %531 = stablehlo.multiply %139, %529 : tensor<16x256x512xf32>
    %cst_119 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %532 = stablehlo.reduce(%531 init: %cst_119) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %533 = stablehlo.reshape %532 : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %534 = stablehlo.broadcast_in_dim %147, dims = [0, 1, 2] : (tensor<16x256x1xf32>) -> tensor<16x256x512xf32>
    %535 = stablehlo.multiply %529, %534 : tensor<16x256x512xf32>
    %536 = stablehlo.multiply %533, %150 : tensor<16x256x1xf32>
    %cst_120 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %537 = stablehlo.broadcast_in_dim %cst_120, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %538 = stablehlo.divide %536, %537 : tensor<16x256x1xf32>
    %cst_121 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %539 = stablehlo.reduce(%538 init: %cst_121) applies stablehlo.add across dimensions = [2] : (tensor<16x256x1xf32>, tensor<f32>) -> tensor<16x256xf32>
    %540 = stablehlo.broadcast_in_dim %539, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x512xf32>
    %541 = stablehlo.multiply %139, %540 : tensor<16x256x512xf32>
    %542 = stablehlo.add %535, %541 : tensor<16x256x512xf32>
    %543 = stablehlo.multiply %540, %139 : tensor<16x256x512xf32>
    %544 = stablehlo.add %542, %543 : tensor<16x256x512xf32>
    %545 = stablehlo.negate %544 : tensor<16x256x512xf32>
    %cst_122 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %546 = stablehlo.reduce(%545 init: %cst_122) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %547 = stablehlo.reshape %546 : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %cst_123 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %548 = stablehlo.broadcast_in_dim %cst_123, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %549 = stablehlo.divide %547, %548 : tensor<16x256x1xf32>
    %cst_124 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %550 = stablehlo.reduce(%549 init: %cst_124) applies stablehlo.add across dimensions = [2] : (tensor<16x256x1xf32>, tensor<f32>) -> tensor<16x256xf32>
    %551 = stablehlo.broadcast_in_dim %550, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x512xf32>
    %552 = stablehlo.add %544, %551 : tensor<16x256x512xf32>
    %cst_125 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %553 = stablehlo.reduce(%552 init: %cst_125) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %554 = stablehlo.reshape %553 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %cst_126 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %555 = stablehlo.reduce(%554 init: %cst_126) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %556 = stablehlo.dot_general %552, %128, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<16x256x2048xf32>) -> tensor<512x2048xf32>
    %557 = stablehlo.transpose %556, dims = [1, 0] : (tensor<512x2048xf32>) -> tensor<2048x512xf32>
    %558 = stablehlo.dot_general %552, %arg12, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<2048x512xf32>) -> tensor<16x256x2048xf32>
    %559 = stablehlo.multiply %120, %558 : tensor<16x256x2048xf32>
    %560 = stablehlo.multiply %558, %124 : tensor<16x256x2048xf32>
    %cst_127 = stablehlo.constant dense<-1.12837923> : tensor<f32>
    %561 = stablehlo.broadcast_in_dim %cst_127, dims = [] : (tensor<f32>) -> tensor<16x256x2048xf32>
    %562 = stablehlo.multiply %561, %559 : tensor<16x256x2048xf32>
    %563 = stablehlo.multiply %562, %127 : tensor<16x256x2048xf32>
    %cst_128 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %564 = stablehlo.broadcast_in_dim %cst_128, dims = [] : (tensor<f32>) -> tensor<16x256x2048xf32>
    %565 = stablehlo.multiply %563, %564 : tensor<16x256x2048xf32>
    %566 = stablehlo.negate %565 : tensor<16x256x2048xf32>
    %cst_129 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %567 = stablehlo.broadcast_in_dim %cst_129, dims = [] : (tensor<f32>) -> tensor<16x256x2048xf32>
    %568 = stablehlo.multiply %567, %560 : tensor<16x256x2048xf32>
    %569 = stablehlo.add %566, %568 : tensor<16x256x2048xf32>
    %cst_130 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %570 = stablehlo.reduce(%569 init: %cst_130) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x2048xf32>, tensor<f32>) -> tensor<2048xf32>
    %571 = stablehlo.reshape %570 : (tensor<2048xf32>) -> tensor<1x1x2048xf32>
    %cst_131 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %572 = stablehlo.reduce(%571 init: %cst_131) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x2048xf32>, tensor<f32>) -> tensor<2048xf32>
    %573 = stablehlo.dot_general %569, %114, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x2048xf32>, tensor<16x256x512xf32>) -> tensor<2048x512xf32>
    %574 = stablehlo.transpose %573, dims = [1, 0] : (tensor<2048x512xf32>) -> tensor<512x2048xf32>
    %575 = stablehlo.dot_general %569, %arg18, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x2048xf32>, tensor<512x2048xf32>) -> tensor<16x256x512xf32>
    %576 = stablehlo.add %552, %575 : tensor<16x256x512xf32>
    %cst_132 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %577 = stablehlo.reduce(%576 init: %cst_132) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %578 = stablehlo.reshape %577 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %cst_133 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %579 = stablehlo.reduce(%578 init: %cst_133) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %580 = stablehlo.multiply %108, %576 : tensor<16x256x512xf32>
    %cst_134 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %581 = stablehlo.reduce(%580 init: %cst_134) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %582 = stablehlo.reshape %581 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %583 = stablehlo.broadcast_in_dim %109, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %584 = stablehlo.multiply %576, %583 : tensor<16x256x512xf32>
    %cst_135 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %585 = stablehlo.reduce(%582 init: %cst_135) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %586 = stablehlo.multiply %95, %584 : tensor<16x256x512xf32>
    %cst_136 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %587 = stablehlo.reduce(%586 init: %cst_136) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %588 = stablehlo.reshape %587 : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %589 = stablehlo.broadcast_in_dim %103, dims = [0, 1, 2] : (tensor<16x256x1xf32>) -> tensor<16x256x512xf32>
    %590 = stablehlo.multiply %584, %589 : tensor<16x256x512xf32>
    %591 = stablehlo.multiply %588, %106 : tensor<16x256x1xf32>
    %cst_137 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %592 = stablehlo.broadcast_in_dim %cst_137, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %593 = stablehlo.divide %591, %592 : tensor<16x256x1xf32>
    %cst_138 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %594 = stablehlo.reduce(%593 init: %cst_138) applies stablehlo.add across dimensions = [2] : (tensor<16x256x1xf32>, tensor<f32>) -> tensor<16x256xf32>
    %595 = stablehlo.broadcast_in_dim %594, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x512xf32>
    %596 = stablehlo.multiply %95, %595 : tensor<16x256x512xf32>
    %597 = stablehlo.add %590, %596 : tensor<16x256x512xf32>
    %598 = stablehlo.multiply %595, %95 : tensor<16x256x512xf32>
    %599 = stablehlo.add %597, %598 : tensor<16x256x512xf32>
    %600 = stablehlo.negate %599 : tensor<16x256x512xf32>
    %cst_139 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %601 = stablehlo.reduce(%600 init: %cst_139) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %602 = stablehlo.reshape %601 : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %cst_140 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %603 = stablehlo.broadcast_in_dim %cst_140, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %604 = stablehlo.divide %602, %603 : tensor<16x256x1xf32>
    %cst_141 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %605 = stablehlo.reduce(%604 init: %cst_141) applies stablehlo.add across dimensions = [2] : (tensor<16x256x1xf32>, tensor<f32>) -> tensor<16x256xf32>
    %606 = stablehlo.broadcast_in_dim %605, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x512xf32>
    %607 = stablehlo.add %599, %606 : tensor<16x256x512xf32>
    %cst_142 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %608 = stablehlo.reduce(%607 init: %cst_142) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %609 = stablehlo.reshape %608 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %cst_143 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %610 = stablehlo.reduce(%609 init: %cst_143) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %611 = stablehlo.dot_general %607, %84, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<16x256x512xf32>) -> tensor<512x512xf32>
    %612 = stablehlo.transpose %611, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %613 = stablehlo.dot_general %607, %arg14, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<512x512xf32>) -> tensor<16x256x512xf32>
    %614 = stablehlo.reshape %613 : (tensor<16x256x512xf32>) -> tensor<16x256x8x64xf32>
    %615 = stablehlo.transpose %614, dims = [0, 2, 3, 1] : (tensor<16x256x8x64xf32>) -> tensor<16x8x64x256xf32>
    %616 = stablehlo.dot_general %615, %62, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x8x64x256xf32>, tensor<16x256x8x64xf32>) -> tensor<16x8x256x256xf32>
    %617 = stablehlo.dot_general %615, %78, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x8x64x256xf32>, tensor<16x8x256x256xf32>) -> tensor<16x8x64x256xf32>
    %618 = stablehlo.transpose %617, dims = [0, 3, 1, 2] : (tensor<16x8x64x256xf32>) -> tensor<16x256x8x64xf32>
    %619 = stablehlo.broadcast_in_dim %81, dims = [0, 1, 2, 3] : (tensor<16x8x256x1xf32>) -> tensor<16x8x256x256xf32>
    %620 = stablehlo.multiply %616, %619 : tensor<16x8x256x256xf32>
    %621 = stablehlo.multiply %620, %74 : tensor<16x8x256x256xf32>
    %cst_144 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %622 = stablehlo.reduce(%621 init: %cst_144) applies stablehlo.add across dimensions = [3] : (tensor<16x8x256x256xf32>, tensor<f32>) -> tensor<16x8x256xf32>
    %623 = stablehlo.reshape %622 : (tensor<16x8x256xf32>) -> tensor<16x8x256x1xf32>
    %624 = stablehlo.negate %623 : tensor<16x8x256x1xf32>
    %625 = stablehlo.broadcast_in_dim %76, dims = [0, 1, 2, 3] : (tensor<16x8x256x1xf32>) -> tensor<16x8x256x256xf32>
    %626 = stablehlo.divide %616, %625 : tensor<16x8x256x256xf32>
    %cst_145 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %627 = stablehlo.reduce(%624 init: %cst_145) applies stablehlo.add across dimensions = [3] : (tensor<16x8x256x1xf32>, tensor<f32>) -> tensor<16x8x256xf32>
    %628 = stablehlo.broadcast_in_dim %627, dims = [0, 1, 2] : (tensor<16x8x256xf32>) -> tensor<16x8x256x256xf32>
    %629 = stablehlo.add %626, %628 : tensor<16x8x256x256xf32>
    %630 = stablehlo.multiply %629, %74 : tensor<16x8x256x256xf32>
    %cst_146 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %631 = stablehlo.broadcast_in_dim %cst_146, dims = [] : (tensor<f32>) -> tensor<16x8x256x256xf32>
    %632 = stablehlo.divide %630, %631 : tensor<16x8x256x256xf32>
    %633 = stablehlo.dot_general %632, %52, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x256x256xf32>, tensor<16x256x8x64xf32>) -> tensor<16x8x256x64xf32>
    %634 = stablehlo.transpose %633, dims = [0, 2, 1, 3] : (tensor<16x8x256x64xf32>) -> tensor<16x256x8x64xf32>
    %635 = stablehlo.dot_general %632, %57, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x256x256xf32>, tensor<16x256x8x64xf32>) -> tensor<16x8x256x64xf32>
    %636 = stablehlo.transpose %635, dims = [0, 2, 1, 3] : (tensor<16x8x256x64xf32>) -> tensor<16x256x8x64xf32>
    %637 = stablehlo.reshape %618 : (tensor<16x256x8x64xf32>) -> tensor<16x256x512xf32>
    %cst_147 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %638 = stablehlo.reduce(%637 init: %cst_147) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %639 = stablehlo.reshape %638 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %cst_148 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %640 = stablehlo.reduce(%639 init: %cst_148) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %641 = stablehlo.dot_general %637, %42, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<16x256x512xf32>) -> tensor<512x512xf32>
    %642 = stablehlo.transpose %641, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %643 = stablehlo.dot_general %637, %arg19, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<512x512xf32>) -> tensor<16x256x512xf32>
    %644 = stablehlo.add %607, %643 : tensor<16x256x512xf32>
    %645 = stablehlo.reshape %634 : (tensor<16x256x8x64xf32>) -> tensor<16x256x512xf32>
    %cst_149 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %646 = stablehlo.reduce(%645 init: %cst_149) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %647 = stablehlo.reshape %646 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %cst_150 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %648 = stablehlo.reduce(%647 init: %cst_150) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %649 = stablehlo.dot_general %645, %42, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<16x256x512xf32>) -> tensor<512x512xf32>
    %650 = stablehlo.transpose %649, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %651 = stablehlo.dot_general %645, %arg13, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<512x512xf32>) -> tensor<16x256x512xf32>
    %652 = stablehlo.add %644, %651 : tensor<16x256x512xf32>
    %653 = stablehlo.reshape %636 : (tensor<16x256x8x64xf32>) -> tensor<16x256x512xf32>
    %cst_151 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %654 = stablehlo.reduce(%653 init: %cst_151) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %655 = stablehlo.reshape %654 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %cst_152 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %656 = stablehlo.reduce(%655 init: %cst_152) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %657 = stablehlo.dot_general %653, %42, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<16x256x512xf32>) -> tensor<512x512xf32>
    %658 = stablehlo.transpose %657, dims = [1, 0] : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %659 = stablehlo.dot_general %653, %arg15, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x256x512xf32>, tensor<512x512xf32>) -> tensor<16x256x512xf32>
    %660 = stablehlo.add %652, %659 : tensor<16x256x512xf32>
    %cst_153 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %661 = stablehlo.reduce(%660 init: %cst_153) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %662 = stablehlo.reshape %661 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %cst_154 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %663 = stablehlo.reduce(%662 init: %cst_154) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %664 = stablehlo.multiply %36, %660 : tensor<16x256x512xf32>
    %cst_155 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %665 = stablehlo.reduce(%664 init: %cst_155) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<512xf32>
    %666 = stablehlo.reshape %665 : (tensor<512xf32>) -> tensor<1x1x512xf32>
    %667 = stablehlo.broadcast_in_dim %37, dims = [0, 1, 2] : (tensor<1x1x512xf32>) -> tensor<16x256x512xf32>
    %668 = stablehlo.multiply %660, %667 : tensor<16x256x512xf32>
    %cst_156 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %669 = stablehlo.reduce(%666 init: %cst_156) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x512xf32>, tensor<f32>) -> tensor<512xf32>
    %670 = stablehlo.multiply %23, %668 : tensor<16x256x512xf32>
    %cst_157 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %671 = stablehlo.reduce(%670 init: %cst_157) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %672 = stablehlo.reshape %671 : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %673 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2] : (tensor<16x256x1xf32>) -> tensor<16x256x512xf32>
    %674 = stablehlo.multiply %668, %673 : tensor<16x256x512xf32>
    %675 = stablehlo.multiply %672, %34 : tensor<16x256x1xf32>
    %cst_158 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %676 = stablehlo.broadcast_in_dim %cst_158, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %677 = stablehlo.divide %675, %676 : tensor<16x256x1xf32>
    %cst_159 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %678 = stablehlo.reduce(%677 init: %cst_159) applies stablehlo.add across dimensions = [2] : (tensor<16x256x1xf32>, tensor<f32>) -> tensor<16x256xf32>
    %679 = stablehlo.broadcast_in_dim %678, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x512xf32>
    %680 = stablehlo.multiply %23, %679 : tensor<16x256x512xf32>
    %681 = stablehlo.add %674, %680 : tensor<16x256x512xf32>
    %682 = stablehlo.multiply %679, %23 : tensor<16x256x512xf32>
    %683 = stablehlo.add %681, %682 : tensor<16x256x512xf32>
    %684 = stablehlo.negate %683 : tensor<16x256x512xf32>
    %cst_160 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %685 = stablehlo.reduce(%684 init: %cst_160) applies stablehlo.add across dimensions = [2] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<16x256xf32>
    %686 = stablehlo.reshape %685 : (tensor<16x256xf32>) -> tensor<16x256x1xf32>
    %cst_161 = stablehlo.constant dense<5.120000e+02> : tensor<f32>
    %687 = stablehlo.broadcast_in_dim %cst_161, dims = [] : (tensor<f32>) -> tensor<16x256x1xf32>
    %688 = stablehlo.divide %686, %687 : tensor<16x256x1xf32>
    %cst_162 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %689 = stablehlo.reduce(%688 init: %cst_162) applies stablehlo.add across dimensions = [2] : (tensor<16x256x1xf32>, tensor<f32>) -> tensor<16x256xf32>
    %690 = stablehlo.broadcast_in_dim %689, dims = [0, 1] : (tensor<16x256xf32>) -> tensor<16x256x512xf32>
    %691 = stablehlo.add %683, %690 : tensor<16x256x512xf32>
    %cst_163 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %692 = stablehlo.reduce(%691 init: %cst_163) applies stablehlo.add across dimensions = [0] : (tensor<16x256x512xf32>, tensor<f32>) -> tensor<256x512xf32>
    %693 = stablehlo.reshape %692 : (tensor<256x512xf32>) -> tensor<1x256x512xf32>
    %cst_164 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %694 = stablehlo.reduce(%693 init: %cst_164) applies stablehlo.add across dimensions = [0] : (tensor<1x256x512xf32>, tensor<f32>) -> tensor<256x512xf32>
    %cst_165 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %695 = stablehlo.broadcast_in_dim %cst_165, dims = [] : (tensor<f32>) -> tensor<2x512xf32>
    %696 = "stablehlo.scatter"(%695, %12, %691) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg132: tensor<f32>, %arg133: tensor<f32>):
      %1632 = stablehlo.add %arg132, %arg133 : tensor<f32>
      stablehlo.return %1632 : tensor<f32>
    }) : (tensor<2x512xf32>, tensor<16x256x1xi32>, tensor<16x256x512xf32>) -> tensor<2x512xf32>
    %cst_166 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %697 = stablehlo.broadcast_in_dim %cst_166, dims = [] : (tensor<f32>) -> tensor<8192x512xf32>
    %698 = "stablehlo.scatter"(%697, %5, %691) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg132: tensor<f32>, %arg133: tensor<f32>):
      %1632 = stablehlo.add %arg132, %arg133 : tensor<f32>
      stablehlo.return %1632 : tensor<f32>
    }) : (tensor<8192x512xf32>, tensor<16x256x1xi32>, tensor<16x256x512xf32>) -> tensor<8192x512xf32>
    %699 = stablehlo.add %333, %698 : tensor<8192x512xf32>
    %c_167 = stablehlo.constant dense<1> : tensor<i32>
    %700 = stablehlo.add %arg42, %c_167 : tensor<i32>
    %cst_168 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %701 = stablehlo.broadcast_in_dim %cst_168, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %702 = stablehlo.multiply %701, %arg43 : tensor<512xf32>
    %cst_169 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %703 = stablehlo.broadcast_in_dim %cst_169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %704 = stablehlo.multiply %703, %663 : tensor<512xf32>
    %705 = stablehlo.add %702, %704 : tensor<512xf32>
    %cst_170 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %706 = stablehlo.broadcast_in_dim %cst_170, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %707 = stablehlo.multiply %706, %arg44 : tensor<512xf32>
    %cst_171 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %708 = stablehlo.broadcast_in_dim %cst_171, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %709 = stablehlo.multiply %708, %336 : tensor<512xf32>
    %710 = stablehlo.add %707, %709 : tensor<512xf32>
    %cst_172 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %711 = stablehlo.broadcast_in_dim %cst_172, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %712 = stablehlo.multiply %711, %arg45 : tensor<512xf32>
    %cst_173 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %713 = stablehlo.broadcast_in_dim %cst_173, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %714 = stablehlo.multiply %713, %378 : tensor<512xf32>
    %715 = stablehlo.add %712, %714 : tensor<512xf32>
    %cst_174 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %716 = stablehlo.broadcast_in_dim %cst_174, dims = [] : (tensor<f32>) -> tensor<8192xf32>
    %717 = stablehlo.multiply %716, %arg46 : tensor<8192xf32>
    %cst_175 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %718 = stablehlo.broadcast_in_dim %cst_175, dims = [] : (tensor<f32>) -> tensor<8192xf32>
    %719 = stablehlo.multiply %718, %329 : tensor<8192xf32>
    %720 = stablehlo.add %717, %719 : tensor<8192xf32>
    %cst_176 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %721 = stablehlo.broadcast_in_dim %cst_176, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %722 = stablehlo.multiply %721, %arg47 : tensor<512xf32>
    %cst_177 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %723 = stablehlo.broadcast_in_dim %cst_177, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %724 = stablehlo.multiply %723, %579 : tensor<512xf32>
    %725 = stablehlo.add %722, %724 : tensor<512xf32>
    %cst_178 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %726 = stablehlo.broadcast_in_dim %cst_178, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %727 = stablehlo.multiply %726, %arg48 : tensor<512xf32>
    %cst_179 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %728 = stablehlo.broadcast_in_dim %cst_179, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %729 = stablehlo.multiply %728, %555 : tensor<512xf32>
    %730 = stablehlo.add %727, %729 : tensor<512xf32>
    %cst_180 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %731 = stablehlo.broadcast_in_dim %cst_180, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %732 = stablehlo.multiply %731, %arg49 : tensor<512xf32>
    %cst_181 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %733 = stablehlo.broadcast_in_dim %cst_181, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %734 = stablehlo.multiply %733, %524 : tensor<512xf32>
    %735 = stablehlo.add %732, %734 : tensor<512xf32>
    %cst_182 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %736 = stablehlo.broadcast_in_dim %cst_182, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %737 = stablehlo.multiply %736, %arg50 : tensor<512xf32>
    %cst_183 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %738 = stablehlo.broadcast_in_dim %cst_183, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %739 = stablehlo.multiply %738, %648 : tensor<512xf32>
    %740 = stablehlo.add %737, %739 : tensor<512xf32>
    %cst_184 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %741 = stablehlo.broadcast_in_dim %cst_184, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %742 = stablehlo.multiply %741, %arg51 : tensor<512xf32>
    %cst_185 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %743 = stablehlo.broadcast_in_dim %cst_185, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %744 = stablehlo.multiply %743, %610 : tensor<512xf32>
    %745 = stablehlo.add %742, %744 : tensor<512xf32>
    %cst_186 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %746 = stablehlo.broadcast_in_dim %cst_186, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %747 = stablehlo.multiply %746, %arg52 : tensor<512xf32>
    %cst_187 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %748 = stablehlo.broadcast_in_dim %cst_187, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %749 = stablehlo.multiply %748, %656 : tensor<512xf32>
    %750 = stablehlo.add %747, %749 : tensor<512xf32>
    %cst_188 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %751 = stablehlo.broadcast_in_dim %cst_188, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %752 = stablehlo.multiply %751, %arg53 : tensor<2048xf32>
    %cst_189 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %753 = stablehlo.broadcast_in_dim %cst_189, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %754 = stablehlo.multiply %753, %572 : tensor<2048xf32>
    %755 = stablehlo.add %752, %754 : tensor<2048xf32>
    %cst_190 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %756 = stablehlo.broadcast_in_dim %cst_190, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %757 = stablehlo.multiply %756, %arg54 : tensor<512xf32>
    %cst_191 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %758 = stablehlo.broadcast_in_dim %cst_191, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %759 = stablehlo.multiply %758, %640 : tensor<512xf32>
    %760 = stablehlo.add %757, %759 : tensor<512xf32>
    %cst_192 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %761 = stablehlo.broadcast_in_dim %cst_192, dims = [] : (tensor<f32>) -> tensor<2048x512xf32>
    %762 = stablehlo.multiply %761, %arg55 : tensor<2048x512xf32>
    %cst_193 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %763 = stablehlo.broadcast_in_dim %cst_193, dims = [] : (tensor<f32>) -> tensor<2048x512xf32>
    %764 = stablehlo.multiply %763, %557 : tensor<2048x512xf32>
    %765 = stablehlo.add %762, %764 : tensor<2048x512xf32>
    %cst_194 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %766 = stablehlo.broadcast_in_dim %cst_194, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %767 = stablehlo.multiply %766, %arg56 : tensor<512x512xf32>
    %cst_195 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %768 = stablehlo.broadcast_in_dim %cst_195, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %769 = stablehlo.multiply %768, %650 : tensor<512x512xf32>
    %770 = stablehlo.add %767, %769 : tensor<512x512xf32>
    %cst_196 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %771 = stablehlo.broadcast_in_dim %cst_196, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %772 = stablehlo.multiply %771, %arg57 : tensor<512x512xf32>
    %cst_197 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %773 = stablehlo.broadcast_in_dim %cst_197, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %774 = stablehlo.multiply %773, %612 : tensor<512x512xf32>
    %775 = stablehlo.add %772, %774 : tensor<512x512xf32>
    %cst_198 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %776 = stablehlo.broadcast_in_dim %cst_198, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %777 = stablehlo.multiply %776, %arg58 : tensor<512x512xf32>
    %cst_199 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %778 = stablehlo.broadcast_in_dim %cst_199, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %779 = stablehlo.multiply %778, %658 : tensor<512x512xf32>
    %780 = stablehlo.add %777, %779 : tensor<512x512xf32>
    %cst_200 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %781 = stablehlo.broadcast_in_dim %cst_200, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %782 = stablehlo.multiply %781, %arg59 : tensor<512xf32>
    %cst_201 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %783 = stablehlo.broadcast_in_dim %cst_201, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %784 = stablehlo.multiply %783, %585 : tensor<512xf32>
    %785 = stablehlo.add %782, %784 : tensor<512xf32>
    %cst_202 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %786 = stablehlo.broadcast_in_dim %cst_202, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %787 = stablehlo.multiply %786, %arg60 : tensor<512xf32>
    %cst_203 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %788 = stablehlo.broadcast_in_dim %cst_203, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %789 = stablehlo.multiply %788, %530 : tensor<512xf32>
    %790 = stablehlo.add %787, %789 : tensor<512xf32>
    %cst_204 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %791 = stablehlo.broadcast_in_dim %cst_204, dims = [] : (tensor<f32>) -> tensor<512x2048xf32>
    %792 = stablehlo.multiply %791, %arg61 : tensor<512x2048xf32>
    %cst_205 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %793 = stablehlo.broadcast_in_dim %cst_205, dims = [] : (tensor<f32>) -> tensor<512x2048xf32>
    %794 = stablehlo.multiply %793, %574 : tensor<512x2048xf32>
    %795 = stablehlo.add %792, %794 : tensor<512x2048xf32>
    %cst_206 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %796 = stablehlo.broadcast_in_dim %cst_206, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %797 = stablehlo.multiply %796, %arg62 : tensor<512x512xf32>
    %cst_207 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %798 = stablehlo.broadcast_in_dim %cst_207, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %799 = stablehlo.multiply %798, %642 : tensor<512x512xf32>
    %800 = stablehlo.add %797, %799 : tensor<512x512xf32>
    %cst_208 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %801 = stablehlo.broadcast_in_dim %cst_208, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %802 = stablehlo.multiply %801, %arg63 : tensor<512xf32>
    %cst_209 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %803 = stablehlo.broadcast_in_dim %cst_209, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %804 = stablehlo.multiply %803, %440 : tensor<512xf32>
    %805 = stablehlo.add %802, %804 : tensor<512xf32>
    %cst_210 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %806 = stablehlo.broadcast_in_dim %cst_210, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %807 = stablehlo.multiply %806, %arg64 : tensor<512xf32>
    %cst_211 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %808 = stablehlo.broadcast_in_dim %cst_211, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %809 = stablehlo.multiply %808, %416 : tensor<512xf32>
    %810 = stablehlo.add %807, %809 : tensor<512xf32>
    %cst_212 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %811 = stablehlo.broadcast_in_dim %cst_212, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %812 = stablehlo.multiply %811, %arg65 : tensor<512xf32>
    %cst_213 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %813 = stablehlo.broadcast_in_dim %cst_213, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %814 = stablehlo.multiply %813, %385 : tensor<512xf32>
    %815 = stablehlo.add %812, %814 : tensor<512xf32>
    %cst_214 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %816 = stablehlo.broadcast_in_dim %cst_214, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %817 = stablehlo.multiply %816, %arg66 : tensor<512xf32>
    %cst_215 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %818 = stablehlo.broadcast_in_dim %cst_215, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %819 = stablehlo.multiply %818, %509 : tensor<512xf32>
    %820 = stablehlo.add %817, %819 : tensor<512xf32>
    %cst_216 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %821 = stablehlo.broadcast_in_dim %cst_216, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %822 = stablehlo.multiply %821, %arg67 : tensor<512xf32>
    %cst_217 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %823 = stablehlo.broadcast_in_dim %cst_217, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %824 = stablehlo.multiply %823, %471 : tensor<512xf32>
    %825 = stablehlo.add %822, %824 : tensor<512xf32>
    %cst_218 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %826 = stablehlo.broadcast_in_dim %cst_218, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %827 = stablehlo.multiply %826, %arg68 : tensor<512xf32>
    %cst_219 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %828 = stablehlo.broadcast_in_dim %cst_219, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %829 = stablehlo.multiply %828, %517 : tensor<512xf32>
    %830 = stablehlo.add %827, %829 : tensor<512xf32>
    %cst_220 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %831 = stablehlo.broadcast_in_dim %cst_220, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %832 = stablehlo.multiply %831, %arg69 : tensor<2048xf32>
    %cst_221 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %833 = stablehlo.broadcast_in_dim %cst_221, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %834 = stablehlo.multiply %833, %433 : tensor<2048xf32>
    %835 = stablehlo.add %832, %834 : tensor<2048xf32>
    %cst_222 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %836 = stablehlo.broadcast_in_dim %cst_222, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %837 = stablehlo.multiply %836, %arg70 : tensor<512xf32>
    %cst_223 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %838 = stablehlo.broadcast_in_dim %cst_223, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %839 = stablehlo.multiply %838, %501 : tensor<512xf32>
    %840 = stablehlo.add %837, %839 : tensor<512xf32>
    %cst_224 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %841 = stablehlo.broadcast_in_dim %cst_224, dims = [] : (tensor<f32>) -> tensor<2048x512xf32>
    %842 = stablehlo.multiply %841, %arg71 : tensor<2048x512xf32>
    %cst_225 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %843 = stablehlo.broadcast_in_dim %cst_225, dims = [] : (tensor<f32>) -> tensor<2048x512xf32>
    %844 = stablehlo.multiply %843, %418 : tensor<2048x512xf32>
    %845 = stablehlo.add %842, %844 : tensor<2048x512xf32>
    %cst_226 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %846 = stablehlo.broadcast_in_dim %cst_226, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %847 = stablehlo.multiply %846, %arg72 : tensor<512x512xf32>
    %cst_227 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %848 = stablehlo.broadcast_in_dim %cst_227, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %849 = stablehlo.multiply %848, %511 : tensor<512x512xf32>
    %850 = stablehlo.add %847, %849 : tensor<512x512xf32>
    %cst_228 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %851 = stablehlo.broadcast_in_dim %cst_228, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %852 = stablehlo.multiply %851, %arg73 : tensor<512x512xf32>
    %cst_229 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %853 = stablehlo.broadcast_in_dim %cst_229, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %854 = stablehlo.multiply %853, %473 : tensor<512x512xf32>
    %855 = stablehlo.add %852, %854 : tensor<512x512xf32>
    %cst_230 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %856 = stablehlo.broadcast_in_dim %cst_230, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %857 = stablehlo.multiply %856, %arg74 : tensor<512x512xf32>
    %cst_231 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %858 = stablehlo.broadcast_in_dim %cst_231, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %859 = stablehlo.multiply %858, %519 : tensor<512x512xf32>
    %860 = stablehlo.add %857, %859 : tensor<512x512xf32>
    %cst_232 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %861 = stablehlo.broadcast_in_dim %cst_232, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %862 = stablehlo.multiply %861, %arg75 : tensor<512xf32>
    %cst_233 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %863 = stablehlo.broadcast_in_dim %cst_233, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %864 = stablehlo.multiply %863, %446 : tensor<512xf32>
    %865 = stablehlo.add %862, %864 : tensor<512xf32>
    %cst_234 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %866 = stablehlo.broadcast_in_dim %cst_234, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %867 = stablehlo.multiply %866, %arg76 : tensor<512xf32>
    %cst_235 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %868 = stablehlo.broadcast_in_dim %cst_235, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %869 = stablehlo.multiply %868, %391 : tensor<512xf32>
    %870 = stablehlo.add %867, %869 : tensor<512xf32>
    %cst_236 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %871 = stablehlo.broadcast_in_dim %cst_236, dims = [] : (tensor<f32>) -> tensor<512x2048xf32>
    %872 = stablehlo.multiply %871, %arg77 : tensor<512x2048xf32>
    %cst_237 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %873 = stablehlo.broadcast_in_dim %cst_237, dims = [] : (tensor<f32>) -> tensor<512x2048xf32>
    %874 = stablehlo.multiply %873, %435 : tensor<512x2048xf32>
    %875 = stablehlo.add %872, %874 : tensor<512x2048xf32>
    %cst_238 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %876 = stablehlo.broadcast_in_dim %cst_238, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %877 = stablehlo.multiply %876, %arg78 : tensor<512x512xf32>
    %cst_239 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %878 = stablehlo.broadcast_in_dim %cst_239, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %879 = stablehlo.multiply %878, %503 : tensor<512x512xf32>
    %880 = stablehlo.add %877, %879 : tensor<512x512xf32>
    %cst_240 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %881 = stablehlo.broadcast_in_dim %cst_240, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %882 = stablehlo.multiply %881, %arg79 : tensor<512xf32>
    %cst_241 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %883 = stablehlo.broadcast_in_dim %cst_241, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %884 = stablehlo.multiply %883, %669 : tensor<512xf32>
    %885 = stablehlo.add %882, %884 : tensor<512xf32>
    %cst_242 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %886 = stablehlo.broadcast_in_dim %cst_242, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %887 = stablehlo.multiply %886, %arg80 : tensor<512xf32>
    %cst_243 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %888 = stablehlo.broadcast_in_dim %cst_243, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %889 = stablehlo.multiply %888, %342 : tensor<512xf32>
    %890 = stablehlo.add %887, %889 : tensor<512xf32>
    %cst_244 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %891 = stablehlo.broadcast_in_dim %cst_244, dims = [] : (tensor<f32>) -> tensor<256x512xf32>
    %892 = stablehlo.multiply %891, %arg81 : tensor<256x512xf32>
    %cst_245 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %893 = stablehlo.broadcast_in_dim %cst_245, dims = [] : (tensor<f32>) -> tensor<256x512xf32>
    %894 = stablehlo.multiply %893, %694 : tensor<256x512xf32>
    %895 = stablehlo.add %892, %894 : tensor<256x512xf32>
    %cst_246 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %896 = stablehlo.broadcast_in_dim %cst_246, dims = [] : (tensor<f32>) -> tensor<2x512xf32>
    %897 = stablehlo.multiply %896, %arg82 : tensor<2x512xf32>
    %cst_247 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %898 = stablehlo.broadcast_in_dim %cst_247, dims = [] : (tensor<f32>) -> tensor<2x512xf32>
    %899 = stablehlo.multiply %898, %696 : tensor<2x512xf32>
    %900 = stablehlo.add %897, %899 : tensor<2x512xf32>
    %cst_248 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %901 = stablehlo.broadcast_in_dim %cst_248, dims = [] : (tensor<f32>) -> tensor<8192x512xf32>
    %902 = stablehlo.multiply %901, %arg83 : tensor<8192x512xf32>
    %cst_249 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %903 = stablehlo.broadcast_in_dim %cst_249, dims = [] : (tensor<f32>) -> tensor<8192x512xf32>
    %904 = stablehlo.multiply %903, %699 : tensor<8192x512xf32>
    %905 = stablehlo.add %902, %904 : tensor<8192x512xf32>
    %cst_250 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %906 = stablehlo.broadcast_in_dim %cst_250, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %907 = stablehlo.multiply %906, %arg84 : tensor<512x512xf32>
    %cst_251 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %908 = stablehlo.broadcast_in_dim %cst_251, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %909 = stablehlo.multiply %908, %380 : tensor<512x512xf32>
    %910 = stablehlo.add %907, %909 : tensor<512x512xf32>
    %cst_252 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %911 = stablehlo.broadcast_in_dim %cst_252, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %912 = stablehlo.multiply %911, %arg85 : tensor<512xf32>
    %cst_253 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %913 = stablehlo.broadcast_in_dim %cst_253, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %914 = stablehlo.multiply %913, %663 : tensor<512xf32>
    %915 = stablehlo.multiply %914, %663 : tensor<512xf32>
    %916 = stablehlo.add %912, %915 : tensor<512xf32>
    %cst_254 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %917 = stablehlo.broadcast_in_dim %cst_254, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %918 = stablehlo.multiply %917, %arg86 : tensor<512xf32>
    %cst_255 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %919 = stablehlo.broadcast_in_dim %cst_255, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %920 = stablehlo.multiply %919, %336 : tensor<512xf32>
    %921 = stablehlo.multiply %920, %336 : tensor<512xf32>
    %922 = stablehlo.add %918, %921 : tensor<512xf32>
    %cst_256 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %923 = stablehlo.broadcast_in_dim %cst_256, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %924 = stablehlo.multiply %923, %arg87 : tensor<512xf32>
    %cst_257 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %925 = stablehlo.broadcast_in_dim %cst_257, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %926 = stablehlo.multiply %925, %378 : tensor<512xf32>
    %927 = stablehlo.multiply %926, %378 : tensor<512xf32>
    %928 = stablehlo.add %924, %927 : tensor<512xf32>
    %cst_258 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %929 = stablehlo.broadcast_in_dim %cst_258, dims = [] : (tensor<f32>) -> tensor<8192xf32>
    %930 = stablehlo.multiply %929, %arg88 : tensor<8192xf32>
    %cst_259 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %931 = stablehlo.broadcast_in_dim %cst_259, dims = [] : (tensor<f32>) -> tensor<8192xf32>
    %932 = stablehlo.multiply %931, %329 : tensor<8192xf32>
    %933 = stablehlo.multiply %932, %329 : tensor<8192xf32>
    %934 = stablehlo.add %930, %933 : tensor<8192xf32>
    %cst_260 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %935 = stablehlo.broadcast_in_dim %cst_260, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %936 = stablehlo.multiply %935, %arg89 : tensor<512xf32>
    %cst_261 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %937 = stablehlo.broadcast_in_dim %cst_261, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %938 = stablehlo.multiply %937, %579 : tensor<512xf32>
    %939 = stablehlo.multiply %938, %579 : tensor<512xf32>
    %940 = stablehlo.add %936, %939 : tensor<512xf32>
    %cst_262 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %941 = stablehlo.broadcast_in_dim %cst_262, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %942 = stablehlo.multiply %941, %arg90 : tensor<512xf32>
    %cst_263 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %943 = stablehlo.broadcast_in_dim %cst_263, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %944 = stablehlo.multiply %943, %555 : tensor<512xf32>
    %945 = stablehlo.multiply %944, %555 : tensor<512xf32>
    %946 = stablehlo.add %942, %945 : tensor<512xf32>
    %cst_264 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %947 = stablehlo.broadcast_in_dim %cst_264, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %948 = stablehlo.multiply %947, %arg91 : tensor<512xf32>
    %cst_265 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %949 = stablehlo.broadcast_in_dim %cst_265, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %950 = stablehlo.multiply %949, %524 : tensor<512xf32>
    %951 = stablehlo.multiply %950, %524 : tensor<512xf32>
    %952 = stablehlo.add %948, %951 : tensor<512xf32>
    %cst_266 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %953 = stablehlo.broadcast_in_dim %cst_266, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %954 = stablehlo.multiply %953, %arg92 : tensor<512xf32>
    %cst_267 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %955 = stablehlo.broadcast_in_dim %cst_267, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %956 = stablehlo.multiply %955, %648 : tensor<512xf32>
    %957 = stablehlo.multiply %956, %648 : tensor<512xf32>
    %958 = stablehlo.add %954, %957 : tensor<512xf32>
    %cst_268 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %959 = stablehlo.broadcast_in_dim %cst_268, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %960 = stablehlo.multiply %959, %arg93 : tensor<512xf32>
    %cst_269 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %961 = stablehlo.broadcast_in_dim %cst_269, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %962 = stablehlo.multiply %961, %610 : tensor<512xf32>
    %963 = stablehlo.multiply %962, %610 : tensor<512xf32>
    %964 = stablehlo.add %960, %963 : tensor<512xf32>
    %cst_270 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %965 = stablehlo.broadcast_in_dim %cst_270, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %966 = stablehlo.multiply %965, %arg94 : tensor<512xf32>
    %cst_271 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %967 = stablehlo.broadcast_in_dim %cst_271, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %968 = stablehlo.multiply %967, %656 : tensor<512xf32>
    %969 = stablehlo.multiply %968, %656 : tensor<512xf32>
    %970 = stablehlo.add %966, %969 : tensor<512xf32>
    %cst_272 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %971 = stablehlo.broadcast_in_dim %cst_272, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %972 = stablehlo.multiply %971, %arg95 : tensor<2048xf32>
    %cst_273 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %973 = stablehlo.broadcast_in_dim %cst_273, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %974 = stablehlo.multiply %973, %572 : tensor<2048xf32>
    %975 = stablehlo.multiply %974, %572 : tensor<2048xf32>
    %976 = stablehlo.add %972, %975 : tensor<2048xf32>
    %cst_274 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %977 = stablehlo.broadcast_in_dim %cst_274, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %978 = stablehlo.multiply %977, %arg96 : tensor<512xf32>
    %cst_275 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %979 = stablehlo.broadcast_in_dim %cst_275, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %980 = stablehlo.multiply %979, %640 : tensor<512xf32>
    %981 = stablehlo.multiply %980, %640 : tensor<512xf32>
    %982 = stablehlo.add %978, %981 : tensor<512xf32>
    %cst_276 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %983 = stablehlo.broadcast_in_dim %cst_276, dims = [] : (tensor<f32>) -> tensor<2048x512xf32>
    %984 = stablehlo.multiply %983, %arg97 : tensor<2048x512xf32>
    %cst_277 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %985 = stablehlo.broadcast_in_dim %cst_277, dims = [] : (tensor<f32>) -> tensor<2048x512xf32>
    %986 = stablehlo.multiply %985, %557 : tensor<2048x512xf32>
    %987 = stablehlo.multiply %986, %557 : tensor<2048x512xf32>
    %988 = stablehlo.add %984, %987 : tensor<2048x512xf32>
    %cst_278 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %989 = stablehlo.broadcast_in_dim %cst_278, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %990 = stablehlo.multiply %989, %arg98 : tensor<512x512xf32>
    %cst_279 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %991 = stablehlo.broadcast_in_dim %cst_279, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %992 = stablehlo.multiply %991, %650 : tensor<512x512xf32>
    %993 = stablehlo.multiply %992, %650 : tensor<512x512xf32>
    %994 = stablehlo.add %990, %993 : tensor<512x512xf32>
    %cst_280 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %995 = stablehlo.broadcast_in_dim %cst_280, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %996 = stablehlo.multiply %995, %arg99 : tensor<512x512xf32>
    %cst_281 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %997 = stablehlo.broadcast_in_dim %cst_281, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %998 = stablehlo.multiply %997, %612 : tensor<512x512xf32>
    %999 = stablehlo.multiply %998, %612 : tensor<512x512xf32>
    %1000 = stablehlo.add %996, %999 : tensor<512x512xf32>
    %cst_282 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1001 = stablehlo.broadcast_in_dim %cst_282, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1002 = stablehlo.multiply %1001, %arg100 : tensor<512x512xf32>
    %cst_283 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1003 = stablehlo.broadcast_in_dim %cst_283, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1004 = stablehlo.multiply %1003, %658 : tensor<512x512xf32>
    %1005 = stablehlo.multiply %1004, %658 : tensor<512x512xf32>
    %1006 = stablehlo.add %1002, %1005 : tensor<512x512xf32>
    %cst_284 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1007 = stablehlo.broadcast_in_dim %cst_284, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1008 = stablehlo.multiply %1007, %arg101 : tensor<512xf32>
    %cst_285 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1009 = stablehlo.broadcast_in_dim %cst_285, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1010 = stablehlo.multiply %1009, %585 : tensor<512xf32>
    %1011 = stablehlo.multiply %1010, %585 : tensor<512xf32>
    %1012 = stablehlo.add %1008, %1011 : tensor<512xf32>
    %cst_286 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1013 = stablehlo.broadcast_in_dim %cst_286, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1014 = stablehlo.multiply %1013, %arg102 : tensor<512xf32>
    %cst_287 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1015 = stablehlo.broadcast_in_dim %cst_287, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1016 = stablehlo.multiply %1015, %530 : tensor<512xf32>
    %1017 = stablehlo.multiply %1016, %530 : tensor<512xf32>
    %1018 = stablehlo.add %1014, %1017 : tensor<512xf32>
    %cst_288 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1019 = stablehlo.broadcast_in_dim %cst_288, dims = [] : (tensor<f32>) -> tensor<512x2048xf32>
    %1020 = stablehlo.multiply %1019, %arg103 : tensor<512x2048xf32>
    %cst_289 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1021 = stablehlo.broadcast_in_dim %cst_289, dims = [] : (tensor<f32>) -> tensor<512x2048xf32>
    %1022 = stablehlo.multiply %1021, %574 : tensor<512x2048xf32>
    %1023 = stablehlo.multiply %1022, %574 : tensor<512x2048xf32>
    %1024 = stablehlo.add %1020, %1023 : tensor<512x2048xf32>
    %cst_290 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1025 = stablehlo.broadcast_in_dim %cst_290, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1026 = stablehlo.multiply %1025, %arg104 : tensor<512x512xf32>
    %cst_291 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1027 = stablehlo.broadcast_in_dim %cst_291, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1028 = stablehlo.multiply %1027, %642 : tensor<512x512xf32>
    %1029 = stablehlo.multiply %1028, %642 : tensor<512x512xf32>
    %1030 = stablehlo.add %1026, %1029 : tensor<512x512xf32>
    %cst_292 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1031 = stablehlo.broadcast_in_dim %cst_292, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1032 = stablehlo.multiply %1031, %arg105 : tensor<512xf32>
    %cst_293 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1033 = stablehlo.broadcast_in_dim %cst_293, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1034 = stablehlo.multiply %1033, %440 : tensor<512xf32>
    %1035 = stablehlo.multiply %1034, %440 : tensor<512xf32>
    %1036 = stablehlo.add %1032, %1035 : tensor<512xf32>
    %cst_294 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1037 = stablehlo.broadcast_in_dim %cst_294, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1038 = stablehlo.multiply %1037, %arg106 : tensor<512xf32>
    %cst_295 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1039 = stablehlo.broadcast_in_dim %cst_295, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1040 = stablehlo.multiply %1039, %416 : tensor<512xf32>
    %1041 = stablehlo.multiply %1040, %416 : tensor<512xf32>
    %1042 = stablehlo.add %1038, %1041 : tensor<512xf32>
    %cst_296 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1043 = stablehlo.broadcast_in_dim %cst_296, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1044 = stablehlo.multiply %1043, %arg107 : tensor<512xf32>
    %cst_297 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1045 = stablehlo.broadcast_in_dim %cst_297, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1046 = stablehlo.multiply %1045, %385 : tensor<512xf32>
    %1047 = stablehlo.multiply %1046, %385 : tensor<512xf32>
    %1048 = stablehlo.add %1044, %1047 : tensor<512xf32>
    %cst_298 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1049 = stablehlo.broadcast_in_dim %cst_298, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1050 = stablehlo.multiply %1049, %arg108 : tensor<512xf32>
    %cst_299 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1051 = stablehlo.broadcast_in_dim %cst_299, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1052 = stablehlo.multiply %1051, %509 : tensor<512xf32>
    %1053 = stablehlo.multiply %1052, %509 : tensor<512xf32>
    %1054 = stablehlo.add %1050, %1053 : tensor<512xf32>
    %cst_300 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1055 = stablehlo.broadcast_in_dim %cst_300, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1056 = stablehlo.multiply %1055, %arg109 : tensor<512xf32>
    %cst_301 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1057 = stablehlo.broadcast_in_dim %cst_301, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1058 = stablehlo.multiply %1057, %471 : tensor<512xf32>
    %1059 = stablehlo.multiply %1058, %471 : tensor<512xf32>
    %1060 = stablehlo.add %1056, %1059 : tensor<512xf32>
    %cst_302 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1061 = stablehlo.broadcast_in_dim %cst_302, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1062 = stablehlo.multiply %1061, %arg110 : tensor<512xf32>
    %cst_303 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1063 = stablehlo.broadcast_in_dim %cst_303, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1064 = stablehlo.multiply %1063, %517 : tensor<512xf32>
    %1065 = stablehlo.multiply %1064, %517 : tensor<512xf32>
    %1066 = stablehlo.add %1062, %1065 : tensor<512xf32>
    %cst_304 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1067 = stablehlo.broadcast_in_dim %cst_304, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %1068 = stablehlo.multiply %1067, %arg111 : tensor<2048xf32>
    %cst_305 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1069 = stablehlo.broadcast_in_dim %cst_305, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %1070 = stablehlo.multiply %1069, %433 : tensor<2048xf32>
    %1071 = stablehlo.multiply %1070, %433 : tensor<2048xf32>
    %1072 = stablehlo.add %1068, %1071 : tensor<2048xf32>
    %cst_306 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1073 = stablehlo.broadcast_in_dim %cst_306, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1074 = stablehlo.multiply %1073, %arg112 : tensor<512xf32>
    %cst_307 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1075 = stablehlo.broadcast_in_dim %cst_307, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1076 = stablehlo.multiply %1075, %501 : tensor<512xf32>
    %1077 = stablehlo.multiply %1076, %501 : tensor<512xf32>
    %1078 = stablehlo.add %1074, %1077 : tensor<512xf32>
    %cst_308 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1079 = stablehlo.broadcast_in_dim %cst_308, dims = [] : (tensor<f32>) -> tensor<2048x512xf32>
    %1080 = stablehlo.multiply %1079, %arg113 : tensor<2048x512xf32>
    %cst_309 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1081 = stablehlo.broadcast_in_dim %cst_309, dims = [] : (tensor<f32>) -> tensor<2048x512xf32>
    %1082 = stablehlo.multiply %1081, %418 : tensor<2048x512xf32>
    %1083 = stablehlo.multiply %1082, %418 : tensor<2048x512xf32>
    %1084 = stablehlo.add %1080, %1083 : tensor<2048x512xf32>
    %cst_310 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1085 = stablehlo.broadcast_in_dim %cst_310, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1086 = stablehlo.multiply %1085, %arg114 : tensor<512x512xf32>
    %cst_311 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1087 = stablehlo.broadcast_in_dim %cst_311, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1088 = stablehlo.multiply %1087, %511 : tensor<512x512xf32>
    %1089 = stablehlo.multiply %1088, %511 : tensor<512x512xf32>
    %1090 = stablehlo.add %1086, %1089 : tensor<512x512xf32>
    %cst_312 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1091 = stablehlo.broadcast_in_dim %cst_312, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1092 = stablehlo.multiply %1091, %arg115 : tensor<512x512xf32>
    %cst_313 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1093 = stablehlo.broadcast_in_dim %cst_313, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1094 = stablehlo.multiply %1093, %473 : tensor<512x512xf32>
    %1095 = stablehlo.multiply %1094, %473 : tensor<512x512xf32>
    %1096 = stablehlo.add %1092, %1095 : tensor<512x512xf32>
    %cst_314 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1097 = stablehlo.broadcast_in_dim %cst_314, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1098 = stablehlo.multiply %1097, %arg116 : tensor<512x512xf32>
    %cst_315 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1099 = stablehlo.broadcast_in_dim %cst_315, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1100 = stablehlo.multiply %1099, %519 : tensor<512x512xf32>
    %1101 = stablehlo.multiply %1100, %519 : tensor<512x512xf32>
    %1102 = stablehlo.add %1098, %1101 : tensor<512x512xf32>
    %cst_316 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1103 = stablehlo.broadcast_in_dim %cst_316, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1104 = stablehlo.multiply %1103, %arg117 : tensor<512xf32>
    %cst_317 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1105 = stablehlo.broadcast_in_dim %cst_317, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1106 = stablehlo.multiply %1105, %446 : tensor<512xf32>
    %1107 = stablehlo.multiply %1106, %446 : tensor<512xf32>
    %1108 = stablehlo.add %1104, %1107 : tensor<512xf32>
    %cst_318 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1109 = stablehlo.broadcast_in_dim %cst_318, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1110 = stablehlo.multiply %1109, %arg118 : tensor<512xf32>
    %cst_319 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1111 = stablehlo.broadcast_in_dim %cst_319, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1112 = stablehlo.multiply %1111, %391 : tensor<512xf32>
    %1113 = stablehlo.multiply %1112, %391 : tensor<512xf32>
    %1114 = stablehlo.add %1110, %1113 : tensor<512xf32>
    %cst_320 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1115 = stablehlo.broadcast_in_dim %cst_320, dims = [] : (tensor<f32>) -> tensor<512x2048xf32>
    %1116 = stablehlo.multiply %1115, %arg119 : tensor<512x2048xf32>
    %cst_321 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1117 = stablehlo.broadcast_in_dim %cst_321, dims = [] : (tensor<f32>) -> tensor<512x2048xf32>
    %1118 = stablehlo.multiply %1117, %435 : tensor<512x2048xf32>
    %1119 = stablehlo.multiply %1118, %435 : tensor<512x2048xf32>
    %1120 = stablehlo.add %1116, %1119 : tensor<512x2048xf32>
    %cst_322 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1121 = stablehlo.broadcast_in_dim %cst_322, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1122 = stablehlo.multiply %1121, %arg120 : tensor<512x512xf32>
    %cst_323 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1123 = stablehlo.broadcast_in_dim %cst_323, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1124 = stablehlo.multiply %1123, %503 : tensor<512x512xf32>
    %1125 = stablehlo.multiply %1124, %503 : tensor<512x512xf32>
    %1126 = stablehlo.add %1122, %1125 : tensor<512x512xf32>
    %cst_324 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1127 = stablehlo.broadcast_in_dim %cst_324, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1128 = stablehlo.multiply %1127, %arg121 : tensor<512xf32>
    %cst_325 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1129 = stablehlo.broadcast_in_dim %cst_325, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1130 = stablehlo.multiply %1129, %669 : tensor<512xf32>
    %1131 = stablehlo.multiply %1130, %669 : tensor<512xf32>
    %1132 = stablehlo.add %1128, %1131 : tensor<512xf32>
    %cst_326 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1133 = stablehlo.broadcast_in_dim %cst_326, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1134 = stablehlo.multiply %1133, %arg122 : tensor<512xf32>
    %cst_327 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1135 = stablehlo.broadcast_in_dim %cst_327, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1136 = stablehlo.multiply %1135, %342 : tensor<512xf32>
    %1137 = stablehlo.multiply %1136, %342 : tensor<512xf32>
    %1138 = stablehlo.add %1134, %1137 : tensor<512xf32>
    %cst_328 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1139 = stablehlo.broadcast_in_dim %cst_328, dims = [] : (tensor<f32>) -> tensor<256x512xf32>
    %1140 = stablehlo.multiply %1139, %arg123 : tensor<256x512xf32>
    %cst_329 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1141 = stablehlo.broadcast_in_dim %cst_329, dims = [] : (tensor<f32>) -> tensor<256x512xf32>
    %1142 = stablehlo.multiply %1141, %694 : tensor<256x512xf32>
    %1143 = stablehlo.multiply %1142, %694 : tensor<256x512xf32>
    %1144 = stablehlo.add %1140, %1143 : tensor<256x512xf32>
    %cst_330 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1145 = stablehlo.broadcast_in_dim %cst_330, dims = [] : (tensor<f32>) -> tensor<2x512xf32>
    %1146 = stablehlo.multiply %1145, %arg124 : tensor<2x512xf32>
    %cst_331 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1147 = stablehlo.broadcast_in_dim %cst_331, dims = [] : (tensor<f32>) -> tensor<2x512xf32>
    %1148 = stablehlo.multiply %1147, %696 : tensor<2x512xf32>
    %1149 = stablehlo.multiply %1148, %696 : tensor<2x512xf32>
    %1150 = stablehlo.add %1146, %1149 : tensor<2x512xf32>
    %cst_332 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1151 = stablehlo.broadcast_in_dim %cst_332, dims = [] : (tensor<f32>) -> tensor<8192x512xf32>
    %1152 = stablehlo.multiply %1151, %arg125 : tensor<8192x512xf32>
    %cst_333 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1153 = stablehlo.broadcast_in_dim %cst_333, dims = [] : (tensor<f32>) -> tensor<8192x512xf32>
    %1154 = stablehlo.multiply %1153, %699 : tensor<8192x512xf32>
    %1155 = stablehlo.multiply %1154, %699 : tensor<8192x512xf32>
    %1156 = stablehlo.add %1152, %1155 : tensor<8192x512xf32>
    %cst_334 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1157 = stablehlo.broadcast_in_dim %cst_334, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1158 = stablehlo.multiply %1157, %arg126 : tensor<512x512xf32>
    %cst_335 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1159 = stablehlo.broadcast_in_dim %cst_335, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1160 = stablehlo.multiply %1159, %380 : tensor<512x512xf32>
    %1161 = stablehlo.multiply %1160, %380 : tensor<512x512xf32>
    %1162 = stablehlo.add %1158, %1161 : tensor<512x512xf32>
    %1163 = stablehlo.convert %700 : (tensor<i32>) -> tensor<f32>
    %cst_336 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1164 = stablehlo.power %cst_336, %1163 : tensor<f32>
    %cst_337 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1165 = stablehlo.subtract %cst_337, %1164 : tensor<f32>
    %cst_338 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1166 = stablehlo.divide %cst_338, %1165 : tensor<f32>
    %cst_339 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1167 = stablehlo.power %cst_339, %1163 : tensor<f32>
    %cst_340 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1168 = stablehlo.subtract %cst_340, %1167 : tensor<f32>
    %cst_341 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1169 = stablehlo.divide %cst_341, %1168 : tensor<f32>
    %1170 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1171 = stablehlo.multiply %705, %1170 : tensor<512xf32>
    %cst_342 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1172 = stablehlo.broadcast_in_dim %cst_342, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1173 = stablehlo.multiply %1172, %1171 : tensor<512xf32>
    %1174 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1175 = stablehlo.multiply %916, %1174 : tensor<512xf32>
    %1176 = stablehlo.sqrt %1175 : tensor<512xf32>
    %cst_343 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1177 = stablehlo.broadcast_in_dim %cst_343, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1178 = stablehlo.add %1176, %1177 : tensor<512xf32>
    %1179 = stablehlo.divide %1173, %1178 : tensor<512xf32>
    %1180 = stablehlo.subtract %arg0, %1179 : tensor<512xf32>
    %1181 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1182 = stablehlo.multiply %710, %1181 : tensor<512xf32>
    %cst_344 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1183 = stablehlo.broadcast_in_dim %cst_344, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1184 = stablehlo.multiply %1183, %1182 : tensor<512xf32>
    %1185 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1186 = stablehlo.multiply %922, %1185 : tensor<512xf32>
    %1187 = stablehlo.sqrt %1186 : tensor<512xf32>
    %cst_345 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1188 = stablehlo.broadcast_in_dim %cst_345, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1189 = stablehlo.add %1187, %1188 : tensor<512xf32>
    %1190 = stablehlo.divide %1184, %1189 : tensor<512xf32>
    %1191 = stablehlo.subtract %arg1, %1190 : tensor<512xf32>
    %1192 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1193 = stablehlo.multiply %715, %1192 : tensor<512xf32>
    %cst_346 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1194 = stablehlo.broadcast_in_dim %cst_346, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1195 = stablehlo.multiply %1194, %1193 : tensor<512xf32>
    %1196 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1197 = stablehlo.multiply %928, %1196 : tensor<512xf32>
    %1198 = stablehlo.sqrt %1197 : tensor<512xf32>
    %cst_347 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1199 = stablehlo.broadcast_in_dim %cst_347, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1200 = stablehlo.add %1198, %1199 : tensor<512xf32>
    %1201 = stablehlo.divide %1195, %1200 : tensor<512xf32>
    %1202 = stablehlo.subtract %arg2, %1201 : tensor<512xf32>
    %1203 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<8192xf32>
    %1204 = stablehlo.multiply %720, %1203 : tensor<8192xf32>
    %cst_348 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1205 = stablehlo.broadcast_in_dim %cst_348, dims = [] : (tensor<f32>) -> tensor<8192xf32>
    %1206 = stablehlo.multiply %1205, %1204 : tensor<8192xf32>
    %1207 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<8192xf32>
    %1208 = stablehlo.multiply %934, %1207 : tensor<8192xf32>
    %1209 = stablehlo.sqrt %1208 : tensor<8192xf32>
    %cst_349 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1210 = stablehlo.broadcast_in_dim %cst_349, dims = [] : (tensor<f32>) -> tensor<8192xf32>
    %1211 = stablehlo.add %1209, %1210 : tensor<8192xf32>
    %1212 = stablehlo.divide %1206, %1211 : tensor<8192xf32>
    %1213 = stablehlo.subtract %arg3, %1212 : tensor<8192xf32>
    %1214 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1215 = stablehlo.multiply %725, %1214 : tensor<512xf32>
    %cst_350 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1216 = stablehlo.broadcast_in_dim %cst_350, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1217 = stablehlo.multiply %1216, %1215 : tensor<512xf32>
    %1218 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1219 = stablehlo.multiply %940, %1218 : tensor<512xf32>
    %1220 = stablehlo.sqrt %1219 : tensor<512xf32>
    %cst_351 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1221 = stablehlo.broadcast_in_dim %cst_351, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1222 = stablehlo.add %1220, %1221 : tensor<512xf32>
    %1223 = stablehlo.divide %1217, %1222 : tensor<512xf32>
    %1224 = stablehlo.subtract %arg4, %1223 : tensor<512xf32>
    %1225 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1226 = stablehlo.multiply %730, %1225 : tensor<512xf32>
    %cst_352 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1227 = stablehlo.broadcast_in_dim %cst_352, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1228 = stablehlo.multiply %1227, %1226 : tensor<512xf32>
    %1229 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1230 = stablehlo.multiply %946, %1229 : tensor<512xf32>
    %1231 = stablehlo.sqrt %1230 : tensor<512xf32>
    %cst_353 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1232 = stablehlo.broadcast_in_dim %cst_353, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1233 = stablehlo.add %1231, %1232 : tensor<512xf32>
    %1234 = stablehlo.divide %1228, %1233 : tensor<512xf32>
    %1235 = stablehlo.subtract %arg5, %1234 : tensor<512xf32>
    %1236 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1237 = stablehlo.multiply %735, %1236 : tensor<512xf32>
    %cst_354 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1238 = stablehlo.broadcast_in_dim %cst_354, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1239 = stablehlo.multiply %1238, %1237 : tensor<512xf32>
    %1240 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1241 = stablehlo.multiply %952, %1240 : tensor<512xf32>
    %1242 = stablehlo.sqrt %1241 : tensor<512xf32>
    %cst_355 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1243 = stablehlo.broadcast_in_dim %cst_355, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1244 = stablehlo.add %1242, %1243 : tensor<512xf32>
    %1245 = stablehlo.divide %1239, %1244 : tensor<512xf32>
    %1246 = stablehlo.subtract %arg6, %1245 : tensor<512xf32>
    %1247 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1248 = stablehlo.multiply %740, %1247 : tensor<512xf32>
    %cst_356 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1249 = stablehlo.broadcast_in_dim %cst_356, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1250 = stablehlo.multiply %1249, %1248 : tensor<512xf32>
    %1251 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1252 = stablehlo.multiply %958, %1251 : tensor<512xf32>
    %1253 = stablehlo.sqrt %1252 : tensor<512xf32>
    %cst_357 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1254 = stablehlo.broadcast_in_dim %cst_357, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1255 = stablehlo.add %1253, %1254 : tensor<512xf32>
    %1256 = stablehlo.divide %1250, %1255 : tensor<512xf32>
    %1257 = stablehlo.subtract %arg7, %1256 : tensor<512xf32>
    %1258 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1259 = stablehlo.multiply %745, %1258 : tensor<512xf32>
    %cst_358 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1260 = stablehlo.broadcast_in_dim %cst_358, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1261 = stablehlo.multiply %1260, %1259 : tensor<512xf32>
    %1262 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1263 = stablehlo.multiply %964, %1262 : tensor<512xf32>
    %1264 = stablehlo.sqrt %1263 : tensor<512xf32>
    %cst_359 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1265 = stablehlo.broadcast_in_dim %cst_359, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1266 = stablehlo.add %1264, %1265 : tensor<512xf32>
    %1267 = stablehlo.divide %1261, %1266 : tensor<512xf32>
    %1268 = stablehlo.subtract %arg8, %1267 : tensor<512xf32>
    %1269 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1270 = stablehlo.multiply %750, %1269 : tensor<512xf32>
    %cst_360 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1271 = stablehlo.broadcast_in_dim %cst_360, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1272 = stablehlo.multiply %1271, %1270 : tensor<512xf32>
    %1273 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1274 = stablehlo.multiply %970, %1273 : tensor<512xf32>
    %1275 = stablehlo.sqrt %1274 : tensor<512xf32>
    %cst_361 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1276 = stablehlo.broadcast_in_dim %cst_361, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1277 = stablehlo.add %1275, %1276 : tensor<512xf32>
    %1278 = stablehlo.divide %1272, %1277 : tensor<512xf32>
    %1279 = stablehlo.subtract %arg9, %1278 : tensor<512xf32>
    %1280 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %1281 = stablehlo.multiply %755, %1280 : tensor<2048xf32>
    %cst_362 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1282 = stablehlo.broadcast_in_dim %cst_362, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %1283 = stablehlo.multiply %1282, %1281 : tensor<2048xf32>
    %1284 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %1285 = stablehlo.multiply %976, %1284 : tensor<2048xf32>
    %1286 = stablehlo.sqrt %1285 : tensor<2048xf32>
    %cst_363 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1287 = stablehlo.broadcast_in_dim %cst_363, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %1288 = stablehlo.add %1286, %1287 : tensor<2048xf32>
    %1289 = stablehlo.divide %1283, %1288 : tensor<2048xf32>
    %1290 = stablehlo.subtract %arg10, %1289 : tensor<2048xf32>
    %1291 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1292 = stablehlo.multiply %760, %1291 : tensor<512xf32>
    %cst_364 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1293 = stablehlo.broadcast_in_dim %cst_364, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1294 = stablehlo.multiply %1293, %1292 : tensor<512xf32>
    %1295 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1296 = stablehlo.multiply %982, %1295 : tensor<512xf32>
    %1297 = stablehlo.sqrt %1296 : tensor<512xf32>
    %cst_365 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1298 = stablehlo.broadcast_in_dim %cst_365, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1299 = stablehlo.add %1297, %1298 : tensor<512xf32>
    %1300 = stablehlo.divide %1294, %1299 : tensor<512xf32>
    %1301 = stablehlo.subtract %arg11, %1300 : tensor<512xf32>
    %1302 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<2048x512xf32>
    %1303 = stablehlo.multiply %765, %1302 : tensor<2048x512xf32>
    %cst_366 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1304 = stablehlo.broadcast_in_dim %cst_366, dims = [] : (tensor<f32>) -> tensor<2048x512xf32>
    %1305 = stablehlo.multiply %1304, %1303 : tensor<2048x512xf32>
    %1306 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<2048x512xf32>
    %1307 = stablehlo.multiply %988, %1306 : tensor<2048x512xf32>
    %1308 = stablehlo.sqrt %1307 : tensor<2048x512xf32>
    %cst_367 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1309 = stablehlo.broadcast_in_dim %cst_367, dims = [] : (tensor<f32>) -> tensor<2048x512xf32>
    %1310 = stablehlo.add %1308, %1309 : tensor<2048x512xf32>
    %1311 = stablehlo.divide %1305, %1310 : tensor<2048x512xf32>
    %1312 = stablehlo.subtract %arg12, %1311 : tensor<2048x512xf32>
    %1313 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1314 = stablehlo.multiply %770, %1313 : tensor<512x512xf32>
    %cst_368 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1315 = stablehlo.broadcast_in_dim %cst_368, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1316 = stablehlo.multiply %1315, %1314 : tensor<512x512xf32>
    %1317 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1318 = stablehlo.multiply %994, %1317 : tensor<512x512xf32>
    %1319 = stablehlo.sqrt %1318 : tensor<512x512xf32>
    %cst_369 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1320 = stablehlo.broadcast_in_dim %cst_369, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1321 = stablehlo.add %1319, %1320 : tensor<512x512xf32>
    %1322 = stablehlo.divide %1316, %1321 : tensor<512x512xf32>
    %1323 = stablehlo.subtract %arg13, %1322 : tensor<512x512xf32>
    %1324 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1325 = stablehlo.multiply %775, %1324 : tensor<512x512xf32>
    %cst_370 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1326 = stablehlo.broadcast_in_dim %cst_370, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1327 = stablehlo.multiply %1326, %1325 : tensor<512x512xf32>
    %1328 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1329 = stablehlo.multiply %1000, %1328 : tensor<512x512xf32>
    %1330 = stablehlo.sqrt %1329 : tensor<512x512xf32>
    %cst_371 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1331 = stablehlo.broadcast_in_dim %cst_371, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1332 = stablehlo.add %1330, %1331 : tensor<512x512xf32>
    %1333 = stablehlo.divide %1327, %1332 : tensor<512x512xf32>
    %1334 = stablehlo.subtract %arg14, %1333 : tensor<512x512xf32>
    %1335 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1336 = stablehlo.multiply %780, %1335 : tensor<512x512xf32>
    %cst_372 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1337 = stablehlo.broadcast_in_dim %cst_372, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1338 = stablehlo.multiply %1337, %1336 : tensor<512x512xf32>
    %1339 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1340 = stablehlo.multiply %1006, %1339 : tensor<512x512xf32>
    %1341 = stablehlo.sqrt %1340 : tensor<512x512xf32>
    %cst_373 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1342 = stablehlo.broadcast_in_dim %cst_373, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1343 = stablehlo.add %1341, %1342 : tensor<512x512xf32>
    %1344 = stablehlo.divide %1338, %1343 : tensor<512x512xf32>
    %1345 = stablehlo.subtract %arg15, %1344 : tensor<512x512xf32>
    %1346 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1347 = stablehlo.multiply %785, %1346 : tensor<512xf32>
    %cst_374 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1348 = stablehlo.broadcast_in_dim %cst_374, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1349 = stablehlo.multiply %1348, %1347 : tensor<512xf32>
    %1350 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1351 = stablehlo.multiply %1012, %1350 : tensor<512xf32>
    %1352 = stablehlo.sqrt %1351 : tensor<512xf32>
    %cst_375 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1353 = stablehlo.broadcast_in_dim %cst_375, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1354 = stablehlo.add %1352, %1353 : tensor<512xf32>
    %1355 = stablehlo.divide %1349, %1354 : tensor<512xf32>
    %1356 = stablehlo.subtract %arg16, %1355 : tensor<512xf32>
    %1357 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1358 = stablehlo.multiply %790, %1357 : tensor<512xf32>
    %cst_376 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1359 = stablehlo.broadcast_in_dim %cst_376, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1360 = stablehlo.multiply %1359, %1358 : tensor<512xf32>
    %1361 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1362 = stablehlo.multiply %1018, %1361 : tensor<512xf32>
    %1363 = stablehlo.sqrt %1362 : tensor<512xf32>
    %cst_377 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1364 = stablehlo.broadcast_in_dim %cst_377, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1365 = stablehlo.add %1363, %1364 : tensor<512xf32>
    %1366 = stablehlo.divide %1360, %1365 : tensor<512xf32>
    %1367 = stablehlo.subtract %arg17, %1366 : tensor<512xf32>
    %1368 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512x2048xf32>
    %1369 = stablehlo.multiply %795, %1368 : tensor<512x2048xf32>
    %cst_378 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1370 = stablehlo.broadcast_in_dim %cst_378, dims = [] : (tensor<f32>) -> tensor<512x2048xf32>
    %1371 = stablehlo.multiply %1370, %1369 : tensor<512x2048xf32>
    %1372 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512x2048xf32>
    %1373 = stablehlo.multiply %1024, %1372 : tensor<512x2048xf32>
    %1374 = stablehlo.sqrt %1373 : tensor<512x2048xf32>
    %cst_379 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1375 = stablehlo.broadcast_in_dim %cst_379, dims = [] : (tensor<f32>) -> tensor<512x2048xf32>
    %1376 = stablehlo.add %1374, %1375 : tensor<512x2048xf32>
    %1377 = stablehlo.divide %1371, %1376 : tensor<512x2048xf32>
    %1378 = stablehlo.subtract %arg18, %1377 : tensor<512x2048xf32>
    %1379 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1380 = stablehlo.multiply %800, %1379 : tensor<512x512xf32>
    %cst_380 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1381 = stablehlo.broadcast_in_dim %cst_380, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1382 = stablehlo.multiply %1381, %1380 : tensor<512x512xf32>
    %1383 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1384 = stablehlo.multiply %1030, %1383 : tensor<512x512xf32>
    %1385 = stablehlo.sqrt %1384 : tensor<512x512xf32>
    %cst_381 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1386 = stablehlo.broadcast_in_dim %cst_381, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1387 = stablehlo.add %1385, %1386 : tensor<512x512xf32>
    %1388 = stablehlo.divide %1382, %1387 : tensor<512x512xf32>
    %1389 = stablehlo.subtract %arg19, %1388 : tensor<512x512xf32>
    %1390 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1391 = stablehlo.multiply %805, %1390 : tensor<512xf32>
    %cst_382 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1392 = stablehlo.broadcast_in_dim %cst_382, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1393 = stablehlo.multiply %1392, %1391 : tensor<512xf32>
    %1394 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1395 = stablehlo.multiply %1036, %1394 : tensor<512xf32>
    %1396 = stablehlo.sqrt %1395 : tensor<512xf32>
    %cst_383 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1397 = stablehlo.broadcast_in_dim %cst_383, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1398 = stablehlo.add %1396, %1397 : tensor<512xf32>
    %1399 = stablehlo.divide %1393, %1398 : tensor<512xf32>
    %1400 = stablehlo.subtract %arg20, %1399 : tensor<512xf32>
    %1401 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1402 = stablehlo.multiply %810, %1401 : tensor<512xf32>
    %cst_384 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1403 = stablehlo.broadcast_in_dim %cst_384, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1404 = stablehlo.multiply %1403, %1402 : tensor<512xf32>
    %1405 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1406 = stablehlo.multiply %1042, %1405 : tensor<512xf32>
    %1407 = stablehlo.sqrt %1406 : tensor<512xf32>
    %cst_385 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1408 = stablehlo.broadcast_in_dim %cst_385, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1409 = stablehlo.add %1407, %1408 : tensor<512xf32>
    %1410 = stablehlo.divide %1404, %1409 : tensor<512xf32>
    %1411 = stablehlo.subtract %arg21, %1410 : tensor<512xf32>
    %1412 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1413 = stablehlo.multiply %815, %1412 : tensor<512xf32>
    %cst_386 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1414 = stablehlo.broadcast_in_dim %cst_386, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1415 = stablehlo.multiply %1414, %1413 : tensor<512xf32>
    %1416 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1417 = stablehlo.multiply %1048, %1416 : tensor<512xf32>
    %1418 = stablehlo.sqrt %1417 : tensor<512xf32>
    %cst_387 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1419 = stablehlo.broadcast_in_dim %cst_387, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1420 = stablehlo.add %1418, %1419 : tensor<512xf32>
    %1421 = stablehlo.divide %1415, %1420 : tensor<512xf32>
    %1422 = stablehlo.subtract %arg22, %1421 : tensor<512xf32>
    %1423 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1424 = stablehlo.multiply %820, %1423 : tensor<512xf32>
    %cst_388 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1425 = stablehlo.broadcast_in_dim %cst_388, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1426 = stablehlo.multiply %1425, %1424 : tensor<512xf32>
    %1427 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1428 = stablehlo.multiply %1054, %1427 : tensor<512xf32>
    %1429 = stablehlo.sqrt %1428 : tensor<512xf32>
    %cst_389 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1430 = stablehlo.broadcast_in_dim %cst_389, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1431 = stablehlo.add %1429, %1430 : tensor<512xf32>
    %1432 = stablehlo.divide %1426, %1431 : tensor<512xf32>
    %1433 = stablehlo.subtract %arg23, %1432 : tensor<512xf32>
    %1434 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1435 = stablehlo.multiply %825, %1434 : tensor<512xf32>
    %cst_390 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1436 = stablehlo.broadcast_in_dim %cst_390, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1437 = stablehlo.multiply %1436, %1435 : tensor<512xf32>
    %1438 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1439 = stablehlo.multiply %1060, %1438 : tensor<512xf32>
    %1440 = stablehlo.sqrt %1439 : tensor<512xf32>
    %cst_391 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1441 = stablehlo.broadcast_in_dim %cst_391, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1442 = stablehlo.add %1440, %1441 : tensor<512xf32>
    %1443 = stablehlo.divide %1437, %1442 : tensor<512xf32>
    %1444 = stablehlo.subtract %arg24, %1443 : tensor<512xf32>
    %1445 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1446 = stablehlo.multiply %830, %1445 : tensor<512xf32>
    %cst_392 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1447 = stablehlo.broadcast_in_dim %cst_392, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1448 = stablehlo.multiply %1447, %1446 : tensor<512xf32>
    %1449 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1450 = stablehlo.multiply %1066, %1449 : tensor<512xf32>
    %1451 = stablehlo.sqrt %1450 : tensor<512xf32>
    %cst_393 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1452 = stablehlo.broadcast_in_dim %cst_393, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1453 = stablehlo.add %1451, %1452 : tensor<512xf32>
    %1454 = stablehlo.divide %1448, %1453 : tensor<512xf32>
    %1455 = stablehlo.subtract %arg25, %1454 : tensor<512xf32>
    %1456 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %1457 = stablehlo.multiply %835, %1456 : tensor<2048xf32>
    %cst_394 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1458 = stablehlo.broadcast_in_dim %cst_394, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %1459 = stablehlo.multiply %1458, %1457 : tensor<2048xf32>
    %1460 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %1461 = stablehlo.multiply %1072, %1460 : tensor<2048xf32>
    %1462 = stablehlo.sqrt %1461 : tensor<2048xf32>
    %cst_395 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1463 = stablehlo.broadcast_in_dim %cst_395, dims = [] : (tensor<f32>) -> tensor<2048xf32>
    %1464 = stablehlo.add %1462, %1463 : tensor<2048xf32>
    %1465 = stablehlo.divide %1459, %1464 : tensor<2048xf32>
    %1466 = stablehlo.subtract %arg26, %1465 : tensor<2048xf32>
    %1467 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1468 = stablehlo.multiply %840, %1467 : tensor<512xf32>
    %cst_396 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1469 = stablehlo.broadcast_in_dim %cst_396, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1470 = stablehlo.multiply %1469, %1468 : tensor<512xf32>
    %1471 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1472 = stablehlo.multiply %1078, %1471 : tensor<512xf32>
    %1473 = stablehlo.sqrt %1472 : tensor<512xf32>
    %cst_397 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1474 = stablehlo.broadcast_in_dim %cst_397, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1475 = stablehlo.add %1473, %1474 : tensor<512xf32>
    %1476 = stablehlo.divide %1470, %1475 : tensor<512xf32>
    %1477 = stablehlo.subtract %arg27, %1476 : tensor<512xf32>
    %1478 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<2048x512xf32>
    %1479 = stablehlo.multiply %845, %1478 : tensor<2048x512xf32>
    %cst_398 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1480 = stablehlo.broadcast_in_dim %cst_398, dims = [] : (tensor<f32>) -> tensor<2048x512xf32>
    %1481 = stablehlo.multiply %1480, %1479 : tensor<2048x512xf32>
    %1482 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<2048x512xf32>
    %1483 = stablehlo.multiply %1084, %1482 : tensor<2048x512xf32>
    %1484 = stablehlo.sqrt %1483 : tensor<2048x512xf32>
    %cst_399 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1485 = stablehlo.broadcast_in_dim %cst_399, dims = [] : (tensor<f32>) -> tensor<2048x512xf32>
    %1486 = stablehlo.add %1484, %1485 : tensor<2048x512xf32>
    %1487 = stablehlo.divide %1481, %1486 : tensor<2048x512xf32>
    %1488 = stablehlo.subtract %arg28, %1487 : tensor<2048x512xf32>
    %1489 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1490 = stablehlo.multiply %850, %1489 : tensor<512x512xf32>
    %cst_400 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1491 = stablehlo.broadcast_in_dim %cst_400, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1492 = stablehlo.multiply %1491, %1490 : tensor<512x512xf32>
    %1493 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1494 = stablehlo.multiply %1090, %1493 : tensor<512x512xf32>
    %1495 = stablehlo.sqrt %1494 : tensor<512x512xf32>
    %cst_401 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1496 = stablehlo.broadcast_in_dim %cst_401, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1497 = stablehlo.add %1495, %1496 : tensor<512x512xf32>
    %1498 = stablehlo.divide %1492, %1497 : tensor<512x512xf32>
    %1499 = stablehlo.subtract %arg29, %1498 : tensor<512x512xf32>
    %1500 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1501 = stablehlo.multiply %855, %1500 : tensor<512x512xf32>
    %cst_402 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1502 = stablehlo.broadcast_in_dim %cst_402, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1503 = stablehlo.multiply %1502, %1501 : tensor<512x512xf32>
    %1504 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1505 = stablehlo.multiply %1096, %1504 : tensor<512x512xf32>
    %1506 = stablehlo.sqrt %1505 : tensor<512x512xf32>
    %cst_403 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1507 = stablehlo.broadcast_in_dim %cst_403, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1508 = stablehlo.add %1506, %1507 : tensor<512x512xf32>
    %1509 = stablehlo.divide %1503, %1508 : tensor<512x512xf32>
    %1510 = stablehlo.subtract %arg30, %1509 : tensor<512x512xf32>
    %1511 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1512 = stablehlo.multiply %860, %1511 : tensor<512x512xf32>
    %cst_404 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1513 = stablehlo.broadcast_in_dim %cst_404, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1514 = stablehlo.multiply %1513, %1512 : tensor<512x512xf32>
    %1515 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1516 = stablehlo.multiply %1102, %1515 : tensor<512x512xf32>
    %1517 = stablehlo.sqrt %1516 : tensor<512x512xf32>
    %cst_405 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1518 = stablehlo.broadcast_in_dim %cst_405, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1519 = stablehlo.add %1517, %1518 : tensor<512x512xf32>
    %1520 = stablehlo.divide %1514, %1519 : tensor<512x512xf32>
    %1521 = stablehlo.subtract %arg31, %1520 : tensor<512x512xf32>
    %1522 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1523 = stablehlo.multiply %865, %1522 : tensor<512xf32>
    %cst_406 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1524 = stablehlo.broadcast_in_dim %cst_406, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1525 = stablehlo.multiply %1524, %1523 : tensor<512xf32>
    %1526 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1527 = stablehlo.multiply %1108, %1526 : tensor<512xf32>
    %1528 = stablehlo.sqrt %1527 : tensor<512xf32>
    %cst_407 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1529 = stablehlo.broadcast_in_dim %cst_407, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1530 = stablehlo.add %1528, %1529 : tensor<512xf32>
    %1531 = stablehlo.divide %1525, %1530 : tensor<512xf32>
    %1532 = stablehlo.subtract %arg32, %1531 : tensor<512xf32>
    %1533 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1534 = stablehlo.multiply %870, %1533 : tensor<512xf32>
    %cst_408 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1535 = stablehlo.broadcast_in_dim %cst_408, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1536 = stablehlo.multiply %1535, %1534 : tensor<512xf32>
    %1537 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1538 = stablehlo.multiply %1114, %1537 : tensor<512xf32>
    %1539 = stablehlo.sqrt %1538 : tensor<512xf32>
    %cst_409 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1540 = stablehlo.broadcast_in_dim %cst_409, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1541 = stablehlo.add %1539, %1540 : tensor<512xf32>
    %1542 = stablehlo.divide %1536, %1541 : tensor<512xf32>
    %1543 = stablehlo.subtract %arg33, %1542 : tensor<512xf32>
    %1544 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512x2048xf32>
    %1545 = stablehlo.multiply %875, %1544 : tensor<512x2048xf32>
    %cst_410 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1546 = stablehlo.broadcast_in_dim %cst_410, dims = [] : (tensor<f32>) -> tensor<512x2048xf32>
    %1547 = stablehlo.multiply %1546, %1545 : tensor<512x2048xf32>
    %1548 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512x2048xf32>
    %1549 = stablehlo.multiply %1120, %1548 : tensor<512x2048xf32>
    %1550 = stablehlo.sqrt %1549 : tensor<512x2048xf32>
    %cst_411 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1551 = stablehlo.broadcast_in_dim %cst_411, dims = [] : (tensor<f32>) -> tensor<512x2048xf32>
    %1552 = stablehlo.add %1550, %1551 : tensor<512x2048xf32>
    %1553 = stablehlo.divide %1547, %1552 : tensor<512x2048xf32>
    %1554 = stablehlo.subtract %arg34, %1553 : tensor<512x2048xf32>
    %1555 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1556 = stablehlo.multiply %880, %1555 : tensor<512x512xf32>
    %cst_412 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1557 = stablehlo.broadcast_in_dim %cst_412, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1558 = stablehlo.multiply %1557, %1556 : tensor<512x512xf32>
    %1559 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1560 = stablehlo.multiply %1126, %1559 : tensor<512x512xf32>
    %1561 = stablehlo.sqrt %1560 : tensor<512x512xf32>
    %cst_413 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1562 = stablehlo.broadcast_in_dim %cst_413, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1563 = stablehlo.add %1561, %1562 : tensor<512x512xf32>
    %1564 = stablehlo.divide %1558, %1563 : tensor<512x512xf32>
    %1565 = stablehlo.subtract %arg35, %1564 : tensor<512x512xf32>
    %1566 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1567 = stablehlo.multiply %885, %1566 : tensor<512xf32>
    %cst_414 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1568 = stablehlo.broadcast_in_dim %cst_414, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1569 = stablehlo.multiply %1568, %1567 : tensor<512xf32>
    %1570 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1571 = stablehlo.multiply %1132, %1570 : tensor<512xf32>
    %1572 = stablehlo.sqrt %1571 : tensor<512xf32>
    %cst_415 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1573 = stablehlo.broadcast_in_dim %cst_415, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1574 = stablehlo.add %1572, %1573 : tensor<512xf32>
    %1575 = stablehlo.divide %1569, %1574 : tensor<512xf32>
    %1576 = stablehlo.subtract %arg36, %1575 : tensor<512xf32>
    %1577 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1578 = stablehlo.multiply %890, %1577 : tensor<512xf32>
    %cst_416 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1579 = stablehlo.broadcast_in_dim %cst_416, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1580 = stablehlo.multiply %1579, %1578 : tensor<512xf32>
    %1581 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1582 = stablehlo.multiply %1138, %1581 : tensor<512xf32>
    %1583 = stablehlo.sqrt %1582 : tensor<512xf32>
    %cst_417 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1584 = stablehlo.broadcast_in_dim %cst_417, dims = [] : (tensor<f32>) -> tensor<512xf32>
    %1585 = stablehlo.add %1583, %1584 : tensor<512xf32>
    %1586 = stablehlo.divide %1580, %1585 : tensor<512xf32>
    %1587 = stablehlo.subtract %arg37, %1586 : tensor<512xf32>
    %1588 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<256x512xf32>
    %1589 = stablehlo.multiply %895, %1588 : tensor<256x512xf32>
    %cst_418 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1590 = stablehlo.broadcast_in_dim %cst_418, dims = [] : (tensor<f32>) -> tensor<256x512xf32>
    %1591 = stablehlo.multiply %1590, %1589 : tensor<256x512xf32>
    %1592 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<256x512xf32>
    %1593 = stablehlo.multiply %1144, %1592 : tensor<256x512xf32>
    %1594 = stablehlo.sqrt %1593 : tensor<256x512xf32>
    %cst_419 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1595 = stablehlo.broadcast_in_dim %cst_419, dims = [] : (tensor<f32>) -> tensor<256x512xf32>
    %1596 = stablehlo.add %1594, %1595 : tensor<256x512xf32>
    %1597 = stablehlo.divide %1591, %1596 : tensor<256x512xf32>
    %1598 = stablehlo.subtract %arg38, %1597 : tensor<256x512xf32>
    %1599 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<2x512xf32>
    %1600 = stablehlo.multiply %900, %1599 : tensor<2x512xf32>
    %cst_420 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1601 = stablehlo.broadcast_in_dim %cst_420, dims = [] : (tensor<f32>) -> tensor<2x512xf32>
    %1602 = stablehlo.multiply %1601, %1600 : tensor<2x512xf32>
    %1603 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<2x512xf32>
    %1604 = stablehlo.multiply %1150, %1603 : tensor<2x512xf32>
    %1605 = stablehlo.sqrt %1604 : tensor<2x512xf32>
    %cst_421 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1606 = stablehlo.broadcast_in_dim %cst_421, dims = [] : (tensor<f32>) -> tensor<2x512xf32>
    %1607 = stablehlo.add %1605, %1606 : tensor<2x512xf32>
    %1608 = stablehlo.divide %1602, %1607 : tensor<2x512xf32>
    %1609 = stablehlo.subtract %arg39, %1608 : tensor<2x512xf32>
    %1610 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<8192x512xf32>
    %1611 = stablehlo.multiply %905, %1610 : tensor<8192x512xf32>
    %cst_422 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1612 = stablehlo.broadcast_in_dim %cst_422, dims = [] : (tensor<f32>) -> tensor<8192x512xf32>
    %1613 = stablehlo.multiply %1612, %1611 : tensor<8192x512xf32>
    %1614 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<8192x512xf32>
    %1615 = stablehlo.multiply %1156, %1614 : tensor<8192x512xf32>
    %1616 = stablehlo.sqrt %1615 : tensor<8192x512xf32>
    %cst_423 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1617 = stablehlo.broadcast_in_dim %cst_423, dims = [] : (tensor<f32>) -> tensor<8192x512xf32>
    %1618 = stablehlo.add %1616, %1617 : tensor<8192x512xf32>
    %1619 = stablehlo.divide %1613, %1618 : tensor<8192x512xf32>
    %1620 = stablehlo.subtract %arg40, %1619 : tensor<8192x512xf32>
    %1621 = stablehlo.broadcast_in_dim %1166, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1622 = stablehlo.multiply %910, %1621 : tensor<512x512xf32>
    %cst_424 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1623 = stablehlo.broadcast_in_dim %cst_424, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1624 = stablehlo.multiply %1623, %1622 : tensor<512x512xf32>
    %1625 = stablehlo.broadcast_in_dim %1169, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1626 = stablehlo.multiply %1162, %1625 : tensor<512x512xf32>
    %1627 = stablehlo.sqrt %1626 : tensor<512x512xf32>
    %cst_425 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %1628 = stablehlo.broadcast_in_dim %cst_425, dims = [] : (tensor<f32>) -> tensor<512x512xf32>
    %1629 = stablehlo.add %1627, %1628 : tensor<512x512xf32>
    %1630 = stablehlo.divide %1624, %1629 : tensor<512x512xf32>
    %1631 = stablehlo.subtract %arg41, %1630 : tensor<512x512xf32>
    return %1180, %1191, %1202, %1213, %1224, %1235, %1246, %1257, %1268, %1279, %1290, %1301, %1312, %1323, %1334, %1345, %1356, %1367, %1378, %1389, %1400, %1411, %1422, %1433, %1444, %1455, %1466, %1477, %1488, %1499, %1510, %1521, %1532, %1543, %1554, %1565, %1576, %1587, %1598, %1609, %1620, %1631, %700, %705, %710, %715, %720, %725, %730, %735, %740, %745, %750, %755, %760, %765, %770, %775, %780, %785, %790, %795, %800, %805, %810, %815, %820, %825, %830, %835, %840, %845, %850, %855, %860, %865, %870, %875, %880, %885, %890, %895, %900, %905, %910, %916, %922, %928, %934, %940, %946, %952, %958, %964, %970, %976, %982, %988, %994, %1000, %1006, %1012, %1018, %1024, %1030, %1036, %1042, %1048, %1054, %1060, %1066, %1072, %1078, %1084, %1090, %1096, %1102, %1108, %1114, %1120, %1126, %1132, %1138, %1144, %1150, %1156, %1162, %321 : tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<8192xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<2048xf32>, tensor<512xf32>, tensor<2048x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512x2048xf32>, tensor<512x512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<2048xf32>, tensor<512xf32>, tensor<2048x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512x2048xf32>, tensor<512x512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<256x512xf32>, tensor<2x512xf32>, tensor<8192x512xf32>, tensor<512x512xf32>, tensor<i32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<8192xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<2048xf32>, tensor<512xf32>, tensor<2048x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512x2048xf32>, tensor<512x512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<2048xf32>, tensor<512xf32>, tensor<2048x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512x2048xf32>, tensor<512x512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<256x512xf32>, tensor<2x512xf32>, tensor<8192x512xf32>, tensor<512x512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<8192xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<2048xf32>, tensor<512xf32>, tensor<2048x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512x2048xf32>, tensor<512x512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<2048xf32>, tensor<512xf32>, tensor<2048x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512x2048xf32>, tensor<512x512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<256x512xf32>, tensor<2x512xf32>, tensor<8192x512xf32>, tensor<512x512xf32>, tensor<f32>
  }
  func.func private @take_along_axis(%arg0: tensor<16x256x512xf32>, %arg1: tensor<16x32x1xi32>) -> (tensor<16x32x512xf32>, tensor<16x32x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x32x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<16x32x1xi32>, tensor<16x32x1xi32>) -> tensor<16x32x1xi1>
    %c_0 = stablehlo.constant dense<256> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<16x32x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<16x32x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<16x32x1xi1>, tensor<16x32x1xi32>
    %c_1 = stablehlo.constant dense<255> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<16x32x1xi32>
    %6 = stablehlo.compare GE, %4, %5, SIGNED : (tensor<16x32x1xi32>, tensor<16x32x1xi32>) -> tensor<16x32x1xi1>
    %7 = stablehlo.broadcast_in_dim %c_1, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<16x32x1xi32>
    %9 = stablehlo.compare LE, %4, %8, SIGNED : (tensor<16x32x1xi32>, tensor<16x32x1xi32>) -> tensor<16x32x1xi1>
    %10 = stablehlo.and %6, %9 : tensor<16x32x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %11 = stablehlo.reduce(%10 init: %c_3) applies stablehlo.and across dimensions = [2] : (tensor<16x32x1xi1>, tensor<i1>) -> tensor<16x32xi1>
    %12 = "stablehlo.gather"(%arg0, %4) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 512>}> : (tensor<16x256x512xf32>, tensor<16x32x1xi32>) -> tensor<16x32x512xf32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<16x32xi1>) -> tensor<16x32x512xi1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x32x512xf32>
    %15 = stablehlo.select %13, %12, %14 : tensor<16x32x512xi1>, tensor<16x32x512xf32>
    return %15, %4 : tensor<16x32x512xf32>, tensor<16x32x1xi32>
  }
  func.func private @log_softmax(%arg0: tensor<16x32x8192xf32>) -> (tensor<16x32x8192xf32>, tensor<16x32x8192xf32>, tensor<16x32x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<16x32x8192xf32>, tensor<f32>) -> tensor<16x32xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x32xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<16x32xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x8192xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<16x32x8192xf32>
    %6 = stablehlo.exponential %5 : tensor<16x32x8192xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<16x32x8192xf32>, tensor<f32>) -> tensor<16x32xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %9 = stablehlo.log %8 : tensor<16x32x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<16x32x1xf32>) -> tensor<16x32x8192xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<16x32x8192xf32>
    return %11, %6, %8 : tensor<16x32x8192xf32>, tensor<16x32x8192xf32>, tensor<16x32x1xf32>
  }
  func.func private @take_along_axis_0(%arg0: tensor<16x32x8192xf32>, %arg1: tensor<16x32x1xi32>) -> (tensor<16x32x1xf32>, tensor<16x32x1x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x32x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<16x32x1xi32>, tensor<16x32x1xi32>) -> tensor<16x32x1xi1>
    %c_0 = stablehlo.constant dense<8192> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<16x32x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<16x32x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<16x32x1xi1>, tensor<16x32x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<16x32x1xi32>) -> tensor<16x32x1x1xi32>
    %c_1 = stablehlo.constant dense<8191> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<16x32x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<16x32x1x1xi32>, tensor<16x32x1x1xi32>) -> tensor<16x32x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [3] : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xi32>) -> tensor<16x32x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<16x32x1x1xi32>, tensor<16x32x1x1xi32>) -> tensor<16x32x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<16x32x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [3] : (tensor<16x32x1x1xi1>, tensor<i1>) -> tensor<16x32x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<16x32x8192xf32>, tensor<16x32x1x1xi32>) -> tensor<16x32x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x32x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<16x32x1xi1>, tensor<16x32x1xf32>
    return %15, %5 : tensor<16x32x1xf32>, tensor<16x32x1x1xi32>
  }
  func.func private @take_along_axis_1(%arg0: tensor<16x32x1x1xi32>, %arg1: tensor<16x32x1xf32>) -> tensor<16x32x8192xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x32x8192xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<16x32x8192xf32>, tensor<16x32x1x1xi32>, tensor<16x32x1xf32>) -> tensor<16x32x8192xf32>
    return %1 : tensor<16x32x8192xf32>
  }
  func.func private @log_softmax_2(%arg0: tensor<16x32x8192xf32>, %arg1: tensor<16x32x1xf32>, %arg2: tensor<16x32x8192xf32>) -> tensor<16x32x8192xf32> {
    %0 = stablehlo.negate %arg2 : tensor<16x32x8192xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<16x32x8192xf32>, tensor<f32>) -> tensor<16x32xf32>
    %2 = stablehlo.reshape %1 : (tensor<16x32xf32>) -> tensor<16x32x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<16x32x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<16x32x1xf32>, tensor<f32>) -> tensor<16x32xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<16x32xf32>) -> tensor<16x32x8192xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<16x32x8192xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<16x32x8192xf32>
    return %7 : tensor<16x32x8192xf32>
  }
  func.func private @take_along_axis_3(%arg0: tensor<16x32x1xi32>, %arg1: tensor<16x32x512xf32>) -> tensor<16x256x512xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x256x512xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<16x256x512xf32>, tensor<16x32x1xi32>, tensor<16x32x512xf32>) -> tensor<16x256x512xf32>
    return %1 : tensor<16x256x512xf32>
  }
}
