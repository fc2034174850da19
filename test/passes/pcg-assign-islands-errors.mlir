// RUN: not %pcg-opt %s --pcg-assign-islands=slices=left=podA:4-5 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not %pcg-opt %s --pcg-assign-islands=slices=left=podA:4-5,right=podB:0-2 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not %pcg-opt %s --pcg-assign-islands=slices=left=podA:4-5,right=podB:0-2+1 2>&1 | FileCheck %s --check-prefix=OVERLAP
// RUN: not %pcg-opt %s --pcg-assign-islands=slices=left=podA:4-5,right=podB:0-3,top=podA:0 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not %pcg-opt %s --pcg-assign-islands=slices=left=podA:4-5,right=podB:0-3,left=podB:4-5 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not %pcg-opt %s --pcg-assign-islands=slices=left=podA 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not %pcg-opt %s --pcg-assign-islands=slices=left=podA:5-4 2>&1 | FileCheck %s --check-prefix=RANGE

// MISSING: slice @right has no island and devices; write slices=right=island:0-3,...
// COUNT: slice @right of mesh data=2,model=2 has 3 devices; it needs 4
// OVERLAP: slice @right has device 1 twice; allowed: distinct devices
// UNKNOWN: the module has no slice @top; its slices: @left, @right
// TWICE: slice @left is named twice
// TEXT: cannot read slice 'left=podA'; write slice=island:0-3+6
// RANGE: devices 5-4 of slice 'left'; allowed: from the lower to the higher number
"dist.mesh"() {sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
"dist.mesh"() {sym_name = "right", value = #dist.process_mesh<["data", "model"], [2, 2], []>} : () -> ()
