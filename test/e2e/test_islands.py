"""Programs on slices of islands: the numbers of one device, in one order, within limits, and with typed errors."""

from __future__ import annotations

import functools
import gc
import json
import re
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
from examples import gpt, layers, training
from pcg.controller.errors import ResourceError
from pcg.controller.faults import Cancelled, DeadlineExceeded, IslandFailed, NodeError, RunError
from pcg.controller.streams import Copy, Receive, peak_bytes
from pcg.machine import Cluster, DeviceKind, Group, Level
from pcg.pipeline.progress import peaks
from pcg.runtime import array_copies
from pcg.runtime.islands.embedded import EmbeddedBackend
from pcg.runtime.islands.island_queue import GANGS
from support.training import SLOW_DEVICES, assert_trees_close, assert_updates_close


@pytest.fixture
def embedded() -> Iterator[pcg.Controller]:
    with pcg.Controller(2) as made:
        yield made


@pytest.fixture(scope="module")
def started() -> Iterator[dict[str, pcg.Controller]]:
    """By backend, a controller of two processes: to start them takes longer than most tests."""
    found: dict[str, pcg.Controller] = {}
    yield found
    for made in found.values():
        made.close()


@pytest.fixture(params=["embedded", "processes", pytest.param("ray", marks=pytest.mark.slow)])
def backend(request: pytest.FixtureRequest) -> str:
    if request.param == "ray":
        request.getfixturevalue("ray_cluster")
    return str(request.param)


@pytest.fixture
def controller(backend: str, started: dict[str, pcg.Controller]) -> Iterator[pcg.Controller]:
    if backend == "embedded":
        with pcg.Controller(2) as made:
            yield made
        return
    if backend not in started:
        started[backend] = pcg.Controller(2, backend=backend)
    made = started[backend]
    yield made
    for client in list(made.clients.values()):
        client.close()
    if {i.name for i in made.resources.islands} != {"island0", "island1"}:
        started.pop(backend).close()


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
    ("backend", "donate"), [("embedded", False), ("embedded", True), ("processes", True), ("ray", True)],
    indirect=["backend"],
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


@functools.cache
def gpt_step() -> Any:
    """(step, arguments, parameters, state and losses of one device after five steps): AdamW, tied embeddings."""
    c = gpt.Config(layers=2, hidden=16, heads=2, vocab=32, seq=6, batch=8, dropout=0.0)

    def step(params: Any, state: Any, batch: Any) -> Any:
        value, grads = jax.value_and_grad(lambda p: gpt.loss(c, p, batch))(params)
        return *layers.adamw(params, state, grads, 1e-3, decay=0.1, b2=0.95), value

    shapes = gpt.param_shapes(c)
    tokens = np.random.default_rng(1).integers(0, c.vocab, (c.batch, c.seq + 1), np.int32)
    batch = {"tokens": tokens, "key": np.array([0, 0], np.uint32)}
    args = training.materialise(shapes, 0), training.zeros(training.adam_state(shapes)), batch
    return step, args, trained(jax.jit(step), args)


def trained(step: Any, args: Any) -> Any:
    """Parameters, optimizer state and losses after five steps."""
    params, state, batch = args
    losses = []
    for _ in range(5):
        params, state, loss = step(params, state, batch)
        losses.append(loss)
    return params, state, [float(loss) for loss in losses]


def as_on_one_device(client: pcg.Client, slices: list[Any]) -> Any:
    """Train the decoder on slices, and compare; returns the pipeline."""
    step, args, want = gpt_step()
    pipelined = pcg.compile(step, slices, pipeline={"microbatches": 4, "schedule": "zb-h1"}, machine=SLOW_DEVICES,
                            donate_argnums=(0, 1))  # fmt: skip
    got = trained(pipelined, args)
    np.testing.assert_allclose(got[2], want[2], rtol=1e-5)
    assert_updates_close(got[0], want[0], args[0], 2e-3, 1e-6)
    assert_trees_close(got[1], want[1], 1e-3, 1e-6)
    homes = {x.slice.name for x in jax.tree.leaves(got[0])}
    assert homes == {s.name for s in slices}
    return pipelined


