"""Reading reducers and constants."""

import pytest
from torch_mlir import ir

from pcg.ir.identities import neutral_element
from pcg.rules.regions import is_neutral
from pcg.rules.values import splat
from support.rulecheck import context


@pytest.mark.parametrize(
    ("type_", "text", "kind"),
    [
        ("f32", "0.0", "sum"), ("f32", "-0.0", "sum"), ("f32", "1.0", "prod"),
        ("f32", "0xFF800000", "max"), ("f32", "0x7F800000", "min"),
        ("i32", "-2147483648", "max"), ("i32", "2147483647", "min"), ("ui8", "0", "max"), ("ui8", "255", "min"),
        ("i1", "true", "and"), ("i1", "false", "or"), ("i32", "-1", "and"), ("complex<f32>", "(0.0, 0.0)", "sum"),
    ],
)  # fmt: skip
def test_identities_are_recognised(type_, text, kind):
    with context(), ir.Location.unknown():
        constant = f"%0 = stablehlo.constant dense<{text}> : tensor<4x{type_}>"
        module = ir.Module.parse(f"func.func @main() {{ {constant} return }}")
        op = list(module.body.operations)[0].regions[0].blocks[0].operations[0].operation
        assert is_neutral(op.results[0], kind)


def test_neutral_elements():
    with context(), ir.Location.unknown():
        i32, ui8, f8 = (ir.Type.parse(t) for t in ("i32", "ui8", "f8E4M3FN"))
        assert neutral_element(i32, "max") == -(2**31)
        assert neutral_element(ui8, "and") == 255
        assert neutral_element(f8, "max") == -448.0
        assert neutral_element(ir.Type.parse("f8E5M2"), "min") == float("inf")
        powers = ir.Type.parse("f8E8M0FNU")  # of two, without a zero
        assert neutral_element(powers, "max") == 2.0**-127 and neutral_element(powers, "sum") is None
        assert neutral_element(ir.Type.parse("complex<f32>"), "sum") == 0.0
        assert neutral_element(ir.Type.parse("complex<f32>"), "max") is None


@pytest.mark.parametrize(
    ("ops", "number"),
    [
        ('%0 = stablehlo.constant dense<2.0> : tensor<4xf32> %1 = "pcg.combine"(%0) {dim = 0, axes = ["x"]} : (tensor<4xf32>) -> tensor<4xf32>', 2),
        ("%0 = stablehlo.constant dense<0> : tensor<4xi32> %1 = stablehlo.convert %0 : (tensor<4xi32>) -> tensor<4xf32>", 0),
        ("%0 = stablehlo.constant dense<300> : tensor<4xi32> %1 = stablehlo.convert %0 : (tensor<4xi32>) -> tensor<4xui8>", None),
        ("%0 = stablehlo.constant dense<0xFF800000> : tensor<f32> %1 = stablehlo.convert %0 : (tensor<f32>) -> tensor<bf16>", float("-inf")),
        ("%0 = stablehlo.constant dense<0xFF800000> : tensor<f32> %1 = stablehlo.convert %0 : (tensor<f32>) -> tensor<i32>", None),
        ('%0 = stablehlo.constant dense<2.0> : tensor<4xf32> %1 = "pcg.mask"(%0) {axes = ["x"], kind = "sum"} : (tensor<4xf32>) -> tensor<4xf32>', None),
    ],
)  # fmt: skip
def test_splats_behind_other_ops(ops, number):
    with context(), ir.Location.unknown():
        module = ir.Module.parse(f"func.func @main() {{ {ops} return }}")
        op = list(module.body.operations)[0].regions[0].blocks[0].operations[1].operation
        assert splat(op.results[0]) == number


def test_splat_of_an_argument_is_unknown():
    with context(), ir.Location.unknown():
        module = ir.Module.parse("func.func @main(%x: tensor<4xf32>) { return }")
        assert splat(list(module.body.operations)[0].regions[0].blocks[0].arguments[0]) is None
