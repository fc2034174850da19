// A pass that fails leaves the input and the pipeline; a run that succeeds leaves nothing.
// RUN: not %pcg-opt %s --cse --sdy-import --dist-verify --mlir-pass-pipeline-crash-reproducer=%t.mlir 2>/dev/null
// RUN: FileCheck %s < %t.mlir
// RUN: not %pcg-opt %t.mlir --run-reproducer 2>&1 | FileCheck %s --check-prefix=AGAIN
// RUN: %pcg-opt %s --cse --mlir-pass-pipeline-crash-reproducer=%t.none.mlir
// RUN: not %pcg-opt %t.none.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: %pcg-opt %s --cse --mlir-generate-reproducer=%t.gen.mlir && %pcg-opt --run-reproducer --dump-pass-pipeline %t.gen.mlir 2>&1 | FileCheck %s --check-prefix=GEN
// CHECK: func.func @main
// CHECK: pipeline: "builtin.module(cse,sdy-import,dist-verify)"
// AGAIN: error: dist-verify:
// NONE: No such file or directory
// GEN: builtin.module(cse)
// GEN: func.func @main
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
func.func @main(%a: tensor<4xf32> {dist.spec = #dist.shard_spec<@mesh, [["data"]], {}>}) -> tensor<4xf32> {
  %0 = stablehlo.tanh %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
