"""Predicted against measured step time, and predicted memory against XLA's own account, on forced CPU devices.

  pcg-calibrate --devices 8 --keep-memory -o cpu.toml
  python bench/prediction.py [MODEL ...] --profile cpu.toml [--passes 3] [--rounds 3] [--json out.json]

For each model all plans of `bench/prediction_plans.py` are compiled by `pcg.compile`, simulated on the machine at hand
with its profile, and run: medians of rounds that interleave the plans of a model, in several passes over all models, so
that a slow minute of the machine meets a few rounds of every model and not all of one, and plans are compared round by
round (`bench.timing.steady`).  In a round each plan runs a few steps in a row, as training does, the first of them
untimed; the process keeps memory that it frees, if the C library can be told to, and the profile should be of such a
process (`pcg.runtime.allocator`).  Printed are per model the plans with both times, Kendall's tau, and the regret: how
much slower than the fastest plan the one predicted fastest is.
Beside it stands Kendall's tau of the passes among each other (the least of any two): what measuring again is worth.
Memory is the simulator's peak against arguments + results + temporaries - aliases by XLA's `memory_analysis()`.
Beside the time on the wall stands that of the busy processors, over their number, which other work on the machine
leaves alone: where the two rank plans differently, the measurement was disturbed.

Nothing in the profile comes from these models: its probes are single ops.  The simulator was made with most of the
models at hand; those that were not are marked as held out.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import jax

from bench import prediction_plans
from bench.ranking import kendall, regret
from bench.timing import steady
from pcg.cost import CostModel
from pcg.machine import Cluster, Machine
from pcg.machine.profile import Profile
from pcg.machine.profile_text import default_path, load
from pcg.runtime.allocator import keep_memory
from pcg.simulate import simulate

DEVICES = 8
#: Timed steps of a plan in a row, behind one that is not timed.
STEPS = 2


@dataclass
class Row:
    """One plan of one model: seconds and bytes per device, predicted and as XLA has them."""

    model: str
    plan: str
    predicted: float
    communication: float
    memory: float
    memory_xla: float
    passes: list[list[tuple[float, float]]] = field(default_factory=list)
    """By pass and timed step: seconds on the wall, and of all processors over their number."""

    @property
    def measured(self) -> float:
        """The median of all timed steps."""
        return statistics.median(wall for rounds in self.passes for wall, _ in rounds)

    @property
    def busy(self) -> float:
        """The median of all timed steps, of the time of the processors."""
        return statistics.median(busy for rounds in self.passes for _, busy in rounds)

    def in_pass(self, number: int) -> float:
        """The median of one pass."""
        return statistics.median(wall for wall, _ in self.passes[number])


def machine(profile: Profile) -> Cluster:
    """The machine at hand, with a profile."""
    found = Cluster.detect(DEVICES)
    return replace(found, kinds=tuple(replace(k, profile=profile) for k in found.kinds))


@dataclass
class Model:
    """A model with all its plans, compiled."""

    args: Any
    rows: list[Row]
    shardings: list[Any]
    compiled: list[Any]

    def measure(self, rounds: int) -> None:
        """Add a pass to every row."""
        placed = [jax.device_put(self.args, s) for s in self.shardings]
        calls = [lambda f=f, a=a: jax.block_until_ready(f(*a)) for f, a in zip(self.compiled, placed, strict=True)]
        for row, found in zip(self.rows, times(calls, rounds), strict=True):
            row.passes.append(found)

    def settle(self) -> None:
        """Make the times those of a machine that keeps its speed (`bench.timing.steady`)."""
        every = [[timed for one in row.passes for timed in one] for row in self.rows]
        walls, busy = (steady([[t[i] for t in row] for row in every]) for i in range(2))
        for row, own in zip(self.rows, map(list, map(zip, walls, busy)), strict=True):
            row.passes = [[own.pop(0) for _ in one] for one in row.passes]


def planned(name: str, cluster: Cluster, plans: Sequence[prediction_plans.PlanSpec]) -> Model:
    """All plans of a model, predicted and compiled."""
    _, args = prediction_plans.make(name)
    model = Model(args, [], [], [])
    for plan in plans:
        found = prediction_plans.place(name, plan, **({"cluster": cluster} if plan.layout is None else {}))
        costs = CostModel(Machine.of(cluster), found.mesh)
        step = simulate(found.compilation.modules["local"], costs, backend="cpu")
        arrays = len(found.program.arguments) + len(found.program.results)
        predicted = step.seconds + costs.dispatch(arrays, step.allocations)
        m = found.compiled.memory_analysis()
        used = (
            m.argument_size_in_bytes + m.output_size_in_bytes + m.temp_size_in_bytes - m.alias_size_in_bytes
        )
        model.rows.append(Row(name, plan.name, predicted, step.communication, step.peak_bytes, float(used)))
        model.shardings.append(found.input_shardings)
        model.compiled.append(found.compiled)
    return model


def times(calls: Sequence[Callable[[], Any]], rounds: int) -> list[list[tuple[float, float]]]:
    """Timed steps of interleaved rounds, by call: (seconds on the wall, seconds of all processors over their number).

    A training step follows itself, so it finds its weights in caches where they fit, and memory that the step before
    has given back.  Behind another plan's step it takes up to a fifth longer, which says nothing about the plan.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    found: list[list[tuple[float, float]]] = [[] for _ in calls]
    order = list(zip(calls, found, strict=True))
    for _ in range(rounds):
        for call, seconds in order:
            call()
            for _ in range(STEPS):
                before, start = time.process_time(), time.perf_counter()
                call()
                wall, busy = time.perf_counter() - start, time.process_time() - before
                seconds.append((wall, busy / cores))
        order.reverse()
    return found


