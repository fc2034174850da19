"""Plans from the fastest to the one that needs the least memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

import numpy as np
import pytest
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.walk import entry
from pcg.layout import Mesh
from pcg.machine import DeviceKind, Link, Machine
from pcg.passes.pcg_normalize import NormalizePass
from pcg.planning.fit_memory import microbatch_counts
from pcg.search.build import Builder
from pcg.search.built import Built
from pcg.search.frontier import Frontier, Point
from pcg.search.optimize import optimize
from pcg.search.outcome import DoesNotFit
from pcg.search.quotient import Quotient
from pcg.search.roles import state_of
from pcg.search.table import Tables
from pcg.solve.effort import DEFAULT, QUICK, Effort
from pcg.solve.network import Network
from pcg.solve.reduce import reduce
from test.support.two_layers import STEP

#: Arithmetic is slow and links are slower, so that what splits weights costs time.
SLOW = Machine(DeviceKind("slow", {}, 1e8, 1e9, 1e12), Link(bandwidth=1e7, latency=1e-6))


def graph_of(donated: str = "", text: str = STEP) -> tuple[ir.Module, Built, CostModel]:
    context = make_context()
    with context, ir.Location.unknown():
        module = load_module(text.format(donated=donated), context, "test")
        NormalizePass().run(module.operation)
        func = entry(module)
        assert func is not None
        model = CostModel(SLOW, Mesh.parse("a=2,b=2"))
        return module, Builder(model, Tables.on(model.mesh)).build(func, state_of(func)), model


def quotient_of() -> Quotient:
    _keep, built, model = graph_of()
    return built.quotient(model)


def frontier_of() -> Frontier:
    quotient = quotient_of()
    return Frontier.of(quotient, optimize(quotient, effort=QUICK))


def test_less_memory_takes_more_time() -> None:
    frontier = frontier_of()
    least = frontier.least()
    assert frontier.floor() <= least.peak < frontier.fastest.peak
    before = frontier.fastest
    for share in (1.0, 0.8, 0.6, 0.4, 0.2, 0.0):
        limit = least.peak + share * (frontier.fastest.peak - least.peak)
        found = frontier.fit(limit)
        assert found is not None and found.peak <= limit
        assert found.seconds >= before.seconds
        before = found
    assert frontier.fit(least.peak * 0.99) is None


def test_the_least_is_that_of_all_plans() -> None:
    """A program small enough to try every plan of its classes."""
    frontier = frontier_of()
    q = frontier.quotient
    assert math.prod(len(t) for t in q.tables.values()) > 1e6  # too many to be met by chance
    least = frontier.least().peak
    rng = np.random.default_rng(0)
    best = min(
        q.peak(list(x)) for x in zip(*(rng.integers(0, len(q.tables[c]), 3000) for c in range(q.classes)), strict=True)
    )
    assert least <= best
    assert [p.peak for p in frontier.low(3)][0] == least
    assert all(p.peak <= 1.1 * least for p in frontier.low(3))


class Kept:
    """Decisions for themselves, in place of a quotient: a value is kept, or computed for as much per byte as any."""

    def __init__(self, sizes: list[int]) -> None:
        self.sizes, self.arguments = sizes, ()
        self.lifetimes = SimpleNamespace(constants=0.0, values=())

    def network(self) -> Network:
        network = Network()
        for size in self.sizes:
            network.add(np.array([1.0, 1.0 + size]))
        network.settle()
        return network

    def peak(self, x: Sequence[int]) -> float:
        return float(sum(size for size, k in zip(self.sizes, x, strict=True) if k == 0))

    def alive(self, x: Sequence[int]) -> dict[tuple[int, int], float]:
        return {(n, 0): float(size) for n, size in enumerate(self.sizes)}

    def local_bytes(self, weights: Mapping[tuple[int, int], float], rate: float) -> dict[int, np.ndarray]:
        return {n: np.array([rate * size, 0.0]) for (n, _), size in weights.items()}


def test_the_limit_is_used_where_no_cost_of_memory_gives_a_plan_in_between() -> None:
    sizes = [5, 8, 13, 7, 9, 6]
    frontier = Frontier(Kept(sizes), Point((0,) * 6, 6.0, float(sum(sizes))))  # type: ignore[arg-type]
    for limit in range(8, sum(sizes)):
        found = frontier.fit(limit)
        assert found is not None and found.peak <= limit
        assert found.seconds == 6 + sum(sizes) - found.peak
        # What is left over is too little for any value that is not kept.
        assert all(found.peak + size > limit for size, k in zip(sizes, found.choice, strict=True) if k)


LOOP = """
func.func @main(%w: tensor<64x64xf32>{donated}, %x: tensor<256x64xf32>) -> (tensor<64x64xf32>, tensor<256x64xf32>) {{
  %z = stablehlo.constant dense<0> : tensor<i32>
  %l:3 = stablehlo.while(%i = %z, %a = %x, %v = %w) : tensor<i32>, tensor<256x64xf32>, tensor<64x64xf32>
    cond {{
      %n = stablehlo.constant dense<4> : tensor<i32>
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }} do {{
      %d = stablehlo.dot_general %a, %v, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %d, %v : tensor<i32>, tensor<256x64xf32>, tensor<64x64xf32>
    }}
  %s = stablehlo.tanh %w : tensor<64x64xf32>
  return %s, %l#1 : tensor<64x64xf32>, tensor<256x64xf32>
}}
"""


@pytest.mark.parametrize("donated", ["", " {tf.aliasing_output = 0 : i32}"])
def test_what_a_loop_hands_on_counts_once(donated: str) -> None:
    _keep, built, _ = graph_of(donated, LOOP)
    weight = built.arguments[0]
    spans = sorted((first, last) for n, _, _, first, last in built.live_ranges if n == weight)
    (carry,) = [
        (n, first, last)
        for n, _, size, first, last in built.live_ranges
        if built.graph.nodes[n].kind == "carry" and size == 4 * 64 * 64
    ]
    assert len(spans) == 2 and spans[0][1] < carry[1] <= carry[2] < spans[1][0]


@pytest.mark.parametrize("share", [0.95, 0.9, 0.87])
def test_no_worse_than_a_full_search_for_that_limit_alone(share: float) -> None:
    limit = share * frontier_of().fastest.peak
    found = frontier_of().fit(limit)
    assert found is not None
    assert found.seconds <= optimize(quotient_of(), limit=limit).seconds * (1 + 1e-9)


@pytest.mark.parametrize("share", [1.0, 0.9, 0.87])
def test_a_known_plan_is_fitted_as_one_that_is_found(share: float) -> None:
    limit = share * frontier_of().fastest.peak
    found = optimize(quotient_of(), limit=limit, effort=QUICK)
    again = optimize(quotient_of(), limit=limit, effort=QUICK, fastest=optimize(quotient_of(), effort=QUICK))
    assert (again.choice, again.seconds, again.bound) == (found.choice, found.seconds, found.bound)


def test_steps_with_a_cost_of_memory_solve_what_they_share_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is simplified but for some classes gives the plans that simplifying all of it does."""
    alone, shared = frontier_of(), frontier_of()
    monkeypatch.setattr(alone, "_without_others", lambda _: reduce(shared_network, range(len(shared_network.unary))))
    shared_network = alone.quotient.network()
    for share in (0.95, 0.9, 0.87):
        limit = share * alone.fastest.peak
        alone.network = alone.network or shared_network
        one, other = alone.fit(limit), shared.fit(limit)
        assert one is not None and other is not None
        assert other.seconds == pytest.approx(one.seconds, rel=1e-9)


