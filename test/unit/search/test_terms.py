"""Costs of redistributions as plans are measured with."""

from __future__ import annotations

import numpy as np
import pytest

from pcg.cost import CostModel, Timing
from pcg.layout import Mesh, ShardSpec
from pcg.machine import Machine
from pcg.search.graph import Edge
from pcg.search.table import Tables
from pcg.search.terms import ReshardCosts, cheapest


@pytest.mark.parametrize("shape", [(16, 8), (12, 5), (4, 6, 8)])
@pytest.mark.parametrize("into", [True, False])
def test_a_row_is_what_the_planner_says_pair_by_pair(shape: tuple[int, ...], into: bool) -> None:
    model = CostModel(Machine.default(), Mesh.parse("a=2,b=4"))
    costs = ReshardCosts(model)
    table = Tables.on(model.mesh).of_value(shape, "sum", ())
    edge = Edge(0, 0, 1, 0, shape, 4.0, 1.0, Timing.DEFERRED)
    dims = [(), *[()] * (len(shape) - 1)]
    for known in (ShardSpec(tuple(dims)), ShardSpec((("a",), *dims[1:]), (("b", "sum"),))):
        row = costs.row(known, table, edge, into)
        for got, other in zip(row, table.outs[0].specs, strict=True):
            pair = (known, other) if into else (other, known)
            assert got == pytest.approx(costs(*pair, shape, 4.0, Timing.DEFERRED)[0], rel=1e-12)


def test_of_sums_that_differ_by_rounding_the_first_is_the_cheapest() -> None:
    assert cheapest(np.array([0.5, 0.1 + 0.2, 0.3, np.inf])) == 1
    assert cheapest(np.array([0.5, 0.3001, 0.3])) == 2
    assert cheapest(np.array([np.inf, np.inf])) == 0
    assert cheapest(np.array([1.0, 0.0])) == 1
