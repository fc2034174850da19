"""When collectives between two decisions run: critical, beside the backward pass, or at the end of the step."""

from __future__ import annotations

import itertools

import numpy as np
from torch_mlir import ir

from pcg.cost import CostModel, Overlap, Timing
from pcg.ir.context import make_context
from pcg.ir.walk import entry
from pcg.layout import Mesh, ShardSpec
from pcg.machine import Machine
from pcg.search.build import Builder
from pcg.search.built import Built
from pcg.search.cost_matrices import CostMatrices
from pcg.search.port import Port
from pcg.search.roles import state_of
from pcg.search.table import Tables
from pcg.search.terms import ReshardCosts

T = "tensor<32x32xf32>"


def dot(a: str, b: str, dims: str) -> str:
    left, right = dims.split("x")
    return f"stablehlo.dot_general %{a}, %{b}, contracting_dims = [{left}] x [{right}] : ({T}, {T}) -> {T}"


def built(text: str) -> tuple[Built, list[str]]:
    """The graph of a program, and per node what it is of: the name of an op's location, or of an argument."""
    module = ir.Module.parse(text)
    func = entry(module)
    assert func is not None
    mesh = Mesh.parse("a=2,b=2")
    found = Builder(CostModel(Machine.default(), mesh), Tables.on(mesh)).build(func, state_of(func))
    names = [n.kind for n in found.graph.nodes]
    for op, node in found.ops:
        names[node] = op.location.name_str if isinstance(op.location, ir.NameLoc) else op.name
    for i, node in enumerate(found.arguments):
        names[node] = f"argument {i}"
    return found, names


def timings(text: str, src: str) -> set[Timing]:
    """Those of the edges from the nodes that are named `src`."""
    found, names = built(text)
    assert src in names
    return {e.timing for e in found.graph.edges if names[e.src] == src}


STEP = f"""
func.func @main(%w: {T}, %m: {T}, %v: {T}, %n: {T}, %x: {T}) -> ({T}, {T}, {T}, {T}) {{
  %h = {dot("x", "w", "1x0")} loc("forward")
  %y = {dot("h", "v", "1x0")} loc("forward")
  %gv = {dot("h", "y", "0x0")} loc("gradient of v")
  %tv = stablehlo.tanh %gv : {T} loc("clipped gradient of v")
  %dh = {dot("y", "v", "1x1")} loc("backward")
  %gw = {dot("x", "dh", "0x0")} loc("gradient of w")
  %n1 = stablehlo.add %n, %tv : {T} loc("momentum of v")
  %v1 = stablehlo.subtract %v, %n1 : {T} loc("new v")
  %m1 = stablehlo.add %m, %gw : {T} loc("momentum of w")
  %w1 = stablehlo.subtract %w, %m1 : {T} loc("new w")
  return %w1, %m1, %v1, %n1 : {T}, {T}, {T}, {T}
}}
"""


def test_gradients_are_deferred_and_new_weights_final() -> None:
    with make_context(), ir.Location.unknown():
        assert timings(STEP, "forward") == {Timing.CRITICAL}
        # The gradient of v can be computed while this is sent to that of w.
        assert timings(STEP, "backward") == {Timing.BRANCH}
        # Two contractions come behind this gradient, and none behind the other.
        assert timings(STEP, "gradient of v") == timings(STEP, "clipped gradient of v") == {Timing.DEFERRED}
        assert timings(STEP, "gradient of w") == {Timing.FINAL}
        for final in ("momentum of v", "new v", "momentum of w", "new w"):
            assert timings(STEP, final) == {Timing.FINAL}


def test_what_is_sent_in_one_of_two_branches_runs_beside_the_other() -> None:
    """So does what is sent to one of them; where they meet, and before they part, there is nothing else to compute."""
    text = f"""
    func.func @main(%x: {T}, %a: {T}, %b: {T}, %c: {T}) -> {T} {{
      %stem = {dot("x", "a", "1x0")} loc("stem")
      %l = {dot("stem", "a", "1x0")} loc("left")
      %r = {dot("stem", "b", "1x0")} loc("right")
      %s = stablehlo.add %l, %r : {T} loc("sum")
      %y = {dot("s", "c", "1x0")} loc("head")
      return %y : {T}
    }}
    """
    with make_context(), ir.Location.unknown():
        found, names = built(text)
        into = {(names[e.src], names[e.dst]): e.timing for e in found.graph.edges}
        assert into["left", "sum"] == into["right", "sum"] == Timing.BRANCH
        assert into["sum", "head"] == Timing.CRITICAL
        assert into["stem", "layout"] == Timing.CRITICAL
        assert into["layout", "left"] == into["layout", "right"] == Timing.BRANCH


