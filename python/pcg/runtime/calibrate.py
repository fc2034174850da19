"""Measures what the devices at hand do, for `pcg-calibrate`.  Imports jax.

Every probe runs on all devices at once, so that what they share (cores, memory, links) is shared while measuring.
Times are medians of interleaved rounds: what else goes on in the machine hits all probes of a group alike.  Groups are
compared by how long the same work took meanwhile (`pcg.runtime.speed`).
"""

from __future__ import annotations

import functools
import math
import statistics
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from pcg.machine.curve import Curve
from pcg.machine.detect import processor
from pcg.machine.errors import ClusterError
from pcg.machine.profile import CLASSES, Profile, Rates
from pcg.runtime import jax_compat, overheads, probes
from pcg.runtime.measured import Devices, timed
from pcg.runtime.probes import Probe
from pcg.runtime.speed import Speed

#: What can be measured.
WHAT = (*(c for c in CLASSES if c != "layout"), "collectives")
#: Least share of a measured time that is an op's own, after the overhead of kernels is subtracted: on processors, and
#: on accelerators, where most of a small loop is the host's.  Choices, as are the seconds below; curves are above 0.
_LEAST, _LEAST_OF_LOOPS = 0.1, 0.01
_NO_TIME = 1e-9
#: The row of the probe that measures the loop itself.
_EMPTY_LOOP = ("elementwise", "f32", "bytes")
#: Least seconds of a probe's loop, far above the resolution of the clock, and most iterations of it.  Choices.
_SHORT, _MOST = 0.02, 4000
#: The side of the matrices by which the speed of the machine is followed, and seconds of a run.  Choices: a tenth of
#: what is measured meanwhile.
_SIDE, _WORK = 128, 0.004
#: Most iterations of an unrolled loop: its compile time grows with them.
_MOST_UNROLLED = 12


