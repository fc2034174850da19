"""Fuzz the pipeline for longer than the suite does: `python bench/fuzz.py --programs 20000 --seed 0`.

Lowered programs run by emulation; a share of them by XLA on eight CPU devices too.
Every program runs in a worker process, so one that takes the process down is reported like any other.
Prints counts, and each failing program cut down to what still fails.  Exits 1 if any failed.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

#: Programs per process: contexts keep every constant for ever.
BATCH = 100
#: Every so many programs, one has ops that only XLA runs, and one runs on devices too.
EXOTIC, DEVICES = 100, 12


def case_of(seed: int) -> Any:
    """The case that the campaign runs for a seed."""
    from support import fuzz

    return fuzz.generate(seed, exotic=seed % EXOTIC == 0, devices=seed % DEVICES in (0, 5))


def work(first: int, last: int, cut: bool) -> None:
    """Run seeds in this process; one line of JSON each, before and after."""
    from support import fuzz

    for seed in range(first, last):
        start = time.perf_counter()
        case = case_of(seed)
        line = {"seed": seed, "engine": case.engine, "devices": case.mesh.size, "failure": ""}
        try:
            report = fuzz.check(case)
            line |= {"ops": report.ops, "xla": case.exotic, "collectives": report.collectives}
            line |= {"uneven": report.uneven, "on": case.devices}
        except Exception as error:
            line["failure"] = fuzz.describe(error)
            if cut:
                case = fuzz.minimise(case, functools.partial(fuzz.fails_like, line["failure"]))
            line |= {"error": str(error)[:2000], "program": case.annotated}
        print(json.dumps(line | {"seconds": time.perf_counter() - start}), flush=True)


def outcomes(first: int, last: int, cut: bool, jobs: int) -> Iterator[dict]:
    """The outcome of every seed, as batches finish."""
    starts = range(first, last, BATCH)
    with ThreadPoolExecutor(max(1, jobs)) as pool:
        waiting = [pool.submit(lambda a: list(batch(a, min(last, a + BATCH), cut)), a) for a in starts]
        for done in as_completed(waiting):
            yield from done.result()


def batch(first: int, last: int, cut: bool) -> Iterator[dict]:
    """The outcomes of seeds that one process runs, or several if it dies."""
    at = first
    while at < last:
        command = [sys.executable, __file__, "--worker", str(at), str(last)]
        command += ["--cut"] if cut else []
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8".strip()
        environment = os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        lines = [json.loads(x) for x in done.stdout.splitlines() if x.startswith("{")]
        finished = [x for x in lines if "engine" in x]
        yield from finished
        at = (finished[-1]["seed"] if finished else at - 1) + 1
        if done.returncode:
            text = done.stderr.strip().splitlines()[-1:] or [""]
            yield {"seed": at, "failure": f"the process died: {text[0]}"}
            at += 1


def main(argv: list[str] | None = None) -> int:
    p = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    p.add_argument("--programs", type=int, default=2000, metavar="N", help="how many programs (default: %(default)s)")
    p.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the first (default: %(default)s)")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes (default: one a CPU)")
    p.add_argument("--no-minimise", action="store_true", help="print failing programs as they are")
    p.add_argument("--worker", nargs=2, type=int, help=argparse.SUPPRESS)
    p.add_argument("--cut", action="store_true", help=argparse.SUPPRESS)
    args = p.parse_args(argv)
    if args.worker:
        first, last = args.worker
        work(first, last, args.cut)
        return 0
    start = time.perf_counter()
    ops: Counter[str] = Counter()
    collectives: Counter[str] = Counter()
    engines: Counter[str] = Counter()
    devices: Counter[int] = Counter()
    failures: list[dict[str, Any]] = []
    uneven = on_devices = done = 0
    for found in outcomes(args.seed, args.seed + args.programs, not args.no_minimise, args.jobs):
        done += 1
        if done % 1000 == 0:
            print(f"{done} programs, {len(failures)} failures, {time.perf_counter() - start:.0f} s", flush=True)
        if found["failure"]:
            failures.append(found)
            details = found.get("error", ""), found.get("program", "")
            print(f"seed {found['seed']}: {found['failure']}", *details, sep="\n", flush=True)
            continue
        ops.update(found["ops"])
        collectives.update(found["collectives"])
        engines[found["engine"] + (" in XLA" if found["xla"] else "")] += 1
        devices[found["devices"]] += 1
        uneven += found["uneven"]
        on_devices += found["on"]
    print(
        f"{args.programs} programs (seeds {args.seed} to {args.seed + args.programs - 1}), {len(failures)} failures,"
        f" {uneven} with uneven shards, {on_devices} on devices too, {time.perf_counter() - start:.0f} s"
    )
    for title, counts in (("engines", engines), ("devices", devices), ("collectives", collectives), ("ops", ops)):
        print(f"{title}: " + ", ".join(f"{k} {n}" for k, n in counts.most_common()))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
