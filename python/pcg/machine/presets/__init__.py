"""Clusters that come with pcg, each with the sources of its figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import resources

from pcg.layout.brief import brief
from pcg.machine import toml
from pcg.machine.description import Description
from pcg.machine.errors import ClusterError
from pcg.machine.kind import DeviceKind
from pcg.machine.level import Level


@lru_cache
def names() -> tuple[str, ...]:
    """The names of the presets."""
    files = resources.files(__name__).iterdir()
    return tuple(sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml")))


@lru_cache
def _load(name: str) -> Description:
    if name not in names():
        raise ClusterError(f"unknown preset {brief(name)}; there are {', '.join(names())}")
    text = (resources.files(__name__) / f"{name}.toml").read_text(encoding="utf-8")
    return toml.loads(text, name, f"preset {name}")


def kinds() -> Iterator[DeviceKind]:
    """The device kinds of all presets."""
    return (kind for name in names() for kind in _load(name).kinds)


def kind_in(model: str) -> DeviceKind | None:
    """The kind of a preset that the name of a model speaks of."""
    words = model.upper().replace("-", " ").split()
    return next((k for k in kinds() if k.name.split("-")[0].upper() in words), None)


def preset(name: str, sizes: Mapping[str, int | Sequence[int]]) -> Description:
    """The preset, with as many blocks of the levels as `sizes` says by what the blocks are called."""
    cluster = _load(name)
    known = {x.joins for g in cluster.groups for x in g.levels}
    for what in sizes:
        if what not in known:
            raise ClusterError(f"preset {name!r} has no {what!r} to count; it has {', '.join(sorted(known))}")
    groups = tuple(
        replace(g, levels=tuple(_sized(x, sizes[x.joins]) if x.joins in sizes else x for x in g.levels))
        for g in cluster.groups
    )
    return replace(cluster, groups=groups)


def _sized(level: Level, size: int | Sequence[int]) -> Level:
    shape = (size,) if isinstance(size, int) else tuple(size)
    if any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in shape) or len(shape) != len(level.shape):
        dims = "a positive number" if len(level.shape) == 1 else f"{len(level.shape)} positive numbers"
        raise ClusterError(f"{level.joins} is {brief(size)}; allowed: {dims}")
    return replace(level, shape=shape)


def parse(text: str) -> Description:
    """The preset that `NAME[:SIZE]` names, see `Cluster.parse`."""
    name, _, rest = text.partition(":")
    cluster = _load(name)
    sizes: dict[str, int | Sequence[int]] = {}
    for item in filter(None, rest.split(",")):
        m = re.fullmatch(r"(?:([A-Za-z_]\w*)=)?([0-9]{1,18}(?:x[0-9]{1,18})*)", item.strip())
        if m is None:
            raise ClusterError(f"cannot read size {brief(item)} of preset {name!r}; write 8, nodes=8 or 4x4x8")
        if m[1] is None and len(cluster.groups) > 1:
            known = ", ".join(f"{g.levels[-1].joins}=N" for g in cluster.groups)
            raise ClusterError(f"preset {name!r} has several groups; say which is {item!r}: {known}")
        numbers = tuple(map(int, m[2].split("x")))
        sizes[m[1] or cluster.groups[0].levels[-1].joins] = numbers if len(numbers) > 1 else numbers[0]
    return preset(name, sizes)
