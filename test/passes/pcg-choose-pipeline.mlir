// RUN: %pcg-opt %S/Inputs/two_layer_step.mlir --pcg-choose-pipeline="devices=2 groups=2 microbatches=4 schedule=1f1b" --remarks 2>&1 | FileCheck %s
// RUN: %pcg-opt %S/Inputs/two_layer_step.mlir --auto-parallel --stages auto --microbatches 2 --mesh x=2 | FileCheck %s --check-prefix=ALL
// RUN: %pcg-opt %S/Inputs/layers_step.mlir --prepare --pcg-choose-pipeline="devices=2 microbatches=2 schedule=1f1b" --remarks 2>&1 | FileCheck %s --check-prefix=LAYERS
// RUN: not %pcg-opt %S/Inputs/two_layer_step.mlir --auto-parallel --stages auto --placement v --mesh x=2 2>&1 | FileCheck %s --check-prefix=PLACED
// RUN: not %pcg-opt %S/Inputs/two_layer_step.mlir --pcg-choose-pipeline 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not %pcg-opt %S/Inputs/two_layer_step.mlir --pcg-microbatch="microbatches=0" 2>&1 | FileCheck %s --check-prefix=OPEN

// RUN: %pcg-opt %S/Inputs/two_layer_step.mlir --auto-parallel --stages auto --group data=2 --group x=1 --remarks 2>&1 | FileCheck %s --check-prefix=GROUPS
// RUN: not %pcg-opt %S/Inputs/two_layer_step.mlir --auto-parallel --group data=2 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not %pcg-opt %S/Inputs/two_layer_step.mlir --auto-parallel --group data=2 --mesh x=1 --stages auto 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not %pcg-opt %S/Inputs/two_layer_step.mlir --auto-parallel --group data=2 --devices 2 --stages auto 2>&1 | FileCheck %s --check-prefix=COUNT

// Of groups that are declared only the rest is chosen.
// GROUPS: remark: pcg-choose-pipeline: 2 groups: data=2; x=1, {{[0-9]+}} microbatches
// GROUPS-NOT: instead of
// GROUPS: sym_name = "group0", value = #dist.process_mesh<["data"], [2], []>
// GROUPS: sym_name = "group1", value = #dist.process_mesh<["x"], [1], [2]>
// ALONE: --group=data=2 goes with --stages
// BOTH: --group=data=2 and --mesh=x=1 exclude each other
// COUNT: --group=data=2 and --devices=2 exclude each other

// The meshes of the groups, and what the passes behind this one take.
// CHECK: remark: pcg-choose-pipeline: 2 groups of data=1, 4 microbatches, 1f1b: {{.*}} ms, {{.*}} MiB per device; no schedule of these stages takes less than
// CHECK: module attributes {pcg.pipeline_choice = {microbatches = 4 : i64, placement = "linear", schedule = "1f1b", stages = 2 : i64}}
// CHECK-DAG: sym_name = "group0", value = #dist.process_mesh<["data"], [1], [0]>
// CHECK-DAG: sym_name = "group1", value = #dist.process_mesh<["data"], [1], [1]>

// All other passes of a pipeline take it up.
// ALL: pcg.pipeline_choice = {microbatches = 2 : i64
// ALL: microbatches = 2 : i64
// ALL: pcg.stage

// A loop of eight layers, of which two are planned.
// LAYERS: remark: pcg-choose-pipeline: {{[12]}} group
// LAYERS: stablehlo.while

// PLACED: --stages=auto chooses the placement, and --placement=v is given
// NONE: there are no devices to plan a pipeline for; give --cluster, --devices or --mesh
// OPEN: the number of microbatches is not chosen; run pcg-choose-pipeline first
