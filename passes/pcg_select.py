from pcg.passes.base import Pass
from pcg.planning.select import Select


class SelectPass(Select, Pass):
    """Choose among plans by simulating them: those of the search, and the baselines.

    `pcg-search` adds up the times of a step; the simulator (`pcg.simulate`) also knows what overlaps.  So several plans
    are made, each on a copy of the program, with its reshards, fused, lowered and simulated.  The one whose step is
    shortest, among those that fit the memory of a device, becomes the program's.  Candidates are

    - `pcg-search` as it is, and with seven sets of overlap fractions, the share of the time of collectives that
      overlaps compute: of gradients' collectives (`gradient-overlap`), of those at the end of the step
      (`final-overlap`), of those beside which other branches compute (`branch-overlap`), and of others;
    - the plan of Unity's algorithm (`algorithm=unity`);
    - the baselines (`pcg-baseline`) that suit the program: data parallelism, ZeRO, tensor parallelism and hybrids of
      them, split tables and split experts, the axes of the mesh in each role.  A program that has annotations gets
      none of these.

    So by simulation the outcome is not worse than any of them.  Of equals the first counts, the searches before
    others.  ZeRO variants of a plan that takes more than twice as long as the best so far are left out.  At last
    `relinked` plans are tried that are the best one with parts of what other searches found, and of the best baseline;
    a baseline that is the best is improved in the same way, as a plan of the search.

    Candidates for a large program are evaluated in `jobs` processes; the outcome does not depend on how many.

    Where the mesh was chosen (`pcg-choose-mesh`), not declared, the baselines have every mesh of as many devices, in
    several device mappings, and the search also has the mesh of the best of them and the one of a single axis, Unity's
    also that of nodes and devices of a node.  The mesh of the module may change then.

    `pcg-search` after it leaves the program as it is.  See docs/decisions/0014-baselines.md.

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
