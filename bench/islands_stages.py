"""Parallel against sequential dispatch (figure 7 of Pathways) over islands that are processes.

    python -m bench.islands_stages [--stages 1 2 4 8 16] [--host-work 1.0] [--seconds 2] [--chained] [--out DIR]

A program has a small addition on each of several islands; a client is four programs ahead.  Before an island puts its
part into the queue of its device it sleeps for `--host-work` milliseconds (see `bench.islands_worker`): the work of
preparing a computation on a host, of which this machine has only one.  In parallel all islands are told of a run at
once; in sequence one is told when those before it have put their parts into their queues.  `--chained`: each island
adds to what the one before has sent.  Printed: computations a second, in rounds of both arms, medians.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections import deque
from pathlib import Path
from typing import Any

import jax
import numpy as np

import pcg
from bench import islands
from pcg.runtime.islands.process_backend import ProcessBackend, ProcessLauncher

#: Programs that the client is ahead of those that are done.
AHEAD = 4


class Arm:
    """A program of a stage per island, dispatched in one way."""

    def __init__(self, stages: int, dispatch: str, chained: bool) -> None:
        # The devices of islands are those of their processes; here they are stand-ins.
        own = {f"island{i}": jax.devices()[:1] for i in range(stages)}
        self.controller = pcg.Controller(own, backend=ProcessBackend(dispatch))
        client = self.controller.client()
        adds = [client.request(1, island=name).function(lambda x: x + 1) for name in own]
        self.stages = stages

        def program(xs: Any) -> Any:
            if not chained:
                return [add(x) for add, x in zip(adds, xs, strict=True)]
            x = xs[0]
            for add in adds:
                x = add(x)
            return [x]

        self.run = client.program(program)
        self.inputs = [add(np.zeros(2, np.float32)) for add in adds]
        for _ in range(3):
            self.wait(self.run(self.inputs))

    @staticmethod
    def wait(futures: Any) -> None:
        for f in futures:
            f.block_until_ready()

    def rate(self, seconds: float) -> float:
        """Computations a second."""
        ahead = deque(self.run(self.inputs) for _ in range(AHEAD))
        self.wait(ahead[-1])
        start, count = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            ahead.append(self.run(self.inputs))
            self.wait(ahead.popleft())
            count += 1
        self.wait(ahead[-1])
        return self.stages * count / (time.perf_counter() - start)


def stages_rows(stages: list[int], milliseconds: float, seconds: float, chained: bool, rounds: int) -> islands.Result:
    os.environ["ISLANDS_HOST_WORK"] = str(milliseconds / 1e3)
    ProcessLauncher.module = "bench.islands_worker"
    rows: islands.Result = []
    for count in stages:
        arms = {dispatch: Arm(count, dispatch, chained) for dispatch in ("parallel", "sequential")}
        rates: dict[str, list[float]] = {name: [] for name in arms}
        try:
            for _ in range(rounds):
                for name, arm in arms.items():
                    rates[name].append(arm.rate(seconds / rounds))
        finally:
            for arm in arms.values():
                arm.controller.close()
        parallel, sequential = (statistics.median(own) for own in rates.values())
        rows.append({
            "stages": count, "host_work_ms": str(milliseconds), "chained": str(chained), "parallel_per_s": parallel,
            "sequential_per_s": sequential, "ratio": parallel / sequential,
        })  # fmt: skip
        print(*(f"{k} {v:,.2f}" if isinstance(v, float) else f"{k} {v}" for k, v in rows[-1].items()), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stages", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--host-work", type=float, default=1.0, help="milliseconds of each island and run (default 1)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each arm (default 2)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--chained", action="store_true")
    parser.add_argument("--out", type=Path, help="folder for JSON and plots")
    args = parser.parse_args()
    rows = stages_rows(args.stages, args.host_work, args.seconds, args.chained, args.rounds)
    islands.save("stages", rows, args.out, "ratio")


if __name__ == "__main__":
    main()
