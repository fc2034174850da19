"""The micro-benchmarks of Pathways (MLSys'22, section 5) in shape, on CPU devices of this process.

    python -m bench.islands [dispatch smallest clients shares overhead] [--seconds 2] [--out DIR]

- dispatch (figure 5): computations a second that one client launches: one program per computation (O), a program of 128
  that follow each other (C), and 128 in one computation (F); of one device and of gangs whose computation is a sum over
  four. Beside them `jax.jit`, called in a loop and with 128 in one.
- smallest (figure 6): throughput of one client against a loop over `jax.jit`, by how long a computation takes.
- clients (figure 8): the part of the time that a device computes, with 1 to 8 clients; beside it, threads that call
  `jax.jit`. A CPU device may run several programs at once, so it may be above 1.
- shares (figure 9): the device's time that four clients get, with weights 1:1:1:1 and 1:2:4:8.
- overhead: a trivial function on a slice against `jax.jit`, and against a Python object around what that returns.

Computations that take a certain time are products of small matrices, which use one core. Arms are measured one after
another in each of several rounds; medians of rounds are printed, and with `--out` everything is written as JSON and as
plots. CPU devices share the cores with the thread that drives them: ratios and shapes count.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from rich.console import Console
from rich.table import Table

import pcg

CHAIN = 128
Result = list[dict[str, Any]]


def rate(call: Callable[[Any], Any], x: Any, each: int, seconds: float) -> float:
    """Computations a second: calls one after another, each of `each`, of what the one before returned."""
    count, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < seconds:
        for _ in range(max(64 // each, 1)):
            x, count = call(x), count + each
        x.block_until_ready()
    return count / passed


def add(x: jax.Array) -> jax.Array:
    """A scalar sum over all devices of a gang, and an addition."""
    return x + x.sum() * 0 + 1


def dispatch(seconds: float, rounds: int = 5) -> Result:
    """Figure 5."""
    found: Result = []
    for devices in (1, 4):
        with pcg.Controller({"a": jax.devices()[:devices]}) as controller:
            client = controller.client()
            slice = client.request({"x": devices})
            one = slice.function(add, in_shardings=(P("x"),))

            def many(x: Any) -> Any:
                for _ in range(CHAIN):
                    x = add(x)
                return x

            def chain(x: Any, one: Any = one) -> Any:
                for _ in range(CHAIN):
                    x = one(x)
                return x

            sharding = NamedSharding(jax.make_mesh((devices,), ("x",), devices=jax.devices()[:devices]), P("x"))
            layout = {"in_shardings": sharding, "out_shardings": sharding}
            fused, chained = slice.function(many, in_shardings=(P("x"),)), client.program(chain)
            start = one(jnp.zeros(8))
            host = jax.device_put(jnp.zeros(8), sharding)
            jitted, jitted_many = jax.jit(add, **layout), jax.jit(many, **layout)
            arms: dict[str, tuple[Callable[[Any], Any], Any, int]] = {
                "pcg O": (one, start, 1), "pcg C": (chained, start, CHAIN), "pcg F": (fused, start, CHAIN),
                "jax O": (jitted, host, 1), "jax F": (jitted_many, host, CHAIN),
            }  # fmt: skip
            for call, x, _ in arms.values():
                call(call(x)).block_until_ready()
            rates: dict[str, list[float]] = {name: [] for name in arms}
            for _ in range(rounds):
                for name, (call, x, each) in arms.items():
                    rates[name].append(rate(call, x, each, seconds / rounds))
            found += [
                {"devices": devices, "arm": name, "per_second": statistics.median(own)} for name, own in rates.items()
            ]
    return found


def busy(seconds: float) -> tuple[Callable[[Any], Any], float]:
    """(a computation that takes one device about so long, the seconds that it takes when it runs alone)."""
    times = {}
    for count in (200, 2000):
        run = jax.jit(_products(count))
        x = jnp.full((32, 32), 1 / 32)
        run(x).block_until_ready()
        own = []
        for _ in range(9):
            start = time.perf_counter()
            run(x).block_until_ready()
            own.append(time.perf_counter() - start)
        times[count] = min(own)
    each = (times[2000] - times[200]) / 1800
    count = max(round(seconds / each), 1)
    return _products(count), each * count


def _products(count: int) -> Callable[[Any], Any]:
    return lambda x: jax.lax.fori_loop(0, count, lambda _, y: y @ x, x)


def smallest(seconds: float, rounds: int = 3) -> Result:
    """Figure 6."""
    found: Result = []
    with pcg.Controller({"a": jax.devices()[:1]}) as controller:
        slice = controller.client().request(1)
        for duration in (0.3e-3, 1e-3, 3e-3, 10e-3):
            compute, _ = busy(duration)
            ours, jitted = slice.function(compute), jax.jit(compute)
            x: Any = ours(jnp.full((32, 32), 1 / 32))
            y = jitted(jnp.full((32, 32), 1 / 32))
            rates: dict[str, list[float]] = {"pcg": [], "jax": []}
            for _ in range(rounds):
                rates["pcg"].append(rate(ours, x, 1, seconds / rounds))
                rates["jax"].append(rate(jitted, y, 1, seconds / rounds))
            one, other = (statistics.median(rates[name]) for name in ("pcg", "jax"))
            found.append({"ms": duration * 1e3, "pcg_per_second": one, "jax_per_second": other, "ratio": one / other})
    return found


def clients(seconds: float) -> Result:
    """Figure 8: each client waits for its program before it calls the next one."""
    found: Result = []
    for duration in (0.33e-3, 1e-3, 2.4e-3):
        compute, alone = busy(duration)
        jitted = jax.jit(compute), jnp.full((32, 32), 1 / 32)
        for count in (1, 2, 4, 8):
            with pcg.Controller({"a": jax.devices()[:1]}) as controller:
                own = [_worker(controller, f"c{i}", compute, 1) for i in range(count)]
                row: dict[str, Any] = {"ms": alone * 1e3, "clients": count}
                for name, workers in (("jax", [jitted] * count), ("utilisation", own)):
                    row[name] = sum(_together(workers, seconds, in_flight=1)) * alone / seconds
                found.append(row)
    return found


def shares(seconds: float) -> Result:
    """Figure 9."""
    found: Result = []
    compute, _ = busy(1e-3)
    for weights in ((1, 1, 1, 1), (1, 2, 4, 8)):
        with pcg.Controller({"a": jax.devices()[:1]}, in_flight=4) as controller:
            own = [_worker(controller, f"c{i}", compute, w) for i, w in enumerate(weights)]
            done = _together(own, seconds, in_flight=12)
            for w, n in zip(weights, done, strict=True):
                share = {"share": n / sum(done), "wanted": w / sum(weights)}
                found.append({"weights": ":".join(map(str, weights)), "weight": w, **share})
    return found


def _worker(controller: Any, name: str, compute: Callable[[Any], Any], weight: float) -> tuple[Any, Any]:
    """(a function on a slice that all share, an argument)."""
    run = controller.client(name, weight=weight).request(1, shared=True).function(compute)
    x = run(jnp.full((32, 32), 1 / 32))
    run(run(x)).block_until_ready()
    return run, x


def _together(workers: list[tuple[Any, Any]], seconds: float, in_flight: int) -> list[int]:
    """Programs that each of several clients has done, one thread each with so many at once."""
    done = [0] * len(workers)
    ready = threading.Barrier(len(workers))

    def work(i: int) -> None:
        run, x = workers[i]
        ready.wait()
        end = time.perf_counter() + seconds
        pending = [run(x) for _ in range(in_flight)]
        while time.perf_counter() < end:
            pending.pop(0).block_until_ready()
            done[i] += time.perf_counter() < end
            pending.append(run(x))
        for left in pending:
            left.block_until_ready()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(workers))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return done


class Wrapped:
    """The least that stands for an array in Python."""

    __slots__ = ("array",)

    def __init__(self, array: jax.Array) -> None:
        self.array = array

    def block_until_ready(self) -> None:
        self.array.block_until_ready()


def _wrapped(function: Callable[[Any], Any], x: Wrapped) -> Wrapped:
    return Wrapped(function(x.array))


def overhead(seconds: float, each: float = 0.02) -> Result:
    """A function that adds one to 16 numbers, called with what is on its devices, and waited for after five calls.

    The arms take turns of `each` seconds; a ratio is the median of those of turns that follow each other, as the speed
    of a machine changes from second to second.
    """
    found: Result = []
    for devices in (1, 2, 4, 8):
        with pcg.Controller({"a": jax.devices()[:devices]}) as controller:
            slice = controller.client().request({"x": devices})
            ours = slice.function(lambda x: x + 1, in_shardings=(P("x"),))
            x: Any = ours(jnp.zeros(16))
            jitted = jax.jit(lambda x: x + 1)
            y = x.array()
            arms: list[tuple[str, Callable[[Any], Any], Any]] = [
                ("pcg", ours, x), ("jax", jitted, y), ("wrapped", functools.partial(_wrapped, jitted), Wrapped(y)),
            ]  # fmt: skip
            times: dict[str, list[float]] = {name: [] for name, _, _ in arms}
            for _ in range(max(round(seconds / each), 3)):
                for name, call, arg in arms:
                    call(arg).block_until_ready()
                    own, end = [], time.perf_counter() + each
                    while time.perf_counter() < end:
                        start = time.perf_counter()
                        for _ in range(5):
                            out = call(arg)
                        out.block_until_ready()
                        own.append((time.perf_counter() - start) / 5)
                    times[name].append(statistics.median(own))
            one, other = (statistics.median(times[name]) * 1e6 for name in ("pcg", "jax"))
            least, ratio = (
                statistics.median(a / b for a, b in zip(times[name], times["jax"], strict=True))
                for name in ("wrapped", "pcg")
            )
            found.append({"devices": devices, "pcg_us": one, "jax_us": other, "wrapped": least, "ratio": ratio})
    return found


def show(name: str, rows: Result) -> None:
    table = Table(title=name, title_justify="left")
    for column in rows[0]:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*(f"{v:,.{0 if v >= 100 else 3}f}" if isinstance(v, float) else str(v) for v in row.values()))
    Console(width=120).print(table)


def plot(name: str, rows: Result, out: Path, column: str = "") -> None:
    """Bars, one per row, of a column; default the last one."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    value = column or {"dispatch": "per_second", "clients": "utilisation", "shares": "share"}.get(name, "ratio")
    labels = [" ".join(str(v) for k, v in row.items() if not isinstance(v, float) or k == "ms") for row in rows]
    figure, axes = pyplot.subplots(figsize=(6, 0.3 * len(rows) + 1.2))
    axes.barh(labels[::-1], [row[value] for row in rows][::-1])
    axes.set_xlabel(value.replace("_", " "))
    axes.set_title(name)
    if value == "per_second":
        axes.set_xscale("log")
    figure.tight_layout()
    figure.savefig(out / f"islands_{name}.svg")


def save(name: str, rows: Result, out: Path | None, column: str = "") -> None:
    """Print rows; with a folder also write them there, and a plot."""
    show(name, rows)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"islands_{name}.json").write_text(json.dumps(rows, indent=2))
        plot(name, rows, out, column)


BENCHES = {"dispatch": dispatch, "smallest": smallest, "clients": clients, "shares": shares, "overhead": overhead}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benches", nargs="*", default=list(BENCHES), help="which; default all")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each arm (default 2)")
    parser.add_argument("--out", type=Path, help="folder for JSON and plots")
    args = parser.parse_args()
    if unknown := [b for b in args.benches if b not in BENCHES]:
        parser.error(f"benchmark {unknown[0]!r}; allowed: {', '.join(BENCHES)}")
    for name in args.benches:
        save(name, BENCHES[name](args.seconds), args.out)


if __name__ == "__main__":
    main()
