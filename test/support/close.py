"""Comparing numbers that two differently compiled programs give.

Processors, thread counts and compilers round differently, and where terms cancel the rounding is as large as the result.
So errors are measured against the largest magnitude of an array, never against the element itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_close(got: Any, want: Any, rtol: float, slack: float = 0.0, what: str = "") -> None:
    """`got` within `rtol` of the largest magnitude in `want`, plus `slack`; shapes equal, NaN where NaN is."""
    a, b = np.asarray(got), np.asarray(want)
    assert a.shape == b.shape, f"{what}: shape {a.shape}, expected {b.shape}"
    finite = np.abs(b[np.isfinite(b)])
    scale = float(np.max(finite, initial=0.0))
    np.testing.assert_allclose(a, b, rtol=0, atol=rtol * scale + slack, err_msg=what)
