"""pcg-calibrate: measure what the devices at hand do, and keep it as the profile that costs are estimated with."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pcg.tools import arguments

DONE, FAILED = 0, 2
#: Bytes of the largest operand on one device.
_LARGEST = {"cpu": 16 * 2**20, "gpu": 256 * 2**20, "tpu": 256 * 2**20}


def main(argv: Sequence[str] | None = None) -> int:
    """The program; returns its exit status: 0 a profile was written, 2 it was not."""
    args = parser().parse_args(argv)
    if args.output and not Path(args.output).absolute().parent.is_dir():
        return _fail(f"no folder {Path(args.output).absolute().parent} for the profile")
    flags = os.environ.get("XLA_FLAGS", "")
    if args.devices is not None and "xla_force_host_platform_device_count" not in flags:
        # Only says into how many devices the processors are cut; it does nothing to GPUs.
        os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={args.devices}".strip()
    try:
        import jax

        from pcg.runtime import calibrate, probes
        from pcg.runtime.allocator import keep_memory
    except ImportError as error:
        return _fail(f"needs jax: pip install 'pcg[jax]' ({error})")
    from pcg.machine.errors import ClusterError
    from pcg.machine.profile_text import default_path, dumps

    elements = [e.strip() for e in args.elements.split(",") if e.strip()]
    if bad := [e for e in elements if e not in probes.BYTES] or ([] if elements else [""]):
        return _fail(f"--elements {bad[0]!r}; allowed: {', '.join(probes.BYTES)}")
    only = [w.strip() for w in args.only.split(",")] if args.only is not None else list(calibrate.WHAT)
    if bad := [w for w in only if w not in calibrate.WHAT]:
        return _fail(f"--only {bad[0]!r}; allowed: {', '.join(calibrate.WHAT)}")
    present = jax.devices()
    count = args.devices if args.devices is not None else len(present)
    if count > len(present):
        return _fail(f"--devices {count}; there are {len(present)} ({present[0].platform})")
    if "f64" in elements:
        jax.config.update("jax_enable_x64", True)
    if args.keep_memory and not keep_memory():
        return _fail("--keep-memory: the C library of this process cannot be told to (glibc can)")
    start = time.perf_counter()

    def progress(line: str) -> None:
        if not args.quiet:
            print(f"[{time.perf_counter() - start:6.1f} s] {line}", file=sys.stderr, flush=True)

    devices = present[:count]
    largest = _LARGEST.get(devices[0].platform, _LARGEST["gpu"]) / (8 if args.quick else 1)
    progress(f"{count} x {calibrate.describe(devices[0])}")
    try:
        work = calibrate.Calibration(devices, 2 if args.quick else args.rounds, progress)
        profile = work.profile(elements, largest, 3 if args.quick else args.sizes, only)
        if args.keep_memory:
            profile = replace(profile, provenance={**profile.provenance, "memory": "kept"})
        path = Path(args.output) if args.output else default_path(profile.name, count)
        if not args.output:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dumps(profile), encoding="utf-8")
    except (ClusterError, OSError) as error:
        return _fail(str(error))
    progress(f"{path}: {len(profile.rates)} classes of ops, {len(profile.collectives)} curves of collectives")
    print(path)
    return DONE


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = arguments.Parser(prog="pcg-calibrate", description=__doc__)
    p.add_argument(
        "-o", "--output", metavar="FILE",
        help="where the profile goes (TOML); default: the user's cache, where Cluster.detect() finds it",
    )  # fmt: skip
    p.add_argument(
        "--devices", type=arguments.integer(1), metavar="N",
        help="measure with N devices at work; processors are cut into as many",
    )
    p.add_argument(
        "--elements", default="f32", metavar="TYPES", help="element types to measure, such as f32,bf16 (default f32)"
    )
    p.add_argument(
        "--only", metavar="WHAT", help="measure only these classes of ops, or collectives; for the rest rates serve"
    )
    p.add_argument(
        "--rounds", type=arguments.integer(1), default=5, metavar="N", help="times are medians of N rounds (default 5)"
    )
    p.add_argument(
        "--sizes", type=arguments.integer(2), default=7, metavar="N", help="sizes of operands per curve (default 7)"
    )
    p.add_argument(
        "--keep-memory", action="store_true",
        help="as in processes that keep what they free, see pcg.runtime.allocator; default: as it comes",
    )  # fmt: skip
    p.add_argument("--quick", action="store_true", help="fewer, smaller sizes and 2 rounds: to try it out")
    p.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    return p


def _fail(text: str) -> int:
    print(f"pcg-calibrate: {text}", file=sys.stderr)
    return FAILED


if __name__ == "__main__":
    sys.exit(main())
