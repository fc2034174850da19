"""The tables of `bench.quality`: per cluster and model our plan beside the best of every kind of others, and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Kinds of plans, by the column they are in.
GROUPS = ("data", "zero", "megatron", "hybrid", "tables", "experts", "unity")
_HEADS = {"tables": "tables split", "experts": "experts split"}
_NEAR = 0.005

Result = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """A model on a cluster: our result, and the best of every kind (with its label); None where there is none."""

    model: str
    cluster: str
    ours: Result | None
    best: Mapping[str, Result]
    unfit: Mapping[str, Result]
    """Kinds of which no plan fits: the one that needs least memory."""
    notes: tuple[str, ...] = ()

    @property
    def expert(self) -> Result | None:
        """The best expert's plan that fits."""
        found = [r for g, r in self.best.items() if g != "unity"]
        return min(found, key=lambda r: float(r["seconds"]), default=None)

    @property
    def ratio(self) -> float:
        """Our time over the best of all others' (1 or less: not worse); nan where there is nothing to compare."""
        if self.ours is None or not self.best:
            return math.nan
        return float(self.ours["seconds"]) / min(float(r["seconds"]) for r in self.best.values())


def rows(cache: Mapping[str, Any], models: Sequence[str], clusters: Sequence[str]) -> Iterator[Row]:
    """What the cache has, clusters first."""
    for cluster in clusters:
        for model in models:
            cell = cache.get(f"{model} {cluster}")
            if cell is None:
                continue
            plans = [r for label, r in cell.items() if not label.startswith("done ")]
            best: dict[str, Result] = {}
            unfit: dict[str, Result] = {}
            for group in GROUPS:
                found = [r for r in plans if r["group"] == group and "error" not in r]
                fitting = [r for r in found if r["fits"]]
                if fitting:
                    best[group] = min(fitting, key=lambda r: float(r["seconds"]))
                elif found:
                    unfit[group] = min(found, key=lambda r: float(r["peak_bytes"]))
            ours = cell.get("ours")
            notes = [f"{r['group']}: {r['error']}" for r in plans if "error" in r]
            done = ((label.removeprefix("done "), r) for label, r in cell.items() if label.startswith("done "))
            notes += [f"{side}: {r['error']}" for side, r in done if "error" in r]
            good = ours is not None and "error" not in ours and ours["fits"]
            yield Row(model, cluster, ours if good else None, best, unfit, tuple(notes))


def milliseconds(seconds: float) -> str:
    """Three or four digits."""
    value = 1e3 * seconds
    return f"{value:.0f}" if value >= 1000 else f"{value:.{max(0, 2 - int(math.floor(math.log10(max(value, 1e-3)))))}f}"


def why(row: Row) -> str:
    """In which part of the step our plan differs from the best expert's, and how."""
    ours, other = row.ours, row.expert
    if ours is None:
        return ""
    if other is None:
        return "no expert's plan fits" if row.unfit else "experts' plans are not priced yet"
    plan = f"against {other['label']}"
    ratio = float(ours["seconds"]) / float(other["seconds"])
    if abs(ratio - 1) <= _NEAR:
        return f"{plan}: equal"
    parts = []
    for name, text in (("compute", "compute"), ("exposed", "communication not hidden")):
        mine, its = float(ours[name]), float(other[name])
        if abs(mine - its) > 0.1 * abs(float(ours["seconds"]) - float(other["seconds"])):
            parts.append(f"{text} {milliseconds(mine)} for {milliseconds(its)}")
    sent = f"{_size(ours['communication_bytes'])} sent for {_size(other['communication_bytes'])}"
    return f"{plan}: " + ", ".join([*parts, sent])


def _size(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} B"


def _cells(row: Row, groups: Sequence[str]) -> list[str]:
    out = ["-" if row.ours is None else milliseconds(row.ours["seconds"])]
    for g in groups:
        if g in row.best:
            out.append(milliseconds(row.best[g]["seconds"]))
        elif g in row.unfit:
            out.append(f"({_size(row.unfit[g]['peak_bytes'])})")
        else:
            out.append("")
    expert = row.expert
    gain = "" if row.ours is None or expert is None else f"{float(expert['seconds']) / float(row.ours['seconds']):.2f}"
    data = row.best.get("data")
    against = "" if row.ours is None or data is None else f"{float(data['seconds']) / float(row.ours['seconds']):.2f}"
    return [*out, gain, against]


