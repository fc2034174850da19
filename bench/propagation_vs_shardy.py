"""Models annotated at their inputs and weights only: pcg against Shardy's propagation of the same annotations.

  python bench/propagation_vs_shardy.py [MODEL ...] [--details] [--run]

Models and annotations are in `bench/annotated.py`. Three programs follow from each annotated model:
  pcg        pcg's propagation (everything that is not annotated is chosen at once), pcg's lowering;
  shardy     Shardy's propagation (its passes in jaxlib), every layout it found fixed, pcg's choice of redistributions
             and lowering: what propagation alone makes of the difference. Values that Shardy leaves without a sharding
             are pcg's to place, which can only help this side;
  jax        `jax.jit` with the same shardings: Shardy's propagation and XLA's partitioner.

All three are compiled by XLA:CPU, and one function (`bench/estimate.py`) reads bytes and time out of each optimised
program: bytes are what one device sends in ring algorithms, loops multiplied by their trip counts; the time is the
alpha-beta time of every collective plus a roofline of contractions and of memory traffic on pcg's default machine
(A100-like devices, 100 GB/s and 2 us per hop). Nothing runs on devices, unless --run asks for the tiny sizes to be
compared with one device.

A row fails where pcg moves more bytes, or takes longer by the estimate, than either of the others, by more than
0.1%.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import pcg
from bench import shardy
from bench.annotated import CASES, Annotated
from bench.collectives import Traffic, of_stablehlo_text
from bench.estimate import Estimate, estimate
from pcg.machine import DeviceKind, Link, Machine

MIB = 2**20
#: A machine on which nothing but bytes takes time.
BYTES_ONLY = Machine(DeviceKind("free", {}, 1e30, 1e30, 1e15), Link(bandwidth=1e6, latency=0.0))
#: Within these two programs are equal: scalars and the vectors of a loss, of which one has more and the other less.
SLACK_BYTES, SLACK = 64, 1e-3
HEAD = (
    f"{'model':<24}{'mesh':<8}{'pcg MiB':>9}{'shardy':>9}{'jax':>9}  {'pcg us':>9}{'shardy':>9}{'jax':>9}"
    f"  {'bytes':>6}{'time':>6}  verdict"
)


@dataclass(frozen=True)
class Row:
    """The three sides of one model; `shardy` is None where its layouts cannot be imported, for the reason in `note`."""

    name: str
    mesh: dict[str, int]
    ours: Estimate
    lowered: Traffic
    shardy: Estimate | None
    jax: Estimate
    seconds: float
    note: str = ""

    @property
    def others(self) -> list[Estimate]:
        """What pcg must not be worse than."""
        return [x for x in (self.shardy, self.jax) if x is not None]

    @property
    def verdict(self) -> str:
        """Wins, equal, or where it loses."""
        bytes_, seconds = self.ours.traffic.wire_bytes, self.ours.seconds
        fewest = min(x.traffic.wire_bytes for x in self.others)
        fastest = min(x.seconds for x in self.others)
        lost = [
            what
            for what, bad in (
                ("bytes", bytes_ > fewest * (1 + SLACK) + SLACK_BYTES),
                ("time", seconds > fastest * (1 + SLACK)),
            )
            if bad
        ]
        if lost:
            return "LOSES " + "+".join(lost)
        return "wins" if bytes_ < fewest * (1 - SLACK) or seconds < fastest * (1 - SLACK) else "equal"

    def __str__(self) -> str:
        def mib(e: Estimate | None) -> str:
            return "-" if e is None else f"{e.traffic.wire_bytes / MIB:.2f}"

        def us(e: Estimate | None) -> str:
            return "-" if e is None else f"{1e6 * e.seconds:.1f}"

        sides = (self.ours, self.shardy, self.jax)
        best = min(x.seconds for x in self.others) / self.ours.seconds
        fewest = min(x.traffic.wire_bytes for x in self.others)
        ratio = f"{fewest / self.ours.traffic.wire_bytes:.2f}" if self.ours.traffic.wire_bytes else "-"
        mesh = "x".join(map(str, self.mesh.values()))
        return (
            f"{self.name:<24}{mesh:<8}" + "".join(f"{mib(e):>9}" for e in sides) + "  "
            + "".join(f"{us(e):>9}" for e in sides) + f"  {ratio:>6}{best:>6.2f}  {self.verdict}"
        )  # fmt: skip

    def details(self) -> str:
        """What each side sends and computes."""
        lines = [f"    lowered {self.lowered}"]
        for name, e in (("pcg", self.ours), ("shardy", self.shardy), ("jax", self.jax)):
            if e is not None:
                parts = f"{1e6 * e.communication:.1f} + {1e6 * e.contractions:.1f} + {1e6 * e.memory:.1f} us"
                lines.append(f"    {name:<7} {e.traffic}; sent + contracted + memory: {parts}")
        return "\n".join(lines)


def jax_mesh(mesh: dict[str, int]) -> Mesh:
    """The mesh over the first devices."""
    devices = np.array(jax.devices()[: int(np.prod(list(mesh.values())))])
    return Mesh(devices.reshape(tuple(mesh.values())), tuple(mesh))


def placed(specs: Any, mesh: Mesh) -> Any:
    """NamedShardings for a tree of PartitionSpecs; None stays."""
    return jax.tree.map(
        lambda s: s if s is None else NamedSharding(mesh, s), specs, is_leaf=lambda s: s is None or is_spec(s)
    )


def is_spec(x: Any) -> bool:
    """Whether a tree ends here."""
    return isinstance(x, PartitionSpec)


def compiled_by_pcg(model: Annotated, **options: Any) -> Any:
    """pcg's executable for an annotated model; `options` are those of `pcg.compile`."""
    mesh = jax_mesh(model.case.mesh)
    return pcg.compile(
        model.step, mesh, in_shardings=placed(model.in_specs, mesh), out_shardings=placed(model.out_specs, mesh),
        **options,
    ).lower(*model.shapes)


