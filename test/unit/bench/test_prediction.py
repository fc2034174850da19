"""Plans of a model are predicted, compiled and run as `bench/prediction.py` does it for all models."""

from __future__ import annotations

import math

from bench import prediction, prediction_plans
from pcg.machine import Cluster


def test_plans_are_predicted_and_run() -> None:
    plans = prediction_plans.PLANS[:2]
    model = prediction.planned("mlp", Cluster.detect(prediction.DEVICES), plans)
    model.measure(rounds=1)
    assert [r.plan for r in model.rows] == [p.name for p in plans]
    for row in model.rows:
        assert math.isfinite(row.predicted) and row.predicted > 0 and row.memory > 0 and row.memory_xla > 0
        assert [len(found) for found in row.passes] == [prediction.STEPS]
    text, _ = prediction.summary(model.rows)
    assert "2 plans of 1 models" in text and all(p.name in prediction.report(model.rows) for p in plans)
