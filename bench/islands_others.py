"""Figure 5 of Pathways, the arms that are not in `bench.islands`: multi-controller JAX, and plain Ray actors.

    python -m bench.islands_others [pcg multi-controller ray] [--seconds 2] [--out DIR]

A scalar sum over two devices and an addition: one computation a call (O), a chain of 128 in one program (C), 128 in one
computation (F).

- pcg: an island of two devices of this process.
- multi-controller: two processes with a device each (`jax.distributed`, gloo), which call the same jitted function.
- ray: two actors with a device each, which call a jitted addition of their own, and exchange nothing; C is a chain of
  calls whose results go from one to the other.  Left out, with a line that says so, where Ray is not installed.

Printed: computations a second.  Every process has as many cores as the machine gives it: ratios count.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from bench import islands

CHAIN = islands.CHAIN
#: Seconds that processes may take beside what is measured.
PATIENCE = 300.0


def pcg_rows(seconds: float) -> islands.Result:
    """One controller, one island of two devices."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import PartitionSpec as P

    import pcg

    with pcg.Controller({"a": jax.devices()[:2]}) as controller:
        client = controller.client()
        slice = client.request({"x": 2})
        one = slice.function(islands.add, in_shardings=(P("x"),))
        many = slice.function(_many(islands.add), in_shardings=(P("x"),))
        x = one(jnp.zeros(8))
        arms = {"O": (one, 1), "C": (client.program(_many(one)), CHAIN), "F": (many, CHAIN)}
        return _rates("pcg", arms, x, seconds)


def multi_controller_rows(seconds: float) -> islands.Result:
    """Two processes that call the same functions."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    variables = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=1"}
    command = [sys.executable, "-m", "bench.islands_others", "--seconds", str(seconds), "--job", f"localhost:{port}"]
    processes = [
        subprocess.Popen([*command, "--rank", str(r)], env=variables, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for r in range(2)
    ]
    try:
        text = processes[0].communicate(timeout=PATIENCE + 3 * seconds)[0].decode()
    finally:
        for p in processes:
            p.kill()  # jax ignores the polite signal
    lines = [line for line in text.splitlines() if line.startswith("[{")]
    if not lines:
        raise SystemExit(f"multi-controller: no result from process 0: {text[-500:]}")
    return list(json.loads(lines[-1]))


def _job(address: str, rank: int, seconds: float) -> None:
    """One of the processes of the multi-controller arm."""
    import jax
    import numpy as np
    from jax.sharding import Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(address, 2, rank, initialization_timeout=60)
    sharding = NamedSharding(Mesh(np.array(jax.devices()), ("x",)), P("x"))
    layout = {"in_shardings": sharding, "out_shardings": sharding}
    x = jax.make_array_from_process_local_data(sharding, np.zeros(4, np.float32))
    rows: islands.Result = []
    for arm, function, each in (("O", islands.add, 1), ("F", _many(islands.add), CHAIN)):
        run = jax.jit(function, **layout)
        # Processes must do the same number of calls, whatever their clocks say.
        calls, passed = 4, 0.0
        while passed < seconds:
            x = run(run(x)).block_until_ready()
            start = time.perf_counter()
            for n in range(calls):
                x = run(x)
                if n % (64 // each or 1) == 0:
                    x.block_until_ready()
            x.block_until_ready()
            passed = _same(time.perf_counter() - start)
            rows = [r for r in rows if r["arm"] != arm]
            rows.append({"system": "multi-controller", "arm": arm, "per_second": each * calls / passed})
            calls *= 2
    if rank == 0:
        print(json.dumps(rows), flush=True)
    os._exit(0)


def _same(value: float) -> float:
    """What process 0 has."""
    import numpy as np
    from jax.experimental import multihost_utils

    return float(multihost_utils.broadcast_one_to_all(np.float32(value)))


def ray_rows(seconds: float) -> islands.Result:
    """Two actors, driven by this process."""
    try:
        import ray
    except ImportError:
        print("ray: left out, it is not installed (pip install ray)")
        return []
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        actor = ray.remote(_Actor)
        actors = [actor.remote() for _ in range(2)]
        ray.get([a.one.remote(0.0) for a in actors], timeout=PATIENCE)

        def gang() -> None:
            ray.get([a.one.remote(0.0) for a in actors], timeout=PATIENCE)

        def chain() -> None:
            x: Any = 0.0
            for i in range(CHAIN):
                x = actors[i % 2].one.remote(x)
            ray.get(x, timeout=PATIENCE)

        def fused() -> None:
            ray.get([a.many.remote(0.0) for a in actors], timeout=PATIENCE)

        rows = []
        for arm, call, each in (("O", gang, 1), ("C", chain, CHAIN), ("F", fused, CHAIN)):
            call()
            count, start = 0, time.perf_counter()
            while (passed := time.perf_counter() - start) < seconds:
                call()
                count += each
            rows.append({"system": "ray", "arm": arm, "per_second": count / passed})
        return rows
    finally:
        ray.shutdown()


class _Actor:
    """A process with a device."""

    def __init__(self) -> None:
        import jax
        import numpy as np

        self._one, self._many = jax.jit(lambda x: x + 1), jax.jit(_many(lambda x: x + 1))
        self._host = np.asarray

    def one(self, x: Any) -> Any:
        return self._host(self._one(x))

    def many(self, x: Any) -> Any:
        return self._host(self._many(x))


def _many(one: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def many(x: Any) -> Any:
        for _ in range(CHAIN):
            x = one(x)
        return x

    return many


def _rates(system: str, arms: dict[str, tuple[Any, int]], x: Any, seconds: float) -> islands.Result:
    rows = []
    for name, (call, each) in arms.items():
        call(call(x)).block_until_ready()
        rows.append({"system": system, "arm": name, "per_second": islands.rate(call, x, each, seconds)})
    return rows


ARMS = {"pcg": pcg_rows, "multi-controller": multi_controller_rows, "ray": ray_rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("systems", nargs="*", default=list(ARMS), help="which; default all")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each arm (default 2)")
    parser.add_argument("--out", type=Path, help="folder for JSON and plots")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.job:
        _job(args.job, args.rank, args.seconds)
    if unknown := [s for s in args.systems if s not in ARMS]:
        parser.error(f"system {unknown[0]!r}; allowed: {', '.join(ARMS)}")
    rows = [row for name in args.systems for row in ARMS[name](args.seconds)]
    if rows:
        islands.save("others", rows, args.out, "per_second")


if __name__ == "__main__":
    main()