def jitted_by_jax(model: Annotated) -> Any:
    """What a user writes without pcg."""
    mesh = jax_mesh(model.case.mesh)
    return shardy.jitted(model.step, placed(model.in_specs, mesh), placed(model.out_specs, mesh))


def propagated_by_shardy(lowered: Any, mesh: dict[str, int], **options: Any) -> Any:
    """pcg's executable for the layouts that Shardy's propagation gives a program lowered by jax."""
    return pcg.compile(shardy.propagated(lowered.as_text()), mesh, **options).lower()


def hlo_of(executable: Any) -> str:
    """Optimised HLO of a pcg executable."""
    return executable.compiled.as_text()


def run_case(name: str, tiny: bool = False) -> Row:
    """All three sides of one model."""
    model = CASES[name].build(tiny)
    devices = int(np.prod(list(model.case.mesh.values())))
    start = time.perf_counter()
    ours = compiled_by_pcg(model)
    seconds = time.perf_counter() - start
    lowered = jitted_by_jax(model).lower(*model.shapes)
    imported, note = None, ""
    try:
        theirs = propagated_by_shardy(lowered, model.case.mesh)
        imported = estimate(hlo_of(theirs), devices)
    except (pcg.PcgError, ValueError, RuntimeError) as error:  # A finding, not the end of the table.
        note = str(error).splitlines()[0]
    return Row(
        name, model.case.mesh, estimate(hlo_of(ours), devices), of_stablehlo_text(ours.as_text("local")),
        imported, estimate(lowered.compile().as_text(), devices), seconds, note,
    )  # fmt: skip


def check(name: str) -> tuple[float, float]:
    """One step at the tiny size on all devices, through pcg and by jax, each against jax on one device.

    The largest difference in units of the largest value of its leaf. Where the true gradient is zero (a bias before a
    normalisation, a key bias under softmax) Adam steps by rounding noise, and both differ by as much as the leaf.
    """
    model = CASES[name].build(tiny=True)
    args = model.arguments()
    want = jax.jit(model.step)(*args)
    split = jax.device_put(args, placed(model.in_specs, jax_mesh(model.case.mesh)))

    def worst(got: Any) -> float:
        found = 0.0
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
            a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
            found = max(found, float(np.max(np.abs(a - b), initial=0)) / (float(np.max(np.abs(b), initial=0)) + 1e-6))
        return found

    return worst(compiled_by_pcg(model)(*args)), worst(jitted_by_jax(model)(*split))


def main() -> int:
    """Entry point; the exit status is 1 when a row loses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(map(repr, CASES))} (default: all)")
    parser.add_argument("--details", action="store_true", help="collectives and parts of the time of every side")
    parser.add_argument("--run", action="store_true", help="also run the tiny sizes and compare with one device")
    options = parser.parse_args()
    if unknown := [m for m in options.models if m not in CASES]:
        parser.error(f"no model {unknown[0]!r}; there are {', '.join(CASES)}")
    print(f"jax {jax.__version__}, XLA:CPU\n{HEAD}")
    lost = []
    for name in options.models or CASES:
        try:
            row = run_case(name)
        except ImportError as error:
            print(f"{name:<24}not compared: {error}")
            continue
        print(row, flush=True)
        if row.note:
            print(f"    shardy's layouts not imported: {row.note}")
        if options.details:
            print(row.details(), flush=True)
        if options.run:
            ours, theirs = check(name)
            print(f"    tiny size against one device: pcg {ours:.1e}, jax {theirs:.1e}", flush=True)
        if row.verdict.startswith("LOSES"):
            lost.append(name)
    print(f"\nloses: {', '.join(lost) or 'none'}")
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
