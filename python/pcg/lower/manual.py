"""Lowering of manual computations: the body is already what one device runs, so it is put in place."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.clone import clone_mapped
from pcg.ir.errors import PcgError
from pcg.ir.walk import walk
from pcg.layout import ShardSpec
from pcg.lower.collectives import CollectiveBuilder
from pcg.lower.redistribution_ops import itemsize
from pcg.reshard import plan
from pcg.rules.manual import is_manual


def body_of(op: ir.Operation) -> ir.Block:
    """The block of the function that a manual computation runs.

    Raises:
      PcgError: the module has no such function.
    """
    symbol = ir.FlatSymbolRefAttr(op.attributes["called_computations"][0]).value
    module = op
    while module.parent is not None:
        module = module.parent.operation
    for candidate in module.regions[0].blocks[0].operations:
        found = candidate.operation
        if found.name == "func.func" and ir.StringAttr(found.attributes["sym_name"]).value == symbol:
            return found.regions[0].blocks[0]
    raise PcgError(f"function @{symbol}, the body of a manual computation, is missing", op.location)


def inlined(op: ir.Operation, operands: Sequence[ir.Value], collectives: CollectiveBuilder) -> list[ir.Value]:
    """The results of the body of the manual computation `op` on local `operands`, copied to the insertion point.

    Its collectives get channels of their own.

    Along axes that the computation leaves automatic all devices do the same.
    """
    block = body_of(op)
    values: dict[ir.Value, ir.Value] = dict(zip(block.arguments, operands, strict=True))
    *ops, last = [o.operation for o in block.operations]
    for inner in ops:
        new = clone_mapped(inner, values)
        for made in list(walk(new)):
            if "channel_handle" in made.attributes:
                made.attributes["channel_handle"] = collectives.channel()
            outs: list[ir.Value] | None = None
            if made.name == "dist.constraint":
                outs = list(made.operands)
            elif is_manual(made):
                outs = nested(made, collectives)
            if outs is not None:
                for result, value in zip(made.results, outs, strict=True):
                    result.replace_all_uses_with(value)
                if made == new:
                    values.update(zip(inner.results, outs, strict=True))
                made.erase()
                continue
            for name in [n for n in made.attributes if n.startswith("dist.")]:
                del made.attributes[name]
    return [values.get(v, v) for v in last.operands]


def nested(op: ir.Operation, collectives: CollectiveBuilder) -> list[ir.Value]:
    """What stands for a manual computation inside of another, which left the axes of this one automatic.

    There the value is replicated over these axes: every device takes its shard, and gathers the shards of the results.
    """
    ins, outs = ([shardings.from_attr(a) for a in op.attributes[n]] for n in (shardings.IN_SPECS, shardings.OUT_SPECS))
    with ir.InsertionPoint(op), op.location:
        shards = [
            _resharded(v, list(v.type.shape), ShardSpec.replicated(s.rank), s, collectives)
            for v, s in zip(op.operands, ins, strict=True)
        ]
        results = inlined(op, shards, collectives)
        return [
            _resharded(v, list(r.type.shape), s, ShardSpec.replicated(s.rank), collectives)
            for v, r, s in zip(results, op.results, outs, strict=True)
        ]


def _resharded(
    value: ir.Value, shape: list[int], src: ShardSpec, dst: ShardSpec, collectives: CollectiveBuilder
) -> ir.Value:
    """The local `value` of global `shape`, taken from layout `src` to `dst`."""
    for step in plan(src, dst, shape, itemsize(value), collectives.mesh):
        value = collectives.take(step, value, src, shape)
        src = step.apply(src)
    return value
