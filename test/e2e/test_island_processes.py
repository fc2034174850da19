"""Islands that are processes: what fails, in which order they run, what they are told, and what they keep."""

from __future__ import annotations

import functools
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.transfer import make_error_array
from jax.sharding import PartitionSpec as P

import pcg
from pcg.controller.faults import IslandFailed, NodeError, RunError
from pcg.runtime.islands.edges import _all_or_none
from pcg.runtime.islands.process_backend import ProcessBackend, ProcessLauncher
from pcg.runtime.islands.ray_backend import RayBackend
from support import unarmed as unarmed_worker

#: What is said of a process that was killed.
ENDED = {"processes": r"its process ended with signal 9\)", "ray": "its actor died: .* worker process has died"}
#: Seconds until a fault must be known.
SOON = 5.0


BACKENDS: dict[str, Any] = {"processes": ProcessBackend, "ray": RayBackend}


def two(backend: str, restarts: int = 0, **options: Any) -> pcg.Controller:
    """Two islands of two devices."""
    return pcg.Controller(2, devices=jax.devices()[:4], backend=BACKENDS[backend](**options), restarts=restarts)


@pytest.fixture(scope="module")
def started() -> Iterator[dict[str, pcg.Controller]]:
    found: dict[str, pcg.Controller] = {}
    yield found
    for made in found.values():
        made.close()


@pytest.fixture(params=["processes", pytest.param("ray", marks=pytest.mark.slow)])
def backend(request: pytest.FixtureRequest) -> str:
    if request.param == "ray":
        request.getfixturevalue("ray_cluster")
    return str(request.param)


@pytest.fixture
def controller(backend: str, started: dict[str, pcg.Controller]) -> Iterator[pcg.Controller]:
    if backend not in started:
        started[backend] = two(backend)
    made = started[backend]
    yield made
    for client in list(made.clients.values()):
        client.close()
    assert {i.name for i in made.resources.islands} == {"island0", "island1"}


def until(wanted: Callable[[], bool]) -> None:
    """Wait for something, for `SOON` seconds at most."""
    end = time.monotonic() + SOON
    while not wanted():
        assert time.monotonic() < end
        time.sleep(0.005)


def on_both(client: pcg.Client, step: Any) -> Any:
    """A program of two stages, one on each island; shares devices with others."""
    slices = [client.request({"x": 2}, island=f"island{i}", shared=True) for i in range(2)]
    first, second = (s.function(step, in_shardings=(P("x"),)) for s in slices)
    return client.program(lambda x: second(first(x)))


# -- faults ------------------------------------------------------------------------------------------


