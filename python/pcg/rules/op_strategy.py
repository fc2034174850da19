"""The strategies of ops as MindSpore writes them, read from the layouts in the IR."""

from __future__ import annotations

from torch_mlir import ir

from pcg.ir import shardings
from pcg.layout import Mesh, ShardSpec
from pcg.rules.strategy import Strategy

_BROADCAST = "stablehlo.broadcast_in_dim"


def strategy_of(op: ir.Operation, mesh: Mesh) -> Strategy | None:
    """Slices per operand of `op`, None if its layouts are not known.

    As in a framework whose ops broadcast by themselves, a broadcast operand counts with the dimensions
    it had before, and constants do not count.
    """
    specs = shardings.operand_specs(op)
    if specs is None:
        return None
    out = []
    for value, spec in zip(op.operands, specs, strict=True):
        if spec is None:
            return None
        seen = _through_broadcasts(value, spec)
        if seen is not None:
            out.append(seen.shards(mesh))
    return tuple(out)


def _through_broadcasts(value: ir.Value, spec: ShardSpec) -> ShardSpec | None:
    """The part of `spec` that is about what `value` is broadcast from; None for constants."""
    while not isinstance(value, ir.BlockArgument):
        op = value.owner.operation
        if not len(op.operands):
            return None
        if op.name != _BROADCAST:
            break
        source = op.operands[0]
        small, large = list(source.type.shape), list(value.type.shape)
        where = list(op.attributes["broadcast_dimensions"])
        dims = [spec.dims[d] if n == large[d] else () for n, d in zip(small, where, strict=True)]
        value, spec = source, ShardSpec(tuple(dims))
    return spec
