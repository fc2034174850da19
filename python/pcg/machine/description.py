"""Clusters as they are described: groups of like devices, the links between them, and which devices can be used."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pcg.layout.brief import brief
from pcg.layout.mesh import MOST_DEVICES
from pcg.machine.errors import ClusterError
from pcg.machine.kind import DeviceKind
from pcg.machine.level import Level


@dataclass(frozen=True)
class Group:
    """Like devices in one regular network: a device mesh.  `levels` are innermost first."""

    name: str
    kind: str
    levels: tuple[Level, ...]

    @property
    def size(self) -> int:
        """Number of devices."""
        return math.prod(x.size for x in self.levels)


@dataclass(frozen=True, eq=False)
class Description:
    """A machine as files, presets and what is detected describe it.

    Devices are numbered group after group, inside a group along the innermost level first.  `failed` devices are
    there but cannot be used; `spare` ones are kept for when others fail.  `network` joins the groups, if there are
    several: its `bandwidth` is that of the way from one group to the others.

    Equal descriptions are equal clusters, whatever their sources say.

    Raises:
      ClusterError: no group, an unknown kind, a name used twice, groups without a network, or a device
        number that there is not.
    """

    name: str
    kinds: tuple[DeviceKind, ...]
    groups: tuple[Group, ...]
    network: Level | None = None
    failed: frozenset[int] = frozenset()
    spare: frozenset[int] = frozenset()
    description: str = ""
    source: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        where = f"cluster {self.name!r}"
        if not self.groups:
            raise ClusterError(f"{where} has no group of devices; allowed: one or more")
        for what, names in (("kind", [k.name for k in self.kinds]), ("group", [g.name for g in self.groups])):
            for n in names:
                if names.count(n) > 1:
                    raise ClusterError(f"{where} has two {what}s named {n!r}; names are given once")
        known = {k.name for k in self.kinds}
        for g in self.groups:
            if g.kind not in known:
                raise ClusterError(f"group {g.name!r}: unknown kind {g.kind!r}; there are {_list(sorted(known))}")
            if not g.levels:
                raise ClusterError(f"group {g.name!r} has no level; allowed: one or more, innermost first")
        if self.size > MOST_DEVICES:
            sizes = ", ".join(f"{brief(g.name)} of {g.size}" for g in self.groups[:4])
            text = f"{where} has {self.size} devices (groups: {sizes}); allowed: up to {MOST_DEVICES}"
            raise ClusterError(text, "groups")
        if len(self.groups) > 1 and self.network is None:
            raise ClusterError(f"{where} has {len(self.groups)} groups and no network between them; give one")
        if self.network is not None and (self.network.topology != "switch" or self.network.size != len(self.groups)):
            raise ClusterError(
                f"the network of {where} is a {self.network.topology!r} of {self.network.size}; allowed: a switch of"
                f" its {len(self.groups)} groups"
            )
        for what, ids in (("failed", self.failed), ("spare", self.spare)):
            if bad := sorted(d for d in ids if not 0 <= d < self.size):
                raise ClusterError(f"{where}: {what} device {bad[0]} does not exist; devices are 0 to {self.size - 1}")
        if not self.devices:
            raise ClusterError(f"{where} has no device left: all {self.size} are failed or spare")

    # -- identity ------------------------------------------------------------------------------

    @cached_property
    def _key(self) -> tuple[object, ...]:
        kinds = tuple((k, tuple(sorted(k.flops.items()))) for k in self.kinds)
        return self.name, kinds, self.groups, self.network, self.failed, self.spare

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Description) and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        parts = []
        for g in self.groups:
            sizes = " of ".join(f"{'x'.join(map(str, x.shape))} {x.joins}" for x in reversed(g.levels))
            parts.append(f"{g.name}: {g.size} {g.kind} ({sizes})")
        out = f", {len(self.failed)} failed" if self.failed else ""
        out += f", {len(self.spare)} spare" if self.spare else ""
        return f"{self.name}: {'; '.join(parts)}{out}"

    # -- devices -------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Number of devices, usable or not."""
        return sum(g.size for g in self.groups)

    @cached_property
    def devices(self) -> tuple[int, ...]:
        """Numbers of the devices that may be used."""
        return tuple(d for d in range(self.size) if d not in self.failed and d not in self.spare)

    def kind(self, name: str) -> DeviceKind:
        """A device kind by its name."""
        return next(k for k in self.kinds if k.name == name)


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