@pytest.mark.parametrize(
    "backend", ["embedded", pytest.param("processes", marks=pytest.mark.slow)], indirect=True
)
def test_a_decoder_in_four_stages(controller: pcg.Controller) -> None:
    """Two stages on each island; XLA compiles a fragment once, for all microbatches and steps."""
    client = controller.client()
    pipelined = as_on_one_device(client, [client.request(2) for _ in range(4)])
    program = pipelined.executable.nodes.lowered.program
    assert len(program.streams) == 2 and len(program.slices) == 4
    if isinstance(controller.backend, EmbeddedBackend):
        every = pipelined.executable.nodes._functions.values()
        assert [len(node._prepared) for _, node in every] == [1] * len(every)


@pytest.mark.slow
def test_a_decoder_on_four_islands(backend: str) -> None:
    with pcg.Controller(4, backend=backend) as controller:
        client = controller.client()
        pipelined = as_on_one_device(client, [client.request(2, island=f"island{i}") for i in range(4)])
        messages = getattr(controller.backend, "messages", None)
        if messages is not None:
            assert set(messages.values()) == {5}  # one for each run
        assert len(pipelined.executable.nodes.lowered.program.streams) == 4
        # With two threads for two devices XLA's collectives waited for each other within 50 steps.
        (params, state, batch), losses = gpt_step()[1], []
        for _ in range(100):
            params, state, loss = pipelined(params, state, batch)
            losses.append(loss)
        assert float(losses[-1]) < 0.8 * float(losses[0])


def residual(params: Any, x: jax.Array) -> Any:
    """A step whose layers are in a loop, so that parameters are stacked."""

    def loss(p: Any) -> Any:
        h, _ = jax.lax.scan(lambda h, w: (h + jnp.tanh(h @ w["w"] + w["b"]), None), x, p)
        return jnp.mean(h**2), h[:, :3]

    (value, h), grads = jax.value_and_grad(loss, has_aux=True)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value, h


def stacked(layers: int, width: int) -> Any:
    return {"b": np.asarray(normal(layers, width)), "w": np.asarray(normal(layers, width, width))}


def three_steps(step: Any, start: Any) -> Any:
    """What three steps of `residual` give, which must be what they give on one device."""
    x, state, want = np.asarray(normal(8, 8)), start, (start,)
    for _ in range(3):
        found = step(state, x)
        state, want = found[0], jax.jit(residual)(want[0], x)
    close(found, want)
    return found


def test_slices_of_heterogeneous_meshes(embedded: pcg.Controller) -> None:
    """Stages of one and of several devices: layers stay where their stage is, and the larger slice has more of them."""
    client = embedded.client()
    slices = [client.request({"data": 2}, island="island0"), client.request(1, island="island1")]
    step = pcg.compile(residual, slices, pipeline={"microbatches": 2, "schedule": "zb-h1"}, machine=SLOW_DEVICES)
    state, _, _ = three_steps(step, stacked(6, 8))
    homes = [slices.index(layer.slice) for layer in state["w"].layers]
    assert homes == sorted(homes) and homes.count(0) > homes.count(1) > 0


def test_layers_that_are_stacked_stay_on_their_slices(embedded: pcg.Controller) -> None:
    client = embedded.client()
    slices = [client.request({"data": 2}) for _ in range(2)]
    step = pcg.compile(residual, slices, pipeline={"microbatches": 2, "schedule": "1f1b"}, donate_argnums=0)
    start = stacked(4, 8)
    state, _, h = three_steps(step, start)
    homes = [slices.index(layer.slice) for layer in state["w"].layers]
    assert homes == sorted(homes) and {*homes} == {0, 1}
    assert state["w"].shape == (4, 8, 8) and len(h.sharding.dims) == 2
    close(start, stacked(4, 8))
    embedded.dispatcher.drain()
    assert len(embedded.dispatcher.store.entries) == 10  # nothing of the steps before


