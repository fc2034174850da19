"""Islands whose devices are in several processes, each a group of `jax.distributed`: shards go between processes."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import pcg
from pcg.controller.errors import ResourceError
from pcg.controller.faults import IslandFailed, NodeError, RunError
from pcg.driver.program import ProgramError
from pcg.runtime.islands.process_backend import ProcessBackend
from pcg.runtime.islands.ray_backend import RayBackend

#: Seconds until a fault must be known.
SOON = 5.0


@pytest.fixture(scope="module", params=["processes", "ray"])
def started(request: pytest.FixtureRequest) -> Iterator[pcg.Controller]:
    """Two islands of two processes with a device each, and one of one process with four devices."""
    if request.param == "ray":
        request.getfixturevalue("ray_cluster")
    hosts = {"left": 2, "right": 2}
    backend = (ProcessBackend if request.param == "processes" else RayBackend)(deadline=60, hosts=hosts)
    with pcg.Controller({"left": 2, "right": 2, "big": 4}, backend=backend) as controller:
        yield controller


@pytest.fixture
def controller(started: pcg.Controller) -> Iterator[pcg.Controller]:
    yield started
    for client in list(started.clients.values()):
        client.close()
    assert {i.name for i in started.resources.islands} == {"left", "right", "big"}


def test_training_on_islands_of_several_processes(controller: pcg.Controller) -> None:
    """Sums over devices of both processes; values, gradients and results from process to process."""
    client = controller.client()
    left, right = client.request({"m": 2}, island="left"), client.request({"d": 2}, island="right")
    encode = left.function(lambda w, x: jnp.tanh(x @ w), in_shardings=(P(None, "m"), P()))
    loss = right.function(lambda v, h: jnp.mean((h @ v) ** 2), in_shardings=(P(), P("d")))

    def step(encode: Any, loss: Any, w: Any, v: Any, x: Any) -> Any:
        value, (dw, dv) = jax.value_and_grad(lambda w, v: loss(v, encode(w, x)), (0, 1))(w, v)
        return value, w - 0.5 * dw, v - 0.5 * dv

    rng = np.random.default_rng(0)
    w, v, x = (jnp.asarray(rng.normal(size=s), jnp.float32) for s in ((8, 8), (8, 4), (16, 8)))
    single = jax.jit(lambda *a: step(encode.__wrapped__, loss.__wrapped__, *a))
    program = client.program(lambda *a: step(encode, loss, *a), donate_argnums=(0, 1))
    found, wanted = [], []
    state, at = (w, v), (w, v)
    before = {n: dict(i.messages) for n, i in controller.backend.workers.items()}
    for _ in range(5):
        value, *state = program(*state, x)
        found.append(value)
    for _ in range(5):
        value, *at = single(*at, x)
        wanted.append(float(value))
    np.testing.assert_allclose([float(f) for f in found], wanted, rtol=1e-5)
    for future, array in zip(state, at, strict=True):
        np.testing.assert_allclose(future.result(), array, rtol=1e-5, atol=1e-6)
    for name in ("left", "right"):
        runs = controller.backend.workers[name].messages["run"] - before[name].get("run", 0)
        assert runs == 5 and controller.backend.workers[name].processes == 2


@pytest.mark.parametrize("case", ["same", "fewer", "more", "to one process", "from one process"])
def test_layouts_from_processes_to_processes(controller: pcg.Controller, case: str) -> None:
    client = controller.client()
    shapes = {
        "same": ("left", {"x": 2}, "right", {"z": 2}), "fewer": ("left", {"x": 2}, "right", {"z": 1}),
        "more": ("left", {"x": 1}, "right", {"z": 2}), "to one process": ("left", {"x": 2}, "big", {"z": 2, "w": 2}),
        "from one process": ("big", {"x": 2, "y": 2}, "right", {"z": 2}),
    }  # fmt: skip
    near, one, far, other = shapes[case]
    x = jnp.arange(64.0).reshape(8, 8)
    first, second = client.request(one, island=near), client.request(other, island=far)
    specs = [[P(), P(next(iter(shape))), P(None, list(shape)[-1])] for shape in (one, other)]
    for mine in specs[0]:
        for theirs in specs[1]:
            f = first.function(lambda x: x + 1, in_shardings=(mine,))
            g = second.function(lambda x: x * 2, in_shardings=(theirs,))
            found = client.program(lambda x, f=f, g=g: g(f(x)))(x)
            np.testing.assert_array_equal(found.result(), (np.asarray(x) + 1) * 2)


def test_slices_that_one_of_the_processes_has(controller: pcg.Controller) -> None:
    """The other one does nothing for them, and copies within the island go from process to process."""
    client = controller.client()
    one, two = client.request(1, island="left"), client.request(1, island="left")
    far = client.request({"y": 2}, island="right")
    assert (one.device_numbers, two.device_numbers) == ((0,), (1,))
    f, g, h = (s.function(lambda x, i=i: x * 10 + i) for i, s in enumerate((one, two, far)))
    program = client.program(lambda x: (g(f(x)), h(g(f(x))), f(g(x)), f(x)))
    found = [x.result() for x in program(np.ones(4, np.float32))]
    assert [x[0] for x in found] == [101, 1012, 110, 10]
    assert f(g(f(jnp.ones(4)))).result()[0] == 1010  # three programs
    split, draw = one.function(lambda k: jax.random.split(k)[0]), two.function(lambda k: jax.random.normal(k, (4,)))
    key = jax.random.key(5)
    drawn, own = client.program(lambda k: (draw(split(k)), split(k)))(key)
    np.testing.assert_allclose(drawn, jax.random.normal(jax.random.split(key)[0], (4,)), rtol=1e-6)
    assert (jax.random.key_data(own.array()) == jax.random.key_data(jax.random.split(key)[0])).all()


def test_an_error_in_one_process_reaches_all(controller: pcg.Controller) -> None:
    client = controller.client()
    one, two = client.request(1, island="left"), client.request(1, island="left")
    far = client.request({"y": 2}, island="right")
    fails = one.function(lambda x: jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct((8,), jnp.float32))(x))
    near, other = two.function(lambda x: x * 2), far.function(lambda x: x.sum() + x)
    results = client.program(lambda x: (fails(x), near(fails(x)), other(fails(x)), other(x)))(jnp.ones(8))
    with pytest.raises(NodeError, match="no_such_target"):
        results[0].result()
    for lost in results[1:3]:
        with pytest.raises(RunError, match="no_such_target"):
            lost.result()
    assert (results[3].result() == 9).all()


def test_an_island_is_dead_when_one_of_its_processes_is(controller: pcg.Controller) -> None:
    """The others go with it; it is started again with all."""
    client = controller.client()
    left, right = client.request({"x": 2}, island="left"), client.request({"y": 2}, island="right")
    f, g = (s.function(lambda x: x + x.sum(), in_shardings=(P(s.mesh.names[0]),)) for s in (left, right))
    both = client.program(lambda x: g(f(x)))
    kept = g(jnp.ones(4))
    assert (both(jnp.ones(4)).result() == 25).all()
    backend = controller.backend
    pids = backend.workers["left"].pids
    x = f(jnp.ones(4))
    under_way = [both(x) for _ in range(3)]
    os.kill(pids[1], signal.SIGKILL)
    start = time.monotonic()
    with pytest.raises(IslandFailed, match="island left failed"):
        with contextlib.suppress(ResourceError):  # the slice has no devices any more
            for _ in range(100):
                x = f(x)
        x.result()
    for lost in under_way:
        try:  # on the other island; what was there before may be well
            assert (lost.result() == 125).all()
        except RunError:
            pass
    assert time.monotonic() - start < 4 * SOON
    with pytest.raises(ProcessLookupError):
        while time.monotonic() - start < 4 * SOON:
            os.kill(pids[0], 0)
            time.sleep(0.01)
    controller.restart_island("left")
    if "right" not in {i.name for i in controller.resources.islands}:
        controller.restart_island("right")
    else:
        assert (g(kept).result() == 25).all()
    assert (both(jnp.ones(4)).result() == 25).all()


def test_devices_that_cannot_be_divided() -> None:
    with pytest.raises(ValueError, match="island a: 2 processes for 3 devices; allowed: a divisor of their number"):
        pcg.Controller({"a": 3}, backend=ProcessBackend(hosts=2))


def test_rows_are_exchanged_on_islands_of_one_process(controller: pcg.Controller) -> None:
    """What is before an exchange may be on islands of several; what waits for its rows may not."""
    client = controller.client()
    left, right = client.request({"m": 2}, island="left"), client.request({"d": 2}, island="right")
    tokens, experts = client.request({"t": 2}, island="big"), client.request({"e": 2}, island="big")
    encode = left.function(lambda x: x + 1, in_shardings=(P("m"),))
    apply = experts.function(lambda rows: 2 * rows)
    total = right.function(jnp.sum)
    x, expert = jnp.arange(24.0).reshape(8, 3), jnp.asarray([1, 0, 1, 1, 0, -1, 1, 0])

    def mixture(x: Any, expert: Any) -> Any:
        routed = tokens.exchange(encode(x), expert, experts)
        return routed.back(apply(routed.rows))

    found = client.program(mixture)(x, expert)
    np.testing.assert_array_equal(np.asarray(found), np.where(np.asarray(expert)[:, None] < 0, 0, 2 * (x + 1)))
    refused = {
        "right": lambda x, expert: total(mixture(x, expert)),
        "left": lambda x, expert: left.exchange(x, expert, experts).rows,
    }
    for island, program in refused.items():
        wanted = f"island {island}, which waits for exchanged rows, is of 2 processes; allowed: one"
        with pytest.raises(ProgramError, match=wanted):
            client.program(program)(x, expert)
