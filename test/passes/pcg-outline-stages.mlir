// RUN: %pcg-opt %S/Inputs/two_layer_step.mlir --mesh stage=2,data=2 --pcg-microbatch="microbatches=2" --pcg-assign-stages="stages=2" --pcg-split-backward --pcg-outline-stages | FileCheck %s
// RUN: %pcg-opt %S/Inputs/two_layer_step.mlir --mesh stage=1,data=2 --pcg-microbatch="microbatches=2" --pcg-assign-stages="stages=2" --pcg-split-backward --pcg-outline-stages="placement=v" | FileCheck %s --check-prefix=V

// RUN: %pcg-opt %S/Inputs/two_layer_step.mlir --group data=2 --group x=1 --pcg-microbatch="microbatches=2" --pcg-assign-stages="stages=2" --pcg-split-backward --pcg-outline-stages --stages 2 --microbatches 2 | FileCheck %s --check-prefix=UNLIKE

// UNLIKE: sym_name = "group0", value = #dist.process_mesh<["data"], [2], []>
// UNLIKE: sym_name = "group1", value = #dist.process_mesh<["x"], [1], [2]>
// UNLIKE: mesh = @group1, pcg.phase = "forward", pcg.stage = 1

// A mesh per group of devices, and a fragment per stage and phase; parameters are where they are updated.
// CHECK: sym_name = "group0", value = #dist.process_mesh<["data"], [2], [0, 1]>
// CHECK: sym_name = "group1", value = #dist.process_mesh<["data"], [2], [2, 3]>
// CHECK: @main(%arg0: tensor<4x4xf32> {dist.mesh = @group0}, %arg1: tensor<4x4xf32> {dist.mesh = @group1}, %arg2: tensor<8x4xf32> {dist.mesh = @group0})
// CHECK: "pcg.pipeline"(%arg2)
// CHECK: stablehlo.tanh
// CHECK: index = 0 : i64, mesh = @group0, pcg.phase = "forward", pcg.stage = 0
// CHECK: "pcg.transfer"(%{{.*}}) {mesh = @group1}
// CHECK: mesh = @group1, pcg.phase = "forward", pcg.stage = 1
// CHECK: mesh = @group1, pcg.phase = "backward", pcg.stage = 1
// CHECK: contracting_dims = [0] x [0]
// CHECK: mesh = @group1, pcg.phase = "weight", pcg.stage = 1
// CHECK: "pcg.transfer"(%{{.*}}) {mesh = @group0}
// CHECK: mesh = @group0, pcg.phase = "weight", pcg.stage = 0
// CHECK: stablehlo.subtract
// CHECK: mesh = @group0, pcg.phase = "update"}
// CHECK: mesh = @group1, pcg.phase = "update"}

// Both stages on one group: nothing is transferred, and the update is one fragment.
// V-NOT: pcg.transfer
// V: pcg.phase = "forward", pcg.stage = 0
// V: pcg.phase = "forward", pcg.stage = 1
// V: pcg.phase = "weight", pcg.stage = 0
// V: stablehlo.subtract
// V: stablehlo.subtract
// V: pcg.phase = "update"}
// V-NOT: pcg.phase = "update"}
