"""Profiles as TOML; the keys are in docs/reference/profiles.md."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pcg.layout.brief import brief
from pcg.machine.curve import Curve
from pcg.machine.errors import ClusterError
from pcg.machine.figures import MOST
from pcg.machine.profile import CLASSES, COLLECTIVES, VERSION, Profile, Rates
from pcg.machine.toml_lines import read

_TOP = (
    "pcg_profile", "name", "devices", "kernel", "dispatch", "argument", "fresh", "waits", "made", "rates",
    "collectives",
)  # fmt: skip


#: A group size as a key: written in one way only.
_GROUP = re.compile(r"[1-9][0-9]{0,9}")


def load(path: str | Path) -> Profile:
    """The profile in a file.

    Raises:
      ClusterError: it cannot be read, or is no profile; the text names the file, the key, the value, what is allowed.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # also what is not UTF-8, and a name that no file can have
        raise ClusterError(f"profile {str(path)!r} cannot be read: {error}") from None
    return loads(text, str(path))


def loads(text: str, path: str = "<text>") -> Profile:
    """The profile that `text` describes; `path` is for errors."""
    return read(text, path, from_tables)


def from_tables(doc: Mapping[str, Any]) -> Profile:
    """The profile in tables as TOML has them."""
    _keys(doc, _TOP, "the profile", needed=_TOP[:6])
    fresh = _curve(_table(doc["fresh"], "fresh"), "fresh") if "fresh" in doc else None
    waits = _groups(doc.get("waits", {}), "waits", floor=False)
    if isinstance(doc["pcg_profile"], bool) or doc["pcg_profile"] != VERSION:
        text = f"pcg_profile is {brief(doc['pcg_profile'])}; this pcg reads version {VERSION}"
        raise ClusterError(text, "pcg_profile")
    provenance = _table(doc.get("made", {}), "made")
    rates: dict[tuple[str, str], Rates] = {}
    for cls, elements in _table(doc.get("rates", {}), "rates").items():
        _one_of(cls, CLASSES, "rates")
        for element, t in _table(elements, f"rates.{cls}").items():
            rates[cls, element] = _rates(_table(t, f"rates.{cls}.{element}"), f"rates.{cls}.{element}")
    curves: dict[tuple[str, int], Curve] = {}
    for kind, groups in _table(doc.get("collectives", {}), "collectives").items():
        _one_of(kind, COLLECTIVES, "collectives")
        for group, curve in _groups(groups, f"collectives.{kind}", floor=True).items():
            curves[kind, group] = curve
    kernel, dispatch, argument = (_number(doc[key], key) for key in ("kernel", "dispatch", "argument"))
    return Profile(
        _text(doc["name"], "name"), _integer(doc["devices"], "devices"), kernel, dispatch, argument, rates, curves,
        fresh, waits, {k: _text(x, f"made.{k}") for k, x in provenance.items()},
    )  # fmt: skip


def _rates(t: Mapping[str, Any], where: str) -> Rates:
    _keys(t, ("flops", "bytes"), where)
    flops: list[tuple[float, Curve]] = []
    for i, x in enumerate(_list(t.get("flops", []), f"{where}.flops")):
        at = f"{where}.flops[{i}]"
        table = dict(_table(x, at))
        _keys(table, ("intensity", "sizes", "seconds"), at, needed=("intensity",))
        flops.append((_number(table.pop("intensity"), f"{at}.intensity"), _curve(table, at)))
    curve = _curve(_table(t["bytes"], f"{where}.bytes"), f"{where}.bytes") if "bytes" in t else None
    return _at(where, lambda: Rates(tuple(flops), curve))


def _groups(value: Any, where: str, floor: bool) -> dict[int, Curve]:
    """Curves by group size."""
    found: dict[int, Curve] = {}
    for group, t in _table(value, where).items():
        at = f"{where}.{group}"
        if not _GROUP.fullmatch(group):
            raise ClusterError(f"{at}: {brief(group)} is no group size; allowed: 2 or more", at)
        found[int(group)] = _curve(_table(t, at), at, floor)
    return found


def _curve(t: Mapping[str, Any], where: str, floor: bool = False) -> Curve:
    _keys(t, ("sizes", "seconds"), where, needed=("sizes", "seconds"))
    sizes, seconds = (
        tuple(_number(x, f"{where}.{key}") for x in _list(t[key], f"{where}.{key}")) for key in ("sizes", "seconds")
    )
    return _at(where, lambda: Curve(sizes, seconds, floor))


