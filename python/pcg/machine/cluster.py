"""A cluster: groups of like devices, the links between them, and which devices can be used."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pcg.layout.brief import brief
from pcg.layout.mesh import MOST_DEVICES
from pcg.machine.errors import ClusterError
from pcg.machine.kind import DeviceKind, slowest
from pcg.machine.level import Level
from pcg.machine.machine import Link, Machine

if TYPE_CHECKING:
    from pcg.layout import Mesh


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
class Cluster:
    """The machine that a mesh is mapped onto.

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
        return self is other or (isinstance(other, Cluster) and self._key == other._key)

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

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Number of the first device of each group."""
        return tuple(sum(g.size for g in self.groups[:i]) for i in range(len(self.groups)))

    def group_of(self, device: int) -> Group:
        """The group a device is in."""
        return self.groups[self._group_index(device)]

    def _group_index(self, device: int) -> int:
        return max(i for i, s in enumerate(self.starts) if s <= device)

    def kind(self, name: str) -> DeviceKind:
        """A device kind by its name."""
        return next(k for k in self.kinds if k.name == name)

    def kind_of(self, device: int) -> DeviceKind:
        """What device number `device` is."""
        return self.kind(self.group_of(device).kind)

    def coordinates(self, device: int) -> tuple[int, ...]:
        """Where a device is: the number of its group, then per level its place, outermost level first.

        A torus has a place per dimension.
        """
        index = self._group_index(device)
        at, out = device - self.starts[index], []
        for level in self.groups[index].levels:
            for n in reversed(level.shape):
                at, place = divmod(at, n)
                out.append(place)
        return index, *reversed(out)

    # -- parts ---------------------------------------------------------------------------------

    def only(self, devices: Iterable[int]) -> Cluster:
        """This cluster with no devices but these usable; numbers stay what they are.

        Raises:
          ClusterError: one of them is not usable now.
        """
        chosen = set(devices)
        if bad := sorted(chosen - set(self.devices)):
            raise ClusterError(f"device {bad[0]} of {self.name!r} cannot be used; usable are {_numbers(self.devices)}")
        rest = frozenset(d for d in self.devices if d not in chosen)
        return replace(self, spare=self.spare | rest)

    def with_failed(self, devices: Iterable[int]) -> Cluster:
        """This cluster after `devices` have failed: as many spare ones take their place.

        A spare device of the same kind is taken, the nearest in number; where there is none, the cluster shrinks.
        """
        spare = set(self.spare)
        failed = {d for d in devices if d not in self.failed}
        for d in sorted(failed - spare):
            kind = self.group_of(d).kind
            like = [s for s in spare - failed if self.group_of(s).kind == kind]
            if like:
                spare.discard(min(like, key=lambda s: (abs(s - d), s)))
        return replace(self, failed=self.failed | failed, spare=frozenset(spare - failed))

    def take(self, count: int) -> Cluster:
        """The cluster with `count` of its devices usable: few blocks, evenly filled, the first that there are.

        8 of Summit's nodes of 6 are two nodes with 4 each, two in either socket.

        Raises:
          ClusterError: there are not so many.
        """
        if not 1 <= count <= len(self.devices):
            raise ClusterError(f"{count} devices of {self.name!r}; allowed: 1 to {len(self.devices)}")
        if count == len(self.devices):
            return self
        if count not in self._taken:
            devices = np.array(self.devices)
            found = _evenly(self._places, devices, count, 0)
            self._taken[count] = self.only((devices[:count] if found is None else found).tolist())
        return self._taken[count]

    @cached_property
    def _taken(self) -> dict[int, Cluster]:
        """What `take` has found."""
        return {}

    @cached_property
    def _places(self) -> np.ndarray:
        """The coordinates of the usable devices, a row each; 0 where a group has fewer levels than others."""
        devices = np.array(self.devices)
        index = np.searchsorted(self.starts, devices, side="right") - 1
        depth = 1 + max(sum(len(x.shape) for x in g.levels) for g in self.groups)
        out = np.zeros((len(devices), depth), dtype=np.int64)
        out[:, 0] = index
        for i, group in enumerate(self.groups):
            mine = index == i
            at = devices[mine] - self.starts[i]
            column = sum(len(x.shape) for x in group.levels)
            for level in group.levels:
                for n in reversed(level.shape):
                    at, out[mine, column] = at // n, at % n
                    column -= 1
        return out

    # -- as a mesh sees it -------------------------------------------------------------------

    def device_of(self, mesh: Mesh) -> tuple[int, ...]:
        """The device at each position of `mesh`.

        Raises:
          ClusterError: the mesh is larger than the cluster, or names a device that cannot be used.
        """
        if mesh.device_ids is None:
            if mesh.size > len(self.devices):
                raise self.too_large(mesh)
            return self.take(mesh.size).devices
        usable = set(self.devices)
        if bad := [d for d in mesh.device_ids if d not in usable]:
            why = "failed" if bad[0] in self.failed else "spare" if bad[0] in self.spare else "no device"
            raise ClusterError(
                f"mesh {mesh} names device {bad[0]}, which is {why} of cluster {self.name!r};"
                f" usable are {_numbers(self.devices)}"
            )
        return mesh.device_ids

    def too_large(self, mesh: Mesh) -> ClusterError:
        """What is wrong with a mesh that has more positions than there are devices."""
        return ClusterError(
            f"mesh {mesh} has {mesh.size} positions; cluster {self.name!r} has {len(self.devices)} usable devices"
        )

    def machine(self, mesh: Mesh | None = None) -> Machine:
        """What costs are reckoned with: this network, and the slowest of the kinds under `mesh` (default: of all).

        Raises:
          ClusterError: the mesh does not fit, see `device_of`.
        """
        devices = self.devices if mesh is None else self.device_of(mesh)
        index = np.unique(np.searchsorted(self.starts, np.array(devices), side="right"))
        used = {self.groups[i - 1].kind for i in index.tolist()}
        kind = slowest([k for k in self.kinds if k.name in used])
        outer = [self.group_of(d).levels[-1] for d in devices[:1]][0]
        return Machine(kind, Link(outer.bandwidth, outer.latency), cluster=self)

    # -- where clusters come from ------------------------------------------------------------

    @classmethod
    def preset(cls, name: str, /, **sizes: int | Sequence[int]) -> Cluster:
        """A cluster that comes with pcg, of another size: `Cluster.preset("summit", nodes=8)`.

        Args:
          name: see `Cluster.presets()`.
          sizes: blocks of a level by what they are called (`nodes`, `gpus`, `chips`); of a torus one per dimension.

        Raises:
          ClusterError: no such preset, or nothing in it is called so.
        """
        from pcg.machine.presets import preset

        return preset(name, sizes)

    @staticmethod
    def presets() -> tuple[str, ...]:
        """The names of the presets."""
        from pcg.machine.presets import names

        return names()

    @classmethod
    def load(cls, path: str | Path) -> Cluster:
        """A cluster from a TOML file, or from one of Paddle's JSON files (by its ending).

        Raises:
          ClusterError: it is not a valid description.
          OSError: it cannot be read.
        """
        from pcg.machine import paddle, toml

        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ClusterError(f"{path}: not UTF-8 text: {error}") from None
        if path.suffix == ".json":
            return paddle.loads(text, path.stem, str(path))
        return toml.loads(text, path.stem, str(path))

    @classmethod
    def parse(cls, text: str) -> Cluster:
        """A cluster as a command line names it: a file, `preset:NAME[:SIZE]` or `detect`.

        SIZE is that of the outermost level (`preset:summit:8`, `preset:tpu-v4:4x4x8`) or names levels
        (`preset:dgx-h100:nodes=8`).
        """
        from pcg.machine.presets import parse

        return parse(text)

    @classmethod
    def from_paddle(cls, path: str | Path) -> Cluster:
        """A cluster from the JSON that Paddle's auto-parallel planner reads; see docs/reference/clusters.md."""
        from pcg.machine import paddle

        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ClusterError(f"{path}: not UTF-8 text: {error}") from None
        return paddle.loads(text, Path(path).stem, str(path))

    @classmethod
    def detect(cls, devices: int | None = None) -> Cluster:
        """The machine at hand: its GPUs if `nvidia-smi` shows any, else its processors.

        `devices`: as how many devices the processors count; default as XLA is told to (1 unless XLA_FLAGS says more).
        """
        from pcg.machine.detect import detect

        return detect(devices)

    def dumps(self) -> str:
        """This cluster as TOML text that `load` reads."""
        from pcg.machine import toml

        return toml.dumps(self)

    def save(self, path: str | Path) -> None:
        """Write it to a file."""
        Path(path).write_text(self.dumps(), encoding="utf-8")


def _evenly(coordinates: np.ndarray, devices: np.ndarray, count: int, depth: int) -> np.ndarray | None:
    """`count` of `devices`, alike in the first `depth` coordinates: as few blocks as go, the same number in each."""
    if count == len(devices):
        return devices
    if depth == coordinates.shape[1]:
        return None
    # Devices are in order, so blocks are runs of equal coordinates.
    ends = np.flatnonzero(np.diff(coordinates[:, depth], append=-1)) + 1
    starts = np.concatenate([[0], ends[:-1]])
    sizes = ends - starts
    for n in range(1, min(len(sizes), count) + 1):
        if count % n or n > int((sizes >= count // n).sum()):
            continue
        parts: list[np.ndarray] = []
        for b in np.flatnonzero(sizes >= count // n).tolist():
            block = slice(int(starts[b]), int(ends[b]))
            part = _evenly(coordinates[block], devices[block], count // n, depth + 1)
            if part is not None:
                parts.append(part)
            if len(parts) == n:
                return np.concatenate(parts)
    return None


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "none"


def _numbers(ids: Sequence[int]) -> str:
    """`0-5, 7`."""
    runs: list[list[int]] = []
    for i in ids:
        if runs and i == runs[-1][1] + 1:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