class Calibration:
    """The measurements of one run.

    Args:
      devices: jax devices of one kind, which all work at once.
      rounds: how often every probe runs.
      progress: called with a line about each group of measurements.
    """

    def __init__(self, devices: Sequence[Any], rounds: int, progress: Callable[[str], None] = lambda _: None) -> None:
        if not devices:
            raise ClusterError("no device to calibrate")
        if rounds < 1:
            raise ClusterError(f"{rounds} rounds; allowed: 1 or more")
        if len({d.device_kind for d in devices}) > 1:
            raise ClusterError(f"devices of several kinds ({', '.join(sorted({d.device_kind for d in devices}))})")
        self.devices = Devices(list(devices))
        self.cpu = devices[0].platform == "cpu"
        self.rounds = rounds
        self.progress = progress

    # -- measuring -----------------------------------------------------------------------------

    def profile(
        self, elements: Sequence[str], largest: float, steps: int, only: Collection[str] = WHAT
    ) -> Profile:  # fmt: skip
        """Everything, as a profile.

        Args:
          elements: element types, of `probes.BYTES`.
          largest: bytes of the largest operand on one device.
          steps: sizes per curve.
          only: what to measure, of `WHAT`: classes of ops, and "collectives".
        """
        count, first = len(self.devices.devices), self.devices.devices[0]
        dispatch, argument = overheads.dispatch(self.devices, self.rounds, self.speed)
        kernel = overheads.kernel(self.devices, self.rounds, self.speed)
        self.progress(f"a program takes {1e6 * dispatch:.0f} us, an array {1e6 * argument:.1f} us, "
                      f"a kernel {1e6 * kernel:.2f} us")  # fmt: skip
        points: dict[tuple[str, str, str | int], list[tuple[Probe, float]]] = {}
        wanted = (p for p in probes.compute(elements, largest, steps, self.cpu) if p.row[0] in only)
        for probe, seconds in self.measure(wanted):
            points.setdefault(probe.row, []).append((probe, seconds))
        sizes = [n for n in range(2, count + 1) if count % n == 0] if "collectives" in only else []
        # Devices with processors of their own do not wait for one of them.
        waits = overheads.waits(self.devices, self.rounds, self.speed, sizes) if sizes and self.cpu else {}
        for n, curve in waits.items():
            self.progress(f"devices that share processors wait up to {1e3 * curve.seconds[-1]:.2f} ms in groups of {n}")
        curves: dict[tuple[str, int], Curve] = {}
        layouts: Curve | None = None
        for n in sizes:
            row: dict[str, list[tuple[float, float]]] = {}
            # Only XLA's CPU backend is known to transpose what it gathers and scatters.
            transposes = n == count and self.cpu
            inner = probes.inner_gathers(n, largest, steps) if transposes else ()
            for probe, seconds in self.measure([*probes.links([n], largest, steps), *inner]):
                row.setdefault(str(probe.row[1]), []).append((probe.size, seconds))
            inner_points = row.pop("inner_gather", [])
            for kind, found in row.items():
                curves[kind, n] = Curve.through(found, floor=True)
            if inner_points:
                layouts = _layouts(inner_points, curves["all_gather", n], n)
        new = overheads.fresh(self.devices, self.rounds, self.speed, 4 * largest, 2 * steps - 1)
        self.devices.forget()
        self.progress(f"new memory: {new.seconds[-1] / new.sizes[-1] * 2**20 * 1e6:.0f} us per MiB on each device")
        rates = _rates(points) | ({("layout", "f32"): Rates(bytes=layouts)} if layouts is not None else {})
        provenance = {
            "device": describe(first), "devices": str(count), "rounds": str(self.rounds),
            "elements": ", ".join(elements), "jax": jax.__version__, "date": time.strftime("%Y-%m-%d"),
        }  # fmt: skip
        slow = self.speed.found
        self.progress(f"the same work took {min(slow):.2f} to {max(slow):.2f} times as long as at first, "
                      f"which measurements are divided by, {self.speed.typical:.2f} in the median")  # fmt: skip
        return Profile(
            kind_name(first), count, kernel, dispatch, argument, rates, curves, new, waits, provenance,
        ).scaled(self.speed.typical)  # fmt: skip

    @functools.cached_property
    def speed(self) -> Speed:
        """The speed of the machine, by a product of matrices that stay in caches."""
        call = self._program(Probe(("speed", "f32", "flops"), 1.0, (((_SIDE, _SIDE), jnp.float32),) * 2, jnp.matmul))
        call(1)
        iterations = max(1, round(_WORK / max(timed(call, 64) / 64, _NO_TIME)))
        return Speed(functools.partial(call, iterations))

    def measure(self, wanted: Iterable[Probe]) -> list[tuple[Probe, float]]:
        """Each probe with the seconds of its op, at the speed that the machine had at first; probes of one row (curve)
        are interleaved."""
        rows: dict[Any, list[Probe]] = {}
        for probe in wanted:
            rows.setdefault((probe.row[0], probe.row[-1]) if probe.row[0] == "link" else probe.row, []).append(probe)
        out = []
        for row, group in rows.items():
            start = time.perf_counter()
            out += self._row(group)
            self.progress(f"{' '.join(map(str, row))}: {len(group)} programs, {time.perf_counter() - start:.1f} s")
            self.devices.forget()
        return out

    def _row(self, group: Sequence[Probe]) -> list[tuple[Probe, float]]:
        """Each probe with the seconds of its op.

        They are what an iteration of its loop takes more, round by round, than one of a loop over a tiny op, which has
        the overhead of the kernels too: XLA would fuse a smaller loop into one kernel.  On accelerators that loop runs
        it as often per iteration.
        """
        tiny = Probe(_EMPTY_LOOP, 1.0, (((1024,), jnp.float32),), lambda x: x + 1.0)
        often = [1] if self.cpu else sorted({p.copies for p in group})
        empty = [0 if self.cpu else often.index(p.copies) for p in group]
        every = [*(replace(tiny, copies=n) for n in often), *group]
        calls = [self._program(probe) for probe in every]
        most = [_MOST_UNROLLED if p.unrolled else _MOST for p in every]
        iterations = [self._iterations(c, n) for c, n in zip(calls, most, strict=True)]
        times: list[list[float]] = [[] for _ in calls]
        before = self.speed.looks
        for _ in range(self.rounds):
            for i, (call, n) in enumerate(zip(calls, iterations, strict=True)):
                self.speed.look()
                few = timed(call, 1)
                times[i].append((timed(call, n) - few) / (n - 1))
        slow, out = self.speed.slowness(before), []
        for p, e, found in zip(group, empty, times[len(often) :], strict=True):
            more = statistics.median(t - r for t, r in zip(found, times[e], strict=True))
            least = (_LEAST if self.cpu else _LEAST_OF_LOOPS) * statistics.median(found)
            out.append((p, max(more / slow, least / slow, _NO_TIME) / p.copies))
        return out

    @staticmethod
    def _iterations(call: Callable[[int], Any], most: int) -> int:
        """How often a loop must run to take a time that can be measured; runs it often enough to be warm."""
        call(1)
        n = 3
        while True:
            one, many = timed(call, 1), timed(call, n)
            if many - one > _SHORT or n >= most:
                return n
            n = min(most, max(2 * n, math.ceil(1.2 * n * _SHORT / max(many - one, 1e-1 * _SHORT))))

    def _program(self, probe: Probe) -> Callable[[int], None]:
        """A call that runs the op of `probe` so many times on all devices at once.

        The op is in a loop: no memory is new, no array goes in or out, and what it reads is in a cache if the bytes of
        one iteration fit.
        """
        group = probe.row[2] if probe.row[0] == "link" else 1
        assert isinstance(group, int)
        mesh, spec = self.devices.mesh(group)
        shape, dtype = probe.operands[0]
        state = [self.devices.drawn(mesh, shape, dtype, 0) for _ in range(probe.copies)]
        others = [self.devices.array(mesh, *operand, i) for i, operand in enumerate(probe.operands[1:], 1)]
        once = jax_compat.shard_map(probe.run, mesh, (spec,) * len(probe.operands), spec)
        found = jax.eval_shape(once, state[0], *others)
        state += [jax.device_put(np.zeros(found.shape, found.dtype), NamedSharding(mesh, spec)) for _ in state]
        here = [spec] * len(state)
        in_specs = [spec] * (len(state) + len(others))
        everywhere = NamedSharding(mesh, PartitionSpec())

        @functools.cache
        def program(written: int) -> Any:
            """Unrolled so many times, or (0) with a loop that takes the number as an argument."""
            run = functools.partial(probe.loop, written) if written else probe.loop
            count = () if written else (PartitionSpec(),)
            body = jax_compat.shard_map(run, mesh, (*count, *in_specs), here)
            donated = range(len(count), len(count) + len(state))
            first = () if written else (jax.device_put(np.int32(1), everywhere),)
            return jax.jit(body, donate_argnums=tuple(donated)).lower(*first, *state, *others).compile()

        def call(iterations: int) -> None:
            first = () if probe.unrolled else (jax.device_put(np.int32(iterations), everywhere),)
            state[:] = program(iterations if probe.unrolled else 0)(*first, *state, *others)
            jax.block_until_ready(state)

        return call


