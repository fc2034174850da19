"""Searches that are ended early return the best that they have found."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from pcg.solve import ilp
from pcg.solve.ilp import solve
from pcg.solve.mip import Rows
from pcg.solve.network import Network
from pcg.solve.stop import Stop


def dense(count: int, choices: int = 4) -> Network:
    """Everything with everything: nothing is eliminated, and the bound does not meet the optimum."""
    rng = np.random.default_rng(0)
    network = Network()
    for u in rng.random((count, choices)):
        network.add(u)
    for i in range(count):
        for j in range(i):
            network.connect(i, j, rng.random((choices, choices)))
    return network


class After(Stop):
    """Ends a search when it has asked so many times."""

    def __init__(self, times: int) -> None:
        super().__init__(by_hand=False)
        self.asked, self.times = 0, times

    def __call__(self) -> bool:
        self.asked += 1
        return self.asked > self.times


@pytest.mark.usefixtures("in_the_foreground")
def test_the_first_ctrl_c_ends_the_search_the_second_the_program() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Stop() as stop:
        assert not stop()
        os.kill(os.getpid(), signal.SIGINT)
        assert stop() and stop.why == "Ctrl-C"
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
    assert signal.getsignal(signal.SIGINT) is before
    with Stop(), pytest.raises(ZeroDivisionError):
        1 / 0  # noqa: B018
    assert signal.getsignal(signal.SIGINT) is before


def test_who_ignores_ctrl_c_goes_on_to_do_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Stop() as stop:
            os.kill(os.getpid(), signal.SIGINT)
            assert not stop()
    finally:
        signal.signal(signal.SIGINT, before)


def test_after_its_time() -> None:
    assert not Stop(3600.0)()
    stop = Stop(0.0)
    assert stop() and stop.why == "the time limit"


def test_not_by_hand_in_another_thread() -> None:
    found = []

    def run() -> None:
        with Stop() as stop:
            found.append(stop())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [False]


@pytest.mark.parametrize("after", [0, 1, 2, 5])
def test_a_search_that_is_ended_returns_the_best_so_far(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ilp, "exact_order", lambda *_: None)  # so that there is an ILP
    network, stop = dense(7), After(after)
    whole = solve(network)
    start = [0] * len(network.unary)
    part = solve(network, [start], stop=stop)
    assert stop.asked > after
    assert part.bound <= whole.cost + 1e-12 and part.cost <= network.cost(start)
    assert part.cost == pytest.approx(network.cost(part.x)) and part.cost >= whole.cost * (1 - 1e-3)
    assert whole.variables > 0


def test_an_integer_program_is_ended_too() -> None:
    rng = np.random.default_rng(1)
    rows, count = Rows(), 60
    weights = rng.integers(1000, 2000, (6, count))
    for w in weights:
        rows.add(dict(enumerate(w.astype(float))), float(w.sum() // 2), float(w.sum() // 2))
    stop = After(3)
    cost = rng.random(count)
    found = rows.minimise(cost, np.zeros(count), np.ones(count), count, gap=0.0, nodes=10_000_000, stop=stop)
    assert stop.asked > 3
    assert found.values is None or found.bound <= cost @ found.values + 1e-6
