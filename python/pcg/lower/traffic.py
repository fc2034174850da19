"""What the processes of a program of placed stages send each other: collectives inside stages, and transfers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from torch_mlir import ir

from pcg.ir import mesh_names, shardings
from pcg.ir.errors import PcgError
from pcg.ir.loops import assumed_iterations
from pcg.ir.stages import stage_mesh
from pcg.ir.types import tensor_bytes
from pcg.layout import Mesh, ShardSpec
from pcg.lower.processes import devices
from pcg.lower.redistribution_ops import itemsize
from pcg.machine.traffic import Exchange, GroupExchange, Messages, Need, Traffic
from pcg.reshard import cross_mesh_plan
from pcg.reshard.cross import shards
from pcg.rules.collectives import STEP_KINDS


def traffic_of(
    func: ir.Operation, local: Mapping[ir.Operation, ir.Operation], kinds: Mapping[int, str | None]
) -> tuple[tuple[int, ...], Traffic]:
    """The processes (logical devices) of a program of placed stages, and the traffic between them by their positions.

    Args:
      func: the entry function.
      local: what a device of its mesh runs of each stage.
      kinds: the kind of device that a process needs, by its logical device.  The memory that it needs is that of
        its arguments.
    """
    meshes = shardings.meshes_of(func.parent)
    processes = tuple(sorted({d for m in meshes.values() for d in devices(m)}))
    index = {d: i for i, d in enumerate(processes)}
    exchanges: list[Exchange] = []
    for op in func.regions[0].blocks[0].operations:
        op = op.operation
        if op in local:
            ids = [index[d] for d in devices(meshes[stage_mesh(op)])]
            _collectives(local[op], ids, 1.0, exchanges)
        elif op.name == "pcg.transfer":
            (src, a), (dst, b) = (_placed(v) for v in (op.operands[0], op.results[0]))
            value = op.operands[0]
            plan = cross_mesh_plan(src, meshes[a], dst, meshes[b], value.type.shape, itemsize(value))
            if plan.pieces:
                sent = ((index[p.sender], index[p.receiver], p.elements * plan.itemsize) for p in plan.pieces)
                exchanges.append(Messages(tuple(sent)))
    needs = _needs(func, meshes, processes, kinds)
    return processes, Traffic(len(processes), tuple(exchanges), needs)


def _placed(value: ir.Value) -> tuple[ShardSpec, str]:
    spec, name = shardings.get(value), mesh_names.mesh_name_of(value)
    if spec is None or name is None:
        what = "no layout" if spec is None else "no mesh"
        raise PcgError(f"a value that moves between stages has {what}; pcg-place-stages gives it one", value.location)
    return spec, name


def _collectives(op: ir.Operation, ids: Sequence[int], times: float, into: list[Exchange]) -> None:
    """Collectives inside of `op`, whose positions are the processes `ids`; those in loops, times their iterations."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                inner = inner.operation
                kind = STEP_KINDS.get(inner.name)
                # Lowering makes no broadcasts; those of manual computations are not counted.
                if kind is not None and inner.name != "stablehlo.collective_broadcast":
                    into.append(_exchange(inner, kind, ids, times))
                elif inner.name == "stablehlo.while":
                    _collectives(inner, ids, times * assumed_iterations(inner, times), into)
                else:
                    _collectives(inner, ids, times, into)


def _exchange(op: ir.Operation, kind: str, ids: Sequence[int], times: float) -> Exchange:
    name = "source_target_pairs" if kind == "permute" else "replica_groups"
    rows = np.array(ir.DenseIntElementsAttr(op.attributes[name])).tolist()
    groups = tuple(tuple(ids[p] for p in row if p >= 0) for row in rows)
    of = op.results if kind == "all_gather" else op.operands
    size = float(sum(tensor_bytes(v.type) for v in of))
    if kind == "permute":
        return Messages(tuple((a, b, size) for a, b in groups if a != b), times)
    return GroupExchange(kind, groups, size, times)


def _needs(
    func: ir.Operation, meshes: Mapping[str, Mesh], processes: Sequence[int], kinds: Mapping[int, str | None]
) -> tuple[Need, ...]:
    memory = dict.fromkeys(processes, 0.0)
    for argument in func.regions[0].blocks[0].arguments:
        spec, name = _placed(argument)
        for device, box in shards(spec, meshes[name], argument.type.shape):
            memory[device] += tensor_bytes(argument.type, [b - a for a, b in box])
    return tuple(Need(kinds.get(d), memory[d]) for d in processes)