def _rates(points: dict[tuple[str, str, str | int], list[tuple[Probe, float]]]) -> dict[tuple[str, str], Rates]:
    """Curves from measurements: several forms of an op at one size are averaged."""
    flops: dict[tuple[str, str], tuple[tuple[float, Curve], ...]] = {}
    streams: dict[tuple[str, str], Curve] = {}
    for (cls, element, what), found in points.items():
        if what == "bytes":
            streams[cls, str(element)] = Curve.through(_mean((p.size, s) for p, s in found))
            continue
        # Intensities of one curve differ from size to size: shapes are whole numbers, and kernels of convolutions count
        # for less with larger images.
        groups: dict[float, list[tuple[Probe, float]]] = {}
        for p, s in found:
            groups.setdefault(p.curve, []).append((p, s))
        flops[cls, str(element)] = tuple(
            (statistics.geometric_mean(p.intensity for p, _ in g), Curve.through(_mean((p.size, s) for p, s in g)))
            for _, g in sorted(groups.items())
        )
    return {key: Rates(flops.get(key, ()), streams.get(key)) for key in dict.fromkeys([*flops, *streams])}


def _layouts(inner: Iterable[tuple[float, float]], outer: Curve, group: int) -> Curve:
    """Seconds of transposing operand and result of an all-gather along the innermost dimension, by bytes touched.

    Args:
      inner: (bytes that a device sends, seconds) of all-gathers along the innermost dimension.
      outer: those along the outermost.
    """
    points = []
    for wire_bytes, seconds in inner:
        part = wire_bytes / (group - 1)
        points.append((2 * part * (group + 1), max(seconds - outer(wire_bytes), _LEAST * seconds)))
    return Curve.through(points)


def _mean(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The mean time at each size: a step has as much of one form as of another."""
    at: dict[float, list[float]] = {}
    for size, seconds in points:
        at.setdefault(size, []).append(seconds)
    return [(size, statistics.fmean(found)) for size, found in at.items()]


def kind_name(device: Any) -> str:
    """What a device is called in a profile and the name of its file: `cpu`, `NVIDIA-H100-80GB-HBM3`."""
    return "cpu" if device.platform == "cpu" else str(device.device_kind).replace(" ", "-")


def describe(device: Any) -> str:
    """The model of a device, by which a profile of another machine is recognised."""
    return processor() if device.platform == "cpu" else str(device.device_kind)
