"""Slices: meshes of virtual devices, and the physical devices that they have for now.

A program is written against `Slice.mesh`.  Where that lies is a `Placement`, which the resource manager replaces when
devices fail or leave; whoever lowered the program for one compares versions, and lowers it again if they differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pcg.controller.boxes import TOPOLOGIES, Box
from pcg.controller.errors import ResourceError
from pcg.layout import Mesh, MeshError
from pcg.layout.brief import brief

#: What may be said of how many devices a slice has.
Shape = int | Sequence[int] | Mapping[str, int] | Mesh


@dataclass(frozen=True)
class Wanted:
    """What a client requests.

    `counted`: that there are so many devices is all that matters, not how they lie; `mesh` then has one axis, `device`.
    `kind`, `island`: their names; None if any will do.  `memory`: bytes of a device at least.
    `topology`: one of `pcg.controller.boxes.TOPOLOGIES`.
    """

    mesh: Mesh
    counted: bool
    kind: str | None
    memory: float | None
    island: str | None
    topology: str

    @classmethod
    def of(cls, shape: Shape, kind: str | None, memory: float | None, island: str | None, topology: str) -> Wanted:
        """Those of a shape: axes without names are x, y and z, or d0, d1, ... if there are more.

        Raises:
          ResourceError: a shape that is no mesh, one with device ids, an unknown topology, or memory not above 0.
        """
        if topology not in TOPOLOGIES:
            raise ResourceError(f"topology {brief(topology)} of a slice; allowed: {', '.join(TOPOLOGIES)}")
        if memory is not None and not memory > 0:
            raise ResourceError(f"memory {brief(memory)} of a slice's devices; allowed: bytes above 0, or None")
        counted = not isinstance(shape, Mesh | Mapping | Sequence | bool)
        try:
            if isinstance(shape, Mesh):
                mesh = shape
            elif isinstance(shape, Mapping):
                mesh = Mesh.of(shape)
            elif isinstance(shape, Sequence):
                mesh = Mesh.of(
                    zip("xyz" if len(shape) <= 3 else (f"d{i}" for i in range(len(shape))), shape, strict=False)
                )
            else:
                mesh = Mesh.of({"device": shape})
        except (MeshError, TypeError) as error:
            allowed = "a number of devices, sizes, or axes with sizes"
            raise ResourceError(f"shape {brief(shape)} of a slice: {error}; allowed: {allowed}") from None
        if mesh.device_ids is not None:
            raise ResourceError(f"mesh {mesh} of a slice has device ids; allowed: none, as its devices are virtual")
        return cls(mesh, counted, kind, memory, island, topology)

    @property
    def axes(self) -> tuple[int, ...] | int:
        """Sizes of the axes, or the number of devices if it is all that matters."""
        return self.mesh.size if self.counted else self.mesh.sizes

    def __str__(self) -> str:
        size = f"of {self.mesh.size} devices" if self.counted else "x".join(map(str, self.mesh.sizes))
        return f"slice {size}" + (f" ({self.topology})" if self.topology != "any" else "")


@dataclass(frozen=True)
class Placement:
    """Where a slice is, since the map from virtual to physical devices has `version`.

    `devices`: the physical device of each position of the slice's mesh, row-major, as its number in the island.
    `box`: the box of the island's grid that they are; None if they are scattered.
    `reason`: why the slice has no devices; empty if it has.
    """

    version: int
    island: str = ""
    devices: tuple[int, ...] = ()
    box: Box | None = None
    reason: str = ""


@dataclass(eq=False)
class Slice:
    """Virtual devices 0, 1, ... in the row-major order of `mesh`, of one client.

    `shared`: other shared slices may lie on the same physical devices.
    `placement` is replaced, never changed: read it once for an island, devices and a version that belong together.
    """

    number: int
    wanted: Wanted
    client: str
    shared: bool
    placement: Placement = field(repr=False)

    @property
    def mesh(self) -> Mesh:
        """Named axes over the virtual devices."""
        return self.wanted.mesh

    @property
    def size(self) -> int:
        """Number of devices."""
        return self.wanted.mesh.size

    @property
    def version(self) -> int:
        """Version of the map when the slice was placed, or lost, the last time."""
        return self.placement.version

    @property
    def lost(self) -> str:
        """Why it has no devices; empty if it has."""
        return self.placement.reason

    @property
    def island(self) -> str:
        """Name of the island that it is on.

        Raises:
          ResourceError: it has no devices.
        """
        return self.physical().island

    @property
    def devices(self) -> tuple[int, ...]:
        """The physical device of each position of the mesh, as its number in the island.

        Raises:
          ResourceError: it has no devices.
        """
        return self.physical().devices

    def physical(self) -> Placement:
        """Where it is.

        Raises:
          ResourceError: it has no devices.
        """
        placement = self.placement
        if placement.reason:
            raise ResourceError(f"{self} has no devices: {placement.reason}")
        return placement

    def __str__(self) -> str:
        return f"slice {self.number} ({self.mesh})" + (f" of client {brief(self.client)}" if self.client else "")
