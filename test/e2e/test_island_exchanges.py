"""Rows that go where data says, between islands: all of them, in order, and nothing but them; and what goes wrong."""

from __future__ import annotations

import functools
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pcg
from pcg.controller.faults import Cancelled, DeadlineExceeded, IslandFailed, RunError
from pcg.driver.program import ProgramError
from pcg.runtime.islands import exchange

ROWS, SENDERS, RECEIVERS = 24, 2, 3


@pytest.fixture(scope="module", params=["embedded", "processes"])
def controller(request: pytest.FixtureRequest) -> Iterator[pcg.Controller]:
    with pcg.Controller(2, backend=request.param) as made:
        yield made


@pytest.fixture
def embedded() -> Iterator[pcg.Controller]:
    with pcg.Controller(2) as made:
        yield made


def pair(client: Any, receivers: int = 2, here: str = "island0", there: str = "island1") -> tuple[Any, Any]:
    """Slices of senders and of receivers; those of other clients may have the same devices."""
    left = client.request({"data": SENDERS}, island=here, shared=True)
    return left, client.request({"expert": receivers}, island=there, shared=True)


@pytest.fixture(scope="module")
def there_and_back(controller: pcg.Controller) -> Any:
    """(rows, destinations) -> what was exchanged, and that brought back."""
    client = controller.client()
    left, right = pair(client, RECEIVERS)

    @functools.cache
    def program(capacity: int | None, overflow: str) -> Any:
        def forth(rows: Any, destination: Any) -> Any:
            routed = left.exchange(rows, destination, right, capacity=capacity, overflow=overflow)
            return routed, routed.back(routed.rows), routed.dropped()

        return client.program(forth)

    def run(rows: Any, destination: Any, capacity: int | None = None, overflow: str = "error") -> Any:
        before = Counter(controller.backend.exchanged)
        routed, back, dropped = program(capacity, overflow)(rows, jnp.asarray(destination, jnp.int32))
        found = [np.asarray(x) for x in (routed.rows, routed.counts, back, dropped)]
        moved = Counter(controller.backend.exchanged)
        moved.subtract(before)
        return *found, moved

    return run


def rows_of(dtype: Any) -> jax.Array:
    return (jnp.arange(ROWS * 3).reshape(ROWS, 3) - 20).astype(dtype)


