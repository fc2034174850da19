// The two commands of the README: StableHLO to a parallel computation graph, and on to a per-device program.
// RUN: %pcg-opt %s --mesh data=2,model=4 --auto-parallel | FileCheck %s --check-prefix=PCG
// RUN: %pcg-opt %s --mesh data=2,model=4 --auto-parallel --lower | FileCheck %s --check-prefix=SPMD
// RUN: %pcg-opt %s --mesh data=2,model=4 --auto-parallel | %pcg-opt --lower | FileCheck %s --check-prefix=SPMD
// RUN: %pcg-opt %s --mesh data=2,model=4 --auto-parallel --export-sdy | FileCheck %s --check-prefix=SDY
// RUN: %pcg-opt %s --mesh data=2,model=4 --auto-parallel --dist-strip | FileCheck %s --check-prefix=STRIP
// RUN: %pcg-opt %s --mesh data=2,model=4 --auto-parallel --remarks -o %t.out 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not %pcg-opt %s --mesh data=2,model=4 --auto-parallel --memory-limit=1KiB 2>&1 | FileCheck %s --check-prefix=LIMIT
// RUN: %pcg-opt %s --mesh data=2,model=4 --auto-parallel --effort=proof | FileCheck %s --check-prefix=PCG
// RUN: %pcg-opt %s --mesh data=2,model=4 --auto-parallel --effort=quick | FileCheck %s --check-prefix=PCG
// RUN: not %pcg-opt %s --mesh data=2,model=4 --effort=quick --cse 2>&1 | FileCheck %s --check-prefix=EFFORT
// RUN: not %pcg-opt %s --auto-parallel 2>&1 | FileCheck %s --check-prefix=NOMESH

// PCG: "dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["data", "model"], [2, 4], []>} : () -> ()
// PCG: func.func @main({{.*}}dist.spec = #dist.shard_spec<@mesh
// PCG: stablehlo.dot_general {{.*}}dist.specs = [#dist.shard_spec<@mesh
// SPMD-NOT: dist.
// SPMD: mhlo.num_partitions = 8
// SPMD-NOT: dist.
// SPMD: stablehlo.dot_general
// SPMD-NOT: dist.
// SDY: sdy.mesh
// SDY: sdy.sharding
// STRIP-NOT: dist.
// STRIP-NOT: pcg.
// STRIP: stablehlo.dot_general {{.*}} (tensor<1024x512xf32>, tensor<512x256xf32>) -> tensor<1024x256xf32>
// REMARK: auto_parallel.mlir:{{[0-9]+}}:{{[0-9]+}}: remark: pcg-search:
// LIMIT: auto_parallel.mlir:{{[0-9]+}}:{{[0-9]+}}: error: pcg-search: {{.*}}1.00 KiB
// EFFORT: pcg-opt: error: --effort: no pass of this pipeline searches for a plan
// NOMESH: auto_parallel.mlir:{{[0-9]+}}:{{[0-9]+}}: error: pcg-search: {{.*}}mesh
func.func @main(%x: tensor<1024x512xf32>, %w: tensor<512x256xf32>) -> tensor<1024x256xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x512xf32>, tensor<512x256xf32>) -> tensor<1024x256xf32>
  %1 = stablehlo.tanh %0 : tensor<1024x256xf32>
  return %1 : tensor<1024x256xf32>
}
