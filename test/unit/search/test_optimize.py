"""The search on small programs, from IR to annotated IR."""

from __future__ import annotations

import pytest
from torch_mlir import ir

from pcg.cost import CostModel
from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.ir.walk import entry, walk
from pcg.layout import Mesh, ShardSpec
from pcg.machine import DeviceKind, Link, Machine
from pcg.passes.pcg_normalize import NormalizePass
from pcg.passes.pcg_search import SearchPass
from pcg.search.pure_plans import around_arguments, pure_plans

#: Arithmetic is slow and links are quick, so even small programs are worth splitting.
SLOW = Machine(DeviceKind("slow", {}, 1e8, 1e9, 1e12), Link(bandwidth=1e8, latency=1e-7))

MLP = """
func.func @main(%w1: tensor<{d}x{h}xf32>, %w2: tensor<{h}x{d}xf32>, %x: tensor<{b}x{d}xf32>) -> tensor<{b}x{d}xf32> {{
  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<{b}x{d}xf32>, tensor<{d}x{h}xf32>) -> tensor<{b}x{h}xf32>
  %1 = stablehlo.tanh %0 : tensor<{b}x{h}xf32>
  %2 = stablehlo.dot_general %1, %w2, contracting_dims = [1] x [0] : (tensor<{b}x{h}xf32>, tensor<{h}x{d}xf32>) -> tensor<{b}x{d}xf32>
  return %2 : tensor<{b}x{d}xf32>
}}
"""


def search(text: str, mesh: str = "x=4", **options: object) -> tuple[ir.Module, SearchPass]:
    context = make_context()
    with context, ir.Location.unknown():
        module = load_module(text, context, "test")
        NormalizePass().run(module.operation)
        shardings.set_mesh(module, Mesh.parse(mesh))
        found = SearchPass(machine=SLOW, **options)  # type: ignore[arg-type]
        found.run(module.operation)
    return module, found


def arguments(module: ir.Module) -> list[str]:
    main = entry(module)
    assert main is not None
    return [str(shardings.get(a)) for a in main.regions[0].blocks[0].arguments]


def test_a_large_batch_is_split() -> None:
    module, _ = search(MLP.format(b=4096, d=64, h=64))
    assert arguments(module) == ["[-, -]", "[-, -]", "[x, -]"]


def test_large_weights_are_split_by_columns_then_rows() -> None:
    module, found = search(MLP.format(b=2, d=64, h=4096))
    w1, w2, _ = arguments(module)
    assert (w1, w2) == ("[-, x]", "[x, -]")
    main = entry(module)
    assert main is not None
    last = [op for op in walk(main) if op.name == "stablehlo.dot_general"][-1]
    assert str(shardings.get(last.results[0])) == "[-, -] sum(x)"
    assert found.outcome is not None
    assert found.outcome.bound == pytest.approx(found.outcome.seconds, rel=1e-3)


def test_never_worse_than_the_pure_plans() -> None:
    for b, h in ((4, 4096), (4096, 64), (64, 64), (3, 5)):
        _, found = search(MLP.format(b=b, d=64, h=h), "a=2,b=2")
        assert found.outcome is not None
        assert {a.name for a in found.outcome.alternatives} <= {
            "replication", "data parallelism", "tensor parallelism"
        }  # fmt: skip
        assert all(found.outcome.seconds <= a.seconds * (1 + 1e-9) for a in found.outcome.alternatives)


def test_pure_plans_fix_the_arguments() -> None:
    _, found = search(MLP.format(b=4096, d=64, h=64), "a=2,b=2")
    assert found.built is not None
    quotient = found.built.quotient(CostModel(SLOW, Mesh.parse("a=2,b=2")))
    network = quotient.network()
    reduction = around_arguments(quotient, network)
    plans = pure_plans(quotient, network, reduction)
    layouts = {
        name: [str(quotient.tables[c].outs[0][x[c]]) for c in map(quotient.class_of.__getitem__, quotient.arguments)]
        for name, x in plans
    }
    assert layouts["data parallelism"] == ["[-, -]", "[-, -]", "[a+b, -]"]
    assert layouts["tensor parallelism"][2] == "[-, -]" and layouts["replication"] == ["[-, -]"] * 3
    assert reduction is not None
    assert {quotient.class_of[n] for n in quotient.arguments} <= set(reduction.kept)


def test_the_same_input_gives_the_same_plan() -> None:
    text = MLP.format(b=64, d=64, h=256)
    assert str(search(text, "a=2,b=4")[0]) == str(search(text, "a=2,b=4")[0])


def test_fixed_layouts_are_kept() -> None:
    text = MLP.format(b=4096, d=64, h=64).replace(
        "%w1: tensor<64x64xf32>", "%w1: tensor<64x64xf32> {dist.spec = #dist.shard_spec<@mesh, [[\"x\"], []], {}>}"
    )
    text = '"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["x"], [4], []>} : () -> ()\n' + text
    module, _ = search(text)
    assert arguments(module)[0] == "[x, -]"


