"""The tables of `bench.quality`: per cluster and model our plan beside the best of every kind of others, and why."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: Kinds of plans, by the column they are in.
GROUPS = ("data", "zero", "megatron", "hybrid", "tables", "whole", "experts", "unity", "search", "rewritten")
#: Kinds that no expert writes.
_SEARCHED = ("unity", "search", "rewritten")
#: Kinds that are estimated apart, not on the way to our plan.
_APART = ("unity", "whole")
_HEADS = {"tables": "tables split", "whole": "tables whole", "experts": "experts split"}
_NEAR = 0.005
#: By how much (relative) the search alone must be slower to be named.
_TOLD = 0.0005

#: What makes our plan better than the best baseline, by model: from reading the plans.
REASONS = {
    "xdl": "rewritten, updates write the rows that were looked up, not gradients as large as their tables, and "
    "columns lie in blocks, so that one all-to-all serves all tables. As it is written, tables are split by columns, "
    "every device has all indices (they are small), and what was looked up goes to its sample in one all-to-all per "
    "table each way, behind the next look-ups. The paper's baseline puts the columns together first, which reorders "
    "them, then sends all at once. On 48 and 192 devices neither 64 columns nor a million rows divide by all: the "
    "baseline keeps copies of the tables and adds up their gradients. With each table whole on one device, the "
    "devices of one node send what all are to get.",
    "dlrm": "as XDL; on 192 V100s the program as it is written is as fast. As it is written, on 48 devices ours has "
    "uneven shards of the 256 columns where the baseline has three copies of every table, whose gradients (85 MB each) "
    "are added up; those of data parallelism are as large as the tables.",
    "candle_uno": "tensor parallelism over few devices by data parallelism over the rest, as the best hybrid, but "
    "decided per weight: narrow first layers stay whole, and which layers are split by columns, which by rows and "
    "which updates over the data axis differs from tower to tower.",
    "mlp": "the best hybrid already has the right degrees; what is left is which layer is split by columns, by rows or "
    "not at all, decided per weight, and how much of the two towers' exchanges pass behind compute.",
    "transformer_unity": "on 8 and 48 V100s some of the products (x y) z are rewritten to x (y z). As it is written, "
    "weights are small for the activations: data parallelism is nearly free, and splitting state saves only time of "
    "the update.",
    "bert_large": "data parallelism with its state split, decided per weight: updates take less of each device's time, "
    "and of what is sent less is waited for. On V100s that is 2 to 6%, as gradients pass behind the backward pass; on "
    "H100s, which compute several times faster, they do not.",
    "gpt3_1.3b": "ours is ZeRO-3 decided per weight: small vectors stay whole, the table of the vocabulary (50,257 "
    "rows, which no number of devices divides) is split by its width. Less is sent, and less of it is waited for.",
    "llama3_8b": "as GPT-3: all state is split over all devices, each weight along a dimension of its own, the tables "
    "by width (43.6 GB sent per device and step on 64 H100, where ZeRO-3 sends 46.8).",
    "gpt3_13b": "as the smaller GPT-3.",
    "llama3_70b": "as the smaller Llama.",
    "mixtral_8x7b": "experts and all state split, decided per weight: 2% less is sent than by experts split by eight "
    "with ZeRO-3, and a quarter (64 H100) to a third less of it is waited for.",
    "vit_h14": "split state decided per weight, with a little less waited for; on V100s the best ZeRO-3 is as good.",
    "evoformer": "few weights, large activations: data parallelism, all differences are below 1%.",
    "unet": "860 million weights and four images per device: the gradients of data parallelism take longer than "
    "there is compute to hide them. Ours sends a sixth of that (2.6 GB for 15.1 on 64 H100), and little of it is "
    "waited for. Its selection is the longest of all: two to five minutes of processor time.",
    "inception_v3_unity": "by these costs data parallelism is best, within 0.3%. On V100s it waits for no exchange, "
    "and contractions, which every plan has to do, take 153 of its 185 ms at the peak of all devices: no plan could "
    "be more than 1.21 times as fast.",
    "resnext50": "data parallelism is best, as the paper found; all differences are below 1%.",
}
#: What the Unity paper gains over its experts, at most.
PAPER = {"dlrm": 3.6, "mlp": 2.0, "xdl": 1.9, "candle_uno": 1.6, "inception_v3_unity": 1.3, "resnext50": 1.0}
#: The baseline of a model that the paper compares with, where that is not data parallelism.
OF_PAPER = {"dlrm": "whole", "xdl": "whole"}

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
    least: float = math.nan
    """Seconds below which no plan of the program comes."""
    notes: tuple[str, ...] = ()
    so_far: bool = False
    """Whether the selection did not end: then `ours` is the best of what it had estimated, so at most that."""

    @property
    def expert(self) -> Result | None:
        """The best baseline that fits."""
        found = [r for g, r in self.best.items() if g not in _SEARCHED]
        return min(found, key=lambda r: float(r["seconds"]), default=None)

    @property
    def alone(self) -> float:
        """The time of what the search found over the best of all others' for the program as it is written.

        Those of Unity too; nan without either.
        """
        others = [float(r["seconds"]) for g, r in self.best.items() if g not in ("search", "rewritten")]
        found = self.best.get("search")
        return float(found["seconds"]) / min(others) if found is not None and others else math.nan

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
            notes = [f"{r['group']}: {_reason(r['error'])}" for r in plans if "error" in r]
            done = ((label.removeprefix("done "), r) for label, r in cell.items() if label.startswith("done "))
            notes += [f"{side}: {_reason(r['error'])}" for side, r in done if "error" in r]
            good = ours is not None and "error" not in ours and ours["fits"]
            so_far = None
            if ours is None and "done plans" in cell:
                tried = [r for g, r in best.items() if g not in _APART]
                so_far = min(tried, key=lambda r: float(r["seconds"]), default=None)
            mine = ours if good else None if so_far is None else {**so_far, "chosen": so_far["label"]}
            least = float(cell.get("least", {}).get("seconds", math.nan))
            yield Row(model, cluster, mine, best, unfit, least, tuple(notes), so_far is not None)


def _reason(error: str) -> str:
    """What went wrong, without the place in a program that nobody sees."""
    return re.sub(r"^([\w.]+Error: )?(\S+:\d+:\d+: )?", "", error)


def milliseconds(seconds: float) -> str:
    """Three or four digits."""
    value = 1e3 * seconds
    return f"{value:.0f}" if value >= 1000 else f"{value:.{max(0, 2 - int(math.floor(math.log10(max(value, 1e-3)))))}f}"


def why(row: Row) -> str:
    """In which part of the step our plan differs from the best baseline, and how."""
    ours, other = row.ours, row.expert
    if ours is None:
        return ""
    if other is None:
        return "no baseline fits" if row.unfit else "baselines are not estimated yet"
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
    out = ["-" if row.ours is None else ("<= " if row.so_far else "") + milliseconds(row.ours["seconds"])]
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
    """A line of the page: as for a terminal, with how long it took, and which plan was taken."""
    ours = row.ours or {}
    taken = f"{ours['cpu_seconds']:.0f}" if "cpu_seconds" in ours else ""
    return [row.model, *_cells(row, groups), taken, str(ours.get("chosen", "")), why(row)]


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


def gains(cache: Mapping[str, Any], models: Sequence[str], clusters: Sequence[str]) -> list[str]:
    """Our gains over the paper's experts beside those of the paper, as lines of a page."""
    lines = []
    for model in (m for m in models if m in PAPER):
        found = {r.cluster: r for r in rows(cache, [model], clusters) if r.ours is not None}
        if not found:
            continue
        kind = OF_PAPER.get(model, "data")
        cells = [_gain(found.get(c), kind) for c in clusters]
        best = [float(r.expert["seconds"]) / float(r.ours["seconds"]) for r in found.values() if r.expert and r.ours]
        over = f"{min(best):.2f} to {max(best):.2f}" if best else ""
        name = {"data": "data parallelism"}.get(kind) or _HEADS[kind]
        lines.append("| " + " | ".join((model, f"{PAPER[model]:.1f}", name, *cells, over)) + " |")
    if not lines:
        return []
    heads = ["model", "paper", "over", *clusters, "over the best baseline"]
    lines = ["| " + " | ".join(heads) + " |", "|---|---:|---|" + "---:|" * (len(clusters) + 1), *lines]
    return ["## Beside the paper's gains", "", _GAINS, "", *lines, ""]