def test_a_pipeline_is_lowered_again_where_its_arguments_and_slices_are(embedded: pcg.Controller) -> None:
    """An argument of another slice is transferred; a slice that is placed elsewhere takes its stage with it."""
    client = embedded.client()
    slices = [client.request(1) for _ in range(2)]
    first, second = slices[0].island, "island1" if slices[0].island == "island0" else "island0"
    other = client.request({"x": 2}, island=second)
    step = pcg.compile(residual, slices, pipeline={"microbatches": 2, "schedule": "1f1b"})
    w, x = stacked(2, 8), normal(6, 8)
    there = other.function(lambda x: x * 1, in_shardings=(P("x"),))(x)
    want = jax.jit(residual)(w, x)
    close(step(w, there), want)
    assert re.search(f"Send 0 of slot \\d to {first}", step.as_text("streams"))
    embedded.remove_island(first)
    assert slices[0].island == second
    close(step(w, x), want)
    assert first not in step.as_text("streams")


def test_memory_of_a_pipeline_is_what_its_streams_say(embedded: pcg.Controller) -> None:
    client = embedded.client()
    slices = [client.request(2, island=f"island{i}") for i in range(2)]
    step = pcg.compile(residual, slices, pipeline={"microbatches": 4, "schedule": "1f1b"}, donate_argnums=0)
    w, x = stacked(4, 64), np.asarray(normal(16, 64))
    step(w, x)
    lowered = step.executable.nodes.lowered
    program, loaded = lowered.program, lowered.loaded
    planned = {name: peak_bytes(program, name) for name in loaded.islands}
    there = dict.fromkeys(loaded.islands, 0)
    slots: list[Any] = [None] * loaded._slots
    arguments = [*np.split(w["b"], 4), *np.split(w["w"], 4), x]
    for number, slot, sharding in loaded._arguments:
        slots[slot] = jax.device_put(arguments[number], sharding)
    for act in loaded._acts:
        act(slots)
        for name, stream in program.streams.items():
            own = slots[loaded._base[name] : loaded._base[name] + stream.slots]
            device = embedded.backend.islands[name].devices[0]
            shards = [s for a in own if a is not None for s in a.addressable_shards if s.device == device]
            there[name] = max(there[name], sum(s.data.nbytes for s in shards))
    for name, most in there.items():
        assert most <= planned[name] <= 1.1 * most
    pipelined = step.executable
    assert all(planned[f"island{i}"] <= most for i, most in enumerate(peaks(pipelined.instructions)))


def test_slices_that_are_no_pipeline(embedded: pcg.Controller) -> None:
    client, other = embedded.client("me"), embedded.client("you")
    one, two, theirs = client.request(1), client.request(1), other.request(1)
    for slices, message in (
        ([one], "a pipeline on 1 slices; allowed: two or more"),
        ([one, two, one], "stages 0 and 2 are on slice me_0; allowed: a slice for each stage"),
        ([one, theirs], "slice you_0 is of client you, slice me_0 of client me; allowed: slices of one client"),
        ([one, 3], "stage 1 is on 3; allowed: slices of a client"),
    ):
        with pytest.raises(pcg.PipelineError, match=message):
            pcg.compile(residual, slices, pipeline=2)
    with pytest.raises(pcg.PipelineError, match="updates '2bw' on slices; allowed: 'synchronous'"):
        pcg.compile(residual, [one, two], pipeline={"microbatches": 2, "updates": "2bw"})
    with pytest.raises(pcg.PipelineError, match="devices with slices; allowed: without it"):
        pcg.compile(residual, [one, two], pipeline=2, devices=jax.devices())
    with pytest.raises(pcg.PipelineError, match="2 slices without pipeline=; allowed: with it, or one slice"):
        pcg.compile(residual, [one, two])


def unlike(fast: int, slow: int) -> Cluster:
    """Groups of so many devices, without overheads, so that small programs are large enough."""
    kinds = tuple(
        DeviceKind(name, {"f32": rate}, rate, rate, 1e9, kernel_overhead=0.0, collective_overhead=0.0)
        for name, rate in (("slow", 2e8), ("fast", 6e8))
    )
    groups = tuple(
        Group(name, name, (Level("link", "gpus", (n,), "switch", 10e9, 1e-7),))
        for name, n in (("slow", slow), ("fast", fast))
    )
    return Cluster("mixed", kinds, groups, Level("network", "groups", (2,), "switch", 1e9, 1e-6))


def two_layers(params: Any, x: jax.Array, y: jax.Array) -> Any:
    def loss(p: Any) -> Any:
        return jnp.mean((jnp.tanh(jax.nn.relu(x @ p["up"]) @ p["down"]) - y) ** 2)

    value, grads = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


