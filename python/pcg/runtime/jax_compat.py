"""The one file that touches what jax does not promise: a primitive whose lowering is StableHLO text.

`inline_call` puts an already lowered per-device module into the program that jax is building, as a
call to a private function, so that one `jax.jit` (its C++ dispatch, donation, asynchrony) runs it.
Works on jax 0.10 to 0.12.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import jax
from jax.extend import core as jex_core
from jax.interpreters import mlir as jax_mlir

from pcg.layout import Mesh

ir = jax_mlir.ir

#: Versions that the tests run on.
TESTED = ((0, 10), (0, 13))


@dataclass(frozen=True)
class LocalProgram:
    """A StableHLO module: its text and the types of its results (per device, inside `shard_map`)."""

    text: str = field(repr=False)
    results: tuple[jax.ShapeDtypeStruct, ...]
    entry: str = "main"

    @property
    def key(self) -> str:
        """Prefix of this module's symbols in the program that calls it."""
        return "pcg_" + hashlib.sha256(self.text.encode()).hexdigest()[:12]


_inline_call_p = jex_core.Primitive("pcg_inline_call")
_inline_call_p.multiple_results = True


def inline_call(program: LocalProgram, *args: Any) -> list[Any]:
    """Run `program`; only while `jax.jit` traces.

    Inside `jax.shard_map` arguments and results are local; outside, `program` is a global module, for
    example one with `sdy` shardings that XLA's partitioner carries out.
    """
    return list(_inline_call_p.bind(*args, program=program))


@_inline_call_p.def_abstract_eval
def _abstract_eval(*avals: Any, program: LocalProgram) -> list[Any]:
    like = type(avals[0]) if avals else jax.core.ShapedArray
    return [like(r.shape, r.dtype) for r in program.results]


def _lower(ctx: Any, *args: Any, program: LocalProgram) -> Sequence[Any]:
    module = ctx.module_context.module
    table = ctx.module_context.symbol_table
    name = f"{program.key}_{program.entry}"
    if name not in table:
        _merge(program, module, table)
    function = table[name]
    results = ir.FunctionType(function.attributes["function_type"].value).results
    call = ir.Operation.create(
        "func.call",
        results=list(results),
        operands=list(args),
        attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
    )
    return list(call.results)


jax_mlir.register_lowering(_inline_call_p, _lower)


def _merge(program: LocalProgram, module: Any, table: Any) -> None:
    """Move the symbols of `program` into `module`, private and with a prefix of their own."""
    source = ir.Module.parse(program.text, module.context)
    symbols = ir.SymbolTable(source.operation)
    operations = [op.operation for op in source.body.operations]
    for op in operations:
        old = ir.StringAttr(op.attributes["sym_name"]).value
        new = f"{program.key}_{old}"
        symbols.replace_all_symbol_uses(old, new, source.operation)
        symbols.set_symbol_name(op, new)
        op.attributes["sym_visibility"] = ir.StringAttr.get("private", module.context)
    for op in source.body.operations:
        module.body.append(op)
        table.insert(op)


def shard_map(function: Callable[..., Any], mesh: jax.sharding.Mesh, in_specs: Any, out_specs: Any) -> Any:
    """`jax.shard_map` over every axis of `mesh`, trusting `out_specs`."""
    return jax.shard_map(function, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)


def plain_function(text: str, results: Sequence[Any]) -> Callable[..., Any]:
    """A global StableHLO module in generic form as a jitted function; `results` have shape and dtype names.

    It runs where its arguments are.
    """
    types = tuple(jax.ShapeDtypeStruct(r.shape, jax.numpy.dtype(r.dtype)) for r in results)
    program = LocalProgram(text, types)
    return jax.jit(lambda *args: inline_call(program, *args))


def jax_mesh(mesh: Mesh, devices: Sequence[Any]) -> jax.sharding.Mesh:
    """Our mesh as a jax mesh; `devices` has one device per mesh position."""
    import numpy as np

    grid = np.empty(len(devices), dtype=object)
    grid[:] = list(devices)
    kinds = (jax.sharding.AxisType.Auto,) * len(mesh.axes)
    return jax.sharding.Mesh(grid.reshape(mesh.sizes), mesh.names, axis_types=kinds)


def x64(needed: bool) -> AbstractContextManager[Any]:
    """A context in which 64-bit arrays exist, when `needed` and they do not already."""
    if not needed or jax.config.jax_enable_x64:
        return nullcontext()
    return jax.enable_x64(True)


def is_key(dtype: Any) -> bool:
    """Whether `dtype` is that of typed PRNG keys."""
    return bool(jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key))


def any_traced(values: Any) -> bool:
    """Whether some of a tree of arrays stand for arguments of a function that jax is tracing."""
    return any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(values))


def key_dtype(impl: str) -> Any:
    """The dtype of typed PRNG keys of the generator `impl`."""
    return jax.eval_shape(lambda: jax.random.key(0, impl=impl)).dtype


def key_impl(dtype: Any) -> str:
    """Name of the generator behind a key dtype, as `jax.random.wrap_key_data` takes it."""
    return str(dtype._impl.name)


def key_data_shape(dtype: Any) -> tuple[int, ...]:
    """Shape of the integers behind one key."""
    return tuple(dtype._impl.key_shape)


def tracing_mesh(mesh: jax.sharding.Mesh | None) -> AbstractContextManager[Any]:
    """A context in which bare PartitionSpecs refer to `mesh`, unless the user already set one."""
    if mesh is None or not jax.sharding.get_abstract_mesh().empty:
        return nullcontext()
    return jax.set_mesh(mesh)


def quietly(call: Callable[[], Any]) -> Any:
    """`call()` without jax's warning about donated buffers that no result can take over."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Some donated buffers were not usable")
        return call()


def is_typed_by_mesh(x: Any) -> bool:
    """Whether the type of `x` names axes of a mesh (jax's explicit sharding)."""
    mesh = getattr(getattr(jax.typeof(x), "sharding", None), "mesh", None)
    return mesh is not None and not mesh.empty and bool(mesh.explicit_axes)
