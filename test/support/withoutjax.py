"""Python code in a process without jax, in which copies of the process are made."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

_TWO_CORES = "import os, signal, sys\nfrom pcg.solve import beside\nbeside._cores = lambda: 2\nhere = os.getpid()\n"


def lines_of(code: str, setup: str = "", flags: tuple[str, ...] = ()) -> list[str]:
    """What a Python without jax, with `flags`, prints that runs `code` after `setup`, as if it had two cores."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    # A process that ends just as loky removes a semaphore of processes that were killed leaves that to loky's tracker,
    # which warns of it.
    environment["PYTHONWARNINGS"] = "ignore:resource_tracker:UserWarning"
    done = subprocess.run(
        [sys.executable, *flags, "-c", _TWO_CORES + setup + textwrap.dedent(code)], capture_output=True, text=True,
        timeout=120, env=environment,
    )  # fmt: skip
    assert not done.returncode and not done.stderr, done.stderr
    return done.stdout.splitlines()
