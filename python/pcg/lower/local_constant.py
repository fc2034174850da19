"""Local forms of constant, iota and get_dimension_size."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.lower.local import LocalContext, local_form


@local_form("stablehlo.constant")
def constant(ctx: LocalContext) -> Sequence[ir.Value]:
    """A splat of the local shape; other constants are made whole and cut."""
    (type_,) = ctx.result_types
    whole = ctx.op.results[0].type
    if whole != type_ and not isinstance(type_.element_type, ir.ComplexType):
        value = ctx.op.attributes["value"]
        if isinstance(value, ir.DenseElementsAttr) and value.is_splat:
            return ctx.same_op(value=ir.DenseElementsAttr.get_splat(type_, value.get_splat_value()))
    # A clone, because the bindings cannot read the value attribute of a complex constant.
    clone = ctx.op.clone()
    for name in ("dist.specs", "dist.operand_specs"):
        if name in clone.attributes:
            del clone.attributes[name]
    full = clone.operation.results[0]
    if whole == type_:
        return [full]
    zero = None
    starts = []
    for dim in ctx.rule.results[0]:
        if any(ctx.axes_of(f) for f in dim):
            starts.append(ctx.shard_start(dim[0]))
        else:
            zero = zero or ctx.constant(0, ir.RankedTensorType.get([], ir.IntegerType.get_signless(32)))
            starts.append(zero)
    sizes = ir.DenseI64ArrayAttr.get(list(type_.shape))
    return [ctx.create("stablehlo.dynamic_slice", [full, *starts], [type_], slice_sizes=sizes).result]


@local_form("stablehlo.iota")
def iota(ctx: LocalContext) -> Sequence[ir.Value]:
    """The local iota, plus where the shard starts when its own dimension is split."""
    (local,) = ctx.same_op()
    dim = ctx.rule.results[0][ctx.op.attributes["iota_dimension"].value]
    if not any(ctx.axes_of(f) for f in dim):
        return [local]
    element = local.type.element_type
    start = ctx.shard_start(dim[0], element)
    offset = ctx.create(
        "stablehlo.broadcast_in_dim", [start], [local.type], broadcast_dimensions=ir.DenseI64ArrayAttr.get([])
    ).result
    return [ctx.create("stablehlo.add", [local, offset], [local.type]).result]


@local_form("stablehlo.get_dimension_size")
def get_dimension_size(ctx: LocalContext) -> Sequence[ir.Value]:
    """The global size, as a constant."""
    size = ctx.op.operands[0].type.shape[ctx.op.attributes["dimension"].value]
    return [ctx.constant(size, ctx.result_types[0])]
