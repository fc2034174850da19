"""Islands that are actors of Ray: where there is room for them, who may connect, and what must be the same everywhere."""

from __future__ import annotations

import os
import threading
from importlib import metadata
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import pcg
from pcg.controller.errors import ResourceError
from pcg.runtime.islands.ray_actor import IslandActor, versions
from pcg.runtime.islands.ray_backend import RayBackend


def test_an_island_gets_all_of_its_processes_or_none(ray_cluster: str) -> None:
    """What is missing is said, and what others could have is free again."""
    for options, what in [
        ({"cpus": 1e6}, r"island a needs 1 process with CPU 1e\+06 each; the cluster of 1 node has CPU 64 \(\d+ free\): no node has enough CPU"),
        ({"platform": "gpu"}, r"island a needs 1 process with CPU 1, GPU 2 each; .* GPU 0 \(0 free\): no node has enough GPU"),
        ({"resources": {"room": 2}, "hosts": {"a": 2}}, r"island a needs 2 processes with CPU 1, room 2 each; .* room 2 \(2 free\): too little room is free \(waited 0.2 s\)"),
        ({"resources": {"rack7": 1}}, r"no node has enough rack7"),
        ({"hosts": 2, "strategy": "STRICT_SPREAD"}, r"what is free is not on nodes as STRICT_SPREAD wants it"),
    ]:  # fmt: skip
        with pytest.raises(ResourceError, match=what):
            pcg.Controller({"a": 2}, backend=RayBackend(patience=0.2, **options))
    backend = RayBackend(resources={"room": 1}, patience=2)
    with pcg.Controller({"a": 1, "b": 1}, backend=backend) as controller:
        with pytest.raises(ResourceError, match="island c needs .* too little room is free"):
            controller.add_island("c", 1)
        controller.remove_island("a")
        controller.add_island("c", 1)  # there is room now
        f = controller.client().request(1, island="c").function(lambda x: x + 1)
        assert (f(jnp.zeros(2)).result() == 1).all()


def test_islands_are_reached_where_their_machines_are(ray_cluster: str) -> None:
    """Not at addresses that only this machine understands, and without devices of this process."""
    import ray

    here = ray.util.get_node_ip_address()
    with pcg.Controller({"a": 1, "b": 2}, backend="ray") as controller:
        client = controller.client()
        f, g = (client.request(n, island=i).function(lambda x: x + x.sum()) for n, i in ((1, "a"), (2, "b")))
        assert (client.program(lambda x: g(f(x)))(jnp.ones(2)).result() == 9).all()
        workers = controller.backend.workers.values()
        assert [a.rpartition(":")[0] for w in workers for a in w.addresses] == [here, here]
        assert os.getpid() not in {pid for w in workers for pid in w.pids}


def test_processes_have_what_the_controller_has(monkeypatch: pytest.MonkeyPatch, ray_cluster: str) -> None:
    role: Any = ("a", 0, 1)
    with pytest.raises(RuntimeError, match=rf"has pcg .*, jax {jax.__version__}, .*; the controller has .* jax 0.1,"):
        IslandActor().serve(("127.0.0.1", 1), b"", "a", role, {}, {**versions(), "jax": "0.1"})
    with pytest.raises(RuntimeError, match="jax was imported before the island's devices were chosen"):
        IslandActor().serve(("127.0.0.1", 1), b"", "a", role, {}, versions())
    monkeypatch.setattr("pcg.runtime.islands.ray_backend.versions", lambda: {"jax": "0.1"})
    with pcg.Controller({"a": 1}, backend="ray") as controller:
        f = controller.client().request(1).function(lambda x: x + 1)
        with pytest.raises(pcg.controller.faults.IslandFailed, match=f"its actor failed: node .* jax {metadata.version('jax')}"):
            f(jnp.zeros(2)).result()


def test_what_is_wrong_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="strategy 'NEAR'; allowed: PACK, SPREAD, STRICT_PACK, STRICT_SPREAD"):
        RayBackend(strategy="NEAR")
    with pytest.raises(ResourceError, match="an island of 2 devices; allowed: a list of devices, and with backend='proc"):
        pcg.Controller({"a": 2})
    with monkeypatch.context() as patched:
        patched.setitem(__import__("sys").modules, "ray", None)
        with pytest.raises(ImportError, match=r"backend='ray' needs ray: pip install 'pcg\[ray\]'"):
            RayBackend()


def test_an_actor_that_was_killed_while_it_starts(ray_cluster: str) -> None:
    import ray

    with pcg.Controller({"a": 1}, backend=RayBackend()) as controller:
        f = controller.client().request(1).function(lambda x: x + 1)
        (process,) = controller.backend.launcher._islands["a"][1]
        threading.Timer(0.01, lambda: ray.kill(process._actor)).start()
        with pytest.raises((pcg.controller.faults.IslandFailed, ResourceError)):
            f(jnp.zeros(2)).result()
            f(jnp.zeros(2)).result()
        controller.restart_island("a")
        assert (f(jnp.zeros(2)).result() == 1).all()
