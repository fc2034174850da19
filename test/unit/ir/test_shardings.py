"""The accessor of layouts: what is written is read, wherever it lives."""

import pytest
from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.context import make_context
from pcg.ir.errors import PcgError
from pcg.ir.parse import load_module
from pcg.layout import Mesh, ShardSpec

PROGRAM = """
func.func @main(%a: tensor<8x4xf32> {jax.keep = 1 : i32}, %b: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = stablehlo.add %a, %b : tensor<8x4xf32>
  %1:2 = stablehlo.while(%i = %0, %j = %b) : tensor<8x4xf32>, tensor<8x4xf32> cond {
    %p = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %i, %j : tensor<8x4xf32>, tensor<8x4xf32>
  }
  return %1#0, %1#1 : tensor<8x4xf32>, tensor<8x4xf32>
}
"""
ROWS = ShardSpec.of([["data"], []])
BOTH = ShardSpec.of([["data", "model"], []])
PARTIAL = ShardSpec.of([[], ["data"]], [("model", "max")])


@pytest.fixture
def function():
    context = make_context()
    with context, ir.Location.unknown():
        module = load_module(PROGRAM, context)
        yield module.body.operations[0].operation
        module.operation.verify()


def ops(function):
    return [o.operation for o in function.regions[0].blocks[0].operations]


@pytest.mark.parametrize("spec", [ROWS, BOTH, PARTIAL, ShardSpec.replicated(2)])
def test_attributes_round_trip(spec):
    with make_context():
        assert shardings.from_attr(shardings.to_attr(spec)) == spec
        assert shardings.mesh_symbol(shardings.to_attr(spec, "m2")) == "m2"


def test_arguments_keep_their_other_attributes(function):
    a, b = function.regions[0].blocks[0].arguments
    assert shardings.get(a) is None
    shardings.set(a, ROWS)
    shardings.set(b, PARTIAL)
    assert (shardings.get(a), shardings.get(b)) == (ROWS, PARTIAL)
    shardings.set(a, None)
    assert shardings.get(a) is None
    assert str(function.attributes["arg_attrs"][0]) == "{jax.keep = 1 : i32}"


def test_function_results(function):
    shardings.set_function_result_spec(function, 1, BOTH)
    assert shardings.function_result_specs(function) == [None, BOTH]


def test_results_of_an_op_are_set_one_by_one(function):
    loop = ops(function)[1]
    shardings.set(loop.results[1], ROWS)
    assert shardings.result_specs(loop) == [None, ROWS]
    assert "unit" in str(loop.attributes["dist.specs"])
    shardings.set(loop.results[1], None)
    assert "dist.specs" not in loop.attributes


def test_loop_arguments_share_the_layout_of_the_results(function):
    loop = ops(function)[1]
    argument = loop.regions[1].blocks[0].arguments[0]
    shardings.set(argument, BOTH)
    assert shardings.get(loop.results[0]) == shardings.get(loop.regions[0].blocks[0].arguments[0]) == BOTH


def test_operand_specs(function):
    add = ops(function)[0]
    assert shardings.operand_specs(add) is None
    shardings.set_operand_specs(add, [ROWS, None])
    assert shardings.operand_specs(add) == [ROWS, None]
    shardings.set_operand_specs(add, None)
    assert shardings.operand_specs(add) is None


def test_meshes(function):
    module = function.parent
    assert shardings.mesh_of(module) is None
    shardings.set_mesh(module, Mesh.parse("data=2,model=4"))
    shardings.set_mesh(module, Mesh.parse("data=4"))
    assert shardings.mesh_of(module) == Mesh.parse("data=4")
    shardings.set_mesh(module, Mesh.of({"x": 2}, [1, 0]), "other")
    assert shardings.meshes_of(module) == {"mesh": Mesh.parse("data=4"), "other": Mesh.of({"x": 2}, [1, 0])}


def test_one_of_several_meshes_is_never_picked_silently(function):
    module = function.parent
    shardings.set_mesh(module, Mesh.parse("data=4"), "a")
    shardings.set_mesh(module, Mesh.parse("data=4"), "b")
    with pytest.raises(PcgError, match="declares the meshes @a, @b; allowed here: one"):
        shardings.mesh_of(module)


def test_an_attribute_of_another_kind_is_refused():
    with make_context(), pytest.raises(ValueError, match="is not a #dist.shard_spec"):
        shardings.from_attr(ir.Attribute.parse("1 : i64"))
    with make_context(), pytest.raises(ValueError, match="is not a shard spec; write"):
        shardings.from_attr(ir.Attribute.parse('#dist.shard_spec<@mesh, ["x"], {}>'))
