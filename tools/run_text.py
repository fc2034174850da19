"""What pcg-run prints of its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pcg.layout import Mesh
from pcg.machine.units import bytes_text, time_text
from pcg.runtime.compare import Comparison


def program_text(report: dict[str, Any]) -> str:
    cost = report["cost"]
    mesh = ",".join(f"{n}={s}" for n, s in report["mesh"].items())
    lines = [f"{report['program']} on mesh {mesh} ({report['devices']} devices), strategy {report['strategy']}"]
    if "explain" in report:
        lines += ["", report["explain"]]
    lines += report.get("why", {}).values()
    if "simulation" in report:
        lines.append(report["simulation"]["text"])
    if cost["seconds"] is not None:
        lines.append(f"  estimated step   {time_text(cost['seconds'])} ({cost['by']})")
    counts: Counter[str] = Counter()
    for c in cost["collectives"]:
        counts[c["kind"]] += c["times"]
    what = ", ".join(f"{n} {k}" for k, n in sorted(counts.items())) or "no collectives"
    lines += [
        f"  bytes moved      {bytes_text(cost['communication_bytes'])} sent per device ({what})",
        f"  memory           {bytes_text(cost['peak_bytes'])} peak per device",
        f"  compiled in      {time_text(report['compile_seconds'])} (without XLA)",
        f"  run              {time_text(report['sharded_seconds'])} on {report['devices']} devices",
    ]
    return "\n".join(lines + _verdict(report))


def lowered_text(report: dict[str, Any]) -> str:
    mesh = ",".join(f"{n}={s}" for n, s in report["mesh"].items())
    lines = [
        f"{report['program']}, lowered for mesh {mesh} ({report['devices']} devices)",
        f"  run              {time_text(report['sharded_seconds'])} on {report['devices']} devices",
    ]
    return "\n".join(lines + _verdict(report))


def processes_text(report: dict[str, Any], meshes: Mapping[str, Mesh]) -> str:
    where = "; ".join(f"@{n} ({m}) on {list(m.device_ids or range(m.size))}" for n, m in meshes.items())
    lines = [f"{report['program']} on meshes {where}"]
    lines.append(f"  {len(report['processes'])} processes, {len(report['messages'])} messages, all run on one device")
    return "\n".join(lines + _verdict(report))


def islands_text(report: dict[str, Any]) -> str:
    where = ", ".join(f"{name} of {count}" for name, count in report["islands"].items())
    lines = [f"{report['program']} on islands {where} ({report['backend']})"]
    lines += [f"  slice @{name:<11} {text}" for name, text in report["slices"].items()]
    run = time_text(report["sharded_seconds"])
    lines.append(f"  run              {run}, {report['messages']} messages between islands")
    return "\n".join(lines + _verdict(report))


def _verdict(report: dict[str, Any]) -> list[str]:
    """What `--check` found, in lines."""
    if "agrees" not in report:
        return []
    rows = [Comparison(**r) for r in report["results"]]
    lines = [f"  reference        {time_text(report['reference_seconds'])} {report['reference']}"]
    bad = [r for r in rows if not r.agrees]
    lines += [f"  {r}" for r in bad]
    if odd := [r for r in rows if r.not_finite]:
        names = ", ".join(r.name for r in odd[:4])
        lines.append(f"  note: {len(odd)} results have values that are not finite in both programs ({names})")
    if noisy := [r for r in rows if not r.decided]:
        names = ", ".join(r.name for r in noisy[:4])
        lines.append(f"  note: {len(noisy)} results are mostly rounding, whatever computes them ({names})")
    worst = max(rows, key=lambda r: r.error, default=None)
    if bad:
        lines.append(f"DIFFERS: {len(bad)} of {len(rows)} results")
        return lines + [f"  {text}" for text in report["remarks"] if "replicated" in text][:5]
    found = worst.distances() if worst is not None else "nothing to compare"
    return [*lines, f"AGREES: {len(rows)} results, worst {found} (seed {report['seed']})"]
