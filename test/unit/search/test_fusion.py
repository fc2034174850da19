"""What reaches memory, told of programs small enough to see it."""

from __future__ import annotations

import pytest
from torch_mlir import ir

from pcg.cost import CostModel, Timing
from pcg.ir.context import make_context
from pcg.ir.walk import entry
from pcg.layout import Mesh
from pcg.machine import Machine
from pcg.passes.pcg_search import SearchPass
from pcg.search.fusion import Fusion

T = "tensor<8x8xf32>"


def traffic(body: str, returned: str, results: int = 1, **options: bool) -> dict[str, tuple[list[int], list[int]]]:
    """Reads and writes of every op of a function of two matrices, by name (repeated names get a number)."""
    text = f"func.func @main(%a: {T}, %b: {T}) -> ({', '.join([T] * results)}) {{\n{body}\n"
    text += f"  return {returned} : {', '.join([T] * results)}\n}}"
    found: dict[str, tuple[list[int], list[int]]] = {}
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        func = entry(module)
        assert func is not None
        fusion = Fusion(func, **options)
        for op in func.regions[0].blocks[0].operations:
            op, name = op.operation, op.operation.name.removeprefix("stablehlo.")
            name = name if name not in found else f"{name}{len(found)}"
            found[name] = (
                [fusion.reads(op, i) for i in range(len(op.operands))],
                [fusion.is_written(r) for r in op.results],
            )
    return found


DOT = f"  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({T}, {T}) -> {T}\n"


def test_a_chain_reads_its_inputs_and_writes_its_end() -> None:
    found = traffic(DOT + f"  %1 = stablehlo.tanh %0 : {T}\n  %2 = stablehlo.add %1, %b : {T}", "%2")
    assert found["dot_general"] == ([1, 1], [1])
    assert found["tanh"] == ([1], [0])
    assert found["add"] == ([0, 1], [1])


def test_an_input_is_read_once_per_fusion() -> None:
    found = traffic(f"  %0 = stablehlo.add %a, %b : {T}\n  %1 = stablehlo.multiply %0, %a : {T}", "%1")
    assert found["add"] == ([1, 1], [0])
    assert found["multiply"] == ([0, 0], [1])


def test_what_is_cheap_is_repeated_and_what_is_expensive_is_kept() -> None:
    ends = f"  %1 = stablehlo.negate %0 : {T}\n  %2 = stablehlo.abs %0 : {T}"
    cheap = traffic(f"  %0 = stablehlo.add %a, %b : {T}\n" + ends, "%1, %2", 2)
    assert cheap["add"] == ([2, 2], [0])
    assert cheap["negate"] == cheap["abs"] == ([0], [1])
    expensive = traffic(f"  %0 = stablehlo.tanh %a : {T}\n" + ends, "%1, %2", 2)
    assert expensive["tanh"] == ([1], [1])
    assert expensive["negate"] == expensive["abs"] == ([1], [1])


def test_reshapes_and_transposes_of_contractions_are_free() -> None:
    body = (
        f"  %t = stablehlo.transpose %b, dims = [1, 0] : ({T}) -> {T}\n"
        f"  %0 = stablehlo.dot_general %a, %t, contracting_dims = [1] x [0] : ({T}, {T}) -> {T}\n"
        f"  %r = stablehlo.reshape %0 : ({T}) -> tensor<64xf32>\n"
        f"  %s = stablehlo.reshape %r : (tensor<64xf32>) -> {T}\n"
        f"  %1 = stablehlo.negate %s : {T}"
    )
    found = traffic(body, "%1")
    assert found["transpose"] == ([0], [0]) and found["reshape"] == ([0], [0])
    assert found["dot_general"] == ([1, 1], [1]) and found["negate"] == ([1], [1])


def test_a_sum_over_everything_reads_what_is_transposed_as_it_lies() -> None:
    """Of a gradient that is clipped by its norm: the update transposes it on the way, the norm does not need it."""
    body = DOT + f"""  %g = stablehlo.tanh %0 : {T}
  %t = stablehlo.transpose %g, dims = [1, 0] : ({T}) -> {T}
  %s = stablehlo.multiply %t, %t : {T}
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %n = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = DIMENSIONS : ({T}, tensor<f32>) -> RESULT
  %c = stablehlo.broadcast_in_dim %n, dims = KEPT : (RESULT) -> {T}
  %m = stablehlo.multiply %t, %c : {T}
  %u = stablehlo.add %m, %b : {T}"""
    norm = body.replace("DIMENSIONS", "[0, 1]").replace("KEPT", "[]").replace("RESULT", "tensor<f32>")
    whole = traffic(norm, "%u", bare_reductions=True)
    assert whole["transpose"] == ([1], [0])  # by the update
    assert whole["multiply"] == ([1, 0], [0])  # by the norm: what came before the transpose
    rows = body.replace("DIMENSIONS", "[1]").replace("KEPT", "[0]").replace("RESULT", "tensor<8xf32>")
    assert traffic(rows, "%u", bare_reductions=True)["transpose"] == ([0], [1])  # made with it, once for both


def test_readers_of_a_split_argument_share_its_gather() -> None:
    """Two products need a weight whole that comes split: the estimate, like the program, has one gather."""
    spec = '#dist.shard_spec<@mesh, [["x"], []], {}>'
    big = "tensor<1024x1024xf32>"
    product = f"contracting_dims = [1] x [0] : ({big}, {big}) -> {big}"
    text = (
        '"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [4], []>} : () -> ()\n'
        f"func.func @main(%x: {big} {{dist.spec = {spec}}}, %w: {big} {{dist.spec = {spec}}})"
        f" -> ({big} {{dist.spec = {spec}}}) {{\n"
        f"  %0 = stablehlo.dot_general %x, %w, {product}\n  %1 = stablehlo.tanh %0 : {big}\n"
        f"  %2 = stablehlo.dot_general %1, %w, {product}\n  return %2 : {big}\n}}\n"
    )
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        search = SearchPass(progress=False)
        search.run(module.operation)
        assert search.outcome is not None
        model = CostModel(Machine.default(), Mesh.parse("x=4"))
        gather = model.link(["x"], 3 * 2**20, "all_gather")
        flops = 2 * 2 * 1024**3 / 4 / model.peak("stablehlo.dot_general", "f32")
        # What is left are the two passes over the quarter that a device has, and the preference for small arguments.
        assert search.outcome.seconds == pytest.approx(gather + flops, rel=0.1)
        assert search.outcome.seconds < 1.5 * gather + flops


def test_reductions_that_nothing_waits_for_share_their_latency() -> None:
    model = CostModel(Machine.default(), Mesh.parse("x=8"))
    deferred = model.link_at(Timing.DEFERRED)
    for kind in ("all_gather", "reduce_scatter", "all_to_all"):
        assert deferred(["x"], 1e4, kind) == model.link(["x"], 1e4, kind)
    fixed = model.link(["x"], 0.0, "all_reduce")
    assert deferred(["x"], 1e4, "all_reduce") == pytest.approx(model.link(["x"], 1e4, "all_reduce") - fixed * 31 / 32)
    big = 64 * 2**20
    assert deferred(["x"], big, "all_reduce") == model.link(["x"], big, "all_reduce")
