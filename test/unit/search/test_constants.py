"""Constants of a program take memory on every device, whatever the plan: in the search, the simulation and limits."""

from __future__ import annotations

import numpy as np
import pytest
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.constants import constant_bytes
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.ir.walk import entry
from pcg.layout import Mesh
from pcg.machine import Machine
from pcg.passes.pcg_search import SearchPass
from pcg.passes.pipeline import Pipeline
from pcg.search.read_schedule import ScheduleReader
from pcg.simulate.run import simulate

N = 256
BYTES = 4.0 * N * N
MESH = Mesh.of({"x": 4})


def program(again: str = "") -> str:
    """A product with a constant matrix; `again`: more lines."""
    data = np.arange(N * N, dtype=np.float32).tobytes().hex().upper()
    matrix = f"tensor<{N}x{N}xf32>"
    return f"""
    func.func @main(%x: tensor<8x{N}xf32>) -> tensor<8x{N}xf32> {{
      %w = stablehlo.constant dense<"0x{data}"> : {matrix}
      %ones = stablehlo.constant dense<1.0> : {matrix}
      %few = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
      {again.format(data=data, matrix=matrix)}
      %v = stablehlo.add %w, %ones : {matrix}
      %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<8x{N}xf32>, {matrix}) -> tensor<8x{N}xf32>
      return %0 : tensor<8x{N}xf32>
    }}"""


def load(text: str) -> ir.Module:
    return load_module(text, make_context(), "test")


def main(module: ir.Module) -> ir.Operation:
    found = entry(module)
    assert found is not None
    return found


def test_what_is_counted():
    assert constant_bytes(main(load(program()))) == BYTES
    twice = '%again = stablehlo.constant dense<"0x{data}"> : {matrix}'
    assert constant_bytes(main(load(program(twice)))) == BYTES  # equal ones are one
    other = '%other = stablehlo.constant dense<"0x{data}"> : tensor<65536xf32>'
    assert constant_bytes(main(load(program(other)))) == 2 * BYTES


def test_functions_that_are_called_count_once():
    text = program("%y = func.call @f(%x) : (tensor<8x256xf32>) -> tensor<8x256xf32>"
                   "%z = func.call @f(%x) : (tensor<8x256xf32>) -> tensor<8x256xf32>")  # fmt: skip
    callee = program().replace("@main", "private @f").replace("add %w", "multiply %w").replace("0x00000000", "0x0000803F")
    assert constant_bytes(main(load(text + callee))) == 2 * BYTES


@pytest.mark.parametrize("mesh", ["x=1", "x=4"])
def test_the_search_counts_them_whole_on_every_device(mesh):
    module = load(program())
    search = SearchPass(mesh=mesh, progress=False)
    Pipeline("prepare").run(module)
    Pipeline([search]).run(module)
    assert search.outcome.peak_bytes >= BYTES
    without = load(program().replace("%v = stablehlo.add %w, %ones", "%v = stablehlo.add %ones, %ones"))
    other = SearchPass(mesh=mesh, progress=False)
    Pipeline("prepare").run(without)
    Pipeline([other]).run(without)
    assert search.outcome.peak_bytes == pytest.approx(other.outcome.peak_bytes + BYTES)


@pytest.mark.parametrize("means", [True, False])
def test_they_count_against_a_limit(means):
    module = load(program())
    Pipeline("prepare").run(module)
    search = SearchPass(
        mesh="x=4", progress=False, memory_limit=int(BYTES) - 1000, recompute=means, accumulate=means
    )  # fmt: skip
    with pytest.raises(PcgError, match="no plan fits in 255.02 KiB per device"):
        Pipeline([search]).run(module)


def test_lines_and_simulations_count_them():
    module = load(program())
    model = CostModel(Machine.default(), MESH)
    assert ScheduleReader(model, main(module)).read().schedule.peak() >= BYTES
    Pipeline("prepare").run(module)
    Pipeline([SearchPass(mesh="x=4", progress=False)]).run(module)
    Pipeline("lower").run(module)
    found = simulate(module, model)
    assert found.peak_bytes >= BYTES
    assert [h.bytes for h in found.peak_values if h.name == "constants"] == [BYTES]
    assert sum(found.allocations) < BYTES
