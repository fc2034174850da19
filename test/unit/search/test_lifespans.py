"""When the search takes values for alive: as long as the simulator does, on one device."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import jax
import pytest
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.walk import entry_of
from pcg.layout import Mesh, ShardSpec
from pcg.machine import Machine
from pcg.passes.pipeline import Pipeline
from pcg.planning.evaluate import Context, evaluate
from pcg.search.build import Builder
from pcg.search.lifespans import Lifespans
from pcg.search.memory import Lifetimes
from pcg.search.port import Port
from pcg.search.roles import state_of
from pcg.search.table import Tables

ONE = Mesh.of({"x": 1})


def peaks(text: str, name: str) -> tuple[float, float]:
    """Bytes at the peak on one device, by the search and by the simulator."""
    module = load_module(text, make_context(), name)
    Pipeline("prepare").run(module)
    with module.context:
        shardings.set_mesh(module.operation, ONE)
        func = entry_of(module.operation)
        built = Builder(CostModel(Machine.default(), ONE), Tables.on(ONE)).build(func, state_of(func))
        counted = built.lifetimes.peak(built.graph, [0] * len(built.graph.nodes), ONE)[0]
        return counted, evaluate(module.operation, Context(Machine.default())).peak_bytes


@pytest.mark.parametrize("donated", [(), (0, 1)])
@pytest.mark.parametrize(
    "model", ["bert", "candle_uno", "dlrm", "inception", "llama", "moe", "resnext", "unity_mlp", "vit"]
)
def test_the_peak_is_that_of_the_simulator(model: str, donated: tuple[int, ...]) -> None:
    step, args = importlib.import_module(f"examples.{model}").shapes("small")
    counted, simulated = peaks(jax.jit(step, donate_argnums=donated).lower(*args).as_text(), model)
    assert counted == pytest.approx(simulated, rel=1e-3)


def test_a_loop_needs_what_its_body_does() -> None:
    step, args = importlib.import_module("examples.rnn").shapes("small")
    counted, simulated = peaks(jax.jit(step).lower(*args).as_text(), "rnn")
    assert simulated <= counted <= 1.1 * simulated


PROGRAM = """
func.func @main(%x: tensor<256x64xf32>, %w: tensor<64x64xf32>) -> tensor<256x64xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %1 = stablehlo.exponential %0 : tensor<256x64xf32>
  %2 = stablehlo.negate %1 : tensor<256x64xf32>
  %3 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %4 = stablehlo.add %2, %3 : tensor<256x64xf32>
  return %4 : tensor<256x64xf32>
}
"""


def test_what_is_fused_keeps_alive_what_it_is_made_of() -> None:
    """The exponential and its negation are computed in the sum, which is written over the first product."""
    module = load_module(PROGRAM, make_context(), "program")
    with module.context:
        func = entry_of(module.operation)
        built = Builder(CostModel(Machine.default(), ONE), Tables.on(ONE)).build(func, {})
        spans = {built.graph.nodes[n].name + str(n): (first, last) for n, _, _, first, last in built.live_ranges}
        names = {op: built.graph.nodes[node].name + str(node) for op, node in built.ops}
        ops = [op for op, _ in built.ops]
    assert [isinstance(op, ir.Operation) for op in ops] == [True] * 5
    product, exponential, negated, other, total = (names[op] for op in ops)
    assert exponential not in spans and negated not in spans
    at = spans[other][0] + 1
    assert spans[product][1] == at and spans[other][1] == at and spans[total][0] == at + 1


def test_a_value_is_written_over_one_that_is_read_for_the_last_time() -> None:
    spans = Lifespans()
    for node, size in ((0, 8.0), (1, 8.0), (2, 4.0)):
        spans.clock += 1
        spans.define((node, 0), size)
    spans.clock += 1  # 4: reads 0, 1 and 2
    for node in range(3):
        spans.read((node, 0))
    spans.define((3, 0), 8.0, frozenset({(0, 0), (1, 0), (2, 0)}))
    spans.clock += 1  # 5: reads 1 again, and 3
    spans.read((1, 0))
    spans.read((3, 0))
    spans.define((4, 0), 8.0, frozenset({(2, 0)}))  # of another size
    assert spans.ranges((), {}, {}) == [
        (0, 0, 8.0, 1, 4), (1, 0, 8.0, 2, 5), (2, 0, 4.0, 3, 4), (3, 0, 8.0, 5, 5), (4, 0, 8.0, 5, 5),
    ]  # fmt: skip


def test_alone_all_values_have_memory_until_they_are_read_for_the_last_time() -> None:
    spans = Lifespans()
    spans.define((0, 0), 8.0)
    spans.clock += 1
    spans.read((0, 0))
    spans.back((1, 0), frozenset({(0, 0)}), 8.0)
    spans.clock += 1
    spans.read((1, 0))
    spans.define((2, 0), 8.0, frozenset({(0, 0)}))
    assert spans.ranges([0], {0: None}, {}) == [(0, 0, 8.0, 0, 2)]
    assert spans.alone([0], {0: None}, {}) == [(0, 0, 8.0, 0, 1), (1, 0, 8.0, 1, 2), (2, 0, 8.0, 2, 2)]


def test_what_is_gathered_and_what_is_not_in_the_layout_that_it_is_written_over_counts_besides() -> None:
    """Of a value in two shards that an op reads as a whole, and of a result in another layout than its operand."""
    mesh = Mesh.of({"x": 2})
    specs = [ShardSpec.replicated(1), ShardSpec.of([("x",)])]
    port = Port.of(specs)
    table = SimpleNamespace(ins=(port,), outs=(port,))
    graph = SimpleNamespace(nodes=[SimpleNamespace(table=table)] * 2)
    kept = Lifetimes([(0, 0, 8.0, 0, 1), (1, 0, 8.0, 2, 2)], operands=[(1, 0, 8.0, 1, 1, 0, 0)])
    assert kept.peak(graph, (1, 1), mesh) == (4.0, 0)
    assert kept.peak(graph, (1, 0), mesh) == (12.0, 1)
    assert kept.weights(graph, (1, 0), mesh) == {(0, 0): 8.0, (1, ~0): 8.0}
    over = Lifetimes([(0, 0, 8.0, 0, 1), (1, 0, 8.0, 2, 2)], over=[(1, 0, 8.0, 2, 0, 0)])
    assert over.peak(graph, (0, 0), mesh) == (8.0, 0)
    assert over.peak(graph, (0, 1), mesh) == (12.0, 1)
    assert over.weights(graph, (0, 1), mesh) == {(0, 0): 8.0, (1, 0): 8.0}


def test_arguments_are_written_over_only_if_they_are_donated() -> None:
    def spans() -> Lifespans:
        out = Lifespans()
        out.define((0, 0), 8.0)
        out.clock += 1
        out.read((0, 0))
        out.define((1, 0), 8.0, frozenset({(0, 0)}))
        return out

    assert spans().ranges([0], {}, {}) == [(0, 0, 8.0, 0, 2), (1, 0, 8.0, 1, 1)]
    assert spans().ranges([0], {0: (1, 0)}, {}) == [(0, 0, 8.0, 0, 1)]


def test_a_result_that_is_not_in_the_memory_of_its_argument_is_copied_there_in_the_end() -> None:
    spans = Lifespans()
    spans.define((0, 0), 8.0)
    spans.clock += 1
    spans.read((0, 0))
    spans.define((1, 0), 8.0, frozenset({(0, 0)}))
    spans.clock += 1  # the argument is read again
    spans.read((0, 0))
    spans.clock += 1
    spans.read((1, 0))
    assert spans.ranges([0], {0: (1, 0)}, {}) == [(0, 0, 8.0, 0, 2), (1, 0, 8.0, 1, 3), (0, 0, 8.0, 4, 4)]
