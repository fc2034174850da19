"""Slices and concatenations as pads, whose sizes devices divide.

A shift or rotation is written as slices and a concatenation, whose sizes (4095 + 1 of 4096) no number of devices
divides.  As pads of the whole tensor (`low = 1, high = -1` is a shift by one) everything has the size of the tensor:

- a slice of a pad, and a pad of a slice, are one pad;
- a concatenation with constants of one value is a pad of what they surround;
- a concatenation of slices of tensors as large as the result takes each place from one of their pads;
- the gradient of a max-pooling of a padded tensor is that of a padded max-pooling.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pcg.ir import shardings

_PADDING = ("edge_padding_low", "edge_padding_high", "interior_padding")


def as_pad(op: ir.Operation) -> ir.Value | None:
    """A new value equal to the result of `op`, made before it, or None.  `op` itself and what it reads stay."""
    if op.name not in _FORMS or shardings.SPECS in op.attributes:
        return None
    with ir.InsertionPoint(op), op.location:
        value = _FORMS[op.name](op)
        if value is not None and op.name == "stablehlo.concatenate" and (pad := _defined_by(value, "stablehlo.pad")):
            return _pad_of_slice(pad) or value
        return value


def _slice(op: ir.Operation) -> ir.Value | None:
    return _slice_of_pad(op) or _pooling_gradient(op)


def _slice_of_pad(op: ir.Operation) -> ir.Value | None:
    inner = _defined_by(op.operands[0], "stablehlo.pad")
    if inner is None or any(s != 1 for s in op.attributes["strides"]) or not _once(inner):
        return None
    low, high, interior = ([*inner.attributes[n]] for n in _PADDING)
    bounds = zip(op.attributes["start_indices"], op.attributes["limit_indices"], strict=True)
    for d, (start, limit) in enumerate(bounds):
        low[d] -= start
        high[d] -= inner.results[0].type.shape[d] - limit
    return _pad(inner.operands[0], inner.operands[1], low, high, interior)


def _pooling_gradient(op: ir.Operation) -> ir.Value | None:
    """A select_and_scatter over a tensor padded with what is selected last, cut back to it, pads the tensor itself.

    So jax writes the gradient of a max-pooling.  What is padded is then never selected; the two forms differ only for
    windows at an end that hold nothing but that number, or NaN.
    """
    inner = _defined_by(op.operands[0], "stablehlo.select_and_scatter")
    if inner is None or not _once(inner) or any(s != 1 for s in op.attributes["strides"]):
        return None
    outer = _defined_by(inner.operands[0], "stablehlo.pad")
    if outer is None or any(outer.attributes["interior_padding"]):
        return None
    low, high = ([*outer.attributes[n]] for n in _PADDING[:2])
    source = outer.operands[0]
    if min(*low, *high) < 0 or source.type != op.results[0].type or list(op.attributes["start_indices"]) != low:
        return None
    compare = inner.regions[0].blocks[0].operations[0].operation
    fill = _scalar(outer.operands[1])
    if compare.name != "stablehlo.compare" or not isinstance(fill, ir.FloatAttr):
        return None
    if list(compare.operands) != list(inner.regions[0].blocks[0].arguments):
        return None
    last = {"G": float("-inf"), "L": float("inf")}.get(_direction(compare)[0])
    if fill.value != last or len(inner.regions[0].blocks[0].operations) != 2:
        return None
    padding = [0] * (2 * len(low))
    if "padding" in inner.attributes:
        dense = inner.attributes["padding"]
        padding = [dense.get_splat_value().value] * len(padding) if dense.is_splat else list(dense)
    if any(padding):
        return None  # what pads the padding is already never selected; one end of each is enough
    rows = str([list(pair) for pair in zip(low, high, strict=True)])
    new = inner.clone()
    new.operands[0] = source
    new.attributes["padding"] = ir.Attribute.parse(f"dense<{rows}> : tensor<{len(low)}x2xi64>")
    new.results[0].set_type(source.type)
    return new.results[0]


def _direction(compare: ir.Operation) -> str:
    """`GE`, `LT`, ..."""
    return str(compare.attributes["comparison_direction"]).removesuffix(">").split()[-1]


def _pad_of_slice(op: ir.Operation) -> ir.Value | None:
    """Not where one end is both cut and padded: padding would not cover what was cut."""
    inner = _defined_by(op.operands[0], "stablehlo.slice")
    if inner is None or any(s != 1 for s in inner.attributes["strides"]):
        return None
    low, high, interior = ([*op.attributes[n]] for n in _PADDING)
    source = inner.operands[0]
    bounds = zip(inner.attributes["start_indices"], inner.attributes["limit_indices"], strict=True)
    for d, (start, limit) in enumerate(bounds):
        end = source.type.shape[d] - limit
        if (start or end) and (interior[d] or (start and low[d] > 0) or (end and high[d] > 0)):
            return None
        low[d] -= start
        high[d] -= end
    # Only for a shift: the slice may line up with blocks, and then what it leaves out need not be held.
    return _pad(source, op.operands[1], low, high, interior) if source.type == op.results[0].type else None


def _concatenate(op: ir.Operation) -> ir.Value | None:
    dim = op.attributes["dimension"].value
    values = [v for v in op.operands if v.type.shape[dim]]
    return _with_constants(op, values, dim) or _of_slices(op, values, dim)


def _with_constants(op: ir.Operation, values: Sequence[ir.Value], dim: int) -> ir.Value | None:
    scalars = [_scalar(v) for v in values]
    rest = [i for i, s in enumerate(scalars) if s is None]
    if len(rest) != 1 or len(values) == 1 or len({str(s) for s in scalars if s is not None}) != 1:
        return None
    (k,) = rest
    low = sum(v.type.shape[dim] for v in values[:k])
    high = sum(v.type.shape[dim] for v in values[k + 1 :])
    element = next(s for s in scalars if s is not None)
    fill = _constant(element, values[k].type.element_type)
    none = [0] * values[k].type.rank
    return _pad(values[k], fill, _at(none, dim, low), _at(none, dim, high), none)


def _of_slices(op: ir.Operation, values: Sequence[ir.Value], dim: int) -> ir.Value | None:
    type_ = op.results[0].type
    if len(values) < 2 or isinstance(type_.element_type, ir.ComplexType):
        return None
    parts = []
    for value in values:
        inner = _defined_by(value, "stablehlo.slice")
        if inner is None or any(s != 1 for s in inner.attributes["strides"]) or inner.operands[0].type != type_:
            return None
        parts.append((inner.operands[0], list(inner.attributes["start_indices"])[dim]))
    none = [0] * type_.rank
    fill = _zero(type_.element_type)
    if fill is None:
        return None
    end, result = 0, None
    for value, (source, start) in zip(values, parts, strict=True):
        shift = end - start
        placed = _pad(source, fill, _at(none, dim, shift), _at(none, dim, -shift), none) if shift else source
        result = placed if result is None else _select(_before(type_, dim, end), result, placed)
        end += value.type.shape[dim]
    return result


_FORMS = {"stablehlo.slice": _slice, "stablehlo.pad": _pad_of_slice, "stablehlo.concatenate": _concatenate}


# -- reading and making ops ------------------------------------------------------------------------


def _defined_by(value: ir.Value, name: str) -> ir.Operation | None:
    """The defining op of `value`, if it has that name, unless a layout is fixed on it."""
    if isinstance(value.owner, ir.Block):
        return None
    owner = value.owner.operation
    return owner if owner.name == name and shardings.SPECS not in owner.attributes else None


def _once(op: ir.Operation) -> bool:
    return len([use for r in op.results for use in r.uses]) == 1


def _scalar(value: ir.Value) -> ir.Attribute | None:
    """The element that `value` holds everywhere, when it is a constant or broadcast from one."""
    if isinstance(value.type.element_type, ir.ComplexType):
        return None
    for _ in range(4):
        if isinstance(value.owner, ir.Block):
            return None
        owner = value.owner.operation
        if owner.name == "stablehlo.constant":
            dense = owner.attributes["value"]
            return dense.get_splat_value() if getattr(dense, "is_splat", False) else None
        if owner.name not in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
            return None
        value = owner.operands[0]
    return None


def _at(row: Sequence[int], dim: int, n: int) -> list[int]:
    return [n if d == dim else x for d, x in enumerate(row)]


def _op(name: str, operands: Sequence[ir.Value], type_: ir.Type, **attributes: ir.Attribute) -> ir.Value:
    return ir.Operation.create(name, results=[type_], operands=list(operands), attributes=attributes).result


def _constant(element: ir.Attribute, type_: ir.Type) -> ir.Value:
    scalar = ir.RankedTensorType.get([], type_)
    return _op("stablehlo.constant", [], scalar, value=ir.DenseElementsAttr.get_splat(scalar, element))


def _zero(type_: ir.Type) -> ir.Value | None:
    if isinstance(type_, ir.IntegerType):
        return _constant(ir.IntegerAttr.get(type_, 0), type_)
    return _constant(ir.FloatAttr.get(type_, 0.0), type_) if isinstance(type_, ir.FloatType) else None


def _pad(
    value: ir.Value, fill: ir.Value, low: Sequence[int], high: Sequence[int], interior: Sequence[int]
) -> ir.Value:
    sizes = [
        n + a + b + max(0, n - 1) * i for n, a, b, i in zip(value.type.shape, low, high, interior, strict=True)
    ]  # fmt: skip
    type_ = ir.RankedTensorType.get(sizes, value.type.element_type)
    rows = {n: ir.DenseI64ArrayAttr.get(list(x)) for n, x in zip(_PADDING, (low, high, interior), strict=True)}
    return _op("stablehlo.pad", [value, fill], type_, **rows)


def _before(type_: ir.RankedTensorType, dim: int, end: int) -> ir.Value:
    """Whether an element's place along `dim` is below `end`."""
    i64 = ir.IntegerType.get_signless(64)
    places = ir.RankedTensorType.get(type_.shape, ir.IntegerType.get_signless(32))
    index = _op("stablehlo.iota", [], places, iota_dimension=ir.IntegerAttr.get(i64, dim))
    number = ir.IntegerAttr.get(places.element_type, end)
    bound = _op("stablehlo.constant", [], places, value=ir.DenseElementsAttr.get_splat(places, number))
    i1 = ir.RankedTensorType.get(type_.shape, ir.IntegerType.get_signless(1))
    return _op(
        "stablehlo.compare", [index, bound], i1,
        comparison_direction=ir.Attribute.parse("#stablehlo<comparison_direction LT>"),
    )


def _select(condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
    return _op("stablehlo.select", [condition, a, b], a.type)
