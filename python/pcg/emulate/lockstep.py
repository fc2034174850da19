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
                self.bind(op.results[:1], _COLLECTIVES[op.name](self, op))
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

    def bind(self, local: Sequence[ir.Value], values: Sequence[ir.Value]) -> None:
        """`values` are what each of the values `local` is, on one device after the other."""
        every = iter(values)
        for value in local:
            for env in self.env:
                env[value] = next(every)

    def control_flow(self, op: ir.Operation) -> None:
        """One loop or conditional for all devices; device 0 decides, for the predicate is replicated."""
        loop = op.name == "stablehlo.while"
        operands = [x for v in op.operands for x in self.of(v)]

        def emulate(i: int, arguments: list[ir.Value]) -> list[ir.Value]:
            block = op.regions[i].blocks[0]
            self.bind(block.arguments, arguments)
            yielded = self.block(block)
            return [yielded[0][0]] if loop and i == 0 else [x for v in yielded for x in v]

        types = [r.type for r in op.results for _ in range(self.devices)]
        self.bind(op.results, for_all(op, operands if loop else operands[:1], types, emulate))

    # -- collectives ---------------------------------------------------------------------------

    def in_groups(self, op: ir.Operation) -> Values:
        """Apply a collective (operands of a group -> results of the group) to each replica group."""
        operands = self.of(op.operands[0])
        out: dict[int, ir.Value] = {}
        for group in table(op, "replica_groups"):
            out.update(zip(group, GROUPED[op.name](op, [operands[d] for d in group]), strict=True))
        if missing := [d for d in range(self.devices) if d not in out]:
            raise PcgError(f"device {missing[0]} is in no replica group of '{op.name}'", op.location)
        return [out[d] for d in range(self.devices)]

    def collective_permute(self, op: ir.Operation) -> Values:
        operands = self.of(op.operands[0])
        source = {t: s for s, t in table(op, "source_target_pairs")}
        return [operands[source[d]] if d in source else zeros(op.results[0].type) for d in range(self.devices)]

    def partition_id(self, op: ir.Operation) -> Values:
        return [constant_u32(d) for d in range(self.devices)]

    def replica_id(self, op: ir.Operation) -> Values:
        return [constant_u32(0)] * self.devices


def table(op: ir.Operation, name: str) -> list[list[int]]:
    """Replica groups, or pairs of source and target."""
    return np.array(ir.DenseIntElementsAttr(op.attributes[name])).tolist()


def for_all(
    op: ir.Operation, operands: list[ir.Value], types: list[ir.Type],
    emulate: Callable[[int, list[ir.Value]], list[ir.Value]],
) -> list[ir.Value]:  # fmt: skip
    """The results of a loop or conditional like `op` that carries values of `types`, those of all that take part.

    `emulate` does what region `i` does with its arguments, and returns what the region does.
    """
    carried = types if op.name == "stablehlo.while" else []
    new = ir.Operation.create(op.name, results=types, operands=operands, regions=len(op.regions), loc=op.location)
    for i, region in enumerate(new.regions):
        block = region.blocks.append(*carried, arg_locs=[op.location] * len(carried))
        with ir.InsertionPoint(block), op.location:
            ir.Operation.create("stablehlo.return", operands=emulate(i, list(block.arguments)))
    return list(new.results)


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
