"""Comparing times honestly on a busy machine: alternate the candidates, take medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any


def interleaved(candidates: Mapping[str, Callable[[], Any]], rounds: int, warmup: int = 2) -> dict[str, float]:
    """Median seconds of each candidate, called in turn `rounds` times (the order flips every round)."""
    for _ in range(warmup):
        for run in candidates.values():
            run()
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    order = list(candidates.items())
    for _ in range(rounds):
        for name, run in order:
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
        order.reverse()
    return {name: statistics.median(values) for name, values in seconds.items()}
