"""Results in host memory: programs whose results do not fit on the devices run to the end, within limits."""

from __future__ import annotations

import gc
import random
import threading
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

import pcg
from pcg.controller.faults import DeadlineExceeded, RunError
from pcg.runtime import jax_compat
from pcg.runtime.islands import spilling
from pcg.runtime.islands.run_launcher import RunLauncher
from pcg.runtime.islands.spilling import Spilled

#: Elements of an array that has 1 KiB on each of two devices.
SIZE = 512


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every launch looks whether counted and real bytes are within the limits; returns the counted ones."""
    found: list[int] = []
    launch = RunLauncher._launch

    def looks(self: Any, run: Any) -> Any:
        for name in run.loaded.islands:
            queue = self.scheduler.queues[name]
            if queue.memory is not None:
                assert queue.used <= queue.memory
                own = [(r(), e) for r, e in list(self.store.entries.items()) if e.account.island == name]
                there = [e.nbytes for f, e in own if f is not None and isinstance(f._value, jax.Array)
                         and not f._value.is_deleted()]  # fmt: skip
                assert sum(there) <= queue.memory
                found.append(queue.used)
        assert self.store.on_host <= self._host
        return launch(self, run)

    monkeypatch.setattr(RunLauncher, "_launch", looks)
    return found


@pytest.fixture
def controller(limits: list[int]) -> Iterator[pcg.Controller]:
    with pcg.Controller(1, memory=5000, spill=True) as found:
        yield found


def adding(client: Any) -> Any:
    """x + y on two devices, a half of the array on each."""
    return client.request(2, shared=True).function(lambda x, y: x + y, in_shardings=(P("device"), P("device")))


def test_kept_results_of_more_bytes_than_there_are(controller: pcg.Controller, limits: list[int]) -> None:
    client = controller.client(deadline=30)
    add = adding(client)
    with controller.record() as recording:
        kept = [add(np.full(SIZE, i, np.float32), np.zeros(SIZE, np.float32)) for i in range(12)]
        total = kept[0]
        for x in kept[1:]:
            total = add(total, x)
        assert (total.result() == sum(range(12))).all()
    for i, x in enumerate(kept):
        np.testing.assert_array_equal(x.result(), np.full(SIZE, i))
    use = controller.dispatcher.use(client.name)
    assert use.handles == 13 and use.nbytes == {"island0": 13 * 1024}
    assert use.spilled == controller.dispatcher.store.on_host >= 9 * 2048
    assert max(limits) > 4000 and len(limits) == 23
    assert recording.spilled - recording.restored == use.spilled and recording.restored >= 8 * 2048
    del kept, total, x
    gc.collect()
    assert controller.dispatcher.use(client.name).spilled == 0
    assert controller.dispatcher.scheduler.queues["island0"].used == 0


def test_the_least_recently_used_one_goes_and_what_is_needed_stays(controller: pcg.Controller) -> None:
    add = adding(controller.client(deadline=30))
    one = np.ones(SIZE, np.float32)
    a, b, c = (add(one, one) for _ in range(3))
    d = add(a, b)  # c has not been used for longest
    e = add(d, d)
    e.block_until_ready()
    assert [isinstance(x._value, Spilled) for x in (a, b, c, d, e)] == [False, False, True, False, False]
    assert (c.result() == 2).all() and isinstance(c._value, Spilled)  # to read it needs no device
    assert (np.asarray(c.array()) == 2).all() and c.array().sharding == d.array().sharding
    assert c.is_ready() and isinstance(c._value, Spilled)
    assert (add(c, c).result() == 4).all() and isinstance(c._value, jax.Array)


def test_what_never_fits_is_said_at_once(controller: pcg.Controller) -> None:
    client = controller.client()
    add, one = adding(client), np.ones(SIZE, np.float32)
    kept = [add(one, one) for _ in range(5)]
    total = add.slice.function(lambda *xs: sum(xs), in_shardings=(P("device"),) * 5)
    with pytest.raises(MemoryError, match=r"needs \d+ bytes per device of island island0; allowed: 5000 or less"):
        total(*kept)


def test_host_memory_has_a_limit(limits: list[int]) -> None:
    with pcg.Controller(1, memory=3000, spill=4096) as controller:
        add = adding(controller.client(deadline=0.5))
        one = np.ones(SIZE, np.float32)
        kept = [add(one, one) for _ in range(4)]  # two on the devices, two of 2048 bytes on the host
        assert (kept[3].result() == 2).all()
        why = "1024 bytes per device on island island0, 952 of 3000 are free; 4096 of 4096 bytes of host memory"
        with pytest.raises(DeadlineExceeded, match=why):
            add(one, one).result()
        del kept[0]
        assert (add(one, one).result() == 2).all()
    with pytest.raises(ValueError, match="spill=-1; allowed: True, False, or bytes of host memory"):
        pcg.Controller(1, spill=-1)
    with pytest.raises(ValueError, match="spill=True with backend 'processes'; allowed: with backend 'embedded'"):
        pcg.Controller(1, spill=True, backend="processes")


def test_a_donated_result_makes_room_without_a_copy(controller: pcg.Controller) -> None:
    client = controller.client(deadline=30)
    add = adding(client)
    one = np.ones(SIZE, np.float32)
    give = client.program(lambda x: add(x, x), donate_argnums=0)
    gone = [add(one, one) for _ in range(2)]
    kept = [give(x) for x in gone]
    kept += [add(one, one) for _ in range(2)]
    assert all((x.result() == v).all() for x, v in zip(kept, (4, 4, 2, 2), strict=True))
    assert controller.dispatcher.store.spilled == 0
    with pytest.raises(RunError, match="was donated to a later program, or freed"):
        gone[0].result()


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("spec", [P(), P("x"), P(None, "y"), P("y", "x"), P(("x", "y"))])
def test_copies_in_host_memory(spec: P, pinned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every layout comes back as it was; `pinned`, as on devices that read memory of the host."""
    if pinned:
        if not any(m.kind == "pinned_host" for m in jax.devices()[0].addressable_memories()):
            pytest.skip("CPU devices of this jax have no pinned memory")
        monkeypatch.setattr(spilling, "_has_pinned", lambda x: True)
    mesh = jax.make_mesh((2, 4), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    sharding = jax.sharding.NamedSharding(mesh, spec)
    for dtype in ("float32", "bfloat16", "bool", "int4"):
        host = np.random.default_rng(3).integers(0, 2, (8, 16)).astype(jnp.dtype(dtype))
        x = jax.device_put(host, sharding)
        copy = Spilled(x)
        x.delete()
        back = copy.local()
        assert back.sharding == sharding and back.dtype == host.dtype
        assert back.sharding.memory_kind == jax.device_put(host, sharding).sharding.memory_kind
        np.testing.assert_array_equal(np.asarray(back), host)
        np.testing.assert_array_equal(np.asarray(copy), host)
        if not pinned:
            assert copy.nbytes == host.nbytes


def test_random_keys_stay_on_devices(controller: pcg.Controller) -> None:
    client = controller.client(deadline=30)
    slice = client.request(2)
    key = slice.function(lambda k: jax.random.fold_in(k, 1))(jax.random.key(0))
    add = slice.function(lambda x, y: x + y, in_shardings=(P("device"), P("device")))
    kept = [add(np.ones(SIZE, np.float32), np.ones(SIZE, np.float32)) for _ in range(6)]
    assert jax_compat.is_key(key.array().dtype) and not isinstance(key._value, Spilled)
    assert all((x.result() == 2).all() for x in kept)


class Random:
    """A client that keeps results, adds them, gives them up and drops them, and knows what they are."""

    def __init__(self, controller: pcg.Controller, seed: int, steps: int) -> None:
        self.random, self.steps = random.Random(seed), steps
        client = controller.client(f"client{seed}", deadline=120)
        one, two = (client.request(2, island=f"island{i}", shared=True) for i in range(2))
        self.first, self.second = (
            s.function(lambda x, y: (x + y) % 1024, in_shardings=(P("device"), P("device"))) for s in (one, two)
        )
        self.both = client.program(lambda x, y: self.second(self.first(x, y), y))
        self.give = client.program(lambda x: self.first(x, x), donate_argnums=0)
        self.known: list[tuple[Any, np.ndarray]] = []
        self.read = 0

    def step(self) -> None:
        r = self.random
        if len(self.known) < 2:
            value = np.full(SIZE, r.randrange(100), np.float32)
            self.known.append((self.first(value, value), value * 2 % 1024))
            return
        (x, xv), (y, yv) = r.sample(self.known, 2)
        kind = r.choice(["first", "second", "both", "give", "read", "drop"])
        if kind in ("first", "second"):
            self.known.append((getattr(self, kind)(x, y), (xv + yv) % 1024))
        elif kind == "both":
            self.known.append((self.both(x, y), ((xv + yv) % 1024 + yv) % 1024))
        elif kind == "give":
            self.known = [(f, v) for f, v in self.known if f is not x]
            self.known.append((self.give(x), xv * 2 % 1024))
        elif kind == "read":
            self.read += 1
            np.testing.assert_array_equal(x.result(), xv)
        elif len(self.known) > 8:
            self.known = [(f, v) for f, v in self.known if f is not x]

    def run(self) -> None:
        for _ in range(self.steps):
            self.step()
        for f, v in self.known:
            np.testing.assert_array_equal(f.result(), v)
        self.known.clear()


def random_clients(seed: int, steps: int, seconds: float) -> int:
    """Clients on two islands that have room for about a run each; bytes that were copied to the host."""
    failed: list[BaseException] = []
    with pcg.Controller(2, memory=6500, spill=True) as controller:
        clients = [Random(controller, 2 * seed + i, steps) for i in range(2)]

        def work(client: Random) -> None:
            try:
                client.run()
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(c,), daemon=True) for c in clients]
        for t in threads:
            t.start()
        for t in threads:
            t.join(timeout=seconds)
        assert not any(t.is_alive() for t in threads), "it hangs"
        if failed:
            raise failed[0]
        gc.collect()
        controller.dispatcher.drain()
        assert all(q.used == 0 for q in controller.dispatcher.scheduler.queues.values())
        assert controller.dispatcher.store.on_host == 0 and not controller.dispatcher.store.entries
        return controller.dispatcher.store.spilled


def test_two_clients_at_random(limits: list[int]) -> None:
    assert random_clients(0, 50, 120) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_more_clients_at_random(seed: int, limits: list[int]) -> None:
    assert random_clients(seed, 400, 500) > 0
