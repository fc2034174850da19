// RUN: %pcg-opt %s --dist-propagate --remarks 2>&1 | FileCheck %s
// RUN: %pcg-opt %s --dist-propagate=engine=global --mlir-pass-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=STATS
// RUN: not %pcg-opt %s --dist-propagate="memory-limit=1KiB" 2>&1 | FileCheck %s --check-prefix=MEMORY

// The product is large and its operands small.  Where annotations just spread, it is summed over "x"; it costs
// a fraction to exchange the columns of one operand for rows and to gather the other.
// CHECK: remark: dist-propagate: engine=global: {{[0-9.]+}} us per step (compute {{[0-9.]+}} us, redistribution {{[0-9.]+}} us, 983040 bytes
// CHECK-SAME: rejected: dataflow {{[0-9.]+}} us; bfs {{[0-9.]+}} us; priority {{[0-9.]+}} us
// CHECK-LABEL: "dist.mesh"
// CHECK: func.func @main
// CHECK-SAME: %arg0: tensor<4096x64xf32> {dist.spec = #dist.shard_spec<@mesh, {{\[\[\], \["x"\]\]}}, {}>}
// CHECK: dot_general{{.*}}dist.specs = [#dist.shard_spec<@mesh, {{\[\["x"\], \[\]\]}}, {}>]
// STATS: bytes redistributed
// MEMORY: error: dist-propagate: no plan fits in 1.00 KiB per device
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [4], []>} : () -> ()
func.func @main(%x: tensor<4096x64xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["x"]], {}>},
                %w: tensor<64x4096xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>}) -> tensor<4096x4096xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x64xf32>, tensor<64x4096xf32>) -> tensor<4096x4096xf32>
  %1 = stablehlo.tanh %0 : tensor<4096x4096xf32>
  return %1 : tensor<4096x4096xf32>
}
