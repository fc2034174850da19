from pcg.passes.base import Pass
from pcg.planning.select import Select


class SelectPass(Select, Pass):
    """Choose among plans by simulation: those of the search, and the baselines.

    `pcg-search` adds up the times of a step; the simulator (`pcg.simulate`) also knows what overlaps.  So several plans
    are drafted, and timed by the simulator before they are written.  The fastest drafts, for a small program all, are
    written into copies of it, their reshards fused, lowered and simulated.  The one whose step is shortest, among those
    that fit the memory of a device, becomes the program's.  Candidates are

    - `pcg-search` as it is, and with seven sets (four for a large program) of overlap fractions, the share of the time
      of collectives that overlaps compute: of gradients' collectives (`gradient-overlap`), of those at the end of the
      step (`final-overlap`), of those beside which other branches compute (`branch-overlap`), and of others;
    - the plan of Unity's algorithm (`algorithm=unity`);
    - the baselines (`pcg-baseline`) that suit the program: data parallelism, ZeRO, tensor parallelism and hybrids of
      them, split tables and split experts, the axes of the mesh in each role.  A program that has annotations gets
      none of these.

    Of equals the first counts, the searches before others.  ZeRO variants of a plan are left out if what they save, the
    update, cannot make it the fastest.  At last up to `relinked` plans are timed that are the best one with parts of
    others, and the best of these is simulated.

    Candidates for a large program are evaluated in `jobs` processes; the outcome does not depend on how many.

    Where the mesh was chosen (`pcg-choose-mesh`), not declared, and the program is not large (8,000 ops), or with
    `meshes=any`, the baselines have every mesh of as many devices, in several device mappings, and the search also has
    the mesh of the best of them and the one of a single axis, Unity's also that of nodes and devices of a node.  What
    `pcg-substitute` has rewritten is also searched on the mesh that is chosen for it.  The mesh of the module may
    change then.

    `pcg-search` after it leaves the program as it is.  See docs/decisions/0014-baselines.md and
    docs/decisions/0026-plans-before-lowering.md.

    Before:
    ```mlir
    func.func @main(%x: tensor<65536x512xf32>, %w: tensor<512x512xf32>) -> tensor<65536x512xf32> {
    ```
    After, where the simulator finds data parallelism fastest:
    ```mlir
    func.func @main(%x: tensor<65536x512xf32> {dist.spec = #dist.shard_spec<@mesh, [["x"], []], {}>},
                    %w: tensor<512x512xf32> {dist.spec = #dist.shard_spec<@mesh, [[], []], {}>}) -> ...
    ```
    """

    name = "pcg-select"
    plain_axes = True
