"""The resource manager: who has which devices of all islands, while devices join, leave and fail.

Sources: Pathways (Barham et al., MLSys 2022), section 4.1: virtual slices, and a map from virtual to physical devices
that programs are lowered with again when it changes.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from pcg.controller.errors import ResourceError
from pcg.controller.grid import Grid
from pcg.controller.island import Island
from pcg.controller.placing import Place, place, refusal
from pcg.controller.slices import Placement, Shape, Slice, Wanted
from pcg.layout.brief import brief


class ResourceManager:
    """Places slices on islands; every method may be called from any thread.

    `version` of the map from virtual to physical devices rises whenever islands or devices come or go, and whenever a
    slice that was lost is placed.  A slice whose devices changed has a higher version than before.

    Raises:
      ResourceError: two islands of one name.
    """

    def __init__(self, islands: Iterable[Island], grid: type[Grid] = Grid) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._grid = grid
        self._grids: dict[str, Grid] = {}
        self._slices: dict[int, Slice] = {}
        self._quotas: dict[str, int] = {}
        self._used: Counter[str] = Counter()
        self._numbers = 0
        self._version = 0
        for island in islands:
            self._join(island)

    # -- slices ----------------------------------------------------------------------------------

    def request(
        self,
        shape: Shape,
        *,
        kind: str | None = None,
        memory: float | None = None,
        island: str | None = None,
        topology: str = "any",
        client: str = "",
        shared: bool = False,
    ) -> Slice:
        """Virtual devices, placed where they leave most of the rest usable.

        Args:
          shape: how many devices, or the sizes of a mesh's axes, with names or without.
          kind: of the devices; default: any.
          memory: bytes that a device has at least.
          island: the only one that they may be on.
          topology: what is wanted of the network between them, see `pcg.controller.boxes.TOPOLOGIES`.
          client: whose quota they count for.
          shared: whether other shared slices may have the same devices.  They get those that the fewest have.

        Raises:
          ResourceError: no place for them now, or ever; more than the client's quota; not a shape.
        """
        wanted = Wanted.of(shape, kind, memory, island, topology)
        with self._lock:
            self._check_quota(wanted, client)
            found = place(self._grids.values(), wanted, shared)
            if found is None:
                raise ResourceError(refusal(self._grids.values(), wanted, shared))
            self._numbers += 1
            new = Slice(self._numbers, wanted, client, shared, Placement(self._version))
            self._slices[new.number] = new
            self._used[client] += new.size
            self._put(new, found)
            return new

    def release(self, slice: Slice) -> None:
        """Give a slice's devices back, or no longer wait for some if it is lost.

        Raises:
          ResourceError: it is not one of this manager's, or was released before.
        """
        with self._lock:
            self._check_slice(slice)
            self._vacate(slice)
            del self._slices[slice.number]
            self._used[slice.client] -= slice.size
            if not self._used[slice.client]:
                del self._used[slice.client]
            slice.placement = Placement(self._version, reason="it was released")
            self._place_waiting()

    def physical(self, slice: Slice) -> Placement:
        """The island, the devices and the version of the map that a slice has now.

        Raises:
          ResourceError: it is lost, released, or not one of this manager's.
        """
        with self._lock:
            placement = slice.physical()
            self._check_slice(slice)
            return placement

    def set_quota(self, client: str, devices: int | None) -> None:
        """Let a client have so many devices, those of shared and of lost slices included; None: any number.

        What it has already stays.

        Raises:
          ResourceError: the number is negative.
        """
        if devices is not None and (isinstance(devices, bool) or devices < 0):
            raise ResourceError(f"quota of client {brief(client)} is {brief(devices)} devices; allowed: 0 or more")
        with self._lock:
            self._quotas.pop(client, None)
            if devices is not None:
                self._quotas[client] = devices

    def quota(self, client: str) -> int | None:
        """How many devices a client may have; None: any number."""
        with self._lock:
            return self._quotas.get(client)

    # -- islands ---------------------------------------------------------------------------------

    def add(self, island: Island) -> None:
        """A new island: requests may use it from now on, and lost slices that fit are placed.

        Raises:
          ResourceError: there is one of this name.
        """
        with self._lock:
            self._join(island)
            self._raise_version()
            self._place_waiting(cause="an island joined")

    def remove(self, name: str) -> None:
        """An island leaves: its slices are placed on others, or are lost.

        Raises:
          ResourceError: there is none of this name.
        """
        with self._lock:
            self._grid_of(name)
            self._raise_version()
            del self._grids[name]
            hit = [s for s in self._slices.values() if s.placement.island == name]
            self._place_waiting(hit, f"island {brief(name)} left")

    def fail(self, island: str, devices: Iterable[int]) -> None:
        """Devices fail: slices that have one are placed anew, of the same shape, or are lost.

        Raises:
          ResourceError: no such island or device.
        """
        with self._lock:
            failed = self._serve(island, devices, False)
            hit = [s for s in self._slices.values() if s.placement.island == island and failed & {*s.placement.devices}]
            for slice in hit:
                self._vacate(slice)
            self._place_waiting(hit, f"devices of island {brief(island)} failed")

    def restore(self, island: str, devices: Iterable[int]) -> None:
        """Devices are in service again, or for the first time: lost slices that fit are placed.

        Raises:
          ResourceError: no such island or device.
        """
        with self._lock:
            self._serve(island, devices, True)
            self._place_waiting(cause="devices are back")

    # -- what there is ---------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """Of the map from virtual to physical devices."""
        return self._version

    def wait_for_change(self, version: int, seconds: float) -> int:
        """Wait until the map has another version than `version`, for some seconds at most; the version that it has."""
        with self._lock:
            self._changed.wait_for(lambda: self._version != version, seconds)
            return self._version

    @property
    def islands(self) -> tuple[Island, ...]:
        """All islands, with the devices that are out of service now."""
        with self._lock:
            return tuple(
                replace(g.island, out_of_service=frozenset(np.flatnonzero(g.out).tolist()))
                for g in self._grids.values()
            )

    @property
    def slices(self) -> tuple[Slice, ...]:
        """All that are not released, lost ones included."""
        with self._lock:
            return tuple(self._slices.values())

    def utilization(self, island: str | None = None) -> float:
        """Share of the devices in service, of one island or of all, that slices have; 0 if none is in service."""
        with self._lock:
            grids = [*self._grids.values()] if island is None else [self._grid_of(island)]
            in_service = sum(int(np.count_nonzero(~g.out)) for g in grids)
            return sum(int(np.count_nonzero(g.load)) for g in grids) / in_service if in_service else 0.0

    # -- with the lock ---------------------------------------------------------------------------

    def _raise_version(self) -> None:
        self._version += 1
        self._changed.notify_all()

    def _grid_of(self, name: str) -> Grid:
        if name not in self._grids:
            known = ", ".join(map(brief, self._grids)) or "none"
            raise ResourceError(f"there is no island {brief(name)}; there are: {known}")
        return self._grids[name]

    def _check_slice(self, slice: Slice) -> None:
        if self._slices.get(slice.number) is not slice:
            raise ResourceError(
                f"{slice} is not in use here; allowed: a slice that was requested here and not released"
            )

    def _check_quota(self, wanted: Wanted, client: str) -> None:
        quota, used = self._quotas.get(client), self._used[client]
        if quota is not None and used + wanted.mesh.size > quota:
            raise ResourceError(
                f"{wanted}: client {brief(client)} has {used} devices and would have {used + wanted.mesh.size};"
                f" allowed: {quota}"
            )

    def _join(self, island: Island) -> None:
        if island.name in self._grids:
            raise ResourceError(f"there is an island {brief(island.name)} already; names are given once")
        self._grids[island.name] = self._grid(island)

    def _serve(self, island: str, devices: Iterable[int], serves: bool) -> set[int]:
        """Put devices into service or out of it, and raise the version."""
        grid = self._grid_of(island)
        chosen = {*devices}
        grid.island.check(frozenset(chosen))
        grid.serve(chosen, serves)
        self._raise_version()
        return chosen

    def _put(self, slice: Slice, place: Place) -> None:
        place.grid.occupy(place.devices, slice.shared)
        slice.placement = Placement(self._version, place.grid.island.name, tuple(place.devices.tolist()), place.box)

    def _vacate(self, slice: Slice) -> None:
        if not slice.lost:
            self._grids[slice.placement.island].vacate([*slice.placement.devices])

    def _place_waiting(self, vacated: Iterable[Slice] = (), cause: str = "") -> None:
        """Place slices that have no devices as far as they fit, the largest first: small ones fit in what those leave.

        `vacated` are those that lost their devices just now, for a `cause` for which the version was raised; others
        were lost before.
        """
        waiting = {s: False for s in self._slices.values() if s.lost} | {s: True for s in vacated}
        raised = bool(cause)
        for slice in sorted(waiting, key=lambda s: (-s.size, s.number)):
            if (found := place(self._grids.values(), slice.wanted, slice.shared)) is not None:
                if not raised:
                    self._raise_version()
                    raised = True
                self._put(slice, found)
            elif waiting[slice]:
                why = refusal(self._grids.values(), slice.wanted, slice.shared)
                slice.placement = Placement(self._version, reason=f"{cause}; {why}")