def test_a_pipelined_step_goes_on_after_an_island_was_killed(backend: str) -> None:
    """From what was fetched last; results of the run that it was on are lost, with one typed error."""

    def step(params: Any, x: Any) -> Any:
        def loss(p: Any) -> Any:
            h = x
            for w in p:
                h = jnp.tanh(h @ w)
            return jnp.mean(h**2)

        value, grads = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - 0.5 * g, params, grads), value

    rng = np.random.default_rng(0)
    params = [rng.normal(size=(8, 8)).astype(np.float32) for _ in range(4)]
    x = rng.normal(size=(16, 8)).astype(np.float32)
    wanted, at = [], params
    for _ in range(5):
        at, value = jax.jit(step)(at, x)
        wanted.append(float(value))
    with two(backend) as controller:
        client = controller.client()
        slices = [client.request({"data": 2}, island=f"island{i}") for i in range(2)]
        pipelined = pcg.compile(step, slices, pipeline={"microbatches": 4, "schedule": "1f1b"}, donate_argnums=0)
        before = controller.backend.messages.total()
        state, losses = pipelined(params, x)
        state, second = pipelined(state, x)
        found = [float(losses), float(second)]
        assert controller.backend.messages.total() - before == 2 * 2  # one for each run and island
        saved = jax.tree.map(np.asarray, state)
        under_way = [pipelined(state, x)]
        for _ in range(3):
            under_way.append(pipelined(under_way[-1][0], x))
        os.kill(controller.backend.workers["island1"].pids[0], signal.SIGKILL)
        start = time.monotonic()
        with pytest.raises(IslandFailed, match=rf"island island1 failed \({ENDED[backend]}"):
            under_way[-1][0][-1].result()
        with pytest.raises(RunError):
            under_way[-1][0][0].result()  # of the other island
        assert time.monotonic() - start < SOON
        with pytest.raises(pcg.controller.errors.ResourceError, match="has no devices: island 'island1' left"):
            pipelined(saved, x)
        del under_way, state, losses, second
        gc.collect()
        controller.dispatcher.drain()
        assert not controller.dispatcher.store.entries
        controller.restart_island("island1")
        state = saved
        for _ in range(3):
            state, value = pipelined(state, x)
            found.append(float(value))
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_training_goes_on_after_an_island_was_killed(backend: str) -> None:
    """From the parameters that were fetched last, along the same trajectory; another client notices nothing."""
    with two(backend) as controller:
        client, other = controller.client("trainer"), controller.client("other")
        left, right = client.request({"m": 2}, island="island0"), client.request({"m": 1}, island="island1")
        stays = other.request({"m": 1}, island="island1").function(lambda x: x * 3)
        encode, loss = left.function(lambda w, x: jnp.tanh(x @ w)), right.function(lambda v, h: jnp.mean((h @ v) ** 2))

        def step(encode: Any, loss: Any, w: Any, v: Any, x: Any) -> Any:
            value, (dw, dv) = jax.value_and_grad(lambda w, v: loss(v, encode(w, x)), (0, 1))(w, v)
            return value, w - 0.5 * dw, v - 0.5 * dv

        program = client.program(lambda *a: step(encode, loss, *a))
        rng = np.random.default_rng(0)
        w, v, x = (jnp.asarray(rng.normal(size=s), jnp.float32) for s in ((8, 8), (8, 4), (16, 8)))
        single = jax.jit(lambda *a: step(encode.__wrapped__, loss.__wrapped__, *a))
        wanted, at = [], (w, v)
        for _ in range(6):
            value, *at = single(*at, x)
            wanted.append(float(value))

        found = []
        state: Any = w, v
        for _ in range(3):
            value, *state = program(*state, x)
            found.append(float(value))
        saved = [f.result() for f in state]
        kept = stays(jnp.ones(4))
        under_way = [program(*state, x)]
        for _ in range(3):
            under_way.append(program(*under_way[-1][1:], x))
        os.kill(controller.backend.workers["island0"].pids[0], signal.SIGKILL)
        start = time.monotonic()
        with pytest.raises(IslandFailed, match=rf"island island0 failed \({ENDED[backend]}"):
            under_way[-1][1].result()
        with pytest.raises(RunError):
            under_way[-1][0].result()  # on the other island
        assert time.monotonic() - start < SOON
        assert (stays(kept).result() == 9).all()
        with pytest.raises(pcg.controller.errors.ResourceError, match="has no devices: island 'island0' left"):
            program(w, v, x)
        del under_way, value, state
        gc.collect()
        store = controller.dispatcher.store
        controller.dispatcher.drain()
        assert {reference() for reference in store.entries} == {kept}

        controller.restart_island("island0")
        state = saved
        for _ in range(3):
            value, *state = program(*state, x)
            found.append(float(value))
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
        assert (stays(kept).result() == 9).all()


def test_an_island_restarts_by_itself_so_often(backend: str) -> None:
    """Training goes on from the parameters that were fetched last; it only calls again."""
    with two(backend, restarts=2) as controller:
        client = controller.client()
        slice = client.request({"m": 2}, island="island0")
        step = slice.function(lambda w, x: w - 0.1 * jnp.tanh(x @ w), in_shardings=(P(None, "m"), P()))
        rng = np.random.default_rng(0)
        w, x = (rng.normal(size=(8, 8)).astype(np.float32) for _ in range(2))
        wanted = saved = w
        for n in range(6):
            wanted = np.asarray(jax.jit(step.__wrapped__)(wanted, x))
            future = step(saved, x)
            if n in (1, 4):
                before = slice.version
                os.kill(controller.backend.workers["island0"].pids[0], signal.SIGKILL)
                until(functools.partial(lambda before: slice.version != before, before))
                with pytest.raises(RunError):
                    step(future, x).result()
                future = step(saved, x)
            saved = future.result()
        np.testing.assert_allclose(saved, wanted, rtol=1e-5, atol=1e-6)
        assert not controller.failures
        os.kill(controller.backend.workers["island0"].pids[0], signal.SIGKILL)
        until(lambda: "island0" in controller.failures)
        with pytest.raises(pcg.controller.errors.ResourceError, match="has no devices: island 'island0' left"):
            step(saved, x)


