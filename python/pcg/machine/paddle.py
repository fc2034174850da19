"""Clusters as Paddle's auto-parallel planner describes them, in JSON.

The file is `{"machines": [...], "alpha_latency": {...}}`, or the result of Paddle's own detection,
`{"meshes": [{"name", "machines"}, ...], "links": [...]}`, one mesh per kind of machine.  A machine has `devices`
(`global_id`, `type` GPU/XPU/DCU/NPU/CPU/NIC, `model`, `dp_gflops`, `sp_gflops`, `hp_gflops`, `memory` in GB; a NIC has
`width` in GB/s) and `links` (`source_global_id`, `target_global_id`, `type` NVL/NVB/PIX/PIB/PHB/SYS/NET, `bandwidth` in
GB/s, `latency` in ms).  Latencies of `alpha_latency` are in us.

What is read into it, as the format does not say it:

- Machines in a row whose devices and links are alike are one group.  The accelerators of a machine hang on a switch
  whose ports have the bandwidth of the links; where some pairs are joined by faster links than others, the blocks that
  the faster ones make are a level of their own.  A link that goes one way stands for both.
- A machine's way out is its NICs; without one, the links to other machines; without these 24 GB/s, Paddle's default.
- Memory bandwidth: that of the model where a preset has it, else 900 GB/s (a V100's).
- Latencies: of the links, else of `alpha_latency` where it gives numbers, else those in NCCL's tuning table
  (0.6 us over NVLink, 1.0 us over PCI, 5.0 us over a network).
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pcg.layout.brief import brief
from pcg.machine import presets
from pcg.machine.description import Description, Group
from pcg.machine.errors import ClusterError
from pcg.machine.kind import DeviceKind
from pcg.machine.level import Level

#: Device types that do not run tensor programs.
_HOST = ("CPU", "NIC", "UNKNOWN")
_LINKS = ("UNKNOWN", "LOC", "SYS", "PHB", "PIX", "PIB", "NVL", "NVB", "NET")
_DEFAULT_NIC = 24e9
_MEMORY_BANDWIDTH = 900e9
#: The largest number, in the units of the file.  A choice: beyond any machine, and its products stay finite.
_MOST = 1e18
#: Seconds of a hop (NVIDIA/nccl src/graph/tuning.cc).
_NVLINK, _PCI, _NET = 0.6e-6, 1.0e-6, 5.0e-6


@dataclass(frozen=True)
class _Machine:
    """One machine: its accelerators' kind, their links among themselves by position, its way out (bytes/s, s)."""

    kind: DeviceKind
    count: int
    links: tuple[tuple[tuple[int, int], tuple[float, float, str]], ...]
    out: tuple[int, float, float]
    mesh: str


def loads(text: str, name: str = "cluster", path: str = "<text>") -> Description:
    """The cluster that a Paddle JSON file describes.

    Raises:
      ClusterError: not JSON, not of this format, or a machine with several kinds of accelerators.
    """
    try:
        doc = json.loads(text)
    except (ValueError, RecursionError) as error:  # also integers of thousands of digits
        raise ClusterError(f"{path}: not JSON: {error}") from None
    try:
        return _cluster(doc, name)
    except ClusterError as error:
        raise ClusterError(f"{path}: {error}") from None


def _cluster(doc: Any, name: str) -> Description:
    if not isinstance(doc, dict) or not ("machines" in doc or "meshes" in doc):
        keys = brief(list(doc)) if isinstance(doc, dict) else type(doc).__name__
        raise ClusterError(f"not a cluster of Paddle: it has {keys}; allowed: an object with 'machines' or 'meshes'")
    latency = _latencies(doc.get("alpha_latency"))
    kinds: dict[str, DeviceKind] = {}
    machines = [
        _machine(m, f"{at}machines[{i}]", mesh, latency, kinds)
        for at, mesh, part in _parts(doc)
        for i, m in enumerate(_list(part, "machines", at or "the file"))
    ]
    if not machines:
        raise ClusterError("there are no machines; allowed: one or more")
    groups, uplinks = [], []
    for i, (m, like) in enumerate(itertools.groupby(machines)):
        count, (ports, bandwidth, alpha) = len(list(like)), m.out
        out = Level("network", "machines", (count,), "switch", bandwidth, alpha, ports, gateway=True)
        groups.append(Group(m.mesh or f"machines{i}", m.kind.name, (*_inside(m), out)))
        uplinks.append((ports * bandwidth * count, alpha))
    network = None
    if len(groups) > 1:
        slowest, longest = min(b for b, _ in uplinks), max(a for _, a in uplinks)
        network = Level("network", "groups", (len(groups),), "switch", slowest, longest)
    used = {g.kind for g in groups}
    return Description(
        name, tuple(k for k in kinds.values() if k.name in used), tuple(_named_once(groups)), network,
        description="Imported from a cluster description of Paddle.",
    )  # fmt: skip


