from pcg.lower.fuse_collectives import FuseCollectives
from pcg.passes.base import Pass


class FuseCollectivesPass(FuseCollectives, Pass):
    """Replace every chain of PCG operators by the cheapest collectives with the same effect.

    A chain ends where a value in it has a second use.  `reduce` + `partition` becomes
    `dist.reduce_scatter`, `combine` + `partition` of another dimension `dist.all_to_all`, a change
    of device order `dist.permute`, `partition` alone `dist.slice`; `replicate` vanishes.
    With `reduce-scatter=false` a reduction is always an `all_reduce`, and a `slice` follows it.
    Where a profile says that devices share processors, collectives of one kind that follow each other over some axes
    and then over others are one over all of them.

    Before:
    ```mlir
    %1 = "pcg.reduce"(%0) {axes = ["model"], kind = "sum", ...}
    %2 = "pcg.partition"(%1) {axes = ["model"], dim = 0, ...}
    ```
    After:
    ```mlir
    %1 = "dist.reduce_scatter"(%0) {axes = ["model"], dim = 0, kind = "sum", ...}
    ```
    """

    name = "dist-fuse-collectives"
    plain_axes = True
