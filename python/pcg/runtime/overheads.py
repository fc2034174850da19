"""What a step takes beside its ops, measured: starting it, arrays, kernels, new memory, waiting.  Imports jax.

All seconds are those at the speed that the machine had at first (`pcg.runtime.speed`).
"""

from __future__ import annotations

import functools
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from pcg.machine.curve import Curve
from pcg.runtime import jax_compat, probes
from pcg.runtime.measured import Devices, timed
from pcg.runtime.speed import Speed

#: Seconds where nothing can be measured: a tenth of a microsecond, below what matters to a step.
_NO_TIME = 1e-7
#: Least seconds, and least iterations, of work and an all-reduce over which the waiting is measured.  Choices: many
#: times the resolution of the clocks of processors.
_LONG, _FEWEST = 0.08, 4


def dispatch(devices: Devices, rounds: int, speed: Speed) -> tuple[float, float]:
    """Seconds of a program that does nothing, and what one more array in and out of it adds."""
    one, many = _medians(devices, rounds, speed, *((lambda *xs: [x + 1 for x in xs], arrays) for arrays in (1, 65)))
    return one, max(0.0, (many - one) / 64)


def kernel(devices: Devices, rounds: int, speed: Speed) -> float:
    """Seconds of a kernel that does next to nothing: one in a long chain that cannot be fused."""

    def chain(length: int, x: Any) -> Any:
        for _ in range(length):
            x = jax.lax.optimization_barrier(jnp.cumsum(jax.lax.optimization_barrier(x + 1.0)[::-1]))
        return x

    low, high = 4, 20
    short, long = _medians(devices, rounds, speed, *((functools.partial(chain, n), 1) for n in (low, high)))
    return max(0.0, (long - short) / (2 * (high - low)))  # two kernels per link of the chain


def _medians(
    devices: Devices, rounds: int, speed: Speed, *programs: tuple[Callable[..., Any], int]
) -> list[float]:  # fmt: skip
    """Median seconds of functions of so many small arrays, interleaved."""
    mesh, spec = devices.mesh()

    def compiled(run: Callable[..., Any], arrays: int) -> Callable[[], Any]:
        args = [devices.array(mesh, (8,), jnp.float32, c) for c in range(arrays)]
        call = jax.jit(jax_compat.shard_map(run, mesh, (spec,) * arrays, spec)).lower(*args).compile()
        return lambda: jax.block_until_ready(call(*args))

    calls = [compiled(*p) for p in programs]
    rows, before = [], speed.looks
    for _ in range(4 * rounds + 1):
        speed.look()
        rows.append([timed(call) for call in calls])
    slow = speed.slowness(before)
    return [statistics.median(column) / slow for column in zip(*rows[1:], strict=True)]


def fresh(devices: Devices, rounds: int, speed: Speed, largest: float, steps: int) -> Curve:
    """Seconds that new memory takes, by bytes of one allocation: a program with and without donation.

    The last result is kept until the next is there, as in a training loop.
    """
    mesh, spec = devices.mesh()
    body = jax_compat.shard_map(lambda x: x + 1, mesh, (spec,), spec)
    points = []
    for size in probes.sizes(largest / 64, largest, max(3, steps)):
        elements = max(1, round(size / 4))
        args = devices.array(mesh, (elements,), jnp.float32, 0)
        new = jax.jit(body).lower(args).compile()
        same = jax.jit(body, donate_argnums=(0,)).lower(args).compile()
        kept, state = None, jax.block_until_ready(new(args))
        pairs, before = [], speed.looks
        for _ in range(rounds + 1):
            speed.look()
            start = time.perf_counter()
            kept = jax.block_until_ready(new(args))
            middle = time.perf_counter()
            state = jax.block_until_ready(same(state))
            pairs.append((middle - start, time.perf_counter() - middle))
        del kept
        more = statistics.median(a for a, _ in pairs[1:]) - statistics.median(b for _, b in pairs[1:])
        points.append((4.0 * elements, max(more / speed.slowness(before), _NO_TIME)))
    return Curve.through(points)


def waits(devices: Devices, rounds: int, speed: Speed, groups: Sequence[int]) -> dict[int, Curve]:
    """How long devices wait for each other at a collective, by group size and seconds of work since they last
    synchronised.

    The time that processors idle at an all-reduce of a few elements after work, less that after none.  It is read from
    their own clocks: the work itself takes a little longer or shorter every time.
    """
    points: dict[int, list[tuple[float, float]]] = {n: [] for n in groups}
    after_none: dict[int, float] = {}
    for side, amount in probes.AMOUNTS:
        calls = {n: _work_and_all_reduce(devices, n, side, amount) for n in (0, *groups)}
        for call in calls.values():
            call(1)
        iterations = max(_FEWEST, round(_LONG * _FEWEST / max(timed(calls[0], _FEWEST), 1e-6)))
        found: dict[int, list[tuple[float, float]]] = {n: [] for n in calls}
        before = speed.looks
        for _ in range(2 * rounds - 1):
            for n, call in calls.items():
                speed.look()
                found[n].append(_idle(call, iterations))
        slow = speed.slowness(before)
        work = statistics.median(seconds for seconds, _ in found[0]) / slow
        idle = {n: statistics.median(lost for _, lost in x) / slow for n, x in found.items()}
        for n in groups:
            lost = idle[n] - idle[0]
            if amount:
                points[n].append((work, max(lost - after_none[n], _NO_TIME)))
            else:
                after_none[n] = lost
    return {n: Curve.through(found) for n, found in points.items()}


def _idle(call: Callable[[int], None], iterations: int) -> tuple[float, float]:
    """Seconds of an iteration, and how many of them the processors of this process idle on average."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    busy = time.process_time()
    seconds = timed(call, iterations)
    busy = time.process_time() - busy
    return seconds / iterations, (seconds - busy / cores) / iterations


def _work_and_all_reduce(devices: Devices, group: int, side: int, amount: int) -> Callable[[int], None]:
    """A call with so many iterations of work and an all-reduce in groups of `group` (0: none)."""
    mesh, spec = devices.mesh(group or 1)
    work, factor = (devices.drawn(mesh, (side, side), jnp.float32, i) for i in range(2))
    args = (work, factor, devices.drawn(mesh, (8,), jnp.float32, 2))
    everywhere = NamedSharding(mesh, PartitionSpec())
    run = functools.partial(probes.work_and_all_reduce, amount, bool(group))
    body = jax_compat.shard_map(run, mesh, (PartitionSpec(), spec, spec, spec), [spec, spec])
    program = jax.jit(body).lower(jax.device_put(np.int32(1), everywhere), *args).compile()

    def call(iterations: int) -> None:
        jax.block_until_ready(program(jax.device_put(np.int32(iterations), everywhere), *args))

    return call
