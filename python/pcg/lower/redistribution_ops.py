"""Redistribution steps as ops and back.

The global view spells a step with PCG operators (`reduce`, `combine`, `partition`), the fused view
with one `dist` collective each.  All are identities on the logical value; their layouts differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir import shardings
from pcg.ir.types import element_bytes
from pcg.layout import ShardSpec
from pcg.reshard import AllGather, AllReduce, AllToAll, Mask, Permute, ReduceScatter, Regroup, ReshardStep, Slice

#: PCG operators that move data inside one mesh.
PCG_OPERATORS = frozenset({"pcg.partition", "pcg.combine", "pcg.replicate", "pcg.reduce", "pcg.mask"})
#: One collective each.
DIST_COLLECTIVES = frozenset(
    f"dist.{s.name}" for s in (AllGather, AllReduce, AllToAll, Mask, Permute, ReduceScatter, Regroup, Slice)
)
#: All of them: identities on the logical value.
REDISTRIBUTION_OPS = PCG_OPERATORS | DIST_COLLECTIVES | shardings.CONSTRAINTS


def emit_pcg(
    steps: Sequence[ReshardStep], value: ir.Value, spec: ShardSpec, loc: ir.Location, ip: ir.InsertionPoint
) -> list[tuple[ir.Value, ShardSpec]]:
    """PCG operators for `steps` taken from `value`, which has layout `spec`; (value, layout) after each step."""
    reached = []
    for step in steps:
        for name, attributes, after in _spell(step, spec):
            op = _create(name, value, after, attributes, loc, ip)
            value, ip = op.result, ir.InsertionPoint.after(op)
        spec = step.apply(spec)
        reached.append((value, spec))
    return reached


def _spell(step: ReshardStep, spec: ShardSpec) -> list[tuple[str, dict[str, ir.Attribute], ShardSpec]]:
    """(op name, attributes, layout after it) of the PCG operators that make up `step`."""
    parts: list[ReshardStep]
    match step:
        case ReduceScatter(dim, axes, kind):
            parts = [AllReduce(axes, kind), Slice(dim, axes)]
        case AllToAll(split_dim, concat_dim, axes):
            parts = [AllGather(concat_dim, axes), Slice(split_dim, axes)]
        case Permute(result) | Regroup(result):
            off: list[ReshardStep] = []
            on: list[ReshardStep] = []
            for d, (have, want) in enumerate(zip(spec.dims, result.dims, strict=True)):
                same = 0
                while same < min(len(have), len(want)) and have[same] == want[same]:
                    same += 1
                off += [AllGather(d, have[same:])] if have[same:] else []
                on += [Slice(d, want[same:])] if want[same:] else []
            parts = off + on
        case _:
            parts = [step]
    out = []
    names = {AllReduce: "pcg.reduce", AllGather: "pcg.combine", Slice: "pcg.partition", Mask: "pcg.mask"}
    for part in parts:
        spec = part.apply(spec)
        out.append((names[type(part)], _attributes(part), spec))
    return out


def emit_dist(
    steps: Sequence[ReshardStep], value: ir.Value, spec: ShardSpec, loc: ir.Location, ip: ir.InsertionPoint
) -> ir.Value:
    """One `dist` collective per step, taken from `value`, which has layout `spec`."""
    for step in steps:
        spec = step.apply(spec)
        op = _create(f"dist.{step.name}", value, spec, _attributes(step), loc, ip)
        value, ip = op.result, ir.InsertionPoint.after(op)
    return value


def dist_step(op: ir.Operation, result_spec: ShardSpec) -> ReshardStep:
    """The step a `dist` collective is; `result_spec` is what a permute or a regroup leads to."""
    a = op.attributes

    def axes() -> tuple[str, ...]:
        return tuple(ir.StringAttr(x).value for x in ir.ArrayAttr(a["axes"]))

    def number(name: str) -> int:
        return ir.IntegerAttr(a[name]).value

    match op.name:
        case "dist.all_reduce":
            return AllReduce(axes(), ir.StringAttr(a["kind"]).value)
        case "dist.reduce_scatter":
            return ReduceScatter(number("dim"), axes(), ir.StringAttr(a["kind"]).value)
        case "dist.all_gather":
            return AllGather(number("dim"), axes())
        case "dist.all_to_all":
            return AllToAll(number("split_dim"), number("concat_dim"), axes())
        case "dist.mask":
            return Mask(axes(), ir.StringAttr(a["kind"]).value)
        case "dist.slice":
            return Slice(number("dim"), axes())
        case "dist.regroup":
            return Regroup(result_spec)
        case _:
            return Permute(result_spec)


def _attributes(step: ReshardStep) -> dict[str, ir.Attribute]:
    i64 = ir.IntegerType.get_signless(64)
    attributes: dict[str, ir.Attribute] = {}
    for name, value in vars(step).items():
        if name in ("dim", "split_dim", "concat_dim"):
            attributes[name] = ir.IntegerAttr.get(i64, value)
        elif name == "axes":
            attributes[name] = ir.ArrayAttr.get([ir.StringAttr.get(a) for a in value])
        elif name == "kind":
            attributes[name] = ir.StringAttr.get(value)
    return attributes


def _create(
    name: str, value: ir.Value, spec: ShardSpec, attributes: dict[str, ir.Attribute], loc: ir.Location,
    ip: ir.InsertionPoint,
) -> ir.Operation:
    op = ir.Operation.create(name, results=[value.type], operands=[value], attributes=attributes, loc=loc, ip=ip)
    shardings.set_result_specs(op, [spec])
    return op


def itemsize(value: ir.Value) -> float:
    """Bytes of one element of a tensor; 1 for what is not a tensor."""
    return element_bytes(value.type.element_type) if isinstance(value.type, ir.RankedTensorType) else 1.0
