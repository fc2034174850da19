"""What a pipeline consists of, as text."""

from __future__ import annotations

from pcg.driver.choose_pipeline import ChosenPipeline
from pcg.driver.pipelined import PipelineProgram
from pcg.pipeline.bounds import bounds
from pcg.pipeline.instructions import Instructions
from pcg.pipeline.overlap import POST_VALIDATED, SYNCHRONOUS
from pcg.pipeline.progress import peaks, planned_peaks
from pcg.pipeline.schedule import Schedule
from pcg.viz.table import table

_MIB = 2.0**20


def explain(
    program: PipelineProgram, schedule: Schedule, instructions: Instructions, single: Instructions | None = None,
    chosen: ChosenPipeline | None = None,
) -> str:  # fmt: skip
    """Stages with their times and memory, the schedule beside its bounds, and the memory of each group.

    `single`: the instructions of a step that overlaps no other one, where `instructions` are of one that does.
    `chosen`: how its shape was chosen, if it was.
    """
    p = schedule.pipeline
    rows = []
    for s, group in enumerate(p.device):
        times = (p.forward[s], p.backward[s], p.weight[s])
        cells = [f"{1e6 * t:.1f}" for t in times]
        rows.append([str(s), str(group), *cells, f"{p.activation[s] / _MIB:.2f}", f"{p.residual[s] / _MIB:.2f}"])
    header = ["stage", "group", "F us", "B us", "W us", "kept to B MiB", "kept to W MiB"]
    lowest, total = bounds(p), max(p.work)
    groups = []
    memory = zip(planned_peaks(instructions), peaks(instructions), strict=True)
    for g, (mesh, (most, bound), span) in enumerate(zip(program.meshes, memory, schedule.spans(), strict=True)):
        idle = 1 - p.work[g] / span if span else 0.0
        cells = [f"{most / _MIB:.2f}", f"{bound / _MIB:.2f}", f"{max(idle, 0.0):.1%}"]
        groups.append([str(g), str(mesh), *cells])
    lines = [
        f"Pipeline of {program.program.name}: {p.stages} stages on {p.devices} groups, {p.microbatches} microbatches",
        "",
        table(header, rows, right=range(len(header))),
        "",
        f"Schedule {schedule.name or 'auto'}: makespan {1e6 * schedule.makespan:.1f} us (bound"
        f" {1e6 * lowest.makespan:.1f}), span {1e6 * schedule.span:.1f} us (bound {1e6 * lowest.span:.1f}); the busiest"
        f" group works {1e6 * total:.1f} us",
        "",
        table(["group", "mesh", "peak MiB per device", "bound MiB", "idle in its span"], groups, right=(0, 2, 3, 4)),
    ]
    if program.updates != SYNCHRONOUS:
        lines += ["", _overlap(program, instructions, single or instructions)]
    notes = [text for name, _, text in program.remarks if name in ("pcg-assign-stages", "pcg-split-backward")]
    if chosen is not None:
        notes += ["", f"Chosen by estimates of few layers: {chosen.best}"]
        notes += [f"  instead of {c}" for c in chosen.others]
    return "\n".join([*lines, "", *notes])


def _overlap(program: PipelineProgram, instructions: Instructions, single: Instructions) -> str:
    """How steps follow each other, and what memory that takes."""
    count = len(program.predicted)
    if not count:
        what = "no number of all groups on which state depends, so nothing waits"
    elif program.updates == POST_VALIDATED:
        groups = ", ".join(f"{n} on group {program.values[n].group}" for n in program.predicted)
        what = f"{count} {'number is' if count == 1 else 'numbers are'} predicted ({groups})"
    else:
        what = f"{count} {'number of all groups is' if count == 1 else 'numbers of all groups are'} waited for"
    more = max(a - b for a, b in zip(peaks(instructions), peaks(single), strict=True))
    return f"Updates {program.updates}: {what}; at most {more / _MIB:.2f} MiB per device more than one step by itself"
