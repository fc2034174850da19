from pcg.passes.base import Pass
from pcg.planning.search import Search


class SearchPass(Search, Pass):
    """Choose the sharding of every op so that the estimated step time is least.

    Every op is given a strategy (an assignment of mesh axes to its factors) at once: compute
    (roofline), communication (alpha-beta per mesh axis) and resharding on every edge are minimised
    together, under a memory limit per device.  Layouts that are already in the IR are kept.  The
    result is `dist.specs` and `dist.operand_specs` on every op and layouts on the signature; the
    program itself does not change but for `dist.reshard` where a value is kept in another layout
    than it is produced in.

    Data parallelism, tensor parallelism and replication are always among the candidates; the plan
    is never worse than them by the same estimate.

    `algorithm=unity` decides instead as Unity (OSDI'22) does, to compare with: dynamic programming over
    the sequence and parallel splits of the forward graph, with graph splits and a cache of sub-solutions.
    `ablation` leaves parts of it out (without dp only tiny programs come to an end). It proves no bound.
    """

    name = "pcg-search"
    plain_axes = True
