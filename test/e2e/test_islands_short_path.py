"""Calls that are as the one before: what they compute, what stops them, what is counted."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import pcg
from pcg.controller.faults import QuotaExceeded
from pcg.controller.quotas import Quota
from pcg.controller.scheduler import IN_FLIGHT
from pcg.runtime import direct_call
from pcg.runtime.islands.short_path import ShortPath


@pytest.fixture
def client() -> Iterator[Any]:
    with pcg.Controller({"a": jax.devices()[:2], "b": jax.devices()[2:4]}) as controller:
        yield controller.client("me")


def is_short(function: Any) -> bool:
    """Whether the next call takes the short path, if its arguments are as before."""
    return bool(function.__call__ != function.call)


def shortened(function: Any, *args: Any) -> ShortPath:
    """Call a function until it has a short path; what that is."""
    for _ in range(2):
        function(*args).block_until_ready()
    assert is_short(function)
    found: ShortPath = function.__call__
    return found


def never(*_: Any, **__: Any) -> Any:
    raise AssertionError("not the short path")


def only_short(monkeypatch: pytest.MonkeyPatch, path: Any) -> None:
    """Calls that do not take a short path fail."""
    monkeypatch.setitem(path.__globals__, "slow", never)


ONE = (
    lambda x: x + 1,
    lambda lock: lock + 1,  # what the function that is written calls something of its own
    lambda type: type + 1,
    lambda v0: v0 + 1,
    lambda x, y=2: x + y - 1,
    lambda *x: x[0] + 1,
)


@pytest.mark.parametrize("function", ONE, ids=["x", "lock", "type", "v0", "default", "star"])
def test_parameters_of_any_name(client: Any, function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    f = client.request({"x": 2}).function(function)
    x = f(jnp.zeros(4))
    path = shortened(f, x)
    only_short(monkeypatch, path)
    for _ in range(40):
        x = f(x).block_until_ready()
    assert np.asarray(x).tolist() == [41.0] * 4


def test_arguments_by_name_and_wrong_ones(client: Any) -> None:
    slice = client.request({"x": 2})
    f = slice.function(lambda left, right: left - right)
    x, y = slice.function(lambda x: x)(jnp.full(4, 5.0)), slice.function(lambda x: x)(jnp.full(4, 2.0))
    shortened(f, x, y)
    assert np.asarray(f(right=x, left=y)).tolist() == [-3.0] * 4
    assert np.asarray(f(x, right=y)).tolist() == [3.0] * 4
    with pytest.raises(TypeError, match="right"):
        f(x)
    with pytest.raises(TypeError):
        f(x, y, x)
    assert np.asarray(f(x, jnp.ones(4))).tolist() == [4.0] * 4  # an array, not a future
    assert np.asarray(f(x, y)).tolist() == [3.0] * 4


@pytest.mark.parametrize("direct", [True, False])
def test_results_in_their_structure(client: Any, monkeypatch: pytest.MonkeyPatch, direct: bool) -> None:
    if not direct:  # as with a jax that has it otherwise
        monkeypatch.setattr(direct_call, "_works", lambda: False)
    slice = client.request({"x": 2})
    f = slice.function(lambda x, unused, y: {"sum": x + y, "both": (x * y, [x])})
    one = slice.function(lambda x: [x])
    x = slice.function(lambda x: x)(jnp.arange(4.0))
    for _ in range(2):
        f(x, x, x), one(x)
    assert is_short(f) and is_short(one)
    assert ("execute" in f.__call__.__globals__) == ("execute" in one.__call__.__globals__) == direct
    only_short(monkeypatch, f.__call__)
    only_short(monkeypatch, one.__call__)
    out = f(x, x, x)
    assert np.asarray(out["sum"]).tolist() == [0, 2, 4, 6]
    assert np.asarray(out["both"][0]).tolist() == [0, 1, 4, 9] and np.asarray(out["both"][1][0]).tolist() == [0, 1, 2, 3]
    assert [np.asarray(v).tolist() for v in one(x)] == [[0, 1, 2, 3]]


TYPES = [
    np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.float16, np.float32, np.complex64,
    ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4, ml_dtypes.uint4,
]  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: np.dtype(t).name)
def test_every_element_type(client: Any, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    slice = client.request({"x": 2})
    values = (np.arange(6).reshape(2, 3) % 2).astype(dtype)
    x = slice.function(lambda x: x)(values)
    f = slice.function(lambda x, y: jnp.where(x == y, x, y))
    only_short(monkeypatch, shortened(f, x, x))
    found = np.asarray(f(x, x))
    assert found.dtype == values.dtype and found.tobytes() == values.tobytes()


def test_a_donated_argument(client: Any) -> None:
    slice = client.request({"x": 2})
    start = slice.function(lambda x: x)
    step = client.program(slice.function(lambda x: x * 2), donate_argnums=(0,))
    x = start(jnp.ones(4))
    for n in range(30):
        before, x = x, step(x)
        if n > 1:
            assert is_short(step)
        with pytest.raises(RuntimeError, match="donated"):
            np.asarray(before)
    assert np.asarray(x).tolist() == [2.0**30] * 4
    gone = x
    x = step(x)
    with pytest.raises(RuntimeError, match="donated|deleted"):
        np.asarray(step(gone))
    assert np.asarray(step(x)).tolist() == [2.0**32] * 4


def test_settings_of_jax_count(client: Any) -> None:
    slice = client.request({"x": 2})
    traced = []

    def product(x: Any) -> Any:
        traced.append(jax.config.jax_default_matmul_precision)
        return x @ x

    f, x = slice.function(product), slice.function(lambda x: x)(jnp.eye(4))
    shortened(f, x)
    count = len(traced)
    with jax.default_matmul_precision("float32"):
        f(x)
        f(x)
    assert traced[count:] == ["float32"]
    f(x)
    f(x)
    assert len(traced) == count + 1


def test_values_that_are_not_finite_are_found(client: Any) -> None:
    slice = client.request({"x": 2})
    f, x = slice.function(lambda x: x / x), slice.function(lambda x: x)(jnp.zeros(4))
    shortened(f, x)
    assert np.isnan(np.asarray(f(x))).all()
    with jax.debug_nans(True), pytest.raises(RuntimeError, match="nan"):
        np.asarray(f(x))
    assert np.isnan(np.asarray(f(x))).all()


def test_a_block_of_another_thread_and_of_this_one(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    slice = client.request({"x": 2})
    f, x = slice.function(lambda x: x + 1), slice.function(lambda x: x)(jnp.zeros(4))
    path: Any = shortened(f, x)
    with client.program() as block:
        y = f(x)
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(np.asarray(f(x)).tolist()))
        thread.start()
        thread.join()
        z = f(y)
    assert found == [[1.0] * 4] and np.asarray(z).tolist() == [2.0] * 4
    assert block.program.as_text("slices").count("call") == 2
    only_short(monkeypatch, path)
    assert np.asarray(f(x)).tolist() == [1.0] * 4


def test_a_quota_that_comes_later_counts(client: Any) -> None:
    slice = client.request({"x": 2}, island="a")
    f, x = slice.function(lambda x: x + 1), slice.function(lambda x: x)(jnp.zeros(4))
    shortened(f, x)
    client.controller.dispatcher.set_quota("me", Quota(nbytes=1))
    with pytest.raises(QuotaExceeded):
        f(x)


def test_programs_that_alternate_count_together(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    slice = client.request({"x": 2})
    f, g = slice.function(lambda x: x + 1), slice.function(lambda x: x * 2)
    x = slice.function(lambda x: x)(jnp.zeros(4))
    only_short(monkeypatch, shortened(f, x))
    only_short(monkeypatch, shortened(g, x))
    value = 0.0
    for _ in range(10):
        # Each is over before the next call: else the queue may count as full, and the call rightly waits for room.
        y = f(x).block_until_ready()
        x, value = g(y).block_until_ready(), (value + 1) * 2
    assert np.asarray(x).tolist() == [value] * 4


def test_layouts_that_alternate_keep_their_paths(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    slice = client.request({"x": 2})
    f, same = slice.function(lambda x: x + 1), slice.function(lambda x: x)
    x, y = same(jnp.zeros(4)), same(jnp.zeros((2, 2)))
    one, other = shortened(f, x), shortened(f, y)
    assert one is not other
    f(x)
    assert f.__call__ is one
    f(y)
    assert f.__call__ is other


def test_what_is_launched_is_counted(client: Any) -> None:
    """Threads launch, results are dropped or kept: numbers of runs, of handles and bytes are exact."""
    slice = client.request({"x": 2})
    controller = slice.client.controller
    f, same = slice.function(lambda x: x + 1), slice.function(lambda x: x)
    x = same(jnp.zeros(16))
    shortened(f, x)
    island = f._program.last.loaded.direct.island
    controller.dispatcher.drain()
    before, calls = island.launched, 700
    kept: list[Any] = []

    def run(n: int) -> None:
        for i in range(calls):
            y = f(x)
            if i % 100 == n:
                kept.append(y)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    run(3)
    for thread in threads:
        thread.join()
    controller.dispatcher.drain()
    del threads
    gc.collect()
    assert island.launched - before == 4 * calls
    use = controller.dispatcher.use("me")
    assert use.handles == 1 + len(kept) == 29 and use.in_flight == 0 and use.queued == 0
    assert sum(use.nbytes.values()) == 29 * 16 * 4 // 2
    assert max(controller.dispatcher.most.values()) <= IN_FLIGHT
    assert all(np.asarray(y).tolist() == [1.0] * 16 for y in kept)


def test_long_programs_fill_the_queue_and_no_more(client: Any) -> None:
    slice = client.request({"x": 2})
    controller = slice.client.controller
    f = slice.function(lambda x: jax.lax.fori_loop(0, 40, lambda _, y: jnp.tanh(y @ y), x))
    x = slice.function(lambda x: x)(jnp.eye(128))
    shortened(f, x)
    out = [f(x) for _ in range(60)]
    assert controller.dispatcher.use("me").in_flight <= IN_FLIGHT
    for y in out:
        y.block_until_ready()
    controller.dispatcher.drain()
    assert controller.dispatcher.use("me").in_flight == 0 and max(controller.dispatcher.most.values()) <= IN_FLIGHT


def test_another_client_is_not_overtaken(client: Any) -> None:
    """What waits is launched although a client makes short calls all the time."""
    slice = client.request({"x": 2}, island="a", shared=True)
    other = slice.client.controller.client("other")
    theirs = other.request({"x": 2}, island="a", shared=True)
    slow = theirs.function(lambda x: jax.lax.fori_loop(0, 40, lambda _, y: jnp.tanh(y @ y), x))
    y = theirs.function(lambda x: x)(jnp.eye(64))
    f, x = slice.function(lambda x: x + 1), slice.function(lambda x: x)(jnp.zeros(4))
    shortened(f, x)
    done = threading.Event()

    def run() -> None:
        outs = [slow(y) for _ in range(50)]
        for out in outs:
            out.block_until_ready()
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    for _ in range(2_000_000):
        f(x)
        if done.is_set():
            break
    assert done.is_set()
    thread.join()


def full(client: Any, monkeypatch: pytest.MonkeyPatch, wait: Callable[[Any], None]) -> tuple[Any, Any, list[bool]]:
    """A function of whose runs the queue is full, its argument, and whether these are over; `wait` waits for one."""
    slice = client.request({"x": 2}, island="a")
    f, x = slice.function(lambda x: x + 1), slice.function(lambda x: x)(jnp.zeros(4))
    shortened(f, x)
    slice.client.controller.dispatcher.drain()
    loaded, lane = f._program.last.loaded, f.__call__.__globals__["lane"]
    over = [False]
    monkeypatch.setattr(type(loaded), "ready", lambda self, token: over[0])
    monkeypatch.setattr(type(loaded), "wait", lambda self, token: wait(over))
    while lane.in_flight < lane.queue.cap:
        f(x)
    lane.soon = loaded
    return f, x, over


def test_a_call_waits_for_room(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = []

    def wait(over: list[bool]) -> None:
        waits.append(threading.current_thread())
        over[0] = True

    f, x, _ = full(client, monkeypatch, wait)
    assert np.asarray(f(x)).tolist() == [1.0] * 4
    assert waits == [threading.current_thread()]


def test_an_island_is_lost_while_a_call_waits_for_room(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lose = client.controller.dispatcher.lose
    f, x, over = full(client, monkeypatch, lambda _: lose("a", "a test says so"))
    with pytest.raises(RuntimeError, match="a test says so|it is gone"):
        np.asarray(f(x))
    over[0] = True


def test_a_direct_call_is_found_in_this_jax_and_not_where_more_is_done() -> None:
    x = jnp.arange(4.0)
    found = direct_call.direct_call(jax.jit(lambda x, unused, y: (x + y, x)).lower(x, x, x).compile())
    assert found is not None and found.reads == (0, 2)
    total, same = found.execute([x, x]).consume_with_handlers(found.handlers)
    assert total.tolist() == [0, 2, 4, 6] and same.tolist() == x.tolist()
    assert type(total) is type(x) and total.sharding == x.sharding

    def prints(x: Any) -> Any:
        jax.debug.print("{}", x)
        return x

    assert direct_call.direct_call(jax.jit(prints).lower(x).compile()) is None
