"""Schedules that are found: valid, within their limits, never below the bounds, as good as the published ones."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcg.pipeline.automatic import OBJECTIVES, automatic
from pcg.pipeline.bounds import bounds
from pcg.pipeline.errors import PipelineError
from pcg.pipeline.named import NAMED, named
from pcg.pipeline.placement import FORMS, placement
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.schedule import Schedule

TIMES = st.sampled_from([0.5, 1.0, 2.0, 3.25])


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    form = draw(st.sampled_from(FORMS))
    devices, chunks = draw(st.integers(1, 4)), 1 if form == "linear" else draw(st.integers(2, 3))
    device = placement(form, devices, chunks)

    def times(least: float = 0.5) -> tuple[float, ...]:
        return tuple(max(draw(TIMES), least) for _ in device)

    activation = times()
    residual = tuple(a * draw(st.sampled_from([0.0, 0.5, 1.0])) for a in activation)
    p = Pipeline(
        device,
        draw(st.integers(1, 6)),
        times(),
        times(),
        times(),
        draw(st.sampled_from([0.0, 0.3])),
        activation,
        residual,
    )
    factor = draw(st.sampled_from([1.0, 1.5, 2.5, math.inf]))
    return p.with_limit([least * factor for least in p.least_memory])


@settings(max_examples=12, deadline=None)
@given(pipelines(), st.sampled_from(OBJECTIVES))
def test_any_pipeline(p: Pipeline, objective: str) -> None:
    s = automatic(p, objective, "quick")  # Schedule checks that it is one
    assert s.exceeded() is None
    least = bounds(p)
    assert least.span <= s.span * (1 + 1e-9) and least.makespan <= s.makespan * (1 + 1e-9)
    assert Schedule.parse(p, [s.text(d) for d in range(p.devices)]).order == s.order
    assert named(p, "auto", objective, "quick").objective(objective) <= s.objective(objective)


@settings(max_examples=40, deadline=None)
@given(pipelines())
def test_bounds_are_below_named_schedules(p: Pipeline) -> None:
    least = bounds(p)
    for name, (form, _) in NAMED.items():
        if form == "v":
            continue
        try:
            s = named(p, name)
        except PipelineError:
            continue
        assert least.span <= s.span * (1 + 1e-9) and least.makespan <= s.makespan * (1 + 1e-9)


def test_it_is_the_same_every_time() -> None:
    p = Pipeline.uniform(placement("v", 4, 2), 9, (10, 12, 8, 1), limit=3.5)
    assert automatic(p, "makespan", "quick").order == automatic(p, "makespan", "quick").order


REFERENCES = json.loads((Path(__file__).parent / "references.json").read_text())


def _as_short(case: list) -> None:
    objective, p, m, costs, limit, optimum = case
    *times, residual = REFERENCES["costs"][costs]
    pipeline = Pipeline.uniform(placement("linear", p, 1), m, times, (1.0, residual), limit or math.inf)
    assert automatic(pipeline, objective).objective(objective) == pytest.approx(optimum, rel=1e-3)
    assert bounds(pipeline).objective(objective) <= optimum * (1 + 1e-3)


@pytest.mark.parametrize("case", REFERENCES["optima"][::12], ids=lambda c: "-".join(map(str, c[:5])))
def test_as_short_as_optima(case: list) -> None:
    """Of linear placements, proved by a constraint solver with times to a thousandth."""
    _as_short(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", REFERENCES["optima"], ids=lambda c: "-".join(map(str, c[:5])))
def test_as_short_as_all_optima(case: list) -> None:
    _as_short(case)


def _never_longer(cases: list) -> None:
    longer = []
    for p, m, costs, form, chunks, memory, *best in cases:
        *times, residual = REFERENCES["costs"][costs]
        device = placement(form, p, chunks)
        pipeline = Pipeline.uniform(device, m, times, (1.0, residual), memory * (1 + 1e-5))
        for objective, reference in zip(OBJECTIVES, best, strict=True):
            found = named(pipeline, "auto", objective).objective(objective)
            if found > reference * (1 + 1e-6):
                longer.append((p, m, costs, form, chunks, memory, objective, found, reference))
    assert not longer


def test_as_short_as_published_schedules() -> None:
    """With the same placement and memory."""
    _never_longer(REFERENCES["grid"][5::240])


@pytest.mark.parametrize("devices", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_as_short_as_published_v_schedules(devices: int) -> None:
    """With all sorts of limits."""
    _never_longer([case for case in REFERENCES["grid"] if case[3] == "v" and case[0] == devices][7::80])


@pytest.mark.slow
def test_as_short_as_published_v_schedules_of_16_devices() -> None:
    """V-Min, V-Half and ZB-V as their authors' code makes them."""
    _never_longer(REFERENCES["v_16"][3::20])


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_as_short_as_more_published_schedules(part: int) -> None:
    _never_longer(REFERENCES["grid"][6 * part :: 48])


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(46))
def test_as_short_as_all_published_schedules(part: int) -> None:
    _never_longer(REFERENCES["grid"][part::46])


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(8))
def test_as_short_as_all_published_v_schedules_of_16_devices(part: int) -> None:
    _never_longer(REFERENCES["v_16"][part::8])
