// REQUIRES: jax
// RUN: %pcg-run %s --mesh data=2,model=4 --check --repeat 1 | FileCheck %s
// RUN: %pcg-run %s --mesh data=2,model=4 --check --repeat 1 --json --save-plan %t.json | FileCheck %s --check-prefix=JSON
// RUN: %pcg-run %s --mesh data=2,model=4 --check --repeat 1 --strategy %t.json --seed 3 --seeds 2 | FileCheck %s --check-prefix=PLAN
// RUN: not %pcg-run %s --mesh data=2,model=4 --check --repeat 1 --tolerance 1e-30 | FileCheck %s --check-prefix=DIFFERS
// RUN: not %pcg-run %s --mesh data=2 --strategy %t.json 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not %pcg-run %s 2>&1 | FileCheck %s --check-prefix=NOMESH
// RUN: not %pcg-run %t.absent.mlir --mesh data=2 2>&1 | FileCheck %s --check-prefix=ABSENT

// CHECK: on mesh data=2,model=4 (8 cpu devices), strategy auto
// CHECK: estimated step
// CHECK: bytes moved
// CHECK: memory
// CHECK: run
// CHECK: reference {{.*}} on one device
// CHECK: AGREES: 2 results, worst relative error {{.*}} (seed 0)

// JSON-DAG: "agrees": true
// JSON-DAG: "communication_bytes":
// PLAN: AGREES: 4 results, {{.*}}, one device {{.*}}, in double precision {{.*}} (seed 3)
// DIFFERS: DIFFERS in {{[0-9]+}} elements, first at {{.*}}: got {{.*}}, expected
// MESH: pcg-run: error: plan of program 'main' is for mesh data=2,model=4; this mesh is data=2
// NOMESH: pcg-run: error: the program declares no mesh; give --mesh name=size,...
// ABSENT: pcg-run: error: no such file:

func.func @main(%table: tensor<64x256xf32>, %i: tensor<32xi32>, %w: tensor<256x512xf32>, %v: tensor<512x256xf32>)
    -> (tensor<32x256xf32>, tensor<32xi32>) {
  %0 = "stablehlo.gather"(%table, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false,
    slice_sizes = array<i64: 1, 256>}> : (tensor<64x256xf32>, tensor<32xi32>) -> tensor<32x256xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<32x256xf32>, tensor<256x512xf32>) -> tensor<32x512xf32>
  %2 = stablehlo.tanh %1 : tensor<32x512xf32>
  %3 = stablehlo.dot_general %2, %v, contracting_dims = [1] x [0] : (tensor<32x512xf32>, tensor<512x256xf32>) -> tensor<32x256xf32>
  %4 = stablehlo.add %i, %i : tensor<32xi32>
  func.return %3, %4 : tensor<32x256xf32>, tensor<32xi32>
}