def expected(rows: Any, destination: list[int], capacity: int = ROWS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What each receiver gets, how much from whom, and what comes back: by definition."""
    rows = np.asarray(rows)
    received = np.zeros((RECEIVERS, capacity, *rows.shape[1:]), rows.dtype)
    counts, used, back = np.zeros((RECEIVERS, SENDERS), int), [0] * RECEIVERS, np.zeros_like(rows)
    for i, (row, to) in enumerate(zip(rows, destination, strict=True)):
        if to >= 0:
            counts[to, i // (ROWS // SENDERS)] += 1
            if used[to] < capacity:
                received[to, used[to]] = row
                back[i] = row
            used[to] += 1
    return received, counts, back


def check(run: Any, rows: Any, destination: list[int], capacity: int | None = None) -> Any:
    received, counts, back, dropped, moved = run(rows, destination, capacity, "error" if capacity is None else "drop")
    wanted = expected(rows, destination, ROWS if capacity is None else capacity)
    for one, other in zip((received, counts, back), wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(dropped, np.maximum(counts.sum(1) - received.shape[1], 0))
    return moved


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.int32])
def test_rows_of_every_kind(there_and_back: Any, dtype: Any) -> None:
    check(there_and_back, rows_of(dtype), [*range(RECEIVERS)] * (ROWS // RECEIVERS))


def test_what_moves_is_what_there_is(there_and_back: Any) -> None:
    """Rows and bytes follow the data; pairs of shards without rows exchange no parcel."""
    rows = rows_of(jnp.float32)
    nowhere = check(there_and_back, rows, [-1] * ROWS)
    assert not any(nowhere.values())
    one = check(there_and_back, rows, [-1] * (ROWS - 1) + [2])
    assert (one["parcels"], one["rows"]) == (2, 2)  # there and back
    everything = check(there_and_back, rows, [1] * ROWS)
    assert (everything["parcels"], everything["rows"]) == (2 * SENDERS, 2 * ROWS)
    spread = check(there_and_back, rows, [0, 1, 2] * (ROWS // 3))
    assert (spread["parcels"], spread["rows"]) == (2 * SENDERS * RECEIVERS, 2 * ROWS)
    assert 0 < one["bytes"] < everything["bytes"] < spread["bytes"] <= 2 * ROWS * 12 * 2


@settings(max_examples=15)
@given(destination=st.lists(st.integers(-1, RECEIVERS - 1), min_size=ROWS, max_size=ROWS), capacity=st.just(5) | st.none())
def test_what_returns_is_what_left(there_and_back: Any, destination: list[int], capacity: int | None) -> None:
    check(there_and_back, rows_of(jnp.float32), destination, capacity)


def test_what_a_receiver_has_no_room_for(there_and_back: Any) -> None:
    with pytest.raises(RunError, match=r"\.py:\d+.*receiver 1 gets 24 rows; its capacity is 5 \(allowed: a larger one"):
        there_and_back(rows_of(jnp.float32), [1] * ROWS, 5)
    with pytest.raises(RunError, match=r"\.py:\d+.*12 rows of a shard have destinations above 2; allowed: 0 to that, or negative"):
        there_and_back(rows_of(jnp.float32), [3] * ROWS)


def test_slices_of_several_axes_of_one_island_and_the_same_slice(controller: pcg.Controller) -> None:
    client = controller.client()
    wide = client.request({"data": 2, "model": 2}, island="island0", shared=True)
    other = client.request({"model": 2, "expert": 2}, island="island0", shared=True)
    for to, axis, to_axis in ((other, "data", "expert"), (wide, "model", "data")):

        def forth(rows: Any, destination: Any, to: Any = to, axis: str = axis, to_axis: str = to_axis) -> Any:
            routed = wide.exchange(rows, destination, to, axis=axis, to_axis=to_axis)
            return routed.back(routed.rows * 2), routed.valid()

        rows, destination = rows_of(jnp.float32), jnp.asarray([0, 1, 1, -1] * 6)
        back, valid = client.program(forth)(rows, destination)
        np.testing.assert_array_equal(np.asarray(back), np.where(np.asarray(destination)[:, None] >= 0, rows * 2, 0))
        assert np.asarray(valid).sum(1).tolist() == [6, 12]
    client.close()


def test_call_by_call(controller: pcg.Controller) -> None:
    """Outside of programs, and where Python needs values."""
    client = controller.client()
    left, right = pair(client)
    rows, destination = rows_of(jnp.float32), jnp.asarray([0, 1] * 12)
    routed = left.exchange(rows, destination, right)
    np.testing.assert_array_equal(routed.back(routed.rows).result(), rows)

    def choose(rows: Any, destination: Any) -> Any:
        routed = left.exchange(rows, destination, right)
        return routed.back(routed.rows * (2.0 if routed.counts.sum() > 3 else 1.0))

    np.testing.assert_array_equal(np.asarray(client.program(choose)(rows, destination)), rows * 2)
    client.close()


def test_a_result_that_is_given_up_while_rows_move(controller: pcg.Controller) -> None:
    """Runs that need an exchange's results, or take over what it reads, wait for it; values are freed."""
    client = controller.client()
    left, right = pair(client)
    twice = right.function(lambda x: x * 2)

    def forth(rows: Any, destination: Any) -> Any:
        routed = left.exchange(rows, destination, right)
        return routed.back(twice(routed.rows))

    exchanged = client.program(forth)
    add = client.program(lambda x: left.function(lambda x: x + 1)(x), donate_argnums=0)
    there = left.function(lambda x: x)
    destination = jnp.asarray([0, 1, 1] * 8)
    x = there(jnp.ones((ROWS, 3)))
    found = []
    for _ in range(5):
        found.append(exchanged(x, destination))
        x = add(x)  # takes over what the exchange reads
    y = x
    for _ in range(3):
        y = exchanged(y, destination)  # reads what the exchange before it writes
    for i, value in enumerate(found):
        assert (value.result() == 2 * (i + 1)).all()
    assert (y.result() == 6 * 8).all()
    del found, value, x, y
    controller.dispatcher.drain()
    assert controller.dispatcher.store.nbytes("island0", client.name) == 0
    client.close()


def test_a_sender_that_fails(controller: pcg.Controller) -> None:
    """What the receivers compute of its rows is the same error, with the user's line; the rest has its results."""
    client = controller.client()
    left, right = pair(client)
    fails = left.function(lambda x: jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct(x.shape, x.dtype))(x))
    twice = right.function(lambda x: x * 2)

    def forth(rows: Any, destination: Any) -> Any:
        routed = left.exchange(fails(rows), destination, right)
        return twice(routed.rows), routed.back(routed.rows), twice(rows)

    there, back, good = client.program(forth)(rows_of(jnp.float32), jnp.zeros(ROWS, jnp.int32))
    for lost in (there, back):
        with pytest.raises(RunError, match=rf"{os.path.basename(__file__)}:\d+.*no_such_target"):
            lost.result()
    np.testing.assert_array_equal(good.result(), rows_of(jnp.float32) * 2)
    client.close()


