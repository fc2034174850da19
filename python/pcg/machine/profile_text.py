"""Profiles as TOML; the keys are in docs/reference/profiles.md."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pcg.layout.brief import brief
from pcg.machine.curve import Curve
from pcg.machine.errors import MOST, ClusterError
from pcg.machine.profile import CLASSES, COLLECTIVES, VERSION, Profile, Rates
from pcg.machine.toml_lines import check_keys, inside, of_type, quote, read

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
    fresh = _curve(of_type(doc["fresh"], dict, "fresh"), "fresh") if "fresh" in doc else None
    waits = _groups(doc.get("waits", {}), "waits", floor=False)
    if isinstance(doc["pcg_profile"], bool) or doc["pcg_profile"] != VERSION:
        text = f"pcg_profile is {brief(doc['pcg_profile'])}; this pcg reads version {VERSION}"
        raise ClusterError(text, "pcg_profile")
    provenance = of_type(doc.get("made", {}), dict, "made")
    rates: dict[tuple[str, str], Rates] = {}
    for cls, elements in _classes(doc, "rates", CLASSES):
        for element, t in of_type(elements, dict, f"rates.{cls}").items():
            rates[cls, element] = _rates(of_type(t, dict, f"rates.{cls}.{element}"), f"rates.{cls}.{element}")
    curves = {
        (kind, group): curve
        for kind, groups in _classes(doc, "collectives", COLLECTIVES)
        for group, curve in _groups(groups, f"collectives.{kind}", floor=True).items()
    }
    kernel, dispatch, argument = (_number(doc[key], key) for key in ("kernel", "dispatch", "argument"))
    return Profile(
        of_type(doc["name"], str, "name"), of_type(doc["devices"], int, "devices"), kernel, dispatch, argument, rates,
        curves, fresh, waits, {k: of_type(x, str, f"made.{k}") for k, x in provenance.items()},
    )  # fmt: skip


def _classes(doc: Mapping[str, Any], name: str, allowed: Sequence[str]) -> Iterable[tuple[str, Any]]:
    """The entries of table `name`, if all their keys are `allowed`."""
    found = of_type(doc.get(name, {}), dict, name)
    check_keys(found, allowed, name)
    return found.items()


def _rates(t: Mapping[str, Any], where: str) -> Rates:
    _keys(t, ("flops", "bytes"), where)
    flops: list[tuple[float, Curve]] = []
    for i, x in enumerate(of_type(t.get("flops", []), list, f"{where}.flops")):
        at = f"{where}.flops[{i}]"
        table = dict(of_type(x, dict, at))
        _keys(table, ("intensity", "sizes", "seconds"), at, needed=("intensity",))
        flops.append((_number(table.pop("intensity"), f"{at}.intensity"), _curve(table, at)))
    curve = _curve(of_type(t["bytes"], dict, f"{where}.bytes"), f"{where}.bytes") if "bytes" in t else None
    with inside(where):
        return Rates(tuple(flops), curve)


def _groups(value: Any, where: str, floor: bool) -> dict[int, Curve]:
    """Curves by group size."""
    found: dict[int, Curve] = {}
    for group, t in of_type(value, dict, where).items():
        at = f"{where}.{group}"
        if not _GROUP.fullmatch(group):
            raise ClusterError(f"{at}: {brief(group)} is no group size; allowed: 2 or more", at)
        found[int(group)] = _curve(of_type(t, dict, at), at, floor)
    return found


def _curve(t: Mapping[str, Any], where: str, floor: bool = False) -> Curve:
    _keys(t, ("sizes", "seconds"), where, needed=("sizes", "seconds"))
    sizes, seconds = (
        tuple(_number(x, f"{where}.{key}") for x in of_type(t[key], list, f"{where}.{key}"))
        for key in ("sizes", "seconds")
    )
    with inside(where):
        return Curve(sizes, seconds, floor)


# -- values --------------------------------------------------------------------------------------------


def _keys(t: Mapping[str, Any], allowed: Sequence[str], where: str, needed: Sequence[str] = ()) -> None:
    check_keys(t, allowed, where)
    if missing := [k for k in needed if k not in t]:
        raise ClusterError(f"{where} lacks the key {missing[0]!r}", where)


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ClusterError(f"{where} is {brief(value)}; allowed: a number", where)
    if not -MOST <= value <= MOST:  # also where it is NaN, and integers beyond all floats
        raise ClusterError(f"{where} is {brief(value)}; allowed: a finite number, up to {MOST:g}", where)
    return float(value)


# -- writing ---------------------------------------------------------------------------------------------


def dumps(profile: Profile) -> str:
    """`profile` as TOML text that `loads` makes the same profile of."""
    return "\n".join(lines(profile, "")) + "\n"


def lines(profile: Profile, table: str) -> list[str]:
    """The lines of `dumps`, in table `table` of a document ("" for its top)."""
    at = f"{table}." if table else ""
    out = ["", f"[{table}]"] if table else []
    out += [
        f"pcg_profile = {VERSION}", f"name = {quote(profile.name)}", f"devices = {profile.devices}",
        f"kernel = {profile.kernel!r}", f"dispatch = {profile.dispatch!r}", f"argument = {profile.argument!r}",
    ]  # fmt: skip
    if profile.provenance:
        out += ["", f"[{at}made]", *(f"{quote(k)} = {quote(x)}" for k, x in profile.provenance.items())]
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


# -- where profiles are kept ---------------------------------------------------------------------------


def default_path(name: str, devices: int) -> Path:
    """Where `pcg-calibrate` leaves the profile of `devices` of that kind, and `Cluster.detect()` looks for it.

    `pcg/profiles` in the user's cache folder (XDG_CACHE_HOME, else `~/.cache`).
    """
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
    return Path(cache) / "pcg" / "profiles" / f"{safe}-{devices}.toml"