def report(rows: Sequence[Row]) -> str:
    """The table of a model."""
    predicted, measured = [r.predicted for r in rows], [r.measured for r in rows]
    out = [
        f"\n{rows[0].model}: tau {kendall(predicted, measured):.2f}, the plan predicted best is "
        f"{100 * regret(predicted, measured):.0f}% slower than the best; measured again: tau {again(rows):.2f}",
        f"  {'plan':<22}{'predicted ms':>13}{'measured ms':>13}{'ratio':>7}{'busy ms':>9}{'MiB':>9}{'XLA MiB':>9}"
        f"{'error':>8}",
    ]
    for r in sorted(rows, key=lambda r: r.measured):
        out.append(
            f"  {r.plan:<22}{1e3 * r.predicted:>13.1f}{1e3 * r.measured:>13.1f}{r.predicted / r.measured:>7.2f}"
            f"{1e3 * r.busy:>9.1f}{r.memory / 2**20:>9.1f}{r.memory_xla / 2**20:>9.1f}"
            f"{100 * (r.memory / r.memory_xla - 1):>+7.0f}%"
        )
    return "\n".join(out)


def again(rows: Sequence[Row]) -> float:
    """Kendall's tau of two passes, the least of all pairs of passes; 1 of a single one."""
    count = len(rows[0].passes)
    each = [[r.in_pass(i) for r in rows] for i in range(count)]
    return min((kendall(a, b) for a, b in itertools.combinations(each, 2)), default=1.0)


def _off(rows: Sequence[Row], memory: bool = False) -> list[float]:
    """The relative error of step time, or of memory, of each plan."""
    return [abs((r.memory / r.memory_xla if memory else r.predicted / r.measured) - 1) for r in rows]


