"""Programs on machines that are not there: sizes and messages do not depend on them, and time passes as dispatch says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pcg
from bench.islands_scale import measured
from pcg.controller.faults import RunError
from pcg.runtime.islands.simulated import SimulatedBackend, devices


def test_programs_and_messages_are_the_same_on_more_hosts() -> None:
    small, large = (measured(hosts, 4, 3, "parallel") for hosts in (4, 256))
    for key in ("instructions", "messages", "transfers"):
        assert small[key] == large[key]
    assert small["messages"] == 4 and small["transfers"] == 2 * 3 * 3  # forward and backward, three borders, microbatches
    assert large["kept_mib"] < 1.5 * small["kept_mib"]


def chain(backend: SimulatedBackend, stages: int, runs: int) -> float:
    """Simulated seconds of programs of one node on each of several islands."""
    islands = {f"i{n}": devices(4) for n in range(stages)}
    with pcg.Controller(islands, backend=backend) as controller:
        client = controller.client()
        own = [client.request({"x": 4}, island=name).function(lambda x: x + 1, strategy="data") for name in islands]

        @client.program
        def through(x: Any) -> Any:
            for run in own:
                x = run(x)
            return x

        for _ in range(runs):
            out = through(np.zeros(8, np.float32))
            out.block_until_ready()
        with pytest.raises(RunError, match="a simulated program computes no values"):
            np.asarray(out)
        return backend.now


@pytest.mark.parametrize("stages", [1, 4, 16])
def test_islands_prepare_at_once_or_one_after_another(stages: int) -> None:
    """Pathways' figure 7: hosts work for 1 ms for each node."""
    times = {
        name: chain(SimulatedBackend(host_work=1e-3, message=1e-5, dispatch=name), stages, 5)
        for name in ("parallel", "sequential")
    }
    assert times["sequential"] == pytest.approx(5 * stages * 1e-3, rel=0.1)
    ratio = times["sequential"] / times["parallel"]
    assert ratio == pytest.approx(1) if stages == 1 else ratio > 0.6 * stages


def test_another_way_to_dispatch() -> None:
    with pytest.raises(ValueError, match="dispatch 'random'; allowed: parallel, sequential"):
        SimulatedBackend(dispatch="random")
