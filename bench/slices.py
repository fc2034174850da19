"""Slices on a torus, placed by best fit, by least surface alone and by first fit: `python bench/slices.py`.

Requests are random meshes of one to three axes.  Three streams, the same for all arms:

- fill: nothing is released; the share of devices in use when the first request is refused, and after all requests.
- churn: when a request is refused, random slices are released until it fits; the share in use when it was refused.
- load: every slice ends after a random time, and what is refused is dropped; the mean share in use, and the share of
  the devices requested that was granted.

Times are processor time of `ResourceManager.request` alone, refused requests included.  After every request that is
granted all devices of all slices are compared.
"""

from __future__ import annotations

import argparse
import functools
import heapq
import math
import random
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np

from pcg.controller.boxes import Box, Fit
from pcg.controller.errors import ResourceError
from pcg.controller.grid import Found, Grid
from pcg.controller.island import Island
from pcg.controller.resources import ResourceManager
from pcg.controller.slices import Slice
from pcg.controller.sums import BoxSums
from pcg.viz.table import table

#: Lengths of an axis: powers of two, as meshes have, or any.
LENGTHS = {"powers": (1, 2, 4, 8), "any": (1, 2, 3, 4, 5, 6, 7, 8)}

#: What a stream of requests does with an arm: two shares.
Stream = Callable[["Arm", random.Random, list[tuple[int, ...]]], tuple[float, float]]


class FirstFit(Grid):
    """The first free place, row by row, of the first rotation that has one."""

    def best(self, fits: Sequence[Fit], shared: bool = False) -> Found | None:
        if not fits:
            return None
        most = [max(f.sizes[d] for f in fits) for d in range(len(self.shape))]
        sums = BoxSums(self.blocked(shared), self.island.wrapped, most)
        for fit in fits:
            free = sums.inside(fit.sizes) == 0
            if free.any():
                start = np.unravel_index(int(free.argmax()), free.shape)
                return Found(Box(tuple(map(int, start)), fit), (0, 0, 0))
        return None


class LeastSurface(Grid):
    """Best fit that looks at neighbours only, not at what larger boxes stay possible."""

    def _cubes(self) -> list[tuple[int, ...]]:
        return []


class Arm:
    """A manager of one island, how long its requests take, and whether slices ever overlapped."""

    def __init__(self, island: Island, grid: type[Grid]) -> None:
        self.manager = ResourceManager([island], grid)
        self.size = island.size
        self.seconds: list[float] = []
        self.refused: list[float] = []
        self.live: list[Slice] = []
        self.overlaps = 0

    def request(self, shape: tuple[int, ...]) -> Slice | None:
        begin = time.thread_time()
        try:
            found = self.manager.request(shape, topology="box")
        except ResourceError:
            found = None
        self.seconds.append(time.thread_time() - begin)
        if found is None:
            self.refused.append(self.manager.utilization())
            return None
        self.live.append(found)
        used = np.concatenate([s.devices for s in self.live])
        inside = 0 <= used.min() and used.max() < self.size
        self.overlaps += not inside or len(np.unique(used)) != len(used)
        return found

    def release(self, slice: Slice) -> None:
        self.live.remove(slice)
        self.manager.release(slice)


def shapes(rng: random.Random, lengths: Sequence[int], count: int) -> list[tuple[int, ...]]:
    return [tuple(rng.choice(lengths) for _ in range(rng.randint(1, 3))) for _ in range(count)]


def fill(arm: Arm, rng: random.Random, wanted: list[tuple[int, ...]]) -> tuple[float, float]:
    for shape in wanted:
        arm.request(shape)
    return (arm.refused or [arm.manager.utilization()])[0], arm.manager.utilization()


def churn(arm: Arm, rng: random.Random, wanted: list[tuple[int, ...]]) -> tuple[float, float]:
    first = []
    for shape in wanted:
        before = len(arm.refused)
        while arm.request(shape) is None:
            arm.release(rng.choice(arm.live))
        first += arm.refused[before : before + 1]
    return statistics.mean(first), statistics.median(first)


