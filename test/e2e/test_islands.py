"""Programs on slices of islands: the numbers of one device, in one order, within limits, and with typed errors."""

from __future__ import annotations

import gc
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import pcg
from pcg.controller.errors import ResourceError
from pcg.controller.faults import Cancelled, DeadlineExceeded, IslandFailed, NodeError, RunError
from pcg.runtime import array_copies
from pcg.runtime.islands.island_queue import GANGS


@pytest.fixture
def embedded() -> Iterator[pcg.Controller]:
    with pcg.Controller(2) as made:
        yield made


@pytest.fixture(scope="module")
def started() -> Iterator[list[pcg.Controller]]:
    """A controller of two processes, at most: to start them takes longer than most tests."""
    found: list[pcg.Controller] = []
    yield found
    for made in found:
        made.close()


@pytest.fixture(params=["embedded", "processes"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def controller(backend: str, started: list[pcg.Controller]) -> Iterator[pcg.Controller]:
    if backend == "embedded":
        with pcg.Controller(2) as made:
            yield made
        return
    if not started:
        started.append(pcg.Controller(2, backend=backend))
    made = started[0]
    yield made
    for client in list(made.clients.values()):
        client.close()
    if {i.name for i in made.resources.islands} != {"island0", "island1"}:
        started.pop().close()


def normal(*shape: int, seed: int = 0, scale: float = 0.3) -> jax.Array:
    return jnp.asarray(np.random.default_rng((seed, *shape)).normal(size=shape) * scale, jnp.float32)


def close(one: Any, two: Any, tolerance: float = 1e-5) -> None:
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


def five(step: Any, state: Any, *batch: Any) -> Any:
    """Losses of five steps, and the state after them."""
    losses = []
    for _ in range(5):
        loss, state = step(state, *batch)
        losses.append(loss)
    return losses, state


def mlp(w: Any, x: jax.Array) -> jax.Array:
    return x + jax.nn.gelu(x @ w["up"]) @ w["down"]


def layer(seed: int, width: int = 16) -> dict[str, jax.Array]:
    return {"up": normal(width, 32, seed=seed), "down": normal(32, width, seed=seed + 1)}


# -- equal numbers ---------------------------------------------------------------------------------


def test_a_step_on_one_slice(controller: pcg.Controller) -> None:
    def step(w: Any, x: jax.Array) -> Any:
        loss, grads = jax.value_and_grad(lambda w: jnp.mean(mlp(w, x) ** 2))(w)
        return loss, jax.tree.map(lambda a, b: a - 0.1 * b, w, grads)

    slice = controller.client().request({"data": 2, "model": 2})
    close(five(slice.function(step), layer(0), normal(8, 16)), five(jax.jit(step), layer(0), normal(8, 16)))


@pytest.mark.parametrize(
    ("backend", "donate"), [("embedded", False), ("embedded", True), ("processes", True)], indirect=["backend"]
)
def test_a_pipelined_step_of_four_stages(controller: pcg.Controller, donate: bool) -> None:
    """Microbatches through four slices on two islands, gradients accumulated as they come."""
    client = controller.client()
    slices = [client.request({"model": 2}) for _ in range(4)]
    assert [s.island for s in slices].count("island0") == 2
    stages = [s.function(mlp) for s in slices]
    head = slices[-1].function(lambda h, y: jnp.mean((h - y) ** 2))

    def step(stages: Any, head: Any, state: Any, xs: Any, ys: Any) -> Any:
        def loss(ws: Any, x: Any, y: Any) -> Any:
            for stage, w in zip(stages, ws, strict=True):
                x = stage(w, x)
            return head(x, y)

        total, grads = 0.0, None
        for x, y in zip(xs, ys, strict=True):
            value, found = jax.value_and_grad(loss)(state, x, y)
            total += value
            grads = found if grads is None else jax.tree.map(jnp.add, grads, found)
        return total, jax.tree.map(lambda w, g: w - 0.05 * g, state, grads)

    state = [layer(i) for i in range(4)]
    batch = [normal(4, 16, seed=i) for i in range(4)], [normal(4, 16, seed=9 + i) for i in range(4)]
    program = client.program(
        lambda state, xs, ys: step(stages, head, state, xs, ys), donate_argnums=(0,) if donate else ()
    )
    single = jax.jit(lambda state, xs, ys: step([mlp] * 4, lambda h, y: jnp.mean((h - y) ** 2), state, xs, ys))
    close(five(program, state, *batch), five(single, state, *batch))
    text = program.as_text()
    assert text.count("Send") == text.count("Receive") == 8  # one forward and one backward per microbatch
    assert ("jax.buffer_donor" in program.as_text("slices")) == donate


def test_slices_of_unlike_size_on_two_islands(backend: str) -> None:
    """An encoder on six devices and a decoder on two."""
    devices = jax.devices()
    with pcg.Controller({"big": devices[:6], "small": devices[6:]}, backend=backend) as controller:
        client = controller.client()
        large, small = client.request({"x": 3, "y": 2}), client.request({"z": 2}, island="small")
        encode, decode = large.function(mlp), small.function(lambda w, h, y: jnp.mean((h @ w - y) ** 2))

        def step(encode: Any, decode: Any, state: Any, x: Any, y: Any) -> Any:
            loss, grads = jax.value_and_grad(lambda s: decode(s[1], encode(s[0], x), y))(state)
            return loss, jax.tree.map(lambda w, g: w - 0.1 * g, state, grads)

        state, x, y = (layer(3), normal(16, 5)), normal(12, 16), normal(12, 5)
        found = five(client.program(lambda *a: step(encode, decode, *a)), state, x, y)
        close(found, five(jax.jit(lambda *a: step(mlp, lambda w, h, y: jnp.mean((h @ w - y) ** 2), *a)), state, x, y))
        assert found[1][0]["up"].slice is large and found[1][1].slice is small


def test_one_frozen_part_serves_two_clients(controller: pcg.Controller) -> None:
    owner = controller.client("owner")
    frozen = owner.request({"model": 2})
    weights = jax.tree.map(lambda w: frozen.function(lambda w: w)(w), layer(5))
    base = frozen.function(mlp)

    def step(base: Any, tuned: Any, state: Any, weights: Any, x: Any) -> Any:
        loss, grad = jax.value_and_grad(lambda s: tuned(s, base(weights, x)))(state)
        return loss, state - 0.1 * grad

    def adapter(w: Any, h: Any) -> Any:
        return jnp.mean((h @ w) ** 2)

    for name in "ab":
        client = controller.client(name)
        tuned = client.request({"data": 2}).function(adapter)
        program = client.program(lambda *a, tuned=tuned: step(base, tuned, *a))
        state, x = normal(16, 4, seed=ord(name)), normal(8, 16, seed=ord(name))
        found = five(program, state, weights, x)
        close(found, five(jax.jit(lambda *a: step(mlp, adapter, *a)), state, layer(5), x))


def test_keys_integers_and_results_that_are_constants(controller: pcg.Controller) -> None:
    client = controller.client()
    left, right = client.request(2), client.request(2)
    drop = left.function(lambda key, x: jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x, 0))
    count = right.function(lambda h, n: (h.sum() + n, n + 1, h.astype(jnp.bfloat16), h > 0))

    def run(drop: Any, count: Any, key: Any, x: Any, n: Any) -> Any:
        key, own = jax.random.split(key)
        return count(drop(own, x), n), jax.random.key_data(key), jnp.arange(3), 2.5, n

    args = jax.random.key(3), normal(4, 6), jnp.int32(7)
    program = client.program(lambda *a: run(drop, count, *a))
    wanted = jax.jit(lambda *a: run(drop.__wrapped__, count.__wrapped__, *a))(*args)
    for _ in range(2):
        close(jax.tree.map(lambda x: np.asarray(x, np.float32), program(*args), is_leaf=lambda x: hasattr(x, "placed")),
              jax.tree.map(lambda x: np.asarray(x, np.float32), wanted))  # fmt: skip


def test_a_node_runs_where_most_of_what_it_reads_is(controller: pcg.Controller) -> None:
    client = controller.client()
    left, right = client.request(2), client.request({"data": 4})
    f, g = left.function(lambda x: x * 2), right.function(lambda x: jnp.concatenate([x, x]))
    found = client.program(lambda x: (f(x), g(x), jnp.concatenate([f(x), g(x)])))(normal(4, 4))
    assert [x.slice for x in found] == [left, right, right]


def test_python_that_needs_values_runs_call_by_call(controller: pcg.Controller) -> None:
    client = controller.client()
    halve = client.request(2).function(lambda x: x / 2)

    @client.program
    def until_small(x: Any) -> Any:
        count = 0
        while x.sum() > 1:  # needs the value
            x, count = halve(x), count + 1
        return x, count

    found, count = until_small(jnp.full(4, 8.0))
    assert count == 5 and float(found.sum()) == 1.0
    with pytest.raises(pcg.ProgramError, match="until_small needs values while it runs, so it is not one program"):
        until_small.lower(jnp.full(4, 8.0))


def test_compile_takes_a_slice(controller: pcg.Controller) -> None:
    slice = controller.client().request({"model": 4})
    found = pcg.compile(lambda x, w: jnp.tanh(x @ w), slice, in_shardings=(None, P(None, "model")))
    x, w = normal(8, 16), normal(16, 8)
    out = found(x, w)
    close(out, jnp.tanh(x @ w))
    assert out.slice is slice and found.lower(x, w).program.values[1].spec == pcg.ShardSpec.parse("[-, model]")
    with pytest.raises(pcg.ProgramError, match="donate_argnums with a slice"):
        pcg.compile(lambda x: x, slice, donate_argnums=0)


# -- one order, within limits ------------------------------------------------------------------------


def test_thousands_of_collectives_of_two_clients(embedded: pcg.Controller) -> None:
    """More under way than XLA's CPU devices can take, from two threads, on the same devices."""
    first, second = embedded.client("a"), embedded.client("b")
    sums = []
    for client in (first, second):
        slice = client.request({"x": 4}, island="island0", shared=True)
        sums.append(slice.function(lambda x: x + x.sum() * 0 + 1, in_shardings=(P("x"),)))
    assert sums[0].slice.device_numbers == sums[1].slice.device_numbers
    results: list[Any] = [None, None]

    def work(i: int) -> None:
        x: Any = jnp.zeros(8)
        for _ in range(1000):
            x = sums[i](x)
        results[i] = x.result()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout=300)
    assert not any(t.is_alive() for t in threads)
    assert all((r == 1000).all() for r in results)
    island = embedded.backend.islands["island0"]
    assert island.launched == 2000 and island.most <= GANGS
    assert embedded.dispatcher.most["island0"] <= embedded.dispatcher.scheduler.queues["island0"].cap


