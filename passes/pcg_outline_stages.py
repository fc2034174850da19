from pcg.passes.base import Pass
from pcg.rewrite.staging.outline import OutlineStages


class OutlineStagesPass(OutlineStages, Pass):
    """Make programs of the stages of a pipeline: one per phase, with transfers between meshes.

    What a stage runs in a phase (forward, backward, weight; each once per microbatch) becomes a `pcg.stage` on the mesh
    of its group of devices, @group0, @group1, ...; what runs once per step, before or after the microbatches, becomes
    one of its group.  State lives in the group that updates it.  Constants, and views of parameters, are repeated where
    they are read; other ops from before the microbatches are prepared once per step in each group that reads them.
    Runs after pcg-assign-stages and pcg-split-backward; pcg-place-stages decides the layouts inside.

    Before:
    ```mlir
    %h = stablehlo.tanh %x {pcg.stage = 0 : i64, pcg.phase = "forward"} : tensor<4x2xf32>
    %y = stablehlo.negate %h {pcg.stage = 1 : i64, pcg.phase = "forward"} : tensor<4x2xf32>
    ```
    After:
    ```mlir
    %t0 = "pcg.stage"(%in) ({ ... }) {index = 0, mesh = @group0, pcg.phase = "forward", pcg.stage = 0} : ...
    %h = stablehlo.get_tuple_element %t0[0] : ...
    %h1 = "pcg.transfer"(%h) {mesh = @group1} : (tensor<4x2xf32>) -> tensor<4x2xf32>
    %in1 = stablehlo.tuple %h1 : tuple<tensor<4x2xf32>>
    %t1 = "pcg.stage"(%in1) ({ ... }) {index = 1, mesh = @group1, pcg.phase = "forward", pcg.stage = 1} : ...
    ```
    """

    name = "pcg-outline-stages"
