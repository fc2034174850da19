"""Four clients with mixed programs on two islands for some minutes: do bytes, handles and memory stay flat?

    python -m bench.islands_soak [--minutes 10] [--backend embedded|processes] [--out FILE]

One client trains a pipeline over both islands, one a model on a single slice, one serves requests of changing size in
programs of one node, one runs programs that donate, drop results unread and raise errors. Every few seconds a row:
runs so far, handles and bytes in the store, resident memory of all processes, errors that nobody expected. The last
lines compare the second quarter of the time with the last one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np

import pcg
from pcg.controller.faults import RunError


def layer(w: Any, x: Any) -> Any:
    return x + jnp.tanh(x @ w)


def pipeline(client: Any) -> Callable[[], None]:
    """A training step over two slices on two islands."""
    own = [client.request({"model": 2}, island=f"island{i}").function(layer) for i in range(2)]

    @client.program(donate_argnums=0)
    def step(ws: Any, x: Any) -> Any:
        loss, grads = jax.value_and_grad(lambda ws: jnp.mean(own[1](ws[1], own[0](ws[0], x)) ** 2))(ws)
        return loss, [w - 0.01 * g for w, g in zip(ws, grads, strict=True)]

    state: Any = [jnp.eye(32) / 32, jnp.eye(32) / 32]
    x = jnp.ones((8, 32))

    def run() -> None:
        nonlocal state
        loss, state = step(state, x)
        assert np.isfinite(float(loss))

    return run


def single(client: Any) -> Callable[[], None]:
    """A training step on one slice."""

    def step(w: Any, x: Any) -> Any:
        loss, grad = jax.value_and_grad(lambda w: jnp.mean(layer(w, x) ** 2))(w)
        return loss, w - 0.01 * grad

    call = client.request({"data": 2}, shared=True).function(step)
    state: Any = jnp.eye(32) / 32

    def run() -> None:
        nonlocal state
        loss, state = call(state, jnp.ones((8, 32)))
        loss.block_until_ready()

    return run


def serving(client: Any) -> Callable[[], None]:
    """Requests of four sizes."""
    call = client.request({"data": 2}, shared=True).function(layer)
    w = client.program(lambda w: call(w, w))(jnp.eye(32) / 32)
    count = 0

    def run() -> None:
        nonlocal count
        count += 1
        out = call(w, np.ones((8 * (1 + count % 4), 32), np.float32))
        if count % 3 == 0:  # else nobody reads it
            assert out.result().shape[1] == 32

    return run


def careless(client: Any) -> Callable[[], None]:
    """Donated values that are used again, results that are dropped, chains that nobody waits for."""
    add = client.request({"data": 2}, shared=True).function(lambda x: x + 1)
    give = client.program(lambda x: add(x), donate_argnums=0)

    def run() -> None:
        x = add(np.zeros(64, np.float32))
        y = give(x)
        try:
            add(x).result()
        except RunError:
            pass
        else:
            raise AssertionError("a donated value was read")
        for _ in range(5):
            y = add(y)
        y.block_until_ready()

    return run


def resident(controller: Any) -> int:
    """Bytes of memory of this process, and of those of islands."""
    pids = [os.getpid(), *(getattr(w, "pid", 0) for w in getattr(controller.backend, "workers", {}).values())]
    pages = sum(int(Path(f"/proc/{p}/statm").read_text().split()[1]) for p in pids if p)
    return pages * os.sysconf("SC_PAGE_SIZE")


def soak(minutes: float, backend: str) -> list[dict[str, Any]]:
    """Rows of what there is, every few seconds."""
    errors: list[str] = []
    counts = [0] * 4
    rows: list[dict[str, Any]] = []
    with pcg.Controller(2, backend=backend) as controller:
        work = []
        for i, make in enumerate((pipeline, single, serving, careless)):
            work.append(make(controller.client(f"c{i}", weight=1 + i)))
        end = time.monotonic() + 60 * minutes

        def loop(i: int) -> None:
            while time.monotonic() < end:
                try:
                    work[i]()
                except Exception as error:
                    errors.append(f"client {i}: {type(error).__name__}: {error}")
                counts[i] += 1

        threads = [threading.Thread(target=loop, args=(i,)) for i in range(len(work))]
        for t in threads:
            t.start()
        start = time.monotonic()
        store = controller.dispatcher.store
        while time.monotonic() < end:
            time.sleep(min(5.0, 60 * minutes / 40))
            kept = sum(e.nbytes for e in list(store.entries.values()))
            rows.append({
                "seconds": round(time.monotonic() - start), "runs": sum(counts), "handles": len(store.entries),
                "bytes": kept, "resident_mib": resident(controller) / 2**20, "errors": len(errors),
            })  # fmt: skip
            print(*(f"{k} {v:,.0f}" for k, v in rows[-1].items()), sep="  ", flush=True)
        for t in threads:
            t.join()
        for line in errors[:5]:
            print(line)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--backend", default="embedded", choices=["embedded", "processes"])
    parser.add_argument("--out", type=Path, help="JSON file")
    args = parser.parse_args()
    rows = soak(args.minutes, args.backend)
    quarter = max(len(rows) // 4, 1)
    for name in ("handles", "bytes", "resident_mib"):
        one, two = (statistics.median(r[name] for r in part) for part in (rows[quarter : 2 * quarter], rows[-quarter:]))
        print(f"{name}: {one:,.1f} in the second quarter, {two:,.1f} in the last one")
    if args.out is not None:
        args.out.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
