"""What jax does not promise is touched here (and in `replicas`): a primitive whose lowering is StableHLO text.

`inline_call` puts an already lowered per-device module into the program that jax is building, as a
call to a private function, so that one `jax.jit` (its C++ dispatch, donation, asynchrony) runs it.
Works on jax 0.10 to 0.12.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jax._src import config as jax_config
from jax._src import distributed as jax_distributed
from jax._src import effects as jax_effects
from jax._src.array import ArrayImpl
from jax._src.lax.lax import _convert_element_type
from jax.extend import core as jex_core
from jax.interpreters import ad, batching
from jax.interpreters import mlir as jax_mlir

from pcg.driver.program import ELEMENT_DTYPES
from pcg.layout import Mesh
from pcg.runtime.host import HostErrors
from pcg.runtime.inputs import np_dtype

ir = jax_mlir.ir

#: Versions that the tests run on.
TESTED = ((0, 10), (0, 13))


#: What jitted functions return, except for random keys.
ARRAY = ArrayImpl
#: Custom calls that call a Python function by its number in the list that goes with the module.
_NUMBERED_CALLBACK = re.compile(r"xla_ffi_(partitioned_)?python_(cpu|gpu|tpu)_callback")
_ANY_CALLBACK = re.compile(r"xla_\w*python_(cpu|gpu|tpu)_callback")


class HostEffect(jax_effects.Effect):
    """A program does something besides computing its results, so that jax must run it even if nobody uses them."""

    def __str__(self) -> str:
        return "PcgHost"


_HOST_EFFECT = HostEffect()
for _allowed in (jax_effects.lowerable_effects, jax_effects.control_flow_allowed_effects):
    _allowed.add_type(HostEffect)


@dataclass(frozen=True)
class LocalProgram:
    """A StableHLO module: its text and the types of its results (per device, inside `shard_map`).

    `callbacks` are the Python functions that it calls, by number, and `errors` keeps theirs if the program runs on
    several devices; `effects`: it does more than compute its results.
    """

    text: str = field(repr=False)
    results: tuple[jax.ShapeDtypeStruct, ...]
    entry: str = "main"
    callbacks: tuple[Callable[..., Any], ...] = field(default=(), repr=False)
    effects: bool = False
    errors: HostErrors | None = field(default=None, repr=False)

    @property
    def key(self) -> str:
        """Prefix of this module's symbols in the program that calls it."""
        called = "".join(f" {id(c)}" for c in self.callbacks)
        return "pcg_" + hashlib.sha256((self.text + called).encode()).hexdigest()[:12]


_inline_call_p = jex_core.Primitive("pcg_inline_call")
_inline_call_p.multiple_results = True


def inline_call(program: LocalProgram, *args: Any) -> list[Any]:
    """Run `program`; only while `jax.jit` traces.

    Inside `jax.shard_map` arguments and results are local; outside, `program` is a global module, for
    example one with `sdy` shardings that XLA's partitioner carries out.
    """
    return list(_inline_call_p.bind(*args, program=program))


@_inline_call_p.def_effectful_abstract_eval
def _abstract_eval(*avals: Any, program: LocalProgram) -> tuple[list[Any], set[Any]]:
    like = type(avals[0]) if avals else jax.core.ShapedArray
    return [like(r.shape, r.dtype) for r in program.results], {_HOST_EFFECT} if program.effects else set()


def _lower(ctx: Any, *args: Any, program: LocalProgram) -> Sequence[Any]:
    table = ctx.module_context.symbol_table
    name = f"{program.key}_{program.entry}"
    if name not in table:
        _merge(program, ctx.module_context)
    function = table[name]
    results = ir.FunctionType(function.attributes["function_type"].value).results
    callee = {"callee": ir.FlatSymbolRefAttr.get(name)}
    return list(ir.Operation.create("func.call", results=list(results), operands=list(args), attributes=callee).results)


jax_mlir.register_lowering(_inline_call_p, _lower)


