"""Damage the files that pcg reads: `python bench/fuzz_files.py --kind plan --files 5000 --seed 0`.

A damaged file must be refused in one line, or accepted and right.  Files are made and read in worker processes, so one
that takes the process down, or is not done within `--limit` seconds, is reported like any other.  Prints how often each
reader accepted and refused, and each kind of fault with its first seed and the file cut down.  Exits 1 if there is any.
"""

from __future__ import annotations

import argparse
import base64
import faulthandler
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

#: Files per process.
BATCH = 500
#: Bytes that a worker may address beyond what it starts with.
MEMORY = 8 << 30
#: Kinds that run jax on forced CPU devices.
WITH_JAX = ("plan", "run")


def work(name: str, first: int, last: int, limit: float, cut: bool) -> None:
    """Run seeds in this process; a line of JSON before each and after it."""
    import resource

    from support import filekinds, mutate

    faulthandler.enable()
    kind = filekinds.KINDS[name]()
    _ = kind.seeds
    resource.setrlimit(resource.RLIMIT_AS, (_addressed() + MEMORY, resource.RLIM_INFINITY))
    known = set()
    for seed in range(first, last):
        print(json.dumps({"start": seed}), flush=True)
        faulthandler.dump_traceback_later(limit, exit=True)
        began = time.perf_counter()
        data, fault = filekinds.one(kind, seed)
        seconds = time.perf_counter() - began
        line = {"seed": seed, "fault": fault, "seconds": seconds}
        if fault:
            if cut and fault not in known:
                known.add(fault)
                faulthandler.dump_traceback_later(20 * limit, exit=True)
                data = mutate.minimise(data, lambda d: kind.consume(d, seed) == fault, 120)  # noqa: B023
            line["file"] = base64.b64encode(data[:20_000]).decode()
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps(line), flush=True)
    print(json.dumps({"counts": kind.counts}), flush=True)


def _addressed() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")


def outcomes(name: str, first: int, last: int, limit: float, cut: bool) -> Iterator[dict]:
    """The outcome of every seed, whatever becomes of the workers."""
    at, folder = first, tempfile.mkdtemp(prefix="pcg-fuzz-")
    environment = os.environ | {"PCG_FUZZ_FOLDER": folder}
    environment |= {"JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    if name in WITH_JAX:
        environment["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
    while at < last:
        command = [sys.executable, __file__, "--kind", name, "--limit", str(limit), *([] if cut else ["--no-minimise"])]
        command += ["--worker", str(at), str(min(last, at + BATCH))]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, errors="replace")
        lines = [json.loads(x) for x in done.stdout.splitlines() if x.startswith("{")]
        yield from (x for x in lines if "start" not in x)
        started = [x["start"] for x in lines if "start" in x]
        if done.returncode == 0:
            at = min(last, at + BATCH)
            continue
        if not started:
            raise SystemExit(f"the worker did not start:\n{done.stderr[-4000:]}")
        at = started[-1]
        late = "Timeout (" in done.stderr
        frames = [x.strip() for x in done.stderr.splitlines() if x.strip().startswith("File ") and "/pcg/" in x]
        last_line = (done.stderr.strip().splitlines() or [""])[-1]
        place = frames[0] if frames and (late or done.returncode < 0) else last_line
        what = f"not done in {limit:g} s" if late else f"the process died ({done.returncode})"
        yield {"seed": at, "fault": f"{what}: {place[:200]}", "seconds": limit if late else 0.0}
        at += 1


def main(argv: list[str] | None = None) -> int:
    kinds = ("plan", "mlir", "run", "bytecode", "cluster", "profile", "contest")
    p = argparse.ArgumentParser(prog="fuzz_files", description=__doc__)
    p.add_argument("--kind", choices=kinds, required=True, help="which files")
    p.add_argument("--files", type=int, default=5000, metavar="N", help="how many (default: %(default)s)")
    p.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the first (default: %(default)s)")
    p.add_argument("--limit", type=float, default=10, metavar="S", help="seconds for a file (default: %(default)s)")
    p.add_argument("--no-minimise", action="store_true", help="print files as they are")
    p.add_argument("--show", type=int, metavar="SEED", help="write the file of one seed to stdout and do nothing else")
    p.add_argument("--worker", nargs=2, type=int, help=argparse.SUPPRESS)
    args = p.parse_args(argv)
    if args.show is not None:
        import random

        from support import filekinds

        sys.stdout.buffer.write(filekinds.KINDS[args.kind]().mutated(random.Random(args.show)))
        return 0
    if args.worker:
        first, last = args.worker
        work(args.kind, first, last, args.limit, not args.no_minimise)
        return 0
    start, slowest = time.perf_counter(), (0.0, -1)
    counts: Counter[str] = Counter()
    faults: dict[str, list[dict]] = {}
    files = 0
    for found in outcomes(args.kind, args.seed, args.seed + args.files, args.limit, not args.no_minimise):
        if "counts" in found:
            counts.update(found["counts"])
            continue
        files += 1
        if files % 1000 == 0:
            bad = sum(map(len, faults.values()))
            print(f"{files} files, {bad} faults, {time.perf_counter() - start:.0f} s", flush=True)
        slowest = max(slowest, (found["seconds"], found["seed"]))
        if found["fault"]:
            if found["fault"] not in faults:
                text = base64.b64decode(found.get("file", "")).decode(errors="backslashreplace")
                print(f"seed {found['seed']}: {found['fault']}", *([text[:3000]] if text else []), sep="\n", flush=True)
            faults.setdefault(found["fault"], []).append(found)
    seconds = time.perf_counter() - start
    print(f"\n{files} files of kind {args.kind}, {sum(map(len, faults.values()))} faults, {seconds:.0f} s")
    print(f"slowest: {slowest[0]:.1f} s, seed {slowest[1]}")
    print(", ".join(f"{k} {n}" for k, n in sorted(counts.items())))
    for fault, where in sorted(faults.items(), key=lambda x: -len(x[1])):
        print(f"{len(where):5d}  {fault}  (seeds {', '.join(str(w['seed']) for w in where[:6])})")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