def test_a_restart_that_fails_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with two("processes", restarts=1) as controller:
        slice = controller.client().request(2, island="island0")
        double = slice.function(lambda x: x * 2)
        assert double(jnp.ones(4)).result().tolist() == [2.0] * 4

        def refuse(*_: object) -> None:
            raise OSError("no processes left")

        monkeypatch.setattr(controller.backend.launcher, "launch", refuse)
        os.kill(controller.backend.workers["island0"].pids[0], signal.SIGKILL)
        until(lambda: "could not be started anew: no processes left" in controller.failures.get("island0", ""))
        with pytest.raises(pcg.controller.errors.ResourceError, match="has no devices"):
            double(jnp.ones(4))


def test_processes_that_end_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their island has failed, also where nobody has called anything on it, and is not started for ever."""
    with two("processes", restarts=2) as controller:
        same = controller.client().request(2, island="island0").function(lambda x: x)
        same(jnp.zeros(2)).result()
        started = []
        launch = ProcessLauncher.launch

        def dead(self: Any, island: str, *what: Any) -> Any:
            started.append(island)
            return launch(self, island, *what)

        monkeypatch.setattr(ProcessLauncher, "launch", dead)
        monkeypatch.setattr(ProcessLauncher, "module", "no_such_module")
        os.kill(controller.backend.workers["island0"].pids[0], signal.SIGKILL)
        until(lambda: len(started) == 2 and "status 1" in controller.failures.get("island0", ""))
        with pytest.raises(pcg.controller.errors.ResourceError, match="has no devices: island 'island0' left"):
            same(jnp.zeros(2))
        assert started == ["island0"] * 2
        assert [i.name for i in controller.resources.islands] == ["island1"]


@pytest.mark.parametrize("restarts, backend", [(-1, "processes"), (1, "embedded")])
def test_restarts_that_are_not_possible(restarts: int, backend: str) -> None:
    with pytest.raises(ValueError, match=f"restarts={restarts} with backend '{backend}'; allowed"):
        pcg.Controller(1, devices=jax.devices()[:1], backend=backend, restarts=restarts)


def test_a_node_that_fails_poisons_what_depends_on_it(controller: pcg.Controller) -> None:
    """On its island and on others, with the user's line; the rest of the program has its results."""
    client = controller.client()
    left, right = client.request(2, island="island0"), client.request(1, island="island1")
    # XLA knows no such target: the node is compiled where it runs, and fails there.
    fails = left.function(lambda x: jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct((8,), jnp.float32))(x))
    double, other = right.function(lambda x: x * 2), right.function(lambda x: x + 1)
    program = client.program(lambda x: (fails(x), double(fails(x)), other(x)))
    failed, lost, good = program(jnp.ones(8))
    with pytest.raises(NodeError, match=rf"node .* \(.*{os.path.basename(__file__)}:\d+.*\): .*no_such_target"):
        failed.result()
    with pytest.raises(RunError, match=rf"{os.path.basename(__file__)}:\d+.*no_such_target"):
        lost.result()
    assert (good.result() == 2).all()
    with pytest.raises(RunError, match="no_such_target"):
        double(lost).result()
    with pytest.raises(RunError, match="no_such_target"):
        double(failed).result()
    assert (other(good).result() == 3).all()


def test_functions_that_call_python_are_refused(controller: pcg.Controller) -> None:
    f = controller.client().request(1).function(lambda x: jax.pure_callback(lambda x: x, x, x))
    with pytest.raises(pcg.ProgramError, match=r"calls Python functions on the host.*allowed: with backend='embedded'"):
        f(jnp.zeros(2))


def test_a_process_that_does_not_answer_is_ended(backend: str) -> None:
    """Its island has failed, and can be started again."""
    with pcg.Controller(1, devices=jax.devices()[:1], backend=BACKENDS[backend](deadline=20.0)) as controller:
        f = controller.client().request(1).function(lambda x: x + 1)
        assert (f(jnp.zeros(2)).result() == 1).all()
        worker = controller.backend.workers["island0"]
        worker.deadline = 0.5
        os.kill(worker.pids[0], signal.SIGSTOP)
        with pytest.raises(IslandFailed, match=r"run \d+ of .* was not over in 0.5 s"):
            f(jnp.zeros(2)).result()
        until(lambda: not controller.resources.islands)
        controller.restart_island("island0")
        assert (f(jnp.zeros(2)).result() == 1).all()


