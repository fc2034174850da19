"""pcg-hold-copies: keep copies that save memory apart on backends that drop optimization barriers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch_mlir import ir

from pcg.ir.walk import walk
from pcg.passes.base import Pass
from pcg.passes.pcg_recompute import COPIES


@dataclass
class HoldCopiesPass(Pass):
    """Replace the barriers of pcg-recompute by something that XLA's CPU backend does not see through.

    That backend removes `stablehlo.optimization_barrier` before it merges equal ops, so that whatever is behind one
    (also what `jax.checkpoint` makes) is merged with what it copies and nothing is saved.  Here each value passes a
    `select` on a flag that is always true, but is made from an element of the gradient that the barrier held: the
    copies wait for the gradient and differ from the originals for every pass of the compiler.  Values are the same to
    the bit.  `pcg.compile` does this on CPU devices; elsewhere barriers hold and cost nothing.

    Before:
    ```mlir
    %b:2 = stablehlo.optimization_barrier {pcg.copies} %x, %g : tensor<4xf32>, tensor<4xf32>
    ```
    After:
    ```mlir
    %e = stablehlo.slice %g [0:1] : (tensor<4xf32>) -> tensor<1xf32>
    %s = stablehlo.reshape %e : (tensor<1xf32>) -> tensor<f32>
    %is = stablehlo.compare EQ, %s, %s : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %not = stablehlo.compare NE, %s, %s : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %true = stablehlo.or %is, %not : tensor<i1>
    %b = stablehlo.select %true, %x, %zero : tensor<i1>, tensor<4xf32>
    ```
    """

    name: ClassVar[str] = "pcg-hold-copies"

    def run(self, module: ir.Operation) -> None:
        barriers = [op for op in walk(module) if op.name == "stablehlo.optimization_barrier"]
        for op in [op for op in barriers if COPIES in op.attributes]:
            flag_of = op.operands[-1]
            if not _is_float(flag_of):
                del op.attributes[COPIES]
                continue
            with module.context, op.location, ir.InsertionPoint(op):
                flag = _always_true(flag_of)
                last = len(op.operands) - 1
                for i, (value, result) in enumerate(zip(op.operands, op.results, strict=True)):
                    new = _select(flag, value) if i < last or last == 0 else value
                    result.replace_all_uses_with(new)
            op.erase()
            self.statistics["barriers"] += 1


def _is_float(value: ir.Value) -> bool:
    kind = value.type
    return (
        isinstance(kind, ir.RankedTensorType) and isinstance(kind.element_type, ir.FloatType) and 0 not in kind.shape
    )


def _make(name: str, operands: list[ir.Value], kind: ir.Type, **attributes: ir.Attribute) -> ir.Value:
    return ir.Operation.create(name, results=[kind], operands=operands, attributes=attributes).result


def _always_true(value: ir.Value) -> ir.Value:
    """A flag made from the first element of `value`: it is equal to itself, or not."""
    kind = value.type
    ones = ir.DenseI64ArrayAttr.get([1] * kind.rank)
    if kind.rank:
        first = ir.RankedTensorType.get([1] * kind.rank, kind.element_type)
        value = _make(
            "stablehlo.slice", [value], first, start_indices=ir.DenseI64ArrayAttr.get([0] * kind.rank),
            limit_indices=ones, strides=ones,
        )  # fmt: skip
        value = _make("stablehlo.reshape", [value], ir.RankedTensorType.get([], kind.element_type))
    flag = ir.RankedTensorType.get([], ir.IntegerType.get_signless(1))
    either = [
        _make(
            "stablehlo.compare", [value, value], flag,
            comparison_direction=ir.Attribute.parse(f"#stablehlo<comparison_direction {d}>"),
        )
        for d in ("EQ", "NE")
    ]  # fmt: skip
    return _make("stablehlo.or", either, flag)


def _select(flag: ir.Value, value: ir.Value) -> ir.Value:
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType):
        return value
    element = kind.element_type
    if isinstance(element, ir.ComplexType):  # the bindings have no attribute of complex numbers
        return _make("stablehlo.select", [flag, value, _make("stablehlo.negate", [value], kind)], kind)
    zero = ir.FloatAttr.get(element, 0.0) if isinstance(element, ir.FloatType) else ir.IntegerAttr.get(element, 0)
    other = _make("stablehlo.constant", [], kind, value=ir.DenseElementsAttr.get_splat(kind, zero))
    return _make("stablehlo.select", [flag, value, other], kind)
