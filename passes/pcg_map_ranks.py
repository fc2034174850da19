from pcg.passes.base import Pass
from pcg.planning.map_ranks import MapRanks


class MapRanksPass(MapRanks, Pass):
    """Give the processes of placed stages the devices of a cluster on which what they exchange takes least.

    The devices that the meshes name are taken as processes.  What they send each other follows from the stages'
    collectives and the transfers between them; a process that talks much with another goes near it.  A process stays on
    devices of the kind on which it is, for which its stage was planned; `kinds` names another, and is needed where a
    mesh names devices that the cluster does not have.  Its device must hold its arguments.  Greedily
    as Paddle does it, then by exchanging two processes; of up to 8 processes the best of all placements.
    Never slower than the order of numbers.  Without a cluster nothing happens.

    Before, on nodes of two devices, where every process of @a talks to the one of @b at its position:
    ```mlir
    "dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 1]>} : () -> ()
    "dist.mesh"() {sym_name = "b", value = #dist.process_mesh<["x"], [2], [2, 3]>} : () -> ()
    ```
    After:
    ```mlir
    "dist.mesh"() {sym_name = "a", value = #dist.process_mesh<["x"], [2], [0, 2]>} : () -> ()
    "dist.mesh"() {sym_name = "b", value = #dist.process_mesh<["x"], [2], [1, 3]>} : () -> ()
    ```
    """

    name = "pcg-map-ranks"
