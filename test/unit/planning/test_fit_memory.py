"""Of the plans that were tried within a memory limit, the one whose simulated step is shortest is taken."""

from __future__ import annotations

import pytest

from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.layout import Mesh
from pcg.machine import DeviceKind, Link, Machine
from pcg.passes.pcg_normalize import NormalizePass
from pcg.planning.evaluate import Context, evaluate, lowered, memory_of
from pcg.planning.fit_memory import _NOTHING, MemoryPlanner, PlannerCache
from pcg.planning.memory_plans import MemoryPlan
from pcg.planning.search import Search
from test.support.two_layers import STEP

MACHINE = Machine(DeviceKind("slow", {}, 1e8, 1e9, 1e12), Link(bandwidth=1e7, latency=1e-6))
MESH = Mesh.parse("a=2,b=2")


def fitted(limit: float) -> tuple[MemoryPlanner, MemoryPlan]:
    module = load_module(STEP.format(donated=""), make_context(), "test")
    NormalizePass().run(module.operation)
    with module.context:
        shardings.set_mesh(module.operation, MESH)
    cache = PlannerCache()
    Search(machine=MACHINE, memory_limit=limit, planner_cache=cache).run(module.operation)
    assert cache.planner is not None
    return cache.planner, cache.planner.run(limit)


@pytest.mark.parametrize("share", [0.45, 0.55, 0.65, 0.75, 0.85, 0.95])
def test_the_shortest_simulated_step_within_the_limit_is_taken(share: float) -> None:
    most = fitted(1e9)[1].peak
    planner, chosen = fitted(share * most)
    fitting = [c for c in planner.tried if c.peak <= share * most]
    assert chosen.peak <= share * most and chosen.simulated == min(c.simulated for c in fitting)
    # It is what lowering and simulating that plan gives.
    if not chosen.recomputes and chosen.microbatches == 1:
        context = Context(MACHINE)
        found = memory_of(lowered(chosen.sharded.placed, context), planner.model, context)
        assert (found.peak_bytes, found.seconds) == (chosen.peak, chosen.simulated)
        assert evaluate(chosen.sharded.module, context).seconds == chosen.simulated


def test_a_limit_below_every_plan_is_an_error() -> None:
    with pytest.raises(PcgError, match="no plan fits"):
        fitted(1e4)


def test_a_plan_that_nearly_fits_leads_to_one_that_does() -> None:
    """The search counts less memory for the one, the simulator for the other, which only the sweep finds."""
    planner, _ = fitted(1e9)
    planner.recompute = False
    frontier = planner.unsplit.frontier

    def least_simulated() -> float:
        return min(planner._at(planner.unsplit, p).peak(_NOTHING) for p in frontier.points)

    frontier.least()
    limit = least_simulated() / 1.05
    assert planner._can_be(planner.unsplit, limit) and least_simulated() <= limit
