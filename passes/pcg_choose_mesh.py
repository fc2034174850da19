from pcg.passes.base import Pass
from pcg.planning.choose_mesh import ChooseMesh


class ChooseMeshPass(ChooseMesh, Pass):
    """Choose the process mesh and its place on the cluster: those of the fastest plan.

    With a number of devices (or a cluster) and no mesh in the program, every mesh of that many devices with up to
    `max-axes` axes is a candidate, in every distinct place on the cluster.  With a mesh that names no devices, and a
    cluster, the candidates are the places of that mesh.  For each, `pcg-search` looks for a good plan on a copy of
    the program; it stops as soon as it is proved that the candidate is not 0.1% better than the best before it.  The
    winner becomes the module's `dist.mesh`, with its devices; how much better another one could be at most is said
    in a remark.  Candidates come in a fixed order and only a better one replaces the best, so the same input gives
    the same mesh.

    Memory counts in a second round: where the fastest plan of a candidate does not fit, it is searched again within
    the limit (the six fastest are, the others until one fits).  Where none fits, the mesh is the one on which the
    least memory is needed: the search that follows may still make it fit by recomputation or gradient accumulation.

    A program whose mesh names devices, or one without cluster and number of devices, stays as it is.
    """

    name = "pcg-choose-mesh"
