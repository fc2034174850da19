"""Local forms of constant, iota and get_dimension_size."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.emit import tensor
from pcg.lower.collectives import pad_high
from pcg.lower.local import LocalContext, local_form


@local_form("stablehlo.constant")
def constant(ctx: LocalContext) -> Sequence[ir.Value]:
    """A splat of the local shape; of other constants a device slices its part."""
    (type_,) = ctx.result_types
    global_type = ctx.op.results[0].type
    if global_type != type_ and not isinstance(type_.element_type, ir.ComplexType):
        value = ctx.op.attributes["value"]
        if isinstance(value, ir.DenseElementsAttr) and value.is_splat:
            return ctx.same_op(value=ir.DenseElementsAttr.get_splat(type_, value.get_splat_value()))
    # A clone, because the bindings cannot read the value attribute of a complex constant.
    clone = ctx.op.clone()
    for name in [n for n in clone.attributes if n.startswith("dist.")]:
        del clone.attributes[name]
    full = clone.operation.results[0]
    if global_type == type_:
        return [full]
    zero = None
    starts = []
    for dim in ctx.rule.results[0]:
        if any(ctx.axes_of(f) for f in dim):
            starts.append(ctx.shard_start(dim[0]))
        else:
            zero = zero or ctx.constant(0, tensor([], ir.IntegerType.get_signless(32)))
            starts.append(zero)
    # The last shard may reach beyond the end: pad, for a slice that starts too late is moved back.
    padding = [
        max((start for start, _ in ctx.blocks(dim[0])), default=0) + n - size if dim and ctx.axes_of(dim[0]) else 0
        for dim, n, size in zip(ctx.rule.results[0], type_.shape, global_type.shape, strict=True)
    ]
    if any(n > 0 for n in padding):
        full = pad_high(full, [max(0, n) for n in padding])
    return [emit.dynamic_slice(full, starts, type_.shape)]


@local_form("stablehlo.iota")
def iota(ctx: LocalContext) -> Sequence[ir.Value]:
    """The local iota, plus where the shard starts when its own dimension is split.

    Elements that do not hold every index exactly are counted in i32 and converted, so that each index is rounded
    once, as it is unsharded.
    """
    number = ctx.op.attributes["iota_dimension"]
    dim = ctx.rule.results[0][number.value]
    if not any(ctx.axes_of(f) for f in dim):
        return ctx.same_op()
    (type_,) = ctx.result_types
    counted = type_
    if ctx.op.results[0].type.shape[number.value] > _exact(type_.element_type):
        counted = tensor(type_.shape, ir.IntegerType.get_signless(32))
    local = emit.iota(counted, number.value)
    start = emit.broadcast(ctx.shard_start(dim[0], counted.element_type), counted)
    return [emit.convert(emit.binary("add", local, start), type_.element_type)]


#: Bits of the significand of float types, with the implicit leading one.
_DIGITS = {"bf16": 8, "f16": 11, "f32": 24, "f64": 53, "f8E3M4": 5, "f8E5M2": 3, "f8E5M2FNUZ": 3, "f8E8M0FNU": 1}


def _exact(element: ir.Type) -> int:
    """How many indices an element type counts exactly: integers wrap around alike, sharded or not."""
    if isinstance(element, ir.IntegerType):
        return 2**63
    if isinstance(element, ir.ComplexType):
        return _exact(element.element_type)
    return 2 ** _DIGITS.get(str(element), 4 if "E4M3" in str(element) else 1)


@local_form("stablehlo.get_dimension_size")
def get_dimension_size(ctx: LocalContext) -> Sequence[ir.Value]:
    """The global size, as a constant."""
    size = ctx.op.operands[0].type.shape[ctx.op.attributes["dimension"].value]
    return [ctx.constant(size, ctx.result_types[0])]