def _of_compiled(what: str) -> Callable[..., Any]:
    def refuse(*args: Any, **params: Any) -> Any:
        raise NotImplementedError(
            f"{what} of a compiled program: compile it instead, as pcg.compile(jax.{what}(function), mesh)"
        )

    return refuse


ad.primitive_jvps[_inline_call_p] = _of_compiled("grad")
batching.primitive_batchers[_inline_call_p] = _of_compiled("vmap")


def _merge(program: LocalProgram, context: Any) -> None:
    """Move the symbols of `program` into the module of `context`, private and with a prefix of their own."""
    module, table = context.module, context.symbol_table
    source = ir.Module.parse(program.text, module.context)
    _renumber(program, source, context)
    symbols = ir.SymbolTable(source.operation)
    for op in [op.operation for op in source.body.operations]:
        old = ir.StringAttr(op.attributes["sym_name"]).value
        new = f"{program.key}_{old}"
        symbols.replace_all_symbol_uses(old, new, source.operation)
        symbols.set_symbol_name(op, new)
        op.attributes["sym_visibility"] = ir.StringAttr.get("private", module.context)
    for op in source.body.operations:
        module.body.append(op)
        table.insert(op)


def _renumber(program: LocalProgram, source: Any, context: Any) -> None:
    """Hand the callbacks of `program` to jax, which keeps them with the executable, under the numbers that it gives.

    Raises:
      ValueError: the program calls a Python function that it does not have, as one read from a file does.
    """
    numbers: dict[int, int] = {}
    with source.context:
        for op in operations(source.operation):
            if op.name != "stablehlo.custom_call":
                continue
            name = ir.StringAttr(op.attributes["call_target_name"]).value
            if not _ANY_CALLBACK.fullmatch(name):
                continue
            config = op.attributes["mhlo.backend_config"] if "mhlo.backend_config" in op.attributes else {}
            old = ir.IntegerAttr(config["index"]) if _NUMBERED_CALLBACK.fullmatch(name) and "index" in config else None
            if old is None or old.value >= len(program.callbacks):
                raise ValueError(f"custom call @{name} is of a Python function of another process; it cannot be called")
            if old.value not in numbers:
                callback = program.callbacks[old.value]
                if program.errors is not None:
                    callback = program.errors.guarded(callback, [_np_type(r.type) for r in op.results])
                context.add_host_callback(callback)
                numbers[old.value] = len(context.host_callbacks) - 1
            kept = {a.name: a.attr for a in ir.DictAttr(config)}
            kept["index"] = ir.IntegerAttr.get(old.type, numbers[old.value])
            op.attributes["mhlo.backend_config"] = ir.DictAttr.get(kept)


