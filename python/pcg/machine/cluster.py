"""A cluster: its devices by number, parts of it, and where clusters come from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from pcg.layout import Mesh
from pcg.machine.description import Description, Group
from pcg.machine.errors import ClusterError
from pcg.machine.kind import DeviceKind


@dataclass(frozen=True, eq=False)
class Cluster(Description):
    """The machine that a mesh is mapped onto.

    Raises:
      ClusterError: no group, an unknown kind, a name used twice, groups without a network, or a device
        number that there is not.
    """

    # -- devices -------------------------------------------------------------------------------

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Number of the first device of each group."""
        return tuple(sum(g.size for g in self.groups[:i]) for i in range(len(self.groups)))

    def group_of(self, device: int) -> Group:
        """The group a device is in."""
        return self.groups[self._group_index(device)]

    def _group_index(self, device: int) -> int:
        return max(i for i, s in enumerate(self.starts) if s <= device)

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

    # -- where clusters come from: readers are loaded when they are used -----------------------

    @classmethod
    def of(cls, description: Description) -> Cluster:
        """The cluster with this description."""
        return cls(**{f.name: getattr(description, f.name) for f in fields(Description)})

    @classmethod
    def preset(cls, name: str, /, **sizes: int | Sequence[int]) -> Cluster:
        """A cluster that comes with pcg, of another size: `Cluster.preset("summit", nodes=8)`.

        Args:
          name: see `Cluster.presets()`.
          sizes: blocks of a level by what they are called (`nodes`, `gpus`, `chips`); of a torus one per dimension.

        Raises:
          ClusterError: no such preset, or nothing in it is called so.
        """
        from pcg.machine import presets

        return cls.of(presets.preset(name, sizes))

    @staticmethod
    def presets() -> tuple[str, ...]:
        """The names of the presets."""
        from pcg.machine import presets

        return presets.names()

    @classmethod
    def load(cls, path: str | Path) -> Cluster:
        """A cluster from a TOML file, or from one of Paddle's JSON files (by its ending).

        Raises:
          ClusterError: it is not a valid description.
          OSError: it cannot be read.
        """
        path = Path(path)
        if path.suffix == ".json":
            return cls.from_paddle(path)
        return cls.loads(_text(path), path.stem, str(path))

    @classmethod
    def loads(cls, text: str, name: str = "cluster", path: str = "<text>") -> Cluster:
        """A cluster from TOML text; `name` unless it has one of its own.  `path`: where it is from, for messages.

        Raises:
          ClusterError: not TOML, or not a description; the text names the file, the key, the value and what is allowed.
        """
        from pcg.machine import toml

        return cls.of(toml.loads(text, name, path))

    @classmethod
    def parse(cls, text: str) -> Cluster:
        """A cluster as a command line names it: a file, `preset:NAME[:SIZE]` or `detect`.

        SIZE is that of the outermost level (`preset:summit:8`, `preset:tpu-v4:4x4x8`) or names levels
        (`preset:dgx-h100:nodes=8`).

        Raises:
          ClusterError: no such preset, it has no such size, or the file is not a valid description.
          OSError: the file cannot be read.
        """
        from pcg.machine import presets

        if text == "detect":
            return cls.detect()
        if not text.startswith("preset:"):
            return cls.load(text)
        return cls.of(presets.parse(text.removeprefix("preset:")))

    @classmethod
    def from_paddle(cls, path: str | Path) -> Cluster:
        """A cluster from the JSON that Paddle's auto-parallel planner reads; see docs/reference/clusters.md.

        Raises:
          ClusterError: it is not such a description.
          OSError: it cannot be read.
        """
        from pcg.machine import paddle

        path = Path(path)
        return cls.of(paddle.loads(_text(path), path.stem, str(path)))

    @classmethod
    def detect(cls, devices: int | None = None) -> Cluster:
        """The machine at hand: its GPUs if `nvidia-smi` shows any, else its processors.

        `devices`: as how many devices the processors count; default as XLA is told to (1 unless XLA_FLAGS says more).

        Raises:
          ClusterError: its GPUs are unlike, or the profile that `pcg-calibrate` left of it is none.
        """
        from pcg.machine import detect

        return cls.of(detect.detect(devices))

    def dumps(self) -> str:
        """This cluster as TOML text that `load` reads."""
        from pcg.machine import toml

        return toml.dumps(self)

    def save(self, path: str | Path) -> None:
        """Write it to a file."""
        Path(path).write_text(self.dumps(), encoding="utf-8")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ClusterError(f"{path}: not UTF-8 text: {error}") from None


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


def _numbers(ids: Sequence[int]) -> str:
    """`0-5, 7`."""
    runs: list[list[int]] = []
    for i in ids:
        if runs and i == runs[-1][1] + 1:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
