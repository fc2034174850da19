"""Lower bounds of the span and the makespan of any schedule of a pipeline within its limits of memory."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

from pcg.pipeline.problem import Pipeline


@dataclass(frozen=True)
class Bounds:
    """No schedule has a shorter span, or makespan."""

    span: float
    makespan: float

    def objective(self, which: str) -> float:
        return self.span if which == "span" else self.makespan


def bounds(p: Pipeline) -> Bounds:
    """The best of three bounds of each device.

    - Its tasks on one machine, each not before its inputs can be there and with what must follow on this device (span)
      or on any (makespan) behind it; preemptive, so solved by Jackson's rule.
    - Its work and what is idle before the first B: until then only F can run, as many as memory has room for.
    - The memory that microbatches occupy for how long, by what the device has.
    """
    spans, makespans = [], []
    chain = Chain(p)
    for d in range(p.devices):
        stages = p.stages_of(d)
        first = chain.forward[stages[0]]
        inside = _jackson(_jobs(p, chain, stages, first, stages))
        over = _jackson(_jobs(p, chain, stages, 0.0, range(p.stages)))
        span = max(inside, p.work[d] + _idle_before(p, chain, d, stages), _by_memory(p, chain, d, stages))
        spans.append(span)
        makespans.append(max(over, first + span))
    return Bounds(max(spans), max(makespans))


class Chain:
    """When one microbatch that nothing delays begins its F and its B on every stage."""

    def __init__(self, p: Pipeline) -> None:
        self.forward, self.backward = [0.0] * p.stages, [0.0] * p.stages
        for s in range(1, p.stages):
            self.forward[s] = self.forward[s - 1] + p.forward[s - 1] + p.hop(s - 1)
        self.backward[-1] = self.forward[-1] + p.forward[-1]
        for s in reversed(range(p.stages - 1)):
            self.backward[s] = self.backward[s + 1] + p.backward[s + 1] + p.hop(s)


def _jobs(p: Pipeline, chain: Chain, stages: list[int], zero: float, behind: list[int] | range) -> list[_Job]:
    """The tasks of a device: when each can begin, how long it takes, and what must follow it on stages `behind`."""
    ends = [chain.backward[s] + p.backward[s] + p.weight[s] for s in range(p.stages)]
    found = []
    for s in stages:
        f, b, w = p.forward[s], p.backward[s], p.weight[s]
        after_f, after_b = max(ends[t] for t in behind), max(ends[t] for t in behind if t <= s)
        for begins, length, last in (
            (chain.forward[s], f, after_f), (chain.backward[s], b, after_b), (chain.backward[s] + b, w, ends[s])
        ):  # fmt: skip
            found.append(_Job(begins - zero, length, last - begins - length, p.microbatches))
    return found


@dataclass(frozen=True)
class _Job:
    release: float
    length: float
    tail: float
    times: int


def _jackson(jobs: list[_Job]) -> float:
    """Of one machine with release times and tails: the longest tail first, interrupted when a longer one comes."""
    waiting: list[tuple[float, float]] = []  # tail, work
    now, most = 0.0, 0.0
    releases = sorted(jobs, key=lambda j: j.release)
    for n, job in enumerate(releases):
        now = max(now, job.release)
        heapq.heappush(waiting, (-job.tail, job.length * job.times))
        until = releases[n + 1].release if n + 1 < len(releases) else math.inf
        while waiting and now < until:
            tail, work = heapq.heappop(waiting)
            done = min(work, until - now)
            now += done
            if done < work:
                heapq.heappush(waiting, (tail, work - done))
            else:
                most = max(most, now - tail)
    return most


def _idle_before(p: Pipeline, chain: Chain, d: int, stages: list[int]) -> float:
    """How long the device is idle, after its first task, before its first B at the earliest."""
    until = min(chain.backward[s] for s in stages) - chain.forward[stages[0]]
    room, busy = p.limit[d], 0.0
    for s in sorted(stages, key=lambda s: p.activation[s] / p.forward[s]):
        a = p.activation[s]
        count = min(float(p.microbatches), room / a if a > 0 else math.inf)
        if len(stages) == 1:
            count = math.floor(count * (1 + 1e-9))
        busy += count * p.forward[s]
        room = max(room - count * a, 0.0)
    return max(0.0, until - busy)


def _by_memory(p: Pipeline, chain: Chain, d: int, stages: list[int]) -> float:
    occupied = sum(
        p.activation[s] * (chain.backward[s] + p.backward[s] - chain.forward[s]) + p.residual[s] * p.weight[s]
        for s in stages
    )
    return p.microbatches * occupied / p.limit[d] if occupied else 0.0
