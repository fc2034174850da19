"""Schedules with a formula: what each device does depends on its number, not on times."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pcg.pipeline.errors import PipelineError
from pcg.pipeline.problem import Pipeline
from pcg.pipeline.schedule import Schedule

#: Of one device: (kind, microbatch, chunk) in order.
Order = Iterator[tuple[str, int, int]]


def gpipe(p: Pipeline) -> Schedule:
    """All F, then all backward passes (Huang et al., 2019)."""

    def order(d: int) -> Order:
        yield from (("F", i, 0) for i in range(p.microbatches))
        yield from (("BW", i, 0) for i in range(p.microbatches))

    return _linear(p, "gpipe", order)


def one_f_one_b(p: Pipeline) -> Schedule:
    """1F1B: as many F as there are stages behind, then a backward pass and an F in turn (Narayanan et al., 2021)."""
    return _linear(p, "1f1b", lambda d: _one_by_one(p, p.devices - d))


def eager_one_f_one_b(p: Pipeline) -> Schedule:
    """1F1B with about twice as many F first, which hides transfers."""
    return _linear(p, "eager-1f1b", lambda d: _one_by_one(p, 2 * (p.devices - d) - 1))


def zb_h1(p: Pipeline) -> Schedule:
    """ZB-H1 of the zero-bubble paper: 1F1B with W put off, a third of its bubble for equal times, no more memory."""
    return _linear(p, "zb-h1", lambda d: _split(p, p.devices - d, d))


def zb_h2(p: Pipeline) -> Schedule:
    """ZB-H2 of the zero-bubble paper: more F first, for equal times no bubble within a span, twice the memory."""
    return _linear(p, "zb-h2", lambda d: _split(p, 2 * (p.devices - d) - 1, 2 * d))


def interleaved(p: Pipeline) -> Schedule:
    """Interleaved 1F1B: groups of as many microbatches as devices take turns on chunks (Narayanan et al., 2021)."""

    def order(d: int) -> Order:
        first, step, steps = _interleaved(p, 2 * (p.devices - d - 1))
        yield from (step("F", n) for n in range(first))
        for n in range(steps):
            yield step("BW", n)
            if first + n < steps:
                yield step("F", first + n)

    return _orders(p, "interleaved", order)


def interleaved_zb(p: Pipeline) -> Schedule:
    """Interleaved 1F1B with W put off as in ZB-H1, and fewer F first (PyTorch's InterleavedZeroBubble)."""

    def order(d: int) -> Order:
        first, step, steps = _interleaved(p, p.devices - d - 1)
        yield from (step("F", n) for n in range(first))
        for n in range(steps):
            yield step("B", n)
            if n >= d:
                yield step("W", n - d)
            if first + n < steps:
                yield step("F", first + n)
        yield from (step("W", n) for n in range(max(steps - d, 0), steps))

    return _orders(p, "interleaved-zb", order)


def _interleaved(p: Pipeline, more: int) -> tuple[int, Callable[[str, int], tuple[str, int, int]], int]:
    """How many F a device does first, `more` than of all chunks but the last and one of that; the n-th task of a kind;
    and how many there are of a kind."""
    devices, m, chunks = p.devices, p.microbatches, p.stages // p.devices
    if p.device != tuple(range(devices)) * chunks:
        raise PipelineError(f"interleaved on devices {list(p.device)}; allowed: every chunk on all devices in order")
    if m % devices:
        raise PipelineError(f"interleaved of {m} microbatches on {devices} devices; allowed: a multiple of the devices")

    def step(kind: str, n: int) -> tuple[str, int, int]:
        group, rest = divmod(n, devices * chunks)
        chunk, i = divmod(rest, devices)
        return kind, group * devices + i, chunk if kind == "F" else chunks - 1 - chunk

    return min(m * chunks, more + (chunks - 1) * devices + 1), step, m * chunks


def _one_by_one(p: Pipeline, first: int) -> Order:
    yield from (("F", i, 0) for i in range(min(first, p.microbatches)))
    for i in range(p.microbatches):
        yield "BW", i, 0
        if first + i < p.microbatches:
            yield "F", first + i, 0


def _split(p: Pipeline, first: int, behind: int) -> Order:
    """`first` F, then B, the W of `behind` microbatches before, and F in turn."""
    m = p.microbatches
    yield from (("F", i, 0) for i in range(min(first, m)))
    for i in range(m):
        yield "B", i, 0
        if i >= behind:
            yield "W", i - behind, 0
        if first + i < m:
            yield "F", first + i, 0
    yield from (("W", i, 0) for i in range(max(m - behind, 0), m))


def _linear(p: Pipeline, name: str, order: Callable[[int], Order]) -> Schedule:
    if p.device != tuple(range(p.devices)):
        raise PipelineError(f"{name} on devices {list(p.device)}; allowed: one stage on each device, in order")
    return _orders(p, name, order)


def _orders(p: Pipeline, name: str, order: Callable[[int], Order]) -> Schedule:
    kinds = {"F": 0, "B": 1, "W": 2, "BW": 3}
    found = []
    for d in range(p.devices):
        stages = p.stages_of(d)
        tasks = [(kinds[k] * p.stages + stages[chunk]) * p.microbatches + i for k, i, chunk in order(d)]
        found.append(tuple(tasks))
    return Schedule(p, tuple(found), name)
