// RUN: %pcg-opt %s --pcg-assign-islands=slices=left=podA:4-5,right=podB:0-1+5+4 | FileCheck %s
// RUN: %pcg-opt %s --pcg-assign-islands=slices=left=podA:0-1,right=podA:1-4 | FileCheck %s --check-prefix=ONE

// Devices are in the order of positions of the mesh; slices of one island may have devices in common.
// CHECK: {island = "podA", sym_name = "left", value = #dist.process_mesh<["data"], [2], [4, 5]>}
// CHECK: {island = "podB", sym_name = "right", value = #dist.process_mesh<["data", "model"], [2, 2], [0, 1, 5, 4]>}
// ONE: {island = "podA", sym_name = "left", value = #dist.process_mesh<["data"], [2], [0, 1]>}
// ONE: {island = "podA", sym_name = "right", value = #dist.process_mesh<["data", "model"], [2, 2], [1, 2, 3, 4]>}
"dist.mesh"() {sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
"dist.mesh"() {sym_name = "right", value = #dist.process_mesh<["data", "model"], [2, 2], []>} : () -> ()
