"""Descriptions of clusters as TOML; the keys are in docs/reference/clusters.md."""

from __future__ import annotations

import json
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
from pcg.machine.toml_lines import read
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
    """The cluster that `text` describes; `name` unless it has one of its own.

    Profiles that it names are read from beside `path`.

    Raises:
      ClusterError: not TOML, or not a description; the text names the file, the key, the value and what is allowed.
    """
    return read(text, path, lambda doc: _cluster(doc, name, Path(path).parent))


def _cluster(doc: Mapping[str, Any], name: str, folder: Path) -> Description:
    _keys(doc, _CLUSTER, "the file", needed=("kinds", "groups"))
    groups = [_group(g, f"groups[{i}]") for i, g in enumerate(_tables(doc["groups"], "groups"))]
    network = None
    if "network" in doc:
        table = _table(doc["network"], "network")
        _keys(table, _NETWORK, "network", needed=("bandwidth", "latency"))
        network = _level({**table, "name": "network", "joins": "groups", "size": len(groups), "topology": "switch"},
                         "network")  # fmt: skip
    return Description(
        _text(doc.get("name", name), "name"),
        tuple(_kind(n, _table(k, f"kinds.{n}"), folder) for n, k in _table(doc["kinds"], "kinds").items()),
        tuple(groups),
        network,
        _ids(doc.get("failed", []), "failed"),
        _ids(doc.get("spare", []), "spare"),
        _text(doc.get("description", ""), "description"),
        _source(doc, "the file"),
    )


def _kind(name: str, t: Mapping[str, Any], folder: Path) -> DeviceKind:
    where = f"kinds.{name}"
    _keys(t, _KIND, where, needed=("flops", "default_flops", "memory", "memory_bandwidth"))
    flops = {
        n: _quantity(x, "FLOP/s", f"{where}.flops.{n}") for n, x in _table(t["flops"], f"{where}.flops").items()
    }
    overheads = {
        n: _quantity(t[n], "s", f"{where}.{n}") for n in ("kernel_overhead", "collective_overhead") if n in t
    }
    if "kernel_overhead" in overheads:
        overheads.setdefault("collective_overhead", overheads["kernel_overhead"])
    figures = (
        _quantity(t["default_flops"], "FLOP/s", f"{where}.default_flops"),
        _quantity(t["memory_bandwidth"], "B/s", f"{where}.memory_bandwidth"),
        _quantity(t["memory"], "B", f"{where}.memory"),
    )
    source = _source(t, where)
    profile = _profile(t["profile"], f"{where}.profile", folder) if "profile" in t else None
    try:
        return DeviceKind(name, flops, *figures, source=source, profile=profile, **overheads)
    except ClusterError as error:
        raise ClusterError(str(error), f"{where}.{error.key}" if error.key else where) from None


def _profile(value: Any, where: str, folder: Path) -> Profile:
    """A profile: the path of its file, relative to the description, or the tables themselves."""
    try:
        if isinstance(value, dict):
            return profile_text.from_tables(value)
        return profile_text.load(folder / _text(value, where))
    except ClusterError as error:
        key = f"{where}.{error.key}" if isinstance(value, dict) and error.key else where
        raise ClusterError(str(error) if str(error).startswith(where) else f"{where}: {error}", key) from None


def _group(t: Mapping[str, Any], where: str) -> Group:
    _keys(t, _GROUP, where, needed=_GROUP)
    name = _text(t["name"], f"{where}.name")
    levels = _tables(t["levels"], f"{where}.levels")
    return Group(
        name, _text(t["kind"], f"{where}.kind"), tuple(_level(x, f"{where}.levels[{i}]") for i, x in enumerate(levels))
    )


def _level(t: Mapping[str, Any], where: str) -> Level:
    _keys(t, _LEVEL, where, needed=("name", "joins", "size", "topology", "bandwidth", "latency"))
    size = t["size"]
    shape = tuple(_integer(n, f"{where}.size") for n in (size if isinstance(size, list) else [size]))
    oversubscription = t.get("oversubscription", 1.0)
    if isinstance(oversubscription, bool) or not isinstance(oversubscription, int | float):
        text = f"{where}.oversubscription is {brief(oversubscription)}; allowed: a number, 1 or more"
        raise ClusterError(text, f"{where}.oversubscription")
    try:
        return Level(
            _text(t["name"], f"{where}.name"),
            _text(t["joins"], f"{where}.joins"),
            shape,
            _text(t["topology"], f"{where}.topology"),
            _quantity(t["bandwidth"], "B/s", f"{where}.bandwidth"),
            _quantity(t["latency"], "s", f"{where}.latency"),
            _integer(t.get("ports", 1), f"{where}.ports"),
            _flag(t.get("gateway", False), f"{where}.gateway"),
            oversubscription,
            _wrap(t.get("wrap", []), len(shape), f"{where}.wrap"),
            _source(t, where),
        )
    except ClusterError as error:
        if str(error).startswith(where):
            raise
        raise ClusterError(f"{where}: {error}", f"{where}.{error.key}" if error.key else where) from None


