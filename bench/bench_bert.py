"""Time and memory of `pcg-opt --auto-parallel --lower` on BERT-Large, phase by phase, unrolled and scanned.

  python bench/bench_bert.py [--size large] [--mesh data=2,model=4] [--only unrolled|scan]

Every variant runs twice: once through the command itself (wall time, CPU time, peak resident memory), and once pass by
pass in a fresh process that resets its peak before each pass.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def peak_mib() -> float:
    """Peak resident memory of this process since the last reset, in MiB."""
    try:
        text = Path("/proc/self/status").read_text()
        return int(text.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def reset_peak() -> None:
    """Forget the peak, where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def phases(path: str, mesh: str) -> list[tuple[str, float, float]]:
    """(phase, seconds, peak MiB) of each pass, run one by one in this process."""
    rows = []

    def measure(name: str, work: Callable[[], Any]) -> Any:
        reset_peak()
        start = time.perf_counter()
        result = work()
        rows.append((name, time.perf_counter() - start, peak_mib()))
        return result

    def start_up() -> Any:
        from pcg.ir.context import make_context

        return make_context()

    context = measure("start", start_up)
    from pcg.ir import shardings
    from pcg.ir.parse import load_module
    from pcg.layout import Mesh
    from pcg.passes.pipeline import Pipeline

    module = measure("parse", lambda: load_module(Path(path), context, path))
    with context:
        shardings.set_mesh(module, Mesh.parse(mesh))
    for element in Pipeline("auto-parallel,lower").elements:
        measure(str(element), functools.partial(Pipeline([element]).run, module))
    measure("print", lambda: module.operation.get_asm(assume_verified=True))
    return rows


def command(path: str, mesh: str) -> tuple[float, float, float]:
    """(wall seconds, CPU seconds, peak MiB) of the command itself."""
    program = Path(sys.executable).with_name("pcg-opt")
    start = time.perf_counter()
    args = [str(program), "--auto-parallel", "--mesh", mesh, "--lower", path, "-o", os.devnull]
    process = subprocess.Popen(args)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(args)} failed with status {process.returncode}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", default="large")
    parser.add_argument("--mesh", default="data=2,model=4")
    parser.add_argument("--only", choices=("unrolled", "scan"))
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(phases(options.worker, options.mesh)))
        return 0
    for variant in ("unrolled", "scan"):
        if options.only not in (None, variant):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/bert_{options.size}_{variant}.mlir"
            dump = [sys.executable, str(ROOT / "examples/dump_stablehlo.py"), "bert", "--size", options.size]
            dump += ["--set", f"scan={variant == 'scan'}", "-o", path]
            subprocess.run(dump, check=True, env={**os.environ, "JAX_PLATFORMS": "cpu"})
            worker = [sys.executable, __file__, "--worker", path, "--mesh", options.mesh]
            text = subprocess.run(worker, check=True, stdout=subprocess.PIPE, text=True).stdout
            wall, cpu, peak = command(path, options.mesh)
        print(f"\nBERT {options.size}, {variant}, mesh {options.mesh}\n{'phase':<28}{'seconds':>9}{'peak MiB':>10}")
        for name, seconds, memory in json.loads(text):
            print(f"{name:<28}{seconds:>9.2f}{memory:>10.0f}")
        print(f"{'pcg-opt as a whole':<28}{wall:>9.2f}{peak:>10.0f}   ({cpu:.2f} s CPU)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