def test_a_transfer_that_is_never_armed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The run that reads it ends at its deadline, and so does the island that waits for it; others go on."""
    unarmed = tmp_path / "unarmed"
    monkeypatch.setenv("PCG_TEST_UNARMED", str(unarmed))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(unarmed_worker.__file__).parents[1]), *sys.path]))
    monkeypatch.setattr(ProcessLauncher, "module", "support.unarmed")
    with pcg.Controller(3, devices=jax.devices()[:3], backend=ProcessBackend(deadline=60.0)) as controller:
        client, other = controller.client("me"), controller.client("other")
        left, right = client.request(1, island="island0"), client.request(1, island="island1")
        double, add = left.function(lambda x: x * 2), right.function(lambda x: x + 1)
        program = client.program(lambda x: add(double(x)))
        theirs = other.request(1, island="island2").function(lambda x: x - 1)
        kept = theirs(jnp.ones(4))
        assert (program(jnp.ones(4)).result() == 3).all() and (kept.result() == 0).all()
        unarmed.touch()
        controller.backend.workers["island1"].deadline = 0.5
        with pytest.raises(IslandFailed, match=r"island island1 failed \(run \d+ of .* was not over in 0.5 s"):
            program(jnp.ones(4)).result()
        assert (theirs(kept).result() == -1).all()
        unarmed.unlink()
        until(lambda: "island1" in controller.failures)
        gc.collect()
        controller.dispatcher.drain()
        assert {reference() for reference in controller.dispatcher.store.entries} == {kept}
        controller.restart_island("island1")
        assert (program(jnp.ones(4)).result() == 3).all() and (theirs(kept).result() == -1).all()


def test_processes_end_with_their_controller() -> None:
    """Also with one that ends without closing it."""
    code = (
        "import jax, os, pcg\n"
        "c = pcg.Controller(1, devices=jax.devices()[:1], backend='processes')\n"
        "w = c.backend.workers['island0']; w.wait_until_started()\n"
        "print(w.pids[0], flush=True); os.kill(os.getpid(), 9)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    pid = int(out.stdout)

    def gone() -> bool:
        try:
            with open(f"/proc/{pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[0] == "Z"  # nobody asks for its status
        except FileNotFoundError:
            return True

    until(gone)


def test_shards_are_there_or_lost_at_once() -> None:
    """A collective of which one device has lost its part would wait for that device for ever."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y"))
    own = jax.sharding.NamedSharding(mesh, P("x", "y"))
    together = _all_or_none(own)
    x = jax.device_put(np.arange(16.0, dtype=np.float32).reshape(4, 4), own)
    at = [s.data.unsafe_buffer_pointer() for s in x.addressable_shards]
    x = together(x)
    assert float(x.sum()) == 120 and [s.data.unsafe_buffer_pointer() for s in x.addressable_shards] == at
    shards = [s.data for s in x.addressable_shards]
    kind = jax.ShapeDtypeStruct((2, 2), jnp.float32, sharding=jax.sharding.SingleDeviceSharding(jax.devices()[1]))
    shards[1] = make_error_array(kind, "lost on its way")
    lost = together(jax.make_array_from_single_device_arrays((4, 4), own, shards))
    for shard in lost.addressable_shards:
        with pytest.raises(jax.errors.JaxRuntimeError, match="lost on its way"):
            shard.data.block_until_ready()
    with pytest.raises(jax.errors.JaxRuntimeError, match="lost on its way"):
        jax.jit(lambda x: x * x.sum())(lost).block_until_ready()


# -- order, messages, memory ---------------------------------------------------------------------------


def test_two_clients_over_the_same_islands(controller: pcg.Controller) -> None:
    """Devices that ran their programs in different orders would add up parts of both: 16 and 16."""
    programs = {}
    for name, value in (("a", 1.0), ("b", 3.0)):
        # Of each stage every device adds the other's: 4 elements on 2 devices, twice.
        program = on_both(controller.client(name), lambda x: jnp.broadcast_to(x.sum(), x.shape) / 2)
        programs[name] = program, jnp.full(4, value)
    found: dict[str, list[float]] = {"a": [], "b": []}

    def work(name: str) -> None:
        program, x = programs[name]
        futures = [program(x) for _ in range(50)]
        found[name] = [float(f.result().sum()) for f in futures]

    threads = [threading.Thread(target=work, args=(name,)) for name in programs]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout=120)
    assert found == {"a": [16.0] * 50, "b": [48.0] * 50}