def _np_type(type_: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and dtype of a tensor type of jax's MLIR."""
    tensor = ir.RankedTensorType(type_)
    return tuple(tensor.shape), np_dtype(ELEMENT_DTYPES[str(tensor.element_type)])


def operations(op: Any) -> Iterator[Any]:
    """The operations inside of one of jax's MLIR, each before those inside of it."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                yield from operations(inner.operation)


def callbacks_of(lowered: Any) -> tuple[Callable[..., Any], ...]:
    """The Python functions that a `jax.stages.Lowered` calls, by their number in its module."""
    known = getattr(getattr(lowered, "_lowering", None), "compile_args", None) or {}
    return tuple(known.get("host_callbacks") or ())


def has_ordered_effects(lowered: Any) -> bool:
    """Whether a `jax.stages.Lowered` does things on the host in an order that must be kept."""
    known = getattr(getattr(lowered, "_lowering", None), "compile_args", None) or {}
    return bool(known.get("ordered_effects"))


@contextmanager
def any_order(jaxpr: Any) -> Iterator[None]:
    """A context in which jax lowers ordered effects for several devices too; who keeps their order is the caller."""
    known = jax_effects.shardable_ordered_effects
    before = set(known._effect_types)
    for effect in jax_effects.ordered_effects.filter_in(getattr(jaxpr, "effects", ())):
        known.add_type(type(effect))
    try:
        yield
    finally:
        known._effect_types = before


def name_arguments(module: Any, names: Sequence[str], constants: int, mark: str) -> None:
    """Call the arguments of the entry function what the user does; the last `constants` get the attribute `mark`."""
    with module.context:
        func = next(o for o in module.body.operations if str(o.operation.attributes["sym_name"]) == '"main"').operation
        for argument, name in zip(func.regions[0].blocks[0].arguments, names, strict=True):
            argument.set_location(ir.Location.name(name))
        if not constants:
            return
        rows = [ir.DictAttr(row) for row in ir.ArrayAttr(func.attributes["arg_attrs"])]
        for i in range(len(rows) - constants, len(rows)):
            rows[i] = ir.DictAttr.get({a.name: a.attr for a in rows[i]} | {mark: ir.UnitAttr.get()})
        func.attributes["arg_attrs"] = ir.ArrayAttr.get(rows)


def equations(jaxpr: Any) -> Iterator[Any]:
    """The equations of a jaxpr and of the jaxprs inside it."""
    for eqn in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        yield eqn
        for inner in jex_core.jaxprs_in_params(eqn.params):
            yield from equations(inner)


def called(eqn: Any) -> Any:
    """The closed jaxpr of a jitted function that an equation calls; None if the call asks for layouts or donates."""
    if eqn.primitive.name not in ("jit", "pjit") or any(eqn.params["donated_invars"]):
        return None
    shardings = *eqn.params["in_shardings"], *eqn.params["out_shardings"]
    free = all(type(s).__name__ == "UnspecifiedValue" for s in shardings)
    return eqn.params["jaxpr"] if free else None


def no_names(jaxpr: Any) -> Any:
    """Debug information for a part of `jaxpr`, whose arguments and results have no names of their own."""
    return jaxpr.debug_info._replace(arg_names=None, result_paths=None)


def is_breakpoint(eqn: Any) -> bool:
    """Whether an equation is what `jax.debug.breakpoint` leaves in a jaxpr."""
    if eqn.primitive.name not in ("debug_callback", "pure_callback"):
        return False
    work, seen = [eqn.params.get("callback")], 0
    while work and seen < 50:  # the function is wrapped in others
        found, seen = work.pop(), seen + 1
        if getattr(found, "__module__", "") == "jax._src.debugger.core" and callable(found):
            return True
        work += [c.cell_contents for c in getattr(found, "__closure__", None) or () if callable(c.cell_contents)]
        work += [x for x in (getattr(found, n, None) for n in ("callback_func", "func", "__wrapped__")) if x]
    return False


def shard_map(function: Callable[..., Any], mesh: jax.sharding.Mesh, in_specs: Any, out_specs: Any) -> Any:
    """`jax.shard_map` over every axis of `mesh`, trusting `out_specs`."""
    return jax.shard_map(function, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)


def plain_function(text: str, results: Sequence[Any], entry: str = "main") -> Callable[..., Any]:
    """Function `entry` of a global StableHLO module in generic form, jitted; `results` have shape and dtype names.

    It runs where its arguments are.
    """
    types = tuple(jax.ShapeDtypeStruct(r.shape, jax.numpy.dtype(r.dtype)) for r in results)
    program = LocalProgram(text, types, entry)
    return jax.jit(lambda *args: inline_call(program, *args))


def jax_mesh(mesh: Mesh, devices: Sequence[Any]) -> Any:
    """Our mesh as a jax mesh; `devices` has one device per mesh position.

    Of devices that this process does not have it is an `AbstractMesh`: layouts can be named, nothing can run.
    """
    kinds = (jax.sharding.AxisType.Auto,) * len(mesh.axes)
    if not isinstance(devices[0], jax.Device):
        return jax.sharding.AbstractMesh(mesh.sizes, mesh.names, axis_types=kinds)
    grid = np.empty(len(devices), dtype=object)
    grid[:] = list(devices)
    return jax.sharding.Mesh(grid.reshape(mesh.sizes), mesh.names, axis_types=kinds)


def x64(needed: bool) -> AbstractContextManager[Any]:
    """A context in which 64-bit arrays exist, when `needed` and they do not already."""
    if not needed or jax.config.jax_enable_x64:
        return nullcontext()
    return jax.enable_x64(True)


class Coordination:
    """The key-value store that the processes of a multi-controller job share."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def set(self, key: str, value: str) -> None:
        """Write `value` for all processes."""
        self._client.key_value_set(key, value)

    def set_first(self, key: str, value: str) -> str:
        """Write `value` unless something is written there already; what is there."""
        try:
            self._client.key_value_set(key, value)
        except Exception as error:  # as in `get`
            if "ALREADY_EXISTS" not in str(error):
                raise
            return self.get(key, 1.0) or value
        return value

    def get(self, key: str, seconds: float) -> str | None:
        """What a process has written, or writes in the next `seconds`; None if none does."""
        try:
            return str(self._client.blocking_key_value_get(key, max(int(seconds * 1000), 1)))
        except Exception as error:  # its type is XLA's for every status
            if "DEADLINE_EXCEEDED" in str(error):
                return None
            raise

    def delete(self, prefix: str) -> None:
        """Forget what was written below `prefix`."""
        self._client.key_value_delete(prefix)


def coordination() -> Coordination:
    """The store of this job.

    Raises:
      RuntimeError: the job was not started by `jax.distributed.initialize`.
    """
    client = jax_distributed.global_state.client
    if client is None:
        raise RuntimeError("a mesh of several processes' devices needs jax.distributed.initialize")
    return Coordination(client)


def devices_of(sharding: jax.sharding.Sharding) -> tuple[Any, ...]:
    """The devices of an array of this sharding, in the order of its shards."""
    return tuple(sharding._device_assignment)


def put(x: Any, sharding: jax.sharding.Sharding) -> jax.Array:
    """An array on devices, of which other processes may have some: these then have the same array of the host.

    `jax.device_put` would compare it between all processes, also those without any of the devices.
    """
    if sharding.is_fully_addressable or isinstance(x, jax.Array):
        return jax.device_put(x, sharding)
    x = np.asarray(x)
    return jax.make_array_from_callback(x.shape, sharding, lambda index: x[index])


def is_key(dtype: Any) -> bool:
    """Whether `dtype` is that of typed PRNG keys."""
    return bool(jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key))