def _parts(doc: Mapping[str, Any]) -> Iterable[tuple[str, str, Mapping[str, Any]]]:
    """(where, name of the mesh, what has the machines)."""
    if "machines" in doc:
        yield "", "", doc
        return
    for i, mesh in enumerate(_list(doc, "meshes", "the file")):
        yield f"meshes[{i}].", str(mesh.get("name") or f"mesh{i}"), mesh


def _machine(
    m: Mapping[str, Any], where: str, mesh: str, latency: tuple[float, float, float], kinds: dict[str, DeviceKind]
) -> _Machine:
    devices = _list(m, "devices", where)
    accelerators = [d for d in devices if str(d.get("type", "UNKNOWN")).upper() not in _HOST]
    if not accelerators:
        raise ClusterError(f"{where} has no accelerator; allowed: devices of a type beside {', '.join(_HOST)}")
    found = {_kind(d, f"{where}, device {brief(d.get('global_id'))}") for d in accelerators}
    if len(found) > 1:
        names = ", ".join(sorted(k.name for k in found))
        raise ClusterError(f"{where} has unlike accelerators ({names}); allowed: one kind")
    kind = _registered(found.pop(), kinds)
    place = {_id(d, "global_id", where): i for i, d in enumerate(accelerators)}
    host = {_id(d, "global_id", where) for d in devices} - set(place)
    links: dict[tuple[int, int], tuple[float, float, str]] = {}
    leaving: list[tuple[float, float]] = []
    for i, x in enumerate(_list(m, "links", where, needed=False)):
        at = f"{where}.links[{i}]"
        kind_of_link = str(x.get("type", "UNKNOWN"))
        if kind_of_link not in _LINKS:
            raise ClusterError(f"{at}.type is {brief(kind_of_link)}; allowed: {', '.join(_LINKS)}")
        speed, alpha = 1e9 * _number(x, "bandwidth", at), 1e-3 * _number(x, "latency", at)
        src, dst = (_id(x, f"{end}_global_id", at) for end in ("source", "target"))
        if src in place and dst in place and speed > 0:
            pair = min(place[src], place[dst]), max(place[src], place[dst])
            default = latency[0] if kind_of_link in ("NVL", "NVB") else latency[1]
            links[pair] = speed, alpha or default, kind_of_link
        elif src in place and dst not in host and speed > 0:
            leaving.append((speed, alpha))
    widths = [1e9 * _number(d, "width", where) for d in devices if str(d.get("type", "")).upper() == "NIC"]
    widths = [w for w in widths if w > 0]
    if widths:
        out = len(widths), min(widths), latency[2]
    elif leaving:
        out = 1, min(s for s, _ in leaving), max(a for _, a in leaving) or latency[2]
    else:
        out = 1, _DEFAULT_NIC, latency[2]
    return _Machine(kind, len(accelerators), tuple(sorted(links.items())), out, mesh)


