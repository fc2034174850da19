// RUN: %pcg-opt %s --split-input-file --auto-propagate --dist-explain --remarks -o /dev/null 2>&1 | FileCheck %s
// RUN: %pcg-opt %s --split-input-file --auto-propagate --dist-explain --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=CONFLICT
// RUN: %pcg-opt %s --split-input-file --auto-propagate --dist-fuse-collectives --dist-explain --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=FUSED
// RUN: %pcg-opt %s --split-input-file --auto-propagate --dist-explain=values --remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=VALUES

// A layout that nobody gave comes from one that somebody did; a collective has two causes.
// CHECK: remark: dist-explain: x is [data, -]: annotated
// CHECK: remark: dist-explain: up is [-, model]: annotated
// CHECK: remark: dist-explain: down is [model, -]: model <- tanh at dist-explain.mlir:{{[0-9]+}} [data, model] (dot_general at dist-explain.mlir:{{[0-9]+}}, dimension k, contracted) <- dot_general at {{.*}} [data, model] (tanh at {{.*}}) <- up [-, model] (dot_general at {{.*}}, dimension j): up is annotated [-, model]
// CHECK: remark: dist-explain: the result is [data, -]: annotated
// CHECK: remark: dist-explain: all_reduce over model of the result of dot_general at dist-explain.mlir:{{[0-9]+}} ({{[0-9]+}} bytes sent, {{.*}} us) because the result of dot_general at {{.*}} is a partial sum over model: its contracted dimension of size 4096 is split over model {{.*}}: up is annotated [-, model], 2 ops away; but tanh at {{.*}} needs reduced values: it is not linear in operand 0
// FUSED: remark: dist-explain: all_reduce over model of the result of dot_general at {{.*}}: up is annotated [-, model], 2 ops away; but tanh at {{.*}} needs reduced values
// VALUES: remark: dist-explain: the result of tanh at {{.*}} is [data, -]: data <- the result [data, -] (returned): the result is annotated [data, -]
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()
func.func @main(%x: tensor<8x1024xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>} loc("x"),
                %up: tensor<1024x4096xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["model"]], {}>} loc("up"),
                %down: tensor<4096x1024xf32> loc("down"))
    -> (tensor<8x1024xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>}) {
  %0 = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0] : (tensor<8x1024xf32>, tensor<1024x4096xf32>) -> tensor<8x4096xf32>
  %1 = stablehlo.tanh %0 : tensor<8x4096xf32>
  %2 = stablehlo.dot_general %1, %down, contracting_dims = [1] x [0] : (tensor<8x4096xf32>, tensor<4096x1024xf32>) -> tensor<8x1024xf32>
  %3 = stablehlo.tanh %2 : tensor<8x1024xf32>
  return %3 : tensor<8x1024xf32>
}

// -----

// Two annotations that want different axes for one dimension: one operand is moved.
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()
func.func @main(%a: tensor<64x64xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>} loc("a"),
                %b: tensor<64x64xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], []], {}>} loc("b"))
    -> (tensor<64x64xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], []], {}>}) {
  %0 = stablehlo.add %a, %b : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
// CONFLICT: remark: dist-explain: conflict: a is annotated [data, -] and b is annotated [model, -] disagree at add at {{.*}}: the second is kept there, as that costs least in total (the alternative costs {{.*}} us more by dist-measure); all_gather over data

// -----

// A constraint asks for a layout in the middle of the program; what a sort needs whole is gathered.
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data"], [8], []>} : () -> ()
func.func @main(%a: tensor<64x64xf32> loc("a")) -> tensor<64x64xf32> {
  %0 = stablehlo.tanh %a : tensor<64x64xf32>
  %1 = "dist.constraint"(%0) {spec = #dist.shard_spec<@mesh, [[], ["data"]], {}>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = stablehlo.custom_call @opaque(%1) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}
// CHECK: remark: dist-explain: all_gather over data of the result of tanh at {{.*}} because the result of tanh {{.*}}a constraint at {{.*}} asks for [-, data]; but custom_call at {{.*}} runs replicated: custom call @opaque is opaque

// -----

// Without annotations all is chosen.
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data"], [8], []>} : () -> ()
func.func @main(%a: tensor<64x64xf32> loc("a")) -> tensor<64x64xf32> {
  %0 = stablehlo.tanh %a : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
// CHECK: remark: dist-explain: a is [data, -]: data chosen by the search, no annotation implies it
