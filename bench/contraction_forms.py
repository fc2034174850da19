"""Contractions whose left matrix lies by rows, and by columns: what packing it costs, measured and reckoned.

  pcg-calibrate --devices 8 --keep-memory -o cpu.toml
  python bench/contraction_forms.py --profile cpu.toml

Batches of [m, k] by [k, n] and of [k, m] by [k, n], on eight forced CPU devices at once, interleaved.  The last column
is what the simulator adds for the second form (`pcg.simulate.reordering.packed`).
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
from jax import lax

from pcg.machine.profile import Profile, Reordering
from pcg.machine.profile_text import default_path, load
from pcg.runtime.allocator import keep_memory
from pcg.runtime.calibrate import Calibration
from pcg.runtime.probes import Probe

#: Batch, contracted, rows, columns.
SHAPES = (
    (1, 384, 512, 128), (4, 384, 512, 128), (4, 384, 512, 32), (8, 48, 512, 128), (8, 48, 128, 512), (16, 64, 128, 96),
    (4, 256, 256, 256), (1, 128, 1024, 128), (1, 1024, 1024, 128),
)  # fmt: skip


def probe(left: tuple[int, ...], right: tuple[int, ...], contracted: int) -> Probe:
    """A batched contraction of dimension `contracted` of the left with the rows of the right."""

    def run(x: Any, y: Any) -> Any:
        return lax.dot_general(x, y, (((contracted,), (1,)), ((0,), (0,))))

    return Probe(("contraction", "f32", "flops"), 1.0, ((left, jnp.float32), (right, jnp.float32)), run, 1.0)


def reckoned(profile: Profile, batch: int, k: int, m: int) -> float:
    """Seconds that the simulator adds for a left operand of [batch, k, m]."""
    size = 4.0 * batch * k * m

    def loop(order: Reordering) -> float:
        return profile.fused("stablehlo.copy", "f32", {"stablehlo.copy": 0.0}, 3 * size, order) or 0.0

    return loop(Reordering(turned=size, stride=4 * m)) - loop(Reordering())


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", metavar="FILE", help="of pcg-calibrate --devices 8; default: where it leaves it")
    options = parser.parse_args()
    path = Path(options.profile) if options.profile else default_path("cpu", 8)
    if not path.exists():
        parser.error(f"no profile {path}; make one with: pcg-calibrate --devices 8 --keep-memory -o {path}")
    keep_memory()
    profile, work = load(path), Calibration(jax.devices(), 5)
    print(f"{'batch k m n':>20}{'[m, k] ms':>12}{'[k, m] ms':>12}{'packing ms':>12}{'reckoned ms':>13}")
    for batch, k, m, n in SHAPES:
        probes = [probe((batch, m, k), (batch, k, n), 2), probe((batch, k, m), (batch, k, n), 1)]
        rows, columns = (seconds for _, seconds in work.measure(probes))
        print(
            f"{f'{batch} {k} {m} {n}':>20}{1e3 * rows:>12.2f}{1e3 * columns:>12.2f}{1e3 * (columns - rows):>12.2f}"
            f"{1e3 * reckoned(profile, batch, k, m):>13.2f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