def test_a_program_waits_for_memory(backend: str) -> None:
    with pcg.Controller(1, memory=3000, backend=backend) as controller:
        client = controller.client()
        f = client.request(2).function(lambda x: x + 1, in_shardings=(P("device"),))
        first = f(jnp.zeros(512))  # 1024 bytes on each device
        second = f(first)
        third = f(second)
        assert not third.is_ready()
        timer = threading.Timer(0.2, lambda: results.clear())
        results = [first]
        del first
        timer.start()
        assert (third.result() == 3).all()
        with pytest.raises(MemoryError, match="needs 16384 bytes per device of island island0; allowed: 3000 or less"):
            f(jnp.zeros(8192))


def test_a_deadline_says_what_a_run_waited_for() -> None:
    with pcg.Controller(1, memory=2500) as controller:
        client = controller.client(deadline=0.3)
        f = client.request(2).function(lambda x: x + 1, in_shardings=(P("device"),))
        kept = [f(jnp.zeros(512)), f(jnp.zeros(512))]
        start = time.monotonic()
        with pytest.raises(DeadlineExceeded, match="1024 bytes per device on island island0, 452 of 2500 are free"):
            f(kept[0]).result()
        assert time.monotonic() - start < 5
        del kept[1]
        assert (f(kept[0]).result() == 2).all()


