// RUN: %pcg-opt %s --lower --pcg-simulate=trace=%t.json --remarks 2>&1 | FileCheck %s
// RUN: %pcg-opt %S/pcg-lower-processes.mlir --split-meshes --lower-processes --pcg-simulate --remarks 2>&1 | FileCheck %s --check-prefix=PROCESSES
// RUN: %pcg-opt %s --lower --pcg-simulate='overlap=false' --remarks 2>&1 | FileCheck %s --check-prefix=APART
// RUN: FileCheck %s --check-prefix=TRACE --input-file=%t.json
// RUN: not %pcg-opt %s --pcg-simulate 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: not %pcg-opt %s --lower --pcg-simulate=backend=tpu 2>&1 | FileCheck %s --check-prefix=BACKEND
// RUN: not %pcg-opt %s --lower --pcg-simulate=trace=%t.none/trace.json 2>&1 | FileCheck %s --check-prefix=WRITE

// The sum over the contracted dimension is sent while the other product is computed.
// CHECK: remark: pcg-simulate: step
// CHECK-NEXT: compute {{.*}} GFLOP per device
// CHECK-NEXT: communication {{.*}} 4.00 MiB sent per device, 0.0 us of it exposed
// CHECK-NEXT: memory
// CHECK: stablehlo.dot_general
// APART: communication [[T:[0-9.]+ us]] {{.*}} sent per device, [[T]] of it exposed
// TRACE: "traceEvents"
// PROCESSES: remark: pcg-simulate: step
// PROCESSES-NEXT: process   0   computes
// PROCESSES: process   3   computes
// EARLY: the module has no pcg.mesh: it is not lowered; run --lower first
// BACKEND: option 'backend': expected one of accelerator, cpu, got 'tpu'
// WRITE: cannot write the trace
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [2], []>} : () -> ()
func.func @main(%a: tensor<1024x2048xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["x"]], {}>},
                %b: tensor<2048x1024xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>},
                %c: tensor<4096x4096xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>})
    -> (tensor<1024x1024xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>},
        tensor<4096x4096xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] {dist.specs = [#dist.shard_spec<@mesh, [[], []], {x = "sum"}>]} : (tensor<1024x2048xf32>, tensor<2048x1024xf32>) -> tensor<1024x1024xf32>
  %1 = "dist.all_reduce"(%0) {axes = ["x"], kind = "sum", dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %2 = stablehlo.dot_general %c, %c, contracting_dims = [1] x [0] {dist.specs = [#dist.shard_spec<@mesh, [[], []], {}>]} : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %1, %2 : tensor<1024x1024xf32>, tensor<4096x4096xf32>
}
