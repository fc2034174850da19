"""Zeros and neutral elements of every element type, as constants that verify."""

from __future__ import annotations

import pytest
from torch_mlir import ir

from pcg.emulate.build import padded_high
from pcg.lower.neutral import neutral, zero
from support.rulecheck import context

INTEGERS = [f"{sign}{width}" for sign in ("i", "ui") for width in (2, 4, 8, 16, 32, 64)] + ["i1"]
FLOATS = [
    "f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E4M3", "f8E3M4", "f8E4M3B11FNUZ", "f8E4M3FNUZ", "f8E5M2FNUZ",
    "f4E2M1FN",
]  # fmt: skip
COMPLEX = ["complex<f32>", "complex<f64>"]


def made(element: str, kind: str) -> str:
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            value = neutral(ir.Type.parse(element), kind)
        assert str(value.type) == f"tensor<{element}>" and module.operation.verify()
        return str(value.owner).split("dense<")[-1].split(">")[0]


@pytest.mark.parametrize("element", INTEGERS)
def test_integers(element: str) -> None:
    width, unsigned = int(element.lstrip("ui")), element.startswith("u")
    high = 2**width - 1 if unsigned else 2 ** (width - 1) - 1
    numbers = {
        "sum": 0, "or": 0, "prod": 1, "max": 0 if unsigned else -high - 1, "min": high, "and": high if unsigned else -1
    }  # fmt: skip
    if element == "i1":
        truth = {"sum": "false", "or": "false", "max": "false", "prod": "true", "min": "true", "and": "true"}
        assert {k: made(element, k) for k in numbers} == truth
    else:
        assert {k: made(element, k) for k in numbers} == {k: str(n) for k, n in numbers.items()}


@pytest.mark.parametrize("element", FLOATS)
def test_floats(element: str) -> None:
    nothing = "0.000000e+00" if element.endswith("FNUZ") else "-0.000000e+00"
    assert made(element, "sum") == nothing and made(element, "prod") == "1.000000e+00"
    largest, least = made(element, "min"), made(element, "max")
    infinite = element in ("f64", "f32", "f16", "bf16", "f8E5M2", "f8E4M3", "f8E3M4")
    assert largest.startswith("0x") and least.startswith("0x") if infinite else least == f"-{largest}"


@pytest.mark.parametrize("element", COMPLEX)
def test_complex_numbers(element: str) -> None:
    assert "stablehlo.complex" in made(element, "sum") and "stablehlo.complex" in made(element, "prod")
    with pytest.raises(ValueError, match="'max' has no neutral element of type complex"):
        made(element, "max")


@pytest.mark.parametrize("element", [*INTEGERS, *FLOATS, *COMPLEX, "f8E8M0FNU"])
def test_zeros_and_poison(element: str) -> None:
    """What fills padding in the emulator exists in every type."""
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            value = zero(ir.Type.parse(element))
            row = ir.RankedTensorType.get([1], value.type.element_type)
            one = ir.Operation.create("stablehlo.reshape", results=[row], operands=[value]).result
            padded_high(one, ir.RankedTensorType.get([3], row.element_type))
        assert module.operation.verify() and ir.Module.parse(str(module))
