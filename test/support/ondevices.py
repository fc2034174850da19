"""Run the program of one device on as many CPU devices, by the runtime's way into jax.

The second oracle beside the emulator: XLA simplifies what it compiles, and the emulator does not.  Blocks may be
uneven (their padding is poison, as the emulator's) and layouts partial, which no jax array of a user can be: each
device is given its own block of an array of the padded shape.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np
import pytest
from torch_mlir import ir

from pcg.emulate import lowered_layouts
from pcg.emulate.program import global_types
from pcg.ir.walk import entry
from pcg.layout import Mesh, ShardSpec
from pcg.runtime import jax_compat, placement
from support import rulecheck
from support.rulecheck import context, dtype_of


def run(module: ir.Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Run what pcg-lower-spmd made on global inputs; global results, of which replicas must agree.

    Raises:
      AssertionError: devices that hold the same shard of a result hold other values.
    """
    with context():
        mesh, ins, outs = lowered_layouts(module)
        whole = global_types(module)
        shapes = None if whole is None else [tuple(t.shape) for t in whole.results]
        text = str(module)
    given = [rulecheck.split(np.asarray(x), s, mesh) for x, s in zip(inputs, ins, strict=True)]
    made = run_blocks(text, mesh, ins, outs, given)
    if shapes is None:
        locals_ = [row[0].shape for row in made]
        shapes = [
            tuple(n * k for n, k in zip(local, s.shards(mesh), strict=True))
            for local, s in zip(locals_, outs, strict=True)
        ]
    return [
        rulecheck.gather(row, s, mesh, shape, f"result {i}\n{text}")
        for i, (row, s, shape) in enumerate(zip(made, outs, shapes, strict=True))
    ]


def run_blocks(
    text: str, mesh: Mesh, ins: Sequence[ShardSpec], outs: Sequence[ShardSpec],
    given: Sequence[Sequence[np.ndarray]],
) -> list[list[np.ndarray]]:  # fmt: skip
    """Run a per-device module; `given[i][p]` is what mesh position p holds of argument i, likewise the results."""
    devices = jax.devices("cpu")
    if len(devices) < mesh.size:
        pytest.skip(f"needs {mesh.size} devices, has {len(devices)}")
    on = jax_compat.jax_mesh(mesh, devices[: mesh.size])
    with context():
        module = ir.Module.parse(text)  # kept: it owns its ops
        main = entry(module)
        assert main is not None
        types = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
        wide = any(str(t.element_type).rstrip(">").endswith("64") for t in [*types.inputs, *types.results])
        results = tuple(jax.ShapeDtypeStruct(tuple(t.shape), dtype_of(t.element_type)) for t in types.results)
    local = jax_compat.LocalProgram(text, results)
    # What has no elements is made where it is wanted, as the runtime does: XLA cannot take it apart.
    in_specs = [placement.partition_spec(s) for s, parts in zip(ins, given, strict=True) if parts[0].size]
    out_specs = [placement.partition_spec(s) for s, t in zip(outs, results, strict=True) if t.size]

    def on_device(*values: jax.Array) -> list[jax.Array]:
        left = iter(values)
        every = [next(left) if parts[0].size else jax.numpy.zeros(parts[0].shape, parts[0].dtype) for parts in given]
        return [x for x in jax_compat.inline_call(local, *every) if x.size]

    body = jax_compat.shard_map(on_device, on, tuple(in_specs), out_specs)
    with jax_compat.x64(wide):
        arrays, names = [], iter(in_specs)
        for parts, spec in zip(given, ins, strict=True):
            if not parts[0].size:
                continue
            shape = tuple(n * k for n, k in zip(parts[0].shape, spec.shards(mesh), strict=True))
            held = [jax.device_put(x, d) for x, d in zip(parts, on.devices.flat, strict=True)]
            sharding = jax.sharding.NamedSharding(on, next(names))
            arrays.append(jax.make_array_from_single_device_arrays(shape, sharding, held))
        made = iter(jax.jit(body)(*arrays))
        order = {d: p for p, d in enumerate(on.devices.flat)}
        out: list[list[np.ndarray]] = []
        for t in results:
            if not t.size:
                out.append([np.zeros(t.shape, t.dtype)] * mesh.size)
                continue
            x = next(made)
            row = sorted(x.addressable_shards, key=lambda s: order[s.device])
            out.append([np.asarray(s.data) for s in row])
    return out
