"""Comparing results with what the unsharded program gives.  Needs no jax."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: Relative tolerance per dtype: a sum over n addends in another order differs by about sqrt(n) ulp,
#: a training step chains some tens of them.  Absolute tolerance is this times the largest value.
TOLERANCE = {"float64": 1e-9, "float32": 2e-4, "complex64": 2e-4, "complex128": 1e-9}
_NARROW = 4e-2


@dataclass(frozen=True)
class Comparison:
    """One result: worst error relative to the tensor's scale, and the first place where it is too large."""

    name: str
    type: str
    error: float
    tolerance: float
    agrees: bool
    bad: int
    index: tuple[int, ...] | None = None
    got: str = ""
    expected: str = ""
    not_finite: int = 0

    def __str__(self) -> str:
        if self.agrees:
            return f"{self.name}: {self.type}: agrees, relative error {self.error:.1e} (allowed {self.tolerance:.0e})"
        return (
            f"{self.name}: {self.type}: DIFFERS in {self.bad} elements, first at {list(self.index or ())}:"
            f" got {self.got}, expected {self.expected} (relative error {self.error:.1e}, allowed {self.tolerance:.0e})"
        )


def compare(name: str, type_: str, got: np.ndarray, expected: np.ndarray, tolerance: float | None = None) -> Comparison:
    """Compare one result; NaN equals NaN, integers and booleans must be equal."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        what = f"{got.dtype}{list(got.shape)}"
        return Comparison(
            name, type_, float("inf"), 0.0, False, expected.size, (), what, f"{expected.dtype}{list(expected.shape)}"
        )
    exact = got.dtype == bool or np.issubdtype(got.dtype, np.integer) or got.dtype.name.startswith(("int", "uint"))
    if tolerance is None:
        tolerance = 0.0 if exact else TOLERANCE.get(got.dtype.name, _NARROW)
    wide = np.complex128 if np.issubdtype(got.dtype, np.complexfloating) else np.float64
    a, b = (x if exact else x.astype(wide) for x in (got, expected))
    if exact:
        wrong = a != b
        error = float(np.count_nonzero(wrong)) / max(1, b.size)
        scale = 1.0
        not_finite = 0
    else:
        finite = np.isfinite(a) & np.isfinite(b)
        scale = float(np.max(np.abs(b[np.isfinite(b)]), initial=0.0)) or 1.0
        with np.errstate(invalid="ignore"):
            difference = np.abs(a - b)
            wrong = np.where(finite, difference > tolerance * (scale + np.abs(b)) / 2, ~_same(a, b))
        error = float(np.max(difference[finite], initial=0.0)) / scale
        not_finite = int(b.size - np.count_nonzero(np.isfinite(b)))
    bad = int(np.count_nonzero(wrong))
    if not bad:
        return Comparison(name, type_, error, tolerance, True, 0, not_finite=not_finite)
    index = tuple(int(i) for i in np.argwhere(wrong)[0]) if got.ndim else ()
    return Comparison(
        name, type_, error, tolerance, False, bad, index, str(got[index]), str(expected[index]), not_finite
    )


def _same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a == b) | (np.isnan(a) & np.isnan(b))


def all_agree(found: Sequence[Comparison]) -> bool:
    """Whether every result agrees."""
    return all(c.agrees for c in found)
