"""Schedules of V-shaped placements: found once for equal times of F, B and W, as their authors draw them."""

from __future__ import annotations

import functools
from collections.abc import Callable

from pcg.pipeline.automatic import automatic
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.placement import placement
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.schedule import Schedule


def zb_v(p: Pipeline) -> Schedule:
    """ZB-V (Qi et al., 2024): no bubble within a span for equal times and twice as many microbatches as devices, with
    the memory of 1F1B."""
    return _equal(p, "zb-v", 2, lambda devices: devices)


def v_half(p: Pipeline) -> Schedule:
    """V-Half: about half the memory of 1F1B, and about half its bubble."""
    return _equal(p, "v-half", 2, lambda devices: (devices + 2) // 2)


def v_min(p: Pipeline) -> Schedule:
    """V-Min: about a third of the memory of 1F1B."""
    return _equal(p, "v-min", 2, lambda devices: (devices + 4) // 3)


def zb_vpp(p: Pipeline) -> Schedule:
    """ZB-VPP of PaddlePaddle: W fills gaps, on any number of chunks, within the memory of 1F1B."""
    return _equal(p, "zb-vpp", None, lambda devices: devices)


def _equal(p: Pipeline, name: str, chunks: int | None, memory: Callable[[int], float]) -> Schedule:
    """The order for equal times and equal memory of all stages, within `memory` activations of a device."""
    expected = placement("v", p.devices, chunks or max(p.stages // p.devices, 1))
    if p.device != expected or p.stages == p.devices:
        allowed = f"the v placement of {chunks or '2 or more'} chunks"
        raise PipelineError(f"{name} on devices {list(p.device)}; allowed: {allowed}")
    return Schedule(p, _order(p.device, p.microbatches, memory(p.devices)), name)


@functools.lru_cache(16)
def _order(device: tuple[int, ...], microbatches: int, memory: float) -> tuple[tuple[int, ...], ...]:
    chunks = len(device) // (max(device) + 1)
    equal = Pipeline.uniform(device, microbatches, (chunks, chunks, chunks, 0.0), limit=memory)
    return automatic(equal, "span").order
