"""Two islands train a model together: on this machine, in processes of it, or on the machines of a Ray cluster.

    python -m examples.islands_on_ray [--backend processes] [--devices 1] [--hosts 1] [--platform cpu]

An encoder is on one island and the loss on the other; each has `--devices` devices, divided among `--hosts` processes.
"""

from __future__ import annotations

import argparse

import jax
import jax.numpy as jnp
import numpy as np

import pcg
from pcg.runtime.islands.process_backend import ProcessBackend
from pcg.runtime.islands.ray_backend import RayBackend


def backend_of(own: argparse.Namespace) -> ProcessBackend | RayBackend:
    if own.backend == "processes":
        return ProcessBackend(hosts=own.hosts, platform=own.platform)
    return RayBackend(hosts=own.hosts, platform=own.platform, strategy="SPREAD")


def train(controller: pcg.Controller, steps: int) -> list[float]:
    """Losses of some steps."""
    client = controller.client("trainer")
    left, right = client.request(controller.resources.islands[0].size, island="left"), client.request(1, island="right")
    encode = left.function(lambda w, x: jnp.tanh(x @ w))
    loss = right.function(lambda v, h: jnp.mean((h @ v) ** 2))

    @client.program
    def step(w, v, x):
        value, (dw, dv) = jax.value_and_grad(lambda w, v: loss(v, encode(w, x)), (0, 1))(w, v)
        return value, w - 0.5 * dw, v - 0.5 * dv

    rng = np.random.default_rng(0)
    w, v, x = (rng.normal(size=shape).astype(np.float32) for shape in ((8, 16), (16, 4), (32, 8)))
    losses = []
    for _ in range(steps):
        value, w, v = step(w, v, x)
        losses.append(value)
    return [float(value) for value in losses]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=("processes", "ray"), default="ray")
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--platform", default="cpu")
    own = parser.parse_args()
    islands = {"left": own.devices, "right": own.devices}
    with pcg.Controller(islands, backend=backend_of(own)) as controller:
        losses = train(controller, 5)
        print("losses", *(f"{value:.4f}" for value in losses))
        for name, island in controller.backend.workers.items():
            print(name, *(f"process {p} at {a}" for p, a in zip(island.pids, island.addresses, strict=True)))


if __name__ == "__main__":
    main()