def test_two_clients_whose_rows_cross(controller: pcg.Controller) -> None:
    """Exchanges in both directions, with collectives behind them, of two clients at once: nothing waits in a circle."""
    results: dict[str, list[float]] = {}

    def use(name: str, here: str, there: str) -> None:
        with controller.client(name) as client:
            left, right = pair(client, 2, here, there)
            end = left.function(lambda x: jnp.sum(x), in_shardings=(jax.sharding.PartitionSpec("data"),))
            scale = right.function(lambda x: x * 0.5 + jnp.sum(x), in_shardings=(jax.sharding.PartitionSpec("expert"),))

            @client.program
            def step(rows: Any, destination: Any, plain: Any) -> Any:
                routed = left.exchange(rows, destination, right)
                return end(routed.back(scale(routed.rows))) + end(right.function(jnp.sin)(plain))

            rows, destination = jnp.ones((ROWS, 3)), jnp.asarray([0, 1, 1, 1] * 6)
            results[name] = [float(v) for v in [step(rows, destination, rows * 0) for _ in range(20)]]

    threads = [threading.Thread(target=use, args=a) for a in (("a", "island0", "island1"), ("b", "island1", "island0"))]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
        assert not t.is_alive()
    np.testing.assert_allclose(results["a"], [72 * 72.5] * 20)
    assert results["a"] == results["b"]


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Rows are routed when it is set: until then nobody knows how many go where."""
    opened, read = threading.Event(), exchange.read_plan

    def read_plan(plan: Any, receivers: int) -> Any:
        opened.wait(60)
        return read(plan, receivers)

    monkeypatch.setattr(exchange, "read_plan", read_plan)
    yield opened
    opened.set()


def waiting(controller: pcg.Controller, **options: Any) -> Any:
    """A program of a client that exchanges rows."""
    client = controller.client("waits", **options)
    left, right = pair(client)

    def forth(rows: Any, destination: Any) -> Any:
        routed = left.exchange(rows, destination, right)
        return routed.back(routed.rows)

    return client.program(forth)


def test_others_run_while_rows_are_waited_for(embedded: pcg.Controller, gate: threading.Event) -> None:
    program = waiting(embedded)
    rows, destination = rows_of(jnp.float32), jnp.zeros(ROWS, jnp.int32)
    other = embedded.client("other")
    f = other.request(2, island="island0", shared=True).function(lambda x: x + 1)
    g = other.request(2, island="island1", shared=True).function(lambda x: x * 2)
    both = other.program(lambda x: g(f(x)))
    found = program(rows, destination)
    dependent = program(found, destination)
    for _ in range(20):
        assert (both(jnp.ones(4)).result() == 4).all()
    assert not found.is_ready() and not dependent.is_ready()
    gate.set()
    np.testing.assert_array_equal(dependent.result(), rows)


def test_a_short_call_waits_for_an_exchange_that_reads_what_it_takes_over(
    embedded: pcg.Controller, gate: threading.Event
) -> None:
    client = embedded.client("waits")
    left, right = pair(client)
    add = left.function(lambda x: x + 1)
    step, plain = client.program(lambda x: add(x), donate_argnums=0), client.program(lambda x: add(x))
    forth = client.program(lambda rows, destination: left.exchange(rows, destination, right).rows)
    x = step(rows_of(jnp.float32))
    for _ in range(5):
        x = plain(step(x)).block_until_ready()
    wanted = x.result()
    found = forth(x, jnp.zeros(ROWS, jnp.int32))
    kept = plain(x)
    np.testing.assert_array_equal(kept.result(), wanted + 1)  # this one reads it as well
    taken = step(x)
    behind = plain(kept)
    assert not (found.is_ready() or taken.is_ready() or behind.is_ready())
    assert embedded.dispatcher.use(client.name).queued == 2
    gate.set()
    np.testing.assert_array_equal(taken.result(), wanted + 1)
    np.testing.assert_array_equal(behind.result(), wanted + 2)
    np.testing.assert_array_equal(found.result()[0], wanted)
    with pytest.raises(RunError, match="donated"):
        x.result()
    embedded.dispatcher.drain()
    assert embedded.dispatcher.use(client.name).queued == 0


def test_a_deadline_ends_the_wait_for_rows(embedded: pcg.Controller, gate: threading.Event) -> None:
    program = waiting(embedded, deadline=0.3)
    rows, destination = rows_of(jnp.float32), jnp.zeros(ROWS, jnp.int32)
    program.lower(rows, destination)
    found = program(rows, destination)
    dependent = program(found, destination)
    with pytest.raises(DeadlineExceeded, match="program forth waited until its deadline: rows of an exchange"):
        found.result()
    with pytest.raises(RunError):
        dependent.result()
    gate.set()
    del found, dependent
    embedded.dispatcher.drain()
    assert not embedded.dispatcher.store.entries
    np.testing.assert_array_equal(program(rows, destination).result(), rows)


def test_an_island_that_is_removed_while_rows_are_waited_for(embedded: pcg.Controller, gate: threading.Event) -> None:
    program = waiting(embedded)
    stays = embedded.client().request(2, island="island0").function(lambda x: x + 1)
    rows, destination = rows_of(jnp.float32), jnp.zeros(ROWS, jnp.int32)
    found = program(rows, destination)
    dependent = program(found, destination)
    embedded.remove_island("island1", "power failure")
    for lost in (found, dependent):
        with pytest.raises(IslandFailed, match=r"island island1 failed \(power failure\)"):
            lost.result()
    assert (stays(jnp.ones(4)).result() == 2).all()
    gate.set()
    embedded.dispatcher.drain()


def test_a_client_that_leaves_while_rows_are_waited_for(embedded: pcg.Controller, gate: threading.Event) -> None:
    program = waiting(embedded)
    rows, destination = rows_of(jnp.float32), jnp.zeros(ROWS, jnp.int32)
    found = program(rows, destination)
    dependent = program(found, destination)
    embedded.clients["waits"].close()
    for lost in (found, dependent):
        with pytest.raises(Cancelled, match="client waits is closed"):
            lost.result()
    gate.set()
    embedded.dispatcher.drain()
    assert not embedded.dispatcher.store.entries


@pytest.mark.slow
def test_a_process_that_is_killed_while_rows_are_exchanged() -> None:
    with pcg.Controller(2, backend="processes") as controller:
        client = controller.client()
        left, right = pair(client)
        slow = left.function(lambda x: jax.lax.fori_loop(0, 200_000, lambda i, x: jnp.sin(x) + i % 2, x))

        def forth(rows: Any, destination: Any) -> Any:
            routed = left.exchange(slow(rows), destination, right)
            return routed.rows + 0.0, routed.back(routed.rows)

        program = client.program(forth)
        stays = right.function(lambda x: x * 2)
        rows, destination = jnp.ones((20_000, 8)), jnp.asarray([0, 1] * 10_000)
        stays(jnp.ones(4)).result()
        there, back = program(rows, destination)
        time.sleep(0.3)
        start = time.monotonic()
        os.kill(controller.backend.workers["island0"].pids[0], signal.SIGKILL)
        for lost in (there, back):
            with pytest.raises(IslandFailed, match="island island0 failed"):
                lost.result()
        assert time.monotonic() - start < 5
        assert (stays(jnp.ones(4)).result() == 2).all()


def test_what_is_wrong_is_said(embedded: pcg.Controller) -> None:
    client = embedded.client()
    left, right = client.request({"data": 2}, island="island0"), client.request({"a": 2, "b": 2}, island="island1")
    rows, destination = rows_of(jnp.float32), jnp.zeros(ROWS, jnp.int32)
    wrong: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((rows, destination, right), {}, "has several axes; name the one whose positions exchange rows: a, b"),
        ((rows, destination, right), {"to_axis": "c"}, "axis 'c'; mesh a=2,b=2 has a, b"),
        ((rows[:23], destination[:23], left), {}, "23 rows on 2 shards of .*; allowed: as many on each"),
        ((rows, destination[1:], left), {}, r"destinations int32\[23\]; allowed: an integer for each of 24 rows"),
        ((rows, rows[:, 0], left), {}, r"destinations float32\[24\]; allowed: an integer"),
        ((rows, destination, left), {"capacity": 0}, "capacity 0; allowed: 1 or more rows"),
        ((rows, destination, left), {"overflow": "wrap"}, "overflow 'wrap'; allowed: error, drop"),
        ((rows[:, :0], destination, left), {}, r"rows of type float32\[24, 0\]; allowed: arrays of numbers, with elements"),
    ]  # fmt: skip
    for args, options, message in wrong:
        with pytest.raises(ValueError, match=message):
            client.program(lambda: left.exchange(*args, **options).rows)()  # noqa: B023
    routed = left.exchange(rows, destination, left)
    with pytest.raises(ValueError, match=r"rows of shape \(3, 2\) cannot go back; allowed: \(2, 24, \.\.\.\)"):
        routed.back(jnp.ones((3, 2)))
    with pytest.raises(ProgramError, match="an exchange inside of jax.vmap"):
        client.program(lambda x, d: jax.vmap(lambda x: left.exchange(x, d, left).rows)(x))(rows[None], destination)
    with pytest.raises(ProgramError, match="inside of scan"):
        client.program(
            lambda x, d: jax.lax.scan(lambda x, _: ((r := left.exchange(x, d, left)).back(r.rows), 0), x, length=2)
        )(rows, destination)
