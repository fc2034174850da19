"""XLA runs every collective that we make on tensors of every element type, on two CPU devices."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from torch_mlir import ir

from pcg.layout import Mesh
from pcg.lower.collectives import CollectiveBuilder
from pcg.tools.op_variants import CLASSES
from support.rulecheck import context, dtype_of

jax = pytest.importorskip("jax")
MESH = Mesh.of({"x": 2})
FIRST = [elements[0] for elements in CLASSES.values()]
REST = [element for elements in CLASSES.values() for element in elements[1:]]


def kinds(element):
    """Reductions of an element type."""
    numbers = () if element.startswith("complex") else ("max", "min")
    return ("sum", "prod", *numbers, *(("and", "or") if element.lstrip("u").startswith("i") else ()))


def reduced(kind, a, b):
    """What two devices' tensors are reduced to; arithmetic on booleans is logic."""
    if a.dtype == np.bool_:
        return a | b if kind in ("sum", "max", "or") else a & b
    if kind in ("and", "or"):
        wide = a.astype(np.int64), b.astype(np.int64)
        return (np.bitwise_and if kind == "and" else np.bitwise_or)(*wide).astype(a.dtype)
    return {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[kind](a, b).astype(a.dtype)


def collectives(element, xs):
    """(makes the collective, what each device then holds) of all collectives."""
    a, b = xs
    whole = np.concatenate(xs)
    yield lambda c, x: c.all_gather(x, 0, ("x",)), (whole, whole)
    yield (
        lambda c, x: c.all_to_all(x, 1, 0, ("x",)),
        [np.concatenate([v[:, 3 * d : 3 * d + 3] for v in xs]) for d in range(2)],
    )
    yield lambda c, x: c.shift(x, ("x",), 1), (np.zeros_like(a), a)
    yield lambda c, x: c.slice(x, 0, ("x",)), (a[:2], b[2:])
    for kind in kinds(element):
        total = reduced(kind, a, b)
        yield lambda c, x, k=kind: c.all_reduce(x, ("x",), k), (total, total)
        yield lambda c, x, k=kind: c.reduce_scatter(x, 0, ("x",), k), (total[:2], total[2:])


def run(element):
    """One program with all collectives on two devices."""
    from pcg.runtime.jax_compat import LocalProgram, inline_call, jax_mesh, shard_map

    devices = jax.devices("cpu")[:2]
    if len(devices) < 2:
        pytest.skip("needs two devices")
    rng = np.random.default_rng(0)
    with context(), ir.Location.unknown():
        type_ = ir.RankedTensorType.get([4, 6], ir.Type.parse(element))
        dtype = dtype_of(type_.element_type)
        xs = [rng.integers(0, 2, (4, 6)).astype(np.int8).astype(dtype) for _ in range(2)]
        made = list(collectives(element, xs))
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            main = ir.Operation.create(
                "func.func", regions=1,
                attributes={
                    "sym_name": ir.StringAttr.get("main"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get([type_], [])),
                },
            )  # fmt: skip
        block = main.regions[0].blocks.append(type_)
        with ir.InsertionPoint(block):
            emitter = CollectiveBuilder(MESH)
            values = [make(emitter, block.arguments[0]) for make, _ in made]
            ir.Operation.create("func.return", operands=values)
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([type_], [v.type for v in values]))
        module.operation.verify()
        results = tuple(jax.ShapeDtypeStruct(tuple(v.type.shape), dtype) for v in values)
        local = LocalProgram(str(module), results)
    split = jax.P("x")
    body = shard_map(
        lambda *args: inline_call(local, *args), jax_mesh(MESH, devices), (split,), [split] * len(results)
    )  # fmt: skip
    with jax.enable_x64(True):
        got = [np.asarray(x) for x in jax.jit(body)(np.concatenate(xs))]
    wide = np.int64 if dtype in (ml_dtypes.int4, ml_dtypes.uint4) or dtype.kind in "biu" else np.complex128
    for found, (_, want) in zip(got, made, strict=True):
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.astype(wide), np.concatenate(want).astype(wide))


@pytest.mark.parametrize("element", FIRST)
def test_collectives(element):
    run(element)


@pytest.mark.exhaustive
@pytest.mark.parametrize("element", REST)
def test_collectives_of_other_types(element):
    run(element)
