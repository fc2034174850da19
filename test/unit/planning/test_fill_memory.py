"""What a plan leaves of a memory limit makes it faster."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from pcg.planning.fill_memory import SIMULATIONS, fill
from pcg.planning.memory_plans import MemoryPlan
from pcg.search.frontier import Point


@dataclass
class Values:
    """In place of a frontier: values that are kept (choice 1), or recomputed (0) in a second for each."""

    sizes: tuple[float, ...]
    found: list[Point] = field(default_factory=list)

    def point(self, *choice: int) -> Point:
        return Point(choice, 10.0 + sum(1 - k for k in choice), sum(n * k for n, k in zip(self.sizes, choice, strict=True)))

    def faster(self, point: Point) -> list[Point]:
        return sorted((p for p in self.found if p.seconds < point.seconds), key=lambda p: -p.seconds)

    def changes(self, point: Point) -> list[tuple[tuple[int, int]]]:
        return [((n, 1),) for n, k in enumerate(point.choice) if not k]

    def steps(
        self, point: Point, changes: list[tuple[tuple[int, int]]]
    ) -> list[tuple[tuple[tuple[int, int]], Point]]:
        taken, choice = [], list(point.choice)
        for change in changes:
            choice[change[0][0]] = 1
            taken.append((change, self.point(*choice)))
        return taken


@dataclass
class Simulator:
    values: Values
    seen: list[Point] = field(default_factory=list)
    slow: int | None = None
    """A value that takes longer where it is kept."""

    def plan(self, point: Point) -> MemoryPlan:
        sharded = SimpleNamespace(point=point, variant=SimpleNamespace(frontier=self.values))
        more = 0.0 if self.slow is None else 5.0 * point.choice[self.slow]
        return MemoryPlan(sharded, point.seconds, point.peak, point.seconds + more)  # type: ignore[arg-type]

    def __call__(self, point: Point) -> MemoryPlan:
        self.seen.append(point)
        return self.plan(point)


def filled(values: Values, start: Point, limit: float, slow: int | None = None) -> tuple[MemoryPlan, Simulator]:
    simulator = Simulator(values, slow=slow)
    return fill(simulator.plan(start), limit, simulator), simulator


def test_as_many_changes_stay_as_the_limit_has_room_for() -> None:
    values = Values((1.0, 2.0, 3.0, 4.0))
    best, _ = filled(values, values.point(0, 0, 0, 0), 6.0)
    assert best.sharded.point.choice == (1, 1, 1, 0)


def test_what_does_not_fit_is_left_out() -> None:
    values = Values((1.0, 20.0, 1.0))
    best, _ = filled(values, values.point(0, 0, 0), 2.0)
    assert best.sharded.point.choice == (1, 0, 1)


def test_what_takes_longer_by_simulation_is_left_out() -> None:
    values = Values((1.0, 1.0, 1.0))
    best, _ = filled(values, values.point(0, 0, 0), 10.0, slow=1)
    assert best.sharded.point.choice == (1, 0, 1)


def test_it_goes_on_from_a_faster_plan_that_is_known() -> None:
    values = Values((1.0, 2.0, 3.0))
    values.found = [values.point(0, 0, 1), values.point(1, 1, 1)]
    best, simulator = filled(values, values.point(0, 0, 0), 4.0)
    assert best.sharded.point.choice == (1, 0, 1)
    assert simulator.seen[0] == values.point(1, 1, 1)


@pytest.mark.parametrize("limit", [0.0, 7.0, 1e3])
def test_simulations_are_few(limit: float) -> None:
    values = Values(tuple(float(n) for n in range(1, 200)))
    best, simulator = filled(values, values.point(*[0] * 199), limit)
    assert len(simulator.seen) <= SIMULATIONS
    assert best.peak <= limit
