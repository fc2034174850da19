"""What is noted of dispatches, and which runs waited for the thread."""

from __future__ import annotations

import time

import jax.numpy as jnp

from pcg.pipeline.instructions import Free, Run
from pcg.runtime.dispatch import Dispatch, Watch, waiting_on_host


def _run(device: int, end: float, done: float | None) -> Dispatch:
    return Dispatch(device, Run("f", 0), end - 0.5, end, done)


def test_a_run_that_comes_when_its_device_has_done_everything_waited() -> None:
    found = [
        _run(0, 1.0, 10.0), _run(1, 2.0, 4.0),
        _run(0, 3.0, 20.0),  # in the queue long before 10
        _run(1, 6.0, 9.0),  # two after 4
        Dispatch(1, Free("x", None), 7.0, 30.0),  # no run
        _run(1, 8.0, None), _run(1, 8.5, 12.0),  # both before 9
        _run(1, 12.5, 13.0),
    ]  # fmt: skip
    assert [(d.device, d.end, waited) for d, waited in waiting_on_host(found)] == [(1, 6.0, 2.0), (1, 12.5, 0.5)]


def test_the_first_run_of_a_device_waits_for_nothing_before_it() -> None:
    assert waiting_on_host([_run(0, 5.0, 6.0), _run(1, 50.0, 60.0)]) == []


def test_what_is_noted() -> None:
    watch = Watch(2)
    for device, what in ((0, Run("f", 0, writes=(0,))), (1, Free("x", None)), (1, Run("g", 0, accumulates=(0,)))):
        start = time.perf_counter()
        watch.note(device, what, start, [jnp.ones(3)])
    first, second, third = watch.result()
    assert first.done is not None and first.done >= first.end >= first.start
    assert second.done is None and third.done is None  # a sum may be gone by then
    assert [d.device for d in (first, second, third)] == [0, 1, 1]
