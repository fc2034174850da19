"""Comparing times honestly on a busy machine: alternate the candidates, compare round by round, take medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def interleaved(candidates: Mapping[str, Callable[[], Any]], rounds: int, warmup: int = 2) -> dict[str, float]:
    """Median seconds of each candidate, called in turn `rounds` times (the order flips every round), `steady`."""
    for _ in range(warmup):
        for run in candidates.values():
            run()
    return _medians(candidates, rounds, 0, 1)


def interleaved_steps(candidates: Mapping[str, Callable[[], Any]], rounds: int, steps: int = 2) -> dict[str, float]:
    """Median seconds of each candidate; in each of `rounds` it runs once untimed and then `steps` times in a row.

    As steps of a training follow themselves: what the one before left in the caches is the candidate's own.
    """
    return _medians(candidates, rounds, 1, steps)


def _medians(candidates: Mapping[str, Callable[[], Any]], rounds: int, untimed: int, timed: int) -> dict[str, float]:
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    order = list(candidates.items())
    for _ in range(rounds):
        for name, run in order:
            for _ in range(untimed):
                run()
            for _ in range(timed):
                start = time.perf_counter()
                run()
                seconds[name].append(time.perf_counter() - start)
        order.reverse()
    return dict(zip(seconds, map(statistics.median, steady(list(seconds.values()))), strict=True))


def steady(series: Sequence[Sequence[float]]) -> list[list[float]]:
    """Seconds of candidates, a list of each, that were measured in turn, as on a machine that keeps its speed.

    Those of one place in the lists, measured one after the other, are divided by how slow the machine was then: their
    geometric mean over the median of these means.
    """
    levels = [statistics.geometric_mean(at) for at in zip(*series, strict=True)]
    typical = statistics.median(levels)
    return [[x * typical / level for x, level in zip(one, levels, strict=True)] for one in series]


def seconds_per_call(sides: Mapping[str, Callable[..., Any]], args: Any, calls: int, rounds: int) -> dict[str, float]:
    """Median seconds of a call of each side, a jax function, of `calls` in a row, the last of which is waited for."""
    import jax

    def loop(function: Callable[..., Any]) -> Callable[[], Any]:
        def run() -> None:
            out = None
            for _ in range(calls):
                out = function(*args)
            jax.block_until_ready(out)

        return run

    medians = interleaved({name: loop(function) for name, function in sides.items()}, rounds)
    return {name: seconds / calls for name, seconds in medians.items()}
