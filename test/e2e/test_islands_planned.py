"""The planned times of recorded runs, beside those that were measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np

import pcg


def test_a_recording_has_planned_times_of_every_run(tmp_path: Path) -> None:
    x = np.ones((32, 32), np.float32)
    with pcg.Controller(2, devices=jax.devices()[:4]) as controller:
        one, two = controller.client("one"), controller.client("two")
        slices = [c.request({"x": 1}, island=f"island{i}", shared=True) for i, c in enumerate((one, two))]
        square, product = (s.function(lambda x: x @ x / 32) for s in slices)
        across = one.program(lambda x: product(square(x)))

        def step() -> Any:
            return product(product(across(square(x))))

        step().block_until_ready()
        with controller.record() as recording:
            for _ in range(2):
                step().block_until_ready()
    runs = recording.runs.runs
    assert len(runs) == 2 * 5 and all(r.planned is not None for r in runs)  # `across` is on both islands
    for r in runs:
        assert r.planned is not None and r.submitted < r.planned[0] < r.planned[1]
    times = [[r.planned for r in runs if r.number == n] for n in sorted({r.number for r in runs})[:4]]
    for before, after in zip(times[:-1], times[1:], strict=True):  # each takes what the one before returned
        assert max(end for _, end in before) <= min(begin for begin, _ in after)  # type: ignore[misc, union-attr]
    inner = {r.island: r.planned for r in runs if r.number == min(q.number for q in runs) + 1}
    assert inner["island0"][1] < inner["island1"][0]  # type: ignore[index]  # what crosses takes time
    assert recording.runs.planned_seconds("island1") > 0
    recording.runs.write(tmp_path / "runs.json")
    events = json.loads((tmp_path / "runs.json").read_text())["traceEvents"]
    assert sum(e["ph"] == "X" for e in events) == 2 * len(runs)
    names = [e["args"]["name"] for e in events if e["name"] == "thread_name"]
    assert names.count("client one") == 2 and names.count("client one, planned") == 2
    recording.runs.write(tmp_path / "runs.html")
    page = (tmp_path / "runs.html").read_text()
    assert page.count("<title>") >= 2 * len(runs) and ">planned</text>" in page


def test_nodes_of_a_client_that_is_gone_have_no_plan() -> None:
    with pcg.Controller(1, devices=jax.devices()[:2]) as controller, controller.record() as recording:
        with controller.client() as client:
            client.request(1).function(lambda x: x + 1)(np.ones(2, np.float32)).block_until_ready()
    assert recording.runs.runs and all(r.planned is None for r in recording.runs.runs)
