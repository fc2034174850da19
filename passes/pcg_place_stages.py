from pcg.passes.base import Pass
from pcg.planning.place_stages import PlaceStages


class PlaceStagesPass(PlaceStages, Pass):
    """Decide all layouts of a program of stages: run the passes for one mesh on each stage in turn.

    Every stage goes, as a program of its own, through dist-propagate (or, with `engine=search`, pcg-search)
    and dist-insert-reshards.  The engines that minimise time see one stage, not the transfers to it.
    What a value has been given where it is made, or where a stage took it
    before, is fixed for later stages of its mesh; a transfer goes to the layout that the first stage behind it
    takes, which is the one on the other mesh, as far as both meshes have it, if nothing in the stage asks for any.
    Then `in_specs` and `out_specs` of stages and the layouts of transfers, arguments and results are
    known.

    Before:
    ```mlir
    %t = "pcg.transfer"(%0) {mesh = @b} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %out = "pcg.stage"(%in) ... {index = 1, mesh = @b}
    ```
    After:
    ```mlir
    %t = "pcg.transfer"(%0) {mesh = @b, dist.specs = [#dist.shard_spec<@b, [["x"], []], {}>]} ...
    %out = "pcg.stage"(%in) ... {index = 1, mesh = @b, in_specs = [#dist.shard_spec<@b, [["x"], []], {}>],
                                 out_specs = [#dist.shard_spec<@b, [["x"], []], {}>]}
    ```
    """

    name = "pcg-place-stages"
