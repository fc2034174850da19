"""Fuzz `pcg.compile` with random jax functions.

  python bench/fuzz_jax.py --programs 2000 --seed 0 --devices 8
  python bench/fuzz_jax.py --only 17 --show                         the program of one seed, as a script

Every program runs on one device by `jax.jit` and on a mesh of CPU devices by `pcg.compile`, with random layouts,
engine, mesh, donation and options; results must be equal.  Programs run in worker processes, so one that hangs or takes
the process down is reported like any other.  Prints counts, and each failing program cut down to a script that still
fails.  Exits 1 if any failed.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

from support import fuzzjax, fuzzjaxshrink  # noqa: E402
from support.fuzzjaxprogram import Case  # noqa: E402

#: Programs per process: contexts and compilers keep things for ever.
BATCH = 60


def work() -> None:
    """Run the cases that come in, one line of JSON each; whatever else is printed goes to the standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import jax

    from support import fuzzjaxrun

    for line in sys.stdin:
        out = fuzzjaxrun.run(pickle.loads(base64.b64decode(line)))
        print(json.dumps(vars(out)), file=answers, flush=True)
        jax.clear_caches()


class Worker:
    """A process that runs cases; started anew when it dies, hangs, or has run many."""

    def __init__(self, devices: int, limit: float) -> None:
        self.devices, self.limit = devices, limit
        self.process: subprocess.Popen[str] | None = None
        self.log: IO[str] | None = None
        self.count = 0

    def run(self, case: Case) -> dict[str, Any]:
        """What became of a case, whatever becomes of the process."""
        if self.process is None or self.count >= BATCH:
            self.close()
            self._start()
        assert self.process is not None and self.process.stdin is not None and self.process.stdout is not None
        self.count += 1
        killed = threading.Event()

        def kill(process: subprocess.Popen[str] = self.process) -> None:
            killed.set()
            process.kill()

        # The first case of a process also waits for imports.
        timer = threading.Timer(self.limit + 60 * (self.count == 1), kill)
        timer.start()
        try:
            self.process.stdin.write(base64.b64encode(pickle.dumps(case)).decode() + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if line:
            return json.loads(line)
        code = self.process.wait()
        assert self.log is not None
        self.log.seek(0)
        said = self.log.read()[-3000:]
        self.close()
        return {
            "failure": f"hang: no answer in {self.limit:.0f} s" if killed.is_set() else f"the process died: {code}",
            "details": said,
        }

    def _start(self) -> None:
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={self.devices}".strip()
        # One thread each: programs are tiny, and there are as many processes as there are jobs.
        self.log = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
            text=True, env=os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags},
        )  # fmt: skip
        self.count = 0

    def close(self) -> None:
        if self.process is not None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.kill()
            self.process.wait()
            self.process = None
        if self.log is not None:
            self.log.close()
            self.log = None


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(prog="fuzz_jax", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--programs", type=int, default=2000, metavar="N", help="how many programs (default: %(default)s)")
    p.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the first (default: %(default)s)")
    p.add_argument("--devices", type=int, default=8, metavar="N", help="the largest mesh (default: %(default)s)")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes (default: one a CPU)")
    p.add_argument("--limit", type=float, default=120, metavar="S", help="seconds for a program (default: %(default)s)")
    p.add_argument("--shrink", type=float, default=120, metavar="S", help="seconds to cut one down; 0: do not")
    p.add_argument("--only", type=int, metavar="SEED", help="this program alone")
    p.add_argument("--show", action="store_true", help="print programs as scripts instead of running them")
    p.add_argument("--save", type=Path, metavar="DIR", help="write scripts of failing programs here")
    p.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = p.parse_args(argv)
    if args.worker:
        work()
        return 0
    seeds = [args.only] if args.only is not None else list(range(args.seed, args.seed + args.programs))
    if args.show:
        for seed in seeds:
            print(fuzzjax.script(fuzzjax.generate(seed, args.devices)))
        return 0
    return campaign(seeds, args)


def campaign(seeds: list[int], args: argparse.Namespace) -> int:
    """Run all seeds; prints failures as they come and counts at the end."""
    start = time.perf_counter()
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for seed in seeds:
        waiting.put(seed)
    counts: Counter[str] = Counter()
    strategies: Counter[str] = Counter()
    families: Counter[str] = Counter()
    devices: Counter[int] = Counter()
    lock = threading.Lock()

    def loop() -> None:
        worker = Worker(args.devices, args.limit)
        while True:
            try:
                seed = waiting.get_nowait()
            except queue.Empty:
                break
            case = fuzzjax.generate(seed, args.devices)
            found = worker.run(case)
            text = report(case, found, worker, args) if found["failure"] else ""
            with lock:
                counts["failures"] += bool(text)
                for key in ("uneven", "rounded", "unjudged", "refused", "reference_wrong"):
                    counts[key] += bool(found.get(key))
                strategies[case.setting.strategy] += 1
                devices[case.setting.devices] += 1
                families.update(s.family for s in case.program.every())
                if (done := strategies.total()) % 100 == 0:
                    took = time.perf_counter() - start
                    print(f"{done} programs, {counts['failures']} failures, {took:.0f} s", flush=True)
                if text:
                    print(text, flush=True)
        worker.close()

    threads = [threading.Thread(target=loop) for _ in range(max(1, args.jobs))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    judged = f"{counts['rounded']} judged in 64 bits, {counts['unjudged']} not judged, {counts['refused']} refused"
    print(
        f"{len(seeds)} programs (seeds {seeds[0]} to {seeds[-1]}), {counts['failures']} failures, {counts['uneven']}"
        f" with uneven shards, {judged}, {counts['reference_wrong']} wrong on one device only,"
        f" {time.perf_counter() - start:.0f} s"
    )
    for title, found in (("strategies", strategies), ("devices", devices), ("statements", families)):
        print(f"{title}: " + ", ".join(f"{k} {n}" for k, n in found.most_common()))
    return 1 if counts["failures"] else 0


def report(case: Case, found: dict[str, Any], worker: Worker, args: argparse.Namespace) -> str:
    """What failed, as text, with a script of the program cut down."""
    wanted = found["failure"]
    if args.shrink and not wanted.startswith(("the generator", "the program itself")):
        small = fuzzjaxshrink.shrink(case, lambda c: worker.run(c)["failure"] == wanted, args.shrink)
        if small is not case:
            second = worker.run(small)
            found = second if second["failure"] == wanted else found
            case = small
    script = fuzzjax.script(case)
    if args.save:
        args.save.mkdir(parents=True, exist_ok=True)
        (args.save / f"seed{case.seed}.py").write_text(f'"""{wanted}\n\n{found["details"][-1500:]}\n"""\n{script}')
    line = "-" * 100
    again = f"python bench/fuzz_jax.py --only {case.seed} --devices {args.devices}"
    return (
        f"{line}\nseed {case.seed}: {wanted}\nagain: {again}\n"
        f"{found['details'][-1500:]}\n{line}\n{script}{line}"
    )


if __name__ == "__main__":
    sys.exit(main())
