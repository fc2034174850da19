"""Steps of the search for schedules: tasks into gaps, and the beginning of ZB-V."""

from __future__ import annotations

import numpy as np
import pytest

from pcg.pipeline.automatic import automatic
from pcg.pipeline.blocks import equal_times
from pcg.pipeline.candidates import Candidates
from pcg.pipeline.gap_kernels import into_gaps
from pcg.pipeline.placement import placement
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.rounds import Rounds
from pcg.pipeline.schedule import Schedule


def _with_gaps(form: str, chunks: int, limit: float) -> tuple[Pipeline, Candidates]:
    """Candidates whose order was made for other times, so that it has gaps."""
    p = Pipeline.uniform(placement(form, 4, chunks), 10, (10, 14, 6, 1), limit=limit)
    candidates = Candidates(p, "span", 4)
    candidates.order[:] = np.concatenate(automatic(equal_times(p), "span", "quick").order)
    return p, candidates


@pytest.mark.parametrize("form, chunks, limit", [("linear", 1, 4.0), ("v", 2, 2.5), ("interleaved", 3, 5.0)])
@pytest.mark.parametrize("backward", [0, 1])
def test_into_gaps(form: str, chunks: int, limit: float, backward: int) -> None:
    """No task is later, or earlier where they go to the end, and memory is within its limit."""
    p, c = _with_gaps(form, chunks, limit)
    a = p.arrays
    before = Schedule.from_flat(p, c.order, "")
    done = into_gaps(
        c.order, a.offset, a.device, a.duration, a.change, a.limit, p.transfer, p.microbatches, backward, c.start,
        c.end, c.at, c.memory,
    )  # fmt: skip
    after = Schedule.from_flat(p, c.order, "")
    assert done == p.tasks and after.exceeded() is None
    assert after.makespan <= before.makespan * (1 + 1e-9)
    if not backward:
        assert (after.start <= before.start + 1e-6).all()
        assert np.allclose(c.start[: p.tasks], after.start[: p.tasks])


def test_squeeze_never_makes_it_longer() -> None:
    _, c = _with_gaps("v", 2, 2.5)
    before = c.add()
    assert c.squeeze() <= before * (1 + 1e-9)
    assert c.add() == pytest.approx(c.best[0][1])


def test_rounds_begin_as_zb_v_does() -> None:
    """As long as what its authors' code makes for 16 devices and 48 microbatches; other warm-ups are 11% longer."""
    p = Pipeline.uniform(placement("v", 16, 2), 48, (11.347, 11.248, 8.132, 0.377), (1.0, 0.43243), 16 * (1 + 1e-5))
    c = Candidates(p, "span", 1)
    Rounds(c).warm_ups()
    assert c.best[0][0] == pytest.approx(1552.24, rel=1e-5)
