// REQUIRES: jax
// What pcg-opt writes at each stage is read again, run as it is, and compared.
// RUN: %pcg-opt %s --mesh x=2,y=2 --auto-propagate -o %t.pcg.mlir
// RUN: %pcg-run %t.pcg.mlir --check --repeat 1 | FileCheck %s
// RUN: %pcg-opt %t.pcg.mlir --lower -o %t.lowered.mlir
// RUN: %pcg-run %t.lowered.mlir --check --repeat 1 --reference %s | FileCheck %s --check-prefixes=LOWERED,CHECK
// RUN: sed 's/replica_groups = dense<.*> : tensor<[0-9]*x[0-9]*xi64>/replica_groups = dense<[[0], [1], [2], [3]]> : tensor<4x1xi64>/' %t.lowered.mlir > %t.wrong.mlir
// RUN: not %pcg-run %t.wrong.mlir --check --repeat 1 --reference %s | FileCheck %s --check-prefix=WRONG

// LOWERED: lowered for mesh x=2,y=2 (4 cpu devices)
// CHECK: AGREES: 1 results, worst relative error {{.*}}, one device {{.*}}, in double precision {{.*}} (seed 0)
// WRONG: DIFFERS in {{[0-9]+}} elements, first at {{.*}}: got {{.*}}, expected {{.*}} times what is allowed)
// WRONG: DIFFERS: 1 of 1 results
"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x", "y"], [2, 2], []>} : () -> ()
func.func @main(%x: tensor<8x16xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>},
                %w: tensor<16x32xf32> {dist.spec = #dist.shard_spec<@mesh, [[], ["y"]], {}>},
                %v: tensor<32x16xf32> {dist.spec = #dist.shard_spec<@mesh, [["y"], []], {}>}) -> tensor<8x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %1 = stablehlo.tanh %0 : tensor<8x32xf32>
  %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}
