"""Telling an error from rounding: results, a reference, and how far rounding moves results.  Needs no jax.

A result is judged by its distance from a reference, measured against a *scale* that says, element by element, how far
rounding may move it: what the program on one device is off by itself, and what it is off by when every operation errs a
little (`pcg.emulate.rounding`).  Where rounding changes a decision (a maximum, a mask, an index), distances are as
large as the values, but at few places and elsewhere in each run.  So each perturbed run is judged against the others
in the same way, and a result is wrong only if it stands out more than they do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: How many times its scale an element may be off before it counts.
FACTOR = 16.0
#: How many times worse than the worst perturbed run, judged by the others, a result may be.
OUTLIER = 4.0
#: Least scale of an element, as a share of the distance that is usual around it.
#: These four are choices.
_USUAL = 1 / 16
#: Floats that may be out further than in any other run without being too many.
_FEW = 8.0


@dataclass(frozen=True)
class Comparison:
    """One result.

    `error` is its distance from the reference, relative to the norm of the reference (root mean squares; for integers
    and booleans the share of elements that differ), `one_device` that of the program on one device, and `double` that
    of the sharded program in double precision, where they are known.  `excess` is by how much it is beyond what
    rounding explains (allowed: 1).  `decided` is False where rounding alone, in double precision, moves the result by a
    tenth of itself, so that a fault may hide in it.  The first place where it is too far off is `index`, and `bad` how
    many there are.
    """

    name: str
    type: str
    error: float
    agrees: bool
    bad: int = 0
    index: tuple[int, ...] | None = None
    got: str = ""
    expected: str = ""
    one_device: float | None = None
    double: float | None = None
    excess: float = 0.0
    not_finite: int = 0
    decided: bool = True

    def __str__(self) -> str:
        if self.agrees:
            return f"{self.name}: {self.type}: agrees, {self.distances()}"
        return (
            f"{self.name}: {self.type}: DIFFERS in {self.bad} elements, first at {list(self.index or ())}:"
            f" got {self.got}, expected {self.expected} ({self.distances()}; {self.excess:.1e} times what is allowed)"
        )

    def distances(self) -> str:
        """The distances from the reference that are known."""
        found = [f"relative error {self.error:.1e}"]
        if self.one_device is not None:
            found.append(f"one device {self.one_device:.1e}")
        if self.double is not None:
            found.append(f"in double precision {self.double:.1e}")
        return ", ".join(found)


@dataclass(frozen=True)
class Judgement:
    """Whether a result is within rounding, how far off it is (1: what is allowed), and the elements that are `bad`."""

    agrees: bool
    excess: float
    bad: np.ndarray


# -- distances -------------------------------------------------------------------------------------


def is_exact(dtype: np.dtype) -> bool:
    """Whether values of a type are compared for equality."""
    return dtype.kind == "b" or np.issubdtype(dtype, np.integer) or dtype.name.startswith(("int", "uint"))


def as_wide(x: np.ndarray) -> np.ndarray:
    """Floats as float64, complex numbers as complex128, everything else as it is."""
    if is_exact(x.dtype):
        return x
    return x.astype(np.complex128 if np.issubdtype(x.dtype, np.complexfloating) else np.float64)


def distance(x: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """|x - reference| per element: 0 for the same infinity or NaN, infinite where only one is finite.

    For integers and booleans 0 where they are equal, else infinite.
    """
    if is_exact(reference.dtype):
        return np.where(x == reference, 0.0, np.inf)
    a, b = as_wide(x), as_wide(reference)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(a - b)
    return np.where(np.isfinite(a) & np.isfinite(b), apart, np.where(_same(a, b), 0.0, np.inf))


def relative(apart: np.ndarray, reference: np.ndarray) -> float:
    """Root mean square of a distance over that of the reference, where both are finite; else the share of misses."""
    if not apart.size:
        return 0.0
    if is_exact(reference.dtype):
        return float(np.mean(apart > 0))
    finite = np.isfinite(apart) & np.isfinite(reference)
    norm = _rms(np.abs(as_wide(reference))[finite])
    found = _rms(apart[finite])
    missing = bool(np.isinf(apart).any())
    return float("inf") if missing else found / norm if norm else found


def _rms(x: np.ndarray) -> float:
    if not x.size:
        return 0.0
    top = float(np.max(x))
    return top * float(np.sqrt(np.mean(np.square(x / top)))) if top > 0 and np.isfinite(top) else top


def _same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a == b) | (np.isnan(a) & np.isnan(b))


# -- judging ---------------------------------------------------------------------------------------


def pooled(apart: np.ndarray) -> np.ndarray:
    """The distance that is usual around each element: the least of the root mean squares of the slices through it.

    A row of small values beside large ones, or a column, is so measured by itself.
    """
    finite = np.where(np.isfinite(apart), apart, 0.0)
    top = float(np.max(finite, initial=0.0))
    if top == 0:
        return np.zeros_like(finite)
    squares = np.square(finite / top)
    if apart.ndim < 2:
        return np.full_like(finite, top * np.sqrt(np.mean(squares)))
    found = np.full_like(finite, np.inf)
    for d in range(apart.ndim):
        others = tuple(i for i in range(apart.ndim) if i != d)
        if apart.shape[d] > 1 or apart.size == 1:
            found = np.minimum(found, np.sqrt(np.mean(squares, axis=others, keepdims=True)))
    return top * np.where(np.isfinite(found), found, np.sqrt(np.mean(squares)))


def judge_by_one_device(
    apart: np.ndarray, own: np.ndarray, reference: np.ndarray, floor: float, tiny: float, share: float = 1.0
) -> Judgement:
    """Judge a distance by that of the program on one device, `own`, without any perturbed run.

    It may be `FACTOR` times as large as `own` is around each element, times `share`.  `floor` is the relative error of
    one rounding of the result, `tiny` the least magnitude that its type resolves.  Passing this proves that the result
    is right; not passing it proves nothing, for a single run may have been lucky.
    """
    return _judged(apart, np.where(np.isinf(own), np.inf, share * pooled(own)), reference, floor, tiny)


def judge(
    apart: np.ndarray, runs: Sequence[np.ndarray], reference: np.ndarray, floor: float, tiny: float,
) -> Judgement:
    """Judge a distance by those of runs that differ from the reference by rounding alone."""
    stack = np.stack(runs)
    found = _judged(apart, _scale(stack), reference, floor, tiny)
    if found.agrees:
        return found
    others = [
        _judged(run, _scale(np.delete(stack, i, axis=0)), reference, floor, tiny) for i, run in enumerate(runs)
    ]
    most = max(np.count_nonzero(other.bad) for other in others)
    allowed = max(1.0, OUTLIER * max(other.excess for other in others))
    # Counts too: in exact types, and where decisions change, each miss is as large as it can be.
    places = OUTLIER * most + (0 if is_exact(reference.dtype) else _FEW)
    by_count = np.count_nonzero(found.bad) / places if places else float("inf")
    by_size = found.excess / allowed if np.isfinite(allowed) else 0.0
    excess = max(by_size, by_count)
    if excess <= 1:
        return Judgement(True, excess, np.zeros_like(found.bad))
    return Judgement(False, excess, found.bad)


def _scale(stack: np.ndarray) -> np.ndarray:
    """How far rounding moves each element: the most in any run, or a part of what is usual around it."""
    most = stack.max(axis=0)
    return np.maximum(most, _USUAL * pooled(most))


def _judged(apart: np.ndarray, scale: np.ndarray, reference: np.ndarray, floor: float, tiny: float) -> Judgement:
    if is_exact(reference.dtype):
        bad = (apart > 0) & ~(scale > 0)
        return Judgement(not bad.any(), float("inf") if bad.any() else 0.0, bad)
    size = np.where(np.isfinite(reference), np.abs(as_wide(reference)), 0.0)
    allowed = FACTOR * np.maximum(np.maximum(scale, floor * size), tiny)
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isinf(allowed), 0.0, apart / allowed)
    bad = ratio > 1
    return Judgement(not bad.any(), float(np.max(ratio, initial=0.0)), bad)


# -- with a tolerance ------------------------------------------------------------------------------


def compare(name: str, type_: str, got: np.ndarray, expected: np.ndarray, tolerance: float = 0.0) -> Comparison:
    """Compare one result with `expected`, to a relative tolerance of the tensor's scale.

    NaN equals NaN; integers and booleans must be equal.
    """
    if got.shape != expected.shape or got.dtype != expected.dtype:
        what = f"{got.dtype}{list(got.shape)}"
        should = f"{expected.dtype}{list(expected.shape)}"
        return Comparison(name, type_, float("inf"), False, expected.size, (), what, should, excess=float("inf"))
    apart = distance(got, expected)
    if is_exact(got.dtype):
        bad, excess = apart > 0, float("inf")
    else:
        size = np.where(np.isfinite(expected), np.abs(as_wide(expected)), 0.0)
        top = float(np.max(size, initial=0.0)) or 1.0
        bad = apart > tolerance * (top + size) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = float(np.max(np.where(bad, apart / (tolerance * (top + size) / 2), 0.0), initial=0.0))
    return described(name, type_, got, expected, Judgement(not bad.any(), excess if bad.any() else 0.0, bad), apart)


def described(
    name: str, type_: str, got: np.ndarray, expected: np.ndarray, found: Judgement, apart: np.ndarray,
    one_device: float | None = None, double: float | None = None,
) -> Comparison:  # fmt: skip
    """A judgement as a comparison."""
    not_finite = 0 if is_exact(expected.dtype) else int(expected.size - np.count_nonzero(np.isfinite(expected)))
    error = relative(apart, expected)
    if found.agrees:
        return Comparison(
            name, type_, error, True, one_device=one_device, double=double, excess=found.excess, not_finite=not_finite
        )
    index = tuple(int(i) for i in np.argwhere(found.bad)[0]) if found.bad.any() else ()
    return Comparison(
        name, type_, error, False, int(np.count_nonzero(found.bad)), index, str(got[index]), str(expected[index]),
        one_device, double, found.excess, not_finite,
    )  # fmt: skip