def summary(rows: Sequence[Row]) -> tuple[str, bool]:
    """The last lines, and whether every aim is met."""
    models = list(dict.fromkeys(r.model for r in rows))
    per = {m: [r for r in rows if r.model == m] for m in models}

    def against(what: str) -> tuple[dict[str, float], dict[str, float], float]:
        taus = {m: kendall([r.predicted for r in x], [getattr(r, what) for r in x]) for m, x in per.items()}
        regrets = {m: regret([r.predicted for r in x], [getattr(r, what) for r in x]) for m, x in per.items()}
        return taus, regrets, kendall([r.predicted for r in rows], [getattr(r, what) for r in rows])

    taus, regrets, overall = against("measured")
    busy_taus, busy_regrets, busy_overall = against("busy")
    memory, ratios = _off(rows, memory=True), _off(rows)
    text = [
        f"\n{len(rows)} plans of {len(models)} models",
        f"{'':<18}{'wall':>10}{'':>5}{'busy processors':>17}{'measured again':>17}",
        f"{'model':<12}{'plans':>6}{'tau':>7}{'regret':>8}{'tau':>9}{'regret':>8}{'tau':>17}",
        *(
            f"{m:<12}{len(per[m]):>6}{taus[m]:>7.2f}{100 * regrets[m]:>7.0f}%{busy_taus[m]:>9.2f}"
            f"{100 * busy_regrets[m]:>7.0f}%{again(per[m]):>17.2f}"
            f"{'  held out' if m in prediction_plans.HELD_OUT else ''}"
            for m in models
        ),
        f"{'overall':<12}{len(rows):>6}{overall:>7.2f}{'':>8}{busy_overall:>9.2f}",
        f"step time: median error {100 * statistics.median(ratios):.0f}%, worst {100 * max(ratios):.0f}%",
        f"memory: median error {100 * statistics.median(memory):.0f}%, worst {100 * max(memory):.0f}%",
    ]
    if held := [r for r in rows if r.model in prediction_plans.HELD_OUT]:
        text.append(
            f"held out models alone: step time {100 * statistics.median(_off(held)):.0f}% and "
            f"{100 * max(_off(held)):.0f}%, memory {100 * statistics.median(_off(held, memory=True)):.0f}% and "
            f"{100 * max(_off(held, memory=True)):.0f}%"
        )
    met = (
        min(taus.values()) >= 0.8 and overall >= 0.8 and max(regrets.values()) <= 0.1
        and statistics.median(memory) <= 0.15 and max(memory) <= 0.3
    )  # fmt: skip
    text.append(f"aims (tau 0.8 each and overall, regret 10%, memory 15% and 30%): {'met' if met else 'NOT met'}")
    return "\n".join(text), met


def main() -> int:
    """Entry point; exit status 0 if all aims are met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(prediction_plans.MODELS)}")
    parser.add_argument(
        "--profile", metavar="FILE", help="of pcg-calibrate --devices 8 --keep-memory; default: where it leaves it"
    )
    parser.add_argument("--passes", type=int, default=3, help="over all models")
    parser.add_argument("--rounds", type=int, default=3, help="of each pass")
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
    options = parser.parse_args()
    if unknown := [m for m in options.models if m not in prediction_plans.MODELS]:
        parser.error(f"no model {unknown[0]!r}; there are {', '.join(prediction_plans.MODELS)}")
    path = Path(options.profile) if options.profile else default_path("cpu", DEVICES)
    if not path.exists():
        parser.error(f"no profile {path}; make one with: pcg-calibrate --devices {DEVICES} --keep-memory -o {path}")
    profile, kept = load(path), keep_memory()
    if not kept:
        print("this C library gives freed memory back to the system when it likes: expect noise", file=sys.stderr)
    elif profile.provenance.get("memory") != "kept":
        print(f"{path} was measured without --keep-memory; these steps keep theirs", file=sys.stderr)
    cluster = machine(profile)
    models = []
    for name in options.models or prediction_plans.MODELS:
        print(f"compiling {name}", file=sys.stderr, flush=True)
        models.append(planned(name, cluster, prediction_plans.PLANS))
        jax.clear_caches()
        gc.collect()
    for number in range(options.passes):
        print(f"pass {number + 1} of {options.passes}", file=sys.stderr, flush=True)
        for model in models:
            model.measure(options.rounds)
            gc.collect()
    rows = [r for m in models for r in m.rows]
    for model in models:
        model.settle()
        print(report(model.rows))
    text, met = summary(rows)
    print(text)
    if options.json:
        found = [{**asdict(r), "measured": r.measured, "busy": r.busy} for r in rows]
        Path(options.json).write_text(json.dumps(found, indent=1))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
