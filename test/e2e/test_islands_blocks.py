"""Programs that are written as blocks: `with client.program() as block:`."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pcg
from pcg.driver.program import ProgramError
from pcg.runtime.islands.future import ShardedFuture


def encode(w: Any, x: Any) -> Any:
    return jax.nn.relu(x @ w)


def loss(v: Any, h: Any) -> Any:
    return jnp.mean((h @ v) ** 2)


W, V, X = (np.random.default_rng(i).normal(size=s).astype(np.float32) / 4 for i, s in enumerate(((8, 16), (16, 4), (8, 8))))
SCALE = 1.0


@pytest.fixture(scope="module")
def controller() -> Iterator[pcg.Controller]:
    with pcg.Controller(2, devices=jax.devices()[:4]) as made:
        yield made


@pytest.fixture
def client(controller: pcg.Controller) -> Iterator[pcg.Client]:
    with controller.client() as own:
        yield own


@pytest.fixture
def two(client: pcg.Client) -> tuple[Any, Any]:
    left, right = (client.request({"x": 2}, island=f"island{i}") for i in range(2))
    return left.function(encode), right.function(loss)


def test_a_block_trains_as_one_device_does(client: pcg.Client, two: tuple[Any, Any]) -> None:
    first, last = two
    ours, theirs = (W, V), (W, V)
    programs = set()
    for _ in range(4):
        with client.program() as block:
            value, (dw, dv) = block.call(jax.value_and_grad(lambda w, v, x: last(v, first(w, x)), (0, 1)), *ours, X)
            ours = ours[0] - 0.1 * dw, ours[1] - dv * 0.1
        programs.add(block.program)
        expected, grads = jax.value_and_grad(lambda w, v: loss(v, encode(w, X)), (0, 1))(*theirs)
        theirs = tuple(p - 0.1 * g for p, g in zip(theirs, grads, strict=True))
        np.testing.assert_allclose(float(value), expected, rtol=1e-5)
    for one, other in zip(ours, theirs, strict=True):
        assert type(one) is ShardedFuture
        np.testing.assert_allclose(one.result(), other, rtol=1e-5)
    assert len(programs) == 1  # it is one program for arrays of the host, and for futures
    assert block.as_text().count("Send") == 2 and ours[0].slice.island == "island0"


def test_values_are_there_when_the_block_is_left(client: pcg.Client, two: tuple[Any, Any]) -> None:
    first, last = two
    with client.program() as block:
        hidden = first(W, X)
        value = last(V, hidden)
        assert (hidden.shape, value.dtype) == ((8, 16), jnp.float32)
        for read in (float, np.asarray, lambda d: d.result(), lambda d: d.block_until_ready(), lambda d: d.sharding, bool):
            with pytest.raises(ProgramError, match="is computed when the block is left"):
                read(value)
        assert not value.is_ready()
        part = abs(-hidden[0, 1:3] @ np.ones(2, np.float32)) + 2 * value
        most = block.call(jnp.max, hidden, axis=0)
    reference = encode(W, X)
    np.testing.assert_allclose(part.result(), abs(reference[0, 1:3].sum()) + 2 * loss(V, reference), rtol=1e-5)
    np.testing.assert_allclose(most.result(), reference.max(0), rtol=1e-5)
    np.testing.assert_allclose(hidden.result(), reference, rtol=1e-4, atol=1e-6)


def test_what_nobody_refers_to_is_no_result(controller: pcg.Controller, client: pcg.Client, two: tuple[Any, Any]) -> None:
    first, last = two
    before = len(controller.dispatcher.store.of_client(client.name))
    with client.program() as block:
        value = last(V, first(W, X))
    assert len(block.program.last.program.results) == 1
    assert len(controller.dispatcher.store.of_client(client.name)) == before + 1
    del value
    gc.collect()
    with client.program():
        other = last(V, first(W, X))
    other.block_until_ready()
    assert len(controller.dispatcher.store.of_client(client.name)) == before + 1


def test_a_function_with_other_variables_is_another_one(client: pcg.Client, two: tuple[Any, Any]) -> None:
    global SCALE
    first = two[0]
    found, programs = [], set()
    for scale in (2.0, 3.0, 2.0):
        for SCALE in (1.0, 5.0):
            array = np.full(8, scale, np.float32)
            with client.program() as block:
                value = block.call(lambda w: first(w, X).sum() * scale * SCALE * array[0], W)  # noqa: B023
            programs.add(block.program)
            found.append(float(value) / (scale * scale * SCALE))
    np.testing.assert_allclose(found, float(encode(W, X).sum()), rtol=1e-5)
    assert len(programs) == 4


def test_programs_and_functions_of_other_clients_are_parts_of_a_block(
    controller: pcg.Controller, client: pcg.Client, two: tuple[Any, Any]
) -> None:
    with controller.client() as other:
        program = other.program(lambda w, scale: two[0](w, X) * scale)
        programs = set()
        for scale in (2.0, 3.0):
            with client.program() as block:
                value = two[1](V, program(W, scale))
            programs.add(block.program)
            np.testing.assert_allclose(float(value), loss(V, scale * encode(W, X)), rtol=1e-5)
        assert len(programs) == 1


def test_a_block_that_raises_runs_nothing(client: pcg.Client, two: tuple[Any, Any]) -> None:
    with pytest.raises(ZeroDivisionError), client.program() as block:
        hidden = two[0](W, X)
        raise ZeroDivisionError
    assert block.program is None
    with pytest.raises(ProgramError, match="has not run a program"):
        block.as_text()
    with pytest.raises(ProgramError, match="is computed when the block is left"):
        hidden.result()
    with pytest.raises(ProgramError, match="of another block"), client.program():
        two[1](V, hidden)
    with pytest.raises(ProgramError, match="not open in this thread"):
        block.call(jnp.sum, W)
    assert two[0](W, X).result().shape == (8, 16)  # outside of blocks calls run at once


def test_blocks_are_not_nested_and_need_no_values(client: pcg.Client, two: tuple[Any, Any]) -> None:
    with pytest.raises(ProgramError, match="inside of another one"), client.program(), client.program():
        pass
    with pytest.raises(ProgramError, match="needs a value that it computes"), client.program() as block:
        block.call(lambda w: two[0](w, X) if w.sum() > 0 else w, W)
    with client.program() as block:
        pass
    assert block.program is None
    with pytest.raises(ProgramError, match="donate_argnums and static_argnums are for functions"):
        client.program(donate_argnums=0).__enter__()
