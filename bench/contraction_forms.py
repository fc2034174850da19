"""Contractions whose left matrix lies by rows, and by columns: what packing it costs, measured and estimated.

  pcg-calibrate --devices 8 --keep-memory -o cpu.toml
  python bench/contraction_forms.py --profile cpu.toml

Batches of [m, k] by [k, n] and of [k, m] by [k, n], on eight forced CPU devices at once, interleaved.  The last column
is what the simulator adds for the second form (`pcg.simulate.reordering.packing`).
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
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
import jax.numpy as jnp
from jax import lax

from bench.prediction import DEVICES, machine
from pcg.cost import CostModel
from pcg.ir.context import make_context
from pcg.ir.parse import load_module
from pcg.layout import Mesh
from pcg.machine import Machine
from pcg.machine.profile_text import default_path, load
from pcg.runtime.allocator import keep_memory
from pcg.runtime.calibrate import Calibration
from pcg.runtime.probes import Probe
from pcg.simulate import simulate

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


def estimated(model: CostModel, batch: int, k: int, m: int, n: int) -> float:
    """Seconds that the simulator adds on a host to [batch, k, m] by [batch, k, n]."""
    types = [f"tensor<{'x'.join(map(str, s))}xf32>" for s in ((batch, k, m), (batch, k, n), (batch, m, n))]
    module = load_module(
        f"""func.func @main(%x: {types[0]}, %y: {types[1]}) -> {types[2]} {{
          %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1]
            : ({types[0]}, {types[1]}) -> {types[2]}
          return %0 : {types[2]}
        }}""",
        make_context(), "contraction",
    )  # fmt: skip
    host, other = (simulate(module, model, backend=backend).seconds for backend in ("cpu", "accelerator"))
    return host - other


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", metavar="FILE", help="of pcg-calibrate --devices 8; default: where it leaves it")
    options = parser.parse_args()
    path = Path(options.profile) if options.profile else default_path("cpu", DEVICES)
    if not path.exists():
        parser.error(f"no profile {path}; make one with: pcg-calibrate --devices 8 --keep-memory -o {path}")
    keep_memory()
    model = CostModel(Machine.of(machine(load(path))), Mesh.of({"x": DEVICES}))
    work = Calibration(jax.devices(), 5)
    print(f"{'batch k m n':>20}{'[m, k] ms':>12}{'[k, m] ms':>12}{'packing ms':>12}{'estimated ms':>13}")
    for batch, k, m, n in SHAPES:
        probes = [probe((batch, m, k), (batch, k, n), 2), probe((batch, k, m), (batch, k, n), 1)]
        rows, columns = (seconds for _, seconds in work.measure(probes))
        print(
            f"{f'{batch} {k} {m} {n}':>20}{1e3 * rows:>12.2f}{1e3 * columns:>12.2f}{1e3 * (columns - rows):>12.2f}"
            f"{1e3 * estimated(model, batch, k, m, n):>13.2f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
