"""What jax writes: text with debug information, and the serialised artifacts of jax.export."""

import pytest

jax = pytest.importorskip("jax")

from pcg.ir.context import make_context
from pcg.ir.locations import describe
from pcg.ir.parse import load_module
from pcg.ir.walk import walk
from pcg.passes.sdy_import import SdyImportPass


@pytest.fixture(scope="module")
def sharded():
    from jax.sharding import AxisType, NamedSharding, PartitionSpec

    mesh = jax.make_mesh((1,), ("x",), axis_types=(AxisType.Auto,))
    rows = NamedSharding(mesh, PartitionSpec("x"))

    def f(a):
        return jax.lax.with_sharding_constraint(jax.numpy.tanh(a), rows).sum()

    return jax.jit(f, in_shardings=rows), jax.ShapeDtypeStruct((8, 4), "float32")


def imported(source):
    context = make_context()
    with context:
        module = load_module(source, context)
        SdyImportPass().run(module.operation)
        module.operation.verify()
    assert not context.allow_unregistered_dialects
    return module


@pytest.mark.parametrize("debug_info", [False, True])
def test_lowered_text(sharded, debug_info):
    function, shape = sharded
    module = imported(function.lower(shape).as_text(debug_info=debug_info))
    ops = {op.name: op for op in walk(module.operation)}
    assert {"dist.mesh", "dist.constraint"} <= set(ops)
    assert "dist.spec" in str(ops["func.func"].attributes["arg_attrs"])
    if debug_info:
        assert "test_artifact.py" in describe(ops["stablehlo.tanh"].location)


def test_exported_artifact_with_shardings(sharded):
    import jax.export

    function, shape = sharded
    data = jax.export.export(function)(shape).mlir_module_serialized
    module = imported(data)
    assert "dist.constraint" in [op.name for op in walk(module.operation)]
