"""pcg-schedule: when each device of a pipeline works on which microbatch."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pcg.driver.checked_json import At, document
from pcg.kernels.native import load_all
from pcg.pipeline import automatic, schedule
from pcg.pipeline.automatic import EFFORTS, OBJECTIVES
from pcg.pipeline.bounds import Bounds, bounds
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.exact import exact
from pcg.pipeline.named import AUTO, NAMED, named
from pcg.pipeline.placement import FORMS, placement
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.schedule import Schedule
from pcg.tools import arguments
from pcg.viz.page.timeline import timeline_page
from pcg.viz.timeline import planned, write_trace

#: Work of --exact without a number.
_WORK = 30.0


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit status: 0 done, 2 there is no such schedule."""
    args = parser().parse_args(argv)
    try:
        load_all(automatic, schedule)  # the first time on a machine they are compiled, which takes longer than a search
        begin = time.perf_counter()
        found = [(form, *_scheduled(p, args)) for form, p in _pipelines(args)]
        seconds = time.perf_counter() - begin
        form, best, bound = min(found, key=lambda f: f[1].objective(args.objective))
        report = _report(form, best, bound, args.objective, seconds)
        _write(best, args.timeline, args.trace)
    except PipelineError as error:
        return arguments.fail("pcg-schedule", str(error))
    except OSError as error:
        return arguments.fail("pcg-schedule", f"{error.filename}: {error.strerror}")
    sys.stdout.write(json.dumps(report) + "\n" if args.json else _text(report))
    return 0


def parser() -> argparse.ArgumentParser:
    p = arguments.Parser(
        prog="pcg-schedule",
        description="Schedule the forward passes (F), input gradients (B) and weight gradients (W) of the microbatches"
        " of a pipeline. Prints the order of every device, the longest span of a device (time per step without a"
        " barrier), the makespan (with one), lower bounds of both, and the peak memory of activations. Times and memory"
        " have the units of what is given.",
    )
    p.add_argument(
        "--stages", type=arguments.integer(1), required=True, metavar="P", help="devices, one behind the other"
    )
    p.add_argument("--microbatches", type=arguments.integer(1), required=True, metavar="M")
    costs = p.add_mutually_exclusive_group(required=True)
    costs.add_argument(
        "--costs", type=_numbers(4), metavar="F,B,W,C",
        help="times of F, B and W of all stages of a device, and the latency of a transfer",
    )  # fmt: skip
    costs.add_argument(
        "--stage-costs", metavar="FILE",
        help="JSON with lists cost_f, cost_b, cost_w, and mem_f, mem_b, mem_w (by how much F, B and W change the"
        " memory), an entry per stage; and cost_comm",
    )  # fmt: skip
    p.add_argument(
        "--memory", type=_numbers(2), metavar="A,R",
        help="activations of a microbatch on a device, and the part that remains from B to W (default 1,0.5)",
    )  # fmt: skip
    p.add_argument(
        "--memory-limit", type=_numbers(None), metavar="X[,X...]",
        help="the most memory of activations of a device, or of each; 1F1B needs P times A (default: no limit)",
    )  # fmt: skip
    p.add_argument(
        "--chunks", type=arguments.integer(1), metavar="V", help="stages per device (default: as the schedule)"
    )
    p.add_argument(
        "--placement", choices=FORMS,
        help="of several stages per device (default: as the schedule; auto: the better one)",
    )  # fmt: skip
    p.add_argument("--objective", choices=OBJECTIVES, default="span", help="what is minimised (default span)")
    p.add_argument(
        "--schedule", choices=(AUTO, *NAMED), default=AUTO, metavar="NAME",
        help="by name, or (auto, default) the best that is found",
    )  # fmt: skip
    p.add_argument(
        "--effort", choices=tuple(EFFORTS), default="default",
        help="how much auto tries; a number of steps, so that a schedule is the same every time",
    )  # fmt: skip
    p.add_argument(
        "--exact", type=arguments.real(zero=False), nargs="?", const=_WORK, metavar="WORK",
        help="then let CP-SAT improve the schedule of a small pipeline until it is proved to be the best one, or for so"
        f" much work (default {_WORK:g}; one is about a second, counted in steps); needs OR-tools: pcg[exact]",
    )  # fmt: skip
    p.add_argument("--json", action="store_true", help="print one JSON object")
    p.add_argument("--timeline", metavar="FILE", help="write an HTML page with the schedule to scale and its memory")
    p.add_argument(
        "--trace", metavar="FILE",
        help="write the schedule as a trace that ui.perfetto.dev opens, where a unit of time is a millisecond",
    )  # fmt: skip
    return p


def _scheduled(p: Pipeline, args: argparse.Namespace) -> tuple[Schedule, Bounds]:
    """The schedule of a pipeline, and lower bounds of any."""
    if args.exact and args.schedule != AUTO:
        raise PipelineError(f"--exact with --schedule {args.schedule}; allowed: --schedule {AUTO}")
    found, least = named(p, args.schedule, args.objective, args.effort), bounds(p)
    if args.exact:
        improved = exact(found, args.objective, args.exact)
        found, least = improved.schedule, replace(least, **{args.objective: improved.bound})
    return found, least


def _write(s: Schedule, page: str | None, trace: str | None) -> None:
    """The files of --timeline and --trace."""
    if page:
        found = planned(s)
        Path(page).write_text(timeline_page([found], found.title), encoding="utf-8")
    if trace:
        write_trace(trace, planned(s), seconds=1e-3)


