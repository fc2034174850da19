"""Large neighbourhood search, for networks that are too large for an ILP."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pcg.solve import ilp, neighbourhoods
from pcg.solve.effort import DEFAULT, QUICK
from pcg.solve.ilp import first_guess, solve
from pcg.solve.network import FORBIDDEN, Network
from pcg.solve.trws import ascend

ROWS, COLUMNS, CHOICES = 3, 40, 6


def grid(seed: int) -> Network:
    """Three chains side by side; a twentieth of the pairs is forbidden.  Node `ROWS * column + row`."""
    rng = np.random.default_rng(seed)
    network = Network()
    for _ in range(ROWS * COLUMNS):
        network.add(rng.integers(0, 10, CHOICES) * 1e-6)
    for i in range(ROWS * COLUMNS):
        for j in ([i + 1] if (i + 1) % ROWS else []) + [i + ROWS]:
            if j < ROWS * COLUMNS:
                m = rng.integers(0, 20, (CHOICES, CHOICES)) * 1e-6
                m[rng.random(m.shape) < 0.05] = FORBIDDEN
                network.connect(i, j, m)
    network.settle()
    return network


def optimum(network: Network) -> float:
    """By dynamic programming over columns."""
    u, p = network.unary, network.pair
    best = np.zeros((CHOICES,) * ROWS)
    for start in range(0, ROWS * COLUMNS, ROWS):
        for row in range(ROWS):
            if start:
                m = p[start - ROWS + row][start + row]
                best = np.moveaxis((np.moveaxis(best, row, -1)[..., None] + m).min(axis=-2), -1, row)
        for row in range(ROWS):
            best = best + u[start + row].reshape([-1 if r == row else 1 for r in range(ROWS)])
            if row + 1 < ROWS:
                m = p[start + row][start + row + 1]
                best = best + m.reshape([CHOICES if r in (row, row + 1) else 1 for r in range(ROWS)])
    return float(best.min())


@pytest.mark.parametrize("seed", range(3))
def test_it_comes_near_the_optimum(seed, monkeypatch):
    """With tables of two nodes, so that others are conditioned on; the same input gives the same solution."""
    monkeypatch.setattr(neighbourhoods, "_TABLE", 6.0**3)
    network = grid(seed)
    found = ascend(network, first_guess(network), sweeps=5)
    better = neighbourhoods.search(network, found)
    assert better.cost < found.cost and better.bound == found.bound
    assert better.cost == pytest.approx(network.cost(better.x))
    assert optimum(network) - 1e-12 <= better.cost <= 1.02 * optimum(network)
    assert neighbourhoods.search(network, found).x == better.x


def test_a_large_network_is_solved_without_an_ilp(monkeypatch):
    network = grid(0)
    monkeypatch.setattr(ilp, "DEFAULT", replace(DEFAULT, small=100, large=100))
    solution = solve(network, effort=ilp.DEFAULT)
    assert solution.variables == 0
    assert solution.bound - 1e-12 <= optimum(network) <= solution.cost + 1e-12
    assert solution.cost == pytest.approx(network.cost(solution.x))
    assert solution.cost <= 1.01 * optimum(network)
    quick = solve(network, effort=QUICK)
    assert quick.variables == 0 and quick.cost <= 1.01 * optimum(network)


def test_a_brief_look_takes_one_round_and_is_not_worse(monkeypatch):
    network = grid(1)
    found = ascend(network, first_guess(network), sweeps=5)
    monkeypatch.setattr(neighbourhoods, "_TABLE", 6.0**3)
    orders = []
    order = neighbourhoods.elimination_order
    monkeypatch.setattr(neighbourhoods, "elimination_order", lambda *args: orders.append(args) or order(*args))
    better = neighbourhoods.search(network, found, brief=True)
    brief = len(orders)
    best = neighbourhoods.search(network, found)
    assert 1 <= brief <= 2 < len(orders) - brief
    assert best.cost <= better.cost < found.cost and better.bound == found.bound


@pytest.mark.parametrize(
    "options, first",
    [({}, 150), ({"effort": QUICK}, 150), ({"effort": replace(QUICK, brief=True)}, 40), ({"floor": 1e-9}, 40), ({"rough": 2.5e-3}, 40)],
)
def test_where_a_rough_bound_is_enough_few_sweeps_come_first(options, first, monkeypatch):
    monkeypatch.setattr(ilp, "DEFAULT", replace(DEFAULT, small=100, large=100))
    monkeypatch.setattr(ilp, "_CHEAP", 0.0)
    sweeps = []
    monkeypatch.setattr(ilp, "ascend", lambda *args, **more: sweeps.append(more["sweeps"]) or ascend(*args, **more))
    options = {"effort": ilp.DEFAULT, **options}
    found = ilp.searched(grid(0), **options).solution
    assert sweeps[0] == first
    assert found.cost <= 1.02 * optimum(grid(0))