def test_gradients_summed_in_a_loop() -> None:
    """In a loop a gradient can be sent beside the next iteration; behind the loop nothing is left to compute."""
    text = f"""
    func.func @main(%x: {T}, %w: {T}) -> {T} {{
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %four = stablehlo.constant dense<4> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %none = stablehlo.constant dense<0.0> : {T}
      %r:3 = stablehlo.while(%i = %zero, %g = %none, %a = %x) : tensor<i32>, {T}, {T}
      cond {{
        %c = stablehlo.compare LT, %i, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }} do {{
        %b = {dot("a", "w", "1x0")} loc("backward")
        %d = {dot("a", "a", "0x0")} loc("gradient")
        %s = stablehlo.add %g, %d : {T} loc("sum")
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %s, %b : tensor<i32>, {T}, {T}
      }}
      %u = stablehlo.subtract %w, %r#1 : {T} loc("new w")
      return %u : {T}
    }}
    """
    with make_context(), ir.Location.unknown():
        found, names = built(text)
        assert timings(text, "gradient") == {Timing.LOOPED} and timings(text, "backward") == {Timing.CRITICAL}
        update = names.index("new w")
        into = {names[e.src]: e.timing for e in found.graph.edges if e.dst == update}
        assert into["carry"] == Timing.FINAL
        again = [e.timing for e in found.graph.edges if names[e.src] == "carry" and names[e.dst] == "sum"]
        assert again == [Timing.CRITICAL]


def test_deferred_and_other_collectives_overlap_each_with_their_own_fraction() -> None:
    mesh = Mesh.parse("a=2,b=2")
    overlap = Overlap(gradient=0.75, final=0.25, branch=0.875, other=0.5)
    plain, beside = CostModel(Machine.default(), mesh), CostModel(Machine.default(), mesh, overlap)
    shares = {
        Timing.CRITICAL: 0.5, Timing.BRANCH: 0.125, Timing.LOOPED: 0.25, Timing.DEFERRED: 0.25, Timing.FINAL: 0.75,
    }  # fmt: skip
    assert set(shares) == set(Timing)
    for timing, share in shares.items():
        assert beside.exposed(timing) == share and plain.exposed(timing) == 1.0
        for kind in ("all_reduce", "all_gather"):
            assert beside.link_at(timing)(("a",), 1e6, kind) == plain.link_at(timing)(("a",), 1e6, kind)


def test_costs_of_redistributions_are_those_of_the_planner_times_what_is_exposed() -> None:
    mesh, shape = Mesh.parse("a=2,b=2"), (64, 64)
    specs = [ShardSpec.of(dims) for dims in ([["a"], []], [[], ["b"]], [["a", "b"], []], [[], []])]
    specs.append(ShardSpec.of([[], []], [("a", "sum"), ("b", "sum")]))
    port = Port.of(specs)
    found = set()
    for shares in itertools.product((0.0, 0.5, 1.0), repeat=4):
        model = CostModel(Machine.default(), mesh, Overlap(*shares))
        matrices, single = CostMatrices(model), ReshardCosts(model)
        for timing in Timing:
            seconds = matrices.between(port, port, shape, 4.0, timing)
            for i, src in enumerate(specs):
                row = matrices.row(src, port, shape, 4.0, timing, into=True)
                np.testing.assert_array_equal(row, seconds[i])
                back = matrices.row(src, port, shape, 4.0, timing, into=False)
                np.testing.assert_allclose(back, seconds[:, i], rtol=1e-12)
                np.testing.assert_allclose(row, [single(src, dst, shape, 4.0, timing)[0] for dst in specs], rtol=1e-9)
            found.add(float(seconds.max()))
    assert len(found) == 5  # combined or not, all, half or nothing of it