def is_ready(x: Any) -> bool:
    """Whether an array is computed; arrays of random keys do not say it, but those of the integers behind them do."""
    return bool(getattr(x, "_base_array", x).is_ready())


def any_traced(values: Any) -> bool:
    """Whether some of a tree of arrays stand for arguments of a function that jax is tracing."""
    return any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(values))


#: What jax's own cache of traced functions goes by beside arguments: 64-bit mode, precision of products, ...
trace_context: Callable[[], Any] = jax_config.trace_context


def is_traced_here() -> bool:
    """Whether jax is tracing a function."""
    return bool(jex_core.unsafe_am_i_under_a_jit_DO_NOT_USE())


def is_reference(aval: Any) -> bool:
    """Whether a type is that of mutable arrays."""
    return type(aval).__name__ == "AbstractRef"


def is_weak(x: Any) -> bool:
    """Whether the dtype of an argument gives way to that of what it meets, as those of Python numbers do."""
    found = getattr(x, "weak_type", None)
    return type(x) in (int, float, complex) if found is None else bool(found)


def weakened(x: Any) -> Any:
    """`x`, whose dtype gives way to that of what it meets."""
    return _convert_element_type(x, weak_type=True)


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
    return jax.sharding.use_abstract_mesh(mesh) if isinstance(mesh, jax.sharding.AbstractMesh) else jax.set_mesh(mesh)


def quietly(call: Callable[[], Any]) -> Any:
    """`call()` without jax's warning about donated buffers that no result can take over."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Some donated buffers were not usable")
        return call()


def is_typed_by_mesh(x: Any) -> bool:
    """Whether the type of `x` names axes of a mesh (jax's explicit sharding)."""
    mesh = getattr(getattr(jax.typeof(x), "sharding", None), "mesh", None)
    return mesh is not None and not mesh.empty and bool(mesh.explicit_axes)
