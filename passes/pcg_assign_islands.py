from pcg.passes.base import Pass
from pcg.rewrite.islands.assign import AssignIslands


class AssignIslandsPass(AssignIslands, Pass):
    """Give the slices of a program their islands and physical devices.

    A slice is a `dist.mesh`; the program does not say which devices it has.  `slices` has the island of each one, and
    its devices on that island by their numbers there, in the order of positions of the mesh (row-major).  Slices may
    have devices in common.

    Before:
    ```mlir
    "dist.mesh"() {sym_name = "left", value = #dist.process_mesh<["data"], [2], []>} : () -> ()
    ```
    After, with slices=left=podA:4-5:
    ```mlir
    "dist.mesh"() {island = "podA", sym_name = "left", value = #dist.process_mesh<["data"], [2], [4, 5]>} : () -> ()
    ```
    """

    name = "pcg-assign-islands"
