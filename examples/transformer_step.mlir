module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<256xf32>, %arg1: tensor<256xf32>, %arg2: tensor<256xf32>, %arg3: tensor<1024xf32>, %arg4: tensor<256xf32>, %arg5: tensor<256xf32>, %arg6: tensor<256xf32>, %arg7: tensor<256xf32>, %arg8: tensor<256xf32>, %arg9: tensor<256xf32>, %arg10: tensor<1024xf32>, %arg11: tensor<256xf32>, %arg12: tensor<1024x256xf32>, %arg13: tensor<256x256xf32>, %arg14: tensor<256x256xf32>, %arg15: tensor<256x256xf32>, %arg16: tensor<256xf32>, %arg17: tensor<256xf32>, %arg18: tensor<256x1024xf32>, %arg19: tensor<256x256xf32>, %arg20: tensor<256xf32>, %arg21: tensor<256xf32>, %arg22: tensor<256xf32>, %arg23: tensor<256xf32>, %arg24: tensor<256xf32>, %arg25: tensor<256xf32>, %arg26: tensor<1024xf32>, %arg27: tensor<256xf32>, %arg28: tensor<1024x256xf32>, %arg29: tensor<256x256xf32>, %arg30: tensor<256x256xf32>, %arg31: tensor<256x256xf32>, %arg32: tensor<256xf32>, %arg33: tensor<256xf32>, %arg34: tensor<256x1024xf32>, %arg35: tensor<256x256xf32>, %arg36: tensor<256xf32>, %arg37: tensor<256xf32>, %arg38: tensor<256xf32>, %arg39: tensor<256xf32>, %arg40: tensor<256xf32>, %arg41: tensor<256xf32>, %arg42: tensor<1024xf32>, %arg43: tensor<256xf32>, %arg44: tensor<1024x256xf32>, %arg45: tensor<256x256xf32>, %arg46: tensor<256x256xf32>, %arg47: tensor<256x256xf32>, %arg48: tensor<256xf32>, %arg49: tensor<256xf32>, %arg50: tensor<256x1024xf32>, %arg51: tensor<256x256xf32>, %arg52: tensor<256xf32>, %arg53: tensor<256xf32>, %arg54: tensor<256xf32>, %arg55: tensor<256xf32>, %arg56: tensor<256xf32>, %arg57: tensor<256xf32>, %arg58: tensor<1024xf32>, %arg59: tensor<256xf32>, %arg60: tensor<1024x256xf32>, %arg61: tensor<256x256xf32>, %arg62: tensor<256x256xf32>, %arg63: tensor<256x256xf32>, %arg64: tensor<256xf32>, %arg65: tensor<256xf32>, %arg66: tensor<256x1024xf32>, %arg67: tensor<256x256xf32>, %arg68: tensor<256xf32>, %arg69: tensor<256xf32>, %arg70: tensor<64x256xf32>, %arg71: tensor<2x256xf32>, %arg72: tensor<1024x256xf32>, %arg73: tensor<256x256xf32>, %arg74: tensor<i32>, %arg75: tensor<256xf32>, %arg76: tensor<256xf32>, %arg77: tensor<256xf32>, %arg78: tensor<1024xf32>, %arg79: tensor<256xf32>, %arg80: tensor<256xf32>, %arg81: tensor<256xf32>, %arg82: tensor<256xf32>, %arg83: tensor<256xf32>, %arg84: tensor<256xf32>, %arg85: tensor<1024xf32>, %arg86: tensor<256xf32>, %arg87: tensor<1024x256xf32>, %arg88: tensor<256x256xf32>, %arg89: tensor<256x256xf32>, %arg90: tensor<256x256xf32>, %arg91: tensor<256xf32>, %arg92: tensor<256xf32>, %arg93: tensor<256x1024xf32>, %arg94: tensor<256x256xf32>, %arg95: tensor<256xf32>, %arg96: tensor<256xf32>, %arg97: tensor<256xf32>, %arg98: tensor<256xf32>, %arg99: tensor<256xf32>, %arg100: tensor<256xf32>, %arg101: tensor<1024xf32>, %arg102: tensor<256xf32>, %arg103: tensor<1024x256xf32>, %arg104: tensor<256x256xf32>, %arg105: tensor<256x256xf32>, %arg106: tensor<256x256xf32>, %arg107: tensor<256xf32>, %arg108: tensor<256xf32>, %arg109: tensor<256x1024xf32>, %arg110: tensor<256x256xf32>, %arg111: tensor<256xf32>, %arg112: tensor<256xf32>, %arg113: tensor<256xf32>, %arg114: tensor<256xf32>, %arg115: tensor<256xf32>, %arg116: tensor<256xf32>, %arg117: tensor<1024xf32>, %arg118: tensor<256xf32>, %arg119: tensor<1024x256xf32>, %arg120: tensor<256x256xf32>, %arg121: tensor<256x256xf32>, %arg122: tensor<256x256xf32>, %arg123: tensor<256xf32>, %arg124: tensor<256xf32>, %arg125: tensor<256x1024xf32>, %arg126: tensor<256x256xf32>, %arg127: tensor<256xf32>, %arg128: tensor<256xf32>, %arg129: tensor<256xf32>, %arg130: tensor<256xf32>, %arg131: tensor<256xf32>, %arg132: tensor<256xf32>, %arg133: tensor<1024xf32>, %arg134: tensor<256xf32>, %arg135: tensor<1024x256xf32>, %arg136: tensor<256x256xf32>, %arg137: tensor<256x256xf32>, %arg138: tensor<256x256xf32>, %arg139: tensor<256xf32>, %arg140: tensor<256xf32>, %arg141: tensor<256x1024xf32>, %arg142: tensor<256x256xf32>, %arg143: tensor<256xf32>, %arg144: tensor<256xf32>, %arg145: tensor<64x256xf32>, %arg146: tensor<2x256xf32>, %arg147: tensor<1024x256xf32>, %arg148: tensor<256x256xf32>, %arg149: tensor<256xf32>, %arg150: tensor<256xf32>, %arg151: tensor<256xf32>, %arg152: tensor<1024xf32>, %arg153: tensor<256xf32>, %arg154: tensor<256xf32>, %arg155: tensor<256xf32>, %arg156: tensor<256xf32>, %arg157: tensor<256xf32>, %arg158: tensor<256xf32>, %arg159: tensor<1024xf32>, %arg160: tensor<256xf32>, %arg161: tensor<1024x256xf32>, %arg162: tensor<256x256xf32>, %arg163: tensor<256x256xf32>, %arg164: tensor<256x256xf32>, %arg165: tensor<256xf32>, %arg166: tensor<256xf32>, %arg167: tensor<256x1024xf32>, %arg168: tensor<256x256xf32>, %arg169: tensor<256xf32>, %arg170: tensor<256xf32>, %arg171: tensor<256xf32>, %arg172: tensor<256xf32>, %arg173: tensor<256xf32>, %arg174: tensor<256xf32>, %arg175: tensor<1024xf32>, %arg176: tensor<256xf32>, %arg177: tensor<1024x256xf32>, %arg178: tensor<256x256xf32>, %arg179: tensor<256x256xf32>, %arg180: tensor<256x256xf32>, %arg181: tensor<256xf32>, %arg182: tensor<256xf32>, %arg183: tensor<256x1024xf32>, %arg184: tensor<256x256xf32>, %arg185: tensor<256xf32>, %arg186: tensor<256xf32>, %arg187: tensor<256xf32>, %arg188: tensor<256xf32>, %arg189: tensor<256xf32>, %arg190: tensor<256xf32>, %arg191: tensor<1024xf32>, %arg192: tensor<256xf32>, %arg193: tensor<1024x256xf32>, %arg194: tensor<256x256xf32>, %arg195: tensor<256x256xf32>, %arg196: tensor<256x256xf32>, %arg197: tensor<256xf32>, %arg198: tensor<256xf32>, %arg199: tensor<256x1024xf32>, %arg200: tensor<256x256xf32>, %arg201: tensor<256xf32>, %arg202: tensor<256xf32>, %arg203: tensor<256xf32>, %arg204: tensor<256xf32>, %arg205: tensor<256xf32>, %arg206: tensor<256xf32>, %arg207: tensor<1024xf32>, %arg208: tensor<256xf32>, %arg209: tensor<1024x256xf32>, %arg210: tensor<256x256xf32>, %arg211: tensor<256x256xf32>, %arg212: tensor<256x256xf32>, %arg213: tensor<256xf32>, %arg214: tensor<256xf32>, %arg215: tensor<256x1024xf32>, %arg216: tensor<256x256xf32>, %arg217: tensor<256xf32>, %arg218: tensor<256xf32>, %arg219: tensor<64x256xf32>, %arg220: tensor<2x256xf32>, %arg221: tensor<1024x256xf32>, %arg222: tensor<256x256xf32>, %arg223: tensor<16x8xi32>, %arg224: tensor<16x8xi32>, %arg225: tensor<16x64xf32>, %arg226: tensor<16x64xi32>, %arg227: tensor<16x64xi32>) -> (tensor<256xf32> {jax.result_info = "result[0]['bias_embed']"}, tensor<256xf32> {jax.result_info = "result[0]['bias_head']"}, tensor<256xf32> {jax.result_info = "result[0]['bias_transform']"}, tensor<1024xf32> {jax.result_info = "result[0]['bias_vocab']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][0]['bias_attention']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][0]['bias_down']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][0]['bias_ffn']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][0]['bias_key']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][0]['bias_out']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][0]['bias_query']"}, tensor<1024xf32> {jax.result_info = "result[0]['layers'][0]['bias_up']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][0]['bias_value']"}, tensor<1024x256xf32> {jax.result_info = "result[0]['layers'][0]['down']"}, tensor<256x256xf32> {jax.result_info = "result[0]['layers'][0]['key']"}, tensor<256x256xf32> {jax.result_info = "result[0]['layers'][0]['out']"}, tensor<256x256xf32> {jax.result_info = "result[0]['layers'][0]['query']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][0]['scale_attention']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][0]['scale_ffn']"}, tensor<256x1024xf32> {jax.result_info = "result[0]['layers'][0]['up']"}, tensor<256x256xf32> {jax.result_info = "result[0]['layers'][0]['value']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][1]['bias_attention']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][1]['bias_down']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][1]['bias_ffn']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][1]['bias_key']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][1]['bias_out']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][1]['bias_query']"}, tensor<1024xf32> {jax.result_info = "result[0]['layers'][1]['bias_up']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][1]['bias_value']"}, tensor<1024x256xf32> {jax.result_info = "result[0]['layers'][1]['down']"}, tensor<256x256xf32> {jax.result_info = "result[0]['layers'][1]['key']"}, tensor<256x256xf32> {jax.result_info = "result[0]['layers'][1]['out']"}, tensor<256x256xf32> {jax.result_info = "result[0]['layers'][1]['query']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][1]['scale_attention']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][1]['scale_ffn']"}, tensor<256x1024xf32> {jax.result_info = "result[0]['layers'][1]['up']"}, tensor<256x256xf32> {jax.result_info = "result[0]['layers'][1]['value']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][2]['bias_attention']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][2]['bias_down']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][2]['bias_ffn']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][2]['bias_key']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][2]['bias_out']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][2]['bias_query']"}, tensor<1024xf32> {jax.result_info = "result[0]['layers'][2]['bias_up']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][2]['bias_value']"}, tensor<1024x256xf32> {jax.result_info = "result[0]['layers'][2]['down']"}, tensor<256x256xf32> {jax.result_info = "result[0]['layers'][2]['key']"}, tensor<256x256xf32> {jax.result_info = "result[0]['layers'][2]['out']"}, tensor<256x256xf32> {jax.result_info = "result[0]['layers'][2]['query']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][2]['scale_attention']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][2]['scale_ffn']"}, tensor<256x1024xf32> {jax.result_info = "result[0]['layers'][2]['up']"}, tensor<256x256xf32> {jax.result_info = "result[0]['layers'][2]['value']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][3]['bias_attention']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][3]['bias_down']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][3]['bias_ffn']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][3]['bias_key']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][3]['bias_out']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][3]['bias_query']"}, tensor<1024xf32> {jax.result_info = "result[0]['layers'][3]['bias_up']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][3]['bias_value']"}, tensor<1024x256xf32> {jax.result_info = "result[0]['layers'][3]['down']"}, tensor<256x256xf32> {jax.result_info = "result[0]['layers'][3]['key']"}, tensor<256x256xf32> {jax.result_info = "result[0]['layers'][3]['out']"}, tensor<256x256xf32> {jax.result_info = "result[0]['layers'][3]['query']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][3]['scale_attention']"}, tensor<256xf32> {jax.result_info = "result[0]['layers'][3]['scale_ffn']"}, tensor<256x1024xf32> {jax.result_info = "result[0]['layers'][3]['up']"}, tensor<256x256xf32> {jax.result_info = "result[0]['layers'][3]['value']"}, tensor<256xf32> {jax.result_info = "result[0]['scale_embed']"}, tensor<256xf32> {jax.result_info = "result[0]['scale_head']"}, tensor<64x256xf32> {jax.result_info = "result[0]['table_position']"}, tensor<2x256xf32> {jax.result_info = "result[0]['table_type']"}, tensor<1024x256xf32> {jax.result_info = "result[0]['table_word']"}, tensor<256x256xf32> {jax.result_info = "result[0]['transform']"}, tensor<i32> {jax.result_info = "result[1]['count']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['bias_embed']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['bias_head']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['bias_transform']"}, tensor<1024xf32> {jax.result_info = "result[1]['mean']['bias_vocab']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][0]['bias_attention']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][0]['bias_down']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][0]['bias_ffn']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][0]['bias_key']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][0]['bias_out']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][0]['bias_query']"}, tensor<1024xf32> {jax.result_info = "result[1]['mean']['layers'][0]['bias_up']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][0]['bias_value']"}, tensor<1024x256xf32> {jax.result_info = "result[1]['mean']['layers'][0]['down']"}, tensor<256x256xf32> {jax.result_info = "result[1]['mean']['layers'][0]['key']"}, tensor<256x256xf32> {jax.result_info = "result[1]['mean']['layers'][0]['out']"}, tensor<256x256xf32> {jax.result_info = "result[1]['mean']['layers'][0]['query']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][0]['scale_attention']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][0]['scale_ffn']"}, tensor<256x1024xf32> {jax.result_info = "result[1]['mean']['layers'][0]['up']"}, tensor<256x256xf32> {jax.result_info = "result[1]['mean']['layers'][0]['value']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][1]['bias_attention']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][1]['bias_down']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][1]['bias_ffn']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][1]['bias_key']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][1]['bias_out']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][1]['bias_query']"}, tensor<1024xf32> {jax.result_info = "result[1]['mean']['layers'][1]['bias_up']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][1]['bias_value']"}, tensor<1024x256xf32> {jax.result_info = "result[1]['mean']['layers'][1]['down']"}, tensor<256x256xf32> {jax.result_info = "result[1]['mean']['layers'][1]['key']"}, tensor<256x256xf32> {jax.result_info = "result[1]['mean']['layers'][1]['out']"}, tensor<256x256xf32> {jax.result_info = "result[1]['mean']['layers'][1]['query']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][1]['scale_attention']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][1]['scale_ffn']"}, tensor<256x1024xf32> {jax.result_info = "result[1]['mean']['layers'][1]['up']"}, tensor<256x256xf32> {jax.result_info = "result[1]['mean']['layers'][1]['value']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][2]['bias_attention']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][2]['bias_down']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][2]['bias_ffn']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][2]['bias_key']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][2]['bias_out']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][2]['bias_query']"}, tensor<1024xf32> {jax.result_info = "result[1]['mean']['layers'][2]['bias_up']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][2]['bias_value']"}, tensor<1024x256xf32> {jax.result_info = "result[1]['mean']['layers'][2]['down']"}, tensor<256x256xf32> {jax.result_info = "result[1]['mean']['layers'][2]['key']"}, tensor<256x256xf32> {jax.result_info = "result[1]['mean']['layers'][2]['out']"}, tensor<256x256xf32> {jax.result_info = "result[1]['mean']['layers'][2]['query']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][2]['scale_attention']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][2]['scale_ffn']"}, tensor<256x1024xf32> {jax.result_info = "result[1]['mean']['layers'][2]['up']"}, tensor<256x256xf32> {jax.result_info = "result[1]['mean']['layers'][2]['value']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][3]['bias_attention']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][3]['bias_down']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][3]['bias_ffn']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][3]['bias_key']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][3]['bias_out']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][3]['bias_query']"}, tensor<1024xf32> {jax.result_info = "result[1]['mean']['layers'][3]['bias_up']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][3]['bias_value']"}, tensor<1024x256xf32> {jax.result_info = "result[1]['mean']['layers'][3]['down']"}, tensor<256x256xf32> {jax.result_info = "result[1]['mean']['layers'][3]['key']"}, tensor<256x256xf32> {jax.result_info = "result[1]['mean']['layers'][3]['out']"}, tensor<256x256xf32> {jax.result_info = "result[1]['mean']['layers'][3]['query']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][3]['scale_attention']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['layers'][3]['scale_ffn']"}, tensor<256x1024xf32> {jax.result_info = "result[1]['mean']['layers'][3]['up']"}, tensor<256x256xf32> {jax.result_info = "result[1]['mean']['layers'][3]['value']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['scale_embed']"}, tensor<256xf32> {jax.result_info = "result[1]['mean']['scale_head']"}, tensor<64x256xf32> {jax.result_info = "result[1]['mean']['table_position']"}, tensor<2x256xf32> {jax.result_info = "result[1]['mean']['table_type']"}, tensor<1024x256xf32> {jax.result_info = "result[1]['mean']['table_word']"}, tensor<256x256xf32> {jax.result_info = "result[1]['mean']['transform']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['bias_embed']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['bias_head']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['bias_transform']"}, tensor<1024xf32> {jax.result_info = "result[1]['square']['bias_vocab']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][0]['bias_attention']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][0]['bias_down']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][0]['bias_ffn']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][0]['bias_key']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][0]['bias_out']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][0]['bias_query']"}, tensor<1024xf32> {jax.result_info = "result[1]['square']['layers'][0]['bias_up']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][0]['bias_value']"}, tensor<1024x256xf32> {jax.result_info = "result[1]['square']['layers'][0]['down']"}, tensor<256x256xf32> {jax.result_info = "result[1]['square']['layers'][0]['key']"}, tensor<256x256xf32> {jax.result_info = "result[1]['square']['layers'][0]['out']"}, tensor<256x256xf32> {jax.result_info = "result[1]['square']['layers'][0]['query']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][0]['scale_attention']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][0]['scale_ffn']"}, tensor<256x1024xf32> {jax.result_info = "result[1]['square']['layers'][0]['up']"}, tensor<256x256xf32> {jax.result_info = "result[1]['square']['layers'][0]['value']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][1]['bias_attention']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][1]['bias_down']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][1]['bias_ffn']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][1]['bias_key']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][1]['bias_out']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][1]['bias_query']"}, tensor<1024xf32> {jax.result_info = "result[1]['square']['layers'][1]['bias_up']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][1]['bias_value']"}, tensor<1024x256xf32> {jax.result_info = "result[1]['square']['layers'][1]['down']"}, tensor<256x256xf32> {jax.result_info = "result[1]['square']['layers'][1]['key']"}, tensor<256x256xf32> {jax.result_info = "result[1]['square']['layers'][1]['out']"}, tensor<256x256xf32> {jax.result_info = "result[1]['square']['layers'][1]['query']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][1]['scale_attention']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][1]['scale_ffn']"}, tensor<256x1024xf32> {jax.result_info = "result[1]['square']['layers'][1]['up']"}, tensor<256x256xf32> {jax.result_info = "result[1]['square']['layers'][1]['value']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][2]['bias_attention']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][2]['bias_down']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][2]['bias_ffn']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][2]['bias_key']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][2]['bias_out']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][2]['bias_query']"}, tensor<1024xf32> {jax.result_info = "result[1]['square']['layers'][2]['bias_up']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][2]['bias_value']"}, tensor<1024x256xf32> {jax.result_info = "result[1]['square']['layers'][2]['down']"}, tensor<256x256xf32> {jax.result_info = "result[1]['square']['layers'][2]['key']"}, tensor<256x256xf32> {jax.result_info = "result[1]['square']['layers'][2]['out']"}, tensor<256x256xf32> {jax.result_info = "result[1]['square']['layers'][2]['query']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][2]['scale_attention']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][2]['scale_ffn']"}, tensor<256x1024xf32> {jax.result_info = "result[1]['square']['layers'][2]['up']"}, tensor<256x256xf32> {jax.result_info = "result[1]['square']['layers'][2]['value']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][3]['bias_attention']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][3]['bias_down']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][3]['bias_ffn']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][3]['bias_key']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][3]['bias_out']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][3]['bias_query']"}, tensor<1024xf32> {jax.result_info = "result[1]['square']['layers'][3]['bias_up']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][3]['bias_value']"}, tensor<1024x256xf32> {jax.result_info = "result[1]['square']['layers'][3]['down']"}, tensor<256x256xf32> {jax.result_info = "result[1]['square']['layers'][3]['key']"}, tensor<256x256xf32> {jax.result_info = "result[1]['square']['layers'][3]['out']"}, tensor<256x256xf32> {jax.result_info = "result[1]['square']['layers'][3]['query']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][3]['scale_attention']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['layers'][3]['scale_ffn']"}, tensor<256x1024xf32> {jax.result_info = "result[1]['square']['layers'][3]['up']"}, tensor<256x256xf32> {jax.result_info = "result[1]['square']['layers'][3]['value']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['scale_embed']"}, tensor<256xf32> {jax.result_info = "result[1]['square']['scale_head']"}, tensor<64x256xf32> {jax.result_info = "result[1]['square']['table_position']"}, tensor<2x256xf32> {jax.result_info = "result[1]['square']['table_type']"}, tensor<1024x256xf32> {jax.result_info = "result[1]['square']['table_word']"}, tensor<256x256xf32> {jax.result_info = "result[1]['square']['transform']"}, tensor<f32> {jax.result_info = "result[2]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x64xi32>
    %1 = stablehlo.compare LT, %arg227, %0, SIGNED : (tensor<16x64xi32>, tensor<16x64xi32>) -> tensor<16x64xi1>
    %c_0 = stablehlo.constant dense<1024> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<16x64xi32>
    %3 = stablehlo.add %arg227, %2 : tensor<16x64xi32>
    %4 = stablehlo.select %1, %3, %arg227 : tensor<16x64xi1>, tensor<16x64xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<16x64xi32>) -> tensor<16x64x1xi32>
    %6 = "stablehlo.gather"(%arg72, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 256>}> : (tensor<1024x256xf32>, tensor<16x64x1xi32>) -> tensor<16x64x256xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<16x64xi32>
    %8 = stablehlo.compare LT, %arg226, %7, SIGNED : (tensor<16x64xi32>, tensor<16x64xi32>) -> tensor<16x64xi1>
    %c_2 = stablehlo.constant dense<2> : tensor<i32>
    %9 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<16x64xi32>
    %10 = stablehlo.add %arg226, %9 : tensor<16x64xi32>
    %11 = stablehlo.select %8, %10, %arg226 : tensor<16x64xi1>, tensor<16x64xi32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<16x64xi32>) -> tensor<16x64x1xi32>
    %13 = "stablehlo.gather"(%arg71, %12) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 256>}> : (tensor<2x256xf32>, tensor<16x64x1xi32>) -> tensor<16x64x256xf32>
    %14 = stablehlo.add %6, %13 : tensor<16x64x256xf32>
    %15 = stablehlo.broadcast_in_dim %arg70, dims = [1, 2] : (tensor<64x256xf32>) -> tensor<1x64x256xf32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<1x64x256xf32>) -> tensor<16x64x256xf32>
    %17 = stablehlo.add %14, %16 : tensor<16x64x256xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_3 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %21 = stablehlo.divide %19, %20 : tensor<16x64x1xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %23 = stablehlo.subtract %17, %22 : tensor<16x64x256xf32>
    %24 = stablehlo.multiply %23, %23 : tensor<16x64x256xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.reduce(%24 init: %cst_4) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_5 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %27 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %28 = stablehlo.divide %26, %27 : tensor<16x64x1xf32>
    %cst_6 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %30 = stablehlo.add %28, %29 : tensor<16x64x1xf32>
    %31 = stablehlo.rsqrt %30 : tensor<16x64x1xf32>
    %32 = stablehlo.divide %31, %30 : tensor<16x64x1xf32>
    %cst_7 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %34 = stablehlo.multiply %33, %32 : tensor<16x64x1xf32>
    %35 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %36 = stablehlo.multiply %23, %35 : tensor<16x64x256xf32>
    %37 = stablehlo.broadcast_in_dim %arg68, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %38 = stablehlo.broadcast_in_dim %37, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %39 = stablehlo.multiply %36, %38 : tensor<16x64x256xf32>
    %40 = stablehlo.broadcast_in_dim %arg0, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %42 = stablehlo.add %39, %41 : tensor<16x64x256xf32>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %44 = stablehlo.subtract %43, %arg225 : tensor<16x64xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 3] : (tensor<16x64xf32>) -> tensor<16x1x1x64xf32>
    %cst_9 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %46 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16x1x1x64xf32>
    %47 = stablehlo.multiply %45, %46 : tensor<16x1x1x64xf32>
    %48 = stablehlo.dot_general %42, %arg15, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %49 = stablehlo.broadcast_in_dim %arg9, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %51 = stablehlo.add %48, %50 : tensor<16x64x256xf32>
    %52 = stablehlo.reshape %51 : (tensor<16x64x256xf32>) -> tensor<16x64x8x32xf32>
    %53 = stablehlo.dot_general %42, %arg13, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %54 = stablehlo.broadcast_in_dim %arg7, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %55 = stablehlo.broadcast_in_dim %54, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %56 = stablehlo.add %53, %55 : tensor<16x64x256xf32>
    %57 = stablehlo.reshape %56 : (tensor<16x64x256xf32>) -> tensor<16x64x8x32xf32>
    %58 = stablehlo.dot_general %42, %arg19, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %59 = stablehlo.broadcast_in_dim %arg11, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %60 = stablehlo.broadcast_in_dim %59, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %61 = stablehlo.add %58, %60 : tensor<16x64x256xf32>
    %62 = stablehlo.reshape %61 : (tensor<16x64x256xf32>) -> tensor<16x64x8x32xf32>
    %63 = stablehlo.dot_general %52, %57, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x64x8x32xf32>, tensor<16x64x8x32xf32>) -> tensor<16x8x64x64xf32>
    %cst_10 = stablehlo.constant dense<5.65685415> : tensor<f32>
    %64 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<16x8x64x64xf32>
    %65 = stablehlo.divide %63, %64 : tensor<16x8x64x64xf32>
    %66 = stablehlo.broadcast_in_dim %47, dims = [0, 1, 2, 3] : (tensor<16x1x1x64xf32>) -> tensor<16x8x64x64xf32>
    %67 = stablehlo.add %65, %66 : tensor<16x8x64x64xf32>
    %cst_11 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %68 = stablehlo.reduce(%67 init: %cst_11) applies stablehlo.maximum across dimensions = [3] : (tensor<16x8x64x64xf32>, tensor<f32>) -> tensor<16x8x64xf32>
    %cst_12 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %69 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<16x8x64xf32>
    %70 = stablehlo.maximum %69, %68 : tensor<16x8x64xf32>
    %71 = stablehlo.broadcast_in_dim %70, dims = [0, 1, 2] : (tensor<16x8x64xf32>) -> tensor<16x8x64x1xf32>
    %72 = stablehlo.broadcast_in_dim %71, dims = [0, 1, 2, 3] : (tensor<16x8x64x1xf32>) -> tensor<16x8x64x64xf32>
    %73 = stablehlo.subtract %67, %72 : tensor<16x8x64x64xf32>
    %74 = stablehlo.exponential %73 : tensor<16x8x64x64xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %75 = stablehlo.reduce(%74 init: %cst_13) applies stablehlo.add across dimensions = [3] : (tensor<16x8x64x64xf32>, tensor<f32>) -> tensor<16x8x64xf32>
    %76 = stablehlo.broadcast_in_dim %75, dims = [0, 1, 2] : (tensor<16x8x64xf32>) -> tensor<16x8x64x1xf32>
    %77 = stablehlo.broadcast_in_dim %76, dims = [0, 1, 2, 3] : (tensor<16x8x64x1xf32>) -> tensor<16x8x64x64xf32>
    %78 = stablehlo.divide %74, %77 : tensor<16x8x64x64xf32>
    %79 = stablehlo.multiply %76, %76 : tensor<16x8x64x1xf32>
    %cst_14 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %80 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<16x8x64x1xf32>
    %81 = stablehlo.divide %80, %79 : tensor<16x8x64x1xf32>
    %82 = stablehlo.dot_general %62, %78, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x64x8x32xf32>, tensor<16x8x64x64xf32>) -> tensor<16x8x32x64xf32>
    %83 = stablehlo.transpose %82, dims = [0, 3, 1, 2] : (tensor<16x8x32x64xf32>) -> tensor<16x64x8x32xf32>
    %84 = stablehlo.reshape %83 : (tensor<16x64x8x32xf32>) -> tensor<16x64x256xf32>
    %85 = stablehlo.dot_general %84, %arg14, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %86 = stablehlo.broadcast_in_dim %arg8, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %87 = stablehlo.broadcast_in_dim %86, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %88 = stablehlo.add %85, %87 : tensor<16x64x256xf32>
    %89 = stablehlo.add %42, %88 : tensor<16x64x256xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %90 = stablehlo.reduce(%89 init: %cst_15) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %91 = stablehlo.broadcast_in_dim %90, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_16 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %92 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %93 = stablehlo.divide %91, %92 : tensor<16x64x1xf32>
    %94 = stablehlo.broadcast_in_dim %93, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %95 = stablehlo.subtract %89, %94 : tensor<16x64x256xf32>
    %96 = stablehlo.multiply %95, %95 : tensor<16x64x256xf32>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %97 = stablehlo.reduce(%96 init: %cst_17) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %98 = stablehlo.broadcast_in_dim %97, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_18 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %99 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %100 = stablehlo.divide %98, %99 : tensor<16x64x1xf32>
    %cst_19 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %101 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %102 = stablehlo.add %100, %101 : tensor<16x64x1xf32>
    %103 = stablehlo.rsqrt %102 : tensor<16x64x1xf32>
    %104 = stablehlo.divide %103, %102 : tensor<16x64x1xf32>
    %cst_20 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %105 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %106 = stablehlo.multiply %105, %104 : tensor<16x64x1xf32>
    %107 = stablehlo.broadcast_in_dim %103, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %108 = stablehlo.multiply %95, %107 : tensor<16x64x256xf32>
    %109 = stablehlo.broadcast_in_dim %arg16, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %110 = stablehlo.broadcast_in_dim %109, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %111 = stablehlo.multiply %108, %110 : tensor<16x64x256xf32>
    %112 = stablehlo.broadcast_in_dim %arg4, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %113 = stablehlo.broadcast_in_dim %112, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %114 = stablehlo.add %111, %113 : tensor<16x64x256xf32>
    %115 = stablehlo.dot_general %114, %arg18, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x1024xf32>) -> tensor<16x64x1024xf32>
    %116 = stablehlo.broadcast_in_dim %arg10, dims = [2] : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %117 = stablehlo.broadcast_in_dim %116, dims = [0, 1, 2] : (tensor<1x1x1024xf32>) -> tensor<16x64x1024xf32>
    %118 = stablehlo.add %115, %117 : tensor<16x64x1024xf32>
    %cst_21 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %119 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %120 = stablehlo.multiply %119, %118 : tensor<16x64x1024xf32>
    %121 = stablehlo.negate %118 : tensor<16x64x1024xf32>
    %cst_22 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %122 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %123 = stablehlo.multiply %121, %122 : tensor<16x64x1024xf32>
    %124 = chlo.erfc %123 : tensor<16x64x1024xf32> -> tensor<16x64x1024xf32>
    %125 = chlo.square %123 : tensor<16x64x1024xf32> -> tensor<16x64x1024xf32>
    %126 = stablehlo.negate %125 : tensor<16x64x1024xf32>
    %127 = stablehlo.exponential %126 : tensor<16x64x1024xf32>
    %128 = stablehlo.multiply %120, %124 : tensor<16x64x1024xf32>
    %129 = stablehlo.dot_general %128, %arg12, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x1024xf32>, tensor<1024x256xf32>) -> tensor<16x64x256xf32>
    %130 = stablehlo.add %114, %129 : tensor<16x64x256xf32>
    %131 = stablehlo.broadcast_in_dim %arg5, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %132 = stablehlo.broadcast_in_dim %131, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %133 = stablehlo.add %130, %132 : tensor<16x64x256xf32>
    %cst_23 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %134 = stablehlo.reduce(%133 init: %cst_23) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %135 = stablehlo.broadcast_in_dim %134, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_24 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %136 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %137 = stablehlo.divide %135, %136 : tensor<16x64x1xf32>
    %138 = stablehlo.broadcast_in_dim %137, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %139 = stablehlo.subtract %133, %138 : tensor<16x64x256xf32>
    %140 = stablehlo.multiply %139, %139 : tensor<16x64x256xf32>
    %cst_25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %141 = stablehlo.reduce(%140 init: %cst_25) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %142 = stablehlo.broadcast_in_dim %141, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_26 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %143 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %144 = stablehlo.divide %142, %143 : tensor<16x64x1xf32>
    %cst_27 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %145 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %146 = stablehlo.add %144, %145 : tensor<16x64x1xf32>
    %147 = stablehlo.rsqrt %146 : tensor<16x64x1xf32>
    %148 = stablehlo.divide %147, %146 : tensor<16x64x1xf32>
    %cst_28 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %149 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %150 = stablehlo.multiply %149, %148 : tensor<16x64x1xf32>
    %151 = stablehlo.broadcast_in_dim %147, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %152 = stablehlo.multiply %139, %151 : tensor<16x64x256xf32>
    %153 = stablehlo.broadcast_in_dim %arg17, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %154 = stablehlo.broadcast_in_dim %153, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %155 = stablehlo.multiply %152, %154 : tensor<16x64x256xf32>
    %156 = stablehlo.broadcast_in_dim %arg6, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %157 = stablehlo.broadcast_in_dim %156, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %158 = stablehlo.add %155, %157 : tensor<16x64x256xf32>
    %159 = stablehlo.dot_general %158, %arg31, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %160 = stablehlo.broadcast_in_dim %arg25, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %161 = stablehlo.broadcast_in_dim %160, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %162 = stablehlo.add %159, %161 : tensor<16x64x256xf32>
    %163 = stablehlo.reshape %162 : (tensor<16x64x256xf32>) -> tensor<16x64x8x32xf32>
    %164 = stablehlo.dot_general %158, %arg29, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %165 = stablehlo.broadcast_in_dim %arg23, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %166 = stablehlo.broadcast_in_dim %165, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %167 = stablehlo.add %164, %166 : tensor<16x64x256xf32>
    %168 = stablehlo.reshape %167 : (tensor<16x64x256xf32>) -> tensor<16x64x8x32xf32>
    %169 = stablehlo.dot_general %158, %arg35, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %170 = stablehlo.broadcast_in_dim %arg27, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %171 = stablehlo.broadcast_in_dim %170, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %172 = stablehlo.add %169, %171 : tensor<16x64x256xf32>
    %173 = stablehlo.reshape %172 : (tensor<16x64x256xf32>) -> tensor<16x64x8x32xf32>
    %174 = stablehlo.dot_general %163, %168, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x64x8x32xf32>, tensor<16x64x8x32xf32>) -> tensor<16x8x64x64xf32>
    %cst_29 = stablehlo.constant dense<5.65685415> : tensor<f32>
    %175 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<16x8x64x64xf32>
    %176 = stablehlo.divide %174, %175 : tensor<16x8x64x64xf32>
    %177 = stablehlo.broadcast_in_dim %47, dims = [0, 1, 2, 3] : (tensor<16x1x1x64xf32>) -> tensor<16x8x64x64xf32>
    %178 = stablehlo.add %176, %177 : tensor<16x8x64x64xf32>
    %cst_30 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %179 = stablehlo.reduce(%178 init: %cst_30) applies stablehlo.maximum across dimensions = [3] : (tensor<16x8x64x64xf32>, tensor<f32>) -> tensor<16x8x64xf32>
    %cst_31 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %180 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<16x8x64xf32>
    %181 = stablehlo.maximum %180, %179 : tensor<16x8x64xf32>
    %182 = stablehlo.broadcast_in_dim %181, dims = [0, 1, 2] : (tensor<16x8x64xf32>) -> tensor<16x8x64x1xf32>
    %183 = stablehlo.broadcast_in_dim %182, dims = [0, 1, 2, 3] : (tensor<16x8x64x1xf32>) -> tensor<16x8x64x64xf32>
    %184 = stablehlo.subtract %178, %183 : tensor<16x8x64x64xf32>
    %185 = stablehlo.exponential %184 : tensor<16x8x64x64xf32>
    %cst_32 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %186 = stablehlo.reduce(%185 init: %cst_32) applies stablehlo.add across dimensions = [3] : (tensor<16x8x64x64xf32>, tensor<f32>) -> tensor<16x8x64xf32>
    %187 = stablehlo.broadcast_in_dim %186, dims = [0, 1, 2] : (tensor<16x8x64xf32>) -> tensor<16x8x64x1xf32>
    %188 = stablehlo.broadcast_in_dim %187, dims = [0, 1, 2, 3] : (tensor<16x8x64x1xf32>) -> tensor<16x8x64x64xf32>
    %189 = stablehlo.divide %185, %188 : tensor<16x8x64x64xf32>
    %190 = stablehlo.multiply %187, %187 : tensor<16x8x64x1xf32>
    %cst_33 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %191 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<16x8x64x1xf32>
    %192 = stablehlo.divide %191, %190 : tensor<16x8x64x1xf32>
    %193 = stablehlo.dot_general %173, %189, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x64x8x32xf32>, tensor<16x8x64x64xf32>) -> tensor<16x8x32x64xf32>
    %194 = stablehlo.transpose %193, dims = [0, 3, 1, 2] : (tensor<16x8x32x64xf32>) -> tensor<16x64x8x32xf32>
    %195 = stablehlo.reshape %194 : (tensor<16x64x8x32xf32>) -> tensor<16x64x256xf32>
    %196 = stablehlo.dot_general %195, %arg30, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %197 = stablehlo.broadcast_in_dim %arg24, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %198 = stablehlo.broadcast_in_dim %197, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %199 = stablehlo.add %196, %198 : tensor<16x64x256xf32>
    %200 = stablehlo.add %158, %199 : tensor<16x64x256xf32>
    %cst_34 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %201 = stablehlo.reduce(%200 init: %cst_34) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %202 = stablehlo.broadcast_in_dim %201, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_35 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %203 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %204 = stablehlo.divide %202, %203 : tensor<16x64x1xf32>
    %205 = stablehlo.broadcast_in_dim %204, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %206 = stablehlo.subtract %200, %205 : tensor<16x64x256xf32>
    %207 = stablehlo.multiply %206, %206 : tensor<16x64x256xf32>
    %cst_36 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %208 = stablehlo.reduce(%207 init: %cst_36) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %209 = stablehlo.broadcast_in_dim %208, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_37 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %210 = stablehlo.broadcast_in_dim %cst_37, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %211 = stablehlo.divide %209, %210 : tensor<16x64x1xf32>
    %cst_38 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %212 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %213 = stablehlo.add %211, %212 : tensor<16x64x1xf32>
    %214 = stablehlo.rsqrt %213 : tensor<16x64x1xf32>
    %215 = stablehlo.divide %214, %213 : tensor<16x64x1xf32>
    %cst_39 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %216 = stablehlo.broadcast_in_dim %cst_39, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %217 = stablehlo.multiply %216, %215 : tensor<16x64x1xf32>
    %218 = stablehlo.broadcast_in_dim %214, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %219 = stablehlo.multiply %206, %218 : tensor<16x64x256xf32>
    %220 = stablehlo.broadcast_in_dim %arg32, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %221 = stablehlo.broadcast_in_dim %220, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %222 = stablehlo.multiply %219, %221 : tensor<16x64x256xf32>
    %223 = stablehlo.broadcast_in_dim %arg20, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %224 = stablehlo.broadcast_in_dim %223, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %225 = stablehlo.add %222, %224 : tensor<16x64x256xf32>
    %226 = stablehlo.dot_general %225, %arg34, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x1024xf32>) -> tensor<16x64x1024xf32>
    %227 = stablehlo.broadcast_in_dim %arg26, dims = [2] : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %228 = stablehlo.broadcast_in_dim %227, dims = [0, 1, 2] : (tensor<1x1x1024xf32>) -> tensor<16x64x1024xf32>
    %229 = stablehlo.add %226, %228 : tensor<16x64x1024xf32>
    %cst_40 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %230 = stablehlo.broadcast_in_dim %cst_40, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %231 = stablehlo.multiply %230, %229 : tensor<16x64x1024xf32>
    %232 = stablehlo.negate %229 : tensor<16x64x1024xf32>
    %cst_41 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %233 = stablehlo.broadcast_in_dim %cst_41, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %234 = stablehlo.multiply %232, %233 : tensor<16x64x1024xf32>
    %235 = chlo.erfc %234 : tensor<16x64x1024xf32> -> tensor<16x64x1024xf32>
    %236 = chlo.square %234 : tensor<16x64x1024xf32> -> tensor<16x64x1024xf32>
    %237 = stablehlo.negate %236 : tensor<16x64x1024xf32>
    %238 = stablehlo.exponential %237 : tensor<16x64x1024xf32>
    %239 = stablehlo.multiply %231, %235 : tensor<16x64x1024xf32>
    %240 = stablehlo.dot_general %239, %arg28, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x1024xf32>, tensor<1024x256xf32>) -> tensor<16x64x256xf32>
    %241 = stablehlo.add %225, %240 : tensor<16x64x256xf32>
    %242 = stablehlo.broadcast_in_dim %arg21, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %243 = stablehlo.broadcast_in_dim %242, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %244 = stablehlo.add %241, %243 : tensor<16x64x256xf32>
    %cst_42 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %245 = stablehlo.reduce(%244 init: %cst_42) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %246 = stablehlo.broadcast_in_dim %245, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_43 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %247 = stablehlo.broadcast_in_dim %cst_43, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %248 = stablehlo.divide %246, %247 : tensor<16x64x1xf32>
    %249 = stablehlo.broadcast_in_dim %248, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %250 = stablehlo.subtract %244, %249 : tensor<16x64x256xf32>
    %251 = stablehlo.multiply %250, %250 : tensor<16x64x256xf32>
    %cst_44 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %252 = stablehlo.reduce(%251 init: %cst_44) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %253 = stablehlo.broadcast_in_dim %252, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_45 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %254 = stablehlo.broadcast_in_dim %cst_45, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %255 = stablehlo.divide %253, %254 : tensor<16x64x1xf32>
    %cst_46 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %256 = stablehlo.broadcast_in_dim %cst_46, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %257 = stablehlo.add %255, %256 : tensor<16x64x1xf32>
    %258 = stablehlo.rsqrt %257 : tensor<16x64x1xf32>
    %259 = stablehlo.divide %258, %257 : tensor<16x64x1xf32>
    %cst_47 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %260 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %261 = stablehlo.multiply %260, %259 : tensor<16x64x1xf32>
    %262 = stablehlo.broadcast_in_dim %258, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %263 = stablehlo.multiply %250, %262 : tensor<16x64x256xf32>
    %264 = stablehlo.broadcast_in_dim %arg33, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %265 = stablehlo.broadcast_in_dim %264, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %266 = stablehlo.multiply %263, %265 : tensor<16x64x256xf32>
    %267 = stablehlo.broadcast_in_dim %arg22, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %268 = stablehlo.broadcast_in_dim %267, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %269 = stablehlo.add %266, %268 : tensor<16x64x256xf32>
    %270 = stablehlo.dot_general %269, %arg47, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %271 = stablehlo.broadcast_in_dim %arg41, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %272 = stablehlo.broadcast_in_dim %271, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %273 = stablehlo.add %270, %272 : tensor<16x64x256xf32>
    %274 = stablehlo.reshape %273 : (tensor<16x64x256xf32>) -> tensor<16x64x8x32xf32>
    %275 = stablehlo.dot_general %269, %arg45, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %276 = stablehlo.broadcast_in_dim %arg39, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %277 = stablehlo.broadcast_in_dim %276, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %278 = stablehlo.add %275, %277 : tensor<16x64x256xf32>
    %279 = stablehlo.reshape %278 : (tensor<16x64x256xf32>) -> tensor<16x64x8x32xf32>
    %280 = stablehlo.dot_general %269, %arg51, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %281 = stablehlo.broadcast_in_dim %arg43, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %282 = stablehlo.broadcast_in_dim %281, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %283 = stablehlo.add %280, %282 : tensor<16x64x256xf32>
    %284 = stablehlo.reshape %283 : (tensor<16x64x256xf32>) -> tensor<16x64x8x32xf32>
    %285 = stablehlo.dot_general %274, %279, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x64x8x32xf32>, tensor<16x64x8x32xf32>) -> tensor<16x8x64x64xf32>
    %cst_48 = stablehlo.constant dense<5.65685415> : tensor<f32>
    %286 = stablehlo.broadcast_in_dim %cst_48, dims = [] : (tensor<f32>) -> tensor<16x8x64x64xf32>
    %287 = stablehlo.divide %285, %286 : tensor<16x8x64x64xf32>
    %288 = stablehlo.broadcast_in_dim %47, dims = [0, 1, 2, 3] : (tensor<16x1x1x64xf32>) -> tensor<16x8x64x64xf32>
    %289 = stablehlo.add %287, %288 : tensor<16x8x64x64xf32>
    %cst_49 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %290 = stablehlo.reduce(%289 init: %cst_49) applies stablehlo.maximum across dimensions = [3] : (tensor<16x8x64x64xf32>, tensor<f32>) -> tensor<16x8x64xf32>
    %cst_50 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %291 = stablehlo.broadcast_in_dim %cst_50, dims = [] : (tensor<f32>) -> tensor<16x8x64xf32>
    %292 = stablehlo.maximum %291, %290 : tensor<16x8x64xf32>
    %293 = stablehlo.broadcast_in_dim %292, dims = [0, 1, 2] : (tensor<16x8x64xf32>) -> tensor<16x8x64x1xf32>
    %294 = stablehlo.broadcast_in_dim %293, dims = [0, 1, 2, 3] : (tensor<16x8x64x1xf32>) -> tensor<16x8x64x64xf32>
    %295 = stablehlo.subtract %289, %294 : tensor<16x8x64x64xf32>
    %296 = stablehlo.exponential %295 : tensor<16x8x64x64xf32>
    %cst_51 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %297 = stablehlo.reduce(%296 init: %cst_51) applies stablehlo.add across dimensions = [3] : (tensor<16x8x64x64xf32>, tensor<f32>) -> tensor<16x8x64xf32>
    %298 = stablehlo.broadcast_in_dim %297, dims = [0, 1, 2] : (tensor<16x8x64xf32>) -> tensor<16x8x64x1xf32>
    %299 = stablehlo.broadcast_in_dim %298, dims = [0, 1, 2, 3] : (tensor<16x8x64x1xf32>) -> tensor<16x8x64x64xf32>
    %300 = stablehlo.divide %296, %299 : tensor<16x8x64x64xf32>
    %301 = stablehlo.multiply %298, %298 : tensor<16x8x64x1xf32>
    %cst_52 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %302 = stablehlo.broadcast_in_dim %cst_52, dims = [] : (tensor<f32>) -> tensor<16x8x64x1xf32>
    %303 = stablehlo.divide %302, %301 : tensor<16x8x64x1xf32>
    %304 = stablehlo.dot_general %284, %300, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x64x8x32xf32>, tensor<16x8x64x64xf32>) -> tensor<16x8x32x64xf32>
    %305 = stablehlo.transpose %304, dims = [0, 3, 1, 2] : (tensor<16x8x32x64xf32>) -> tensor<16x64x8x32xf32>
    %306 = stablehlo.reshape %305 : (tensor<16x64x8x32xf32>) -> tensor<16x64x256xf32>
    %307 = stablehlo.dot_general %306, %arg46, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %308 = stablehlo.broadcast_in_dim %arg40, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %309 = stablehlo.broadcast_in_dim %308, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %310 = stablehlo.add %307, %309 : tensor<16x64x256xf32>
    %311 = stablehlo.add %269, %310 : tensor<16x64x256xf32>
    %cst_53 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %312 = stablehlo.reduce(%311 init: %cst_53) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %313 = stablehlo.broadcast_in_dim %312, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_54 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %314 = stablehlo.broadcast_in_dim %cst_54, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %315 = stablehlo.divide %313, %314 : tensor<16x64x1xf32>
    %316 = stablehlo.broadcast_in_dim %315, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %317 = stablehlo.subtract %311, %316 : tensor<16x64x256xf32>
    %318 = stablehlo.multiply %317, %317 : tensor<16x64x256xf32>
    %cst_55 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %319 = stablehlo.reduce(%318 init: %cst_55) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %320 = stablehlo.broadcast_in_dim %319, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_56 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %321 = stablehlo.broadcast_in_dim %cst_56, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %322 = stablehlo.divide %320, %321 : tensor<16x64x1xf32>
    %cst_57 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %323 = stablehlo.broadcast_in_dim %cst_57, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %324 = stablehlo.add %322, %323 : tensor<16x64x1xf32>
    %325 = stablehlo.rsqrt %324 : tensor<16x64x1xf32>
    %326 = stablehlo.divide %325, %324 : tensor<16x64x1xf32>
    %cst_58 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %327 = stablehlo.broadcast_in_dim %cst_58, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %328 = stablehlo.multiply %327, %326 : tensor<16x64x1xf32>
    %329 = stablehlo.broadcast_in_dim %325, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %330 = stablehlo.multiply %317, %329 : tensor<16x64x256xf32>
    %331 = stablehlo.broadcast_in_dim %arg48, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %332 = stablehlo.broadcast_in_dim %331, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %333 = stablehlo.multiply %330, %332 : tensor<16x64x256xf32>
    %334 = stablehlo.broadcast_in_dim %arg36, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %335 = stablehlo.broadcast_in_dim %334, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %336 = stablehlo.add %333, %335 : tensor<16x64x256xf32>
    %337 = stablehlo.dot_general %336, %arg50, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x1024xf32>) -> tensor<16x64x1024xf32>
    %338 = stablehlo.broadcast_in_dim %arg42, dims = [2] : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %339 = stablehlo.broadcast_in_dim %338, dims = [0, 1, 2] : (tensor<1x1x1024xf32>) -> tensor<16x64x1024xf32>
    %340 = stablehlo.add %337, %339 : tensor<16x64x1024xf32>
    %cst_59 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %341 = stablehlo.broadcast_in_dim %cst_59, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %342 = stablehlo.multiply %341, %340 : tensor<16x64x1024xf32>
    %343 = stablehlo.negate %340 : tensor<16x64x1024xf32>
    %cst_60 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %344 = stablehlo.broadcast_in_dim %cst_60, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %345 = stablehlo.multiply %343, %344 : tensor<16x64x1024xf32>
    %346 = chlo.erfc %345 : tensor<16x64x1024xf32> -> tensor<16x64x1024xf32>
    %347 = chlo.square %345 : tensor<16x64x1024xf32> -> tensor<16x64x1024xf32>
    %348 = stablehlo.negate %347 : tensor<16x64x1024xf32>
    %349 = stablehlo.exponential %348 : tensor<16x64x1024xf32>
    %350 = stablehlo.multiply %342, %346 : tensor<16x64x1024xf32>
    %351 = stablehlo.dot_general %350, %arg44, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x1024xf32>, tensor<1024x256xf32>) -> tensor<16x64x256xf32>
    %352 = stablehlo.add %336, %351 : tensor<16x64x256xf32>
    %353 = stablehlo.broadcast_in_dim %arg37, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %354 = stablehlo.broadcast_in_dim %353, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %355 = stablehlo.add %352, %354 : tensor<16x64x256xf32>
    %cst_61 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %356 = stablehlo.reduce(%355 init: %cst_61) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %357 = stablehlo.broadcast_in_dim %356, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_62 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %358 = stablehlo.broadcast_in_dim %cst_62, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %359 = stablehlo.divide %357, %358 : tensor<16x64x1xf32>
    %360 = stablehlo.broadcast_in_dim %359, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %361 = stablehlo.subtract %355, %360 : tensor<16x64x256xf32>
    %362 = stablehlo.multiply %361, %361 : tensor<16x64x256xf32>
    %cst_63 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %363 = stablehlo.reduce(%362 init: %cst_63) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %364 = stablehlo.broadcast_in_dim %363, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_64 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %365 = stablehlo.broadcast_in_dim %cst_64, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %366 = stablehlo.divide %364, %365 : tensor<16x64x1xf32>
    %cst_65 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %367 = stablehlo.broadcast_in_dim %cst_65, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %368 = stablehlo.add %366, %367 : tensor<16x64x1xf32>
    %369 = stablehlo.rsqrt %368 : tensor<16x64x1xf32>
    %370 = stablehlo.divide %369, %368 : tensor<16x64x1xf32>
    %cst_66 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %371 = stablehlo.broadcast_in_dim %cst_66, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %372 = stablehlo.multiply %371, %370 : tensor<16x64x1xf32>
    %373 = stablehlo.broadcast_in_dim %369, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %374 = stablehlo.multiply %361, %373 : tensor<16x64x256xf32>
    %375 = stablehlo.broadcast_in_dim %arg49, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %376 = stablehlo.broadcast_in_dim %375, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %377 = stablehlo.multiply %374, %376 : tensor<16x64x256xf32>
    %378 = stablehlo.broadcast_in_dim %arg38, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %379 = stablehlo.broadcast_in_dim %378, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %380 = stablehlo.add %377, %379 : tensor<16x64x256xf32>
    %381 = stablehlo.dot_general %380, %arg63, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %382 = stablehlo.broadcast_in_dim %arg57, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %383 = stablehlo.broadcast_in_dim %382, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %384 = stablehlo.add %381, %383 : tensor<16x64x256xf32>
    %385 = stablehlo.reshape %384 : (tensor<16x64x256xf32>) -> tensor<16x64x8x32xf32>
    %386 = stablehlo.dot_general %380, %arg61, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %387 = stablehlo.broadcast_in_dim %arg55, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %388 = stablehlo.broadcast_in_dim %387, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %389 = stablehlo.add %386, %388 : tensor<16x64x256xf32>
    %390 = stablehlo.reshape %389 : (tensor<16x64x256xf32>) -> tensor<16x64x8x32xf32>
    %391 = stablehlo.dot_general %380, %arg67, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %392 = stablehlo.broadcast_in_dim %arg59, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %393 = stablehlo.broadcast_in_dim %392, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %394 = stablehlo.add %391, %393 : tensor<16x64x256xf32>
    %395 = stablehlo.reshape %394 : (tensor<16x64x256xf32>) -> tensor<16x64x8x32xf32>
    %396 = stablehlo.dot_general %385, %390, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x64x8x32xf32>, tensor<16x64x8x32xf32>) -> tensor<16x8x64x64xf32>
    %cst_67 = stablehlo.constant dense<5.65685415> : tensor<f32>
    %397 = stablehlo.broadcast_in_dim %cst_67, dims = [] : (tensor<f32>) -> tensor<16x8x64x64xf32>
    %398 = stablehlo.divide %396, %397 : tensor<16x8x64x64xf32>
    %399 = stablehlo.broadcast_in_dim %47, dims = [0, 1, 2, 3] : (tensor<16x1x1x64xf32>) -> tensor<16x8x64x64xf32>
    %400 = stablehlo.add %398, %399 : tensor<16x8x64x64xf32>
    %cst_68 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %401 = stablehlo.reduce(%400 init: %cst_68) applies stablehlo.maximum across dimensions = [3] : (tensor<16x8x64x64xf32>, tensor<f32>) -> tensor<16x8x64xf32>
    %cst_69 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %402 = stablehlo.broadcast_in_dim %cst_69, dims = [] : (tensor<f32>) -> tensor<16x8x64xf32>
    %403 = stablehlo.maximum %402, %401 : tensor<16x8x64xf32>
    %404 = stablehlo.broadcast_in_dim %403, dims = [0, 1, 2] : (tensor<16x8x64xf32>) -> tensor<16x8x64x1xf32>
    %405 = stablehlo.broadcast_in_dim %404, dims = [0, 1, 2, 3] : (tensor<16x8x64x1xf32>) -> tensor<16x8x64x64xf32>
    %406 = stablehlo.subtract %400, %405 : tensor<16x8x64x64xf32>
    %407 = stablehlo.exponential %406 : tensor<16x8x64x64xf32>
    %cst_70 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %408 = stablehlo.reduce(%407 init: %cst_70) applies stablehlo.add across dimensions = [3] : (tensor<16x8x64x64xf32>, tensor<f32>) -> tensor<16x8x64xf32>
    %409 = stablehlo.broadcast_in_dim %408, dims = [0, 1, 2] : (tensor<16x8x64xf32>) -> tensor<16x8x64x1xf32>
    %410 = stablehlo.broadcast_in_dim %409, dims = [0, 1, 2, 3] : (tensor<16x8x64x1xf32>) -> tensor<16x8x64x64xf32>
    %411 = stablehlo.divide %407, %410 : tensor<16x8x64x64xf32>
    %412 = stablehlo.multiply %409, %409 : tensor<16x8x64x1xf32>
    %cst_71 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %413 = stablehlo.broadcast_in_dim %cst_71, dims = [] : (tensor<f32>) -> tensor<16x8x64x1xf32>
    %414 = stablehlo.divide %413, %412 : tensor<16x8x64x1xf32>
    %415 = stablehlo.dot_general %395, %411, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x64x8x32xf32>, tensor<16x8x64x64xf32>) -> tensor<16x8x32x64xf32>
    %416 = stablehlo.transpose %415, dims = [0, 3, 1, 2] : (tensor<16x8x32x64xf32>) -> tensor<16x64x8x32xf32>
    %417 = stablehlo.reshape %416 : (tensor<16x64x8x32xf32>) -> tensor<16x64x256xf32>
    %418 = stablehlo.dot_general %417, %arg62, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %419 = stablehlo.broadcast_in_dim %arg56, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %420 = stablehlo.broadcast_in_dim %419, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %421 = stablehlo.add %418, %420 : tensor<16x64x256xf32>
    %422 = stablehlo.add %380, %421 : tensor<16x64x256xf32>
    %cst_72 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %423 = stablehlo.reduce(%422 init: %cst_72) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %424 = stablehlo.broadcast_in_dim %423, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_73 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %425 = stablehlo.broadcast_in_dim %cst_73, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %426 = stablehlo.divide %424, %425 : tensor<16x64x1xf32>
    %427 = stablehlo.broadcast_in_dim %426, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %428 = stablehlo.subtract %422, %427 : tensor<16x64x256xf32>
    %429 = stablehlo.multiply %428, %428 : tensor<16x64x256xf32>
    %cst_74 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %430 = stablehlo.reduce(%429 init: %cst_74) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %431 = stablehlo.broadcast_in_dim %430, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_75 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %432 = stablehlo.broadcast_in_dim %cst_75, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %433 = stablehlo.divide %431, %432 : tensor<16x64x1xf32>
    %cst_76 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %434 = stablehlo.broadcast_in_dim %cst_76, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %435 = stablehlo.add %433, %434 : tensor<16x64x1xf32>
    %436 = stablehlo.rsqrt %435 : tensor<16x64x1xf32>
    %437 = stablehlo.divide %436, %435 : tensor<16x64x1xf32>
    %cst_77 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %438 = stablehlo.broadcast_in_dim %cst_77, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %439 = stablehlo.multiply %438, %437 : tensor<16x64x1xf32>
    %440 = stablehlo.broadcast_in_dim %436, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %441 = stablehlo.multiply %428, %440 : tensor<16x64x256xf32>
    %442 = stablehlo.broadcast_in_dim %arg64, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %443 = stablehlo.broadcast_in_dim %442, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %444 = stablehlo.multiply %441, %443 : tensor<16x64x256xf32>
    %445 = stablehlo.broadcast_in_dim %arg52, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %446 = stablehlo.broadcast_in_dim %445, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %447 = stablehlo.add %444, %446 : tensor<16x64x256xf32>
    %448 = stablehlo.dot_general %447, %arg66, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x1024xf32>) -> tensor<16x64x1024xf32>
    %449 = stablehlo.broadcast_in_dim %arg58, dims = [2] : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %450 = stablehlo.broadcast_in_dim %449, dims = [0, 1, 2] : (tensor<1x1x1024xf32>) -> tensor<16x64x1024xf32>
    %451 = stablehlo.add %448, %450 : tensor<16x64x1024xf32>
    %cst_78 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %452 = stablehlo.broadcast_in_dim %cst_78, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %453 = stablehlo.multiply %452, %451 : tensor<16x64x1024xf32>
    %454 = stablehlo.negate %451 : tensor<16x64x1024xf32>
    %cst_79 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %455 = stablehlo.broadcast_in_dim %cst_79, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %456 = stablehlo.multiply %454, %455 : tensor<16x64x1024xf32>
    %457 = chlo.erfc %456 : tensor<16x64x1024xf32> -> tensor<16x64x1024xf32>
    %458 = chlo.square %456 : tensor<16x64x1024xf32> -> tensor<16x64x1024xf32>
    %459 = stablehlo.negate %458 : tensor<16x64x1024xf32>
    %460 = stablehlo.exponential %459 : tensor<16x64x1024xf32>
    %461 = stablehlo.multiply %453, %457 : tensor<16x64x1024xf32>
    %462 = stablehlo.dot_general %461, %arg60, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64x1024xf32>, tensor<1024x256xf32>) -> tensor<16x64x256xf32>
    %463 = stablehlo.add %447, %462 : tensor<16x64x256xf32>
    %464 = stablehlo.broadcast_in_dim %arg53, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %465 = stablehlo.broadcast_in_dim %464, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %466 = stablehlo.add %463, %465 : tensor<16x64x256xf32>
    %cst_80 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %467 = stablehlo.reduce(%466 init: %cst_80) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %468 = stablehlo.broadcast_in_dim %467, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_81 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %469 = stablehlo.broadcast_in_dim %cst_81, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %470 = stablehlo.divide %468, %469 : tensor<16x64x1xf32>
    %471 = stablehlo.broadcast_in_dim %470, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %472 = stablehlo.subtract %466, %471 : tensor<16x64x256xf32>
    %473 = stablehlo.multiply %472, %472 : tensor<16x64x256xf32>
    %cst_82 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %474 = stablehlo.reduce(%473 init: %cst_82) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %475 = stablehlo.broadcast_in_dim %474, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_83 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %476 = stablehlo.broadcast_in_dim %cst_83, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %477 = stablehlo.divide %475, %476 : tensor<16x64x1xf32>
    %cst_84 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %478 = stablehlo.broadcast_in_dim %cst_84, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %479 = stablehlo.add %477, %478 : tensor<16x64x1xf32>
    %480 = stablehlo.rsqrt %479 : tensor<16x64x1xf32>
    %481 = stablehlo.divide %480, %479 : tensor<16x64x1xf32>
    %cst_85 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %482 = stablehlo.broadcast_in_dim %cst_85, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %483 = stablehlo.multiply %482, %481 : tensor<16x64x1xf32>
    %484 = stablehlo.broadcast_in_dim %480, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %485 = stablehlo.multiply %472, %484 : tensor<16x64x256xf32>
    %486 = stablehlo.broadcast_in_dim %arg65, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %487 = stablehlo.broadcast_in_dim %486, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %488 = stablehlo.multiply %485, %487 : tensor<16x64x256xf32>
    %489 = stablehlo.broadcast_in_dim %arg54, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %490 = stablehlo.broadcast_in_dim %489, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %491 = stablehlo.add %488, %490 : tensor<16x64x256xf32>
    %492 = stablehlo.broadcast_in_dim %arg224, dims = [0, 1] : (tensor<16x8xi32>) -> tensor<16x8x1xi32>
    %493:2 = call @take_along_axis(%491, %492) : (tensor<16x64x256xf32>, tensor<16x8x1xi32>) -> (tensor<16x8x256xf32>, tensor<16x8x1xi32>)
    %494 = stablehlo.dot_general %493#0, %arg73, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x8x256xf32>, tensor<256x256xf32>) -> tensor<16x8x256xf32>
    %495 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %496 = stablehlo.broadcast_in_dim %495, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x8x256xf32>
    %497 = stablehlo.add %494, %496 : tensor<16x8x256xf32>
    %cst_86 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %498 = stablehlo.broadcast_in_dim %cst_86, dims = [] : (tensor<f32>) -> tensor<16x8x256xf32>
    %499 = stablehlo.multiply %498, %497 : tensor<16x8x256xf32>
    %500 = stablehlo.negate %497 : tensor<16x8x256xf32>
    %cst_87 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %501 = stablehlo.broadcast_in_dim %cst_87, dims = [] : (tensor<f32>) -> tensor<16x8x256xf32>
    %502 = stablehlo.multiply %500, %501 : tensor<16x8x256xf32>
    %503 = chlo.erfc %502 : tensor<16x8x256xf32> -> tensor<16x8x256xf32>
    %504 = chlo.square %502 : tensor<16x8x256xf32> -> tensor<16x8x256xf32>
    %505 = stablehlo.negate %504 : tensor<16x8x256xf32>
    %506 = stablehlo.exponential %505 : tensor<16x8x256xf32>
    %507 = stablehlo.multiply %499, %503 : tensor<16x8x256xf32>
    %cst_88 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %508 = stablehlo.reduce(%507 init: %cst_88) applies stablehlo.add across dimensions = [2] : (tensor<16x8x256xf32>, tensor<f32>) -> tensor<16x8xf32>
    %509 = stablehlo.broadcast_in_dim %508, dims = [0, 1] : (tensor<16x8xf32>) -> tensor<16x8x1xf32>
    %cst_89 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %510 = stablehlo.broadcast_in_dim %cst_89, dims = [] : (tensor<f32>) -> tensor<16x8x1xf32>
    %511 = stablehlo.divide %509, %510 : tensor<16x8x1xf32>
    %512 = stablehlo.broadcast_in_dim %511, dims = [0, 1, 2] : (tensor<16x8x1xf32>) -> tensor<16x8x256xf32>
    %513 = stablehlo.subtract %507, %512 : tensor<16x8x256xf32>
    %514 = stablehlo.multiply %513, %513 : tensor<16x8x256xf32>
    %cst_90 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %515 = stablehlo.reduce(%514 init: %cst_90) applies stablehlo.add across dimensions = [2] : (tensor<16x8x256xf32>, tensor<f32>) -> tensor<16x8xf32>
    %516 = stablehlo.broadcast_in_dim %515, dims = [0, 1] : (tensor<16x8xf32>) -> tensor<16x8x1xf32>
    %cst_91 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %517 = stablehlo.broadcast_in_dim %cst_91, dims = [] : (tensor<f32>) -> tensor<16x8x1xf32>
    %518 = stablehlo.divide %516, %517 : tensor<16x8x1xf32>
    %cst_92 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %519 = stablehlo.broadcast_in_dim %cst_92, dims = [] : (tensor<f32>) -> tensor<16x8x1xf32>
    %520 = stablehlo.add %518, %519 : tensor<16x8x1xf32>
    %521 = stablehlo.rsqrt %520 : tensor<16x8x1xf32>
    %522 = stablehlo.divide %521, %520 : tensor<16x8x1xf32>
    %cst_93 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %523 = stablehlo.broadcast_in_dim %cst_93, dims = [] : (tensor<f32>) -> tensor<16x8x1xf32>
    %524 = stablehlo.multiply %523, %522 : tensor<16x8x1xf32>
    %525 = stablehlo.broadcast_in_dim %521, dims = [0, 1, 2] : (tensor<16x8x1xf32>) -> tensor<16x8x256xf32>
    %526 = stablehlo.multiply %513, %525 : tensor<16x8x256xf32>
    %527 = stablehlo.broadcast_in_dim %arg69, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %528 = stablehlo.broadcast_in_dim %527, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x8x256xf32>
    %529 = stablehlo.multiply %526, %528 : tensor<16x8x256xf32>
    %530 = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %531 = stablehlo.broadcast_in_dim %530, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x8x256xf32>
    %532 = stablehlo.add %529, %531 : tensor<16x8x256xf32>
    %533 = stablehlo.transpose %arg72, dims = [1, 0] : (tensor<1024x256xf32>) -> tensor<256x1024xf32>
    %534 = stablehlo.dot_general %532, %533, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x8x256xf32>, tensor<256x1024xf32>) -> tensor<16x8x1024xf32>
    %535 = stablehlo.broadcast_in_dim %arg3, dims = [2] : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %536 = stablehlo.broadcast_in_dim %535, dims = [0, 1, 2] : (tensor<1x1x1024xf32>) -> tensor<16x8x1024xf32>
    %537 = stablehlo.add %534, %536 : tensor<16x8x1024xf32>
    %538:3 = call @log_softmax(%537) : (tensor<16x8x1024xf32>) -> (tensor<16x8x1024xf32>, tensor<16x8x1024xf32>, tensor<16x8x1xf32>)
    %539 = stablehlo.broadcast_in_dim %arg223, dims = [0, 1] : (tensor<16x8xi32>) -> tensor<16x8x1xi32>
    %540:2 = call @take_along_axis_0(%538#0, %539) : (tensor<16x8x1024xf32>, tensor<16x8x1xi32>) -> (tensor<16x8x1xf32>, tensor<16x8x1x1xi32>)
    %cst_94 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %541 = stablehlo.reduce(%540#0 init: %cst_94) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<16x8x1xf32>, tensor<f32>) -> tensor<f32>
    %cst_95 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %542 = stablehlo.divide %541, %cst_95 : tensor<f32>
    %543 = stablehlo.negate %542 : tensor<f32>
    %cst_96 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %544 = stablehlo.negate %cst_96 : tensor<f32>
    %cst_97 = stablehlo.constant dense<1.280000e+02> : tensor<f32>
    %545 = stablehlo.divide %544, %cst_97 : tensor<f32>
    %546 = stablehlo.broadcast_in_dim %545, dims = [] : (tensor<f32>) -> tensor<16x8x1xf32>
    %547 = call @take_along_axis_1(%540#1, %546) : (tensor<16x8x1x1xi32>, tensor<16x8x1xf32>) -> tensor<16x8x1024xf32>
    %548 = call @log_softmax_2(%538#1, %538#2, %547) : (tensor<16x8x1024xf32>, tensor<16x8x1xf32>, tensor<16x8x1024xf32>) -> tensor<16x8x1024xf32>
    %cst_98 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %549 = stablehlo.reduce(%548 init: %cst_98) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %550 = stablehlo.reshape %549 : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %cst_99 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %551 = stablehlo.reduce(%550 init: %cst_99) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %552 = stablehlo.dot_general %548, %532, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x1024xf32>, tensor<16x8x256xf32>) -> tensor<1024x256xf32>
    %553 = stablehlo.transpose %552, dims = [1, 0] : (tensor<1024x256xf32>) -> tensor<256x1024xf32>
    %554 = stablehlo.dot_general %548, %533, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x1024xf32>, tensor<256x1024xf32>) -> tensor<16x8x256xf32>
    %555 = stablehlo.transpose %553, dims = [1, 0] : (tensor<256x1024xf32>) -> tensor<1024x256xf32>
    %cst_100 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %556 = stablehlo.reduce(%554 init: %cst_100) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8x256xf32>, tensor<f32>) -> tensor<256xf32>
    %557 = stablehlo.reshape %556 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_101 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %558 = stablehlo.reduce(%557 init: %cst_101) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %559 = stablehlo.multiply %526, %554 : tensor<16x8x256xf32>
    %cst_102 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %560 = stablehlo.reduce(%559 init: %cst_102) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8x256xf32>, tensor<f32>) -> tensor<256xf32>
    %561 = stablehlo.reshape %560 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %562 = stablehlo.broadcast_in_dim %527, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x8x256xf32>
    %563 = stablehlo.multiply %554, %562 : tensor<16x8x256xf32>
    %cst_103 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %564 = stablehlo.reduce(%561 init: %cst_103) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %565 = stablehlo.multiply %513, %563 : tensor<16x8x256xf32>
    %cst_104 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %566 = stablehlo.reduce(%565 init: %cst_104) applies stablehlo.add across dimensions = [2] : (tensor<16x8x256xf32>, tensor<f32>) -> tensor<16x8xf32>
    %567 = stablehlo.reshape %566 : (tensor<16x8xf32>) -> tensor<16x8x1xf32>
    %568 = stablehlo.broadcast_in_dim %521, dims = [0, 1, 2] : (tensor<16x8x1xf32>) -> tensor<16x8x256xf32>
    %569 = stablehlo.multiply %563, %568 : tensor<16x8x256xf32>
    %570 = stablehlo.multiply %567, %524 : tensor<16x8x1xf32>
    %cst_105 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %571 = stablehlo.broadcast_in_dim %cst_105, dims = [] : (tensor<f32>) -> tensor<16x8x1xf32>
    %572 = stablehlo.divide %570, %571 : tensor<16x8x1xf32>
    %cst_106 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %573 = stablehlo.reduce(%572 init: %cst_106) applies stablehlo.add across dimensions = [2] : (tensor<16x8x1xf32>, tensor<f32>) -> tensor<16x8xf32>
    %574 = stablehlo.broadcast_in_dim %573, dims = [0, 1] : (tensor<16x8xf32>) -> tensor<16x8x256xf32>
    %575 = stablehlo.multiply %513, %574 : tensor<16x8x256xf32>
    %576 = stablehlo.add %569, %575 : tensor<16x8x256xf32>
    %577 = stablehlo.multiply %574, %513 : tensor<16x8x256xf32>
    %578 = stablehlo.add %576, %577 : tensor<16x8x256xf32>
    %579 = stablehlo.negate %578 : tensor<16x8x256xf32>
    %cst_107 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %580 = stablehlo.reduce(%579 init: %cst_107) applies stablehlo.add across dimensions = [2] : (tensor<16x8x256xf32>, tensor<f32>) -> tensor<16x8xf32>
    %581 = stablehlo.reshape %580 : (tensor<16x8xf32>) -> tensor<16x8x1xf32>
    %cst_108 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %582 = stablehlo.broadcast_in_dim %cst_108, dims = [] : (tensor<f32>) -> tensor<16x8x1xf32>
    %583 = stablehlo.divide %581, %582 : tensor<16x8x1xf32>
    %cst_109 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %584 = stablehlo.reduce(%583 init: %cst_109) applies stablehlo.add across dimensions = [2] : (tensor<16x8x1xf32>, tensor<f32>) -> tensor<16x8xf32>
    %585 = stablehlo.broadcast_in_dim %584, dims = [0, 1] : (tensor<16x8xf32>) -> tensor<16x8x256xf32>
    %586 = stablehlo.add %578, %585 : tensor<16x8x256xf32>
    %587 = stablehlo.multiply %499, %586 : tensor<16x8x256xf32>
    %588 = stablehlo.multiply %586, %503 : tensor<16x8x256xf32>
    %cst_110 = stablehlo.constant dense<-1.12837923> : tensor<f32>
    %589 = stablehlo.broadcast_in_dim %cst_110, dims = [] : (tensor<f32>) -> tensor<16x8x256xf32>
    %590 = stablehlo.multiply %589, %587 : tensor<16x8x256xf32>
    %591 = stablehlo.multiply %590, %506 : tensor<16x8x256xf32>
    %cst_111 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %592 = stablehlo.broadcast_in_dim %cst_111, dims = [] : (tensor<f32>) -> tensor<16x8x256xf32>
    %593 = stablehlo.multiply %591, %592 : tensor<16x8x256xf32>
    %594 = stablehlo.negate %593 : tensor<16x8x256xf32>
    %cst_112 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %595 = stablehlo.broadcast_in_dim %cst_112, dims = [] : (tensor<f32>) -> tensor<16x8x256xf32>
    %596 = stablehlo.multiply %595, %588 : tensor<16x8x256xf32>
    %597 = stablehlo.add %594, %596 : tensor<16x8x256xf32>
    %cst_113 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %598 = stablehlo.reduce(%597 init: %cst_113) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8x256xf32>, tensor<f32>) -> tensor<256xf32>
    %599 = stablehlo.reshape %598 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_114 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %600 = stablehlo.reduce(%599 init: %cst_114) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %601 = stablehlo.dot_general %597, %493#0, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x256xf32>, tensor<16x8x256xf32>) -> tensor<256x256xf32>
    %602 = stablehlo.transpose %601, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %603 = stablehlo.dot_general %597, %arg73, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x256xf32>, tensor<256x256xf32>) -> tensor<16x8x256xf32>
    %604 = call @take_along_axis_3(%493#1, %603) : (tensor<16x8x1xi32>, tensor<16x8x256xf32>) -> tensor<16x64x256xf32>
    %cst_115 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %605 = stablehlo.reduce(%604 init: %cst_115) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %606 = stablehlo.reshape %605 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_116 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %607 = stablehlo.reduce(%606 init: %cst_116) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %608 = stablehlo.multiply %485, %604 : tensor<16x64x256xf32>
    %cst_117 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %609 = stablehlo.reduce(%608 init: %cst_117) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %610 = stablehlo.reshape %609 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %611 = stablehlo.broadcast_in_dim %486, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %612 = stablehlo.multiply %604, %611 : tensor<16x64x256xf32>
    %cst_118 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %613 = stablehlo.reduce(%610 init: %cst_118) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %614 = stablehlo.multiply %472, %612 : tensor<16x64x256xf32>
    %cst_119 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %615 = stablehlo.reduce(%614 init: %cst_119) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %616 = stablehlo.reshape %615 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %617 = stablehlo.broadcast_in_dim %480, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %618 = stablehlo.multiply %612, %617 : tensor<16x64x256xf32>
    %619 = stablehlo.multiply %616, %483 : tensor<16x64x1xf32>
    %cst_120 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %620 = stablehlo.broadcast_in_dim %cst_120, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %621 = stablehlo.divide %619, %620 : tensor<16x64x1xf32>
    %cst_121 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %622 = stablehlo.reduce(%621 init: %cst_121) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %623 = stablehlo.broadcast_in_dim %622, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x256xf32>
    %624 = stablehlo.multiply %472, %623 : tensor<16x64x256xf32>
    %625 = stablehlo.add %618, %624 : tensor<16x64x256xf32>
    %626 = stablehlo.multiply %623, %472 : tensor<16x64x256xf32>
    %627 = stablehlo.add %625, %626 : tensor<16x64x256xf32>
    %628 = stablehlo.negate %627 : tensor<16x64x256xf32>
    %cst_122 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %629 = stablehlo.reduce(%628 init: %cst_122) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %630 = stablehlo.reshape %629 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_123 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %631 = stablehlo.broadcast_in_dim %cst_123, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %632 = stablehlo.divide %630, %631 : tensor<16x64x1xf32>
    %cst_124 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %633 = stablehlo.reduce(%632 init: %cst_124) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %634 = stablehlo.broadcast_in_dim %633, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x256xf32>
    %635 = stablehlo.add %627, %634 : tensor<16x64x256xf32>
    %cst_125 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %636 = stablehlo.reduce(%635 init: %cst_125) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %637 = stablehlo.reshape %636 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_126 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %638 = stablehlo.reduce(%637 init: %cst_126) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %639 = stablehlo.dot_general %635, %461, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x1024xf32>) -> tensor<256x1024xf32>
    %640 = stablehlo.transpose %639, dims = [1, 0] : (tensor<256x1024xf32>) -> tensor<1024x256xf32>
    %641 = stablehlo.dot_general %635, %arg60, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<1024x256xf32>) -> tensor<16x64x1024xf32>
    %642 = stablehlo.multiply %453, %641 : tensor<16x64x1024xf32>
    %643 = stablehlo.multiply %641, %457 : tensor<16x64x1024xf32>
    %cst_127 = stablehlo.constant dense<-1.12837923> : tensor<f32>
    %644 = stablehlo.broadcast_in_dim %cst_127, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %645 = stablehlo.multiply %644, %642 : tensor<16x64x1024xf32>
    %646 = stablehlo.multiply %645, %460 : tensor<16x64x1024xf32>
    %cst_128 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %647 = stablehlo.broadcast_in_dim %cst_128, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %648 = stablehlo.multiply %646, %647 : tensor<16x64x1024xf32>
    %649 = stablehlo.negate %648 : tensor<16x64x1024xf32>
    %cst_129 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %650 = stablehlo.broadcast_in_dim %cst_129, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %651 = stablehlo.multiply %650, %643 : tensor<16x64x1024xf32>
    %652 = stablehlo.add %649, %651 : tensor<16x64x1024xf32>
    %cst_130 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %653 = stablehlo.reduce(%652 init: %cst_130) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %654 = stablehlo.reshape %653 : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %cst_131 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %655 = stablehlo.reduce(%654 init: %cst_131) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %656 = stablehlo.dot_general %652, %447, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x1024xf32>, tensor<16x64x256xf32>) -> tensor<1024x256xf32>
    %657 = stablehlo.transpose %656, dims = [1, 0] : (tensor<1024x256xf32>) -> tensor<256x1024xf32>
    %658 = stablehlo.dot_general %652, %arg66, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x1024xf32>, tensor<256x1024xf32>) -> tensor<16x64x256xf32>
    %659 = stablehlo.add %635, %658 : tensor<16x64x256xf32>
    %cst_132 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %660 = stablehlo.reduce(%659 init: %cst_132) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %661 = stablehlo.reshape %660 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_133 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %662 = stablehlo.reduce(%661 init: %cst_133) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %663 = stablehlo.multiply %441, %659 : tensor<16x64x256xf32>
    %cst_134 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %664 = stablehlo.reduce(%663 init: %cst_134) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %665 = stablehlo.reshape %664 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %666 = stablehlo.broadcast_in_dim %442, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %667 = stablehlo.multiply %659, %666 : tensor<16x64x256xf32>
    %cst_135 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %668 = stablehlo.reduce(%665 init: %cst_135) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %669 = stablehlo.multiply %428, %667 : tensor<16x64x256xf32>
    %cst_136 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %670 = stablehlo.reduce(%669 init: %cst_136) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %671 = stablehlo.reshape %670 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %672 = stablehlo.broadcast_in_dim %436, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %673 = stablehlo.multiply %667, %672 : tensor<16x64x256xf32>
    %674 = stablehlo.multiply %671, %439 : tensor<16x64x1xf32>
    %cst_137 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %675 = stablehlo.broadcast_in_dim %cst_137, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %676 = stablehlo.divide %674, %675 : tensor<16x64x1xf32>
    %cst_138 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %677 = stablehlo.reduce(%676 init: %cst_138) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %678 = stablehlo.broadcast_in_dim %677, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x256xf32>
    %679 = stablehlo.multiply %428, %678 : tensor<16x64x256xf32>
    %680 = stablehlo.add %673, %679 : tensor<16x64x256xf32>
    %681 = stablehlo.multiply %678, %428 : tensor<16x64x256xf32>
    %682 = stablehlo.add %680, %681 : tensor<16x64x256xf32>
    %683 = stablehlo.negate %682 : tensor<16x64x256xf32>
    %cst_139 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %684 = stablehlo.reduce(%683 init: %cst_139) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %685 = stablehlo.reshape %684 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_140 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %686 = stablehlo.broadcast_in_dim %cst_140, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %687 = stablehlo.divide %685, %686 : tensor<16x64x1xf32>
    %cst_141 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %688 = stablehlo.reduce(%687 init: %cst_141) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %689 = stablehlo.broadcast_in_dim %688, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x256xf32>
    %690 = stablehlo.add %682, %689 : tensor<16x64x256xf32>
    %cst_142 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %691 = stablehlo.reduce(%690 init: %cst_142) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %692 = stablehlo.reshape %691 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_143 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %693 = stablehlo.reduce(%692 init: %cst_143) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %694 = stablehlo.dot_general %690, %417, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x256xf32>) -> tensor<256x256xf32>
    %695 = stablehlo.transpose %694, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %696 = stablehlo.dot_general %690, %arg62, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %697 = stablehlo.reshape %696 : (tensor<16x64x256xf32>) -> tensor<16x64x8x32xf32>
    %698 = stablehlo.transpose %697, dims = [0, 2, 3, 1] : (tensor<16x64x8x32xf32>) -> tensor<16x8x32x64xf32>
    %699 = stablehlo.dot_general %698, %395, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x8x32x64xf32>, tensor<16x64x8x32xf32>) -> tensor<16x8x64x64xf32>
    %700 = stablehlo.dot_general %698, %411, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x8x32x64xf32>, tensor<16x8x64x64xf32>) -> tensor<16x8x32x64xf32>
    %701 = stablehlo.transpose %700, dims = [0, 3, 1, 2] : (tensor<16x8x32x64xf32>) -> tensor<16x64x8x32xf32>
    %702 = stablehlo.broadcast_in_dim %414, dims = [0, 1, 2, 3] : (tensor<16x8x64x1xf32>) -> tensor<16x8x64x64xf32>
    %703 = stablehlo.multiply %699, %702 : tensor<16x8x64x64xf32>
    %704 = stablehlo.multiply %703, %407 : tensor<16x8x64x64xf32>
    %cst_144 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %705 = stablehlo.reduce(%704 init: %cst_144) applies stablehlo.add across dimensions = [3] : (tensor<16x8x64x64xf32>, tensor<f32>) -> tensor<16x8x64xf32>
    %706 = stablehlo.reshape %705 : (tensor<16x8x64xf32>) -> tensor<16x8x64x1xf32>
    %707 = stablehlo.negate %706 : tensor<16x8x64x1xf32>
    %708 = stablehlo.broadcast_in_dim %409, dims = [0, 1, 2, 3] : (tensor<16x8x64x1xf32>) -> tensor<16x8x64x64xf32>
    %709 = stablehlo.divide %699, %708 : tensor<16x8x64x64xf32>
    %cst_145 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %710 = stablehlo.reduce(%707 init: %cst_145) applies stablehlo.add across dimensions = [3] : (tensor<16x8x64x1xf32>, tensor<f32>) -> tensor<16x8x64xf32>
    %711 = stablehlo.broadcast_in_dim %710, dims = [0, 1, 2] : (tensor<16x8x64xf32>) -> tensor<16x8x64x64xf32>
    %712 = stablehlo.add %709, %711 : tensor<16x8x64x64xf32>
    %713 = stablehlo.multiply %712, %407 : tensor<16x8x64x64xf32>
    %cst_146 = stablehlo.constant dense<5.65685415> : tensor<f32>
    %714 = stablehlo.broadcast_in_dim %cst_146, dims = [] : (tensor<f32>) -> tensor<16x8x64x64xf32>
    %715 = stablehlo.divide %713, %714 : tensor<16x8x64x64xf32>
    %716 = stablehlo.dot_general %715, %385, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x64x64xf32>, tensor<16x64x8x32xf32>) -> tensor<16x8x64x32xf32>
    %717 = stablehlo.transpose %716, dims = [0, 2, 1, 3] : (tensor<16x8x64x32xf32>) -> tensor<16x64x8x32xf32>
    %718 = stablehlo.dot_general %715, %390, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x64x64xf32>, tensor<16x64x8x32xf32>) -> tensor<16x8x64x32xf32>
    %719 = stablehlo.transpose %718, dims = [0, 2, 1, 3] : (tensor<16x8x64x32xf32>) -> tensor<16x64x8x32xf32>
    %720 = stablehlo.reshape %701 : (tensor<16x64x8x32xf32>) -> tensor<16x64x256xf32>
    %cst_147 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %721 = stablehlo.reduce(%720 init: %cst_147) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %722 = stablehlo.reshape %721 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_148 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %723 = stablehlo.reduce(%722 init: %cst_148) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %724 = stablehlo.dot_general %720, %380, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x256xf32>) -> tensor<256x256xf32>
    %725 = stablehlo.transpose %724, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %726 = stablehlo.dot_general %720, %arg67, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %727 = stablehlo.add %690, %726 : tensor<16x64x256xf32>
    %728 = stablehlo.reshape %717 : (tensor<16x64x8x32xf32>) -> tensor<16x64x256xf32>
    %cst_149 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %729 = stablehlo.reduce(%728 init: %cst_149) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %730 = stablehlo.reshape %729 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_150 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %731 = stablehlo.reduce(%730 init: %cst_150) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %732 = stablehlo.dot_general %728, %380, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x256xf32>) -> tensor<256x256xf32>
    %733 = stablehlo.transpose %732, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %734 = stablehlo.dot_general %728, %arg61, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %735 = stablehlo.add %727, %734 : tensor<16x64x256xf32>
    %736 = stablehlo.reshape %719 : (tensor<16x64x8x32xf32>) -> tensor<16x64x256xf32>
    %cst_151 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %737 = stablehlo.reduce(%736 init: %cst_151) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %738 = stablehlo.reshape %737 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_152 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %739 = stablehlo.reduce(%738 init: %cst_152) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %740 = stablehlo.dot_general %736, %380, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x256xf32>) -> tensor<256x256xf32>
    %741 = stablehlo.transpose %740, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %742 = stablehlo.dot_general %736, %arg63, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %743 = stablehlo.add %735, %742 : tensor<16x64x256xf32>
    %cst_153 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %744 = stablehlo.reduce(%743 init: %cst_153) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %745 = stablehlo.reshape %744 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_154 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %746 = stablehlo.reduce(%745 init: %cst_154) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %747 = stablehlo.multiply %374, %743 : tensor<16x64x256xf32>
    %cst_155 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %748 = stablehlo.reduce(%747 init: %cst_155) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %749 = stablehlo.reshape %748 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %750 = stablehlo.broadcast_in_dim %375, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %751 = stablehlo.multiply %743, %750 : tensor<16x64x256xf32>
    %cst_156 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %752 = stablehlo.reduce(%749 init: %cst_156) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %753 = stablehlo.multiply %361, %751 : tensor<16x64x256xf32>
    %cst_157 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %754 = stablehlo.reduce(%753 init: %cst_157) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %755 = stablehlo.reshape %754 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %756 = stablehlo.broadcast_in_dim %369, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %757 = stablehlo.multiply %751, %756 : tensor<16x64x256xf32>
    %758 = stablehlo.multiply %755, %372 : tensor<16x64x1xf32>
    %cst_158 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %759 = stablehlo.broadcast_in_dim %cst_158, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %760 = stablehlo.divide %758, %759 : tensor<16x64x1xf32>
    %cst_159 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %761 = stablehlo.reduce(%760 init: %cst_159) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %762 = stablehlo.broadcast_in_dim %761, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x256xf32>
    %763 = stablehlo.multiply %361, %762 : tensor<16x64x256xf32>
    %764 = stablehlo.add %757, %763 : tensor<16x64x256xf32>
    %765 = stablehlo.multiply %762, %361 : tensor<16x64x256xf32>
    %766 = stablehlo.add %764, %765 : tensor<16x64x256xf32>
    %767 = stablehlo.negate %766 : tensor<16x64x256xf32>
    %cst_160 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %768 = stablehlo.reduce(%767 init: %cst_160) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %769 = stablehlo.reshape %768 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_161 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %770 = stablehlo.broadcast_in_dim %cst_161, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %771 = stablehlo.divide %769, %770 : tensor<16x64x1xf32>
    %cst_162 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %772 = stablehlo.reduce(%771 init: %cst_162) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %773 = stablehlo.broadcast_in_dim %772, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x256xf32>
    %774 = stablehlo.add %766, %773 : tensor<16x64x256xf32>
    %cst_163 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %775 = stablehlo.reduce(%774 init: %cst_163) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %776 = stablehlo.reshape %775 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_164 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %777 = stablehlo.reduce(%776 init: %cst_164) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %778 = stablehlo.dot_general %774, %350, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x1024xf32>) -> tensor<256x1024xf32>
    %779 = stablehlo.transpose %778, dims = [1, 0] : (tensor<256x1024xf32>) -> tensor<1024x256xf32>
    %780 = stablehlo.dot_general %774, %arg44, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<1024x256xf32>) -> tensor<16x64x1024xf32>
    %781 = stablehlo.multiply %342, %780 : tensor<16x64x1024xf32>
    %782 = stablehlo.multiply %780, %346 : tensor<16x64x1024xf32>
    %cst_165 = stablehlo.constant dense<-1.12837923> : tensor<f32>
    %783 = stablehlo.broadcast_in_dim %cst_165, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %784 = stablehlo.multiply %783, %781 : tensor<16x64x1024xf32>
    %785 = stablehlo.multiply %784, %349 : tensor<16x64x1024xf32>
    %cst_166 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %786 = stablehlo.broadcast_in_dim %cst_166, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %787 = stablehlo.multiply %785, %786 : tensor<16x64x1024xf32>
    %788 = stablehlo.negate %787 : tensor<16x64x1024xf32>
    %cst_167 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %789 = stablehlo.broadcast_in_dim %cst_167, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %790 = stablehlo.multiply %789, %782 : tensor<16x64x1024xf32>
    %791 = stablehlo.add %788, %790 : tensor<16x64x1024xf32>
    %cst_168 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %792 = stablehlo.reduce(%791 init: %cst_168) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %793 = stablehlo.reshape %792 : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %cst_169 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %794 = stablehlo.reduce(%793 init: %cst_169) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %795 = stablehlo.dot_general %791, %336, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x1024xf32>, tensor<16x64x256xf32>) -> tensor<1024x256xf32>
    %796 = stablehlo.transpose %795, dims = [1, 0] : (tensor<1024x256xf32>) -> tensor<256x1024xf32>
    %797 = stablehlo.dot_general %791, %arg50, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x1024xf32>, tensor<256x1024xf32>) -> tensor<16x64x256xf32>
    %798 = stablehlo.add %774, %797 : tensor<16x64x256xf32>
    %cst_170 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %799 = stablehlo.reduce(%798 init: %cst_170) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %800 = stablehlo.reshape %799 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_171 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %801 = stablehlo.reduce(%800 init: %cst_171) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %802 = stablehlo.multiply %330, %798 : tensor<16x64x256xf32>
    %cst_172 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %803 = stablehlo.reduce(%802 init: %cst_172) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %804 = stablehlo.reshape %803 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %805 = stablehlo.broadcast_in_dim %331, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %806 = stablehlo.multiply %798, %805 : tensor<16x64x256xf32>
    %cst_173 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %807 = stablehlo.reduce(%804 init: %cst_173) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %808 = stablehlo.multiply %317, %806 : tensor<16x64x256xf32>
    %cst_174 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %809 = stablehlo.reduce(%808 init: %cst_174) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %810 = stablehlo.reshape %809 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %811 = stablehlo.broadcast_in_dim %325, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %812 = stablehlo.multiply %806, %811 : tensor<16x64x256xf32>
    %813 = stablehlo.multiply %810, %328 : tensor<16x64x1xf32>
    %cst_175 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %814 = stablehlo.broadcast_in_dim %cst_175, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %815 = stablehlo.divide %813, %814 : tensor<16x64x1xf32>
    %cst_176 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %816 = stablehlo.reduce(%815 init: %cst_176) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %817 = stablehlo.broadcast_in_dim %816, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x256xf32>
    %818 = stablehlo.multiply %317, %817 : tensor<16x64x256xf32>
    %819 = stablehlo.add %812, %818 : tensor<16x64x256xf32>
    %820 = stablehlo.multiply %817, %317 : tensor<16x64x256xf32>
    %821 = stablehlo.add %819, %820 : tensor<16x64x256xf32>
    %822 = stablehlo.negate %821 : tensor<16x64x256xf32>
    %cst_177 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %823 = stablehlo.reduce(%822 init: %cst_177) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %824 = stablehlo.reshape %823 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_178 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %825 = stablehlo.broadcast_in_dim %cst_178, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %826 = stablehlo.divide %824, %825 : tensor<16x64x1xf32>
    %cst_179 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %827 = stablehlo.reduce(%826 init: %cst_179) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %828 = stablehlo.broadcast_in_dim %827, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x256xf32>
    %829 = stablehlo.add %821, %828 : tensor<16x64x256xf32>
    %cst_180 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %830 = stablehlo.reduce(%829 init: %cst_180) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %831 = stablehlo.reshape %830 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_181 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %832 = stablehlo.reduce(%831 init: %cst_181) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %833 = stablehlo.dot_general %829, %306, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x256xf32>) -> tensor<256x256xf32>
    %834 = stablehlo.transpose %833, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %835 = stablehlo.dot_general %829, %arg46, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %836 = stablehlo.reshape %835 : (tensor<16x64x256xf32>) -> tensor<16x64x8x32xf32>
    %837 = stablehlo.transpose %836, dims = [0, 2, 3, 1] : (tensor<16x64x8x32xf32>) -> tensor<16x8x32x64xf32>
    %838 = stablehlo.dot_general %837, %284, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x8x32x64xf32>, tensor<16x64x8x32xf32>) -> tensor<16x8x64x64xf32>
    %839 = stablehlo.dot_general %837, %300, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x8x32x64xf32>, tensor<16x8x64x64xf32>) -> tensor<16x8x32x64xf32>
    %840 = stablehlo.transpose %839, dims = [0, 3, 1, 2] : (tensor<16x8x32x64xf32>) -> tensor<16x64x8x32xf32>
    %841 = stablehlo.broadcast_in_dim %303, dims = [0, 1, 2, 3] : (tensor<16x8x64x1xf32>) -> tensor<16x8x64x64xf32>
    %842 = stablehlo.multiply %838, %841 : tensor<16x8x64x64xf32>
    %843 = stablehlo.multiply %842, %296 : tensor<16x8x64x64xf32>
    %cst_182 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %844 = stablehlo.reduce(%843 init: %cst_182) applies stablehlo.add across dimensions = [3] : (tensor<16x8x64x64xf32>, tensor<f32>) -> tensor<16x8x64xf32>
    %845 = stablehlo.reshape %844 : (tensor<16x8x64xf32>) -> tensor<16x8x64x1xf32>
    %846 = stablehlo.negate %845 : tensor<16x8x64x1xf32>
    %847 = stablehlo.broadcast_in_dim %298, dims = [0, 1, 2, 3] : (tensor<16x8x64x1xf32>) -> tensor<16x8x64x64xf32>
    %848 = stablehlo.divide %838, %847 : tensor<16x8x64x64xf32>
    %cst_183 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %849 = stablehlo.reduce(%846 init: %cst_183) applies stablehlo.add across dimensions = [3] : (tensor<16x8x64x1xf32>, tensor<f32>) -> tensor<16x8x64xf32>
    %850 = stablehlo.broadcast_in_dim %849, dims = [0, 1, 2] : (tensor<16x8x64xf32>) -> tensor<16x8x64x64xf32>
    %851 = stablehlo.add %848, %850 : tensor<16x8x64x64xf32>
    %852 = stablehlo.multiply %851, %296 : tensor<16x8x64x64xf32>
    %cst_184 = stablehlo.constant dense<5.65685415> : tensor<f32>
    %853 = stablehlo.broadcast_in_dim %cst_184, dims = [] : (tensor<f32>) -> tensor<16x8x64x64xf32>
    %854 = stablehlo.divide %852, %853 : tensor<16x8x64x64xf32>
    %855 = stablehlo.dot_general %854, %274, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x64x64xf32>, tensor<16x64x8x32xf32>) -> tensor<16x8x64x32xf32>
    %856 = stablehlo.transpose %855, dims = [0, 2, 1, 3] : (tensor<16x8x64x32xf32>) -> tensor<16x64x8x32xf32>
    %857 = stablehlo.dot_general %854, %279, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x64x64xf32>, tensor<16x64x8x32xf32>) -> tensor<16x8x64x32xf32>
    %858 = stablehlo.transpose %857, dims = [0, 2, 1, 3] : (tensor<16x8x64x32xf32>) -> tensor<16x64x8x32xf32>
    %859 = stablehlo.reshape %840 : (tensor<16x64x8x32xf32>) -> tensor<16x64x256xf32>
    %cst_185 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %860 = stablehlo.reduce(%859 init: %cst_185) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %861 = stablehlo.reshape %860 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_186 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %862 = stablehlo.reduce(%861 init: %cst_186) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %863 = stablehlo.dot_general %859, %269, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x256xf32>) -> tensor<256x256xf32>
    %864 = stablehlo.transpose %863, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %865 = stablehlo.dot_general %859, %arg51, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %866 = stablehlo.add %829, %865 : tensor<16x64x256xf32>
    %867 = stablehlo.reshape %856 : (tensor<16x64x8x32xf32>) -> tensor<16x64x256xf32>
    %cst_187 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %868 = stablehlo.reduce(%867 init: %cst_187) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %869 = stablehlo.reshape %868 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_188 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %870 = stablehlo.reduce(%869 init: %cst_188) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %871 = stablehlo.dot_general %867, %269, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x256xf32>) -> tensor<256x256xf32>
    %872 = stablehlo.transpose %871, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %873 = stablehlo.dot_general %867, %arg45, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %874 = stablehlo.add %866, %873 : tensor<16x64x256xf32>
    %875 = stablehlo.reshape %858 : (tensor<16x64x8x32xf32>) -> tensor<16x64x256xf32>
    %cst_189 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %876 = stablehlo.reduce(%875 init: %cst_189) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %877 = stablehlo.reshape %876 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_190 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %878 = stablehlo.reduce(%877 init: %cst_190) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %879 = stablehlo.dot_general %875, %269, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x256xf32>) -> tensor<256x256xf32>
    %880 = stablehlo.transpose %879, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %881 = stablehlo.dot_general %875, %arg47, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %882 = stablehlo.add %874, %881 : tensor<16x64x256xf32>
    %cst_191 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %883 = stablehlo.reduce(%882 init: %cst_191) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %884 = stablehlo.reshape %883 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_192 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %885 = stablehlo.reduce(%884 init: %cst_192) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %886 = stablehlo.multiply %263, %882 : tensor<16x64x256xf32>
    %cst_193 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %887 = stablehlo.reduce(%886 init: %cst_193) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %888 = stablehlo.reshape %887 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %889 = stablehlo.broadcast_in_dim %264, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %890 = stablehlo.multiply %882, %889 : tensor<16x64x256xf32>
    %cst_194 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %891 = stablehlo.reduce(%888 init: %cst_194) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %892 = stablehlo.multiply %250, %890 : tensor<16x64x256xf32>
    %cst_195 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %893 = stablehlo.reduce(%892 init: %cst_195) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %894 = stablehlo.reshape %893 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %895 = stablehlo.broadcast_in_dim %258, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %896 = stablehlo.multiply %890, %895 : tensor<16x64x256xf32>
    %897 = stablehlo.multiply %894, %261 : tensor<16x64x1xf32>
    %cst_196 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %898 = stablehlo.broadcast_in_dim %cst_196, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %899 = stablehlo.divide %897, %898 : tensor<16x64x1xf32>
    %cst_197 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %900 = stablehlo.reduce(%899 init: %cst_197) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %901 = stablehlo.broadcast_in_dim %900, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x256xf32>
    %902 = stablehlo.multiply %250, %901 : tensor<16x64x256xf32>
    %903 = stablehlo.add %896, %902 : tensor<16x64x256xf32>
    %904 = stablehlo.multiply %901, %250 : tensor<16x64x256xf32>
    %905 = stablehlo.add %903, %904 : tensor<16x64x256xf32>
    %906 = stablehlo.negate %905 : tensor<16x64x256xf32>
    %cst_198 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %907 = stablehlo.reduce(%906 init: %cst_198) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %908 = stablehlo.reshape %907 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_199 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %909 = stablehlo.broadcast_in_dim %cst_199, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %910 = stablehlo.divide %908, %909 : tensor<16x64x1xf32>
    %cst_200 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %911 = stablehlo.reduce(%910 init: %cst_200) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %912 = stablehlo.broadcast_in_dim %911, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x256xf32>
    %913 = stablehlo.add %905, %912 : tensor<16x64x256xf32>
    %cst_201 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %914 = stablehlo.reduce(%913 init: %cst_201) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %915 = stablehlo.reshape %914 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_202 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %916 = stablehlo.reduce(%915 init: %cst_202) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %917 = stablehlo.dot_general %913, %239, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x1024xf32>) -> tensor<256x1024xf32>
    %918 = stablehlo.transpose %917, dims = [1, 0] : (tensor<256x1024xf32>) -> tensor<1024x256xf32>
    %919 = stablehlo.dot_general %913, %arg28, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<1024x256xf32>) -> tensor<16x64x1024xf32>
    %920 = stablehlo.multiply %231, %919 : tensor<16x64x1024xf32>
    %921 = stablehlo.multiply %919, %235 : tensor<16x64x1024xf32>
    %cst_203 = stablehlo.constant dense<-1.12837923> : tensor<f32>
    %922 = stablehlo.broadcast_in_dim %cst_203, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %923 = stablehlo.multiply %922, %920 : tensor<16x64x1024xf32>
    %924 = stablehlo.multiply %923, %238 : tensor<16x64x1024xf32>
    %cst_204 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %925 = stablehlo.broadcast_in_dim %cst_204, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %926 = stablehlo.multiply %924, %925 : tensor<16x64x1024xf32>
    %927 = stablehlo.negate %926 : tensor<16x64x1024xf32>
    %cst_205 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %928 = stablehlo.broadcast_in_dim %cst_205, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %929 = stablehlo.multiply %928, %921 : tensor<16x64x1024xf32>
    %930 = stablehlo.add %927, %929 : tensor<16x64x1024xf32>
    %cst_206 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %931 = stablehlo.reduce(%930 init: %cst_206) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %932 = stablehlo.reshape %931 : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %cst_207 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %933 = stablehlo.reduce(%932 init: %cst_207) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %934 = stablehlo.dot_general %930, %225, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x1024xf32>, tensor<16x64x256xf32>) -> tensor<1024x256xf32>
    %935 = stablehlo.transpose %934, dims = [1, 0] : (tensor<1024x256xf32>) -> tensor<256x1024xf32>
    %936 = stablehlo.dot_general %930, %arg34, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x1024xf32>, tensor<256x1024xf32>) -> tensor<16x64x256xf32>
    %937 = stablehlo.add %913, %936 : tensor<16x64x256xf32>
    %cst_208 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %938 = stablehlo.reduce(%937 init: %cst_208) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %939 = stablehlo.reshape %938 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_209 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %940 = stablehlo.reduce(%939 init: %cst_209) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %941 = stablehlo.multiply %219, %937 : tensor<16x64x256xf32>
    %cst_210 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %942 = stablehlo.reduce(%941 init: %cst_210) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %943 = stablehlo.reshape %942 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %944 = stablehlo.broadcast_in_dim %220, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %945 = stablehlo.multiply %937, %944 : tensor<16x64x256xf32>
    %cst_211 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %946 = stablehlo.reduce(%943 init: %cst_211) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %947 = stablehlo.multiply %206, %945 : tensor<16x64x256xf32>
    %cst_212 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %948 = stablehlo.reduce(%947 init: %cst_212) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %949 = stablehlo.reshape %948 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %950 = stablehlo.broadcast_in_dim %214, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %951 = stablehlo.multiply %945, %950 : tensor<16x64x256xf32>
    %952 = stablehlo.multiply %949, %217 : tensor<16x64x1xf32>
    %cst_213 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %953 = stablehlo.broadcast_in_dim %cst_213, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %954 = stablehlo.divide %952, %953 : tensor<16x64x1xf32>
    %cst_214 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %955 = stablehlo.reduce(%954 init: %cst_214) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %956 = stablehlo.broadcast_in_dim %955, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x256xf32>
    %957 = stablehlo.multiply %206, %956 : tensor<16x64x256xf32>
    %958 = stablehlo.add %951, %957 : tensor<16x64x256xf32>
    %959 = stablehlo.multiply %956, %206 : tensor<16x64x256xf32>
    %960 = stablehlo.add %958, %959 : tensor<16x64x256xf32>
    %961 = stablehlo.negate %960 : tensor<16x64x256xf32>
    %cst_215 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %962 = stablehlo.reduce(%961 init: %cst_215) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %963 = stablehlo.reshape %962 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_216 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %964 = stablehlo.broadcast_in_dim %cst_216, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %965 = stablehlo.divide %963, %964 : tensor<16x64x1xf32>
    %cst_217 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %966 = stablehlo.reduce(%965 init: %cst_217) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %967 = stablehlo.broadcast_in_dim %966, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x256xf32>
    %968 = stablehlo.add %960, %967 : tensor<16x64x256xf32>
    %cst_218 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %969 = stablehlo.reduce(%968 init: %cst_218) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %970 = stablehlo.reshape %969 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_219 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %971 = stablehlo.reduce(%970 init: %cst_219) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %972 = stablehlo.dot_general %968, %195, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x256xf32>) -> tensor<256x256xf32>
    %973 = stablehlo.transpose %972, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %974 = stablehlo.dot_general %968, %arg30, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %975 = stablehlo.reshape %974 : (tensor<16x64x256xf32>) -> tensor<16x64x8x32xf32>
    %976 = stablehlo.transpose %975, dims = [0, 2, 3, 1] : (tensor<16x64x8x32xf32>) -> tensor<16x8x32x64xf32>
    %977 = stablehlo.dot_general %976, %173, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x8x32x64xf32>, tensor<16x64x8x32xf32>) -> tensor<16x8x64x64xf32>
    %978 = stablehlo.dot_general %976, %189, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x8x32x64xf32>, tensor<16x8x64x64xf32>) -> tensor<16x8x32x64xf32>
    %979 = stablehlo.transpose %978, dims = [0, 3, 1, 2] : (tensor<16x8x32x64xf32>) -> tensor<16x64x8x32xf32>
    %980 = stablehlo.broadcast_in_dim %192, dims = [0, 1, 2, 3] : (tensor<16x8x64x1xf32>) -> tensor<16x8x64x64xf32>
    %981 = stablehlo.multiply %977, %980 : tensor<16x8x64x64xf32>
    %982 = stablehlo.multiply %981, %185 : tensor<16x8x64x64xf32>
    %cst_220 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %983 = stablehlo.reduce(%982 init: %cst_220) applies stablehlo.add across dimensions = [3] : (tensor<16x8x64x64xf32>, tensor<f32>) -> tensor<16x8x64xf32>
    %984 = stablehlo.reshape %983 : (tensor<16x8x64xf32>) -> tensor<16x8x64x1xf32>
    %985 = stablehlo.negate %984 : tensor<16x8x64x1xf32>
    %986 = stablehlo.broadcast_in_dim %187, dims = [0, 1, 2, 3] : (tensor<16x8x64x1xf32>) -> tensor<16x8x64x64xf32>
    %987 = stablehlo.divide %977, %986 : tensor<16x8x64x64xf32>
    %cst_221 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %988 = stablehlo.reduce(%985 init: %cst_221) applies stablehlo.add across dimensions = [3] : (tensor<16x8x64x1xf32>, tensor<f32>) -> tensor<16x8x64xf32>
    %989 = stablehlo.broadcast_in_dim %988, dims = [0, 1, 2] : (tensor<16x8x64xf32>) -> tensor<16x8x64x64xf32>
    %990 = stablehlo.add %987, %989 : tensor<16x8x64x64xf32>
    %991 = stablehlo.multiply %990, %185 : tensor<16x8x64x64xf32>
    %cst_222 = stablehlo.constant dense<5.65685415> : tensor<f32>
    %992 = stablehlo.broadcast_in_dim %cst_222, dims = [] : (tensor<f32>) -> tensor<16x8x64x64xf32>
    %993 = stablehlo.divide %991, %992 : tensor<16x8x64x64xf32>
    %994 = stablehlo.dot_general %993, %163, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x64x64xf32>, tensor<16x64x8x32xf32>) -> tensor<16x8x64x32xf32>
    %995 = stablehlo.transpose %994, dims = [0, 2, 1, 3] : (tensor<16x8x64x32xf32>) -> tensor<16x64x8x32xf32>
    %996 = stablehlo.dot_general %993, %168, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x64x64xf32>, tensor<16x64x8x32xf32>) -> tensor<16x8x64x32xf32>
    %997 = stablehlo.transpose %996, dims = [0, 2, 1, 3] : (tensor<16x8x64x32xf32>) -> tensor<16x64x8x32xf32>
    %998 = stablehlo.reshape %979 : (tensor<16x64x8x32xf32>) -> tensor<16x64x256xf32>
    %cst_223 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %999 = stablehlo.reduce(%998 init: %cst_223) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1000 = stablehlo.reshape %999 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_224 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1001 = stablehlo.reduce(%1000 init: %cst_224) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1002 = stablehlo.dot_general %998, %158, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x256xf32>) -> tensor<256x256xf32>
    %1003 = stablehlo.transpose %1002, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %1004 = stablehlo.dot_general %998, %arg35, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %1005 = stablehlo.add %968, %1004 : tensor<16x64x256xf32>
    %1006 = stablehlo.reshape %995 : (tensor<16x64x8x32xf32>) -> tensor<16x64x256xf32>
    %cst_225 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1007 = stablehlo.reduce(%1006 init: %cst_225) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1008 = stablehlo.reshape %1007 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_226 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1009 = stablehlo.reduce(%1008 init: %cst_226) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1010 = stablehlo.dot_general %1006, %158, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x256xf32>) -> tensor<256x256xf32>
    %1011 = stablehlo.transpose %1010, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %1012 = stablehlo.dot_general %1006, %arg29, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %1013 = stablehlo.add %1005, %1012 : tensor<16x64x256xf32>
    %1014 = stablehlo.reshape %997 : (tensor<16x64x8x32xf32>) -> tensor<16x64x256xf32>
    %cst_227 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1015 = stablehlo.reduce(%1014 init: %cst_227) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1016 = stablehlo.reshape %1015 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_228 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1017 = stablehlo.reduce(%1016 init: %cst_228) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1018 = stablehlo.dot_general %1014, %158, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x256xf32>) -> tensor<256x256xf32>
    %1019 = stablehlo.transpose %1018, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %1020 = stablehlo.dot_general %1014, %arg31, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %1021 = stablehlo.add %1013, %1020 : tensor<16x64x256xf32>
    %cst_229 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1022 = stablehlo.reduce(%1021 init: %cst_229) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1023 = stablehlo.reshape %1022 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_230 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1024 = stablehlo.reduce(%1023 init: %cst_230) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1025 = stablehlo.multiply %152, %1021 : tensor<16x64x256xf32>
    %cst_231 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1026 = stablehlo.reduce(%1025 init: %cst_231) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1027 = stablehlo.reshape %1026 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %1028 = stablehlo.broadcast_in_dim %153, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %1029 = stablehlo.multiply %1021, %1028 : tensor<16x64x256xf32>
    %cst_232 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1030 = stablehlo.reduce(%1027 init: %cst_232) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1031 = stablehlo.multiply %139, %1029 : tensor<16x64x256xf32>
    %cst_233 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1032 = stablehlo.reduce(%1031 init: %cst_233) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %1033 = stablehlo.reshape %1032 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %1034 = stablehlo.broadcast_in_dim %147, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %1035 = stablehlo.multiply %1029, %1034 : tensor<16x64x256xf32>
    %1036 = stablehlo.multiply %1033, %150 : tensor<16x64x1xf32>
    %cst_234 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %1037 = stablehlo.broadcast_in_dim %cst_234, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %1038 = stablehlo.divide %1036, %1037 : tensor<16x64x1xf32>
    %cst_235 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1039 = stablehlo.reduce(%1038 init: %cst_235) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %1040 = stablehlo.broadcast_in_dim %1039, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x256xf32>
    %1041 = stablehlo.multiply %139, %1040 : tensor<16x64x256xf32>
    %1042 = stablehlo.add %1035, %1041 : tensor<16x64x256xf32>
    %1043 = stablehlo.multiply %1040, %139 : tensor<16x64x256xf32>
    %1044 = stablehlo.add %1042, %1043 : tensor<16x64x256xf32>
    %1045 = stablehlo.negate %1044 : tensor<16x64x256xf32>
    %cst_236 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1046 = stablehlo.reduce(%1045 init: %cst_236) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %1047 = stablehlo.reshape %1046 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_237 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %1048 = stablehlo.broadcast_in_dim %cst_237, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %1049 = stablehlo.divide %1047, %1048 : tensor<16x64x1xf32>
    %cst_238 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1050 = stablehlo.reduce(%1049 init: %cst_238) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %1051 = stablehlo.broadcast_in_dim %1050, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x256xf32>
    %1052 = stablehlo.add %1044, %1051 : tensor<16x64x256xf32>
    %cst_239 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1053 = stablehlo.reduce(%1052 init: %cst_239) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1054 = stablehlo.reshape %1053 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_240 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1055 = stablehlo.reduce(%1054 init: %cst_240) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1056 = stablehlo.dot_general %1052, %128, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x1024xf32>) -> tensor<256x1024xf32>
    %1057 = stablehlo.transpose %1056, dims = [1, 0] : (tensor<256x1024xf32>) -> tensor<1024x256xf32>
    %1058 = stablehlo.dot_general %1052, %arg12, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<1024x256xf32>) -> tensor<16x64x1024xf32>
    %1059 = stablehlo.multiply %120, %1058 : tensor<16x64x1024xf32>
    %1060 = stablehlo.multiply %1058, %124 : tensor<16x64x1024xf32>
    %cst_241 = stablehlo.constant dense<-1.12837923> : tensor<f32>
    %1061 = stablehlo.broadcast_in_dim %cst_241, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %1062 = stablehlo.multiply %1061, %1059 : tensor<16x64x1024xf32>
    %1063 = stablehlo.multiply %1062, %127 : tensor<16x64x1024xf32>
    %cst_242 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %1064 = stablehlo.broadcast_in_dim %cst_242, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %1065 = stablehlo.multiply %1063, %1064 : tensor<16x64x1024xf32>
    %1066 = stablehlo.negate %1065 : tensor<16x64x1024xf32>
    %cst_243 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %1067 = stablehlo.broadcast_in_dim %cst_243, dims = [] : (tensor<f32>) -> tensor<16x64x1024xf32>
    %1068 = stablehlo.multiply %1067, %1060 : tensor<16x64x1024xf32>
    %1069 = stablehlo.add %1066, %1068 : tensor<16x64x1024xf32>
    %cst_244 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1070 = stablehlo.reduce(%1069 init: %cst_244) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %1071 = stablehlo.reshape %1070 : (tensor<1024xf32>) -> tensor<1x1x1024xf32>
    %cst_245 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1072 = stablehlo.reduce(%1071 init: %cst_245) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %1073 = stablehlo.dot_general %1069, %114, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x1024xf32>, tensor<16x64x256xf32>) -> tensor<1024x256xf32>
    %1074 = stablehlo.transpose %1073, dims = [1, 0] : (tensor<1024x256xf32>) -> tensor<256x1024xf32>
    %1075 = stablehlo.dot_general %1069, %arg18, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x1024xf32>, tensor<256x1024xf32>) -> tensor<16x64x256xf32>
    %1076 = stablehlo.add %1052, %1075 : tensor<16x64x256xf32>
    %cst_246 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1077 = stablehlo.reduce(%1076 init: %cst_246) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1078 = stablehlo.reshape %1077 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_247 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1079 = stablehlo.reduce(%1078 init: %cst_247) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1080 = stablehlo.multiply %108, %1076 : tensor<16x64x256xf32>
    %cst_248 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1081 = stablehlo.reduce(%1080 init: %cst_248) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1082 = stablehlo.reshape %1081 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %1083 = stablehlo.broadcast_in_dim %109, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %1084 = stablehlo.multiply %1076, %1083 : tensor<16x64x256xf32>
    %cst_249 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1085 = stablehlo.reduce(%1082 init: %cst_249) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1086 = stablehlo.multiply %95, %1084 : tensor<16x64x256xf32>
    %cst_250 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1087 = stablehlo.reduce(%1086 init: %cst_250) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %1088 = stablehlo.reshape %1087 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %1089 = stablehlo.broadcast_in_dim %103, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %1090 = stablehlo.multiply %1084, %1089 : tensor<16x64x256xf32>
    %1091 = stablehlo.multiply %1088, %106 : tensor<16x64x1xf32>
    %cst_251 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %1092 = stablehlo.broadcast_in_dim %cst_251, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %1093 = stablehlo.divide %1091, %1092 : tensor<16x64x1xf32>
    %cst_252 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1094 = stablehlo.reduce(%1093 init: %cst_252) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %1095 = stablehlo.broadcast_in_dim %1094, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x256xf32>
    %1096 = stablehlo.multiply %95, %1095 : tensor<16x64x256xf32>
    %1097 = stablehlo.add %1090, %1096 : tensor<16x64x256xf32>
    %1098 = stablehlo.multiply %1095, %95 : tensor<16x64x256xf32>
    %1099 = stablehlo.add %1097, %1098 : tensor<16x64x256xf32>
    %1100 = stablehlo.negate %1099 : tensor<16x64x256xf32>
    %cst_253 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1101 = stablehlo.reduce(%1100 init: %cst_253) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %1102 = stablehlo.reshape %1101 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_254 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %1103 = stablehlo.broadcast_in_dim %cst_254, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %1104 = stablehlo.divide %1102, %1103 : tensor<16x64x1xf32>
    %cst_255 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1105 = stablehlo.reduce(%1104 init: %cst_255) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %1106 = stablehlo.broadcast_in_dim %1105, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x256xf32>
    %1107 = stablehlo.add %1099, %1106 : tensor<16x64x256xf32>
    %cst_256 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1108 = stablehlo.reduce(%1107 init: %cst_256) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1109 = stablehlo.reshape %1108 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_257 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1110 = stablehlo.reduce(%1109 init: %cst_257) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1111 = stablehlo.dot_general %1107, %84, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x256xf32>) -> tensor<256x256xf32>
    %1112 = stablehlo.transpose %1111, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %1113 = stablehlo.dot_general %1107, %arg14, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %1114 = stablehlo.reshape %1113 : (tensor<16x64x256xf32>) -> tensor<16x64x8x32xf32>
    %1115 = stablehlo.transpose %1114, dims = [0, 2, 3, 1] : (tensor<16x64x8x32xf32>) -> tensor<16x8x32x64xf32>
    %1116 = stablehlo.dot_general %1115, %62, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x8x32x64xf32>, tensor<16x64x8x32xf32>) -> tensor<16x8x64x64xf32>
    %1117 = stablehlo.dot_general %1115, %78, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<16x8x32x64xf32>, tensor<16x8x64x64xf32>) -> tensor<16x8x32x64xf32>
    %1118 = stablehlo.transpose %1117, dims = [0, 3, 1, 2] : (tensor<16x8x32x64xf32>) -> tensor<16x64x8x32xf32>
    %1119 = stablehlo.broadcast_in_dim %81, dims = [0, 1, 2, 3] : (tensor<16x8x64x1xf32>) -> tensor<16x8x64x64xf32>
    %1120 = stablehlo.multiply %1116, %1119 : tensor<16x8x64x64xf32>
    %1121 = stablehlo.multiply %1120, %74 : tensor<16x8x64x64xf32>
    %cst_258 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1122 = stablehlo.reduce(%1121 init: %cst_258) applies stablehlo.add across dimensions = [3] : (tensor<16x8x64x64xf32>, tensor<f32>) -> tensor<16x8x64xf32>
    %1123 = stablehlo.reshape %1122 : (tensor<16x8x64xf32>) -> tensor<16x8x64x1xf32>
    %1124 = stablehlo.negate %1123 : tensor<16x8x64x1xf32>
    %1125 = stablehlo.broadcast_in_dim %76, dims = [0, 1, 2, 3] : (tensor<16x8x64x1xf32>) -> tensor<16x8x64x64xf32>
    %1126 = stablehlo.divide %1116, %1125 : tensor<16x8x64x64xf32>
    %cst_259 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1127 = stablehlo.reduce(%1124 init: %cst_259) applies stablehlo.add across dimensions = [3] : (tensor<16x8x64x1xf32>, tensor<f32>) -> tensor<16x8x64xf32>
    %1128 = stablehlo.broadcast_in_dim %1127, dims = [0, 1, 2] : (tensor<16x8x64xf32>) -> tensor<16x8x64x64xf32>
    %1129 = stablehlo.add %1126, %1128 : tensor<16x8x64x64xf32>
    %1130 = stablehlo.multiply %1129, %74 : tensor<16x8x64x64xf32>
    %cst_260 = stablehlo.constant dense<5.65685415> : tensor<f32>
    %1131 = stablehlo.broadcast_in_dim %cst_260, dims = [] : (tensor<f32>) -> tensor<16x8x64x64xf32>
    %1132 = stablehlo.divide %1130, %1131 : tensor<16x8x64x64xf32>
    %1133 = stablehlo.dot_general %1132, %52, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x64x64xf32>, tensor<16x64x8x32xf32>) -> tensor<16x8x64x32xf32>
    %1134 = stablehlo.transpose %1133, dims = [0, 2, 1, 3] : (tensor<16x8x64x32xf32>) -> tensor<16x64x8x32xf32>
    %1135 = stablehlo.dot_general %1132, %57, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8x64x64xf32>, tensor<16x64x8x32xf32>) -> tensor<16x8x64x32xf32>
    %1136 = stablehlo.transpose %1135, dims = [0, 2, 1, 3] : (tensor<16x8x64x32xf32>) -> tensor<16x64x8x32xf32>
    %1137 = stablehlo.reshape %1118 : (tensor<16x64x8x32xf32>) -> tensor<16x64x256xf32>
    %cst_261 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1138 = stablehlo.reduce(%1137 init: %cst_261) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1139 = stablehlo.reshape %1138 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_262 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1140 = stablehlo.reduce(%1139 init: %cst_262) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1141 = stablehlo.dot_general %1137, %42, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x256xf32>) -> tensor<256x256xf32>
    %1142 = stablehlo.transpose %1141, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %1143 = stablehlo.dot_general %1137, %arg19, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %1144 = stablehlo.add %1107, %1143 : tensor<16x64x256xf32>
    %1145 = stablehlo.reshape %1134 : (tensor<16x64x8x32xf32>) -> tensor<16x64x256xf32>
    %cst_263 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1146 = stablehlo.reduce(%1145 init: %cst_263) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1147 = stablehlo.reshape %1146 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_264 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1148 = stablehlo.reduce(%1147 init: %cst_264) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1149 = stablehlo.dot_general %1145, %42, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x256xf32>) -> tensor<256x256xf32>
    %1150 = stablehlo.transpose %1149, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %1151 = stablehlo.dot_general %1145, %arg13, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %1152 = stablehlo.add %1144, %1151 : tensor<16x64x256xf32>
    %1153 = stablehlo.reshape %1136 : (tensor<16x64x8x32xf32>) -> tensor<16x64x256xf32>
    %cst_265 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1154 = stablehlo.reduce(%1153 init: %cst_265) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1155 = stablehlo.reshape %1154 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_266 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1156 = stablehlo.reduce(%1155 init: %cst_266) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1157 = stablehlo.dot_general %1153, %42, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<16x64x256xf32>) -> tensor<256x256xf32>
    %1158 = stablehlo.transpose %1157, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %1159 = stablehlo.dot_general %1153, %arg15, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x64x256xf32>, tensor<256x256xf32>) -> tensor<16x64x256xf32>
    %1160 = stablehlo.add %1152, %1159 : tensor<16x64x256xf32>
    %cst_267 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1161 = stablehlo.reduce(%1160 init: %cst_267) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1162 = stablehlo.reshape %1161 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %cst_268 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1163 = stablehlo.reduce(%1162 init: %cst_268) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1164 = stablehlo.multiply %36, %1160 : tensor<16x64x256xf32>
    %cst_269 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1165 = stablehlo.reduce(%1164 init: %cst_269) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1166 = stablehlo.reshape %1165 : (tensor<256xf32>) -> tensor<1x1x256xf32>
    %1167 = stablehlo.broadcast_in_dim %37, dims = [0, 1, 2] : (tensor<1x1x256xf32>) -> tensor<16x64x256xf32>
    %1168 = stablehlo.multiply %1160, %1167 : tensor<16x64x256xf32>
    %cst_270 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1169 = stablehlo.reduce(%1166 init: %cst_270) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %1170 = stablehlo.multiply %23, %1168 : tensor<16x64x256xf32>
    %cst_271 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1171 = stablehlo.reduce(%1170 init: %cst_271) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %1172 = stablehlo.reshape %1171 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %1173 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2] : (tensor<16x64x1xf32>) -> tensor<16x64x256xf32>
    %1174 = stablehlo.multiply %1168, %1173 : tensor<16x64x256xf32>
    %1175 = stablehlo.multiply %1172, %34 : tensor<16x64x1xf32>
    %cst_272 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %1176 = stablehlo.broadcast_in_dim %cst_272, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %1177 = stablehlo.divide %1175, %1176 : tensor<16x64x1xf32>
    %cst_273 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1178 = stablehlo.reduce(%1177 init: %cst_273) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %1179 = stablehlo.broadcast_in_dim %1178, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x256xf32>
    %1180 = stablehlo.multiply %23, %1179 : tensor<16x64x256xf32>
    %1181 = stablehlo.add %1174, %1180 : tensor<16x64x256xf32>
    %1182 = stablehlo.multiply %1179, %23 : tensor<16x64x256xf32>
    %1183 = stablehlo.add %1181, %1182 : tensor<16x64x256xf32>
    %1184 = stablehlo.negate %1183 : tensor<16x64x256xf32>
    %cst_274 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1185 = stablehlo.reduce(%1184 init: %cst_274) applies stablehlo.add across dimensions = [2] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<16x64xf32>
    %1186 = stablehlo.reshape %1185 : (tensor<16x64xf32>) -> tensor<16x64x1xf32>
    %cst_275 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %1187 = stablehlo.broadcast_in_dim %cst_275, dims = [] : (tensor<f32>) -> tensor<16x64x1xf32>
    %1188 = stablehlo.divide %1186, %1187 : tensor<16x64x1xf32>
    %cst_276 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1189 = stablehlo.reduce(%1188 init: %cst_276) applies stablehlo.add across dimensions = [2] : (tensor<16x64x1xf32>, tensor<f32>) -> tensor<16x64xf32>
    %1190 = stablehlo.broadcast_in_dim %1189, dims = [0, 1] : (tensor<16x64xf32>) -> tensor<16x64x256xf32>
    %1191 = stablehlo.add %1183, %1190 : tensor<16x64x256xf32>
    %cst_277 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1192 = stablehlo.reduce(%1191 init: %cst_277) applies stablehlo.add across dimensions = [0] : (tensor<16x64x256xf32>, tensor<f32>) -> tensor<64x256xf32>
    %1193 = stablehlo.reshape %1192 : (tensor<64x256xf32>) -> tensor<1x64x256xf32>
    %cst_278 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1194 = stablehlo.reduce(%1193 init: %cst_278) applies stablehlo.add across dimensions = [0] : (tensor<1x64x256xf32>, tensor<f32>) -> tensor<64x256xf32>
    %cst_279 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1195 = stablehlo.broadcast_in_dim %cst_279, dims = [] : (tensor<f32>) -> tensor<2x256xf32>
    %1196 = "stablehlo.scatter"(%1195, %12, %1191) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg228: tensor<f32>, %arg229: tensor<f32>):
      %2836 = stablehlo.add %arg228, %arg229 : tensor<f32>
      stablehlo.return %2836 : tensor<f32>
    }) : (tensor<2x256xf32>, tensor<16x64x1xi32>, tensor<16x64x256xf32>) -> tensor<2x256xf32>
    %cst_280 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1197 = stablehlo.broadcast_in_dim %cst_280, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1198 = "stablehlo.scatter"(%1197, %5, %1191) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg228: tensor<f32>, %arg229: tensor<f32>):
      %2836 = stablehlo.add %arg228, %arg229 : tensor<f32>
      stablehlo.return %2836 : tensor<f32>
    }) : (tensor<1024x256xf32>, tensor<16x64x1xi32>, tensor<16x64x256xf32>) -> tensor<1024x256xf32>
    %1199 = stablehlo.add %555, %1198 : tensor<1024x256xf32>
    %c_281 = stablehlo.constant dense<1> : tensor<i32>
    %1200 = stablehlo.add %arg74, %c_281 : tensor<i32>
    %cst_282 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1201 = stablehlo.broadcast_in_dim %cst_282, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1202 = stablehlo.multiply %1201, %arg75 : tensor<256xf32>
    %cst_283 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1203 = stablehlo.broadcast_in_dim %cst_283, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1204 = stablehlo.multiply %1203, %1163 : tensor<256xf32>
    %1205 = stablehlo.add %1202, %1204 : tensor<256xf32>
    %cst_284 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1206 = stablehlo.broadcast_in_dim %cst_284, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1207 = stablehlo.multiply %1206, %arg76 : tensor<256xf32>
    %cst_285 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1208 = stablehlo.broadcast_in_dim %cst_285, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1209 = stablehlo.multiply %1208, %558 : tensor<256xf32>
    %1210 = stablehlo.add %1207, %1209 : tensor<256xf32>
    %cst_286 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1211 = stablehlo.broadcast_in_dim %cst_286, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1212 = stablehlo.multiply %1211, %arg77 : tensor<256xf32>
    %cst_287 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1213 = stablehlo.broadcast_in_dim %cst_287, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1214 = stablehlo.multiply %1213, %600 : tensor<256xf32>
    %1215 = stablehlo.add %1212, %1214 : tensor<256xf32>
    %cst_288 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1216 = stablehlo.broadcast_in_dim %cst_288, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1217 = stablehlo.multiply %1216, %arg78 : tensor<1024xf32>
    %cst_289 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1218 = stablehlo.broadcast_in_dim %cst_289, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1219 = stablehlo.multiply %1218, %551 : tensor<1024xf32>
    %1220 = stablehlo.add %1217, %1219 : tensor<1024xf32>
    %cst_290 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1221 = stablehlo.broadcast_in_dim %cst_290, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1222 = stablehlo.multiply %1221, %arg79 : tensor<256xf32>
    %cst_291 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1223 = stablehlo.broadcast_in_dim %cst_291, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1224 = stablehlo.multiply %1223, %1079 : tensor<256xf32>
    %1225 = stablehlo.add %1222, %1224 : tensor<256xf32>
    %cst_292 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1226 = stablehlo.broadcast_in_dim %cst_292, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1227 = stablehlo.multiply %1226, %arg80 : tensor<256xf32>
    %cst_293 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1228 = stablehlo.broadcast_in_dim %cst_293, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1229 = stablehlo.multiply %1228, %1055 : tensor<256xf32>
    %1230 = stablehlo.add %1227, %1229 : tensor<256xf32>
    %cst_294 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1231 = stablehlo.broadcast_in_dim %cst_294, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1232 = stablehlo.multiply %1231, %arg81 : tensor<256xf32>
    %cst_295 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1233 = stablehlo.broadcast_in_dim %cst_295, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1234 = stablehlo.multiply %1233, %1024 : tensor<256xf32>
    %1235 = stablehlo.add %1232, %1234 : tensor<256xf32>
    %cst_296 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1236 = stablehlo.broadcast_in_dim %cst_296, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1237 = stablehlo.multiply %1236, %arg82 : tensor<256xf32>
    %cst_297 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1238 = stablehlo.broadcast_in_dim %cst_297, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1239 = stablehlo.multiply %1238, %1148 : tensor<256xf32>
    %1240 = stablehlo.add %1237, %1239 : tensor<256xf32>
    %cst_298 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1241 = stablehlo.broadcast_in_dim %cst_298, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1242 = stablehlo.multiply %1241, %arg83 : tensor<256xf32>
    %cst_299 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1243 = stablehlo.broadcast_in_dim %cst_299, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1244 = stablehlo.multiply %1243, %1110 : tensor<256xf32>
    %1245 = stablehlo.add %1242, %1244 : tensor<256xf32>
    %cst_300 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1246 = stablehlo.broadcast_in_dim %cst_300, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1247 = stablehlo.multiply %1246, %arg84 : tensor<256xf32>
    %cst_301 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1248 = stablehlo.broadcast_in_dim %cst_301, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1249 = stablehlo.multiply %1248, %1156 : tensor<256xf32>
    %1250 = stablehlo.add %1247, %1249 : tensor<256xf32>
    %cst_302 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1251 = stablehlo.broadcast_in_dim %cst_302, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1252 = stablehlo.multiply %1251, %arg85 : tensor<1024xf32>
    %cst_303 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1253 = stablehlo.broadcast_in_dim %cst_303, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1254 = stablehlo.multiply %1253, %1072 : tensor<1024xf32>
    %1255 = stablehlo.add %1252, %1254 : tensor<1024xf32>
    %cst_304 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1256 = stablehlo.broadcast_in_dim %cst_304, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1257 = stablehlo.multiply %1256, %arg86 : tensor<256xf32>
    %cst_305 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1258 = stablehlo.broadcast_in_dim %cst_305, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1259 = stablehlo.multiply %1258, %1140 : tensor<256xf32>
    %1260 = stablehlo.add %1257, %1259 : tensor<256xf32>
    %cst_306 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1261 = stablehlo.broadcast_in_dim %cst_306, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1262 = stablehlo.multiply %1261, %arg87 : tensor<1024x256xf32>
    %cst_307 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1263 = stablehlo.broadcast_in_dim %cst_307, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1264 = stablehlo.multiply %1263, %1057 : tensor<1024x256xf32>
    %1265 = stablehlo.add %1262, %1264 : tensor<1024x256xf32>
    %cst_308 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1266 = stablehlo.broadcast_in_dim %cst_308, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1267 = stablehlo.multiply %1266, %arg88 : tensor<256x256xf32>
    %cst_309 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1268 = stablehlo.broadcast_in_dim %cst_309, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1269 = stablehlo.multiply %1268, %1150 : tensor<256x256xf32>
    %1270 = stablehlo.add %1267, %1269 : tensor<256x256xf32>
    %cst_310 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1271 = stablehlo.broadcast_in_dim %cst_310, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1272 = stablehlo.multiply %1271, %arg89 : tensor<256x256xf32>
    %cst_311 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1273 = stablehlo.broadcast_in_dim %cst_311, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1274 = stablehlo.multiply %1273, %1112 : tensor<256x256xf32>
    %1275 = stablehlo.add %1272, %1274 : tensor<256x256xf32>
    %cst_312 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1276 = stablehlo.broadcast_in_dim %cst_312, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1277 = stablehlo.multiply %1276, %arg90 : tensor<256x256xf32>
    %cst_313 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1278 = stablehlo.broadcast_in_dim %cst_313, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1279 = stablehlo.multiply %1278, %1158 : tensor<256x256xf32>
    %1280 = stablehlo.add %1277, %1279 : tensor<256x256xf32>
    %cst_314 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1281 = stablehlo.broadcast_in_dim %cst_314, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1282 = stablehlo.multiply %1281, %arg91 : tensor<256xf32>
    %cst_315 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1283 = stablehlo.broadcast_in_dim %cst_315, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1284 = stablehlo.multiply %1283, %1085 : tensor<256xf32>
    %1285 = stablehlo.add %1282, %1284 : tensor<256xf32>
    %cst_316 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1286 = stablehlo.broadcast_in_dim %cst_316, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1287 = stablehlo.multiply %1286, %arg92 : tensor<256xf32>
    %cst_317 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1288 = stablehlo.broadcast_in_dim %cst_317, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1289 = stablehlo.multiply %1288, %1030 : tensor<256xf32>
    %1290 = stablehlo.add %1287, %1289 : tensor<256xf32>
    %cst_318 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1291 = stablehlo.broadcast_in_dim %cst_318, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %1292 = stablehlo.multiply %1291, %arg93 : tensor<256x1024xf32>
    %cst_319 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1293 = stablehlo.broadcast_in_dim %cst_319, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %1294 = stablehlo.multiply %1293, %1074 : tensor<256x1024xf32>
    %1295 = stablehlo.add %1292, %1294 : tensor<256x1024xf32>
    %cst_320 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1296 = stablehlo.broadcast_in_dim %cst_320, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1297 = stablehlo.multiply %1296, %arg94 : tensor<256x256xf32>
    %cst_321 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1298 = stablehlo.broadcast_in_dim %cst_321, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1299 = stablehlo.multiply %1298, %1142 : tensor<256x256xf32>
    %1300 = stablehlo.add %1297, %1299 : tensor<256x256xf32>
    %cst_322 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1301 = stablehlo.broadcast_in_dim %cst_322, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1302 = stablehlo.multiply %1301, %arg95 : tensor<256xf32>
    %cst_323 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1303 = stablehlo.broadcast_in_dim %cst_323, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1304 = stablehlo.multiply %1303, %940 : tensor<256xf32>
    %1305 = stablehlo.add %1302, %1304 : tensor<256xf32>
    %cst_324 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1306 = stablehlo.broadcast_in_dim %cst_324, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1307 = stablehlo.multiply %1306, %arg96 : tensor<256xf32>
    %cst_325 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1308 = stablehlo.broadcast_in_dim %cst_325, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1309 = stablehlo.multiply %1308, %916 : tensor<256xf32>
    %1310 = stablehlo.add %1307, %1309 : tensor<256xf32>
    %cst_326 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1311 = stablehlo.broadcast_in_dim %cst_326, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1312 = stablehlo.multiply %1311, %arg97 : tensor<256xf32>
    %cst_327 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1313 = stablehlo.broadcast_in_dim %cst_327, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1314 = stablehlo.multiply %1313, %885 : tensor<256xf32>
    %1315 = stablehlo.add %1312, %1314 : tensor<256xf32>
    %cst_328 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1316 = stablehlo.broadcast_in_dim %cst_328, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1317 = stablehlo.multiply %1316, %arg98 : tensor<256xf32>
    %cst_329 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1318 = stablehlo.broadcast_in_dim %cst_329, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1319 = stablehlo.multiply %1318, %1009 : tensor<256xf32>
    %1320 = stablehlo.add %1317, %1319 : tensor<256xf32>
    %cst_330 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1321 = stablehlo.broadcast_in_dim %cst_330, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1322 = stablehlo.multiply %1321, %arg99 : tensor<256xf32>
    %cst_331 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1323 = stablehlo.broadcast_in_dim %cst_331, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1324 = stablehlo.multiply %1323, %971 : tensor<256xf32>
    %1325 = stablehlo.add %1322, %1324 : tensor<256xf32>
    %cst_332 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1326 = stablehlo.broadcast_in_dim %cst_332, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1327 = stablehlo.multiply %1326, %arg100 : tensor<256xf32>
    %cst_333 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1328 = stablehlo.broadcast_in_dim %cst_333, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1329 = stablehlo.multiply %1328, %1017 : tensor<256xf32>
    %1330 = stablehlo.add %1327, %1329 : tensor<256xf32>
    %cst_334 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1331 = stablehlo.broadcast_in_dim %cst_334, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1332 = stablehlo.multiply %1331, %arg101 : tensor<1024xf32>
    %cst_335 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1333 = stablehlo.broadcast_in_dim %cst_335, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1334 = stablehlo.multiply %1333, %933 : tensor<1024xf32>
    %1335 = stablehlo.add %1332, %1334 : tensor<1024xf32>
    %cst_336 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1336 = stablehlo.broadcast_in_dim %cst_336, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1337 = stablehlo.multiply %1336, %arg102 : tensor<256xf32>
    %cst_337 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1338 = stablehlo.broadcast_in_dim %cst_337, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1339 = stablehlo.multiply %1338, %1001 : tensor<256xf32>
    %1340 = stablehlo.add %1337, %1339 : tensor<256xf32>
    %cst_338 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1341 = stablehlo.broadcast_in_dim %cst_338, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1342 = stablehlo.multiply %1341, %arg103 : tensor<1024x256xf32>
    %cst_339 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1343 = stablehlo.broadcast_in_dim %cst_339, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1344 = stablehlo.multiply %1343, %918 : tensor<1024x256xf32>
    %1345 = stablehlo.add %1342, %1344 : tensor<1024x256xf32>
    %cst_340 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1346 = stablehlo.broadcast_in_dim %cst_340, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1347 = stablehlo.multiply %1346, %arg104 : tensor<256x256xf32>
    %cst_341 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1348 = stablehlo.broadcast_in_dim %cst_341, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1349 = stablehlo.multiply %1348, %1011 : tensor<256x256xf32>
    %1350 = stablehlo.add %1347, %1349 : tensor<256x256xf32>
    %cst_342 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1351 = stablehlo.broadcast_in_dim %cst_342, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1352 = stablehlo.multiply %1351, %arg105 : tensor<256x256xf32>
    %cst_343 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1353 = stablehlo.broadcast_in_dim %cst_343, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1354 = stablehlo.multiply %1353, %973 : tensor<256x256xf32>
    %1355 = stablehlo.add %1352, %1354 : tensor<256x256xf32>
    %cst_344 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1356 = stablehlo.broadcast_in_dim %cst_344, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1357 = stablehlo.multiply %1356, %arg106 : tensor<256x256xf32>
    %cst_345 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1358 = stablehlo.broadcast_in_dim %cst_345, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1359 = stablehlo.multiply %1358, %1019 : tensor<256x256xf32>
    %1360 = stablehlo.add %1357, %1359 : tensor<256x256xf32>
    %cst_346 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1361 = stablehlo.broadcast_in_dim %cst_346, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1362 = stablehlo.multiply %1361, %arg107 : tensor<256xf32>
    %cst_347 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1363 = stablehlo.broadcast_in_dim %cst_347, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1364 = stablehlo.multiply %1363, %946 : tensor<256xf32>
    %1365 = stablehlo.add %1362, %1364 : tensor<256xf32>
    %cst_348 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1366 = stablehlo.broadcast_in_dim %cst_348, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1367 = stablehlo.multiply %1366, %arg108 : tensor<256xf32>
    %cst_349 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1368 = stablehlo.broadcast_in_dim %cst_349, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1369 = stablehlo.multiply %1368, %891 : tensor<256xf32>
    %1370 = stablehlo.add %1367, %1369 : tensor<256xf32>
    %cst_350 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1371 = stablehlo.broadcast_in_dim %cst_350, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %1372 = stablehlo.multiply %1371, %arg109 : tensor<256x1024xf32>
    %cst_351 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1373 = stablehlo.broadcast_in_dim %cst_351, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %1374 = stablehlo.multiply %1373, %935 : tensor<256x1024xf32>
    %1375 = stablehlo.add %1372, %1374 : tensor<256x1024xf32>
    %cst_352 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1376 = stablehlo.broadcast_in_dim %cst_352, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1377 = stablehlo.multiply %1376, %arg110 : tensor<256x256xf32>
    %cst_353 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1378 = stablehlo.broadcast_in_dim %cst_353, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1379 = stablehlo.multiply %1378, %1003 : tensor<256x256xf32>
    %1380 = stablehlo.add %1377, %1379 : tensor<256x256xf32>
    %cst_354 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1381 = stablehlo.broadcast_in_dim %cst_354, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1382 = stablehlo.multiply %1381, %arg111 : tensor<256xf32>
    %cst_355 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1383 = stablehlo.broadcast_in_dim %cst_355, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1384 = stablehlo.multiply %1383, %801 : tensor<256xf32>
    %1385 = stablehlo.add %1382, %1384 : tensor<256xf32>
    %cst_356 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1386 = stablehlo.broadcast_in_dim %cst_356, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1387 = stablehlo.multiply %1386, %arg112 : tensor<256xf32>
    %cst_357 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1388 = stablehlo.broadcast_in_dim %cst_357, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1389 = stablehlo.multiply %1388, %777 : tensor<256xf32>
    %1390 = stablehlo.add %1387, %1389 : tensor<256xf32>
    %cst_358 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1391 = stablehlo.broadcast_in_dim %cst_358, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1392 = stablehlo.multiply %1391, %arg113 : tensor<256xf32>
    %cst_359 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1393 = stablehlo.broadcast_in_dim %cst_359, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1394 = stablehlo.multiply %1393, %746 : tensor<256xf32>
    %1395 = stablehlo.add %1392, %1394 : tensor<256xf32>
    %cst_360 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1396 = stablehlo.broadcast_in_dim %cst_360, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1397 = stablehlo.multiply %1396, %arg114 : tensor<256xf32>
    %cst_361 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1398 = stablehlo.broadcast_in_dim %cst_361, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1399 = stablehlo.multiply %1398, %870 : tensor<256xf32>
    %1400 = stablehlo.add %1397, %1399 : tensor<256xf32>
    %cst_362 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1401 = stablehlo.broadcast_in_dim %cst_362, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1402 = stablehlo.multiply %1401, %arg115 : tensor<256xf32>
    %cst_363 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1403 = stablehlo.broadcast_in_dim %cst_363, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1404 = stablehlo.multiply %1403, %832 : tensor<256xf32>
    %1405 = stablehlo.add %1402, %1404 : tensor<256xf32>
    %cst_364 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1406 = stablehlo.broadcast_in_dim %cst_364, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1407 = stablehlo.multiply %1406, %arg116 : tensor<256xf32>
    %cst_365 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1408 = stablehlo.broadcast_in_dim %cst_365, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1409 = stablehlo.multiply %1408, %878 : tensor<256xf32>
    %1410 = stablehlo.add %1407, %1409 : tensor<256xf32>
    %cst_366 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1411 = stablehlo.broadcast_in_dim %cst_366, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1412 = stablehlo.multiply %1411, %arg117 : tensor<1024xf32>
    %cst_367 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1413 = stablehlo.broadcast_in_dim %cst_367, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1414 = stablehlo.multiply %1413, %794 : tensor<1024xf32>
    %1415 = stablehlo.add %1412, %1414 : tensor<1024xf32>
    %cst_368 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1416 = stablehlo.broadcast_in_dim %cst_368, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1417 = stablehlo.multiply %1416, %arg118 : tensor<256xf32>
    %cst_369 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1418 = stablehlo.broadcast_in_dim %cst_369, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1419 = stablehlo.multiply %1418, %862 : tensor<256xf32>
    %1420 = stablehlo.add %1417, %1419 : tensor<256xf32>
    %cst_370 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1421 = stablehlo.broadcast_in_dim %cst_370, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1422 = stablehlo.multiply %1421, %arg119 : tensor<1024x256xf32>
    %cst_371 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1423 = stablehlo.broadcast_in_dim %cst_371, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1424 = stablehlo.multiply %1423, %779 : tensor<1024x256xf32>
    %1425 = stablehlo.add %1422, %1424 : tensor<1024x256xf32>
    %cst_372 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1426 = stablehlo.broadcast_in_dim %cst_372, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1427 = stablehlo.multiply %1426, %arg120 : tensor<256x256xf32>
    %cst_373 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1428 = stablehlo.broadcast_in_dim %cst_373, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1429 = stablehlo.multiply %1428, %872 : tensor<256x256xf32>
    %1430 = stablehlo.add %1427, %1429 : tensor<256x256xf32>
    %cst_374 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1431 = stablehlo.broadcast_in_dim %cst_374, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1432 = stablehlo.multiply %1431, %arg121 : tensor<256x256xf32>
    %cst_375 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1433 = stablehlo.broadcast_in_dim %cst_375, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1434 = stablehlo.multiply %1433, %834 : tensor<256x256xf32>
    %1435 = stablehlo.add %1432, %1434 : tensor<256x256xf32>
    %cst_376 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1436 = stablehlo.broadcast_in_dim %cst_376, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1437 = stablehlo.multiply %1436, %arg122 : tensor<256x256xf32>
    %cst_377 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1438 = stablehlo.broadcast_in_dim %cst_377, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1439 = stablehlo.multiply %1438, %880 : tensor<256x256xf32>
    %1440 = stablehlo.add %1437, %1439 : tensor<256x256xf32>
    %cst_378 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1441 = stablehlo.broadcast_in_dim %cst_378, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1442 = stablehlo.multiply %1441, %arg123 : tensor<256xf32>
    %cst_379 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1443 = stablehlo.broadcast_in_dim %cst_379, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1444 = stablehlo.multiply %1443, %807 : tensor<256xf32>
    %1445 = stablehlo.add %1442, %1444 : tensor<256xf32>
    %cst_380 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1446 = stablehlo.broadcast_in_dim %cst_380, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1447 = stablehlo.multiply %1446, %arg124 : tensor<256xf32>
    %cst_381 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1448 = stablehlo.broadcast_in_dim %cst_381, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1449 = stablehlo.multiply %1448, %752 : tensor<256xf32>
    %1450 = stablehlo.add %1447, %1449 : tensor<256xf32>
    %cst_382 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1451 = stablehlo.broadcast_in_dim %cst_382, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %1452 = stablehlo.multiply %1451, %arg125 : tensor<256x1024xf32>
    %cst_383 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1453 = stablehlo.broadcast_in_dim %cst_383, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %1454 = stablehlo.multiply %1453, %796 : tensor<256x1024xf32>
    %1455 = stablehlo.add %1452, %1454 : tensor<256x1024xf32>
    %cst_384 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1456 = stablehlo.broadcast_in_dim %cst_384, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1457 = stablehlo.multiply %1456, %arg126 : tensor<256x256xf32>
    %cst_385 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1458 = stablehlo.broadcast_in_dim %cst_385, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1459 = stablehlo.multiply %1458, %864 : tensor<256x256xf32>
    %1460 = stablehlo.add %1457, %1459 : tensor<256x256xf32>
    %cst_386 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1461 = stablehlo.broadcast_in_dim %cst_386, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1462 = stablehlo.multiply %1461, %arg127 : tensor<256xf32>
    %cst_387 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1463 = stablehlo.broadcast_in_dim %cst_387, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1464 = stablehlo.multiply %1463, %662 : tensor<256xf32>
    %1465 = stablehlo.add %1462, %1464 : tensor<256xf32>
    %cst_388 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1466 = stablehlo.broadcast_in_dim %cst_388, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1467 = stablehlo.multiply %1466, %arg128 : tensor<256xf32>
    %cst_389 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1468 = stablehlo.broadcast_in_dim %cst_389, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1469 = stablehlo.multiply %1468, %638 : tensor<256xf32>
    %1470 = stablehlo.add %1467, %1469 : tensor<256xf32>
    %cst_390 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1471 = stablehlo.broadcast_in_dim %cst_390, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1472 = stablehlo.multiply %1471, %arg129 : tensor<256xf32>
    %cst_391 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1473 = stablehlo.broadcast_in_dim %cst_391, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1474 = stablehlo.multiply %1473, %607 : tensor<256xf32>
    %1475 = stablehlo.add %1472, %1474 : tensor<256xf32>
    %cst_392 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1476 = stablehlo.broadcast_in_dim %cst_392, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1477 = stablehlo.multiply %1476, %arg130 : tensor<256xf32>
    %cst_393 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1478 = stablehlo.broadcast_in_dim %cst_393, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1479 = stablehlo.multiply %1478, %731 : tensor<256xf32>
    %1480 = stablehlo.add %1477, %1479 : tensor<256xf32>
    %cst_394 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1481 = stablehlo.broadcast_in_dim %cst_394, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1482 = stablehlo.multiply %1481, %arg131 : tensor<256xf32>
    %cst_395 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1483 = stablehlo.broadcast_in_dim %cst_395, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1484 = stablehlo.multiply %1483, %693 : tensor<256xf32>
    %1485 = stablehlo.add %1482, %1484 : tensor<256xf32>
    %cst_396 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1486 = stablehlo.broadcast_in_dim %cst_396, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1487 = stablehlo.multiply %1486, %arg132 : tensor<256xf32>
    %cst_397 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1488 = stablehlo.broadcast_in_dim %cst_397, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1489 = stablehlo.multiply %1488, %739 : tensor<256xf32>
    %1490 = stablehlo.add %1487, %1489 : tensor<256xf32>
    %cst_398 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1491 = stablehlo.broadcast_in_dim %cst_398, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1492 = stablehlo.multiply %1491, %arg133 : tensor<1024xf32>
    %cst_399 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1493 = stablehlo.broadcast_in_dim %cst_399, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1494 = stablehlo.multiply %1493, %655 : tensor<1024xf32>
    %1495 = stablehlo.add %1492, %1494 : tensor<1024xf32>
    %cst_400 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1496 = stablehlo.broadcast_in_dim %cst_400, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1497 = stablehlo.multiply %1496, %arg134 : tensor<256xf32>
    %cst_401 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1498 = stablehlo.broadcast_in_dim %cst_401, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1499 = stablehlo.multiply %1498, %723 : tensor<256xf32>
    %1500 = stablehlo.add %1497, %1499 : tensor<256xf32>
    %cst_402 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1501 = stablehlo.broadcast_in_dim %cst_402, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1502 = stablehlo.multiply %1501, %arg135 : tensor<1024x256xf32>
    %cst_403 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1503 = stablehlo.broadcast_in_dim %cst_403, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1504 = stablehlo.multiply %1503, %640 : tensor<1024x256xf32>
    %1505 = stablehlo.add %1502, %1504 : tensor<1024x256xf32>
    %cst_404 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1506 = stablehlo.broadcast_in_dim %cst_404, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1507 = stablehlo.multiply %1506, %arg136 : tensor<256x256xf32>
    %cst_405 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1508 = stablehlo.broadcast_in_dim %cst_405, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1509 = stablehlo.multiply %1508, %733 : tensor<256x256xf32>
    %1510 = stablehlo.add %1507, %1509 : tensor<256x256xf32>
    %cst_406 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1511 = stablehlo.broadcast_in_dim %cst_406, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1512 = stablehlo.multiply %1511, %arg137 : tensor<256x256xf32>
    %cst_407 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1513 = stablehlo.broadcast_in_dim %cst_407, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1514 = stablehlo.multiply %1513, %695 : tensor<256x256xf32>
    %1515 = stablehlo.add %1512, %1514 : tensor<256x256xf32>
    %cst_408 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1516 = stablehlo.broadcast_in_dim %cst_408, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1517 = stablehlo.multiply %1516, %arg138 : tensor<256x256xf32>
    %cst_409 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1518 = stablehlo.broadcast_in_dim %cst_409, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1519 = stablehlo.multiply %1518, %741 : tensor<256x256xf32>
    %1520 = stablehlo.add %1517, %1519 : tensor<256x256xf32>
    %cst_410 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1521 = stablehlo.broadcast_in_dim %cst_410, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1522 = stablehlo.multiply %1521, %arg139 : tensor<256xf32>
    %cst_411 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1523 = stablehlo.broadcast_in_dim %cst_411, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1524 = stablehlo.multiply %1523, %668 : tensor<256xf32>
    %1525 = stablehlo.add %1522, %1524 : tensor<256xf32>
    %cst_412 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1526 = stablehlo.broadcast_in_dim %cst_412, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1527 = stablehlo.multiply %1526, %arg140 : tensor<256xf32>
    %cst_413 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1528 = stablehlo.broadcast_in_dim %cst_413, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1529 = stablehlo.multiply %1528, %613 : tensor<256xf32>
    %1530 = stablehlo.add %1527, %1529 : tensor<256xf32>
    %cst_414 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1531 = stablehlo.broadcast_in_dim %cst_414, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %1532 = stablehlo.multiply %1531, %arg141 : tensor<256x1024xf32>
    %cst_415 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1533 = stablehlo.broadcast_in_dim %cst_415, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %1534 = stablehlo.multiply %1533, %657 : tensor<256x1024xf32>
    %1535 = stablehlo.add %1532, %1534 : tensor<256x1024xf32>
    %cst_416 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1536 = stablehlo.broadcast_in_dim %cst_416, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1537 = stablehlo.multiply %1536, %arg142 : tensor<256x256xf32>
    %cst_417 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1538 = stablehlo.broadcast_in_dim %cst_417, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1539 = stablehlo.multiply %1538, %725 : tensor<256x256xf32>
    %1540 = stablehlo.add %1537, %1539 : tensor<256x256xf32>
    %cst_418 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1541 = stablehlo.broadcast_in_dim %cst_418, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1542 = stablehlo.multiply %1541, %arg143 : tensor<256xf32>
    %cst_419 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1543 = stablehlo.broadcast_in_dim %cst_419, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1544 = stablehlo.multiply %1543, %1169 : tensor<256xf32>
    %1545 = stablehlo.add %1542, %1544 : tensor<256xf32>
    %cst_420 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1546 = stablehlo.broadcast_in_dim %cst_420, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1547 = stablehlo.multiply %1546, %arg144 : tensor<256xf32>
    %cst_421 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1548 = stablehlo.broadcast_in_dim %cst_421, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1549 = stablehlo.multiply %1548, %564 : tensor<256xf32>
    %1550 = stablehlo.add %1547, %1549 : tensor<256xf32>
    %cst_422 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1551 = stablehlo.broadcast_in_dim %cst_422, dims = [] : (tensor<f32>) -> tensor<64x256xf32>
    %1552 = stablehlo.multiply %1551, %arg145 : tensor<64x256xf32>
    %cst_423 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1553 = stablehlo.broadcast_in_dim %cst_423, dims = [] : (tensor<f32>) -> tensor<64x256xf32>
    %1554 = stablehlo.multiply %1553, %1194 : tensor<64x256xf32>
    %1555 = stablehlo.add %1552, %1554 : tensor<64x256xf32>
    %cst_424 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1556 = stablehlo.broadcast_in_dim %cst_424, dims = [] : (tensor<f32>) -> tensor<2x256xf32>
    %1557 = stablehlo.multiply %1556, %arg146 : tensor<2x256xf32>
    %cst_425 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1558 = stablehlo.broadcast_in_dim %cst_425, dims = [] : (tensor<f32>) -> tensor<2x256xf32>
    %1559 = stablehlo.multiply %1558, %1196 : tensor<2x256xf32>
    %1560 = stablehlo.add %1557, %1559 : tensor<2x256xf32>
    %cst_426 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1561 = stablehlo.broadcast_in_dim %cst_426, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1562 = stablehlo.multiply %1561, %arg147 : tensor<1024x256xf32>
    %cst_427 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1563 = stablehlo.broadcast_in_dim %cst_427, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1564 = stablehlo.multiply %1563, %1199 : tensor<1024x256xf32>
    %1565 = stablehlo.add %1562, %1564 : tensor<1024x256xf32>
    %cst_428 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %1566 = stablehlo.broadcast_in_dim %cst_428, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1567 = stablehlo.multiply %1566, %arg148 : tensor<256x256xf32>
    %cst_429 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1568 = stablehlo.broadcast_in_dim %cst_429, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1569 = stablehlo.multiply %1568, %602 : tensor<256x256xf32>
    %1570 = stablehlo.add %1567, %1569 : tensor<256x256xf32>
    %cst_430 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1571 = stablehlo.broadcast_in_dim %cst_430, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1572 = stablehlo.multiply %1571, %arg149 : tensor<256xf32>
    %cst_431 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1573 = stablehlo.broadcast_in_dim %cst_431, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1574 = stablehlo.multiply %1573, %1163 : tensor<256xf32>
    %1575 = stablehlo.multiply %1574, %1163 : tensor<256xf32>
    %1576 = stablehlo.add %1572, %1575 : tensor<256xf32>
    %cst_432 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1577 = stablehlo.broadcast_in_dim %cst_432, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1578 = stablehlo.multiply %1577, %arg150 : tensor<256xf32>
    %cst_433 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1579 = stablehlo.broadcast_in_dim %cst_433, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1580 = stablehlo.multiply %1579, %558 : tensor<256xf32>
    %1581 = stablehlo.multiply %1580, %558 : tensor<256xf32>
    %1582 = stablehlo.add %1578, %1581 : tensor<256xf32>
    %cst_434 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1583 = stablehlo.broadcast_in_dim %cst_434, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1584 = stablehlo.multiply %1583, %arg151 : tensor<256xf32>
    %cst_435 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1585 = stablehlo.broadcast_in_dim %cst_435, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1586 = stablehlo.multiply %1585, %600 : tensor<256xf32>
    %1587 = stablehlo.multiply %1586, %600 : tensor<256xf32>
    %1588 = stablehlo.add %1584, %1587 : tensor<256xf32>
    %cst_436 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1589 = stablehlo.broadcast_in_dim %cst_436, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1590 = stablehlo.multiply %1589, %arg152 : tensor<1024xf32>
    %cst_437 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1591 = stablehlo.broadcast_in_dim %cst_437, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1592 = stablehlo.multiply %1591, %551 : tensor<1024xf32>
    %1593 = stablehlo.multiply %1592, %551 : tensor<1024xf32>
    %1594 = stablehlo.add %1590, %1593 : tensor<1024xf32>
    %cst_438 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1595 = stablehlo.broadcast_in_dim %cst_438, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1596 = stablehlo.multiply %1595, %arg153 : tensor<256xf32>
    %cst_439 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1597 = stablehlo.broadcast_in_dim %cst_439, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1598 = stablehlo.multiply %1597, %1079 : tensor<256xf32>
    %1599 = stablehlo.multiply %1598, %1079 : tensor<256xf32>
    %1600 = stablehlo.add %1596, %1599 : tensor<256xf32>
    %cst_440 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1601 = stablehlo.broadcast_in_dim %cst_440, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1602 = stablehlo.multiply %1601, %arg154 : tensor<256xf32>
    %cst_441 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1603 = stablehlo.broadcast_in_dim %cst_441, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1604 = stablehlo.multiply %1603, %1055 : tensor<256xf32>
    %1605 = stablehlo.multiply %1604, %1055 : tensor<256xf32>
    %1606 = stablehlo.add %1602, %1605 : tensor<256xf32>
    %cst_442 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1607 = stablehlo.broadcast_in_dim %cst_442, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1608 = stablehlo.multiply %1607, %arg155 : tensor<256xf32>
    %cst_443 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1609 = stablehlo.broadcast_in_dim %cst_443, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1610 = stablehlo.multiply %1609, %1024 : tensor<256xf32>
    %1611 = stablehlo.multiply %1610, %1024 : tensor<256xf32>
    %1612 = stablehlo.add %1608, %1611 : tensor<256xf32>
    %cst_444 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1613 = stablehlo.broadcast_in_dim %cst_444, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1614 = stablehlo.multiply %1613, %arg156 : tensor<256xf32>
    %cst_445 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1615 = stablehlo.broadcast_in_dim %cst_445, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1616 = stablehlo.multiply %1615, %1148 : tensor<256xf32>
    %1617 = stablehlo.multiply %1616, %1148 : tensor<256xf32>
    %1618 = stablehlo.add %1614, %1617 : tensor<256xf32>
    %cst_446 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1619 = stablehlo.broadcast_in_dim %cst_446, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1620 = stablehlo.multiply %1619, %arg157 : tensor<256xf32>
    %cst_447 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1621 = stablehlo.broadcast_in_dim %cst_447, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1622 = stablehlo.multiply %1621, %1110 : tensor<256xf32>
    %1623 = stablehlo.multiply %1622, %1110 : tensor<256xf32>
    %1624 = stablehlo.add %1620, %1623 : tensor<256xf32>
    %cst_448 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1625 = stablehlo.broadcast_in_dim %cst_448, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1626 = stablehlo.multiply %1625, %arg158 : tensor<256xf32>
    %cst_449 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1627 = stablehlo.broadcast_in_dim %cst_449, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1628 = stablehlo.multiply %1627, %1156 : tensor<256xf32>
    %1629 = stablehlo.multiply %1628, %1156 : tensor<256xf32>
    %1630 = stablehlo.add %1626, %1629 : tensor<256xf32>
    %cst_450 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1631 = stablehlo.broadcast_in_dim %cst_450, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1632 = stablehlo.multiply %1631, %arg159 : tensor<1024xf32>
    %cst_451 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1633 = stablehlo.broadcast_in_dim %cst_451, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1634 = stablehlo.multiply %1633, %1072 : tensor<1024xf32>
    %1635 = stablehlo.multiply %1634, %1072 : tensor<1024xf32>
    %1636 = stablehlo.add %1632, %1635 : tensor<1024xf32>
    %cst_452 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1637 = stablehlo.broadcast_in_dim %cst_452, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1638 = stablehlo.multiply %1637, %arg160 : tensor<256xf32>
    %cst_453 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1639 = stablehlo.broadcast_in_dim %cst_453, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1640 = stablehlo.multiply %1639, %1140 : tensor<256xf32>
    %1641 = stablehlo.multiply %1640, %1140 : tensor<256xf32>
    %1642 = stablehlo.add %1638, %1641 : tensor<256xf32>
    %cst_454 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1643 = stablehlo.broadcast_in_dim %cst_454, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1644 = stablehlo.multiply %1643, %arg161 : tensor<1024x256xf32>
    %cst_455 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1645 = stablehlo.broadcast_in_dim %cst_455, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1646 = stablehlo.multiply %1645, %1057 : tensor<1024x256xf32>
    %1647 = stablehlo.multiply %1646, %1057 : tensor<1024x256xf32>
    %1648 = stablehlo.add %1644, %1647 : tensor<1024x256xf32>
    %cst_456 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1649 = stablehlo.broadcast_in_dim %cst_456, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1650 = stablehlo.multiply %1649, %arg162 : tensor<256x256xf32>
    %cst_457 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1651 = stablehlo.broadcast_in_dim %cst_457, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1652 = stablehlo.multiply %1651, %1150 : tensor<256x256xf32>
    %1653 = stablehlo.multiply %1652, %1150 : tensor<256x256xf32>
    %1654 = stablehlo.add %1650, %1653 : tensor<256x256xf32>
    %cst_458 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1655 = stablehlo.broadcast_in_dim %cst_458, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1656 = stablehlo.multiply %1655, %arg163 : tensor<256x256xf32>
    %cst_459 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1657 = stablehlo.broadcast_in_dim %cst_459, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1658 = stablehlo.multiply %1657, %1112 : tensor<256x256xf32>
    %1659 = stablehlo.multiply %1658, %1112 : tensor<256x256xf32>
    %1660 = stablehlo.add %1656, %1659 : tensor<256x256xf32>
    %cst_460 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1661 = stablehlo.broadcast_in_dim %cst_460, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1662 = stablehlo.multiply %1661, %arg164 : tensor<256x256xf32>
    %cst_461 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1663 = stablehlo.broadcast_in_dim %cst_461, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1664 = stablehlo.multiply %1663, %1158 : tensor<256x256xf32>
    %1665 = stablehlo.multiply %1664, %1158 : tensor<256x256xf32>
    %1666 = stablehlo.add %1662, %1665 : tensor<256x256xf32>
    %cst_462 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1667 = stablehlo.broadcast_in_dim %cst_462, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1668 = stablehlo.multiply %1667, %arg165 : tensor<256xf32>
    %cst_463 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1669 = stablehlo.broadcast_in_dim %cst_463, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1670 = stablehlo.multiply %1669, %1085 : tensor<256xf32>
    %1671 = stablehlo.multiply %1670, %1085 : tensor<256xf32>
    %1672 = stablehlo.add %1668, %1671 : tensor<256xf32>
    %cst_464 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1673 = stablehlo.broadcast_in_dim %cst_464, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1674 = stablehlo.multiply %1673, %arg166 : tensor<256xf32>
    %cst_465 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1675 = stablehlo.broadcast_in_dim %cst_465, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1676 = stablehlo.multiply %1675, %1030 : tensor<256xf32>
    %1677 = stablehlo.multiply %1676, %1030 : tensor<256xf32>
    %1678 = stablehlo.add %1674, %1677 : tensor<256xf32>
    %cst_466 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1679 = stablehlo.broadcast_in_dim %cst_466, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %1680 = stablehlo.multiply %1679, %arg167 : tensor<256x1024xf32>
    %cst_467 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1681 = stablehlo.broadcast_in_dim %cst_467, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %1682 = stablehlo.multiply %1681, %1074 : tensor<256x1024xf32>
    %1683 = stablehlo.multiply %1682, %1074 : tensor<256x1024xf32>
    %1684 = stablehlo.add %1680, %1683 : tensor<256x1024xf32>
    %cst_468 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1685 = stablehlo.broadcast_in_dim %cst_468, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1686 = stablehlo.multiply %1685, %arg168 : tensor<256x256xf32>
    %cst_469 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1687 = stablehlo.broadcast_in_dim %cst_469, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1688 = stablehlo.multiply %1687, %1142 : tensor<256x256xf32>
    %1689 = stablehlo.multiply %1688, %1142 : tensor<256x256xf32>
    %1690 = stablehlo.add %1686, %1689 : tensor<256x256xf32>
    %cst_470 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1691 = stablehlo.broadcast_in_dim %cst_470, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1692 = stablehlo.multiply %1691, %arg169 : tensor<256xf32>
    %cst_471 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1693 = stablehlo.broadcast_in_dim %cst_471, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1694 = stablehlo.multiply %1693, %940 : tensor<256xf32>
    %1695 = stablehlo.multiply %1694, %940 : tensor<256xf32>
    %1696 = stablehlo.add %1692, %1695 : tensor<256xf32>
    %cst_472 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1697 = stablehlo.broadcast_in_dim %cst_472, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1698 = stablehlo.multiply %1697, %arg170 : tensor<256xf32>
    %cst_473 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1699 = stablehlo.broadcast_in_dim %cst_473, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1700 = stablehlo.multiply %1699, %916 : tensor<256xf32>
    %1701 = stablehlo.multiply %1700, %916 : tensor<256xf32>
    %1702 = stablehlo.add %1698, %1701 : tensor<256xf32>
    %cst_474 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1703 = stablehlo.broadcast_in_dim %cst_474, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1704 = stablehlo.multiply %1703, %arg171 : tensor<256xf32>
    %cst_475 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1705 = stablehlo.broadcast_in_dim %cst_475, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1706 = stablehlo.multiply %1705, %885 : tensor<256xf32>
    %1707 = stablehlo.multiply %1706, %885 : tensor<256xf32>
    %1708 = stablehlo.add %1704, %1707 : tensor<256xf32>
    %cst_476 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1709 = stablehlo.broadcast_in_dim %cst_476, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1710 = stablehlo.multiply %1709, %arg172 : tensor<256xf32>
    %cst_477 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1711 = stablehlo.broadcast_in_dim %cst_477, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1712 = stablehlo.multiply %1711, %1009 : tensor<256xf32>
    %1713 = stablehlo.multiply %1712, %1009 : tensor<256xf32>
    %1714 = stablehlo.add %1710, %1713 : tensor<256xf32>
    %cst_478 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1715 = stablehlo.broadcast_in_dim %cst_478, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1716 = stablehlo.multiply %1715, %arg173 : tensor<256xf32>
    %cst_479 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1717 = stablehlo.broadcast_in_dim %cst_479, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1718 = stablehlo.multiply %1717, %971 : tensor<256xf32>
    %1719 = stablehlo.multiply %1718, %971 : tensor<256xf32>
    %1720 = stablehlo.add %1716, %1719 : tensor<256xf32>
    %cst_480 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1721 = stablehlo.broadcast_in_dim %cst_480, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1722 = stablehlo.multiply %1721, %arg174 : tensor<256xf32>
    %cst_481 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1723 = stablehlo.broadcast_in_dim %cst_481, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1724 = stablehlo.multiply %1723, %1017 : tensor<256xf32>
    %1725 = stablehlo.multiply %1724, %1017 : tensor<256xf32>
    %1726 = stablehlo.add %1722, %1725 : tensor<256xf32>
    %cst_482 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1727 = stablehlo.broadcast_in_dim %cst_482, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1728 = stablehlo.multiply %1727, %arg175 : tensor<1024xf32>
    %cst_483 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1729 = stablehlo.broadcast_in_dim %cst_483, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1730 = stablehlo.multiply %1729, %933 : tensor<1024xf32>
    %1731 = stablehlo.multiply %1730, %933 : tensor<1024xf32>
    %1732 = stablehlo.add %1728, %1731 : tensor<1024xf32>
    %cst_484 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1733 = stablehlo.broadcast_in_dim %cst_484, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1734 = stablehlo.multiply %1733, %arg176 : tensor<256xf32>
    %cst_485 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1735 = stablehlo.broadcast_in_dim %cst_485, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1736 = stablehlo.multiply %1735, %1001 : tensor<256xf32>
    %1737 = stablehlo.multiply %1736, %1001 : tensor<256xf32>
    %1738 = stablehlo.add %1734, %1737 : tensor<256xf32>
    %cst_486 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1739 = stablehlo.broadcast_in_dim %cst_486, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1740 = stablehlo.multiply %1739, %arg177 : tensor<1024x256xf32>
    %cst_487 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1741 = stablehlo.broadcast_in_dim %cst_487, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1742 = stablehlo.multiply %1741, %918 : tensor<1024x256xf32>
    %1743 = stablehlo.multiply %1742, %918 : tensor<1024x256xf32>
    %1744 = stablehlo.add %1740, %1743 : tensor<1024x256xf32>
    %cst_488 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1745 = stablehlo.broadcast_in_dim %cst_488, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1746 = stablehlo.multiply %1745, %arg178 : tensor<256x256xf32>
    %cst_489 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1747 = stablehlo.broadcast_in_dim %cst_489, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1748 = stablehlo.multiply %1747, %1011 : tensor<256x256xf32>
    %1749 = stablehlo.multiply %1748, %1011 : tensor<256x256xf32>
    %1750 = stablehlo.add %1746, %1749 : tensor<256x256xf32>
    %cst_490 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1751 = stablehlo.broadcast_in_dim %cst_490, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1752 = stablehlo.multiply %1751, %arg179 : tensor<256x256xf32>
    %cst_491 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1753 = stablehlo.broadcast_in_dim %cst_491, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1754 = stablehlo.multiply %1753, %973 : tensor<256x256xf32>
    %1755 = stablehlo.multiply %1754, %973 : tensor<256x256xf32>
    %1756 = stablehlo.add %1752, %1755 : tensor<256x256xf32>
    %cst_492 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1757 = stablehlo.broadcast_in_dim %cst_492, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1758 = stablehlo.multiply %1757, %arg180 : tensor<256x256xf32>
    %cst_493 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1759 = stablehlo.broadcast_in_dim %cst_493, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1760 = stablehlo.multiply %1759, %1019 : tensor<256x256xf32>
    %1761 = stablehlo.multiply %1760, %1019 : tensor<256x256xf32>
    %1762 = stablehlo.add %1758, %1761 : tensor<256x256xf32>
    %cst_494 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1763 = stablehlo.broadcast_in_dim %cst_494, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1764 = stablehlo.multiply %1763, %arg181 : tensor<256xf32>
    %cst_495 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1765 = stablehlo.broadcast_in_dim %cst_495, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1766 = stablehlo.multiply %1765, %946 : tensor<256xf32>
    %1767 = stablehlo.multiply %1766, %946 : tensor<256xf32>
    %1768 = stablehlo.add %1764, %1767 : tensor<256xf32>
    %cst_496 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1769 = stablehlo.broadcast_in_dim %cst_496, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1770 = stablehlo.multiply %1769, %arg182 : tensor<256xf32>
    %cst_497 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1771 = stablehlo.broadcast_in_dim %cst_497, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1772 = stablehlo.multiply %1771, %891 : tensor<256xf32>
    %1773 = stablehlo.multiply %1772, %891 : tensor<256xf32>
    %1774 = stablehlo.add %1770, %1773 : tensor<256xf32>
    %cst_498 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1775 = stablehlo.broadcast_in_dim %cst_498, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %1776 = stablehlo.multiply %1775, %arg183 : tensor<256x1024xf32>
    %cst_499 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1777 = stablehlo.broadcast_in_dim %cst_499, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %1778 = stablehlo.multiply %1777, %935 : tensor<256x1024xf32>
    %1779 = stablehlo.multiply %1778, %935 : tensor<256x1024xf32>
    %1780 = stablehlo.add %1776, %1779 : tensor<256x1024xf32>
    %cst_500 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1781 = stablehlo.broadcast_in_dim %cst_500, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1782 = stablehlo.multiply %1781, %arg184 : tensor<256x256xf32>
    %cst_501 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1783 = stablehlo.broadcast_in_dim %cst_501, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1784 = stablehlo.multiply %1783, %1003 : tensor<256x256xf32>
    %1785 = stablehlo.multiply %1784, %1003 : tensor<256x256xf32>
    %1786 = stablehlo.add %1782, %1785 : tensor<256x256xf32>
    %cst_502 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1787 = stablehlo.broadcast_in_dim %cst_502, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1788 = stablehlo.multiply %1787, %arg185 : tensor<256xf32>
    %cst_503 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1789 = stablehlo.broadcast_in_dim %cst_503, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1790 = stablehlo.multiply %1789, %801 : tensor<256xf32>
    %1791 = stablehlo.multiply %1790, %801 : tensor<256xf32>
    %1792 = stablehlo.add %1788, %1791 : tensor<256xf32>
    %cst_504 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1793 = stablehlo.broadcast_in_dim %cst_504, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1794 = stablehlo.multiply %1793, %arg186 : tensor<256xf32>
    %cst_505 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1795 = stablehlo.broadcast_in_dim %cst_505, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1796 = stablehlo.multiply %1795, %777 : tensor<256xf32>
    %1797 = stablehlo.multiply %1796, %777 : tensor<256xf32>
    %1798 = stablehlo.add %1794, %1797 : tensor<256xf32>
    %cst_506 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1799 = stablehlo.broadcast_in_dim %cst_506, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1800 = stablehlo.multiply %1799, %arg187 : tensor<256xf32>
    %cst_507 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1801 = stablehlo.broadcast_in_dim %cst_507, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1802 = stablehlo.multiply %1801, %746 : tensor<256xf32>
    %1803 = stablehlo.multiply %1802, %746 : tensor<256xf32>
    %1804 = stablehlo.add %1800, %1803 : tensor<256xf32>
    %cst_508 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1805 = stablehlo.broadcast_in_dim %cst_508, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1806 = stablehlo.multiply %1805, %arg188 : tensor<256xf32>
    %cst_509 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1807 = stablehlo.broadcast_in_dim %cst_509, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1808 = stablehlo.multiply %1807, %870 : tensor<256xf32>
    %1809 = stablehlo.multiply %1808, %870 : tensor<256xf32>
    %1810 = stablehlo.add %1806, %1809 : tensor<256xf32>
    %cst_510 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1811 = stablehlo.broadcast_in_dim %cst_510, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1812 = stablehlo.multiply %1811, %arg189 : tensor<256xf32>
    %cst_511 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1813 = stablehlo.broadcast_in_dim %cst_511, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1814 = stablehlo.multiply %1813, %832 : tensor<256xf32>
    %1815 = stablehlo.multiply %1814, %832 : tensor<256xf32>
    %1816 = stablehlo.add %1812, %1815 : tensor<256xf32>
    %cst_512 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1817 = stablehlo.broadcast_in_dim %cst_512, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1818 = stablehlo.multiply %1817, %arg190 : tensor<256xf32>
    %cst_513 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1819 = stablehlo.broadcast_in_dim %cst_513, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1820 = stablehlo.multiply %1819, %878 : tensor<256xf32>
    %1821 = stablehlo.multiply %1820, %878 : tensor<256xf32>
    %1822 = stablehlo.add %1818, %1821 : tensor<256xf32>
    %cst_514 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1823 = stablehlo.broadcast_in_dim %cst_514, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1824 = stablehlo.multiply %1823, %arg191 : tensor<1024xf32>
    %cst_515 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1825 = stablehlo.broadcast_in_dim %cst_515, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1826 = stablehlo.multiply %1825, %794 : tensor<1024xf32>
    %1827 = stablehlo.multiply %1826, %794 : tensor<1024xf32>
    %1828 = stablehlo.add %1824, %1827 : tensor<1024xf32>
    %cst_516 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1829 = stablehlo.broadcast_in_dim %cst_516, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1830 = stablehlo.multiply %1829, %arg192 : tensor<256xf32>
    %cst_517 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1831 = stablehlo.broadcast_in_dim %cst_517, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1832 = stablehlo.multiply %1831, %862 : tensor<256xf32>
    %1833 = stablehlo.multiply %1832, %862 : tensor<256xf32>
    %1834 = stablehlo.add %1830, %1833 : tensor<256xf32>
    %cst_518 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1835 = stablehlo.broadcast_in_dim %cst_518, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1836 = stablehlo.multiply %1835, %arg193 : tensor<1024x256xf32>
    %cst_519 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1837 = stablehlo.broadcast_in_dim %cst_519, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1838 = stablehlo.multiply %1837, %779 : tensor<1024x256xf32>
    %1839 = stablehlo.multiply %1838, %779 : tensor<1024x256xf32>
    %1840 = stablehlo.add %1836, %1839 : tensor<1024x256xf32>
    %cst_520 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1841 = stablehlo.broadcast_in_dim %cst_520, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1842 = stablehlo.multiply %1841, %arg194 : tensor<256x256xf32>
    %cst_521 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1843 = stablehlo.broadcast_in_dim %cst_521, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1844 = stablehlo.multiply %1843, %872 : tensor<256x256xf32>
    %1845 = stablehlo.multiply %1844, %872 : tensor<256x256xf32>
    %1846 = stablehlo.add %1842, %1845 : tensor<256x256xf32>
    %cst_522 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1847 = stablehlo.broadcast_in_dim %cst_522, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1848 = stablehlo.multiply %1847, %arg195 : tensor<256x256xf32>
    %cst_523 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1849 = stablehlo.broadcast_in_dim %cst_523, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1850 = stablehlo.multiply %1849, %834 : tensor<256x256xf32>
    %1851 = stablehlo.multiply %1850, %834 : tensor<256x256xf32>
    %1852 = stablehlo.add %1848, %1851 : tensor<256x256xf32>
    %cst_524 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1853 = stablehlo.broadcast_in_dim %cst_524, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1854 = stablehlo.multiply %1853, %arg196 : tensor<256x256xf32>
    %cst_525 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1855 = stablehlo.broadcast_in_dim %cst_525, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1856 = stablehlo.multiply %1855, %880 : tensor<256x256xf32>
    %1857 = stablehlo.multiply %1856, %880 : tensor<256x256xf32>
    %1858 = stablehlo.add %1854, %1857 : tensor<256x256xf32>
    %cst_526 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1859 = stablehlo.broadcast_in_dim %cst_526, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1860 = stablehlo.multiply %1859, %arg197 : tensor<256xf32>
    %cst_527 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1861 = stablehlo.broadcast_in_dim %cst_527, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1862 = stablehlo.multiply %1861, %807 : tensor<256xf32>
    %1863 = stablehlo.multiply %1862, %807 : tensor<256xf32>
    %1864 = stablehlo.add %1860, %1863 : tensor<256xf32>
    %cst_528 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1865 = stablehlo.broadcast_in_dim %cst_528, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1866 = stablehlo.multiply %1865, %arg198 : tensor<256xf32>
    %cst_529 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1867 = stablehlo.broadcast_in_dim %cst_529, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1868 = stablehlo.multiply %1867, %752 : tensor<256xf32>
    %1869 = stablehlo.multiply %1868, %752 : tensor<256xf32>
    %1870 = stablehlo.add %1866, %1869 : tensor<256xf32>
    %cst_530 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1871 = stablehlo.broadcast_in_dim %cst_530, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %1872 = stablehlo.multiply %1871, %arg199 : tensor<256x1024xf32>
    %cst_531 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1873 = stablehlo.broadcast_in_dim %cst_531, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %1874 = stablehlo.multiply %1873, %796 : tensor<256x1024xf32>
    %1875 = stablehlo.multiply %1874, %796 : tensor<256x1024xf32>
    %1876 = stablehlo.add %1872, %1875 : tensor<256x1024xf32>
    %cst_532 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1877 = stablehlo.broadcast_in_dim %cst_532, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1878 = stablehlo.multiply %1877, %arg200 : tensor<256x256xf32>
    %cst_533 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1879 = stablehlo.broadcast_in_dim %cst_533, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1880 = stablehlo.multiply %1879, %864 : tensor<256x256xf32>
    %1881 = stablehlo.multiply %1880, %864 : tensor<256x256xf32>
    %1882 = stablehlo.add %1878, %1881 : tensor<256x256xf32>
    %cst_534 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1883 = stablehlo.broadcast_in_dim %cst_534, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1884 = stablehlo.multiply %1883, %arg201 : tensor<256xf32>
    %cst_535 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1885 = stablehlo.broadcast_in_dim %cst_535, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1886 = stablehlo.multiply %1885, %662 : tensor<256xf32>
    %1887 = stablehlo.multiply %1886, %662 : tensor<256xf32>
    %1888 = stablehlo.add %1884, %1887 : tensor<256xf32>
    %cst_536 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1889 = stablehlo.broadcast_in_dim %cst_536, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1890 = stablehlo.multiply %1889, %arg202 : tensor<256xf32>
    %cst_537 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1891 = stablehlo.broadcast_in_dim %cst_537, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1892 = stablehlo.multiply %1891, %638 : tensor<256xf32>
    %1893 = stablehlo.multiply %1892, %638 : tensor<256xf32>
    %1894 = stablehlo.add %1890, %1893 : tensor<256xf32>
    %cst_538 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1895 = stablehlo.broadcast_in_dim %cst_538, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1896 = stablehlo.multiply %1895, %arg203 : tensor<256xf32>
    %cst_539 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1897 = stablehlo.broadcast_in_dim %cst_539, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1898 = stablehlo.multiply %1897, %607 : tensor<256xf32>
    %1899 = stablehlo.multiply %1898, %607 : tensor<256xf32>
    %1900 = stablehlo.add %1896, %1899 : tensor<256xf32>
    %cst_540 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1901 = stablehlo.broadcast_in_dim %cst_540, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1902 = stablehlo.multiply %1901, %arg204 : tensor<256xf32>
    %cst_541 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1903 = stablehlo.broadcast_in_dim %cst_541, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1904 = stablehlo.multiply %1903, %731 : tensor<256xf32>
    %1905 = stablehlo.multiply %1904, %731 : tensor<256xf32>
    %1906 = stablehlo.add %1902, %1905 : tensor<256xf32>
    %cst_542 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1907 = stablehlo.broadcast_in_dim %cst_542, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1908 = stablehlo.multiply %1907, %arg205 : tensor<256xf32>
    %cst_543 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1909 = stablehlo.broadcast_in_dim %cst_543, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1910 = stablehlo.multiply %1909, %693 : tensor<256xf32>
    %1911 = stablehlo.multiply %1910, %693 : tensor<256xf32>
    %1912 = stablehlo.add %1908, %1911 : tensor<256xf32>
    %cst_544 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1913 = stablehlo.broadcast_in_dim %cst_544, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1914 = stablehlo.multiply %1913, %arg206 : tensor<256xf32>
    %cst_545 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1915 = stablehlo.broadcast_in_dim %cst_545, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1916 = stablehlo.multiply %1915, %739 : tensor<256xf32>
    %1917 = stablehlo.multiply %1916, %739 : tensor<256xf32>
    %1918 = stablehlo.add %1914, %1917 : tensor<256xf32>
    %cst_546 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1919 = stablehlo.broadcast_in_dim %cst_546, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1920 = stablehlo.multiply %1919, %arg207 : tensor<1024xf32>
    %cst_547 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1921 = stablehlo.broadcast_in_dim %cst_547, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %1922 = stablehlo.multiply %1921, %655 : tensor<1024xf32>
    %1923 = stablehlo.multiply %1922, %655 : tensor<1024xf32>
    %1924 = stablehlo.add %1920, %1923 : tensor<1024xf32>
    %cst_548 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1925 = stablehlo.broadcast_in_dim %cst_548, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1926 = stablehlo.multiply %1925, %arg208 : tensor<256xf32>
    %cst_549 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1927 = stablehlo.broadcast_in_dim %cst_549, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1928 = stablehlo.multiply %1927, %723 : tensor<256xf32>
    %1929 = stablehlo.multiply %1928, %723 : tensor<256xf32>
    %1930 = stablehlo.add %1926, %1929 : tensor<256xf32>
    %cst_550 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1931 = stablehlo.broadcast_in_dim %cst_550, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1932 = stablehlo.multiply %1931, %arg209 : tensor<1024x256xf32>
    %cst_551 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1933 = stablehlo.broadcast_in_dim %cst_551, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %1934 = stablehlo.multiply %1933, %640 : tensor<1024x256xf32>
    %1935 = stablehlo.multiply %1934, %640 : tensor<1024x256xf32>
    %1936 = stablehlo.add %1932, %1935 : tensor<1024x256xf32>
    %cst_552 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1937 = stablehlo.broadcast_in_dim %cst_552, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1938 = stablehlo.multiply %1937, %arg210 : tensor<256x256xf32>
    %cst_553 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1939 = stablehlo.broadcast_in_dim %cst_553, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1940 = stablehlo.multiply %1939, %733 : tensor<256x256xf32>
    %1941 = stablehlo.multiply %1940, %733 : tensor<256x256xf32>
    %1942 = stablehlo.add %1938, %1941 : tensor<256x256xf32>
    %cst_554 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1943 = stablehlo.broadcast_in_dim %cst_554, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1944 = stablehlo.multiply %1943, %arg211 : tensor<256x256xf32>
    %cst_555 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1945 = stablehlo.broadcast_in_dim %cst_555, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1946 = stablehlo.multiply %1945, %695 : tensor<256x256xf32>
    %1947 = stablehlo.multiply %1946, %695 : tensor<256x256xf32>
    %1948 = stablehlo.add %1944, %1947 : tensor<256x256xf32>
    %cst_556 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1949 = stablehlo.broadcast_in_dim %cst_556, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1950 = stablehlo.multiply %1949, %arg212 : tensor<256x256xf32>
    %cst_557 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1951 = stablehlo.broadcast_in_dim %cst_557, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1952 = stablehlo.multiply %1951, %741 : tensor<256x256xf32>
    %1953 = stablehlo.multiply %1952, %741 : tensor<256x256xf32>
    %1954 = stablehlo.add %1950, %1953 : tensor<256x256xf32>
    %cst_558 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1955 = stablehlo.broadcast_in_dim %cst_558, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1956 = stablehlo.multiply %1955, %arg213 : tensor<256xf32>
    %cst_559 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1957 = stablehlo.broadcast_in_dim %cst_559, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1958 = stablehlo.multiply %1957, %668 : tensor<256xf32>
    %1959 = stablehlo.multiply %1958, %668 : tensor<256xf32>
    %1960 = stablehlo.add %1956, %1959 : tensor<256xf32>
    %cst_560 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1961 = stablehlo.broadcast_in_dim %cst_560, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1962 = stablehlo.multiply %1961, %arg214 : tensor<256xf32>
    %cst_561 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1963 = stablehlo.broadcast_in_dim %cst_561, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1964 = stablehlo.multiply %1963, %613 : tensor<256xf32>
    %1965 = stablehlo.multiply %1964, %613 : tensor<256xf32>
    %1966 = stablehlo.add %1962, %1965 : tensor<256xf32>
    %cst_562 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1967 = stablehlo.broadcast_in_dim %cst_562, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %1968 = stablehlo.multiply %1967, %arg215 : tensor<256x1024xf32>
    %cst_563 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1969 = stablehlo.broadcast_in_dim %cst_563, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %1970 = stablehlo.multiply %1969, %657 : tensor<256x1024xf32>
    %1971 = stablehlo.multiply %1970, %657 : tensor<256x1024xf32>
    %1972 = stablehlo.add %1968, %1971 : tensor<256x1024xf32>
    %cst_564 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1973 = stablehlo.broadcast_in_dim %cst_564, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1974 = stablehlo.multiply %1973, %arg216 : tensor<256x256xf32>
    %cst_565 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1975 = stablehlo.broadcast_in_dim %cst_565, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %1976 = stablehlo.multiply %1975, %725 : tensor<256x256xf32>
    %1977 = stablehlo.multiply %1976, %725 : tensor<256x256xf32>
    %1978 = stablehlo.add %1974, %1977 : tensor<256x256xf32>
    %cst_566 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1979 = stablehlo.broadcast_in_dim %cst_566, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1980 = stablehlo.multiply %1979, %arg217 : tensor<256xf32>
    %cst_567 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1981 = stablehlo.broadcast_in_dim %cst_567, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1982 = stablehlo.multiply %1981, %1169 : tensor<256xf32>
    %1983 = stablehlo.multiply %1982, %1169 : tensor<256xf32>
    %1984 = stablehlo.add %1980, %1983 : tensor<256xf32>
    %cst_568 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1985 = stablehlo.broadcast_in_dim %cst_568, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1986 = stablehlo.multiply %1985, %arg218 : tensor<256xf32>
    %cst_569 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1987 = stablehlo.broadcast_in_dim %cst_569, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %1988 = stablehlo.multiply %1987, %564 : tensor<256xf32>
    %1989 = stablehlo.multiply %1988, %564 : tensor<256xf32>
    %1990 = stablehlo.add %1986, %1989 : tensor<256xf32>
    %cst_570 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1991 = stablehlo.broadcast_in_dim %cst_570, dims = [] : (tensor<f32>) -> tensor<64x256xf32>
    %1992 = stablehlo.multiply %1991, %arg219 : tensor<64x256xf32>
    %cst_571 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1993 = stablehlo.broadcast_in_dim %cst_571, dims = [] : (tensor<f32>) -> tensor<64x256xf32>
    %1994 = stablehlo.multiply %1993, %1194 : tensor<64x256xf32>
    %1995 = stablehlo.multiply %1994, %1194 : tensor<64x256xf32>
    %1996 = stablehlo.add %1992, %1995 : tensor<64x256xf32>
    %cst_572 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %1997 = stablehlo.broadcast_in_dim %cst_572, dims = [] : (tensor<f32>) -> tensor<2x256xf32>
    %1998 = stablehlo.multiply %1997, %arg220 : tensor<2x256xf32>
    %cst_573 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %1999 = stablehlo.broadcast_in_dim %cst_573, dims = [] : (tensor<f32>) -> tensor<2x256xf32>
    %2000 = stablehlo.multiply %1999, %1196 : tensor<2x256xf32>
    %2001 = stablehlo.multiply %2000, %1196 : tensor<2x256xf32>
    %2002 = stablehlo.add %1998, %2001 : tensor<2x256xf32>
    %cst_574 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %2003 = stablehlo.broadcast_in_dim %cst_574, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2004 = stablehlo.multiply %2003, %arg221 : tensor<1024x256xf32>
    %cst_575 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2005 = stablehlo.broadcast_in_dim %cst_575, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2006 = stablehlo.multiply %2005, %1199 : tensor<1024x256xf32>
    %2007 = stablehlo.multiply %2006, %1199 : tensor<1024x256xf32>
    %2008 = stablehlo.add %2004, %2007 : tensor<1024x256xf32>
    %cst_576 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %2009 = stablehlo.broadcast_in_dim %cst_576, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2010 = stablehlo.multiply %2009, %arg222 : tensor<256x256xf32>
    %cst_577 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2011 = stablehlo.broadcast_in_dim %cst_577, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2012 = stablehlo.multiply %2011, %602 : tensor<256x256xf32>
    %2013 = stablehlo.multiply %2012, %602 : tensor<256x256xf32>
    %2014 = stablehlo.add %2010, %2013 : tensor<256x256xf32>
    %2015 = stablehlo.convert %1200 : (tensor<i32>) -> tensor<f32>
    %cst_578 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %2016 = stablehlo.power %cst_578, %2015 : tensor<f32>
    %cst_579 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2017 = stablehlo.subtract %cst_579, %2016 : tensor<f32>
    %cst_580 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2018 = stablehlo.divide %cst_580, %2017 : tensor<f32>
    %cst_581 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %2019 = stablehlo.power %cst_581, %2015 : tensor<f32>
    %cst_582 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2020 = stablehlo.subtract %cst_582, %2019 : tensor<f32>
    %cst_583 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2021 = stablehlo.divide %cst_583, %2020 : tensor<f32>
    %2022 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2023 = stablehlo.multiply %1205, %2022 : tensor<256xf32>
    %cst_584 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2024 = stablehlo.broadcast_in_dim %cst_584, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2025 = stablehlo.multiply %2024, %2023 : tensor<256xf32>
    %2026 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2027 = stablehlo.multiply %1576, %2026 : tensor<256xf32>
    %2028 = stablehlo.sqrt %2027 : tensor<256xf32>
    %cst_585 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2029 = stablehlo.broadcast_in_dim %cst_585, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2030 = stablehlo.add %2028, %2029 : tensor<256xf32>
    %2031 = stablehlo.divide %2025, %2030 : tensor<256xf32>
    %2032 = stablehlo.subtract %arg0, %2031 : tensor<256xf32>
    %2033 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2034 = stablehlo.multiply %1210, %2033 : tensor<256xf32>
    %cst_586 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2035 = stablehlo.broadcast_in_dim %cst_586, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2036 = stablehlo.multiply %2035, %2034 : tensor<256xf32>
    %2037 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2038 = stablehlo.multiply %1582, %2037 : tensor<256xf32>
    %2039 = stablehlo.sqrt %2038 : tensor<256xf32>
    %cst_587 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2040 = stablehlo.broadcast_in_dim %cst_587, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2041 = stablehlo.add %2039, %2040 : tensor<256xf32>
    %2042 = stablehlo.divide %2036, %2041 : tensor<256xf32>
    %2043 = stablehlo.subtract %arg1, %2042 : tensor<256xf32>
    %2044 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2045 = stablehlo.multiply %1215, %2044 : tensor<256xf32>
    %cst_588 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2046 = stablehlo.broadcast_in_dim %cst_588, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2047 = stablehlo.multiply %2046, %2045 : tensor<256xf32>
    %2048 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2049 = stablehlo.multiply %1588, %2048 : tensor<256xf32>
    %2050 = stablehlo.sqrt %2049 : tensor<256xf32>
    %cst_589 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2051 = stablehlo.broadcast_in_dim %cst_589, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2052 = stablehlo.add %2050, %2051 : tensor<256xf32>
    %2053 = stablehlo.divide %2047, %2052 : tensor<256xf32>
    %2054 = stablehlo.subtract %arg2, %2053 : tensor<256xf32>
    %2055 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2056 = stablehlo.multiply %1220, %2055 : tensor<1024xf32>
    %cst_590 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2057 = stablehlo.broadcast_in_dim %cst_590, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2058 = stablehlo.multiply %2057, %2056 : tensor<1024xf32>
    %2059 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2060 = stablehlo.multiply %1594, %2059 : tensor<1024xf32>
    %2061 = stablehlo.sqrt %2060 : tensor<1024xf32>
    %cst_591 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2062 = stablehlo.broadcast_in_dim %cst_591, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2063 = stablehlo.add %2061, %2062 : tensor<1024xf32>
    %2064 = stablehlo.divide %2058, %2063 : tensor<1024xf32>
    %2065 = stablehlo.subtract %arg3, %2064 : tensor<1024xf32>
    %2066 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2067 = stablehlo.multiply %1225, %2066 : tensor<256xf32>
    %cst_592 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2068 = stablehlo.broadcast_in_dim %cst_592, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2069 = stablehlo.multiply %2068, %2067 : tensor<256xf32>
    %2070 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2071 = stablehlo.multiply %1600, %2070 : tensor<256xf32>
    %2072 = stablehlo.sqrt %2071 : tensor<256xf32>
    %cst_593 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2073 = stablehlo.broadcast_in_dim %cst_593, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2074 = stablehlo.add %2072, %2073 : tensor<256xf32>
    %2075 = stablehlo.divide %2069, %2074 : tensor<256xf32>
    %2076 = stablehlo.subtract %arg4, %2075 : tensor<256xf32>
    %2077 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2078 = stablehlo.multiply %1230, %2077 : tensor<256xf32>
    %cst_594 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2079 = stablehlo.broadcast_in_dim %cst_594, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2080 = stablehlo.multiply %2079, %2078 : tensor<256xf32>
    %2081 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2082 = stablehlo.multiply %1606, %2081 : tensor<256xf32>
    %2083 = stablehlo.sqrt %2082 : tensor<256xf32>
    %cst_595 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2084 = stablehlo.broadcast_in_dim %cst_595, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2085 = stablehlo.add %2083, %2084 : tensor<256xf32>
    %2086 = stablehlo.divide %2080, %2085 : tensor<256xf32>
    %2087 = stablehlo.subtract %arg5, %2086 : tensor<256xf32>
    %2088 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2089 = stablehlo.multiply %1235, %2088 : tensor<256xf32>
    %cst_596 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2090 = stablehlo.broadcast_in_dim %cst_596, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2091 = stablehlo.multiply %2090, %2089 : tensor<256xf32>
    %2092 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2093 = stablehlo.multiply %1612, %2092 : tensor<256xf32>
    %2094 = stablehlo.sqrt %2093 : tensor<256xf32>
    %cst_597 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2095 = stablehlo.broadcast_in_dim %cst_597, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2096 = stablehlo.add %2094, %2095 : tensor<256xf32>
    %2097 = stablehlo.divide %2091, %2096 : tensor<256xf32>
    %2098 = stablehlo.subtract %arg6, %2097 : tensor<256xf32>
    %2099 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2100 = stablehlo.multiply %1240, %2099 : tensor<256xf32>
    %cst_598 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2101 = stablehlo.broadcast_in_dim %cst_598, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2102 = stablehlo.multiply %2101, %2100 : tensor<256xf32>
    %2103 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2104 = stablehlo.multiply %1618, %2103 : tensor<256xf32>
    %2105 = stablehlo.sqrt %2104 : tensor<256xf32>
    %cst_599 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2106 = stablehlo.broadcast_in_dim %cst_599, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2107 = stablehlo.add %2105, %2106 : tensor<256xf32>
    %2108 = stablehlo.divide %2102, %2107 : tensor<256xf32>
    %2109 = stablehlo.subtract %arg7, %2108 : tensor<256xf32>
    %2110 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2111 = stablehlo.multiply %1245, %2110 : tensor<256xf32>
    %cst_600 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2112 = stablehlo.broadcast_in_dim %cst_600, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2113 = stablehlo.multiply %2112, %2111 : tensor<256xf32>
    %2114 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2115 = stablehlo.multiply %1624, %2114 : tensor<256xf32>
    %2116 = stablehlo.sqrt %2115 : tensor<256xf32>
    %cst_601 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2117 = stablehlo.broadcast_in_dim %cst_601, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2118 = stablehlo.add %2116, %2117 : tensor<256xf32>
    %2119 = stablehlo.divide %2113, %2118 : tensor<256xf32>
    %2120 = stablehlo.subtract %arg8, %2119 : tensor<256xf32>
    %2121 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2122 = stablehlo.multiply %1250, %2121 : tensor<256xf32>
    %cst_602 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2123 = stablehlo.broadcast_in_dim %cst_602, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2124 = stablehlo.multiply %2123, %2122 : tensor<256xf32>
    %2125 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2126 = stablehlo.multiply %1630, %2125 : tensor<256xf32>
    %2127 = stablehlo.sqrt %2126 : tensor<256xf32>
    %cst_603 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2128 = stablehlo.broadcast_in_dim %cst_603, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2129 = stablehlo.add %2127, %2128 : tensor<256xf32>
    %2130 = stablehlo.divide %2124, %2129 : tensor<256xf32>
    %2131 = stablehlo.subtract %arg9, %2130 : tensor<256xf32>
    %2132 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2133 = stablehlo.multiply %1255, %2132 : tensor<1024xf32>
    %cst_604 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2134 = stablehlo.broadcast_in_dim %cst_604, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2135 = stablehlo.multiply %2134, %2133 : tensor<1024xf32>
    %2136 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2137 = stablehlo.multiply %1636, %2136 : tensor<1024xf32>
    %2138 = stablehlo.sqrt %2137 : tensor<1024xf32>
    %cst_605 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2139 = stablehlo.broadcast_in_dim %cst_605, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2140 = stablehlo.add %2138, %2139 : tensor<1024xf32>
    %2141 = stablehlo.divide %2135, %2140 : tensor<1024xf32>
    %2142 = stablehlo.subtract %arg10, %2141 : tensor<1024xf32>
    %2143 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2144 = stablehlo.multiply %1260, %2143 : tensor<256xf32>
    %cst_606 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2145 = stablehlo.broadcast_in_dim %cst_606, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2146 = stablehlo.multiply %2145, %2144 : tensor<256xf32>
    %2147 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2148 = stablehlo.multiply %1642, %2147 : tensor<256xf32>
    %2149 = stablehlo.sqrt %2148 : tensor<256xf32>
    %cst_607 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2150 = stablehlo.broadcast_in_dim %cst_607, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2151 = stablehlo.add %2149, %2150 : tensor<256xf32>
    %2152 = stablehlo.divide %2146, %2151 : tensor<256xf32>
    %2153 = stablehlo.subtract %arg11, %2152 : tensor<256xf32>
    %2154 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2155 = stablehlo.multiply %1265, %2154 : tensor<1024x256xf32>
    %cst_608 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2156 = stablehlo.broadcast_in_dim %cst_608, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2157 = stablehlo.multiply %2156, %2155 : tensor<1024x256xf32>
    %2158 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2159 = stablehlo.multiply %1648, %2158 : tensor<1024x256xf32>
    %2160 = stablehlo.sqrt %2159 : tensor<1024x256xf32>
    %cst_609 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2161 = stablehlo.broadcast_in_dim %cst_609, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2162 = stablehlo.add %2160, %2161 : tensor<1024x256xf32>
    %2163 = stablehlo.divide %2157, %2162 : tensor<1024x256xf32>
    %2164 = stablehlo.subtract %arg12, %2163 : tensor<1024x256xf32>
    %2165 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2166 = stablehlo.multiply %1270, %2165 : tensor<256x256xf32>
    %cst_610 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2167 = stablehlo.broadcast_in_dim %cst_610, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2168 = stablehlo.multiply %2167, %2166 : tensor<256x256xf32>
    %2169 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2170 = stablehlo.multiply %1654, %2169 : tensor<256x256xf32>
    %2171 = stablehlo.sqrt %2170 : tensor<256x256xf32>
    %cst_611 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2172 = stablehlo.broadcast_in_dim %cst_611, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2173 = stablehlo.add %2171, %2172 : tensor<256x256xf32>
    %2174 = stablehlo.divide %2168, %2173 : tensor<256x256xf32>
    %2175 = stablehlo.subtract %arg13, %2174 : tensor<256x256xf32>
    %2176 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2177 = stablehlo.multiply %1275, %2176 : tensor<256x256xf32>
    %cst_612 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2178 = stablehlo.broadcast_in_dim %cst_612, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2179 = stablehlo.multiply %2178, %2177 : tensor<256x256xf32>
    %2180 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2181 = stablehlo.multiply %1660, %2180 : tensor<256x256xf32>
    %2182 = stablehlo.sqrt %2181 : tensor<256x256xf32>
    %cst_613 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2183 = stablehlo.broadcast_in_dim %cst_613, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2184 = stablehlo.add %2182, %2183 : tensor<256x256xf32>
    %2185 = stablehlo.divide %2179, %2184 : tensor<256x256xf32>
    %2186 = stablehlo.subtract %arg14, %2185 : tensor<256x256xf32>
    %2187 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2188 = stablehlo.multiply %1280, %2187 : tensor<256x256xf32>
    %cst_614 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2189 = stablehlo.broadcast_in_dim %cst_614, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2190 = stablehlo.multiply %2189, %2188 : tensor<256x256xf32>
    %2191 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2192 = stablehlo.multiply %1666, %2191 : tensor<256x256xf32>
    %2193 = stablehlo.sqrt %2192 : tensor<256x256xf32>
    %cst_615 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2194 = stablehlo.broadcast_in_dim %cst_615, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2195 = stablehlo.add %2193, %2194 : tensor<256x256xf32>
    %2196 = stablehlo.divide %2190, %2195 : tensor<256x256xf32>
    %2197 = stablehlo.subtract %arg15, %2196 : tensor<256x256xf32>
    %2198 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2199 = stablehlo.multiply %1285, %2198 : tensor<256xf32>
    %cst_616 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2200 = stablehlo.broadcast_in_dim %cst_616, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2201 = stablehlo.multiply %2200, %2199 : tensor<256xf32>
    %2202 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2203 = stablehlo.multiply %1672, %2202 : tensor<256xf32>
    %2204 = stablehlo.sqrt %2203 : tensor<256xf32>
    %cst_617 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2205 = stablehlo.broadcast_in_dim %cst_617, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2206 = stablehlo.add %2204, %2205 : tensor<256xf32>
    %2207 = stablehlo.divide %2201, %2206 : tensor<256xf32>
    %2208 = stablehlo.subtract %arg16, %2207 : tensor<256xf32>
    %2209 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2210 = stablehlo.multiply %1290, %2209 : tensor<256xf32>
    %cst_618 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2211 = stablehlo.broadcast_in_dim %cst_618, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2212 = stablehlo.multiply %2211, %2210 : tensor<256xf32>
    %2213 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2214 = stablehlo.multiply %1678, %2213 : tensor<256xf32>
    %2215 = stablehlo.sqrt %2214 : tensor<256xf32>
    %cst_619 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2216 = stablehlo.broadcast_in_dim %cst_619, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2217 = stablehlo.add %2215, %2216 : tensor<256xf32>
    %2218 = stablehlo.divide %2212, %2217 : tensor<256xf32>
    %2219 = stablehlo.subtract %arg17, %2218 : tensor<256xf32>
    %2220 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %2221 = stablehlo.multiply %1295, %2220 : tensor<256x1024xf32>
    %cst_620 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2222 = stablehlo.broadcast_in_dim %cst_620, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %2223 = stablehlo.multiply %2222, %2221 : tensor<256x1024xf32>
    %2224 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %2225 = stablehlo.multiply %1684, %2224 : tensor<256x1024xf32>
    %2226 = stablehlo.sqrt %2225 : tensor<256x1024xf32>
    %cst_621 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2227 = stablehlo.broadcast_in_dim %cst_621, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %2228 = stablehlo.add %2226, %2227 : tensor<256x1024xf32>
    %2229 = stablehlo.divide %2223, %2228 : tensor<256x1024xf32>
    %2230 = stablehlo.subtract %arg18, %2229 : tensor<256x1024xf32>
    %2231 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2232 = stablehlo.multiply %1300, %2231 : tensor<256x256xf32>
    %cst_622 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2233 = stablehlo.broadcast_in_dim %cst_622, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2234 = stablehlo.multiply %2233, %2232 : tensor<256x256xf32>
    %2235 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2236 = stablehlo.multiply %1690, %2235 : tensor<256x256xf32>
    %2237 = stablehlo.sqrt %2236 : tensor<256x256xf32>
    %cst_623 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2238 = stablehlo.broadcast_in_dim %cst_623, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2239 = stablehlo.add %2237, %2238 : tensor<256x256xf32>
    %2240 = stablehlo.divide %2234, %2239 : tensor<256x256xf32>
    %2241 = stablehlo.subtract %arg19, %2240 : tensor<256x256xf32>
    %2242 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2243 = stablehlo.multiply %1305, %2242 : tensor<256xf32>
    %cst_624 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2244 = stablehlo.broadcast_in_dim %cst_624, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2245 = stablehlo.multiply %2244, %2243 : tensor<256xf32>
    %2246 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2247 = stablehlo.multiply %1696, %2246 : tensor<256xf32>
    %2248 = stablehlo.sqrt %2247 : tensor<256xf32>
    %cst_625 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2249 = stablehlo.broadcast_in_dim %cst_625, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2250 = stablehlo.add %2248, %2249 : tensor<256xf32>
    %2251 = stablehlo.divide %2245, %2250 : tensor<256xf32>
    %2252 = stablehlo.subtract %arg20, %2251 : tensor<256xf32>
    %2253 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2254 = stablehlo.multiply %1310, %2253 : tensor<256xf32>
    %cst_626 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2255 = stablehlo.broadcast_in_dim %cst_626, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2256 = stablehlo.multiply %2255, %2254 : tensor<256xf32>
    %2257 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2258 = stablehlo.multiply %1702, %2257 : tensor<256xf32>
    %2259 = stablehlo.sqrt %2258 : tensor<256xf32>
    %cst_627 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2260 = stablehlo.broadcast_in_dim %cst_627, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2261 = stablehlo.add %2259, %2260 : tensor<256xf32>
    %2262 = stablehlo.divide %2256, %2261 : tensor<256xf32>
    %2263 = stablehlo.subtract %arg21, %2262 : tensor<256xf32>
    %2264 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2265 = stablehlo.multiply %1315, %2264 : tensor<256xf32>
    %cst_628 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2266 = stablehlo.broadcast_in_dim %cst_628, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2267 = stablehlo.multiply %2266, %2265 : tensor<256xf32>
    %2268 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2269 = stablehlo.multiply %1708, %2268 : tensor<256xf32>
    %2270 = stablehlo.sqrt %2269 : tensor<256xf32>
    %cst_629 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2271 = stablehlo.broadcast_in_dim %cst_629, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2272 = stablehlo.add %2270, %2271 : tensor<256xf32>
    %2273 = stablehlo.divide %2267, %2272 : tensor<256xf32>
    %2274 = stablehlo.subtract %arg22, %2273 : tensor<256xf32>
    %2275 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2276 = stablehlo.multiply %1320, %2275 : tensor<256xf32>
    %cst_630 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2277 = stablehlo.broadcast_in_dim %cst_630, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2278 = stablehlo.multiply %2277, %2276 : tensor<256xf32>
    %2279 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2280 = stablehlo.multiply %1714, %2279 : tensor<256xf32>
    %2281 = stablehlo.sqrt %2280 : tensor<256xf32>
    %cst_631 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2282 = stablehlo.broadcast_in_dim %cst_631, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2283 = stablehlo.add %2281, %2282 : tensor<256xf32>
    %2284 = stablehlo.divide %2278, %2283 : tensor<256xf32>
    %2285 = stablehlo.subtract %arg23, %2284 : tensor<256xf32>
    %2286 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2287 = stablehlo.multiply %1325, %2286 : tensor<256xf32>
    %cst_632 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2288 = stablehlo.broadcast_in_dim %cst_632, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2289 = stablehlo.multiply %2288, %2287 : tensor<256xf32>
    %2290 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2291 = stablehlo.multiply %1720, %2290 : tensor<256xf32>
    %2292 = stablehlo.sqrt %2291 : tensor<256xf32>
    %cst_633 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2293 = stablehlo.broadcast_in_dim %cst_633, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2294 = stablehlo.add %2292, %2293 : tensor<256xf32>
    %2295 = stablehlo.divide %2289, %2294 : tensor<256xf32>
    %2296 = stablehlo.subtract %arg24, %2295 : tensor<256xf32>
    %2297 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2298 = stablehlo.multiply %1330, %2297 : tensor<256xf32>
    %cst_634 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2299 = stablehlo.broadcast_in_dim %cst_634, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2300 = stablehlo.multiply %2299, %2298 : tensor<256xf32>
    %2301 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2302 = stablehlo.multiply %1726, %2301 : tensor<256xf32>
    %2303 = stablehlo.sqrt %2302 : tensor<256xf32>
    %cst_635 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2304 = stablehlo.broadcast_in_dim %cst_635, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2305 = stablehlo.add %2303, %2304 : tensor<256xf32>
    %2306 = stablehlo.divide %2300, %2305 : tensor<256xf32>
    %2307 = stablehlo.subtract %arg25, %2306 : tensor<256xf32>
    %2308 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2309 = stablehlo.multiply %1335, %2308 : tensor<1024xf32>
    %cst_636 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2310 = stablehlo.broadcast_in_dim %cst_636, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2311 = stablehlo.multiply %2310, %2309 : tensor<1024xf32>
    %2312 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2313 = stablehlo.multiply %1732, %2312 : tensor<1024xf32>
    %2314 = stablehlo.sqrt %2313 : tensor<1024xf32>
    %cst_637 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2315 = stablehlo.broadcast_in_dim %cst_637, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2316 = stablehlo.add %2314, %2315 : tensor<1024xf32>
    %2317 = stablehlo.divide %2311, %2316 : tensor<1024xf32>
    %2318 = stablehlo.subtract %arg26, %2317 : tensor<1024xf32>
    %2319 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2320 = stablehlo.multiply %1340, %2319 : tensor<256xf32>
    %cst_638 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2321 = stablehlo.broadcast_in_dim %cst_638, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2322 = stablehlo.multiply %2321, %2320 : tensor<256xf32>
    %2323 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2324 = stablehlo.multiply %1738, %2323 : tensor<256xf32>
    %2325 = stablehlo.sqrt %2324 : tensor<256xf32>
    %cst_639 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2326 = stablehlo.broadcast_in_dim %cst_639, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2327 = stablehlo.add %2325, %2326 : tensor<256xf32>
    %2328 = stablehlo.divide %2322, %2327 : tensor<256xf32>
    %2329 = stablehlo.subtract %arg27, %2328 : tensor<256xf32>
    %2330 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2331 = stablehlo.multiply %1345, %2330 : tensor<1024x256xf32>
    %cst_640 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2332 = stablehlo.broadcast_in_dim %cst_640, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2333 = stablehlo.multiply %2332, %2331 : tensor<1024x256xf32>
    %2334 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2335 = stablehlo.multiply %1744, %2334 : tensor<1024x256xf32>
    %2336 = stablehlo.sqrt %2335 : tensor<1024x256xf32>
    %cst_641 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2337 = stablehlo.broadcast_in_dim %cst_641, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2338 = stablehlo.add %2336, %2337 : tensor<1024x256xf32>
    %2339 = stablehlo.divide %2333, %2338 : tensor<1024x256xf32>
    %2340 = stablehlo.subtract %arg28, %2339 : tensor<1024x256xf32>
    %2341 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2342 = stablehlo.multiply %1350, %2341 : tensor<256x256xf32>
    %cst_642 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2343 = stablehlo.broadcast_in_dim %cst_642, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2344 = stablehlo.multiply %2343, %2342 : tensor<256x256xf32>
    %2345 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2346 = stablehlo.multiply %1750, %2345 : tensor<256x256xf32>
    %2347 = stablehlo.sqrt %2346 : tensor<256x256xf32>
    %cst_643 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2348 = stablehlo.broadcast_in_dim %cst_643, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2349 = stablehlo.add %2347, %2348 : tensor<256x256xf32>
    %2350 = stablehlo.divide %2344, %2349 : tensor<256x256xf32>
    %2351 = stablehlo.subtract %arg29, %2350 : tensor<256x256xf32>
    %2352 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2353 = stablehlo.multiply %1355, %2352 : tensor<256x256xf32>
    %cst_644 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2354 = stablehlo.broadcast_in_dim %cst_644, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2355 = stablehlo.multiply %2354, %2353 : tensor<256x256xf32>
    %2356 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2357 = stablehlo.multiply %1756, %2356 : tensor<256x256xf32>
    %2358 = stablehlo.sqrt %2357 : tensor<256x256xf32>
    %cst_645 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2359 = stablehlo.broadcast_in_dim %cst_645, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2360 = stablehlo.add %2358, %2359 : tensor<256x256xf32>
    %2361 = stablehlo.divide %2355, %2360 : tensor<256x256xf32>
    %2362 = stablehlo.subtract %arg30, %2361 : tensor<256x256xf32>
    %2363 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2364 = stablehlo.multiply %1360, %2363 : tensor<256x256xf32>
    %cst_646 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2365 = stablehlo.broadcast_in_dim %cst_646, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2366 = stablehlo.multiply %2365, %2364 : tensor<256x256xf32>
    %2367 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2368 = stablehlo.multiply %1762, %2367 : tensor<256x256xf32>
    %2369 = stablehlo.sqrt %2368 : tensor<256x256xf32>
    %cst_647 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2370 = stablehlo.broadcast_in_dim %cst_647, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2371 = stablehlo.add %2369, %2370 : tensor<256x256xf32>
    %2372 = stablehlo.divide %2366, %2371 : tensor<256x256xf32>
    %2373 = stablehlo.subtract %arg31, %2372 : tensor<256x256xf32>
    %2374 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2375 = stablehlo.multiply %1365, %2374 : tensor<256xf32>
    %cst_648 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2376 = stablehlo.broadcast_in_dim %cst_648, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2377 = stablehlo.multiply %2376, %2375 : tensor<256xf32>
    %2378 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2379 = stablehlo.multiply %1768, %2378 : tensor<256xf32>
    %2380 = stablehlo.sqrt %2379 : tensor<256xf32>
    %cst_649 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2381 = stablehlo.broadcast_in_dim %cst_649, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2382 = stablehlo.add %2380, %2381 : tensor<256xf32>
    %2383 = stablehlo.divide %2377, %2382 : tensor<256xf32>
    %2384 = stablehlo.subtract %arg32, %2383 : tensor<256xf32>
    %2385 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2386 = stablehlo.multiply %1370, %2385 : tensor<256xf32>
    %cst_650 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2387 = stablehlo.broadcast_in_dim %cst_650, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2388 = stablehlo.multiply %2387, %2386 : tensor<256xf32>
    %2389 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2390 = stablehlo.multiply %1774, %2389 : tensor<256xf32>
    %2391 = stablehlo.sqrt %2390 : tensor<256xf32>
    %cst_651 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2392 = stablehlo.broadcast_in_dim %cst_651, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2393 = stablehlo.add %2391, %2392 : tensor<256xf32>
    %2394 = stablehlo.divide %2388, %2393 : tensor<256xf32>
    %2395 = stablehlo.subtract %arg33, %2394 : tensor<256xf32>
    %2396 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %2397 = stablehlo.multiply %1375, %2396 : tensor<256x1024xf32>
    %cst_652 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2398 = stablehlo.broadcast_in_dim %cst_652, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %2399 = stablehlo.multiply %2398, %2397 : tensor<256x1024xf32>
    %2400 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %2401 = stablehlo.multiply %1780, %2400 : tensor<256x1024xf32>
    %2402 = stablehlo.sqrt %2401 : tensor<256x1024xf32>
    %cst_653 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2403 = stablehlo.broadcast_in_dim %cst_653, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %2404 = stablehlo.add %2402, %2403 : tensor<256x1024xf32>
    %2405 = stablehlo.divide %2399, %2404 : tensor<256x1024xf32>
    %2406 = stablehlo.subtract %arg34, %2405 : tensor<256x1024xf32>
    %2407 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2408 = stablehlo.multiply %1380, %2407 : tensor<256x256xf32>
    %cst_654 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2409 = stablehlo.broadcast_in_dim %cst_654, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2410 = stablehlo.multiply %2409, %2408 : tensor<256x256xf32>
    %2411 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2412 = stablehlo.multiply %1786, %2411 : tensor<256x256xf32>
    %2413 = stablehlo.sqrt %2412 : tensor<256x256xf32>
    %cst_655 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2414 = stablehlo.broadcast_in_dim %cst_655, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2415 = stablehlo.add %2413, %2414 : tensor<256x256xf32>
    %2416 = stablehlo.divide %2410, %2415 : tensor<256x256xf32>
    %2417 = stablehlo.subtract %arg35, %2416 : tensor<256x256xf32>
    %2418 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2419 = stablehlo.multiply %1385, %2418 : tensor<256xf32>
    %cst_656 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2420 = stablehlo.broadcast_in_dim %cst_656, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2421 = stablehlo.multiply %2420, %2419 : tensor<256xf32>
    %2422 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2423 = stablehlo.multiply %1792, %2422 : tensor<256xf32>
    %2424 = stablehlo.sqrt %2423 : tensor<256xf32>
    %cst_657 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2425 = stablehlo.broadcast_in_dim %cst_657, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2426 = stablehlo.add %2424, %2425 : tensor<256xf32>
    %2427 = stablehlo.divide %2421, %2426 : tensor<256xf32>
    %2428 = stablehlo.subtract %arg36, %2427 : tensor<256xf32>
    %2429 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2430 = stablehlo.multiply %1390, %2429 : tensor<256xf32>
    %cst_658 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2431 = stablehlo.broadcast_in_dim %cst_658, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2432 = stablehlo.multiply %2431, %2430 : tensor<256xf32>
    %2433 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2434 = stablehlo.multiply %1798, %2433 : tensor<256xf32>
    %2435 = stablehlo.sqrt %2434 : tensor<256xf32>
    %cst_659 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2436 = stablehlo.broadcast_in_dim %cst_659, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2437 = stablehlo.add %2435, %2436 : tensor<256xf32>
    %2438 = stablehlo.divide %2432, %2437 : tensor<256xf32>
    %2439 = stablehlo.subtract %arg37, %2438 : tensor<256xf32>
    %2440 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2441 = stablehlo.multiply %1395, %2440 : tensor<256xf32>
    %cst_660 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2442 = stablehlo.broadcast_in_dim %cst_660, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2443 = stablehlo.multiply %2442, %2441 : tensor<256xf32>
    %2444 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2445 = stablehlo.multiply %1804, %2444 : tensor<256xf32>
    %2446 = stablehlo.sqrt %2445 : tensor<256xf32>
    %cst_661 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2447 = stablehlo.broadcast_in_dim %cst_661, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2448 = stablehlo.add %2446, %2447 : tensor<256xf32>
    %2449 = stablehlo.divide %2443, %2448 : tensor<256xf32>
    %2450 = stablehlo.subtract %arg38, %2449 : tensor<256xf32>
    %2451 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2452 = stablehlo.multiply %1400, %2451 : tensor<256xf32>
    %cst_662 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2453 = stablehlo.broadcast_in_dim %cst_662, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2454 = stablehlo.multiply %2453, %2452 : tensor<256xf32>
    %2455 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2456 = stablehlo.multiply %1810, %2455 : tensor<256xf32>
    %2457 = stablehlo.sqrt %2456 : tensor<256xf32>
    %cst_663 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2458 = stablehlo.broadcast_in_dim %cst_663, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2459 = stablehlo.add %2457, %2458 : tensor<256xf32>
    %2460 = stablehlo.divide %2454, %2459 : tensor<256xf32>
    %2461 = stablehlo.subtract %arg39, %2460 : tensor<256xf32>
    %2462 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2463 = stablehlo.multiply %1405, %2462 : tensor<256xf32>
    %cst_664 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2464 = stablehlo.broadcast_in_dim %cst_664, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2465 = stablehlo.multiply %2464, %2463 : tensor<256xf32>
    %2466 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2467 = stablehlo.multiply %1816, %2466 : tensor<256xf32>
    %2468 = stablehlo.sqrt %2467 : tensor<256xf32>
    %cst_665 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2469 = stablehlo.broadcast_in_dim %cst_665, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2470 = stablehlo.add %2468, %2469 : tensor<256xf32>
    %2471 = stablehlo.divide %2465, %2470 : tensor<256xf32>
    %2472 = stablehlo.subtract %arg40, %2471 : tensor<256xf32>
    %2473 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2474 = stablehlo.multiply %1410, %2473 : tensor<256xf32>
    %cst_666 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2475 = stablehlo.broadcast_in_dim %cst_666, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2476 = stablehlo.multiply %2475, %2474 : tensor<256xf32>
    %2477 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2478 = stablehlo.multiply %1822, %2477 : tensor<256xf32>
    %2479 = stablehlo.sqrt %2478 : tensor<256xf32>
    %cst_667 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2480 = stablehlo.broadcast_in_dim %cst_667, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2481 = stablehlo.add %2479, %2480 : tensor<256xf32>
    %2482 = stablehlo.divide %2476, %2481 : tensor<256xf32>
    %2483 = stablehlo.subtract %arg41, %2482 : tensor<256xf32>
    %2484 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2485 = stablehlo.multiply %1415, %2484 : tensor<1024xf32>
    %cst_668 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2486 = stablehlo.broadcast_in_dim %cst_668, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2487 = stablehlo.multiply %2486, %2485 : tensor<1024xf32>
    %2488 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2489 = stablehlo.multiply %1828, %2488 : tensor<1024xf32>
    %2490 = stablehlo.sqrt %2489 : tensor<1024xf32>
    %cst_669 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2491 = stablehlo.broadcast_in_dim %cst_669, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2492 = stablehlo.add %2490, %2491 : tensor<1024xf32>
    %2493 = stablehlo.divide %2487, %2492 : tensor<1024xf32>
    %2494 = stablehlo.subtract %arg42, %2493 : tensor<1024xf32>
    %2495 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2496 = stablehlo.multiply %1420, %2495 : tensor<256xf32>
    %cst_670 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2497 = stablehlo.broadcast_in_dim %cst_670, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2498 = stablehlo.multiply %2497, %2496 : tensor<256xf32>
    %2499 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2500 = stablehlo.multiply %1834, %2499 : tensor<256xf32>
    %2501 = stablehlo.sqrt %2500 : tensor<256xf32>
    %cst_671 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2502 = stablehlo.broadcast_in_dim %cst_671, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2503 = stablehlo.add %2501, %2502 : tensor<256xf32>
    %2504 = stablehlo.divide %2498, %2503 : tensor<256xf32>
    %2505 = stablehlo.subtract %arg43, %2504 : tensor<256xf32>
    %2506 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2507 = stablehlo.multiply %1425, %2506 : tensor<1024x256xf32>
    %cst_672 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2508 = stablehlo.broadcast_in_dim %cst_672, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2509 = stablehlo.multiply %2508, %2507 : tensor<1024x256xf32>
    %2510 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2511 = stablehlo.multiply %1840, %2510 : tensor<1024x256xf32>
    %2512 = stablehlo.sqrt %2511 : tensor<1024x256xf32>
    %cst_673 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2513 = stablehlo.broadcast_in_dim %cst_673, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2514 = stablehlo.add %2512, %2513 : tensor<1024x256xf32>
    %2515 = stablehlo.divide %2509, %2514 : tensor<1024x256xf32>
    %2516 = stablehlo.subtract %arg44, %2515 : tensor<1024x256xf32>
    %2517 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2518 = stablehlo.multiply %1430, %2517 : tensor<256x256xf32>
    %cst_674 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2519 = stablehlo.broadcast_in_dim %cst_674, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2520 = stablehlo.multiply %2519, %2518 : tensor<256x256xf32>
    %2521 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2522 = stablehlo.multiply %1846, %2521 : tensor<256x256xf32>
    %2523 = stablehlo.sqrt %2522 : tensor<256x256xf32>
    %cst_675 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2524 = stablehlo.broadcast_in_dim %cst_675, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2525 = stablehlo.add %2523, %2524 : tensor<256x256xf32>
    %2526 = stablehlo.divide %2520, %2525 : tensor<256x256xf32>
    %2527 = stablehlo.subtract %arg45, %2526 : tensor<256x256xf32>
    %2528 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2529 = stablehlo.multiply %1435, %2528 : tensor<256x256xf32>
    %cst_676 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2530 = stablehlo.broadcast_in_dim %cst_676, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2531 = stablehlo.multiply %2530, %2529 : tensor<256x256xf32>
    %2532 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2533 = stablehlo.multiply %1852, %2532 : tensor<256x256xf32>
    %2534 = stablehlo.sqrt %2533 : tensor<256x256xf32>
    %cst_677 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2535 = stablehlo.broadcast_in_dim %cst_677, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2536 = stablehlo.add %2534, %2535 : tensor<256x256xf32>
    %2537 = stablehlo.divide %2531, %2536 : tensor<256x256xf32>
    %2538 = stablehlo.subtract %arg46, %2537 : tensor<256x256xf32>
    %2539 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2540 = stablehlo.multiply %1440, %2539 : tensor<256x256xf32>
    %cst_678 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2541 = stablehlo.broadcast_in_dim %cst_678, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2542 = stablehlo.multiply %2541, %2540 : tensor<256x256xf32>
    %2543 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2544 = stablehlo.multiply %1858, %2543 : tensor<256x256xf32>
    %2545 = stablehlo.sqrt %2544 : tensor<256x256xf32>
    %cst_679 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2546 = stablehlo.broadcast_in_dim %cst_679, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2547 = stablehlo.add %2545, %2546 : tensor<256x256xf32>
    %2548 = stablehlo.divide %2542, %2547 : tensor<256x256xf32>
    %2549 = stablehlo.subtract %arg47, %2548 : tensor<256x256xf32>
    %2550 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2551 = stablehlo.multiply %1445, %2550 : tensor<256xf32>
    %cst_680 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2552 = stablehlo.broadcast_in_dim %cst_680, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2553 = stablehlo.multiply %2552, %2551 : tensor<256xf32>
    %2554 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2555 = stablehlo.multiply %1864, %2554 : tensor<256xf32>
    %2556 = stablehlo.sqrt %2555 : tensor<256xf32>
    %cst_681 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2557 = stablehlo.broadcast_in_dim %cst_681, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2558 = stablehlo.add %2556, %2557 : tensor<256xf32>
    %2559 = stablehlo.divide %2553, %2558 : tensor<256xf32>
    %2560 = stablehlo.subtract %arg48, %2559 : tensor<256xf32>
    %2561 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2562 = stablehlo.multiply %1450, %2561 : tensor<256xf32>
    %cst_682 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2563 = stablehlo.broadcast_in_dim %cst_682, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2564 = stablehlo.multiply %2563, %2562 : tensor<256xf32>
    %2565 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2566 = stablehlo.multiply %1870, %2565 : tensor<256xf32>
    %2567 = stablehlo.sqrt %2566 : tensor<256xf32>
    %cst_683 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2568 = stablehlo.broadcast_in_dim %cst_683, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2569 = stablehlo.add %2567, %2568 : tensor<256xf32>
    %2570 = stablehlo.divide %2564, %2569 : tensor<256xf32>
    %2571 = stablehlo.subtract %arg49, %2570 : tensor<256xf32>
    %2572 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %2573 = stablehlo.multiply %1455, %2572 : tensor<256x1024xf32>
    %cst_684 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2574 = stablehlo.broadcast_in_dim %cst_684, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %2575 = stablehlo.multiply %2574, %2573 : tensor<256x1024xf32>
    %2576 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %2577 = stablehlo.multiply %1876, %2576 : tensor<256x1024xf32>
    %2578 = stablehlo.sqrt %2577 : tensor<256x1024xf32>
    %cst_685 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2579 = stablehlo.broadcast_in_dim %cst_685, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %2580 = stablehlo.add %2578, %2579 : tensor<256x1024xf32>
    %2581 = stablehlo.divide %2575, %2580 : tensor<256x1024xf32>
    %2582 = stablehlo.subtract %arg50, %2581 : tensor<256x1024xf32>
    %2583 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2584 = stablehlo.multiply %1460, %2583 : tensor<256x256xf32>
    %cst_686 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2585 = stablehlo.broadcast_in_dim %cst_686, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2586 = stablehlo.multiply %2585, %2584 : tensor<256x256xf32>
    %2587 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2588 = stablehlo.multiply %1882, %2587 : tensor<256x256xf32>
    %2589 = stablehlo.sqrt %2588 : tensor<256x256xf32>
    %cst_687 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2590 = stablehlo.broadcast_in_dim %cst_687, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2591 = stablehlo.add %2589, %2590 : tensor<256x256xf32>
    %2592 = stablehlo.divide %2586, %2591 : tensor<256x256xf32>
    %2593 = stablehlo.subtract %arg51, %2592 : tensor<256x256xf32>
    %2594 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2595 = stablehlo.multiply %1465, %2594 : tensor<256xf32>
    %cst_688 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2596 = stablehlo.broadcast_in_dim %cst_688, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2597 = stablehlo.multiply %2596, %2595 : tensor<256xf32>
    %2598 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2599 = stablehlo.multiply %1888, %2598 : tensor<256xf32>
    %2600 = stablehlo.sqrt %2599 : tensor<256xf32>
    %cst_689 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2601 = stablehlo.broadcast_in_dim %cst_689, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2602 = stablehlo.add %2600, %2601 : tensor<256xf32>
    %2603 = stablehlo.divide %2597, %2602 : tensor<256xf32>
    %2604 = stablehlo.subtract %arg52, %2603 : tensor<256xf32>
    %2605 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2606 = stablehlo.multiply %1470, %2605 : tensor<256xf32>
    %cst_690 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2607 = stablehlo.broadcast_in_dim %cst_690, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2608 = stablehlo.multiply %2607, %2606 : tensor<256xf32>
    %2609 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2610 = stablehlo.multiply %1894, %2609 : tensor<256xf32>
    %2611 = stablehlo.sqrt %2610 : tensor<256xf32>
    %cst_691 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2612 = stablehlo.broadcast_in_dim %cst_691, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2613 = stablehlo.add %2611, %2612 : tensor<256xf32>
    %2614 = stablehlo.divide %2608, %2613 : tensor<256xf32>
    %2615 = stablehlo.subtract %arg53, %2614 : tensor<256xf32>
    %2616 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2617 = stablehlo.multiply %1475, %2616 : tensor<256xf32>
    %cst_692 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2618 = stablehlo.broadcast_in_dim %cst_692, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2619 = stablehlo.multiply %2618, %2617 : tensor<256xf32>
    %2620 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2621 = stablehlo.multiply %1900, %2620 : tensor<256xf32>
    %2622 = stablehlo.sqrt %2621 : tensor<256xf32>
    %cst_693 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2623 = stablehlo.broadcast_in_dim %cst_693, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2624 = stablehlo.add %2622, %2623 : tensor<256xf32>
    %2625 = stablehlo.divide %2619, %2624 : tensor<256xf32>
    %2626 = stablehlo.subtract %arg54, %2625 : tensor<256xf32>
    %2627 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2628 = stablehlo.multiply %1480, %2627 : tensor<256xf32>
    %cst_694 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2629 = stablehlo.broadcast_in_dim %cst_694, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2630 = stablehlo.multiply %2629, %2628 : tensor<256xf32>
    %2631 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2632 = stablehlo.multiply %1906, %2631 : tensor<256xf32>
    %2633 = stablehlo.sqrt %2632 : tensor<256xf32>
    %cst_695 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2634 = stablehlo.broadcast_in_dim %cst_695, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2635 = stablehlo.add %2633, %2634 : tensor<256xf32>
    %2636 = stablehlo.divide %2630, %2635 : tensor<256xf32>
    %2637 = stablehlo.subtract %arg55, %2636 : tensor<256xf32>
    %2638 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2639 = stablehlo.multiply %1485, %2638 : tensor<256xf32>
    %cst_696 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2640 = stablehlo.broadcast_in_dim %cst_696, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2641 = stablehlo.multiply %2640, %2639 : tensor<256xf32>
    %2642 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2643 = stablehlo.multiply %1912, %2642 : tensor<256xf32>
    %2644 = stablehlo.sqrt %2643 : tensor<256xf32>
    %cst_697 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2645 = stablehlo.broadcast_in_dim %cst_697, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2646 = stablehlo.add %2644, %2645 : tensor<256xf32>
    %2647 = stablehlo.divide %2641, %2646 : tensor<256xf32>
    %2648 = stablehlo.subtract %arg56, %2647 : tensor<256xf32>
    %2649 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2650 = stablehlo.multiply %1490, %2649 : tensor<256xf32>
    %cst_698 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2651 = stablehlo.broadcast_in_dim %cst_698, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2652 = stablehlo.multiply %2651, %2650 : tensor<256xf32>
    %2653 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2654 = stablehlo.multiply %1918, %2653 : tensor<256xf32>
    %2655 = stablehlo.sqrt %2654 : tensor<256xf32>
    %cst_699 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2656 = stablehlo.broadcast_in_dim %cst_699, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2657 = stablehlo.add %2655, %2656 : tensor<256xf32>
    %2658 = stablehlo.divide %2652, %2657 : tensor<256xf32>
    %2659 = stablehlo.subtract %arg57, %2658 : tensor<256xf32>
    %2660 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2661 = stablehlo.multiply %1495, %2660 : tensor<1024xf32>
    %cst_700 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2662 = stablehlo.broadcast_in_dim %cst_700, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2663 = stablehlo.multiply %2662, %2661 : tensor<1024xf32>
    %2664 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2665 = stablehlo.multiply %1924, %2664 : tensor<1024xf32>
    %2666 = stablehlo.sqrt %2665 : tensor<1024xf32>
    %cst_701 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2667 = stablehlo.broadcast_in_dim %cst_701, dims = [] : (tensor<f32>) -> tensor<1024xf32>
    %2668 = stablehlo.add %2666, %2667 : tensor<1024xf32>
    %2669 = stablehlo.divide %2663, %2668 : tensor<1024xf32>
    %2670 = stablehlo.subtract %arg58, %2669 : tensor<1024xf32>
    %2671 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2672 = stablehlo.multiply %1500, %2671 : tensor<256xf32>
    %cst_702 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2673 = stablehlo.broadcast_in_dim %cst_702, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2674 = stablehlo.multiply %2673, %2672 : tensor<256xf32>
    %2675 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2676 = stablehlo.multiply %1930, %2675 : tensor<256xf32>
    %2677 = stablehlo.sqrt %2676 : tensor<256xf32>
    %cst_703 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2678 = stablehlo.broadcast_in_dim %cst_703, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2679 = stablehlo.add %2677, %2678 : tensor<256xf32>
    %2680 = stablehlo.divide %2674, %2679 : tensor<256xf32>
    %2681 = stablehlo.subtract %arg59, %2680 : tensor<256xf32>
    %2682 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2683 = stablehlo.multiply %1505, %2682 : tensor<1024x256xf32>
    %cst_704 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2684 = stablehlo.broadcast_in_dim %cst_704, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2685 = stablehlo.multiply %2684, %2683 : tensor<1024x256xf32>
    %2686 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2687 = stablehlo.multiply %1936, %2686 : tensor<1024x256xf32>
    %2688 = stablehlo.sqrt %2687 : tensor<1024x256xf32>
    %cst_705 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2689 = stablehlo.broadcast_in_dim %cst_705, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2690 = stablehlo.add %2688, %2689 : tensor<1024x256xf32>
    %2691 = stablehlo.divide %2685, %2690 : tensor<1024x256xf32>
    %2692 = stablehlo.subtract %arg60, %2691 : tensor<1024x256xf32>
    %2693 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2694 = stablehlo.multiply %1510, %2693 : tensor<256x256xf32>
    %cst_706 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2695 = stablehlo.broadcast_in_dim %cst_706, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2696 = stablehlo.multiply %2695, %2694 : tensor<256x256xf32>
    %2697 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2698 = stablehlo.multiply %1942, %2697 : tensor<256x256xf32>
    %2699 = stablehlo.sqrt %2698 : tensor<256x256xf32>
    %cst_707 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2700 = stablehlo.broadcast_in_dim %cst_707, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2701 = stablehlo.add %2699, %2700 : tensor<256x256xf32>
    %2702 = stablehlo.divide %2696, %2701 : tensor<256x256xf32>
    %2703 = stablehlo.subtract %arg61, %2702 : tensor<256x256xf32>
    %2704 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2705 = stablehlo.multiply %1515, %2704 : tensor<256x256xf32>
    %cst_708 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2706 = stablehlo.broadcast_in_dim %cst_708, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2707 = stablehlo.multiply %2706, %2705 : tensor<256x256xf32>
    %2708 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2709 = stablehlo.multiply %1948, %2708 : tensor<256x256xf32>
    %2710 = stablehlo.sqrt %2709 : tensor<256x256xf32>
    %cst_709 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2711 = stablehlo.broadcast_in_dim %cst_709, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2712 = stablehlo.add %2710, %2711 : tensor<256x256xf32>
    %2713 = stablehlo.divide %2707, %2712 : tensor<256x256xf32>
    %2714 = stablehlo.subtract %arg62, %2713 : tensor<256x256xf32>
    %2715 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2716 = stablehlo.multiply %1520, %2715 : tensor<256x256xf32>
    %cst_710 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2717 = stablehlo.broadcast_in_dim %cst_710, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2718 = stablehlo.multiply %2717, %2716 : tensor<256x256xf32>
    %2719 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2720 = stablehlo.multiply %1954, %2719 : tensor<256x256xf32>
    %2721 = stablehlo.sqrt %2720 : tensor<256x256xf32>
    %cst_711 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2722 = stablehlo.broadcast_in_dim %cst_711, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2723 = stablehlo.add %2721, %2722 : tensor<256x256xf32>
    %2724 = stablehlo.divide %2718, %2723 : tensor<256x256xf32>
    %2725 = stablehlo.subtract %arg63, %2724 : tensor<256x256xf32>
    %2726 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2727 = stablehlo.multiply %1525, %2726 : tensor<256xf32>
    %cst_712 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2728 = stablehlo.broadcast_in_dim %cst_712, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2729 = stablehlo.multiply %2728, %2727 : tensor<256xf32>
    %2730 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2731 = stablehlo.multiply %1960, %2730 : tensor<256xf32>
    %2732 = stablehlo.sqrt %2731 : tensor<256xf32>
    %cst_713 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2733 = stablehlo.broadcast_in_dim %cst_713, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2734 = stablehlo.add %2732, %2733 : tensor<256xf32>
    %2735 = stablehlo.divide %2729, %2734 : tensor<256xf32>
    %2736 = stablehlo.subtract %arg64, %2735 : tensor<256xf32>
    %2737 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2738 = stablehlo.multiply %1530, %2737 : tensor<256xf32>
    %cst_714 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2739 = stablehlo.broadcast_in_dim %cst_714, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2740 = stablehlo.multiply %2739, %2738 : tensor<256xf32>
    %2741 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2742 = stablehlo.multiply %1966, %2741 : tensor<256xf32>
    %2743 = stablehlo.sqrt %2742 : tensor<256xf32>
    %cst_715 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2744 = stablehlo.broadcast_in_dim %cst_715, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2745 = stablehlo.add %2743, %2744 : tensor<256xf32>
    %2746 = stablehlo.divide %2740, %2745 : tensor<256xf32>
    %2747 = stablehlo.subtract %arg65, %2746 : tensor<256xf32>
    %2748 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %2749 = stablehlo.multiply %1535, %2748 : tensor<256x1024xf32>
    %cst_716 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2750 = stablehlo.broadcast_in_dim %cst_716, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %2751 = stablehlo.multiply %2750, %2749 : tensor<256x1024xf32>
    %2752 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %2753 = stablehlo.multiply %1972, %2752 : tensor<256x1024xf32>
    %2754 = stablehlo.sqrt %2753 : tensor<256x1024xf32>
    %cst_717 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2755 = stablehlo.broadcast_in_dim %cst_717, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %2756 = stablehlo.add %2754, %2755 : tensor<256x1024xf32>
    %2757 = stablehlo.divide %2751, %2756 : tensor<256x1024xf32>
    %2758 = stablehlo.subtract %arg66, %2757 : tensor<256x1024xf32>
    %2759 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2760 = stablehlo.multiply %1540, %2759 : tensor<256x256xf32>
    %cst_718 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2761 = stablehlo.broadcast_in_dim %cst_718, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2762 = stablehlo.multiply %2761, %2760 : tensor<256x256xf32>
    %2763 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2764 = stablehlo.multiply %1978, %2763 : tensor<256x256xf32>
    %2765 = stablehlo.sqrt %2764 : tensor<256x256xf32>
    %cst_719 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2766 = stablehlo.broadcast_in_dim %cst_719, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2767 = stablehlo.add %2765, %2766 : tensor<256x256xf32>
    %2768 = stablehlo.divide %2762, %2767 : tensor<256x256xf32>
    %2769 = stablehlo.subtract %arg67, %2768 : tensor<256x256xf32>
    %2770 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2771 = stablehlo.multiply %1545, %2770 : tensor<256xf32>
    %cst_720 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2772 = stablehlo.broadcast_in_dim %cst_720, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2773 = stablehlo.multiply %2772, %2771 : tensor<256xf32>
    %2774 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2775 = stablehlo.multiply %1984, %2774 : tensor<256xf32>
    %2776 = stablehlo.sqrt %2775 : tensor<256xf32>
    %cst_721 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2777 = stablehlo.broadcast_in_dim %cst_721, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2778 = stablehlo.add %2776, %2777 : tensor<256xf32>
    %2779 = stablehlo.divide %2773, %2778 : tensor<256xf32>
    %2780 = stablehlo.subtract %arg68, %2779 : tensor<256xf32>
    %2781 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2782 = stablehlo.multiply %1550, %2781 : tensor<256xf32>
    %cst_722 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2783 = stablehlo.broadcast_in_dim %cst_722, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2784 = stablehlo.multiply %2783, %2782 : tensor<256xf32>
    %2785 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2786 = stablehlo.multiply %1990, %2785 : tensor<256xf32>
    %2787 = stablehlo.sqrt %2786 : tensor<256xf32>
    %cst_723 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2788 = stablehlo.broadcast_in_dim %cst_723, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %2789 = stablehlo.add %2787, %2788 : tensor<256xf32>
    %2790 = stablehlo.divide %2784, %2789 : tensor<256xf32>
    %2791 = stablehlo.subtract %arg69, %2790 : tensor<256xf32>
    %2792 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<64x256xf32>
    %2793 = stablehlo.multiply %1555, %2792 : tensor<64x256xf32>
    %cst_724 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2794 = stablehlo.broadcast_in_dim %cst_724, dims = [] : (tensor<f32>) -> tensor<64x256xf32>
    %2795 = stablehlo.multiply %2794, %2793 : tensor<64x256xf32>
    %2796 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<64x256xf32>
    %2797 = stablehlo.multiply %1996, %2796 : tensor<64x256xf32>
    %2798 = stablehlo.sqrt %2797 : tensor<64x256xf32>
    %cst_725 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2799 = stablehlo.broadcast_in_dim %cst_725, dims = [] : (tensor<f32>) -> tensor<64x256xf32>
    %2800 = stablehlo.add %2798, %2799 : tensor<64x256xf32>
    %2801 = stablehlo.divide %2795, %2800 : tensor<64x256xf32>
    %2802 = stablehlo.subtract %arg70, %2801 : tensor<64x256xf32>
    %2803 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<2x256xf32>
    %2804 = stablehlo.multiply %1560, %2803 : tensor<2x256xf32>
    %cst_726 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2805 = stablehlo.broadcast_in_dim %cst_726, dims = [] : (tensor<f32>) -> tensor<2x256xf32>
    %2806 = stablehlo.multiply %2805, %2804 : tensor<2x256xf32>
    %2807 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<2x256xf32>
    %2808 = stablehlo.multiply %2002, %2807 : tensor<2x256xf32>
    %2809 = stablehlo.sqrt %2808 : tensor<2x256xf32>
    %cst_727 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2810 = stablehlo.broadcast_in_dim %cst_727, dims = [] : (tensor<f32>) -> tensor<2x256xf32>
    %2811 = stablehlo.add %2809, %2810 : tensor<2x256xf32>
    %2812 = stablehlo.divide %2806, %2811 : tensor<2x256xf32>
    %2813 = stablehlo.subtract %arg71, %2812 : tensor<2x256xf32>
    %2814 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2815 = stablehlo.multiply %1565, %2814 : tensor<1024x256xf32>
    %cst_728 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2816 = stablehlo.broadcast_in_dim %cst_728, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2817 = stablehlo.multiply %2816, %2815 : tensor<1024x256xf32>
    %2818 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2819 = stablehlo.multiply %2008, %2818 : tensor<1024x256xf32>
    %2820 = stablehlo.sqrt %2819 : tensor<1024x256xf32>
    %cst_729 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2821 = stablehlo.broadcast_in_dim %cst_729, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %2822 = stablehlo.add %2820, %2821 : tensor<1024x256xf32>
    %2823 = stablehlo.divide %2817, %2822 : tensor<1024x256xf32>
    %2824 = stablehlo.subtract %arg72, %2823 : tensor<1024x256xf32>
    %2825 = stablehlo.broadcast_in_dim %2018, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2826 = stablehlo.multiply %1570, %2825 : tensor<256x256xf32>
    %cst_730 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %2827 = stablehlo.broadcast_in_dim %cst_730, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2828 = stablehlo.multiply %2827, %2826 : tensor<256x256xf32>
    %2829 = stablehlo.broadcast_in_dim %2021, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2830 = stablehlo.multiply %2014, %2829 : tensor<256x256xf32>
    %2831 = stablehlo.sqrt %2830 : tensor<256x256xf32>
    %cst_731 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %2832 = stablehlo.broadcast_in_dim %cst_731, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
    %2833 = stablehlo.add %2831, %2832 : tensor<256x256xf32>
    %2834 = stablehlo.divide %2828, %2833 : tensor<256x256xf32>
    %2835 = stablehlo.subtract %arg73, %2834 : tensor<256x256xf32>
    return %2032, %2043, %2054, %2065, %2076, %2087, %2098, %2109, %2120, %2131, %2142, %2153, %2164, %2175, %2186, %2197, %2208, %2219, %2230, %2241, %2252, %2263, %2274, %2285, %2296, %2307, %2318, %2329, %2340, %2351, %2362, %2373, %2384, %2395, %2406, %2417, %2428, %2439, %2450, %2461, %2472, %2483, %2494, %2505, %2516, %2527, %2538, %2549, %2560, %2571, %2582, %2593, %2604, %2615, %2626, %2637, %2648, %2659, %2670, %2681, %2692, %2703, %2714, %2725, %2736, %2747, %2758, %2769, %2780, %2791, %2802, %2813, %2824, %2835, %1200, %1205, %1210, %1215, %1220, %1225, %1230, %1235, %1240, %1245, %1250, %1255, %1260, %1265, %1270, %1275, %1280, %1285, %1290, %1295, %1300, %1305, %1310, %1315, %1320, %1325, %1330, %1335, %1340, %1345, %1350, %1355, %1360, %1365, %1370, %1375, %1380, %1385, %1390, %1395, %1400, %1405, %1410, %1415, %1420, %1425, %1430, %1435, %1440, %1445, %1450, %1455, %1460, %1465, %1470, %1475, %1480, %1485, %1490, %1495, %1500, %1505, %1510, %1515, %1520, %1525, %1530, %1535, %1540, %1545, %1550, %1555, %1560, %1565, %1570, %1576, %1582, %1588, %1594, %1600, %1606, %1612, %1618, %1624, %1630, %1636, %1642, %1648, %1654, %1660, %1666, %1672, %1678, %1684, %1690, %1696, %1702, %1708, %1714, %1720, %1726, %1732, %1738, %1744, %1750, %1756, %1762, %1768, %1774, %1780, %1786, %1792, %1798, %1804, %1810, %1816, %1822, %1828, %1834, %1840, %1846, %1852, %1858, %1864, %1870, %1876, %1882, %1888, %1894, %1900, %1906, %1912, %1918, %1924, %1930, %1936, %1942, %1948, %1954, %1960, %1966, %1972, %1978, %1984, %1990, %1996, %2002, %2008, %2014, %543 : tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<1024xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<1024xf32>, tensor<256xf32>, tensor<1024x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x1024xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<1024xf32>, tensor<256xf32>, tensor<1024x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x1024xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<1024xf32>, tensor<256xf32>, tensor<1024x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x1024xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<1024xf32>, tensor<256xf32>, tensor<1024x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x1024xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<64x256xf32>, tensor<2x256xf32>, tensor<1024x256xf32>, tensor<256x256xf32>, tensor<i32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<1024xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<1024xf32>, tensor<256xf32>, tensor<1024x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x1024xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<1024xf32>, tensor<256xf32>, tensor<1024x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x1024xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<1024xf32>, tensor<256xf32>, tensor<1024x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x1024xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<1024xf32>, tensor<256xf32>, tensor<1024x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x1024xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<64x256xf32>, tensor<2x256xf32>, tensor<1024x256xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<1024xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<1024xf32>, tensor<256xf32>, tensor<1024x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x1024xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<1024xf32>, tensor<256xf32>, tensor<1024x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x1024xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<1024xf32>, tensor<256xf32>, tensor<1024x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x1024xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<1024xf32>, tensor<256xf32>, tensor<1024x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256x1024xf32>, tensor<256x256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<64x256xf32>, tensor<2x256xf32>, tensor<1024x256xf32>, tensor<256x256xf32>, tensor<f32>
  }
  func.func private @take_along_axis(%arg0: tensor<16x64x256xf32>, %arg1: tensor<16x8x1xi32>) -> (tensor<16x8x256xf32>, tensor<16x8x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x8x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<16x8x1xi32>, tensor<16x8x1xi32>) -> tensor<16x8x1xi1>
    %c_0 = stablehlo.constant dense<64> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<16x8x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<16x8x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<16x8x1xi1>, tensor<16x8x1xi32>
    %c_1 = stablehlo.constant dense<63> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<16x8x1xi32>
    %6 = stablehlo.compare GE, %4, %5, SIGNED : (tensor<16x8x1xi32>, tensor<16x8x1xi32>) -> tensor<16x8x1xi1>
    %7 = stablehlo.broadcast_in_dim %c_1, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<16x8x1xi32>
    %9 = stablehlo.compare LE, %4, %8, SIGNED : (tensor<16x8x1xi32>, tensor<16x8x1xi32>) -> tensor<16x8x1xi1>
    %10 = stablehlo.and %6, %9 : tensor<16x8x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %11 = stablehlo.reduce(%10 init: %c_3) applies stablehlo.and across dimensions = [2] : (tensor<16x8x1xi1>, tensor<i1>) -> tensor<16x8xi1>
    %12 = "stablehlo.gather"(%arg0, %4) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 256>}> : (tensor<16x64x256xf32>, tensor<16x8x1xi32>) -> tensor<16x8x256xf32>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1] : (tensor<16x8xi1>) -> tensor<16x8x256xi1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x8x256xf32>
    %15 = stablehlo.select %13, %12, %14 : tensor<16x8x256xi1>, tensor<16x8x256xf32>
    return %15, %4 : tensor<16x8x256xf32>, tensor<16x8x1xi32>
  }
  func.func private @log_softmax(%arg0: tensor<16x8x1024xf32>) -> (tensor<16x8x1024xf32>, tensor<16x8x1024xf32>, tensor<16x8x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<16x8x1024xf32>, tensor<f32>) -> tensor<16x8xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<16x8xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<16x8xf32>) -> tensor<16x8x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<16x8x1xf32>) -> tensor<16x8x1024xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<16x8x1024xf32>
    %6 = stablehlo.exponential %5 : tensor<16x8x1024xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<16x8x1024xf32>, tensor<f32>) -> tensor<16x8xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<16x8xf32>) -> tensor<16x8x1xf32>
    %9 = stablehlo.log %8 : tensor<16x8x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<16x8x1xf32>) -> tensor<16x8x1024xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<16x8x1024xf32>
    return %11, %6, %8 : tensor<16x8x1024xf32>, tensor<16x8x1024xf32>, tensor<16x8x1xf32>
  }
  func.func private @take_along_axis_0(%arg0: tensor<16x8x1024xf32>, %arg1: tensor<16x8x1xi32>) -> (tensor<16x8x1xf32>, tensor<16x8x1x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x8x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<16x8x1xi32>, tensor<16x8x1xi32>) -> tensor<16x8x1xi1>
    %c_0 = stablehlo.constant dense<1024> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<16x8x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<16x8x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<16x8x1xi1>, tensor<16x8x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<16x8x1xi32>) -> tensor<16x8x1x1xi32>
    %c_1 = stablehlo.constant dense<1023> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<16x8x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<16x8x1x1xi32>, tensor<16x8x1x1xi32>) -> tensor<16x8x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [3] : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xi32>) -> tensor<16x8x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<16x8x1x1xi32>, tensor<16x8x1x1xi32>) -> tensor<16x8x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<16x8x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [3] : (tensor<16x8x1x1xi1>, tensor<i1>) -> tensor<16x8x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<16x8x1024xf32>, tensor<16x8x1x1xi32>) -> tensor<16x8x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x8x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<16x8x1xi1>, tensor<16x8x1xf32>
    return %15, %5 : tensor<16x8x1xf32>, tensor<16x8x1x1xi32>
  }
  func.func private @take_along_axis_1(%arg0: tensor<16x8x1x1xi32>, %arg1: tensor<16x8x1xf32>) -> tensor<16x8x1024xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x8x1024xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<16x8x1024xf32>, tensor<16x8x1x1xi32>, tensor<16x8x1xf32>) -> tensor<16x8x1024xf32>
    return %1 : tensor<16x8x1024xf32>
  }
  func.func private @log_softmax_2(%arg0: tensor<16x8x1024xf32>, %arg1: tensor<16x8x1xf32>, %arg2: tensor<16x8x1024xf32>) -> tensor<16x8x1024xf32> {
    %0 = stablehlo.negate %arg2 : tensor<16x8x1024xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<16x8x1024xf32>, tensor<f32>) -> tensor<16x8xf32>
    %2 = stablehlo.reshape %1 : (tensor<16x8xf32>) -> tensor<16x8x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<16x8x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<16x8x1xf32>, tensor<f32>) -> tensor<16x8xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<16x8xf32>) -> tensor<16x8x1024xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<16x8x1024xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<16x8x1024xf32>
    return %7 : tensor<16x8x1024xf32>
  }
  func.func private @take_along_axis_3(%arg0: tensor<16x8x1xi32>, %arg1: tensor<16x8x256xf32>) -> tensor<16x64x256xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x64x256xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<16x64x256xf32>, tensor<16x8x1xi32>, tensor<16x8x256xf32>) -> tensor<16x64x256xf32>
    return %1 : tensor<16x64x256xf32>
  }
}