def test_memory_limit_is_kept_or_the_least_need_is_named() -> None:
    text = MLP.format(b=4096, d=64, h=64)
    module, found = search(text)
    assert found.outcome is not None
    whole = found.outcome.peak_bytes
    alone = {"recompute": False, "accumulate": False}
    _, tight = search(text, memory_limit=int(whole * 0.99), **alone)
    assert tight.outcome is not None and tight.outcome.peak_bytes <= whole * 0.99
    assert tight.outcome.seconds >= found.outcome.seconds
    with pytest.raises(PcgError, match=r"no plan fits in 100 B per device; the smallest one found needs \d"):
        search(text, memory_limit=100, **alone)


def test_a_mesh_is_needed() -> None:
    context = make_context()
    with context, ir.Location.unknown():
        module = load_module(MLP.format(b=4, d=4, h=4), context, "test")
        with pytest.raises(PcgError, match="no mesh to plan for"):
            SearchPass().run(module.operation)


def test_training_state_keeps_its_layout() -> None:
    text = """
    func.func @main(%w: tensor<64x4096xf32>, %m: tensor<64x4096xf32>, %x: tensor<8x64xf32>, %g: tensor<8x4096xf32>)
        -> (tensor<64x4096xf32>, tensor<64x4096xf32>) {
      %0 = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0]
        : (tensor<8x64xf32>, tensor<8x4096xf32>) -> tensor<64x4096xf32>
      %1 = stablehlo.add %m, %0 : tensor<64x4096xf32>
      %2 = stablehlo.subtract %w, %1 : tensor<64x4096xf32>
      return %2, %1 : tensor<64x4096xf32>, tensor<64x4096xf32>
    }"""
    module, _ = search(text)
    main = entry(module)
    assert main is not None
    specs = [shardings.get(a) for a in main.regions[0].blocks[0].arguments]
    assert shardings.function_result_specs(main) == specs[:2]
    assert specs[0] != ShardSpec.replicated(2)


def test_repeated_layers_are_decided_once() -> None:
    layers = 30
    body = "".join(
        f"  %a{i} = stablehlo.dot_general %{'x' if i == 0 else f'b{i - 1}'}, %w{i}, contracting_dims = [1] x [0]"
        f" : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>\n"
        f"  %b{i} = stablehlo.tanh %a{i} : tensor<64x64xf32>\n"
        for i in range(layers)
    )
    weights = ", ".join(f"%w{i}: tensor<64x64xf32>" for i in range(layers))
    text = f"func.func @main({weights}, %x: tensor<64x64xf32>) -> tensor<64x64xf32> {{\n{body}"
    text += f"  return %b{layers - 1} : tensor<64x64xf32>\n}}"
    _, found = search(text)
    assert found.outcome is not None and found.built is not None
    assert len(found.built.graph.nodes) >= 3 * layers
    assert found.outcome.classes < len(found.built.graph.nodes)


def test_open_dimensions_may_be_split_further_and_closed_ones_not() -> None:
    mesh = '"dist.mesh"() {sym_name = "mesh", value = #dist.process_mesh<["a", "b"], [2, 2], []>} : () -> ()\n'
    given = '%x: tensor<4096x64xf32> {dist.spec = #dist.shard_spec<@mesh, [["a"], []], {}>OPEN}'
    for text, want in ((", dist.open = [0, 1]", "[a+b, -]"), ("", "[a, -]")):
        program = MLP.format(b=4096, d=64, h=64).replace("%x: tensor<4096x64xf32>", given.replace("OPEN", text))
        module, _ = search(mesh + program, "a=2,b=2")
        assert arguments(module)[2] == want


def test_operands_of_a_barrier_are_independent() -> None:
    text = """
    func.func @main(%x: tensor<4096x64xf32>, %y: tensor<4096x64xf32>) -> (tensor<4096x64xf32>, tensor<4096x64xf32>) {
      %0:2 = stablehlo.optimization_barrier %x, %y : tensor<4096x64xf32>, tensor<4096x64xf32>
      %1 = stablehlo.tanh %0#0 : tensor<4096x64xf32>
      %2 = stablehlo.exponential %0#1 : tensor<4096x64xf32>
      return %1, %2 : tensor<4096x64xf32>, tensor<4096x64xf32>
    }"""
    module, _ = search(text)
    assert all("x" in a for a in arguments(module))


def test_the_chosen_plan_is_not_among_the_rejected() -> None:
    _, found = search(MLP.format(b=4096, d=64, h=64))
    assert found.outcome is not None
    assert "data parallelism" not in {a.name for a in found.outcome.alternatives}
