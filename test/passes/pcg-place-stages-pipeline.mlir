// RUN: %pcg-opt %S/Inputs/two_layer_step.mlir --mesh stage=2,data=2 --auto-parallel --stages=2 --microbatches=2 | FileCheck %s
// RUN: not %pcg-opt %S/Inputs/two_layer_step.mlir --mesh stage=2,data=2 --auto-parallel --stages=2 2>&1 | FileCheck %s --check-prefix=USAGE
// RUN: not %pcg-opt %S/Inputs/two_layer_step.mlir --mesh stage=2,data=2 --auto-parallel --stages=3 --microbatches=2 2>&1 | FileCheck %s --check-prefix=COUNT

// All programs of a group have one layout of what they share, and everything between them has one.
// CHECK: "pcg.pipeline"(%arg2) {{.*}}dist.specs
// CHECK: in_specs = [{{.*}}@group0{{.*}}mesh = @group0, out_specs
// CHECK: "pcg.transfer"(%{{.*}}) {dist.specs = [#dist.shard_spec<@group1
// CHECK: "pcg.batch"(%{{.*}}) {dist.specs = [#dist.shard_spec<@group1
// USAGE: --stages=2 needs --microbatches
// COUNT: 3 stages on 2 groups of devices; allowed: a multiple of the groups
