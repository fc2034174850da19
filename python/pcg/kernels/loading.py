"""When compiled loops pay."""

from __future__ import annotations

#: Seconds that loading them takes.  Measured: 0.3 to 0.5, most of it numba's own modules.
_LOADING = 0.3


class _Loaded:
    """What numpy has taken so far, in place of loops that are not loaded."""

    seconds = 0.0


def pays(seconds: float) -> bool:
    """Whether what takes numpy about `seconds` is for compiled loops, which give the same results.

    They are loaded when numpy has taken as long as that would in all, which costs at most twice the least that is
    possible, whatever comes (ski rental).  From then on they are used.
    """
    _Loaded.seconds += seconds
    return _Loaded.seconds > _LOADING
