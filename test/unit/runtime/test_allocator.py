"""Memory that a process frees and wants again: faulted in once if it is kept, each time if it is not."""

import platform
import subprocess
import sys

import pytest

_AGAIN = """
import ctypes, resource, sys
from pcg.runtime.allocator import keep_memory
if sys.argv[1] == "kept" and not keep_memory():
    sys.exit("keep_memory() says no")
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.memset.argtypes, libc.free.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t], [ctypes.c_void_p]
for turn in range(6):
    if turn == 1:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    found = [libc.malloc(30 << 20) for _ in range(3)]  # older versions map all above 32 MiB, whatever they are told
    for x in found:
        libc.memset(x, 1, 30 << 20)
    for x in found:
        libc.free(x)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    run = subprocess.run([sys.executable, "-c", _AGAIN, how], capture_output=True, text=True, check=True)
    return int(run.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told")
def test_kept_memory_is_not_faulted_in_again() -> None:
    given_back, kept = faults("as it comes"), faults("kept")
    assert given_back >= 5 * 3 * 15  # pages of 2 MiB at the largest
    assert kept < given_back / 5
