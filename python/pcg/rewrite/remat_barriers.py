"""Rematerialisation barriers for backends that drop optimization barriers."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir.transformation import Transformation
from pcg.ir.walk import walk
from pcg.rewrite.recompute import REMAT


@dataclass
class InsertRematBarriers(Transformation):
    """Replace the barriers of pcg-recompute by selects that XLA's CPU backend cannot remove."""

    def run(self, module: ir.Operation) -> None:
        barriers = [op for op in walk(module) if op.name == "stablehlo.optimization_barrier"]
        for op in [op for op in barriers if REMAT in op.attributes]:
            flag_of = op.operands[-1]
            if not _is_float(flag_of):
                del op.attributes[REMAT]
                continue
            last = len(op.operands) - 1
            with module.context, op.location, ir.InsertionPoint(op):
                flag = _always_true(flag_of)
                for i, (value, result) in enumerate(zip(op.operands, op.results, strict=True)):
                    new = _select(flag, value) if i < last or last == 0 else value
                    result.replace_all_uses_with(new)
            op.erase()
            self.statistics["barriers"] += 1


def _is_float(value: ir.Value) -> bool:
    kind = value.type
    tensor = isinstance(kind, ir.RankedTensorType)
    return tensor and isinstance(kind.element_type, ir.FloatType) and 0 not in kind.shape


def _create(name: str, operands: list[ir.Value], kind: ir.Type, **attributes: ir.Attribute) -> ir.Value:
    return ir.Operation.create(name, results=[kind], operands=operands, attributes=attributes).result


def _always_true(value: ir.Value) -> ir.Value:
    """A flag computed from the first element of `value`: it equals itself, or (NaN) does not."""
    kind = value.type
    ones = ir.DenseI64ArrayAttr.get([1] * kind.rank)
    if kind.rank:
        first = ir.RankedTensorType.get([1] * kind.rank, kind.element_type)
        value = _create(
            "stablehlo.slice", [value], first, start_indices=ir.DenseI64ArrayAttr.get([0] * kind.rank),
            limit_indices=ones, strides=ones,
        )  # fmt: skip
        value = _create("stablehlo.reshape", [value], ir.RankedTensorType.get([], kind.element_type))
    flag = ir.RankedTensorType.get([], ir.IntegerType.get_signless(1))
    equal_or_not = [
        _create(
            "stablehlo.compare", [value, value], flag,
            comparison_direction=ir.Attribute.parse(f"#stablehlo<comparison_direction {d}>"),
        )
        for d in ("EQ", "NE")
    ]  # fmt: skip
    return _create("stablehlo.or", equal_or_not, flag)


def _select(flag: ir.Value, value: ir.Value) -> ir.Value:
    """`value` where `flag` is true, which it is; another value else."""
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType):
        return value
    element = kind.element_type
    if isinstance(element, ir.ComplexType):  # the bindings have no attribute of complex numbers
        return _create("stablehlo.select", [flag, value, _create("stablehlo.negate", [value], kind)], kind)
    zero = ir.FloatAttr.get(element, 0.0) if isinstance(element, ir.FloatType) else ir.IntegerAttr.get(element, 0)
    other = _create("stablehlo.constant", [], kind, value=ir.DenseElementsAttr.get_splat(kind, zero))
    return _create("stablehlo.select", [flag, value, other], kind)