@pytest.mark.parametrize("dispatch", ["parallel", "sequential"])
def test_one_message_per_island_and_run(backend: str, dispatch: str) -> None:
    with two(backend, dispatch=dispatch) as controller:
        backend = controller.backend
        program = on_both(controller.client(), lambda x: x + x.sum() * 0 + 1)
        x = program(program(jnp.zeros(4)))  # of arrays of the host, and of what is there: two programs
        assert (x.result() == 4).all()
        before, sent = dict(backend.messages), {n: dict(w.messages) for n, w in backend.workers.items()}
        for _ in range(10):
            x = program(x)
        assert (x.result() == 24).all()
        assert {n: backend.messages[n] - before[n] for n in before} == {"island0": 10, "island1": 10}
        after = {n: dict(w.messages) for n, w in backend.workers.items()}
        fetches = sum(a.get("fetch", 0) - sent[n].get("fetch", 0) for n, a in after.items())
        assert fetches == 1
        assert sum(sum(a.values()) - sum(sent[n].values()) for n, a in after.items()) == 21


def test_values_are_freed_where_they_are(controller: pcg.Controller) -> None:
    client = controller.client()
    f = client.request(1, island="island0").function(lambda x: x + 1)
    give = client.program(lambda x: f(x), donate_argnums=0)
    worker = controller.backend.workers["island0"]

    def count() -> int:
        controller.dispatcher.drain()
        return worker.count()

    gc.collect()  # what is left of other tests
    before = count()
    kept, x = f(jnp.zeros(4)), f(jnp.zeros(4))
    for _ in range(20):
        x = f(x)
    assert (x.result() == 21).all() and count() == before + 2
    x = give(x)
    assert (x.result() == 22).all() and count() == before + 2
    del x
    gc.collect()
    f(kept).result()
    assert count() == before + 1
    client.close()
    with pytest.raises(RunError):
        kept.result()
    assert count() == before


def test_layouts_of_unlike_sizes_from_process_to_process(backend: str) -> None:
    """More, fewer and as many devices on the other side, replicated, split by rows, columns and both."""
    devices = jax.devices()
    with pcg.Controller({"big": devices[:4], "small": devices[4:6]}, backend=backend) as controller:
        client = controller.client()
        shapes = [{"x": 2, "y": 2}, {"z": 2}, {"w": 1}]
        islands = ["big", "small", "small"]
        x = jnp.arange(64.0).reshape(8, 8)
        for i, (shape, island) in enumerate(zip(shapes[:2], islands[:2], strict=True)):
            axes = list(shape)
            other = shapes[1 - i]
            for spec in (P(), P(axes[0]), P(None, axes[-1]), P(*axes)):
                for theirs in (P(), P(next(iter(other))), P(None, next(iter(other))), P(*other)):
                    one, two = client.request(shape, island=island), client.request(other, island=islands[1 - i])
                    f = one.function(lambda x: x + 1, in_shardings=(spec,))
                    g = two.function(lambda x: x * 2, in_shardings=(theirs,))
                    np.testing.assert_array_equal(
                        client.program(lambda x, f=f, g=g: g(f(x)))(x), (np.asarray(x) + 1) * 2
                    )
                    one.release(), two.release()


def test_random_keys_from_process_to_process(controller: pcg.Controller) -> None:
    client = controller.client()
    left, right = client.request(1, island="island0"), client.request(2, island="island1")
    split, draw = left.function(lambda k: jax.random.split(k)[0]), right.function(lambda k: jax.random.normal(k, (4,)))
    key = jax.random.key(5)
    number, own = client.program(lambda k: (draw(split(k)), split(k)))(key)
    np.testing.assert_allclose(number, jax.random.normal(jax.random.split(key)[0], (4,)), rtol=1e-6)
    assert (jax.random.key_data(own.array()) == jax.random.key_data(jax.random.split(key)[0])).all()


def test_a_donated_value_that_was_sent_is_still_received(controller: pcg.Controller) -> None:
    """The next program takes the buffer over before the other island has pulled it."""
    client = controller.client()
    left, right = client.request({"m": 2}, island="island0"), client.request({"m": 2}, island="island1")
    f, g = (
        left.function(lambda x: x + 1, in_shardings=(P("m"),)),
        right.function(lambda x: x * 2, in_shardings=(P("m"),)),
    )
    both = client.program(lambda x: (f(x), g(f(x))))
    more = client.program(lambda x: f(x), donate_argnums=0)
    for _ in range(5):
        x, sent = both(jnp.zeros(1 << 16))
        x = more(x)
        assert (sent.result() == 2).all() and (x.result() == 2).all()


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ValueError, match="dispatch 'none'; allowed: parallel, sequential"):
        ProcessBackend("none")
    with pytest.raises(ValueError, match="backend 'none'; allowed: embedded, processes, ray"):
        pcg.Controller(1, backend="none")
