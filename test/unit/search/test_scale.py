"""Costs of any size: what is forbidden is told from what is expensive, and plans do not depend on the scale."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.loops import MOST_RUNS, assumed_iterations
from pcg.ir.parse import load_module
from pcg.ir.walk import walk
from pcg.layout import Mesh
from pcg.machine import DeviceKind, Link, Machine
from pcg.passes.pcg_normalize import NormalizePass
from pcg.passes.pcg_search import SearchPass
from pcg.simulate.run import simulate
from pcg.solve.ilp import solve
from pcg.solve.network import FORBIDDEN, Network
from pcg.solve.reduce import reduce

#: Arithmetic is slow and links are quick, so even small programs are worth splitting.
SLOW = Machine(DeviceKind("slow", {}, 1e8, 1e9, 1e12), Link(bandwidth=1e8, latency=1e-7))

_BODY = """
  %w1 = stablehlo.dot_general {x}, %a, contracting_dims = [1] x [0] : (tensor<512x16xf32>, tensor<16x16xf32>) -> tensor<512x16xf32>
  %w2 = stablehlo.tanh %w1 : tensor<512x16xf32>
"""


def loops(trips: list[int]) -> str:
    """A layer applied in nested loops of so many trips."""
    out = ["func.func @main(%x: tensor<512x16xf32>, %a: tensor<16x16xf32>) -> tensor<512x16xf32> {"]
    out += ["  %zero = stablehlo.constant dense<0> : tensor<i64>", "  %one = stablehlo.constant dense<1> : tensor<i64>"]
    types = "tensor<i64>, tensor<512x16xf32>"
    value = "%x"
    for d, n in enumerate(trips):
        out += [
            f"  %n{d} = stablehlo.constant dense<{n}> : tensor<i64>",
            f"  %l{d}:2 = stablehlo.while(%i{d} = %zero, %c{d} = {value}) : {types}",
            f"  cond {{ %p{d} = stablehlo.compare LT, %i{d}, %n{d} : (tensor<i64>, tensor<i64>) -> tensor<i1>",
            f"    stablehlo.return %p{d} : tensor<i1> }} do {{",
        ]
        value = f"%c{d}"
    out.append(_BODY.format(x=value))
    value = "%w2"
    for d in reversed(range(len(trips))):
        out += [
            f"  %j{d} = stablehlo.add %i{d}, %one : tensor<i64>",
            f"  stablehlo.return %j{d}, {value} : {types} }}",
        ]
        value = f"%l{d}#1"
    return "\n".join([*out, f"  return {value} : tensor<512x16xf32>", "}"])


def search(text: str, **options: object) -> tuple[ir.Module, SearchPass]:
    context = make_context()
    with context, ir.Location.unknown():
        module = load_module(text, context, "test")
        NormalizePass().run(module.operation)
        shardings.set_mesh(module, Mesh.of({"x": 2, "y": 2}))
        found = SearchPass(machine=SLOW, progress=False, **options)  # type: ignore[arg-type]
        found.run(module.operation)
    return module, found


def body_layouts(module: ir.Module) -> list[str]:
    return [
        f"{op.name} {[str(s) for s in shardings.result_specs(op)]}"
        for op in walk(module.operation)
        if op.name in ("stablehlo.dot_general", "stablehlo.tanh")
    ]


@pytest.mark.parametrize("trips", [[10**7, 10**7], [2] * 50, [2**62] * 20], ids=["10^14", "2^50", "2^1240"])
def test_the_plan_of_a_body_is_the_same_however_often_it_runs(trips):
    few, some = search(loops([100]))
    many, found = search(loops(trips))
    assert body_layouts(few) == body_layouts(many)
    assert found.outcome.classes and np.isfinite(found.outcome.seconds) and np.isfinite(found.outcome.bound)
    # Beside the body nothing weighs.
    runs = min(np.prod([float(n) for n in trips]) if sum(trips) < 2**60 else np.inf, float(MOST_RUNS))
    assert found.outcome.seconds == pytest.approx(runs / 100 * some.outcome.seconds, rel=0.5)
    said = [str(r) for r in found.remarks if "counted as so often" in str(r)]
    assert len(said) == (runs == MOST_RUNS)


@pytest.mark.parametrize("trips", [[10**7, 10**7], [2**62] * 20], ids=["10^14", "2^1240"])
def test_a_simulation_of_endless_loops_is_finite(trips):
    context = make_context()
    with context, ir.Location.unknown():
        module = load_module(loops(trips), context, "test")
    found = simulate(module, CostModel(SLOW, Mesh.of({"x": 4})))
    for number in (found.seconds, found.compute, found.exposed, found.flops):
        assert np.isfinite(number)
    assert found.seconds > 0


def test_trips_are_counted_up_to_a_limit_together():
    context = make_context()
    with context, ir.Location.unknown():
        module = load_module(loops([2**62, 5]), context, "test")
    outer, inner = (op for op in walk(module.operation) if op.name == "stablehlo.while")
    assert (assumed_iterations(outer), assumed_iterations(inner)) == (MOST_RUNS, 5)
    assert assumed_iterations(inner, MOST_RUNS // 2) == 2
    assert assumed_iterations(inner, 10 * MOST_RUNS) == 1


# -- networks --------------------------------------------------------------------------------------


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Costs of about a microsecond; some choices and pairs are forbidden, some all that there are."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    network = Network()
    for _ in range(draw(st.integers(1, 6))):
        u = rng.random(rng.integers(1, 6)) * 1e-6
        network.add(np.where(rng.random(len(u)) < 0.1, FORBIDDEN, u))
    for i, j in itertools.combinations(range(len(network.unary)), 2):
        if rng.random() < 0.6:
            m = rng.random((len(network.unary[i]), len(network.unary[j]))) * 3e-6
            network.connect(i, j, np.where(rng.random(m.shape) < 0.15, FORBIDDEN, m))
    return network


def scaled(network: Network, factor: float) -> Network:
    out = Network()
    for u in network.unary:
        out.add(u * factor)
    for i, row in enumerate(network.pair):
        for j, m in row.items():
            if i < j:
                out.connect(i, j, m * factor)
    return out


@given(networks(), st.integers(-60, 120))
@settings(max_examples=60, deadline=None)
def test_costs_that_differ_by_a_power_of_two_have_the_same_solution(network, power):
    other = scaled(network, 2.0**power)
    found, same = solve(network), solve(other)
    assert found.x == same.x
    # What a forbidden choice counts as follows the costs that are allowed, if there are any.
    assert other.seconds(same.x) == network.seconds(found.x) * 2.0**power


@given(networks(), st.sampled_from([1e-6, 1e3, 1e7, 1e14, 1e30, 1e60]))
@settings(max_examples=60, deadline=None)
def test_solutions_are_the_best_at_any_scale(network, factor):
    other = scaled(network, factor)
    found = solve(other)
    everything = itertools.product(*(range(len(u)) for u in other.unary))
    best = min(map(other.seconds, everything))
    if np.isinf(best):
        assert np.isinf(other.seconds(found.x))
    else:
        assert other.seconds(found.x) == pytest.approx(best, rel=1e-3)
        assert found.bound <= best * (1 + 1e-9)


@given(networks(), st.floats(1e-3, 1e20))
@settings(max_examples=60, deadline=None)
def test_penalties_of_any_size_do_not_look_forbidden(network, size):
    rng = np.random.default_rng(0)
    extra = {i: rng.random(len(u)) * size for i, u in enumerate(network.unary)}
    everything = list(itertools.product(*(range(len(u)) for u in network.unary)))
    want = [network.seconds(x) + sum(extra[i][k] for i, k in enumerate(x)) for x in everything]
    penalised = network.penalised(extra)
    assert [penalised.seconds(x) for x in everything] == pytest.approx(want)
    core = reduce(penalised)
    assert core.core.unit == penalised.unit


def test_real_costs_beyond_any_sentinel_are_no_contradiction():
    network = Network()
    network.add(np.array([3e15, 2e15]))
    network.add(np.array([1e4, FORBIDDEN]))
    network.connect(0, 1, np.array([[0.0, 0.0], [FORBIDDEN, 0.0]]))
    found = solve(network)
    assert found.x == [0, 0] and network.seconds(found.x) == 3e15 + 1e4
    assert network.seconds([1, 0]) == network.seconds([0, 1]) == np.inf