def _numbers(count: int | None) -> Callable[[str], tuple[float, ...]]:
    def read(text: str) -> tuple[float, ...]:
        try:
            found = tuple(float(word) for word in text.split(","))
        except ValueError:
            found = ()
        if (
            not found
            or (count is not None and len(found) != count)
            or not all(math.isfinite(x) and x >= 0 for x in found)
        ):
            many = f"{count} finite numbers" if count else "finite numbers"
            raise argparse.ArgumentTypeError(f"'{text}'; allowed: {many} of 0 or more, with commas between them")
        return found

    return read


def _pipelines(args: argparse.Namespace) -> list[tuple[str, Pipeline]]:
    """The pipeline with each placement that comes into question."""
    form = args.placement or (NAMED[args.schedule][0] if args.schedule != AUTO else None)
    chunks = args.chunks or (1 if form in (None, "linear") else 2)
    forms = [form] if form else ["linear"] if chunks == 1 else ["interleaved", "v"]
    return [(f, _pipeline(args, f, chunks)) for f in forms]


def _pipeline(args: argparse.Namespace, form: str, chunks: int) -> Pipeline:
    device = placement(form, args.stages, chunks)
    if args.stage_costs:
        if args.memory:
            raise PipelineError("--memory with --stage-costs; allowed: mem_f, mem_b and mem_w in its file")
        try:
            doc = document(Path(args.stage_costs).read_text(encoding="utf-8"), "a file of costs", PipelineError)
            found = _read(doc, device, args.microbatches)
        except ValueError as error:  # also what is not UTF-8
            raise PipelineError(f"{args.stage_costs}: {error}") from None
    else:
        found = Pipeline.uniform(device, args.microbatches, args.costs, args.memory or (1.0, 0.5))
    if not args.memory_limit:
        return found
    one = len(args.memory_limit) == 1
    return found.with_limit(args.memory_limit * found.devices if one else args.memory_limit)


def _read(doc: At, device: tuple[int, ...], microbatches: int) -> Pipeline:
    """The pipeline that the JSON of --stage-costs describes; entries that it does not name are left alone."""
    memory = ("mem_f", "mem_b", "mem_w")
    times = ("cost_f", "cost_b", "cost_w")
    entries = tuple(doc.value) if isinstance(doc.value, dict) else ()
    remembers = not set(memory).isdisjoint(entries)
    doc.keys((*times, *(memory if remembers else ())), entries)

    def numbers(key: str) -> tuple[float, ...]:
        found = tuple(float(n.number(-1e300)) for n in doc[key].items())
        if len(found) != len(device):
            raise PipelineError(f"{key} has {len(found)} numbers; allowed: one per stage, {len(device)}")
        return found

    f, b, w = (numbers(key) for key in times)
    transfer = float(doc["cost_comm"].number(0)) if "cost_comm" in doc else 0.0
    activation: tuple[float, ...] = ()
    residual: tuple[float, ...] = ()
    if remembers:
        activation, freed, last = (numbers(key) for key in memory)
        residual = tuple(-m for m in last)
        for s, (a, x, r) in enumerate(zip(activation, freed, residual, strict=True)):
            if abs(a + x - r) > 1e-6 * abs(a):
                raise PipelineError(f"stage {s}: mem_f {a:g}, mem_b {x:g}, mem_w {-r:g}; allowed: a sum of 0")
    return Pipeline(device, microbatches, f, b, w, transfer, activation, residual)


def _report(form: str, s: Schedule, bound: Bounds, objective: str, seconds: float) -> dict[str, Any]:
    p, work = s.pipeline, max(s.pipeline.work)
    return {
        "schedule": s.name,
        "placement": form,
        "device_of_stage": list(p.device),
        "microbatches": p.microbatches,
        "objective": objective,
        "span": s.span,
        "makespan": s.makespan,
        "bound_span": bound.span,
        "bound_makespan": bound.makespan,
        "proved_span": s.span <= bound.span * (1 + 1e-9),
        "proved_makespan": s.makespan <= bound.makespan * (1 + 1e-9),
        "work": work,
        "bubble_rate_span": 1 - work / s.span,
        "bubble_rate_makespan": 1 - work / s.makespan,
        "spans": list(s.spans()),
        "peak_memory": list(s.peaks()),
        "memory_limit": [m if math.isfinite(m) else None for m in p.limit],
        "order": [s.text(d) for d in range(p.devices)],
        "start": [[float(s.start[t]) for t in tasks] for tasks in s.order],
        "seconds": seconds,
    }


def _text(r: dict[str, Any]) -> str:
    lines = [f"{r['schedule']}, {r['placement']} placement, {r['microbatches']} microbatches, {r['seconds']:.2f} s"]
    for name in ("span", "makespan"):
        above = f"{100 * (r[name] / r['bound_' + name] - 1):.2f}% above it"
        lines.append(
            f"{name} {r[name]:g}, lower bound {r['bound_' + name]:g}"
            f" ({'so it is the least' if r['proved_' + name] else above}),"
            f" bubble {100 * r['bubble_rate_' + name]:.2f}%"
        )
    for d, (order, peak, limit) in enumerate(zip(r["order"], r["peak_memory"], r["memory_limit"], strict=True)):
        lines.append(f"device {d}: memory {peak:g}{f' of {limit:g}' if limit is not None else ''}: {order}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