def test_uneven_data_parallelism_on_two_heterogeneous_groups(backend: str) -> None:
    """Three slow devices and a fast one train on shares of the batch; gradients cross."""
    state = {"up": np.asarray(normal(32, 64)), "down": np.asarray(normal(64, 32))}
    batch = normal(96, 32), normal(96, 32, seed=1)
    programs = pcg.processes.lower(two_layers, unlike(1, 3), state, *batch)
    assert {name: mesh.size for name, mesh in programs.stage_meshes.items()} == {"slow": 3, "fast": 1}
    shares = sorted(int(n) for n in re.findall(r"slice %\w+ \[(?:0|\d+):(\d+), 0:32\]", programs.as_text("stages")))
    assert shares[-1] == 96 and shares[0] < 96
    with pcg.Controller({"slow": jax.devices()[:3], "fast": jax.devices()[3:4]}, backend=backend) as controller:
        client = controller.client()
        slices = {name: client.request(mesh, island=name) for name, mesh in programs.stage_meshes.items()}
        step = programs.on(slices, donate_argnums=0)
        found, want = (five(lambda *a, f=f: f(*a)[::-1], state, *batch) for f in (step, jax.jit(two_layers)))
        close(found, want)
        assert {x.slice.island for x in found[1].values()} == {"slow", "fast"}
        assert step.as_text().count("Send") == step.as_text().count("Receive") > 0
        with pytest.raises(pcg.MeshError, match="mesh 'fast' has no slice; slices are for slow"):
            programs.on({"slow": slices["slow"]})
        with pytest.raises(pcg.MeshError, match=r"mesh 'fast' is .*, its slice .*; allowed: a slice of that mesh"):
            programs.on({"slow": slices["slow"], "fast": slices["slow"]})


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


def experts_of(w: dict[str, jax.Array], rows: jax.Array) -> jax.Array:
    """[experts, rows, width], each by its expert."""
    return jax.nn.relu(rows @ w["up"]) @ w["down"]