# -- values ----------------------------------------------------------------------------------------


def _keys(t: Mapping[str, Any], allowed: Sequence[str], where: str, needed: Sequence[str]) -> None:
    if unknown := [k for k in t if k not in allowed]:
        key = unknown[0] if where == "the file" else f"{where}.{unknown[0]}"
        raise ClusterError(f"unknown key {brief(unknown[0])} in {where}; allowed: {', '.join(allowed)}", key)
    if missing := [k for k in needed if k not in t]:
        raise ClusterError(f"{where} has no key {missing[0]!r}; needed: {', '.join(needed)}", where)


def _quantity(value: Any, unit: str, where: str) -> float:
    try:
        return quantity(value, unit)
    except ValueError as error:
        raise ClusterError(f"{where}: {error}", where) from None


def _integer(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ClusterError(f"{where} is {brief(value)}; allowed: a whole number", where)
    return value


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise ClusterError(f"{where} is {brief(value)}; allowed: true, false", where)
    return value


def _wrap(value: Any, dims: int, where: str) -> tuple[bool, ...] | int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return tuple(_flag(w, where) for w in (value if isinstance(value, list) else [value] * dims))


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise ClusterError(f"{where} is {brief(value)}; allowed: text", where)
    return value


def _table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ClusterError(f"{where} is {brief(value)}; allowed: a table", where)
    return value


def _tables(value: Any, where: str) -> list[Mapping[str, Any]]:
    if not isinstance(value, list) or not value:
        raise ClusterError(f"{where} is {brief(value)}; allowed: one or more tables, [[{where}]]", where)
    return [_table(x, f"{where}[{i}]") for i, x in enumerate(value)]


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
        raise ClusterError(text, "source" if where == "the file" else f"{where}.source")
    if unknown := [k for k in source if k not in t]:
        text = f"source.{unknown[0]} of {where} is of no figure there; there are {', '.join(t)}"
        raise ClusterError(text, "source" if where == "the file" else f"{where}.source")
    return dict(source)


# -- writing ---------------------------------------------------------------------------------------


def dumps(cluster: Description) -> str:
    """`cluster` as TOML that `loads` makes the same cluster of; figures in bytes, FLOP and seconds."""
    out = [f"name = {_quote(cluster.name)}"]
    if cluster.description:
        out.append(f"description = {_quote(cluster.description)}")
    out += _source_lines(cluster.source)
    for key, ids in (("failed", cluster.failed), ("spare", cluster.spare)):
        if ids:
            out.append(f"{key} = {sorted(ids)}")
    for k in cluster.kinds:
        out += ["", f"[kinds.{_quote(k.name)}]"]
        out.append(f"flops = {{{', '.join(f'{n} = {_number(x)}' for n, x in k.flops.items())}}}")
        for key in ("default_flops", "memory", "memory_bandwidth", "kernel_overhead", "collective_overhead"):
            out.append(f"{key} = {_number(getattr(k, key))}")
        out += _source_lines(k.source)
        if k.profile is not None:
            out += profile_text.lines(k.profile, f"kinds.{_quote(k.name)}.profile")
    for g in cluster.groups:
        out += ["", "[[groups]]", f"name = {_quote(g.name)}", f"kind = {_quote(g.kind)}"]
        for x in g.levels:
            size = str(list(x.shape)) if x.topology == "torus" else str(x.size)
            out += ["", "[[groups.levels]]", f"name = {_quote(x.name)}", f"joins = {_quote(x.joins)}", f"size = {size}"]
            out += [f"topology = {_quote(x.topology)}", *_link_lines(x)]
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
        return [f"source = {_quote(source[''])}"]
    return [f"source = {{{', '.join(f'{k} = {_quote(v)}' for k, v in source.items())}}}"]


def _number(x: float) -> str:
    return str(int(x)) if math.isfinite(x) and x == int(x) and abs(x) < 1e6 else repr(float(x))


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
