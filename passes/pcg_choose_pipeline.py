from pcg.passes.base import Pass
from pcg.planning.choose_pipeline import ChoosePipeline


class ChoosePipelinePass(ChoosePipeline, Pass):
    """Choose the shape of a pipeline: that of the least estimated time of a step.

    A shape is a number of groups of devices, a mesh of one or two axes for each, a number of microbatches, and a
    schedule with its placement of stages. Groups are equal, or composed of meshes of several sizes; on a cluster of
    several kinds of devices each kind has costs of its own. Where the module declares the meshes @group0, @group1,
    ..., only the rest is chosen. Of loops over layers, the first and the last iteration are planned on the mesh of a
    group, as pcg-place-stages plans it, with what is before and behind the loops. That gives the time of F, B and W,
    bytes of activations, of what W needs, and of state of each unit; all others between them are like the first one.
    The units are divided into stages, balanced by their time, and scheduled. What does not fit into the memory of a
    device is planned again with less; what still does not fit is no candidate.

    For every shape, more microbatches are tried, and fewer, as long as that is faster.  The best shape is
    written onto the module: the meshes @group0, @group1, ... and numbers for pcg-microbatch{microbatches=0},
    pcg-assign-stages{stages=0} and pcg-outline-stages.  A remark says what it takes, further ones what the best of
    other numbers of groups take.

    Before:
    ```mlir
    module {
      func.func @main(...) {
    ```
    After:
    ```mlir
    module attributes {pcg.pipeline_choice = {microbatches = 8 : i64, placement = "linear", schedule = "auto",
                                              stages = 2 : i64}} {
      "dist.mesh"() {sym_name = "group0", value = #dist.process_mesh<["data"], [4], [0, 1, 2, 3]>} : () -> ()
      "dist.mesh"() {sym_name = "group1", value = #dist.process_mesh<["data"], [4], [4, 5, 6, 7]>} : () -> ()
      func.func @main(...) {
    ```
    """

    name = "pcg-choose-pipeline"
