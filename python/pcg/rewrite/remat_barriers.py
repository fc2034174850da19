"""Rematerialisation barriers for backends that drop optimization barriers."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pcg.ir import emit
from pcg.ir.transformation import Transformation
from pcg.ir.types import number_attr
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


def _always_true(value: ir.Value) -> ir.Value:
    """A flag computed from the first element of `value`: it equals itself, or (NaN) does not."""
    if rank := value.type.rank:
        value = emit.reshape(emit.slice_box(value, [0] * rank, [1] * rank), [])
    return emit.binary("or", emit.compare(value, value, "EQ"), emit.compare(value, value, "NE"))


def _select(flag: ir.Value, value: ir.Value) -> ir.Value:
    """`value` where `flag` is true, which it is; another value else."""
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType):
        return value
    if isinstance(kind.element_type, ir.ComplexType):  # the bindings have no attribute of complex numbers
        return emit.select(flag, value, emit.create("stablehlo.negate", [value], kind))
    zero = ir.DenseElementsAttr.get_splat(kind, number_attr(0, kind.element_type))
    return emit.select(flag, value, emit.create("stablehlo.constant", [], kind, value=zero))
