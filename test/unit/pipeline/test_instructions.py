"""Instructions of devices: that they do the step, in the memory that they say."""

from __future__ import annotations

import pytest

from pcg.pipeline.check import check
from pcg.pipeline.lowering import lower
from pcg.pipeline.named import NAMED
from pcg.pipeline.placement import placement
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.progress import peaks
from support.pipelinesteps import training_step

CASES = [
    (name, devices, chunks, microbatches)
    for name, (form, _) in NAMED.items()
    for devices, chunks, microbatches in ((1, 1, 2), (2, 1, 3), (2, 2, 4), (4, 1, 9), (4, 2, 8), (3, 3, 6))
    if (chunks == 1) == (form == "linear") and (name == "zb-vpp" or chunks < 3 or form == "interleaved")
]


@pytest.mark.parametrize("name, devices, chunks, microbatches", CASES)
@pytest.mark.parametrize("capacity", [1, 3])
def test_named_schedules(name: str, devices: int, chunks: int, microbatches: int, capacity: int) -> None:
    form, make = NAMED[name]
    p = Pipeline.uniform(placement(form, devices, chunks), microbatches, (1, 1.5, 0.7, 0.1))
    schedule = make(p)
    for donate in (True, False):
        step = training_step(p, donate=donate)
        found = lower(step, schedule, capacity)
        check(found)
        check(found, peaks(found))