def _gain(row: Row | None, kind: str) -> str:
    """The time of the best plan of a kind over ours, and over what no plan can be faster than; empty without one."""
    if row is None or row.ours is None or kind not in row.best:
        return ""
    other = float(row.best[kind]["seconds"])
    most = "" if math.isnan(row.least) else f" ({other / row.least:.2f})"
    return f"{other / float(row.ours['seconds']):.2f}{most}"


_GAINS = """Ours over the plan that the paper calls an expert's, on each cluster, and in brackets what no plan of the
program can gain over that: by then the contractions alone, shared evenly at the peak of all devices, take all the time.
The paper's figures are the largest that it measured on up to 192 V100s. For DLRM and XDL its expert puts table i on
device i and runs the MLPs data-parallel (written here with stacked tables, which a layout can place so; every device
takes part in the exchanges, those without a table with padding, so nodes of fewer tables than devices are estimated too
slow: XDL's have four tables on the six devices of a node). For the others the table has data parallelism, which here
hides what it can behind the backward pass. The last column is over the best of all hybrids of data, tensor and state
parallelism and of all ways to split tables, in the best place: a stronger opponent, which leaves less."""


def missing(cache: Mapping[str, Any], models: Sequence[str], clusters: Sequence[str]) -> list[str]:
    """What was not run, as a list of Markdown; empty where all was."""
    lines = []
    for model in models:
        absent = [c for c in clusters if f"{model} {c}" not in cache]
        if absent:
            lines.append(f"- {model}: " + ("all" if len(absent) == len(clusters) else ", ".join(absent)))
    return ["## Not run", "", *lines] if lines else []


