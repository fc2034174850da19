"""Local forms of custom calls: markers pass values through; attributes for other compilers are removed.

A call with side effects, or one that calls back into the Python process, is made by one device with replicated
operands, as on one device, and the others get its results from there.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir.emit import create, create_op, tensor
from pcg.ir.types import element_bytes
from pcg.lower.local import LocalContext, local_form
from pcg.lower.manual import inlined
from pcg.rules.custom_call import ATTRIBUTE, has_side_effect, is_host_callback
from pcg.rules.manual import is_manual
from pcg.rules.opaque import is_marker


@local_form("stablehlo.custom_call")
def custom_call(ctx: LocalContext) -> Sequence[ir.Value]:
    if is_marker(ctx.op):
        return list(ctx.operands)
    if is_manual(ctx.op):
        return inlined(ctx.op, ctx.operands, ctx.collectives)
    if ctx.mesh.size > 1 and (has_side_effect(ctx.op) or is_host_callback(ctx.op)):
        return _once(ctx)
    results = ctx.same_op()
    if results and ATTRIBUTE in (local := results[0].owner).attributes:
        # The sizes in Shardy's rule are those of the global op; jaxlib refuses it on shards.
        del local.attributes[ATTRIBUTE]
    return results


def _once(ctx: LocalContext) -> list[ir.Value]:
    """The call by the first device of the mesh; its results go to all."""
    is_first = ctx.per_device([1] + [0] * (ctx.mesh.size - 1), ir.IntegerType.get_signless(1))
    branches = create_op("stablehlo.if", [is_first], ctx.result_types, 2)
    for region, calls in zip(branches.regions, (True, False), strict=True):
        with ir.InsertionPoint(region.blocks.append()):
            create_op("stablehlo.return", ctx.same_op() if calls else [_zero(ctx, t) for t in ctx.result_types], [])
    return [_from_first(ctx, r) for r in branches.results]


def _zero(ctx: LocalContext, type_: ir.Type) -> ir.Value:
    if not isinstance(type_, ir.RankedTensorType):
        return create("stablehlo.create_token", [], type_)
    return ctx.constant(0, type_)


def _from_first(ctx: LocalContext, value: ir.Value) -> ir.Value:
    """What the first device holds, where the others hold zeros: a sum of bits, which is exact for every value."""
    type_ = value.type
    if not isinstance(type_, ir.RankedTensorType) or 0 in type_.shape:
        return value
    element = type_.element_type
    if isinstance(element, ir.ComplexType):
        part = tensor(type_.shape, element.element_type)
        parts = [_from_first(ctx, create(f"stablehlo.{n}", [value], part)) for n in ("real", "imag")]
        return create("stablehlo.complex", parts, type_)
    axes = [name for name, size in ctx.mesh.axes if size > 1]
    if isinstance(element, ir.IntegerType):
        return ctx.collectives.all_reduce(value, axes, "sum")
    bits = tensor(type_.shape, ir.IntegerType.get_unsigned(round(8 * element_bytes(element))))
    summed = ctx.collectives.all_reduce(create("stablehlo.bitcast_convert", [value], bits), axes, "sum")
    return create("stablehlo.bitcast_convert", [summed], type_)
