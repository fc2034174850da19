"""Groups of choices that differ by names of axes, and plans that are found by groups first."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.layout import Mesh, ShardSpec
from pcg.machine import Cluster, DeviceKind, Link, Machine
from pcg.passes.pcg_search import SearchPass
from pcg.passes.pipeline import Pipeline
from pcg.rules.dot import dot_rule
from pcg.rules.factor import Assignment
from pcg.search import axis_groups
from pcg.search.axis_groups import groups, interchangeable
from pcg.search.table import Tables
from support.lowercheck import check
from support.rulecheck import context

ROOT = Path(__file__).resolve().parents[3]
CUBE = Mesh.of({"a": 2, "b": 2, "c": 2})
#: Arithmetic is slow and links are quick, so even small programs are worth splitting.
SLOW = Machine(DeviceKind("slow", {}, 1e8, 1e9, 1e12), Link(bandwidth=1e8, latency=1e-7))
BLOCK = """
func.func @main(%w: tensor<16x32xf32>, %v: tensor<32x16xf32>, %x: tensor<6x8x16xf32>) -> (tensor<6x8x16xf32>, tensor<16x32xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<6x8x16xf32>, tensor<16x32xf32>) -> tensor<6x8x32xf32>
  %1 = stablehlo.tanh %0 : tensor<6x8x32xf32>
  %2 = stablehlo.dot_general %1, %v, contracting_dims = [2] x [0] : (tensor<6x8x32xf32>, tensor<32x16xf32>) -> tensor<6x8x16xf32>
  %3 = stablehlo.add %2, %x : tensor<6x8x16xf32>
  %4 = stablehlo.dot_general %3, %1, contracting_dims = [0, 1] x [0, 1] : (tensor<6x8x16xf32>, tensor<6x8x32xf32>) -> tensor<16x32xf32>
  return %3, %4 : tensor<6x8x16xf32>, tensor<16x32xf32>
}
"""
DOT = dot_rule((64, 32), (32, 16), (), (), (1,), (0,), True)


def test_axes_of_one_size_on_like_links_are_interchangeable() -> None:
    assert interchangeable(CostModel(Machine.default(), CUBE)) == (0, 0, 0)
    assert interchangeable(CostModel(Machine.default(), Mesh.of({"a": 2, "b": 4, "c": 2}))) == (0, 1, 0)
    slower = Machine.default().with_axis("b", Link(bandwidth=1e9, latency=1e-6))
    assert interchangeable(CostModel(slower, CUBE)) == (0, 1, 0)
    nodes = Machine.of(Cluster.preset("summit", nodes=2))
    assert interchangeable(CostModel(nodes, Mesh.of({"node": 2, "device": 2}))) in ((0, 1), (0, 0))


def test_strategies_of_a_product() -> None:
    """Each axis does one of four or more things; a group is how many axes do which."""
    table = Tables.on(CUBE).of_rule(DOT)
    found, uniform = groups(table, CUBE.names, (0, 0, 0))
    assert table.assignments is not None
    things = round(len(table) ** (1 / 3))
    assert things**3 == len(table) and found.max() + 1 == math.comb(things + 2, 3)
    where = {a: k for k, a in enumerate(table.assignments)}
    for order in itertools.permutations("abc"):
        rename = dict(zip("abc", order, strict=True))
        for a, k in where.items():
            axes = tuple(tuple(sorted(rename[x] for x in f)) for f in a.axes)
            linear = tuple(sorted((rename[x], i) for x, i in a.linear))
            assert found[where[Assignment(axes, linear)]] == found[k]
    # All three do one of these things in as many strategies as there are things; each is alone in its group.
    assert uniform.sum() == things
    assert (np.bincount(found)[found[uniform]] == 1).all()


def test_only_axes_of_a_class_exchange_their_names() -> None:
    table = Tables.on(CUBE).of_value((8, 8), "sum")
    by_class, uniform = groups(table, CUBE.names, (0, 1, 0))

    def group(spec: ShardSpec) -> int:
        found = table.outs[0].find(spec)
        assert found is not None
        return int(by_class[found])

    assert group(ShardSpec.of([["a"], []], [("b", "sum")])) == group(ShardSpec.of([["c"], []], [("b", "sum")]))
    assert group(ShardSpec.of([["a"], []], [("b", "sum")])) != group(ShardSpec.of([["b"], []], [("a", "sum")]))
    assert group(ShardSpec.of([["a"], ["c"]])) == group(ShardSpec.of([["c"], ["a"]]))
    assert group(ShardSpec.of([["a"], ["c"]])) != group(ShardSpec.of([["a", "c"], []]))
    assert uniform[table.outs[0].find(ShardSpec.of([["a", "c"], ["b"]]))]
    assert not uniform[table.outs[0].find(ShardSpec.of([["a", "b"], []]))]


def planned(name: str, mesh: str) -> tuple[ir.Module, SearchPass]:
    module = load_module((ROOT / "examples" / name).read_text(), make_context(), name)
    found = SearchPass(mesh=mesh, progress=False)
    Pipeline(["pcg-normalize", "pcg-reassociate", found]).run(module)
    return module, found


@pytest.mark.parametrize("name", ["mlp.mlir", "transformer_step.mlir"])
@pytest.mark.parametrize("mesh", ["a=2,b=2,c=2", "a=2,b=2"])
def test_a_plan_is_as_good_as_that_of_the_exact_search(name: str, mesh: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def exact(*_: object) -> None:
        return None

    with monkeypatch.context() as without:
        without.setattr("pcg.search.optimize.grouped", exact)
        _, alone = planned(name, mesh)
    monkeypatch.setattr(axis_groups, "_MANY", 0)
    _, found = planned(name, mesh)
    assert alone.outcome is not None and found.outcome is not None
    # Seconds are as measured once it is written, bounds as the search adds up: they differ by nanoseconds.
    assert found.outcome.bound <= alone.outcome.seconds * (1 + 1e-5)
    assert found.outcome.seconds <= 1.01 * alone.outcome.seconds
    assert {a.name for a in found.outcome.alternatives} == {a.name for a in alone.outcome.alternatives}
    for a, b in zip(found.outcome.alternatives, alone.outcome.alternatives, strict=True):
        assert a.seconds >= found.outcome.seconds * (1 - 1e-5), a.name
        assert a.seconds == pytest.approx(b.seconds, rel=0.2), a.name


def test_a_plan_by_groups_gives_the_numbers_of_one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(axis_groups, "_MANY", 0)
    with context():
        module = load_module(BLOCK, make_context(), "block")
        Pipeline(["pcg-normalize", SearchPass(mesh="a=2,b=2,c=2", machine=SLOW, progress=False)]).run(module)
        text = str(module)
    assert text.count("dist.specs") >= 4
    collectives, _ = check(text, rtol=1e-4, devices=True)
    assert collectives
