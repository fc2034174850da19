// RUN: %pcg-opt %S/Inputs/two_layer_step.mlir --pcg-choose-pipeline="devices=2 groups=2 microbatches=4 schedule=1f1b" --remarks 2>&1 | FileCheck %s
// RUN: %pcg-opt %S/Inputs/two_layer_step.mlir --auto-parallel --stages auto --microbatches 2 --mesh x=2 | FileCheck %s --check-prefix=ALL
// RUN: %pcg-opt %S/Inputs/layers_step.mlir --prepare --pcg-choose-pipeline="devices=2 microbatches=2 schedule=1f1b" --remarks 2>&1 | FileCheck %s --check-prefix=LAYERS
// RUN: not %pcg-opt %S/Inputs/two_layer_step.mlir --auto-parallel --stages auto --placement v --mesh x=2 2>&1 | FileCheck %s --check-prefix=PLACED
// RUN: not %pcg-opt %S/Inputs/two_layer_step.mlir --pcg-choose-pipeline 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not %pcg-opt %S/Inputs/two_layer_step.mlir --pcg-microbatch="microbatches=0" 2>&1 | FileCheck %s --check-prefix=OPEN

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
