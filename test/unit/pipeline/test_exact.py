"""Exact schedules: the least of all orders of small pipelines, and optima that others have proved."""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.pipeline.automatic import OBJECTIVES, automatic
from pcg.pipeline.bounds import bounds
from pcg.pipeline.closed_forms import gpipe, one_f_one_b
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.exact import MOST_TASKS, exact
from pcg.pipeline.placement import FORMS, placement
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.schedule import Schedule
from pcg.pipeline.timing_kernels import SLACK

TIMES = st.sampled_from([0.1, 0.5, 1.0, 2.0, 3.25])
#: Work of the solver that all cases here take less than.
WORK = 30.0


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    form = draw(st.sampled_from(FORMS))
    devices, microbatches = draw(st.sampled_from([(1, 3), (2, 2), (2, 3), (3, 2)] if form == "linear" else [(2, 1), (3, 1)]))
    device = placement(form, devices, 1 if form == "linear" else 2)

    def times() -> tuple[float, ...]:
        return tuple(draw(TIMES) for _ in device)

    activation = times()
    residual = tuple(a * draw(st.sampled_from([0.0, 0.3, 1.0])) for a in activation)
    weight = tuple(draw(st.sampled_from([0.0, 0.7, 2.0])) for _ in device)
    p = Pipeline(device, microbatches, times(), times(), weight, draw(st.sampled_from([0.0, 0.3])), activation, residual)
    factor = draw(st.sampled_from([1.0, 1.5, 2.5, math.inf]))
    return p.with_limit([least * factor for least in p.least_memory])


def orders(p: Pipeline, d: int) -> Iterator[tuple[int, ...]]:
    """All orders of a device in which every stage has its microbatches in order, and each W behind its B, behind its F."""
    rows = [kind * p.stages + s for s in p.stages_of(d) for kind in range(3)]

    def after(done: dict[int, int], order: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(order) == p.microbatches * len(rows):
            yield order
        for row in rows:
            n = done[row]
            if n < p.microbatches and (row < p.stages or done[row - p.stages] > n):
                yield from after({**done, row: n + 1}, (*order, row * p.microbatches + n))

    yield from after(dict.fromkeys(rows, 0), ())


def least(p: Pipeline, objective: str) -> float:
    found = math.inf
    for order in itertools.product(*(list(orders(p, d)) for d in range(p.devices))):
        try:
            s = Schedule(p, order)
        except PipelineError:  # tasks wait for each other
            continue
        if s.exceeded() is None:
            found = min(found, s.objective(objective))
    return found


@settings(max_examples=8, deadline=None)
@given(pipelines(), st.sampled_from(OBJECTIVES), st.booleans())
def test_the_least_of_all_orders(p: Pipeline, objective: str, good: bool) -> None:
    start = automatic(p, objective, "quick")
    if not good and p.device == placement("linear", p.devices, 1) and gpipe(p).exceeded() is None:
        start = gpipe(p)
    found = exact(start, objective, WORK)
    assert found.schedule.exceeded() is None and found.proved(objective)
    assert found.schedule.objective(objective) == pytest.approx(least(p, objective), rel=1e-8)
    # The bound is not above the best schedule, whose times are summed in another order than the bounds.
    assert found.bound >= bounds(p).objective(objective) * (1 - SLACK)


REFERENCES = json.loads((Path(__file__).parent / "references.json").read_text())


def _proved(case: list, form: str) -> None:
    objective, p, m, costs, limit, optimum = case
    *times, residual = REFERENCES["costs"][costs]
    limit = (limit or math.inf) * (1 + 1e-5)
    pipeline = Pipeline.uniform(placement(form, p, 2 if form == "v" else 1), m, times, (1.0, residual), limit)
    start = one_f_one_b(pipeline) if form == "linear" else automatic(pipeline, objective, "quick")
    found = exact(start, objective, WORK)
    assert found.schedule.exceeded() is None and found.proved(objective)
    assert found.schedule.objective(objective) == pytest.approx(optimum, rel=1e-3)


SMALL = [case for case in REFERENCES["optima"] if case[2] <= 8 and case[1] == 4]


@pytest.mark.parametrize("case", SMALL[::6], ids=lambda c: "-".join(map(str, c[:5])))
def test_proved_optima(case: list) -> None:
    """From 1F1B, which is far from them."""
    _proved(case, "linear")


@pytest.mark.parametrize("case", REFERENCES["v_optima"][1::3], ids=lambda c: "-".join(map(str, c[:5])))
def test_proved_optima_of_v_placements(case: list) -> None:
    _proved(case, "v")


@pytest.mark.exhaustive
@pytest.mark.parametrize("form", ["linear", "v"])
def test_all_proved_optima(form: str) -> None:
    for case in REFERENCES["v_optima"] if form == "v" else SMALL:
        _proved(case, form)


def test_it_is_the_same_every_time_and_ends_with_its_work() -> None:
    p = Pipeline.uniform(placement("v", 4, 2), 6, (10, 12, 8, 1), limit=2.5)
    start = automatic(p, "makespan", "quick")
    one, two = (exact(start, "makespan", 0.2) for _ in range(2))
    assert one.schedule.order == two.schedule.order and one.bound == two.bound
    assert bounds(p).makespan <= one.bound <= one.schedule.makespan <= start.makespan


def test_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    large = Pipeline.uniform(placement("linear", 4, 1), MOST_TASKS // 12 + 1, (1, 1, 1, 0))
    with pytest.raises(PipelineError, match=rf"an exact schedule of {large.tasks} tasks; allowed: up to {MOST_TASKS}"):
        exact(one_f_one_b(large), "span", 1.0)
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    p = Pipeline.uniform(placement("linear", 3, 1), 4, (1, 2, 1, 0.5))
    with pytest.raises(PipelineError, match=r"needs OR-tools: pip install 'pcg\[exact\]'"):
        exact(gpipe(p), "span", 1.0)