def test_buffers_are_freed_with_their_last_reference_and_with_their_client(controller: pcg.Controller) -> None:
    client = controller.client()
    f = client.request(2).function(lambda x: x + 1)
    store = controller.dispatcher.store
    one, two = f(jnp.zeros(8)), f(jnp.zeros(8))
    assert len(store.entries) == 2 and store.nbytes(f.slice.island) > 0
    del one
    gc.collect()
    three = f(two)
    assert {reference() for reference in store.entries} == {two, three}
    client.close()
    assert not store.entries and controller.resources.utilization() == 0
    with pytest.raises(Cancelled, match=f"client {client.name} is closed"):
        two.result()


def test_a_donated_future_is_gone(controller: pcg.Controller) -> None:
    client = controller.client()
    f = client.request(2).function(lambda x: x + 1)
    add = client.program(lambda x: f(x), donate_argnums=0)
    start = f(jnp.zeros(8))
    start.block_until_ready()
    close(add(start), np.full(8, 2.0))
    with pytest.raises(RunError, match="was donated to a later program, or freed"):
        start.result()
    with pytest.raises(RunError, match="an argument was donated to an earlier program, or freed"):
        f(start).result()


def test_a_copy_on_the_same_devices_outlives_its_source() -> None:
    four, two = (NamedSharding(Mesh(np.array(jax.devices()[:n]), ("x",)), P()) for n in (4, 2))
    x = jax.device_put(jnp.arange(8.0), four)
    copy = array_copies.copying(four, two, x.shape)(x)
    x.delete()
    close(copy, np.arange(8.0))


def test_an_error_that_was_read_keeps_no_value(controller: pcg.Controller) -> None:
    client = controller.client()
    f = client.request(2).function(lambda x: x + 1)
    give = client.program(lambda x: f(x), donate_argnums=0)
    for _ in range(3):
        x = f(jnp.zeros(8))
        give(x)
        with pytest.raises(RunError):
            f(x).result()
    del x
    gc.collect()
    f(jnp.zeros(8))
    assert len(controller.dispatcher.store.entries) <= 2