@pytest.mark.parametrize("effort", [QUICK, DEFAULT])
def test_less_than_the_least_does_not_fit(effort: Effort) -> None:
    least = frontier_of().least().peak
    with pytest.raises(DoesNotFit) as error:
        optimize(quotient_of(), limit=0.99 * least, effort=effort)
    assert error.value.needed == pytest.approx(least)


def test_donated_arguments_are_free_once_they_are_read() -> None:
    kept, given = (graph_of(text)[1] for text in ("", " {tf.aliasing_output = 0 : i32}"))
    node = kept.arguments[0]

    def last(built: Built) -> int:
        return next(end for n, _, _, _, end in built.live_ranges if n == node)

    assert last(given) < last(kept)


@pytest.mark.parametrize(
    ("batch", "counts"), [(1, [1]), (7, [1, 7]), (48, [1, 2, 4, 8, 16, 48]), (192, [1, 2, 4, 8, 16, 32, 64])]
)
def test_microbatches_divide_the_batch(batch: int, counts: list[int]) -> None:
    assert microbatch_counts(batch) == counts


TWINS = """
func.func @main(%x: tensor<256x64xf32>, %v: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> (tensor<256x64xf32>, tensor<256x64xf32>) {{
  %a = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %b = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  return %a, %b : tensor<256x64xf32>, tensor<256x64xf32>
}}
"""


