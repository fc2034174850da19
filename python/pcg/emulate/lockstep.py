"""The oracle: N devices running one program in lock step, as one ordinary single-device program.

Every per-device value becomes N values; collectives become additions, concatenations and slices of
them.  A loop or conditional with collectives inside becomes one that carries all devices' values.
Nothing here is shared with the lowering, so that one cannot hide a mistake of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from torch_mlir import ir

from pcg.emulate.build import concatenate, constant_u32, create, slice_dim, zeros
from pcg.ir.clone import clone_mapped
from pcg.ir.errors import PcgError
from pcg.rules.registry import CONTROL_FLOW, TERMINATORS

Device = dict[ir.Value, ir.Value]
Values = list[ir.Value]


class LockStep:
    """Emulates `devices` devices.  `env[d]` maps a value of the per-device program to device `d`'s."""

    def __init__(self, devices: int) -> None:
        self.devices = devices
        self.env: list[Device] = [{} for _ in range(devices)]

    def block(self, block: ir.Block) -> list[Values]:
        """Emulate the ops of a block at the insertion point; returns the terminator's operands per device."""
        for op in block.operations:
            op = op.operation
            if op.name in TERMINATORS:
                return [self.of(v) for v in op.operands]
            if op.name in _COLLECTIVES:
                self.bind(op, 0, _COLLECTIVES[op.name](self, op))
            elif op.name in CONTROL_FLOW and _communicates(op):
                self.control_flow(op)
            elif _communicates(op):
                raise PcgError(f"'{op.name}' op has collectives in its regions, which cannot be emulated", op.location)
            else:
                for env in self.env:
                    clone_mapped(op, env)
        raise PcgError("block has no terminator", block.owner.location)

    def of(self, value: ir.Value) -> Values:
        """A value on every device."""
        return [env[value] for env in self.env]

    def bind(self, op: ir.Operation, i: int, values: Sequence[ir.Value]) -> None:
        for env, value in zip(self.env, values, strict=True):
            env[op.results[i]] = value

    def control_flow(self, op: ir.Operation) -> None:
        """One loop or conditional for all devices; device 0 decides, for the predicate is replicated."""
        loop = op.name == "stablehlo.while"
        count = len(op.results)
        operands = [self.of(v) for v in op.operands]
        types = [r.type for r in op.results for _ in range(self.devices)]
        new = ir.Operation.create(
            op.name, results=types, regions=len(op.regions), loc=op.location,
            operands=[x for v in operands for x in v] if loop else [operands[0][0]],
        )
        for i, (old, region) in enumerate(zip(op.regions, new.regions, strict=True)):
            old_block = old.blocks[0]
            block = region.blocks.append(
                *(types if loop else []), arg_locs=[op.location] * (len(types) if loop else 0)
            )
            for k, argument in enumerate(old_block.arguments):
                for d, env in enumerate(self.env):
                    env[argument] = block.arguments[k * self.devices + d]
            with ir.InsertionPoint(block), op.location:
                yielded = self.block(old_block)
                decides = loop and i == 0
                returned = [yielded[0][0]] if decides else [x for v in yielded for x in v]
                ir.Operation.create("stablehlo.return", operands=returned)
        for k in range(count):
            self.bind(op, k, list(new.results)[k * self.devices : (k + 1) * self.devices])

    # -- collectives ---------------------------------------------------------------------------

    def in_groups(self, op: ir.Operation) -> Values:
        """Apply a collective (operands of a group -> results of the group) to each replica group."""
        operands = self.of(op.operands[0])
        out: list[ir.Value | None] = [None] * self.devices
        for group in np.array(ir.DenseIntElementsAttr(op.attributes["replica_groups"])).tolist():
            for d, value in zip(group, GROUPED[op.name](op, [operands[d] for d in group]), strict=True):
                out[d] = value
        return [_present(v, d, op) for d, v in enumerate(out)]

    def collective_permute(self, op: ir.Operation) -> Values:
        operands = self.of(op.operands[0])
        pairs = np.array(ir.DenseIntElementsAttr(op.attributes["source_target_pairs"])).tolist()
        source = {t: s for s, t in pairs}
        return [operands[source[d]] if d in source else zeros(op.results[0].type) for d in range(self.devices)]

    def partition_id(self, op: ir.Operation) -> Values:
        return [constant_u32(d) for d in range(self.devices)]

    def replica_id(self, op: ir.Operation) -> Values:
        return [constant_u32(0)] * self.devices


def _all_reduce(op: ir.Operation, xs: Values) -> Values:
    if len(op.operands) != 1:
        raise PcgError(f"all_reduce of {len(op.operands)} operands cannot be emulated; allowed: 1", op.location)
    return [_reduce(op, xs)] * len(xs)


def _reduce_scatter(op: ir.Operation, xs: Values) -> Values:
    dim = ir.IntegerAttr(op.attributes["scatter_dimension"]).value
    total = _reduce(op, xs)
    size = total.type.shape[dim] // len(xs)
    return [slice_dim(total, dim, i * size, (i + 1) * size) for i in range(len(xs))]


def _all_gather(op: ir.Operation, xs: Values) -> Values:
    return [concatenate(xs, ir.IntegerAttr(op.attributes["all_gather_dim"]).value)] * len(xs)


def _all_to_all(op: ir.Operation, xs: Values) -> Values:
    split, concat = (ir.IntegerAttr(op.attributes[n]).value for n in ("split_dimension", "concat_dimension"))
    size = xs[0].type.shape[split] // len(xs)
    return [
        concatenate([slice_dim(x, split, i * size, (i + 1) * size) for x in xs], concat) for i in range(len(xs))
    ]


def _collective_broadcast(op: ir.Operation, xs: Values) -> Values:
    return [xs[0]] * len(xs)


#: Collectives with replica groups: operands of the members of one group -> results of the members.
GROUPED: dict[str, Callable[[ir.Operation, Values], Values]] = {
    "stablehlo.all_reduce": _all_reduce,
    "stablehlo.reduce_scatter": _reduce_scatter,
    "stablehlo.all_gather": _all_gather,
    "stablehlo.all_to_all": _all_to_all,
    "stablehlo.collective_broadcast": _collective_broadcast,
}
_COLLECTIVES: dict[str, Callable[[LockStep, ir.Operation], Values]] = {
    **dict.fromkeys(GROUPED, LockStep.in_groups),
    "stablehlo.collective_permute": LockStep.collective_permute,
    "stablehlo.partition_id": LockStep.partition_id,
    "stablehlo.replica_id": LockStep.replica_id,
}


def _communicates(op: ir.Operation) -> bool:
    """Whether an op has a collective in its regions."""
    return any(
        inner.operation.name in _COLLECTIVES or _communicates(inner.operation)
        for region in op.regions for block in region.blocks for inner in block.operations
    )


def _reduce(op: ir.Operation, values: Values) -> ir.Value:
    """Reduce operands elementwise, in device order, by the op's reducer (one binary op)."""
    body = [o.operation for o in op.regions[0].blocks[0].operations]
    if len(body) != 2 or len(body[0].operands) != 2:
        raise PcgError(f"the reducer of '{op.name}' is not a single binary op", op.location)
    total = values[0]
    for value in values[1:]:
        total = create(body[0].name, [total, value], total.type)
    return total


def _present(value: ir.Value | None, device: int, op: ir.Operation) -> ir.Value:
    if value is None:
        raise PcgError(f"device {device} is in no replica group of '{op.name}'", op.location)
    return value
