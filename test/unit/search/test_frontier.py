"""Plans from the fastest to the one that needs the least memory."""

from __future__ import annotations

import pytest
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.walk import entry
from pcg.layout import Mesh
from pcg.machine import DeviceKind, Link, Machine
from pcg.passes.normalize import NormalizePass
from pcg.search.build import Builder, Built
from pcg.search.frontier import Frontier
from pcg.search.memory import Lifetimes
from pcg.search.optimize import DoesNotFit, Optimizer
from pcg.search.roles import data_of, state_of
from pcg.search.table import Tables

#: Arithmetic is slow and links are slower, so that what splits weights costs time.
SLOW = Machine(DeviceKind("slow", {}, 1e8, 1e9, 1e12), Link(bandwidth=1e7, latency=1e-6))

STEP = """
func.func @main(%w1: tensor<64x256xf32>{donated}, %w2: tensor<256x64xf32>, %x: tensor<256x64xf32>) -> (tensor<64x256xf32>, tensor<256x64xf32>) {{
  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x256xf32>) -> tensor<256x256xf32>
  %1 = stablehlo.tanh %0 : tensor<256x256xf32>
  %2 = stablehlo.dot_general %1, %w2, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %3 = stablehlo.dot_general %1, %2, contracting_dims = [0] x [0] : (tensor<256x256xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %4 = stablehlo.dot_general %2, %w2, contracting_dims = [1] x [1] : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<256x256xf32>
  %5 = stablehlo.dot_general %x, %4, contracting_dims = [0] x [0] : (tensor<256x64xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
  %6 = stablehlo.subtract %w1, %5 : tensor<64x256xf32>
  %7 = stablehlo.subtract %w2, %3 : tensor<256x64xf32>
  return %6, %7 : tensor<64x256xf32>, tensor<256x64xf32>
}}
"""


def graph_of(donated: str = "") -> tuple[ir.Module, Built, CostModel]:
    context = make_context()
    with context, ir.Location.unknown():
        module = load_module(STEP.format(donated=donated), context, "test")
        NormalizePass().run(module.operation)
        func = entry(module)
        assert func is not None
        model = CostModel(SLOW, Mesh.parse("a=2,b=2"))
        return module, Builder(model, Tables.on(model.mesh)).build(func, state_of(func)), model


def optimizer_of(limit: float | None = None, quick: bool = True) -> Optimizer:
    module, built, model = graph_of()
    func = entry(module)
    assert func is not None
    data = [built.arguments[i] for i in data_of(func, state_of(func))]
    return Optimizer(built.graph, model, Lifetimes(built.births), built.arguments, data, limit, quick=quick)


def frontier_of() -> Frontier:
    optimizer = optimizer_of()
    outcome = optimizer.run()
    return Frontier.of(optimizer, outcome.choice, outcome.seconds, outcome.peak_bytes)


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


@pytest.mark.parametrize("share", [0.95, 0.9, 0.84])
def test_no_worse_than_a_full_search_for_that_limit_alone(share: float) -> None:
    limit = share * frontier_of().fastest.peak
    found = frontier_of().fit(limit)
    assert found is not None
    assert found.seconds <= optimizer_of(limit, quick=False).run().seconds * (1 + 1e-9)


@pytest.mark.parametrize("quick", [True, False])
def test_less_than_the_least_does_not_fit(quick: bool) -> None:
    least = frontier_of().least().peak
    with pytest.raises(DoesNotFit) as error:
        optimizer_of(0.99 * least, quick).run()
    assert error.value.needed == pytest.approx(least)


def test_donated_arguments_are_free_once_they_are_read() -> None:
    kept, given = (graph_of(text)[1] for text in ("", " {tf.aliasing_output = 0 : i32}"))
    node = kept.arguments[0]

    def last(built: Built) -> int:
        return next(end for n, _, _, _, end in built.births if n == node)

    assert last(given) < last(kept)
