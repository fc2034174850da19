"""Descriptions of clusters as TOML; the keys are in docs/reference/clusters.md."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pcg.layout.brief import brief
from pcg.layout.mesh import MOST_DEVICES
from pcg.machine import profile_text
from pcg.machine.description import Description, Group
from pcg.machine.errors import ClusterError
from pcg.machine.kind import DeviceKind
from pcg.machine.level import Level
from pcg.machine.profile import Profile
from pcg.machine.toml_lines import check_keys, inside, of_type, path_of, quote, read
from pcg.machine.units import quantity

_CLUSTER = ("name", "description", "source", "kinds", "groups", "network", "failed", "spare")
_KIND = ("flops", "default_flops", "memory", "memory_bandwidth", "kernel_overhead", "collective_overhead", "profile",
         "source")  # fmt: skip
_GROUP = ("name", "kind", "levels")
_LEVEL = ("name", "joins", "size", "topology", "bandwidth", "latency", "ports", "gateway", "oversubscription", "wrap",
          "source")  # fmt: skip
_RANGE = re.compile(r"\s*([0-9]+)\s*-\s*([0-9]+)\s*")
_NETWORK = ("bandwidth", "latency", "ports", "oversubscription", "source")


def loads(text: str, name: str = "cluster", path: str = "<text>") -> Description:
    """See `Cluster.loads`; profiles that the text names are read from beside `path`."""
    return read(text, path, lambda doc: _cluster(doc, name, Path(path).parent))


def _cluster(doc: Mapping[str, Any], name: str, folder: Path) -> Description:
    _keys(doc, _CLUSTER, "the file", needed=("kinds", "groups"))
    groups = [_group(g, f"groups[{i}]") for i, g in enumerate(_tables(doc["groups"], "groups"))]
    network = None
    if "network" in doc:
        table = of_type(doc["network"], dict, "network")
        _keys(table, _NETWORK, "network", needed=("bandwidth", "latency"))
        own = {"name": "network", "joins": "groups", "size": len(groups), "topology": "switch"}
        network = _level({**table, **own}, "network")
    return Description(
        of_type(doc.get("name", name), str, "name"),
        tuple(_kind(n, k, folder) for n, k in of_type(doc["kinds"], dict, "kinds").items()),
        tuple(groups),
        network,
        _ids(doc.get("failed", []), "failed"),
        _ids(doc.get("spare", []), "spare"),
        of_type(doc.get("description", ""), str, "description"),
        _source(doc, "the file"),
    )


def _kind(name: str, value: Any, folder: Path) -> DeviceKind:
    where = f"kinds.{name}"
    t = of_type(value, dict, where)
    _keys(t, _KIND, where, needed=("flops", "default_flops", "memory", "memory_bandwidth"))
    flops = of_type(t["flops"], dict, f"{where}.flops")
    flops = {n: _quantity(x, "FLOP/s", f"{where}.flops.{n}") for n, x in flops.items()}
    overheads = {
        n: _quantity(t[n], "s", f"{where}.{n}") for n in ("kernel_overhead", "collective_overhead") if n in t
    }
    if "kernel_overhead" in overheads:
        overheads.setdefault("collective_overhead", overheads["kernel_overhead"])
    units = {"default_flops": "FLOP/s", "memory_bandwidth": "B/s", "memory": "B"}
    figures = {n: _quantity(t[n], unit, f"{where}.{n}") for n, unit in units.items()}
    source = _source(t, where)
    profile = _profile(t["profile"], f"{where}.profile", folder) if "profile" in t else None
    try:
        return DeviceKind(name, flops, source=source, profile=profile, **figures, **overheads)
    except ClusterError as error:
        raise ClusterError(str(error), f"{where}.{error.key}" if error.key else where) from None


def _profile(value: Any, where: str, folder: Path) -> Profile:
    """A profile: the path of its file, relative to the description, or the tables themselves."""
    with inside(where):
        if isinstance(value, dict):
            return profile_text.from_tables(value)
        return profile_text.load(folder / of_type(value, str, where))


def _group(t: Mapping[str, Any], where: str) -> Group:
    _keys(t, _GROUP, where, needed=_GROUP)
    name, kind = (of_type(t[n], str, f"{where}.{n}") for n in ("name", "kind"))
    levels = enumerate(_tables(t["levels"], f"{where}.levels"))
    return Group(name, kind, tuple(_level(x, f"{where}.levels[{i}]") for i, x in levels))


def _level(t: Mapping[str, Any], where: str) -> Level:
    _keys(t, _LEVEL, where, needed=("name", "joins", "size", "topology", "bandwidth", "latency"))
    size = t["size"]
    shape = tuple(of_type(n, int, f"{where}.size") for n in (size if isinstance(size, list) else [size]))
    oversubscription = t.get("oversubscription", 1.0)
    if isinstance(oversubscription, bool) or not isinstance(oversubscription, int | float):
        text = f"{where}.oversubscription is {brief(oversubscription)}; allowed: a number, 1 or more"
        raise ClusterError(text, f"{where}.oversubscription")
    name, joins, topology = (of_type(t[n], str, f"{where}.{n}") for n in ("name", "joins", "topology"))
    with inside(where):
        return Level(
            name,
            joins,
            shape,
            topology,
            _quantity(t["bandwidth"], "B/s", f"{where}.bandwidth"),
            _quantity(t["latency"], "s", f"{where}.latency"),
            of_type(t.get("ports", 1), int, f"{where}.ports"),
            of_type(t.get("gateway", False), bool, f"{where}.gateway"),
            oversubscription,
            _wrap(t.get("wrap", []), len(shape), f"{where}.wrap"),
            _source(t, where),
        )


# -- values ----------------------------------------------------------------------------------------


def _keys(t: Mapping[str, Any], allowed: Sequence[str], where: str, needed: Sequence[str]) -> None:
    check_keys(t, allowed, where)
    if missing := [k for k in needed if k not in t]:
        raise ClusterError(f"{where} has no key {missing[0]!r}; needed: {', '.join(needed)}", where)


def _quantity(value: Any, unit: str, where: str) -> float:
    try:
        return quantity(value, unit)
    except ValueError as error:
        raise ClusterError(f"{where}: {error}", where) from None


def _wrap(value: Any, dims: int, where: str) -> tuple[bool, ...] | int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return tuple(of_type(w, bool, where) for w in (value if isinstance(value, list) else [value] * dims))


def _tables(value: Any, where: str) -> list[Mapping[str, Any]]:
    if not isinstance(value, list) or not value:
        raise ClusterError(f"{where} is {brief(value)}; allowed: one or more tables, [[{where}]]", where)
    return [of_type(x, dict, f"{where}[{i}]") for i, x in enumerate(value)]


def _ids(value: Any, where: str) -> frozenset[int]:
    """Device numbers: a list of numbers and of ranges `"6-11"`."""
    out: set[int] = set()
    for item in value if isinstance(value, list) else [None]:
        written = _RANGE.fullmatch(item) if isinstance(item, str) else None
        if isinstance(item, int) and not isinstance(item, bool):
            first = last = item
        elif written is not None:
            first, last = (int(n) if len(n) < 20 else 10**20 for n in written.groups())
        else:
            text = f'{where} is {brief(value)}; allowed: a list of device numbers and ranges, [3, "6-11"]'
            raise ClusterError(text, where)
        if not 0 <= first <= last < MOST_DEVICES:
            text = f"{where} names {brief(item)}; allowed: devices 0 to {MOST_DEVICES - 1}, ranges rising"
            raise ClusterError(text, where)
        out |= set(range(first, last + 1))
    return frozenset(out)


def _source(t: Mapping[str, Any], where: str) -> dict[str, str]:
    """Where figures are from: one text, or one per figure."""
    source = t.get("source", {})
    if isinstance(source, str):
        return {"": source}
    if not isinstance(source, dict) or not all(isinstance(x, str) for x in source.values()):
        text = f"the key 'source' of {where} is {brief(source)}; allowed: text, or a table of text by figure"
        raise ClusterError(text, path_of(where, "source"))
    if unknown := [k for k in source if k not in t]:
        text = f"source.{unknown[0]} of {where} is of no figure there; there are {', '.join(t)}"
        raise ClusterError(text, path_of(where, "source"))
    return dict(source)


# -- writing ---------------------------------------------------------------------------------------


def dumps(cluster: Description) -> str:
    """`cluster` as TOML that `loads` makes the same cluster of; figures in bytes, FLOP and seconds."""
    out = [f"name = {quote(cluster.name)}"]
    if cluster.description:
        out.append(f"description = {quote(cluster.description)}")
    out += _source_lines(cluster.source)
    for key, ids in (("failed", cluster.failed), ("spare", cluster.spare)):
        if ids:
            out.append(f"{key} = {sorted(ids)}")
    for k in cluster.kinds:
        out += ["", f"[kinds.{quote(k.name)}]"]
        out.append(f"flops = {{{', '.join(f'{n} = {_number(x)}' for n, x in k.flops.items())}}}")
        for key in ("default_flops", "memory", "memory_bandwidth", "kernel_overhead", "collective_overhead"):
            out.append(f"{key} = {_number(getattr(k, key))}")
        out += _source_lines(k.source)
        if k.profile is not None:
            out += profile_text.lines(k.profile, f"kinds.{quote(k.name)}.profile")
    for g in cluster.groups:
        out += ["", "[[groups]]", f"name = {quote(g.name)}", f"kind = {quote(g.kind)}"]
        for x in g.levels:
            size = str(list(x.shape)) if x.topology == "torus" else str(x.size)
            out += ["", "[[groups.levels]]", f"name = {quote(x.name)}", f"joins = {quote(x.joins)}", f"size = {size}"]
            out += [f"topology = {quote(x.topology)}", *_link_lines(x)]
    if cluster.network is not None:
        out += ["", "[network]", *_link_lines(cluster.network)]
    return "\n".join(out) + "\n"


def _link_lines(x: Level) -> list[str]:
    out = [f"bandwidth = {_number(x.bandwidth)}", f"latency = {_number(x.latency)}"]
    if x.ports != 1:
        out.append(f"ports = {x.ports}")
    if x.gateway:
        out.append("gateway = true")
    if x.oversubscription != 1:
        out.append(f"oversubscription = {_number(x.oversubscription)}")
    if x.wrap != ():
        flags = x.wrap if isinstance(x.wrap, int) else f"[{', '.join(str(w).lower() for w in x.wrap)}]"
        out.append(f"wrap = {flags}")
    return out + _source_lines(x.source)


def _source_lines(source: Mapping[str, str]) -> list[str]:
    if not source:
        return []
    if set(source) == {""}:
        return [f"source = {quote(source[''])}"]
    return [f"source = {{{', '.join(f'{k} = {quote(v)}' for k, v in source.items())}}}"]


def _number(x: float) -> str:
    return str(int(x)) if math.isfinite(x) and x == int(x) and abs(x) < 1e6 else repr(float(x))
