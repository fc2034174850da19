"""Schedules by name."""

from __future__ import annotations

from collections.abc import Callable

from pcg.pipeline import closed_forms, v_shaped
from pcg.pipeline.automatic import automatic
from pcg.pipeline.errors import MemoryLimitError, PipelineError
from pcg.pipeline.placement import placement
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.schedule import Schedule

#: (form of placement, what makes it), by name.
NAMED: dict[str, tuple[str, Callable[[Pipeline], Schedule]]] = {
    "gpipe": ("linear", closed_forms.gpipe),
    "1f1b": ("linear", closed_forms.one_f_one_b),
    "eager-1f1b": ("linear", closed_forms.eager_one_f_one_b),
    "interleaved": ("interleaved", closed_forms.interleaved),
    "interleaved-zb": ("interleaved", closed_forms.interleaved_zb),
    "zb-h1": ("linear", closed_forms.zb_h1),
    "zb-h2": ("linear", closed_forms.zb_h2),
    "zb-v": ("v", v_shaped.zb_v),
    "zb-vpp": ("v", v_shaped.zb_vpp),
    "v-half": ("v", v_shaped.v_half),
    "v-min": ("v", v_shaped.v_min),
}
AUTO = "auto"


def named(pipeline: Pipeline, name: str, objective: str = "span", effort: str = "default") -> Schedule:
    """The schedule of a name for a pipeline, within its limits of memory.

    `auto`: the best of what `automatic` finds and of those named schedules that its placement and limits allow.
    """
    if name != AUTO:
        if name not in NAMED:
            raise PipelineError(f"schedule {name!r}; allowed: {', '.join((AUTO, *NAMED))}")
        found = NAMED[name][1](pipeline)
        over = found.exceeded()
        if over is not None:
            raise MemoryLimitError(
                f"{name} needs {found.peaks()[over]:g} of memory on device {over}; the limit is"
                f" {pipeline.limit[over]:g}; {max(found.peaks()):g} fits all devices"
            )
        return found
    best = automatic(pipeline, objective, effort)
    devices, chunks = pipeline.devices, max(pipeline.stages // pipeline.devices, 1)
    for form, make in NAMED.values():
        # V-shaped ones are found as `automatic` finds its own.
        if form == "v" or (form == "linear" and chunks > 1) or pipeline.device != placement(form, devices, chunks):
            continue
        try:
            other = make(pipeline)
        except PipelineError:  # as interleaved where microbatches are no multiple of the devices
            continue
        if other.exceeded() is None and other.objective(objective) < best.objective(objective) * (1 - 1e-9):
            best = other
    return best