# -- values --------------------------------------------------------------------------------------------


def _at(where: str, make: Any) -> Any:
    try:
        return make()
    except ClusterError as error:
        raise ClusterError(f"{where}: {error}", f"{where}.{error.key}" if error.key else where) from None


def _keys(t: Mapping[str, Any], allowed: Sequence[str], where: str, needed: Sequence[str] = ()) -> None:
    if unknown := [k for k in t if k not in allowed]:
        key = unknown[0] if where == "the profile" else f"{where}.{unknown[0]}"
        raise ClusterError(f"unknown key {brief(unknown[0])} in {where}; allowed: {', '.join(allowed)}", key)
    if missing := [k for k in needed if k not in t]:
        raise ClusterError(f"{where} lacks the key {missing[0]!r}", where)


def _one_of(name: str, allowed: Sequence[str], where: str) -> None:
    if name not in allowed:
        raise ClusterError(f"unknown key {brief(name)} in {where}; allowed: {', '.join(allowed)}", f"{where}.{name}")


def _table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ClusterError(f"{where} is {brief(value)}; allowed: a table", where)
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise ClusterError(f"{where} is {brief(value)}; allowed: a list", where)
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise ClusterError(f"{where} is {brief(value)}; allowed: text", where)
    return value


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ClusterError(f"{where} is {brief(value)}; allowed: a number", where)
    if not -MOST <= value <= MOST:  # also where it is NaN, and integers beyond all floats
        raise ClusterError(f"{where} is {brief(value)}; allowed: a finite number, up to {MOST:g}", where)
    return float(value)


def _integer(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ClusterError(f"{where} is {brief(value)}; allowed: a whole number", where)
    return value


# -- writing ---------------------------------------------------------------------------------------------


def dumps(profile: Profile) -> str:
    """`profile` as TOML text that `loads` makes the same profile of."""
    return "\n".join(lines(profile, "")) + "\n"


def lines(profile: Profile, table: str) -> list[str]:
    """The lines of `dumps`, in table `table` of a document ("" for its top)."""
    at = f"{table}." if table else ""
    out = ["", f"[{table}]"] if table else []
    out += [
        f"pcg_profile = {VERSION}", f"name = {_quote(profile.name)}", f"devices = {profile.devices}",
        f"kernel = {profile.kernel!r}", f"dispatch = {profile.dispatch!r}", f"argument = {profile.argument!r}",
    ]  # fmt: skip
    if profile.provenance:
        out += ["", f"[{at}made]", *(f"{_quote(k)} = {_quote(x)}" for k, x in profile.provenance.items())]
    if profile.fresh is not None:
        out += ["", f"[{at}fresh]", *_curve_lines(profile.fresh)]
    for (cls, element), rates in profile.rates.items():
        out += ["", f"[{at}rates.{cls}.{element}]"]
        if rates.bytes is not None:
            out.append(f"bytes = {{{', '.join(_curve_lines(rates.bytes))}}}")
        for intensity, curve in rates.flops:
            out += ["", f"[[{at}rates.{cls}.{element}.flops]]", f"intensity = {intensity!r}", *_curve_lines(curve)]
    for group, curve in profile.waits.items():
        out += ["", f"[{at}waits.{group}]", *_curve_lines(curve)]
    for (kind, group), curve in profile.collectives.items():
        out += ["", f"[{at}collectives.{kind}.{group}]", *_curve_lines(curve)]
    return out


def _curve_lines(curve: Curve) -> list[str]:
    return [
        f"sizes = [{', '.join(repr(float(x)) for x in curve.sizes)}]",
        f"seconds = [{', '.join(repr(float(x)) for x in curve.seconds)}]",
    ]


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


# -- where profiles are kept ---------------------------------------------------------------------------


def default_path(name: str, devices: int) -> Path:
    """Where `pcg-calibrate` leaves the profile of `devices` of that kind, and `Cluster.detect()` looks for it.

    `pcg/profiles` in the user's cache folder (XDG_CACHE_HOME, else `~/.cache`).
    """
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
    return Path(cache) / "pcg" / "profiles" / f"{safe}-{devices}.toml"