def test_nodes_that_are_equivalent_are_one_decision_at_the_same_cost() -> None:
    _keep, built, model = graph_of(text=TWINS)
    quotient = built.quotient(model)
    discrete = quotient.discrete()
    assert quotient.classes < discrete.classes == len(quotient.graph.nodes)
    chosen = optimize(quotient)
    x = quotient.per_class(chosen.choice)
    assert quotient.per_node(x) == chosen.choice == discrete.per_class(chosen.choice)
    assert quotient.network().cost(x) == pytest.approx(discrete.network().cost(chosen.choice))
    assert quotient.peak(x) == discrete.peak(chosen.choice) > 0


def test_the_least_is_looked_for_although_the_first_answers_need_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """They make small what is alive at one peak, and other values large; each answer joins what is to be small."""
    _keep, built, model = graph_of()
    quotient = built.quotient(model)
    outcome = optimize(quotient, effort=DEFAULT)
    frontier = Frontier.of(quotient, outcome)
    start = frontier.fastest
    needs = iter([4.0, 3.0, 2.0, 0.5, 0.5, 0.5])
    monkeypatch.setattr(frontier, "_best_at", lambda *_: Point(start.choice, start.seconds, next(needs) * start.peak))
    assert frontier.least().peak == 0.5 * start.peak
    assert next(needs, None) is None  # it ends when two answers need no less


def test_plans_with_little_memory_are_unlike_each_other() -> None:
    frontier = frontier_of()
    least = frontier.least()
    almost = Point((*least.choice[:-1], -1), least.seconds * 1.001, least.peak * 1.001)
    other = Point((*least.choice[:-1], -2), least.seconds * 0.9, least.peak * 1.001)
    frontier.points += [almost, other]
    found = frontier.low(10)
    assert found[0].peak == least.peak and almost not in found and other in found


def test_changes_make_a_plan_faster_one_after_the_other() -> None:
    frontier = frontier_of()
    least = frontier.least()
    taken = frontier.steps(least, frontier.changes(least))
    assert taken
    before = least
    for change, point in taken:
        assert point.seconds < before.seconds
        assert {n for n, (a, b) in enumerate(zip(before.choice, point.choice, strict=True)) if a != b} <= dict(change).keys()
        assert point.peak == frontier.quotient.peak(list(point.choice))
        before = point
    assert frontier.changes(frontier.fastest) == []


def test_faster_plans_come_slowest_first() -> None:
    frontier = frontier_of()
    least = frontier.least()
    frontier.points.append(Point(least.choice, least.seconds * (1 - 1e-9), least.peak))
    found = frontier.faster(least)
    seconds = [p.seconds for p in found]
    assert seconds == sorted(seconds, reverse=True) and found[-1].seconds == frontier.fastest.seconds
    assert all(a > b * (1 + 1e-7) for a, b in zip([least.seconds, *seconds], seconds, strict=False))
