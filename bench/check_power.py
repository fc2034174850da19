"""What `pcg-run --check` makes of right programs that are mostly rounding, and of faults planted in lowered programs.

  python bench/check_power.py                         both tables
  python bench/check_power.py --only false-alarms     22 ill-conditioned programs, each in two or three layouts
  python bench/check_power.py --only MLP --faults 30  faults in one model

For each right program: whether the check agrees, the distances that it reports, and whether a fixed tolerance (2e-4 of
the largest value for f32) would have. For each model: how many faults were planted and missed. A fault that changes no
result is not counted: on three sets of inputs the program with it yields what the one without yields, to rounding, in
single and double precision, on every device.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Little is run and much is compiled.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "test"))

import jax.numpy as jnp
import numpy as np

from pcg.runtime import check, compare
from pcg.runtime.executable import Executable
from support.checks import checked, compiled, differs_in_double, inputs_of, text_of, unsharded, with_lowered, wrong
from support.faultmodels import MODELS
from support.faults import Fault, faults, planted
from support.illconditioned import CASES

#: What was allowed relative to the largest value before noise was estimated.
FIXED = {"float64": 1e-9, "float32": 2e-4, "complex64": 2e-4}


def outputs(executable: Executable, inputs: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """Results on every device."""
    return [[np.asarray(s.data) for s in x.addressable_shards] for x in check.on_mesh(executable)(inputs)]


def is_equivalent(right: Executable, edited: Executable, inputs: Sequence[Sequence[np.ndarray]]) -> bool:
    """Whether two lowered programs yield the same on every device for all of some inputs, to rounding."""
    for one, other, units in ((right, edited, 64), (check.widened(right), check.widened(edited), 1e4)):
        for values in inputs:
            wide = [compare.as_wide(x) for x in values] if units == 1e4 else values
            for a, b in zip(outputs(one, wide), outputs(other, wide), strict=True):
                for x, y in zip(a, b, strict=True):
                    apart = compare.distance(x, y)
                    if compare.is_exact(x.dtype):
                        if (apart > 0).any():
                            return False
                    elif (apart > units * float(jnp.finfo(x.dtype).eps) * np.max(np.abs(y), initial=0.0)).any():
                        return False
    return True


def false_alarms(seeds: int, only: str | None = None) -> int:
    """Print the table of right programs; returns how many are called wrong."""
    head = f"{'right program':34}{'mesh':>9}  {'check':12}{'fixed':12}"
    print(f"{head}{'one device':>11}{'sharded':>10}{'in double':>10}{'s':>7}")
    alarms = 0
    for name, case in CASES.items():
        if only and only not in name:
            continue
        for mesh, split in case.layouts:
            start, rows, fixed = time.perf_counter(), [], True
            text = text_of(case.function, case.arguments(np.random.default_rng(0)))
            executable = compiled(text, mesh, "dataflow", split)
            one = unsharded(executable, text)
            for seed in range(seeds):
                values = case.arguments(np.random.default_rng(seed))
                rows += checked(executable, one, values, seed)
                for x, y in zip(check.on_mesh(executable)(values), one.run(values), strict=True):
                    tolerance = FIXED.get(np.asarray(y).dtype.name, 4e-2)
                    fixed &= compare.compare("", "", np.asarray(x), np.asarray(y), tolerance).agrees
            bad = wrong(rows)
            alarms += bool(bad)
            worst = max(rows, key=lambda r: r.error)
            print(
                f"{name:34}{mesh:>9}  {'FALSE ALARM' if bad else 'agrees':12}{'agrees' if fixed else 'false alarm':12}"
                f"{worst.one_device or 0:>11.1e}{worst.error:>10.1e}{worst.double or 0:>10.1e}"
                f"{time.perf_counter() - start:>7.1f}", flush=True,
            )  # fmt: skip
            for text in bad[:3]:
                print(f"    {text[:200]}")
    return alarms


def power(name: str, count: int, verbose: bool = False) -> tuple[list[Fault], list[Fault], int]:
    """Faults planted in a model: (missed, equivalent, found)."""
    model = MODELS[name]
    step, args = model.make()
    text = text_of(step, args)
    right = compiled(text, model.mesh, "dataflow", model.shardings(args))
    one = unsharded(right, text)
    draw = inputs_of(text, right.program.arguments)
    values = draw(0)
    if bad := wrong(checked(right, one, values)):
        raise SystemExit(f"{name}: called wrong without any fault: {bad[0]}")
    lowered = right.compilation.local_text
    missed: list[Fault] = []
    same: list[Fault] = []
    found = 0
    for fault in faults(lowered, 10 * count):
        if found + len(missed) == count:
            break
        edited = with_lowered(right, planted(lowered, fault))
        start = time.perf_counter()
        # The verdict in double precision comes first: with it, half of the compiling is done.
        if bad := differs_in_double(edited, one, values) or wrong(checked(edited, one, values)):
            found += 1
            says = f"found in {len(bad)} of {len(one.results)} results"
        elif is_equivalent(right, edited, [draw(seed) for seed in range(3)]):
            same.append(fault)
            says = "changes nothing"
        else:
            missed.append(fault)
            says = "MISSED"
        if verbose:
            print(f"    {str(fault):45}{says:36}{time.perf_counter() - start:6.1f} s", flush=True)
    return missed, same, found


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", metavar="NAME", help="false-alarms, or one model")
    p.add_argument("--faults", type=int, default=30, help="per model (default: 30)")
    p.add_argument("--seeds", type=int, default=3, help="sets of inputs of the right programs (default: 3)")
    p.add_argument("-v", "--verbose", action="store_true", help="a line for each fault")
    args = p.parse_args(argv)
    failed = 0
    if args.only in (None, "false-alarms"):
        failed += false_alarms(args.seeds)
        print(f"{failed} false alarms", flush=True)
    print(f"{'model':20}{'planted':>9}{'missed':>8}{'change nothing':>16}{'s':>8}")
    for name in [args.only] if args.only in MODELS else [] if args.only else MODELS:
        start = time.perf_counter()
        missed, same, found = power(name, args.faults, args.verbose)
        failed += len(missed)
        row = f"{name:20}{found + len(missed):>9}{len(missed):>8}{len(same):>16}{time.perf_counter() - start:>8.0f}"
        notes = [f"    missed: {f}" for f in missed] + [f"    changes nothing: {f}" for f in same]
        print("\n".join([row, *notes]), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
