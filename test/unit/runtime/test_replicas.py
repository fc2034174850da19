"""Programs compiled for replicas instead of partitions: XLA has nothing to partition, and the numbers are the same."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import pcg
from pcg.runtime import jax_compat, replicas

#: (replicas, partitions) of what is per-device and nothing else, on eight devices.
PER_DEVICE = (8, 1) if replicas.USED else (1, 8)


def modes(executable):
    """Replicas and partitions of what XLA compiled."""
    found = dict(re.findall(r"(replica_count|num_partitions)=(\d+)", executable.compiled.as_text()))
    return int(found.get("replica_count", 1)), int(found.get("num_partitions", 1))


def by_partitions(executable, args):
    """What jax's own way of compiling the same program computes."""
    with jax_compat.x64(executable.needs_x64):
        compiled = executable.jitted.lower(*args).compile()
    assert "num_partitions=8" in compiled.as_text()
    return compiled(*executable.place(args))


X, W = (np.random.default_rng(i).standard_normal((16, 16)).astype(np.float32) for i in (0, 1))
LAYOUTS = {
    "all-reduce": (lambda x, w: x @ w, P(None, "a"), P("a"), P()),
    "reduce-scatter": (lambda x, w: x @ w, P(None, "b"), P("b"), P("b")),
    "all-gather": (lambda x, w: x + w, P("b"), P("b"), P()),
    "all-to-all": (lambda x, w: x + w, P("b"), P("b"), P(None, "b")),
    "collective-permute": (lambda x, w: x + w, P(("a", "b")), P(("a", "b")), P(("b", "a"))),
    "dynamic-slice": (lambda x, w: x + w, P(), P(), P("a", "b")),
}


@pytest.mark.parametrize("kind", LAYOUTS)
def test_collectives_are_between_replicas(kind):
    function, left, right, out = LAYOUTS[kind]
    compiled = pcg.compile(function, "a=2,b=4", in_shardings=(left, right), out_shardings=out)
    executable = compiled.lower(X, W)
    assert modes(executable) == PER_DEVICE
    text = executable.compiled.as_text()
    assert kind in text
    assert not replicas.USED or ("channel_id" not in text and "partition-id" not in text)
    found = compiled(X, W)
    assert found.sharding.is_equivalent_to(NamedSharding(executable.jax_mesh, out), 2)
    np.testing.assert_allclose(found, function(X, W), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found, by_partitions(executable, [X, W]))


def test_donated_arrays_become_results():
    compiled = pcg.compile(lambda x, w: (x + 1.0, w), "a=8", donate_argnums=(0,))
    executable = compiled.lower(X, W)
    assert modes(executable) == PER_DEVICE
    assert "input_output_alias" in executable.compiled.as_text()
    x, w = executable.place([X, W])
    np.testing.assert_array_equal(compiled(x, w)[0], X + 1.0)
    assert x.is_deleted() and not w.is_deleted()


def test_keys_keyword_arguments_and_loops():
    def step(key, *, scale):
        def body(carry, k):
            return carry + jax.random.normal(k, (16,)), carry.sum()

        return jax.lax.scan(body, jnp.zeros(16) * scale, jax.random.split(key, 3))

    compiled = pcg.compile(step, "a=8")
    executable = compiled.lower(jax.random.key(3), scale=2.0)
    assert modes(executable) == PER_DEVICE
    for found, wanted in zip(compiled(jax.random.key(3), scale=2.0), step(jax.random.key(3), scale=2.0), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_what_is_more_than_per_device_is_partitioned():
    """Arrays without elements are made outside of the per-device program."""
    compiled = pcg.compile(lambda x: (x * 2.0, x[:0]), "a=8")
    assert modes(compiled.lower(X)) == (1, 8)
    twice, empty = compiled(X)
    np.testing.assert_array_equal(twice, X * 2.0)
    assert empty.shape == (0, 16)


def test_one_device():
    compiled = pcg.compile(lambda x: x * 2.0, "a=1")
    assert modes(compiled.lower(X)) == (1, 1)
    np.testing.assert_array_equal(compiled(X), X * 2.0)


def test_other_programs_of_jax_are_as_before():
    mesh = jax_compat.jax_mesh(pcg.layout.Mesh.parse("a=8"), jax.devices()[:8])
    jitted = jax.jit(lambda x: x.sum(), in_shardings=NamedSharding(mesh, P("a")))
    assert "num_partitions=8" in jitted.lower(X).compile().as_text()
    np.testing.assert_allclose(jitted(X), X.sum(), rtol=1e-4)