def _line(row: Row, groups: Sequence[str]) -> list[str]:
    """A line of the page: as for a terminal, with what the search alone found, and which plan was taken."""
    ours = row.ours or {}
    searched = ours.get("searched")
    first, *rest = _cells(row, groups)
    found = "" if searched is None else milliseconds(float(searched))
    return [row.model, first, found, *rest, str(ours.get("chosen", "")), why(row)]


def text(cache: Mapping[str, Any], models: Sequence[str], clusters: Sequence[str], plans: bool = False) -> str:
    """The tables for a terminal; with `plans` every plan, the fastest first."""
    lines = []
    for cluster in clusters:
        found = list(rows(cache, models, [cluster]))
        if not found:
            continue
        lines += ["", f"{cluster}: ms per step by simulation; (bytes): no plan fits, the least memory"]
        heads = ["ours", *GROUPS, "gain", "on data"]
        lines.append(f"{'model':<21}" + "".join(f"{h:>11}" for h in heads) + "  why")
        for row in found:
            lines.append(f"{row.model:<21}" + "".join(f"{c:>11}" for c in _cells(row, GROUPS)) + f"  {why(row)}")
            lines += [f"    {n}" for n in row.notes]
            if plans:
                cell = [r for r in cache[f"{row.model} {cluster}"].values() if "seconds" in r]
                for r in sorted(cell, key=lambda r: float(r["seconds"])):
                    lines.append(
                        f"    {r['label']:<44}{milliseconds(r['seconds']):>9} compute {milliseconds(r['compute']):>8}"
                        f" comm {milliseconds(r['communication']):>8} exposed {milliseconds(r['exposed']):>8}"
                        f" {_size(r['peak_bytes']):>8}{'' if r['fits'] else ' does not fit'}  {r['where']}"
                    )
    return "\n".join(lines)


_INTRODUCTION = """# Quality of plans

`python -m bench.quality --markdown docs/quality.md` makes this page. Step time in milliseconds, by simulation
(`pcg.simulate`), of our plan and of the plans of experts, all through the same lowering and priced on the same
description of the cluster. The batch is that of the zoo per device (weak scaling). `ours` is the default on a cluster:
`pcg-select` takes the fastest of several plans by the same simulation; `search` says how long the fastest of those that
the search found takes, and `chosen` which one was taken. Where both are empty, `ours` is the search alone: the
selection did not end in its time.

Each column is the best of its kind over all factorisations of the number of devices and all distinct places of the mesh
on the cluster; see [decision 14](decisions/0014-baselines.md) for what the plans are. A plan must fit the memory of a
device by the same simulation; where none of a kind does, the least memory that one needs stands in brackets. `gain` is
the time of the best expert's plan that fits over ours, `on data` that of data parallelism over ours.
"""


def page(
    cache: Mapping[str, Any], models: Sequence[str], clusters: Sequence[str], memory: Mapping[str, float]
) -> str:
    """The page with all tables."""
    lines = [_INTRODUCTION]
    for cluster in clusters:
        found = list(rows(cache, models, [cluster]))
        if not found:
            continue
        groups = [g for g in GROUPS if any(g in r.best or g in r.unfit for r in found)]
        kinds = [_HEADS.get(g, g) for g in groups]
        heads = ["model", "ours", "search", *kinds, "gain", "on data", "chosen", "where the difference lies"]
        lines += [f"## {cluster} ({_size(memory[cluster])} per device)", "", "| " + " | ".join(heads) + " |"]
        lines.append("|---|" + "---:|" * (len(heads) - 3) + "---|---|")
        lines += ["| " + " | ".join(_line(r, groups)) + " |" for r in found]
        lines.append("")
        lines += [f"- {r.model}: {n}" for r in found for n in r.notes]
        worse = [r for r in found if r.ratio > 1 + 1e-9]
        if worse:
            lines.append("Worse than another plan: " + ", ".join(f"{r.model} ({r.ratio:.3f})" for r in worse) + ".")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"
