"""The Unity paper's two-layer example: what the chosen plan communicates in total, over all devices."""

from __future__ import annotations

import jax
import pytest
from jax.sharding import PartitionSpec as P

import pcg
from examples import unity_mlp
from support.training import SLOW_DEVICES, assert_updates_close, traffic, train

#: Elements sent by both devices together: 2 (784 * 512 + 512 * 10) for data parallelism, the paper's plan 4 * 64 * 512.
DATA_PARALLEL, BOUND = 813_056, 131_072
DEVICES = 2


def total_elements(executable: object) -> float:
    """Elements that all devices together put on the wire."""
    return DEVICES * traffic(executable).wire_elements


def test_data_parallelism_communicates_what_the_paper_says() -> None:
    step, args = unity_mlp.shapes()
    by_batch = (P(), None, {"x": P("devices"), "labels": P("devices")})
    whole = (P(), None, P())
    compiled = pcg.compile(step, DEVICES, strategy="dataflow", in_shardings=by_batch, out_shardings=whole)
    assert total_elements(compiled.lower(*args)) == pytest.approx(DATA_PARALLEL, abs=64)


def test_chosen_plan_communicates_at_most_the_papers() -> None:
    step, args = unity_mlp.shapes()
    compiled = pcg.compile(step, DEVICES)
    lowered = compiled.lower(*args)
    assert total_elements(lowered) <= BOUND


def test_on_slow_devices_the_work_is_split_and_little_moves() -> None:
    """Where arithmetic is expensive, replication is out of the question; the chosen plan still keeps the bound."""
    step, args = unity_mlp.shapes()
    lowered = pcg.compile(step, DEVICES, machine=SLOW_DEVICES).lower(*args)
    assert 0 < total_elements(lowered) <= BOUND


def test_the_plan_that_splits_the_work_does_too() -> None:
    """Not by doing everything twice: no weight may be whole on a device."""
    step, args = unity_mlp.shapes()
    compiled = pcg.compile(step, DEVICES, in_shardings=({"first": P(None, "devices"), "second": None}, None, None))
    lowered = compiled.lower(*args)
    assert total_elements(lowered) <= BOUND
    _, values = unity_mlp.make()
    got, want = train(compiled, values, 5), train(jax.jit(step), values, 5)
    assert_updates_close(got[0], want[0], values[0], 1e-4)
