"""Quantities in text: `900 GB/s`, `16 GiB`, `0.6 us`, `125 TFLOP/s` as numbers in bytes, FLOP and seconds, and back."""

from __future__ import annotations

import math
import re

from pcg.layout.brief import brief

_DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BINARY = {f"{p}i": 2.0 ** (10 * (i + 1)) for i, p in enumerate("KMGTP")}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
#: What a quantity may be in, and how one is written.
UNITS = {"B": "16 GiB", "B/s": "900 GB/s", "FLOP/s": "125 TFLOP/s", "s": "0.6 us"}


def quantity(value: object, unit: str) -> float:
    """`value` in `unit` (one of `UNITS`): a number is in that unit already, text names its own.

    Bits per second are accepted for bandwidth (`400 Gbit/s`).

    Raises:
      ValueError: not a number, or in another unit; the text says what is allowed.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf if value > 0 else -math.inf
    elif isinstance(value, str):
        number = _parse(value, unit)
    else:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(
            f'{brief(value)} is not a quantity in {unit}; allowed: a finite number, or text such as "{UNITS[unit]}"'
        )
    return number


def _parse(text: str, unit: str) -> float:
    m = re.fullmatch(r"\s*(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)\s*(\S*)\s*", text)
    if m is None:
        return math.nan
    number, written = float(m[1]), m[2]
    if unit == "s":
        return number * _SECONDS.get(written, math.nan)
    for suffix, factor in ((unit, 1.0), *((("bit/s", 0.125),) if unit == "B/s" else ())):
        if written.endswith(suffix):
            prefix = written.removesuffix(suffix)
            scale = _DECIMAL.get(prefix, _BINARY.get(prefix, math.nan))
            return number * scale * factor
    return math.nan


def shown(value: float, unit: str) -> str:
    """A quantity for people: `900 GB/s`, `600 ns`."""
    if unit == "s":
        for name, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
            if value >= scale:
                return f"{value / scale:.4g} {name}"
        return f"{value / 1e-9:.4g} ns"
    for prefix in "PTGMk":
        if value >= _DECIMAL[prefix]:
            return f"{value / _DECIMAL[prefix]:.4g} {prefix}{unit}"
    return f"{value:.4g} {unit}"


def bytes_text(n: float) -> str:
    """Bytes in a column of figures: `1.50 MiB`."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if n >= size:
            return f"{n / size:.2f} {unit}"
    return f"{n:.0f} B"


def time_text(seconds: float) -> str:
    """Seconds in a column of figures: `12.3 us`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e6:.1f} us"
