from pcg.passes.base import Pass
from pcg.planning.choose_groups import ChooseGroups


class ChooseGroupsPass(ChooseGroups, Pass):
    """On a cluster of heterogeneous groups of devices, choose what each of them does.

    Strategies, for each of which a plan is searched and then simulated:

    - slowest: one mesh of all devices, at the pace and with the memory of the slowest kind.
    - alone: one group, on the mesh and with the plan that suit it.
    - shared: uneven data parallelism (see pcg-uneven-data-parallelism): every group works on a share of the batch, at
      first in proportion to its speed alone, then corrected by the time that each is found to compute.  Weights are
      distributed to the groups, gradients cross.
    - staged: the weights are split in order of their first use, what uses them goes to their group, and only
      activations cross.  Stages run one after another: this is for models that fit on no group alone.

    Where one mesh is best, it becomes the module's `dist.mesh`, and the search goes on from there.  Else the module is
    left as placed stages, one mesh per group, for `--lower-processes`; passes for one mesh leave it alone.
    A program that has a mesh, and a cluster of one kind of device, stay as they are.

    Before:
    ```mlir
    func.func @main(%x: tensor<64x256xf32>, %w: tensor<256x256xf32>) -> tensor<64x256xf32> { ... }
    ```
    After, if a share of the batch for each group is best:
    ```mlir
    "dist.mesh"() {sym_name = "gpu", value = #dist.process_mesh<["d0"], [8], [0, 1, 2, ...]>} : () -> ()
    "dist.mesh"() {sym_name = "npu", value = #dist.process_mesh<["d0"], [8], [8, 9, 10, ...]>} : () -> ()
    ...
      %2 = "pcg.stage"(%1) ({ ... }) {index = 0, mesh = @gpu, ...}
      %4 = "pcg.stage"(%3) ({ ... }) {index = 0, mesh = @npu, ...}
    ```
    """

    name = "pcg-choose-groups"