def load(arm: Arm, rng: random.Random, wanted: list[tuple[int, ...]], span: int = 100) -> tuple[float, float]:
    """`span`: how many requests come while a slice lives, on average."""
    ends: list[tuple[float, int, Slice]] = []
    used, granted = [], 0
    for now, shape in enumerate(wanted):
        life = rng.expovariate(1 / span)
        while ends and ends[0][0] <= now:
            arm.release(heapq.heappop(ends)[2])
        if (slice := arm.request(shape)) is not None:
            heapq.heappush(ends, (now + life, slice.number, slice))
            granted += slice.size
        if now >= len(wanted) // 5:
            used.append(arm.manager.utilization())
    return statistics.mean(used), granted / sum(map(math.prod, wanted))


def replacing(island: Island, rounds: int) -> str:
    """What it takes to place slices again: of a failed device on an island in use by half, and of one that leaves."""
    rng, other = random.Random(0), Island("other", island.shape, island.wrapped)
    arm = Arm(island, Grid)
    for shape in shapes(rng, LENGTHS["powers"], 1000):
        if arm.manager.utilization() < 0.5:
            arm.request(shape)
    seconds, lost = [], 0
    for _ in range(rounds):
        failed = rng.choice(rng.choice(arm.live).devices)
        begin = time.thread_time()
        arm.manager.fail(island.name, [failed])
        seconds.append(time.thread_time() - begin)
        lost += any(s.lost for s in arm.live)
        arm.manager.restore(island.name, [failed])
    arm.manager.add(other)
    begin = time.thread_time()
    arm.manager.remove(island.name)
    left = time.thread_time() - begin
    lost += sum(bool(s.lost) for s in arm.live)
    each = f"median {statistics.median(seconds) * 1e3:.2f} ms, most {max(seconds) * 1e3:.2f} ms"
    return (
        f"{rounds} failures of a device in use, one at a time: {each}; an island with {len(arm.live)} slices leaves:"
        f" {left * 1e3:.0f} ms; slices lost: {lost}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", default="16x16x8")
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--span", type=int, default=100, help="requests that come while a slice lives (load)")
    args = parser.parse_args()
    shape = tuple(map(int, args.shape.split("x")))
    island = Island("pod", shape, (True,) * len(shape))
    streams: dict[str, Stream] = {"fill": fill, "churn": churn, "load": functools.partial(load, span=args.span)}
    rows = []
    for lengths, stream in ((a, b) for a in LENGTHS for b in streams):
        arms = {"best fit": Grid, "least surface": LeastSurface, "first fit": FirstFit}
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in arms}
        seconds: dict[str, list[float]] = {name: [] for name in arms}
        overlaps = dict.fromkeys(arms, 0)
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            wanted = shapes(random.Random(seed), LENGTHS[lengths], args.requests)
            for name, grid in arms.items():
                arm = Arm(island, grid)
                found[name].append(streams[stream](arm, random.Random(seed), wanted))
                seconds[name] += arm.seconds
                overlaps[name] += arm.overlaps
        for name in arms:
            first, second = zip(*found[name], strict=True)
            shares = [f"{statistics.mean(v):.1%} ({min(v):.1%})" for v in (first, second)]
            times = [f"{np.quantile(seconds[name], q) * 1e3:.2f}" for q in (0.5, 0.99)]
            rows.append([lengths, stream, name, str(len(seconds[name])), str(overlaps[name]), *shares, *times])
    header = [
        "axes",
        "stream",
        "placed by",
        "requests",
        "overlaps",
        "first share",
        "second share",
        "median ms",
        "p99 ms",
    ]
    print(f"{args.shape} torus, {args.seeds} seeds of {args.requests} meshes; shares: mean over seeds (least)")
    print("fill: in use at the first refusal, and at the end; churn: mean and median of in use at a refusal;")
    print("load: mean in use, and devices granted of those requested")
    print(table(header, rows, right=range(3, 9)))
    print(replacing(island, 100))


if __name__ == "__main__":
    main()
