"""Chains of units as stages on groups of devices."""

from __future__ import annotations

import pytest

from pcg.pipeline.errors import PipelineError
from pcg.pipeline.named import named
from pcg.pipeline.placement import placement
from pcg.pipeline.units import Chain, Transfer, Unit, divide

LAYER = Unit(1.0, 2.0, 1.0, 10.0, 4.0, 100.0, 8.0, once=1.0, repeat=8)


def _chain(*units: Unit, microbatches: int = 8, workspace: float = 0.0) -> Chain:
    return Chain(units, microbatches, workspace)


def test_equal_stages() -> None:
    divided = divide([_chain(LAYER)] * 4, placement("linear", 4, 1), Transfer(0.5, 0.25))
    p = divided.problem
    assert (p.forward, p.backward, p.weight) == ((2.0,) * 4, (4.0,) * 4, (2.0,) * 4)
    assert (p.activation, p.residual) == ((20.0,) * 4, (8.0,) * 4)
    assert p.transfer == 0.5 + 8.0 * 0.25
    assert divided.fixed == (200.0,) * 4
    assert divided.once == pytest.approx(2.0)
    # 1F1B: m(F+B+W) and its bubble, (p-1)(F+B+W) + (2(p-1)m/p + 2(p-2))c
    assert named(p, "1f1b").makespan == pytest.approx((8 + 3) * 8.0 + (2 * 3 * 8 / 4 + 2 * 2) * 2.5)


def test_w_as_a_part_of_b() -> None:
    """Then nothing remains for W but in the workspace of the program."""
    p = divide([_chain(LAYER, workspace=3.0)] * 2, placement("linear", 2, 1), Transfer(0, 0), split=False)
    assert (p.problem.backward, p.problem.weight) == ((12.0, 12.0), (0.0, 0.0))
    assert (p.problem.activation, p.problem.residual) == ((40.0, 40.0), (0.0, 0.0))
    assert p.fixed == (400.0 + 3.0 + 16.0,) * 2


def test_what_w_needs_may_be_more_than_what_b_needs() -> None:
    """A rematerialised layer keeps its input until B, which computes what W reads."""
    layer = Unit(1.0, 2.0, 1.0, 1.0, 6.0, 0.0, 1.0, repeat=2)
    assert divide([_chain(layer)] * 2, (0, 1), Transfer(0, 0)).problem.activation == (6.0, 6.0)
    assert divide([_chain(layer)] * 2, (0, 1), Transfer(0, 0), split=False).problem.activation == (1.0, 1.0)


def test_the_head_counts_for_the_balance() -> None:
    head = Unit(3.0, 6.0, 3.0, 10.0, 4.0, 100.0, 0.0)
    divided = divide([_chain(LAYER, head)] * 2, placement("linear", 2, 1), Transfer(0, 0))
    assert max(divided.problem.work) == 8 * 24.0  # of 44, and layers of 4
    assert sum(divided.problem.forward) == 11.0 and sum(divided.fixed) == 900.0


def test_the_group_with_most_to_update_is_the_last() -> None:
    """What a step takes once is that of the group that needs most: five layers here, or three and the head."""
    head = Unit(3.0, 6.0, 3.0, 10.0, 4.0, 100.0, 0.0, once=7.0)
    divided = divide([_chain(LAYER, head)] * 2, placement("linear", 2, 1), Transfer(0, 0), slack=0.0)
    assert divided.problem.forward == (5.0, 6.0) and divided.once == 3.0 + 7.0
    assert _chain(LAYER, head).spread(4, 16).units[1].once == 7.0 / 4


def test_stages_of_a_group_add_up() -> None:
    divided = divide([_chain(LAYER)] * 2, placement("v", 2, 2), Transfer(0, 0))
    assert divided.fixed == (400.0, 400.0)
    assert divided.problem.device == (0, 1, 1, 0)


def test_too_few_units() -> None:
    with pytest.raises(PipelineError, match="16 stages for 8 ops"):
        divide([_chain(LAYER)] * 16, tuple(range(16)), Transfer(0, 0))
