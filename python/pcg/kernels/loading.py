"""When compiled loops pay."""

from __future__ import annotations

import sys

#: Seconds that loading them takes.  Measured: 0.3 to 0.5, most of it numba's own modules.
_LOADING = 0.3
_LOADED = "pcg.kernels.compiled"
_spent = 0.0


def pays(seconds: float) -> bool:
    """Whether what takes numpy about `seconds` is for compiled loops, for loops of which both give the same results.

    They are loaded when numpy has taken as long as that would in all, which costs at most twice the least that is
    possible, whatever comes (ski rental).  From then on they are used.
    """
    global _spent
    _spent += seconds
    return _spent > _LOADING or _LOADED in sys.modules
