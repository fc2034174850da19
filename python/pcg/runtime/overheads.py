"""What a step takes beside its ops, measured: starting it, arrays, kernels, new memory, waiting.  Imports jax."""

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

#: Seconds where nothing can be measured.
_NO_TIME = 1e-7
#: Seconds that devices should work and meet in turns, at least, to measure how long they wait, and turns at least.
_LONG, _FEWEST = 0.08, 4


def dispatch(devices: Devices, rounds: int) -> tuple[float, float]:
    """Seconds of a program that does nothing, and what one more array in and out of it adds."""
    mesh, spec = devices.mesh()

    def program(arrays: int) -> Callable[[], Any]:
        args = [devices.array(mesh, (8,), jnp.float32, c) for c in range(arrays)]
        body = jax_compat.shard_map(lambda *xs: [x + 1 for x in xs], mesh, tuple([spec] * arrays), [spec] * arrays)
        call = jax.jit(body).lower(*args).compile()
        return lambda: jax.block_until_ready(call(*args))

    few, many = program(1), program(65)
    pairs = [(timed(few), timed(many)) for _ in range(4 * rounds + 1)][1:]
    one = statistics.median(a for a, _ in pairs)
    return one, max(0.0, (statistics.median(b for _, b in pairs) - one) / 64)


def kernel(devices: Devices, rounds: int) -> float:
    """Seconds of a kernel that does next to nothing: one in a long chain that cannot be fused."""
    mesh, spec = devices.mesh()
    x = devices.array(mesh, (8,), jnp.float32, 0)
    low, high = 4, 20

    def chain(length: int) -> Callable[[], Any]:
        def run(x: Any) -> Any:
            for _ in range(length):
                x = jax.lax.optimization_barrier(jnp.cumsum(jax.lax.optimization_barrier(x + 1.0)[::-1]))
            return x

        call = jax.jit(jax_compat.shard_map(run, mesh, (spec,), spec)).lower(x).compile()
        return lambda: jax.block_until_ready(call(x))

    short, long = chain(low), chain(high)
    pairs = [(timed(short), timed(long)) for _ in range(4 * rounds + 1)][1:]
    more = statistics.median(b for _, b in pairs) - statistics.median(a for a, _ in pairs)
    return max(0.0, more / (2 * (high - low)))  # two kernels per link of the chain


def fresh(devices: Devices, rounds: int, largest: float, steps: int) -> Curve:
    """Seconds that new memory takes, by bytes of one allocation: a program with and without donation.

    What was made before is kept until the next is there, as a training loop does it.
    """
    mesh, spec = devices.mesh()
    body = jax_compat.shard_map(lambda x: x + 1, mesh, (spec,), spec)
    points = []
    for size in probes.sizes(largest / 64, largest, max(3, steps)):
        elements = max(1, round(size / 4))
        given = devices.array(mesh, (elements,), jnp.float32, 0)
        new = jax.jit(body).lower(given).compile()
        same = jax.jit(body, donate_argnums=(0,)).lower(given).compile()
        kept, state = None, jax.block_until_ready(new(given))
        pairs = []
        for _ in range(rounds + 1):
            start = time.perf_counter()
            kept = jax.block_until_ready(new(given))
            middle = time.perf_counter()
            state = jax.block_until_ready(same(state))
            pairs.append((middle - start, time.perf_counter() - middle))
        del kept
        more = statistics.median(a for a, _ in pairs[1:]) - statistics.median(b for _, b in pairs[1:])
        points.append((4.0 * elements, max(more, _NO_TIME)))
    return Curve.through(points)


def waits(devices: Devices, rounds: int, groups: Sequence[int]) -> dict[int, Curve]:
    """How long devices wait for each other at a collective, by group size and seconds of work since they last met.

    What processors idle at an all-reduce of next to nothing after work, beyond what they do after none.  That they
    idle is told from their own clocks: the work itself takes a little longer or shorter every time.
    """
    points: dict[int, list[tuple[float, float]]] = {n: [] for n in groups}
    after_none: dict[int, float] = {}
    for side, amount in probes.AMOUNTS:
        calls = {n: _meeting(devices, n, side, amount) for n in (0, *groups)}
        for call in calls.values():
            call(1)
        turns = max(_FEWEST, round(_LONG * _FEWEST / max(timed(calls[0], _FEWEST), 1e-6)))
        found: dict[int, list[tuple[float, float]]] = {n: [] for n in calls}
        for _ in range(2 * rounds - 1):
            for n, call in calls.items():
                found[n].append(_idle(call, turns))
        work = statistics.median(seconds for seconds, _ in found[0])
        idle = {n: statistics.median(lost for _, lost in x) for n, x in found.items()}
        for n in groups:
            lost = idle[n] - idle[0]
            if amount:
                points[n].append((work, max(lost - after_none[n], _NO_TIME)))
            else:
                after_none[n] = lost
    return {n: Curve.through(found) for n, found in points.items()}


def _idle(call: Callable[[int], None], turns: int) -> tuple[float, float]:
    """Seconds of a turn, and those of it that the processors of this process idle, on their average."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    busy = time.process_time()
    seconds = timed(call, turns)
    busy = time.process_time() - busy
    return seconds / turns, (seconds - busy / cores) / turns


def _meeting(devices: Devices, group: int, side: int, amount: int) -> Callable[[int], None]:
    """A call that so many times works and then meets, in groups of `group` (0: never)."""
    mesh, spec = devices.mesh(group or 1)
    work, factor = (devices.drawn(mesh, (side, side), jnp.float32, i) for i in range(2))
    given = (work, factor, devices.drawn(mesh, (8,), jnp.float32, 2))
    everywhere = NamedSharding(mesh, PartitionSpec())
    run = functools.partial(probes.meeting, amount, bool(group))
    body = jax_compat.shard_map(run, mesh, (PartitionSpec(), spec, spec, spec), [spec, spec])
    program = jax.jit(body).lower(jax.device_put(np.int32(1), everywhere), *given).compile()

    def call(turns: int) -> None:
        jax.block_until_ready(program(jax.device_put(np.int32(turns), everywhere), *given))

    return call
