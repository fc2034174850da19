"""Measures what the devices at hand do, for `pcg-calibrate`.  Imports jax.

Every probe runs on all devices at once, so that what they share (cores, memory, links) is shared while measuring.
Times are medians of interleaved rounds: what else goes on in the machine hits all probes of a group alike.
"""

from __future__ import annotations

import functools
import math
import statistics
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from pcg.machine.curve import Curve
from pcg.machine.detect import processor
from pcg.machine.errors import ClusterError
from pcg.machine.profile import CLASSES, Profile, Rates
from pcg.runtime import jax_compat, probes
from pcg.runtime.probes import Probe

#: What can be measured.
WHAT = (*CLASSES, "collectives")
#: The least share of a measured time that is an op's own, after the overhead of kernels has been taken off.
_LEAST = 0.1
#: Seconds that the loop of a probe should take at least, and how often it runs at most.
_SHORT, _MOST = 0.02, 4000
#: And most turns that are written out.
_MOST_UNROLLED = 12
#: Curves of one class whose intensities differ by less than this factor are one.
_ALIKE = 1.6


class Calibration:
    """The measurements of one run.

    Args:
      devices: jax devices of one kind, which all work at once.
      rounds: how often every probe runs.
      progress: told what is going on, a line at a time.
    """

    def __init__(self, devices: Sequence[Any], rounds: int, progress: Callable[[str], None] = lambda _: None) -> None:
        if not devices:
            raise ClusterError("no device to calibrate")
        if rounds < 1:
            raise ClusterError(f"{rounds} rounds; allowed: 1 or more")
        if len({d.device_kind for d in devices}) > 1:
            raise ClusterError(f"devices of several kinds ({', '.join(sorted({d.device_kind for d in devices}))})")
        self.devices = list(devices)
        self.rounds = rounds
        self.progress = progress
        self.turn = self.turn_between = 0.0
        """Seconds of a turn of a probe's loop beside its op, without and with a kernel between."""
        self._arrays: dict[Any, Any] = {}

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
        count = len(self.devices)
        dispatch, argument = self.dispatch()
        kernel = self.kernel()
        self.turn, self.turn_between = self._turn(False), self._turn(True)
        self.progress(f"a program takes {1e6 * dispatch:.0f} us, an array {1e6 * argument:.1f} us, "
                      f"a kernel {1e6 * kernel:.2f} us")  # fmt: skip
        points: dict[tuple[str, str, str | int], list[tuple[Probe, float]]] = {}
        for probe, seconds in self.measure(p for p in probes.compute(elements, largest, steps) if p.row[0] in only):
            points.setdefault(probe.row, []).append((probe, self._net(seconds)))
        sizes = [n for n in range(2, count + 1) if count % n == 0] if "collectives" in only else []
        curves: dict[tuple[str, int], Curve] = {}
        for n in sizes:
            row: dict[str, list[tuple[float, float]]] = {}
            for probe, seconds in self.measure(probes.links([n], largest, steps)):
                row.setdefault(str(probe.row[1]), []).append((probe.size, self._net(seconds, between=True)))
            for kind, found in row.items():
                curves[kind, n] = Curve.through(found, floor=True)
        return Profile(
            kind_name(self.devices[0]), count, kernel, dispatch, argument, _rates(points), curves,
            self.fresh(4 * largest, steps), self._made(elements),
        )  # fmt: skip

    def _net(self, seconds: float, between: bool = False) -> float:
        """An op's own seconds: without what one turn of a loop takes anyway, kernels of next to nothing included."""
        return max(seconds - (self.turn_between if between else self.turn), _LEAST * seconds)

    def _turn(self, between: bool) -> float:
        """Seconds of a turn of a probe's loop whose op does next to nothing: XLA makes one kernel of a smaller loop."""
        row = ("elementwise", "f32", "bytes")
        nothing = Probe(row, 1.0, (((1024,), jnp.float32),), lambda x: x + 1.0, between=between)
        return statistics.median(seconds for _, seconds in self._row([nothing] * 3))

    def measure(self, wanted: Iterable[Probe]) -> list[tuple[Probe, float]]:
        """Each probe with the seconds of its op; probes of one row (curve) are interleaved."""
        rows: dict[Any, list[Probe]] = {}
        for probe in wanted:
            rows.setdefault((probe.row[0], probe.row[-1]) if probe.row[0] == "link" else probe.row, []).append(probe)
        out = []
        for row, group in rows.items():
            start = time.perf_counter()
            out += self._row(group)
            self.progress(f"{' '.join(map(str, row))}: {len(group)} programs, {time.perf_counter() - start:.1f} s")
            self._arrays.clear()
        return out

    def _row(self, group: Sequence[Probe]) -> list[tuple[Probe, float]]:
        """Each probe with the seconds of one turn of its loop."""
        calls = [self._program(probe) for probe in group]
        turns = [self._turns(c, _MOST_UNROLLED if p.unrolled else _MOST) for c, p in zip(calls, group, strict=True)]
        times: list[list[float]] = [[] for _ in calls]
        for _ in range(self.rounds):
            for i, (call, n) in enumerate(zip(calls, turns, strict=True)):
                few = _timed(call, 1)
                times[i].append((_timed(call, n) - few) / (n - 1))
        return [(probe, max(statistics.median(found), 1e-9)) for probe, found in zip(group, times, strict=True)]

    @staticmethod
    def _turns(call: Callable[[int], Any], most: int) -> int:
        """How often a loop must run to take a time that can be measured; runs it often enough to be warm."""
        call(1)
        n = 3
        while True:
            one, many = _timed(call, 1), _timed(call, n)
            if many - one > _SHORT or n >= most:
                return n
            n = min(most, max(2 * n, math.ceil(1.2 * n * _SHORT / max(many - one, 1e-1 * _SHORT))))

    def _program(self, probe: Probe) -> Callable[[int], None]:
        """A call that runs the op of `probe` so many times on all devices at once.

        The op is in a loop: no memory is new, no array goes in or out, and what it reads is as warm as the bytes of one
        turn let it be.
        """
        count = len(self.devices)
        group = probe.row[2] if probe.row[0] == "link" else 1
        assert isinstance(group, int)
        mesh = Mesh(np.array(self.devices).reshape(count // group, group), ("rest", "group"))
        spec = PartitionSpec(("rest", "group"))
        shape, dtype = probe.operands[0]
        state = [self._draw(mesh, spec, shape, dtype, 0)]
        others = [self._array(mesh, spec, *operand, number=i) for i, operand in enumerate(probe.operands[1:], 1)]
        once = jax_compat.shard_map(probe.run, mesh, (spec,) * len(probe.operands), spec)
        found = jax.eval_shape(once, *state, *others)
        state.append(jax.device_put(np.zeros(found.shape, found.dtype), NamedSharding(mesh, spec)))
        if probe.between:
            state.append(self._draw(mesh, spec, (probes.WORK,), jnp.float32, 1))
        here = [spec] * len(state)
        given = [spec] * (len(state) + len(others))
        everywhere = NamedSharding(mesh, PartitionSpec())

        @functools.cache
        def program(written: int) -> Any:
            """With so many turns written out, or (0) with a loop, which is told how many."""
            run = functools.partial(probe.loop, written) if written else probe.loop
            count = () if written else (PartitionSpec(),)
            body = jax_compat.shard_map(run, mesh, (*count, *given), here)
            donated = range(len(count), len(count) + len(state))
            first = () if written else (jax.device_put(np.int32(1), everywhere),)
            return jax.jit(body, donate_argnums=tuple(donated)).lower(*first, *state, *others).compile()

        def call(turns: int) -> None:
            first = () if probe.unrolled else (jax.device_put(np.int32(turns), everywhere),)
            state[:] = program(turns if probe.unrolled else 0)(*first, *state, *others)
            jax.block_until_ready(state)

        return call

    def _array(self, mesh: Mesh, spec: PartitionSpec, shape: Sequence[int], dtype: Any, number: int) -> Any:
        key = (tuple(shape), jnp.dtype(dtype).name, number, mesh)
        if key not in self._arrays:
            self._arrays[key] = self._draw(mesh, spec, shape, dtype, number)
        return self._arrays[key]

    def _draw(self, mesh: Mesh, spec: PartitionSpec, shape: Sequence[int], dtype: Any, number: int) -> Any:
        """An array with the same random numbers on every device."""
        rng = np.random.default_rng(number)
        part = rng.integers(0, 1 << 20, shape) if jnp.issubdtype(dtype, jnp.integer) else rng.random(shape, "f4")
        whole = np.tile(part.astype(dtype), (len(self.devices), *[1] * (len(shape) - 1)))
        return jax.device_put(whole, NamedSharding(mesh, spec))

    def kernel(self) -> float:
        """Seconds of a kernel that does next to nothing: one in a long chain that cannot be fused."""
        return max(0.0, self._slope(lambda x: jnp.cumsum(jax.lax.optimization_barrier(x + 1.0)[::-1]), 4, 20))

    def _slope(self, step: Callable[[Any], Any], low: int, high: int) -> float:
        count = len(self.devices)
        mesh = Mesh(np.array(self.devices).reshape(count, 1), ("rest", "group"))
        spec = PartitionSpec(("rest", "group"))
        x = self._array(mesh, spec, (8,), jnp.float32, 0)

        def chain(length: int) -> Callable[[], Any]:
            def run(x: Any) -> Any:
                for _ in range(length):
                    x = jax.lax.optimization_barrier(step(x))
                return x

            call = jax.jit(jax_compat.shard_map(run, mesh, (spec,), spec)).lower(x).compile()
            return lambda: jax.block_until_ready(call(x))

        short, long = chain(low), chain(high)
        return self._difference(short, long) / (2 * (high - low))  # two kernels per link of the chain

    def _difference(self, short: Callable[[], Any], long: Callable[[], Any]) -> float:
        pairs = [(_timed(short), _timed(long)) for _ in range(4 * self.rounds + 1)][1:]
        return statistics.median(b for _, b in pairs) - statistics.median(a for a, _ in pairs)

    def fresh(self, largest: float, steps: int) -> Curve | None:
        """Seconds that new memory for results takes, by bytes per device: a program with and without donation."""
        count = len(self.devices)
        mesh = Mesh(np.array(self.devices).reshape(count, 1), ("rest", "group"))
        spec = PartitionSpec(("rest", "group"))
        parts = 8
        body = jax_compat.shard_map(lambda *xs: [x + 1 for x in xs], mesh, (spec,) * parts, [spec] * parts)
        points = []
        for size in probes.sizes(largest / 64, largest, max(3, steps - 2)):
            elements = max(1, round(size / 4 / parts))
            given = [self._array(mesh, spec, (elements,), jnp.float32, number=i) for i in range(parts)]
            new = jax.jit(body).lower(*given).compile()
            same = jax.jit(body, donate_argnums=tuple(range(parts))).lower(*given).compile()
            state = jax.block_until_ready(new(*given))
            pairs = []
            for _ in range(self.rounds + 1):
                start = time.perf_counter()
                jax.block_until_ready(new(*given))
                middle = time.perf_counter()
                state = jax.block_until_ready(same(*state))
                pairs.append((middle - start, time.perf_counter() - middle))
            more = statistics.median(a for a, _ in pairs[1:]) - statistics.median(b for _, b in pairs[1:])
            points.append((4.0 * elements * parts, max(more, 1e-9)))
            self._arrays.clear()
        self.progress(f"new memory: {points[-1][1] / points[-1][0] * 2**20 * 1e6:.0f} us per MiB on each device")
        return Curve.through(points)

    def dispatch(self) -> tuple[float, float]:
        """Seconds of a program that does nothing, and what one more array in and out of it adds."""
        count = len(self.devices)
        mesh = Mesh(np.array(self.devices).reshape(count, 1), ("rest", "group"))
        spec = PartitionSpec(("rest", "group"))

        def program(arrays: int) -> Callable[[], Any]:
            args = [self._array(mesh, spec, (8,), jnp.float32, c) for c in range(arrays)]
            body = jax_compat.shard_map(lambda *xs: [x + 1 for x in xs], mesh, tuple([spec] * arrays), [spec] * arrays)
            call = jax.jit(body).lower(*args).compile()
            return lambda: jax.block_until_ready(call(*args))

        few, many = program(1), program(65)
        pairs = [(_timed(few), _timed(many)) for _ in range(4 * self.rounds + 1)][1:]
        one = statistics.median(a for a, _ in pairs)
        return one, max(0.0, (statistics.median(b for _, b in pairs) - one) / 64)

    def _made(self, elements: Sequence[str]) -> dict[str, str]:
        return {
            "device": describe(self.devices[0]), "devices": str(len(self.devices)), "rounds": str(self.rounds),
            "elements": ", ".join(elements), "jax": jax.__version__,
            "date": time.strftime("%Y-%m-%d"),
        }  # fmt: skip


def _timed(call: Callable[..., Any], *args: Any) -> float:
    start = time.perf_counter()
    call(*args)
    return time.perf_counter() - start


def _rates(points: dict[tuple[str, str, str | int], list[tuple[Probe, float]]]) -> dict[tuple[str, str], Rates]:
    """Curves from measurements: several forms of an op at one size are averaged."""
    flops: dict[tuple[str, str], tuple[tuple[float, Curve], ...]] = {}
    streams: dict[tuple[str, str], Curve] = {}
    for (cls, element, what), found in points.items():
        if what == "bytes":
            streams[cls, str(element)] = Curve.through(_mean((p.size, s) for p, s in found))
            continue
        # Intensities of one curve differ a little from size to size, because shapes are whole numbers.
        groups: list[list[tuple[Probe, float]]] = []
        for p, s in sorted(found, key=lambda x: x[0].intensity):
            if groups and p.intensity < _ALIKE * groups[-1][0][0].intensity:
                groups[-1].append((p, s))
            else:
                groups.append([(p, s)])
        flops[cls, str(element)] = tuple(
            (statistics.geometric_mean(p.intensity for p, _ in g), Curve.through(_mean((p.size, s) for p, s in g)))
            for g in groups
        )
    return {key: Rates(flops.get(key, ()), streams.get(key)) for key in dict.fromkeys([*flops, *streams])}


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
    """The model of a device, by which a profile of another machine is told."""
    return processor() if device.platform == "cpu" else str(device.device_kind)