def test_what_ran_is_recorded(controller: pcg.Controller, tmp_path: Any) -> None:
    own = [controller.client(name).request(2, island="island0", shared=True) for name in "ab"]
    f, g = (slice.function(lambda x: x @ x) for slice in own)
    x, y = f(normal(64, 64)), g(normal(64, 64))
    with controller.record() as recording:
        for _ in range(5):
            x, y = f(x), g(y)
    f(x).block_until_ready()
    runs = recording.runs
    assert [(r.client, r.island) for r in runs.runs].count(("a", "island0")) == len(runs.runs) - 5 == 5
    assert all(0 <= r.submitted <= r.start <= r.end for r in runs.runs)
    for one, two in zip(runs.runs, runs.runs[1:], strict=False):  # one after another
        assert one.end <= two.start + 1e-9
    assert sum(runs.shares("island0").values()) == pytest.approx(1) and runs.utilisation("island1") == 0
    assert 0 < runs.utilisation("island0") <= 1
    runs.write(tmp_path / "runs.html")
    runs.write(tmp_path / "runs.json")
    assert (tmp_path / "runs.html").read_text().count("<title>") == 11  # the page's, and one for each run
    events = json.loads((tmp_path / "runs.json").read_text())["traceEvents"]
    assert sum(e["ph"] == "X" for e in events) == 10


# -- faults ------------------------------------------------------------------------------------------


def test_a_node_that_fails_poisons_what_depends_on_it(embedded: pcg.Controller) -> None:
    client = embedded.client()
    left, right = client.request(2, island="island0"), client.request(2, island="island1")

    def broken(x: Any) -> Any:
        raise ZeroDivisionError("boom")

    fails = left.function(lambda x: jax.pure_callback(broken, jax.ShapeDtypeStruct((8,), jnp.float32), x))
    double, other = right.function(lambda x: x * 2), right.function(lambda x: x + 1)
    program = client.program(lambda x: (double(fails(x)), other(x)))
    with jax.log_compiles(False):
        lost, good = program(jnp.ones(8))
    with pytest.raises(RunError, match="boom"):
        lost.result()
    close(good, np.full(8, 2.0))
    with pytest.raises(RunError, match="boom"):
        double(lost).result()


def test_an_island_that_is_removed(controller: pcg.Controller) -> None:
    first, second = controller.client("a"), controller.client("b")
    lost = first.request({"model": 4})
    stays = second.request({"model": 2})
    assert (lost.island, stays.island) == ("island0", "island1")
    f, g = lost.function(lambda w, x: x @ w, in_shardings=(P(None, "model"),)), stays.function(lambda x: x * 3)
    w, x = normal(8, 8), normal(4, 8)
    before, kept = f(w, x), g(x)
    other = f(w, x)
    controller.remove_island("island0", "power failure")
    with pytest.raises(IslandFailed, match=r"island island0 failed \(power failure\); run .* was on it"):
        before.result()
    with pytest.raises(IslandFailed):
        g(other).result()
    close(g(kept), np.asarray(x) * 9)
    with pytest.raises(ResourceError, match="slice .* has no devices: island 'island0' left"):
        f(w, x)  # four devices are free nowhere
    controller.add_island("new", jax.devices()[:4])
    close(f(w, x), x @ w)
    assert lost.island == "new"
    with pytest.raises(ResourceError, match="island 'island0'; allowed: island1, new"):
        controller.remove_island("island0")


def test_an_island_that_joins_is_used_by_the_next_request(backend: str) -> None:
    with pcg.Controller({"a": jax.devices()[:2]}, backend=backend) as controller:
        client = controller.client()
        f = client.request(2).function(lambda x: x + 1)
        out = f(jnp.zeros(4))
        with pytest.raises(ResourceError):
            client.request(2)
        controller.add_island("b", jax.devices()[2:6])
        g = client.request(4).function(lambda x: x * 2)
        close(g(out), np.full(4, 2.0))
        assert g.slice.island == "b"


def test_what_is_wrong_is_said(controller: pcg.Controller) -> None:
    client = controller.client("me")
    f = client.request(2).function(lambda x: x + 1)
    with pytest.raises(ValueError, match="client 'me' is there already; clients: me"):
        controller.client("me")
    with pytest.raises(ResourceError, match="3 islands of 8 devices; allowed: a divisor"):
        pcg.Controller(3)
    with pytest.raises(pcg.ProgramError, match="a call on a slice inside of scan; allowed: in the program itself"):
        client.program(lambda x: jax.lax.scan(lambda c, _: (f(c), None), x, length=3))(jnp.zeros(4))
    with pytest.raises(pcg.ProgramError, match="computes nothing on a slice"):
        client.program(lambda x: x)(jnp.zeros(4))
    with pytest.raises(NodeError):
        raise NodeError("p", "n", "file.py:3", "cause")
