"""One process of a multi-controller job of two with a device each: `python multicontroller.py RANK PORT OUT`.

Writes what it computed, and the errors that it got, as JSON.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def step(w: Any, x: Any, y: Any) -> Any:
    def loss(w: Any) -> Any:
        return jnp.mean((jnp.tanh(x @ w["a"]) @ w["b"] - y) ** 2)

    value, grads = jax.value_and_grad(loss)(w)
    return value, jax.tree.map(lambda p, g: p - 0.1 * g, w, grads)


def noisy(key: Any, x: Any) -> Any:
    """Uses a random key and an array that it closes over."""
    return jax.random.normal(key, x.shape) + x @ _SQUARE


def inputs() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    shapes = (16, 32), (32, 8), (64, 16), (64, 8)
    a, b, x, y = (rng.normal(size=s).astype(np.float32) / s[0] ** 0.5 for s in shapes)
    return {"a": a, "b": b}, x, y


_SQUARE = np.arange(256, dtype=np.float32).reshape(16, 16) / 256


def _main(rank: int, port: str, out: str) -> None:
    import pcg
    from pcg.api import compiled
    from pcg.runtime import agreement

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"localhost:{port}", 2, rank, initialization_timeout=60)
    mesh = Mesh(np.array(jax.devices()), ("x",))
    found: dict[str, Any] = {}
    w, x, y = inputs()

    def attempt(name: str, call: Callable[[], Any]) -> None:
        try:
            found[name] = call()
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"

    def trained(call: Any, w: Any, x: Any, y: Any) -> list[float]:
        losses = []
        for _ in range(5):
            value, w = call(w, x, y)
            losses.append(float(value))
        return [*losses, *(float(jnp.sum(v * v)) for v in jax.tree.leaves(w))]

    def ours(a: Any, spec: P) -> Any:
        """An array of both processes, of which each passes what it has of it."""
        index = NamedSharding(mesh, spec).addressable_devices_indices_map(a.shape)[jax.local_devices()[0]]
        return jax.make_array_from_process_local_data(NamedSharding(mesh, spec), a[index])

    program = pcg.compile(step, mesh)
    attempt("host", lambda: trained(program, w, x, y))
    found["plan"] = program.plan.to_json()
    attempt("local arrays", lambda: trained(program, w, jnp.asarray(x), jnp.asarray(y)))
    attempt("global", lambda: trained(program, w, ours(x, P("x")), ours(y, P("x"))))
    attempt("redistributed", lambda: trained(program, w, ours(x, P(None, "x")), ours(y, P(None, "x"))))
    split = ({"a": P(None, "x"), "b": P("x")}, None, None)
    attempt("split", lambda: trained(pcg.compile(step, mesh, in_shardings=split), w, x, y))
    random = pcg.compile(noisy, mesh, in_shardings=(None, P("x")))
    attempt("random", lambda: float(jnp.sum(random(jax.random.key(0), x) ** 2)))

    def planned_otherwise(p: Any, m: Any, options: Any, **more: Any) -> Any:
        if rank and isinstance(options.strategy, str):
            options = dataclasses.replace(options, strategy="megatron", search={})
        return own(p, m, options, **more)

    own, compiled.compile_program = compiled.compile_program, planned_otherwise
    searched = pcg.compile(step, mesh, strategy="search")
    attempt("another plan", lambda: trained(searched, w, x, y))
    found["agreed plan"] = searched.plan.to_json(program=False)
    compiled.compile_program = own

    one, two = (lambda z: z + 1), (lambda z: z + 2)
    rotated = Mesh(np.array(jax.devices()[::-1]), ("x",))
    rows = {"in_shardings": (P("x"),)}
    attempt("body", lambda: pcg.compile(two if rank else one, mesh)(x))
    attempt("types", lambda: pcg.compile(one, mesh)(x if rank else y))
    attempt("options", lambda: pcg.compile(one, mesh, **(rows if rank else {}))(x))
    attempt("devices", lambda: pcg.compile(one, mesh if rank else rotated)(x))
    attempt("first fails", lambda: pcg.compile(one, mesh, **rows)(x if rank else x[:1]))
    attempt("second fails", lambda: pcg.compile(one, mesh, **rows)(x[:1] if rank else x))
    attempt("on one", lambda: pcg.compile(one, mesh, **rows)(jax.device_put(x, jax.local_devices()[0])))
    attempt("no device", lambda: pcg.compile(one, 1)(x).shape)
    attempt("pipeline", lambda: pcg.compile(step, {"stage": 2}, pipeline=2))
    agreement.DEADLINE = 1.0
    attempt("absent", lambda: pcg.compile(one, mesh)(x) if rank else None)
    client = jax_distributed.global_state.client
    client.wait_at_barrier("absent", 30_000)
    attempt("behind", lambda: None if rank else pcg.compile(one, mesh)(x))
    agreement.DEADLINE = 30.0
    attempt("again", lambda: float(jnp.sum(pcg.compile(one, mesh)(x))))
    Path(out).write_text(json.dumps(found))
    client.wait_at_barrier("end", 30_000)
    jax.distributed.shutdown()


if __name__ == "__main__":
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=1"
    from jax._src import distributed as jax_distributed

    _main(int(sys.argv[1]), *sys.argv[2:4])
