"""Neutral elements of reductions, for every element type: which reductions a type has."""

from __future__ import annotations

from torch_mlir import ir

from pcg.layout.spec import REDUCTIONS, ShardSpec, SpecError

#: The largest number of float types without an infinity.
_LARGEST = {
    "f8E4M3FN": 448.0, "f8E4M3FNUZ": 240.0, "f8E4M3B11FNUZ": 30.0, "f8E5M2FNUZ": 57344.0,
    "f8E8M0FNU": 2.0**127, "f6E2M3FN": 7.5, "f6E3M2FN": 28.0, "f4E2M1FN": 6.0,
}  # fmt: skip


def integer_range(element: ir.IntegerType) -> tuple[int, int]:
    """Smallest and largest value of an integer element type."""
    if element.is_unsigned:
        return 0, 2**element.width - 1
    if element.width == 1:
        return 0, 1
    return -(2 ** (element.width - 1)), 2 ** (element.width - 1) - 1


def neutral_element(element: ir.Type, kind: str) -> float | int | None:
    """Neutral element of reduction `kind` on `element`; None where there is none (max of complex numbers)."""
    if isinstance(element, ir.IntegerType):
        low, high = integer_range(element)
        neutral = {"sum": 0, "or": 0, "prod": 1, "max": low, "min": high, "and": high if low == 0 else -1}
        return neutral[kind]
    if kind in ("sum", "prod"):
        if kind == "sum" and str(element) == "f8E8M0FNU":
            return None  # it has no zero
        return 0.0 if kind == "sum" else 1.0
    if kind in ("max", "min") and isinstance(element, ir.FloatType):
        largest = _LARGEST.get(str(element), float("inf"))
        if str(element) == "f8E8M0FNU":
            return 1 / largest if kind == "max" else largest
        return -largest if kind == "max" else largest
    return None


def check_partial(spec: ShardSpec, type_: ir.Type) -> None:
    """Raises SpecError if the type has no reduction that `spec` leaves to be done: `and` of floats, `max` of complex.

    Devices that have no share of a partial value hold the neutral element of its reduction, so there must be one.
    """
    if not spec.partial or not isinstance(type_, ir.RankedTensorType):
        return
    for axis, kind in spec.partial:
        if neutral_element(type_.element_type, kind) is None:
            known = [k for k in REDUCTIONS if neutral_element(type_.element_type, k) is not None]
            raise SpecError(
                f"partial over {axis!r} by {kind!r}, which {type_.element_type} has no neutral element for; "
                f"allowed: {', '.join(known) or 'nothing'}"
            )