_INTRODUCTION = """# Quality of plans

`python -m bench.quality --markdown docs/quality.md` makes this page. Step time in milliseconds, by simulation
(`pcg.simulate`), of our plan and of the plans of experts and of Unity's algorithm, all through the same lowering and
estimated on the same description of the cluster. The batch is that of the zoo per device (weak scaling). `ours` is
`pcg-select{meshes=any}`: the fastest of several plans by the same simulation, of which `chosen` is the name. Baselines'
plans are among them, and Unity's (of programs of up to 8,000 ops), so `ours` is not worse than they; `search` is the
fastest of those that the searches found, the last of which starts from the best plan, or takes parts of the best
baseline. `rewritten` is the fastest plan of what `pcg-substitute` makes of the program by proved rules, which `chosen`
then names; all other columns are of the program as it is written. `<=` says that the selection did not end in its time,
with the best of what it had estimated by then.

Each column is the best of its kind over all factorisations of the number of devices and all distinct places of the mesh
on the cluster (eight at most), by a timing before lowering ([decision 26](decisions/0026-plans-before-lowering.md));
see [decision 14](decisions/0014-baselines.md) for what the plans are and what is left out, and
[decision 13](decisions/0013-unity-search.md) for `unity`. A plan must fit the memory of a device by the same
simulation; where none of a kind does, the least memory that one needs stands in brackets. `gain` is the time of the
best baseline that fits over ours, `on data` that of data parallelism over ours. `s` is the processor time of
choosing the mesh, searching and estimating everything in the row, in seconds.
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
        heads = ["model", "ours", *kinds, "gain", "on data", "s", "chosen", "where the difference lies"]
        lines += [f"## {cluster} ({_size(memory[cluster])} per device)", "", "| " + " | ".join(heads) + " |"]
        lines.append("|---|" + "---:|" * (len(heads) - 3) + "---|---|")
        lines += ["| " + " | ".join(_line(r, groups)) + " |" for r in found]
        lines.append("")
        lines += [f"- {r.model}: {n}" for r in found for n in r.notes]
        lines += [""] if lines[-1] else []
        worse = [r for r in found if r.ratio > 1 + 1e-9]
        named = ", ".join(f"{r.model} ({r.ratio:.4f})" for r in worse)
        lines.append(f"Worse than another plan: {named or 'none'}.")
        slower = ", ".join(f"{r.model} ({r.alone:.3f})" for r in found if r.alone > 1 + _TOLD)
        lines += [f"The search alone is slower than another plan: {slower or 'none'}.", ""]
    lines += ["## Where ours wins, and why", ""]
    lines += [f"- **{m}**: {REASONS[m]}" for m in models if m in REASONS and any(f"{m} {c}" in cache for c in clusters)]
    lines += ["", *gains(cache, models, clusters), *missing(cache, models, clusters)]
    return "\n".join(lines).rstrip() + "\n"
