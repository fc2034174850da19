"""Local forms of custom calls: markers pass values through; what was written for other compilers goes.

A call that does something besides computing, or that calls back into the Python process, is made by one device with
whole operands, as on one device, and the others get its results from there.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir.types import element_bytes
from pcg.lower.local import LocalContext, local_form
from pcg.lower.manual import inline_manual
from pcg.rules.custom_call import ATTRIBUTE, has_side_effect, is_host_callback
from pcg.rules.manual import is_manual
from pcg.rules.opaque import is_marker


@local_form("stablehlo.custom_call")
def custom_call(ctx: LocalContext) -> Sequence[ir.Value]:
    if is_marker(ctx.op):
        return list(ctx.operands)
    if is_manual(ctx.op):
        return inline_manual(ctx)
    if ctx.mesh.size > 1 and (has_side_effect(ctx.op) or is_host_callback(ctx.op)):
        return _once(ctx)
    made = ctx.same_op()
    if made and ATTRIBUTE in (local := made[0].owner).attributes:
        # The sizes in Shardy's rule are those of the whole op; jaxlib refuses it on shards.
        del local.attributes[ATTRIBUTE]
    return made


def _once(ctx: LocalContext) -> list[ir.Value]:
    """The call by the first device of the mesh; its results go to all."""
    i1 = ir.IntegerType.get_signless(1)
    first = ctx.per_device([1] + [0] * (ctx.mesh.size - 1), i1)
    chosen = ctx.create("stablehlo.if", [first], ctx.result_types, regions=2)
    for region, calls in zip(chosen.regions, (True, False), strict=True):
        with ir.InsertionPoint(region.blocks.append()), ctx.op.location:
            values = ctx.same_op() if calls else [_nothing(ctx, t) for t in ctx.result_types]
            ctx.create("stablehlo.return", values, [])
    return [_from_first(ctx, r) for r in chosen.results]


def _nothing(ctx: LocalContext, type_: ir.Type) -> ir.Value:
    if not isinstance(type_, ir.RankedTensorType):  # a token
        return ctx.create("stablehlo.create_token", [], [type_]).result
    return ctx.constant(0, type_)


def _from_first(ctx: LocalContext, value: ir.Value) -> ir.Value:
    """What the first device holds, where the others hold zeros: a sum of bits, which is exact for every value."""
    type_ = value.type
    if not isinstance(type_, ir.RankedTensorType) or 0 in type_.shape:
        return value
    element = type_.element_type
    if isinstance(element, ir.ComplexType):
        parts = ir.RankedTensorType.get(type_.shape, element.element_type)
        real, imaginary = (
            _from_first(ctx, ctx.create(f"stablehlo.{n}", [value], [parts]).result) for n in ("real", "imag")
        )
        return ctx.create("stablehlo.complex", [real, imaginary], [type_]).result
    if isinstance(element, ir.IntegerType):
        return _sum(ctx, value)
    bits = ir.RankedTensorType.get(type_.shape, ir.IntegerType.get_unsigned(round(8 * element_bytes(element))))
    summed = _sum(ctx, ctx.create("stablehlo.bitcast_convert", [value], [bits]).result)
    return ctx.create("stablehlo.bitcast_convert", [summed], [type_]).result


def _sum(ctx: LocalContext, value: ir.Value) -> ir.Value:
    axes = [name for name, size in ctx.mesh.axes if size > 1]
    return ctx.collectives.all_reduce(value, axes, "sum", ctx.op.location)