def _inside(m: _Machine) -> list[Level]:
    """The levels of the accelerators of a machine, innermost first."""
    links = dict(m.links)
    if not links:
        # Nothing is said: they reach each other as they reach other machines.
        return [Level("machine", "devices", (m.count,), "switch", m.out[0] * m.out[1], m.out[2])]
    slowest = min(links.values())
    every = m.count * (m.count - 1) // 2
    fast = {pair for pair, x in links.items() if x[0] > slowest[0]} if len(links) == every else set(links)
    blocks = _blocks(m.count, fast)
    size = len(blocks[0])
    contiguous = all(b == list(range(i * size, i * size + size)) for i, b in enumerate(blocks))
    cliques = all((a, b) in fast for block in blocks for a in block for b in block if a < b)
    if 1 < size < m.count and contiguous and cliques:
        inner = min(x for pair, x in links.items() if pair in fast)
        rest = [x for pair, x in links.items() if pair not in fast]
        # Pairs without a link go through the host, as slowly as the way out.
        outer = min(rest) if rest else (m.out[0] * m.out[1], _PCI, "PHB")
        return [
            Level(inner[2].lower(), "devices", (size,), "switch", inner[0], inner[1]),
            Level(outer[2].lower(), "blocks", (m.count // size,), "switch", outer[0], outer[1]),
        ]
    return [Level(slowest[2].lower(), "devices", (m.count,), "switch", slowest[0], max(x[1] for x in links.values()))]


def _blocks(count: int, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """What `pairs` connect, in order."""
    block = list(range(count))
    for a, b in pairs:
        old, new = block[b], block[a]
        block = [new if x == old else x for x in block]
    return [[i for i in range(count) if block[i] == x] for x in dict.fromkeys(block)]


def _kind(d: Mapping[str, Any], where: str) -> DeviceKind:
    model = " ".join(str(d.get("model") or d.get("type")).split())
    single, double, half = (1e9 * _number(d, k, where) for k in ("sp_gflops", "dp_gflops", "hp_gflops"))
    memory = 1e9 * _number(d, "memory", where)
    for key, value in (("sp_gflops", single), ("memory", memory)):
        if value <= 0:
            raise ClusterError(f"{where}: {key} is {brief(value)}; allowed: a number above 0")
    flops = {"f32": single} | ({"f64": double} if double else {}) | ({"f16": half, "bf16": half} if half else {})
    known = presets.kind_in(model)
    bandwidth = known.memory_bandwidth if known else _MEMORY_BANDWIDTH
    source = {
        "memory_bandwidth": f"not in the file: that of {known.name}" if known else "not in the file: that of a V100",
        "flops": "the file", "default_flops": "sp_gflops of the file", "memory": "the file",
    }  # fmt: skip
    return DeviceKind(model, flops, single, bandwidth, memory, source=source)


def _registered(kind: DeviceKind, kinds: dict[str, DeviceKind]) -> DeviceKind:
    """`kind` under a name that no other kind has."""
    name, n = kind.name, 2
    while name in kinds:
        have = kinds[name]
        if (have.flops, have.memory) == (kind.flops, kind.memory):
            return have
        name, n = f"{kind.name} ({n})", n + 1
    kinds[name] = kind if name == kind.name else dataclasses.replace(kind, name=name)
    return kinds[name]


def _named_once(groups: Sequence[Group]) -> Iterable[Group]:
    seen: dict[str, int] = {}
    for g in groups:
        seen[g.name] = seen.get(g.name, 0) + 1
        yield g if seen[g.name] == 1 else Group(f"{g.name}.{seen[g.name]}", g.kind, g.levels)


def _latencies(alpha: Any) -> tuple[float, float, float]:
    """Seconds of a hop over NVLink, inside a machine otherwise, between machines."""
    if alpha is None:
        return _NVLINK, _PCI, _NET
    if not isinstance(alpha, dict):
        raise ClusterError(f"alpha_latency is {brief(alpha)}; allowed: an object")

    def latency(key: str, default: float) -> float:
        """Paddle writes the name of a link type where it knows no number."""
        part = alpha.get(key) or {}
        if not isinstance(part, dict):
            raise ClusterError(f"alpha_latency.{key} is {brief(part)}; allowed: an object")
        ring = part.get("ring")
        if isinstance(ring, bool) or not isinstance(ring, int | float):
            return default
        return 1e-6 * _number(part, "ring", f"alpha_latency.{key}")

    return latency("intra", _NVLINK), latency("intra", _PCI), latency("inter", _NET)


def _list(t: Mapping[str, Any], key: str, where: str, needed: bool = True) -> list[Mapping[str, Any]]:
    value = t.get(key, None if needed else [])
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list) or not all(isinstance(x, dict) for x in value):
        raise ClusterError(f"{key} of {where} is {brief(value)}; allowed: a list of objects")
    return value


def _id(t: Mapping[str, Any], key: str, where: str) -> int | float | str | None:
    """What names a device."""
    value = t.get(key)
    if value is not None and not isinstance(value, int | float | str):
        raise ClusterError(f"{where}: {key} is {brief(value)}; allowed: a number")
    return value


def _number(t: Mapping[str, Any], key: str, where: str) -> float:
    """A number that is not negative, which Paddle's files often have as text; 0 if it is not there."""
    value = t.get(key) or 0
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number <= _MOST:
        raise ClusterError(f"{where}: {key} is {brief(value)}; allowed: a number, 0 to {_MOST:g}")
    return number
