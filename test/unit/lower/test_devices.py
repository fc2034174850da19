"""XLA accepts and executes our collectives on eight CPU devices."""

import itertools

import numpy as np
import pytest
from torch_mlir import ir

from pcg.emulate import lowered_layouts
from pcg.ir.walk import entry
from pcg.layout import Mesh
from support.layoutpairs import layouts, moves, program, sums
from support.lowercheck import lower
from support.rulecheck import context, dtype_of

jax = pytest.importorskip("jax")


def on_devices(module: ir.Module, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Run a per-device module on as many CPU devices, by the runtime's way into jax; global results."""
    from pcg.runtime.jax_compat import LocalProgram, inline_call, jax_mesh, shard_map

    with context():
        mesh, ins, outs = lowered_layouts(module)
        main = entry(module)
        assert main is not None
        types = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results
        results = tuple(jax.ShapeDtypeStruct(tuple(t.shape), dtype_of(t.element_type)) for t in types)
        local = LocalProgram(str(module), results)
    devices = jax.devices("cpu")[: mesh.size]
    if len(devices) < mesh.size:
        pytest.skip(f"needs {mesh.size} devices, has {len(devices)}")

    def partition(spec):
        return jax.P(*(d or None for d in spec.dims))

    body = shard_map(
        lambda *args: inline_call(local, *args), jax_mesh(mesh, devices), tuple(map(partition, ins)),
        list(map(partition, outs)),
    )  # fmt: skip
    return [np.asarray(x) for x in jax.jit(body)(*inputs)]


@pytest.mark.parametrize("fuse", [True, False])
def test_redistribution_of_whole_values(fuse):
    mesh = Mesh.parse("data=2,model=4")
    pairs = list(itertools.product(layouts(mesh, 2), repeat=2))[::7]
    rng = np.random.default_rng(0)
    inputs = [rng.integers(-9, 9, (16, 8)).astype(np.int32) for _ in pairs]
    got = on_devices(lower(program(mesh, pairs, "16x8", moves), fuse), inputs)
    for g, want in zip(got, inputs, strict=True):
        np.testing.assert_array_equal(g, want)


def test_redistribution_of_partial_values():
    mesh = Mesh.parse("data=2,model=4")
    sources = [s for s in layouts(mesh, 2, True) if s.partial]
    pairs = list(itertools.product(sources, layouts(mesh, 2)))[::5]
    rng = np.random.default_rng(0)
    inputs = [rng.integers(-9, 9, (16, 8, 8)).astype(np.int32) for _ in pairs]
    got = on_devices(lower(program(mesh, pairs, "16x8", sums)), inputs)
    for g, want in zip(got, inputs, strict=True):
        np.testing.assert_array_equal(g, want.sum(2, dtype=np.int32))
