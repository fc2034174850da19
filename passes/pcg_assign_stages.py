from pcg.passes.base import Pass
from pcg.rewrite.staging.assign import AssignStages


class AssignStagesPass(AssignStages, Pass):
    """Divide a step that runs in microbatches into the stages of a pipeline.

    The ops of the forward pass (what the loss needs) form a chain in program order, which is divided so that the
    longest stage is as short as possible, then so that few bytes cross the boundaries. The work of an op counts with
    that of the backward ops that belong to it; those of a layer, and the update of its parameters, are on its stage.
    Where the module has meshes of the groups, the time of an op is that on the devices of its stage, divided by their
    number. `pcg.stage_boundary(x)` in the program says where stages end instead. A gradient with terms on several
    stages (that of a tied embedding) is accumulated on each of them and added up once. Runs after pcg-microbatch;
    each op gets its number as `pcg.stage`.

    Before:
    ```mlir
    %h = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] : ...
    %y = stablehlo.dot_general %h, %w1, contracting_dims = [1] x [0] : ...
    ```
    After, with stages=2:
    ```mlir
    %h = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] {pcg.stage = 0 : i64} : ...
    %y = stablehlo.dot_general %h, %w1, contracting_dims = [1] x [0] {pcg.stage = 1 : i64} : ...
    ```
    """

    name = "pcg-assign-stages"
