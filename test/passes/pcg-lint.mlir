// RUN: %pcg-opt %s --pcg-lint --split-input-file --verify-diagnostics
// RUN: not %pcg-opt %s --pcg-lint --split-input-file 2>/dev/null | FileCheck %s

// Remarks say what the annotations cost and what is questionable about each; the program stays as it is.
// CHECK-LABEL: func.func @weights
// CHECK-SAME: dist.spec = #dist.shard_spec<@mesh, {{\[\[}}], ["model"]], {}>
// CHECK-NOT: dist.operand_specs
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()
// expected-remark @+8 {{as annotated}}
// expected-remark @+7 {{change first: }}
// expected-remark @+6 {{change then: }}
// expected-remark @+5 {{result result[0] is annotated [model, -], argument arg0, whose next value it is, [-, model]: it is resharded at the end of every step, 49152 bytes sent per device [contradictory]}}
// expected-remark @+4 {{argument arg0 as [-, model]: all_gather out of it, 196608 bytes sent per device and step}}
// expected-remark @+3 {{result result[0] as [model, -]: all_to_all out of it, 49152 bytes sent}}
// expected-remark @+2 {{nothing is split over axis data: its 2 devices all do the same work [idle-axis]}}
// expected-remark @+1 {{no annotation uses axis data (size 2) [unused-axis]}}
func.func @weights(%w: tensor<256x256xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["model"]], {}>}, %x: tensor<64x256xf32>)
    -> (tensor<256x256xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], []], {}>}, tensor<64x256xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [0] x [0] : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<256x256xf32>
  %2 = stablehlo.subtract %w, %1 : tensor<256x256xf32>
  func.return %2, %0 : tensor<256x256xf32>, tensor<64x256xf32>
}

// -----

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [4], []>} : () -> ()
// expected-remark @+1 {{as annotated}}
func.func @inside(%a: tensor<10x64xf32>) -> tensor<10x64xf32> {
  %0 = stablehlo.tanh %a : tensor<10x64xf32>
  // expected-remark @+2 {{as [x, -]: the step takes as long without [needless]}}
  // expected-remark @+1 {{dimension 0 of size 10 does not divide by 4: 20% of what the devices hold is padding [padding]}}
  %1 = "dist.constraint"(%0) {spec = #dist.shard_spec<@mesh, [["x"], []], {}>} : (tensor<10x64xf32>) -> tensor<10x64xf32>
  func.return %1 : tensor<10x64xf32>
}

// -----

"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [4], []>} : () -> ()
func.func @placed(%a: tensor<16x64xf32>) -> tensor<16x64xf32> {
  // expected-error @+1 {{'pcg.partition' op: the program is placed already; lint it before it is}}
  %0 = "pcg.partition"(%a) {axes = ["x"], dim = 0 : i64, dist.specs = [#dist.shard_spec<@mesh, [["x"], []], {}>]} : (tensor<16x64xf32>) -> tensor<16x64xf32>
  func.return %0 : tensor<16x64xf32>
}

// -----

// expected-error @+1 {{there is no mesh that the annotations are for}}
module {
  func.func @nowhere(%a: tensor<16x64xf32>) -> tensor<16x64xf32> {
    func.return %a : tensor<16x64xf32>
  }
}