def top_2(state: Any, x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Rows [2 tokens, width], their gates, and the expert of each: of four, one is never chosen."""
    h = x + jnp.tanh(x @ state["dense"])
    gates = jax.nn.softmax(h @ state["router"] + jnp.asarray([0, 0.5, 0, -1e9]))
    gate, expert = jax.lax.top_k(gates, 2)
    return jnp.repeat(h, 2, 0), (gate / gate.sum(-1, keepdims=True)).reshape(-1), expert.reshape(-1)


def combined(y: jax.Array, gate: jax.Array, target: jax.Array) -> jax.Array:
    mixed = (y * gate[:, None]).reshape(-1, 2, y.shape[-1]).sum(1)
    return jnp.mean((mixed - target) ** 2)


def test_a_mixture_of_experts_with_data_dependent_exchange(controller: pcg.Controller) -> None:
    """Router and dense part on one island, an expert per device on the other: as on one device, after five steps."""
    client = controller.client()
    dense, experts = client.request({"data": 4}, island="island0"), client.request({"expert": 4}, island="island1")
    route, apply, end = dense.function(top_2), experts.function(experts_of), dense.function(combined)

    def loss_on_islands(state: Any, x: jax.Array, target: jax.Array) -> jax.Array:
        rows, gate, expert = route(state, x)
        routed = dense.exchange(rows, expert, experts)
        return end(routed.back(apply(state["experts"], routed.rows)), gate, target)

    def loss_on_one(state: Any, x: jax.Array, target: jax.Array) -> jax.Array:
        rows, gate, expert = top_2(state, x)
        w = state["experts"]
        y = jnp.einsum("tf,tfd->td", jax.nn.relu(jnp.einsum("td,tdf->tf", rows, w["up"][expert])), w["down"][expert])
        return combined(y, gate, target)

    def step_of(loss: Any) -> Any:
        def step(state: Any, x: jax.Array, target: jax.Array) -> Any:
            value, grads = jax.value_and_grad(loss)(state, x, target)
            return value, jax.tree.map(lambda w, g: w - 0.3 * g, state, grads)

        return step

    state = {
        "dense": normal(8, 8), "router": normal(8, 4, scale=1.0),
        "experts": {"up": normal(4, 8, 16), "down": normal(4, 16, 8)},
    }  # fmt: skip
    x, target = normal(16, 8, scale=1.0), normal(16, 8, seed=1)
    program = client.program(step_of(loss_on_islands))
    found = five(program, state, x, target)
    close(found, five(jax.jit(step_of(loss_on_one)), state, x, target))
    losses = [float(v) for v in found[0]]
    assert losses == sorted(losses, reverse=True)
    text = program.as_text()
    assert text.count("Dispatch") == text.count("Collect") == 4  # there and back, and their gradients
    moved = controller.backend.exchanged
    assert moved["rows"] % (4 * 5 * 32) == 0  # each row four times a step: forth and back, its gradient as well
    assert 0 < moved["parcels"] <= moved["rows"] // 32 * 12  # nothing goes to the expert that nobody chose


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


def test_random_keys_cross_islands(controller: pcg.Controller) -> None:
    client = controller.client()
    left, right = (client.request(2, island=f"island{i}") for i in range(2))
    split = left.function(lambda key: jax.random.split(key)[0])
    draw = right.function(lambda key: (jax.random.uniform(key, (4,)), key))
    found, key = client.program(lambda key: draw(split(key)))(jax.random.key(3))
    wanted = jax.random.split(jax.random.key(3))[0]
    close(found, jax.random.uniform(wanted, (4,)))
    assert (jax.random.key_data(key.array()) == jax.random.key_data(wanted)).all()
    assert key.block_until_ready().is_ready()


def test_results_of_64_bit_stay_so(controller: pcg.Controller) -> None:
    """Whoever takes them out, in whatever mode jax is then."""
    f = controller.client().request(2).function(lambda x: x / 3)
    with jax.enable_x64(True):
        found = f(jnp.arange(8.0, dtype=jnp.float64))
    assert found.array().dtype == np.float64
    np.testing.assert_allclose(np.asarray(found.array()), np.arange(8.0) / 3, rtol=1e-15)


def test_a_node_runs_where_most_of_what_it_reads_is(controller: pcg.Controller) -> None:
    client = controller.client()
    left, right = client.request(2), client.request({"data": 4})
    f, g = left.function(lambda x: x * 2), right.function(lambda x: jnp.concatenate([x, x]))
    found = client.program(lambda x: (f(x), g(x), jnp.concatenate([f(x), g(x)])))(normal(4, 4))
    assert [x.slice for x in found] == [left, right, right]


def test_what_comes_from_elsewhere_has_one_layout_where_it_is_read_twice(embedded: pcg.Controller) -> None:
    """A backward pass reads what its forward pass read, in the same layout: nothing is copied on the slice."""
    client = embedded.client()
    left, right = client.request(2, island="island0"), client.request({"data": 2}, island="island1")
    start = left.function(lambda x: jnp.sin(x))
    layer = right.function(lambda w, x: jnp.tanh(x @ w), strategy="data")
    mean = right.function(lambda y: jnp.mean(y**2), strategy="data")

    def loss(mean: Any, layer: Any, start: Any, w: Any, x: Any) -> Any:
        return mean(layer(w, start(x)))

    rng = np.random.default_rng(0)
    w, x = (rng.normal(size=s).astype(np.float32) for s in ((16, 16), (8, 16)))
    program = client.program(jax.value_and_grad(lambda w, x: loss(mean, layer, start, w, x)))
    found = program(w, x)
    wanted = jax.value_and_grad(lambda w, x: loss(mean.__wrapped__, layer.__wrapped__, start.__wrapped__, w, x))(w, x)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-4, atol=1e-6)
    streams = program.last.program.streams
    assert [i for i in streams["island1"].instructions if isinstance(i, Copy)] == []
    assert sum(isinstance(i, Receive) for i in streams["island1"].instructions) == 1


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
    assert (tmp_path / "runs.html").read_text().count("<title>") == 21  # the page's, and two for each run: as it was, and as planned
    events = json.loads((tmp_path / "runs.json").read_text())["traceEvents"]
    assert sum(e["ph"] == "X" for e in events) == 20


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
