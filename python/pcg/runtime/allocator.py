"""Keeping the memory that a process frees."""

from __future__ import annotations

import ctypes
import sys

#: Settings of glibc's mallopt(3).
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_NEVER = 2**31 - 1
#: Bytes from which every array has a mapping of its own, given back when it is freed: the most that glibc takes.
_MAPPED = (2**30, 2**25)


def keep_memory() -> bool:
    """Let this process keep the memory that it frees; false if its C library has no such setting (it is not glibc).

    By default glibc gives memory back to the system when much of it is free at the end of a heap, or had a mapping of
    its own.  A step that allocates its results then faults pages in, or not, depending on the order in which threads
    freed those of the step before.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_TRIM_THRESHOLD, _NEVER)) and any(mallopt(_MMAP_THRESHOLD, n) for n in _MAPPED)
