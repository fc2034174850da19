// What annotations cost and which to change first; the program itself is not printed.
// RUN: %pcg-opt %s --lint | FileCheck %s
// RUN: %pcg-opt %s --lint --lint-format=json | FileCheck %s --check-prefix=JSON
// RUN: %pcg-opt %s --lint --lint-fail-above=1000% -o /dev/null
// RUN: not %pcg-opt %s --lint --lint-fail-above=5 | FileCheck %s
// RUN: %pcg-opt %s --lint --lint-budget=3 | FileCheck %s --check-prefix=BUDGET
// RUN: %pcg-opt %s --lint --cluster=preset:dgx-h100:1 | FileCheck %s --check-prefix=CLUSTER
// RUN: not %pcg-opt %s --lint --lint-fail-above=five 2>&1 | FileCheck %s --check-prefix=PERCENT
// RUN: not %pcg-opt %s --dist-verify --lint-fail-above=5 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not %pcg-opt %s --lint --mesh data=8 2>&1 | FileCheck %s --check-prefix=MESH

// CHECK: main on mesh data=2,model=4 (8 devices): 4 annotations
// CHECK: as annotated
// CHECK: after the changes below
// CHECK: without annotations
// CHECK: the annotations make a step {{[0-9.]+}}% longer
// CHECK-LABEL: Change first
// CHECK-NEXT: 1. {{[0-9.]+}} us -> {{[0-9.]+}} us
// CHECK-NEXT: argument arg1: [model, -] -> [-, {{.*}}model]
// CHECK-LABEL: Each annotation by itself
// CHECK: argument arg1 {{ *}}f32[1024,4096] {{ *}}[model, -] {{ *}}[-, {{.*}}model]
// CHECK-LABEL: Findings
// CHECK: lint.mlir:{{[0-9]+}}: argument arg1 as [model, -]: all_to_all out of it, 3145728 bytes sent per device and step, {{[0-9.]+}} us [forced-reshard]
// CHECK-NOT: func.func

// JSON: "excess": {{[0-9.]+}}
// JSON: "changes": [
// JSON: "code": "forced-reshard"
// BUDGET: The budget is spent before all changes were tried
// CLUSTER: 4 annotations
// PERCENT: pcg-opt: error: --lint-fail-above=five; write a percentage, as 5 or 5%
// ALONE: pcg-opt: error: --lint-fail-above goes with --lint
// MESH: error: --mesh=data=8 disagrees with the mesh of the program, data=2,model=4
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()
func.func @main(%x: tensor<512x1024xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>},
                %w1: tensor<1024x4096xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], []], {}>},
                %w2: tensor<4096x1024xf32> {dist.spec = #dist.shard_spec<@mesh, [["model"], []], {}>})
    -> (tensor<512x1024xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"], []], {}>}) {
  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<512x1024xf32>, tensor<1024x4096xf32>) -> tensor<512x4096xf32>
  %1 = stablehlo.tanh %0 : tensor<512x4096xf32>
  %2 = stablehlo.dot_general %1, %w2, contracting_dims = [1] x [0] : (tensor<512x4096xf32>, tensor<4096x1024xf32>) -> tensor<512x1024xf32>
  return %2 : tensor<512x1024xf32>
}
