"""In a daemon of multiprocessing, as those of its pools are, which may start no process, all work is done in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# A daemon that is spawned runs the file again, so it is one.
PROGRAM = """
import multiprocessing, operator, os
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.planning import workers
from pcg.solve import beside, pool
from pcg.solve.beside import Beside
from pcg.solve.other_process import OtherProcess

def where(workspace):
    return os.getpid()

def work(_):
    beside._cores = lambda: 2
    workers._LARGE = 0
    module = load_module("module {}", make_context(), "empty.mlir").operation
    with workers.Workers(module, 2) as started:
        there = started.start(where).result()
    here = os.getpid()
    negated = list(pool.each(operator.neg, [1, 2], 2))
    return OtherProcess(os.getpid).found(), Beside(os.getpid).result() == here, there == here, negated

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as daemons:
        print(daemons.map(work, [0]))
"""


def test_nothing_is_started(tmp_path: Path) -> None:
    file = tmp_path / "main.py"
    file.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[(None, True, True, [-1, -2])]", done.stderr
