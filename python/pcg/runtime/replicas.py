"""Compile a program that is per-device already for replicas, so that XLA has nothing to partition.

jax compiles for one replica and as many partitions as there are devices: XLA's Shardy passes and partitioner then walk
through a program that `shard_map` has made per-device, and find nothing to do.  The same program compiled for as many
replicas of one partition runs the same on the same devices and compiles in less time (BERT of 12 layers: 2.4 s for
3.3).  What differs: device ids are replica ids, and arguments and results have their local types.

From jaxlib 0.12 on (`ifrt_version` 71) jax takes the shape of an array from the runtime, which has the local one for
results of replicas; there the program is compiled as jax lowers it.
"""

from __future__ import annotations

import copy
from typing import Any

import jax
import numpy as np
from jax._src import lib
from jax._src.interpreters import pxla
from jax._src.lib import xla_client
from jax.interpreters import mlir as jax_mlir

from pcg.runtime import jax_compat

ir = jax_mlir.ir

_REPLICAS, _PARTITIONS = "mhlo.num_replicas", "mhlo.num_partitions"
#: Whether results of replicas are arrays that jax can read.
USED: bool = getattr(lib, "ifrt_version", 0) < 71
#: Of arguments and results: how they are split among partitions.
_SHARDINGS = ("sdy.sharding", "mhlo.sharding")
#: Of collectives: which makes their groups ones of partitions.
_OF_PARTITIONS = ("channel_handle", "use_global_device_ids")


def compile_lowered(lowered: Any) -> jax.stages.Compiled:
    """What XLA makes of a lowered `jax.jit`; for replicas, if all of it is one `shard_map` over all devices."""
    module = lowered.compiler_ir()
    if not USED or int(ir.IntegerAttr(module.operation.attributes[_PARTITIONS])) == 1:
        return lowered.compile()
    with module.context:
        module = _copy(module)  # jax keeps what it lowered for other calls of the same function
        if not _as_replicas(module):
            return lowered.compile()
    lowering, lowered = copy.copy(lowered._lowering), copy.copy(lowered)
    lowering._hlo, lowering._executable = module, None
    lowered._lowering = lowering
    return lowered.compile()


def _copy(module: Any) -> Any:
    """The same module again."""
    found = ir.Module.create(module.operation.location)
    known = module.operation.attributes
    for name in known:
        found.operation.attributes[name] = known[name]
    for op in module.body.operations:
        found.body.append(op.operation.clone())
    return found


def _as_replicas(module: Any) -> bool:
    """Make a module of partitions one of replicas, if its entry is a `shard_map` and nothing else; say whether so."""
    symbols = list(module.body.operations)
    main = next(op for op in symbols if ir.StringAttr(op.attributes["sym_name"]).value == "main")
    block = main.operation.regions[0].blocks[0]
    if (found := _manual(block)) is None:
        return False
    manual, last = found
    body = manual.regions[0].blocks[0]
    for outer, inner in zip(block.arguments, body.arguments, strict=True):
        outer.set_type(inner.type)
        inner.replace_all_uses_with(outer)
    *inside, end = [op.operation for op in body.operations]
    for op in inside:
        op.move_before(manual)
    results = list(end.operands)
    for i, value in enumerate(results):
        last.operands[i] = value
    types = [x.type for x in block.arguments], [x.type for x in results]
    end.erase()
    manual.erase()
    main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*types))
    for side in ("arg_attrs", "res_attrs"):
        if side in main.attributes:
            rows = [ir.DictAttr(row) for row in ir.ArrayAttr(main.attributes[side])]
            kept = [{a.name: a.attr for a in row if a.name not in _SHARDINGS} for row in rows]
            main.attributes[side] = ir.ArrayAttr.get([ir.DictAttr.get(row) for row in kept])
    for op in symbols:
        if op.operation.name == "sdy.mesh":
            op.operation.erase()
    for op in list(jax_compat.operations(module.operation)):
        _of_replicas(op)
    attributes = module.operation.attributes
    attributes[_REPLICAS], attributes[_PARTITIONS] = attributes[_PARTITIONS], attributes[_REPLICAS]
    return True


def _manual(block: Any) -> tuple[Any, Any] | None:
    """The manual computation that a block consists of, and the return of its results; None if the block does more."""
    operations = [op.operation for op in block.operations]
    if [op.name for op in operations] != ["sdy.manual_computation", "func.return"]:
        return None
    manual, end = operations
    same = list(manual.operands) == list(block.arguments) and list(end.operands) == list(manual.results)
    return (manual, end) if same else None


def _of_replicas(op: Any) -> None:
    """A collective among replicas instead of partitions, or the number of the replica for that of the partition."""
    if op.name == "stablehlo.partition_id":
        with ir.InsertionPoint(op), op.location:
            found = ir.Operation.create("stablehlo.replica_id", results=[op.results[0].type])
        op.results[0].replace_all_uses_with(found.results[0])
        op.erase()
        return
    for name in _OF_PARTITIONS:
        if name in op.attributes:
            del op.attributes[name]


_create_compile_options = pxla.create_compile_options


def _options(
    computation: Any, tuple_args: bool, to_inputs: Any, to_outputs: Any, backend: Any, devices: np.ndarray, options: Any
) -> Any:
    """jax's options of a compilation; for replicas where the module says so."""
    out = _create_compile_options(computation, tuple_args, to_inputs, to_outputs, backend, devices, options)
    said = computation.operation.attributes
    replicas = int(ir.IntegerAttr(said[_REPLICAS])) if _REPLICAS in said else 1
    if replicas > 1:
        out.num_replicas, out.num_partitions = replicas, 1
        ids = np.array([d.id for d in devices.flat]).reshape(replicas, 1)
        out.device_assignment = xla_client.DeviceAssignment.create(ids)
    return out


pxla.create_compile_options = _options
