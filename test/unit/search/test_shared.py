"""Strategies and costs that searches share: what was searched before has no say in a plan."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pcg.cost import CostModel
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.ir.walk import entry
from pcg.layout import Mesh
from pcg.machine import Cluster, Machine
from pcg.passes.pcg_choose_mesh import ChooseMeshPass
from pcg.passes.pcg_search import SearchPass
from pcg.passes.pipeline import Pipeline
from pcg.search import cost_matrices, table
from pcg.search.build import Builder
from pcg.search.roles import state_of
from pcg.search.table import Tables

ROOT = Path(__file__).resolve().parents[3]
REVERSED = """
func.func @main(%x: tensor<96x64xf32>) -> tensor<96x64xf32> {
  %0 = stablehlo.reverse %x, dims = [0] : tensor<96x64xf32>
  %1 = stablehlo.add %0, %x : tensor<96x64xf32>
  return %1 : tensor<96x64xf32>
}
"""
PROGRAMS = [ROOT / "examples" / name for name in ("mlp.mlir", "transformer_step.mlir")]


@pytest.fixture
def fresh():
    table._shared.cache_clear()
    cost_matrices._shared.cache_clear()


def planned(path: Path, mesh: str = "data=2,model=4") -> str:
    module = load_module(path.read_text(), make_context(), path.name)
    Pipeline(["pcg-normalize", "pcg-reassociate", SearchPass(mesh=mesh, progress=False)]).run(module)
    return str(module)


def test_a_plan_does_not_depend_on_what_was_planned_before(fresh):
    first = planned(PROGRAMS[0])
    planned(PROGRAMS[1])
    planned(PROGRAMS[0], "data=4,model=2")
    assert planned(PROGRAMS[0]) == first


def test_neither_does_the_mesh(fresh):
    def chosen() -> str:
        module = load_module(PROGRAMS[0].read_text(), make_context(), "<test>")
        choose = ChooseMeshPass(devices=12, machine=Machine.of(Cluster.preset("summit", nodes=2)))
        Pipeline(["pcg-normalize", "pcg-reassociate", choose]).run(module)
        return f"{choose.chosen} {choose.bound}"

    first = chosen()
    planned(PROGRAMS[1])
    assert chosen() == first


def test_tables_are_shared_by_mesh_and_do_not_pile_up(fresh, monkeypatch):
    here = Tables.on(Mesh.parse("x=2"))
    assert Tables.on(Mesh((("x", 2),), (1, 0))) is here and Tables.on(Mesh.parse("x=4")) is not here
    monkeypatch.setattr(table, "_MANY", 3)
    for size in range(2, 12, 2):
        here.of_value((size,), None)
    assert Tables.on(Mesh.parse("x=2")) is not here


def test_the_same_program_elsewhere_costs_what_it_would_if_read_anew(fresh):
    """A candidate for the mesh that is read once and evaluated in several places has the costs of each place."""
    module = load_module(REVERSED, make_context(), "<test>")
    func = entry(module)
    assert func is not None
    machine = Machine.of(Cluster.preset("summit", nodes=2))
    near = CostModel(machine, Mesh.parse("data=2,model=3"))
    far = CostModel(machine, Mesh((("data", 2), ("model", 3)), (0, 6, 1, 7, 2, 8)))
    builder = Builder(near, Tables.on(near.mesh))
    built = builder.build(func, state_of(func))
    moved = builder.elsewhere(built, far)
    want = Builder(far, Tables.on(far.mesh)).build(func, state_of(func))
    assert moved.graph.edges == want.graph.edges
    for a, b in zip(moved.graph.nodes, want.graph.nodes, strict=True):
        assert a.table is b.table and (a.seconds == b.seconds).all()
    assert built.exchanges, "nothing is exchanged: the test shows nothing"
    assert any((a.seconds != b.seconds).any() for a, b in zip(moved.graph.nodes, built.graph.nodes, strict=True))


def test_half_of_the_costs_may_be_computed_beside_the_rest(fresh, monkeypatch):
    """Plans are the same wherever costs of redistributions are computed."""
    alone = planned(PROGRAMS[1], "a=2,b=2,c=2")
    halves = []

    class Counted(cost_matrices.Beside):
        def result(self):
            found = super().result()
            halves.append(len(found))
            return found

    cost_matrices._shared.cache_clear()
    monkeypatch.setattr(cost_matrices, "_MANY", 0)
    monkeypatch.setattr(cost_matrices, "Beside", Counted)
    assert planned(PROGRAMS[1], "a=2,b=2,c=2") == alone
    assert max(halves) > 1


def test_a_plan_with_copies_of_the_process_is_the_one_without(tmp_path):
    """A program that is large enough for them, by the command: beside jax there are none."""
    program = tmp_path / "step.mlir"
    program.write_text(load_module(PROGRAMS[1].read_text(), make_context(), "step").operation.get_asm())
    texts = []
    for cores in (1, 2):
        code = f"""
from pcg.planning import ahead
from pcg.search import axis_groups, cost_matrices, terms
from pcg.solve import beside
from pcg.tools.pcg_opt import main

copies = []
beside._cores = lambda: {cores}
cost_matrices._MANY, terms._MANY, axis_groups._MANY, axis_groups._SHARE = 0, 0, 0, 1.0
ahead._LARGE = 1 << 30  # else all of the search is in a copy, which makes none
start = beside.Beside.__init__
def counted(self, work, long=True):
    start(self, work, long)
    if long:
        copies.append(self._copy is not None)
beside.Beside.__init__ = counted
assert main(["--auto-parallel", "--mesh", "a=2,b=2,c=2", "--remarks", {str(program)!r}]) == 0
assert len(copies) > 2 and all(c == ({cores} > 1) for c in copies)
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert not done.returncode, done.stderr
        texts.append(done.stdout)
    assert texts[0] == texts[1] and "dist.mesh" in texts[0]
