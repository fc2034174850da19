// RUN: %pcg-opt %s --auto-parallel --cluster preset:dgx-h100:2 --remarks 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: %pcg-opt %s --auto-parallel --cluster preset:dgx-h100:2 --mesh data=2,model=8 --lower | FileCheck %s --check-prefix=LOWER
// RUN: %pcg-opt %s --auto-parallel --devices=6 | FileCheck %s --check-prefix=DEVICES
// RUN: %pcg-opt %s --auto-parallel --cluster detect --devices=1 | FileCheck %s --check-prefix=ONE
// RUN: echo 'colour = 1' > %t.toml
// RUN: not %pcg-opt %s --auto-parallel --cluster %t.toml 2>&1 | FileCheck %s --check-prefix=TOML
// RUN: not %pcg-opt %s --auto-parallel --cluster %t.absent.toml 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: not %pcg-opt %s --auto-parallel --cluster preset:abacus 2>&1 | FileCheck %s --check-prefix=PRESET
// RUN: not %pcg-opt %s --auto-parallel --devices=8 --mesh x=8 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not %pcg-opt %s --auto-parallel --devices=0 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not %pcg-opt %s --auto-parallel --cluster preset:dgx-h100:1 --mesh x=16 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not %pcg-opt %s --canonicalize --cluster preset:cpu 2>&1 | FileCheck %s --check-prefix=NOPASS
// RUN: not %pcg-opt %s --canonicalize --devices=2 2>&1 | FileCheck %s --check-prefix=NOMESH

// AUTO: remark: pcg-choose-mesh: mesh d0={{.*}}, best of {{[0-9]+}}
// AUTO: remark: pcg-select: plan:
// AUTO: "dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["d0"
// LOWER: mhlo.num_partitions = 16
// DEVICES: #dist.process_mesh<["d0"
// ONE: #dist.process_mesh<["d0"], [1], []>
// TOML: pcg-opt: error: --cluster: {{.*}}.toml: unknown key 'colour' in the file; allowed: name, description, source, kinds
// ABSENT: pcg-opt: error: {{.*}}.absent.toml: No such file or directory
// PRESET: pcg-opt: error: --cluster: unknown preset 'abacus'; there are cpu, dgx-a100
// BOTH: pcg-opt: error: --devices=8 and --mesh=x=8 exclude each other
// NONE: pcg-opt: error: argument --devices: '0'; allowed: a whole number, 1 or more
// LARGE: error: pcg-choose-mesh: mesh x=16 has 16 positions; cluster 'dgx-h100' has 8 usable devices
// NOPASS: pcg-opt: error: --cluster: no pass of this pipeline estimates costs on a machine
// NOMESH: pcg-opt: error: --devices: no pass of this pipeline chooses a mesh; --auto-parallel has one
func.func @main(%x: tensor<768x1536xf32>, %w: tensor<1536x1536xf32>) -> tensor<768x1536xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<768x1536xf32>, tensor<1536x1536xf32>) -> tensor<768x1536xf32>
  func.return %0 : tensor<768x1536xf32>
}
